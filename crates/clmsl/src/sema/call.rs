//! Calls: the user's functions, and the regular built-in ones by the table.

use rustc_hash::FxHashSet as HashSet;

use super::{CallSite, Entity, Sema, convert};
use crate::ast;
use crate::builtins::{self, Builtin, Class, DotBytes, Param, Resolved, Special};
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, Function, FunctionId};
use crate::options::Fp64;
use crate::parser::demotion;
use crate::source::Span;
use crate::token::Symbol;
use crate::types::{Scalar, Space, Type};

impl Sema<'_> {
    pub(super) fn call(&mut self, callee: &ast::Expr, args: &[ast::Expr], span: Span) -> Expr {
        let ast::ExprKind::Ident(symbol) = callee.kind else {
            return self.bad(callee.span, "calls through pointers are not supported (OpenCL C 3.0 §6.11.a)");
        };
        let name = self.name(symbol);
        match self.lookup(symbol).cloned() {
            Some(Entity::Function(id)) => {
                let values = args.iter().map(|a| self.value(a)).collect();
                self.user_call(id, values, span)
            }
            Some(Entity::Overloaded(ids)) => {
                let values = args.iter().map(|a| self.value(a)).collect();
                self.overloaded_call(symbol, &ids, values, callee.span, span)
            }
            Some(Entity::Broken) => {
                for arg in args {
                    self.value(arg);
                }
                Expr::error(span)
            }
            Some(_) => self.bad(callee.span, format!("'{name}' is not a function")),
            None => {
                if let (None, Some(reason)) = (builtins::find_special(name), builtins::refusal(name)) {
                    return self.bad(callee.span, reason);
                }
                let args: Vec<Expr> = args.iter().map(|a| self.value(a)).collect();
                if args.iter().any(|a| a.ty.is_error()) {
                    return Expr::error(span);
                }
                self.builtin_call(symbol, callee.span, args, span)
            }
        }
    }

    /// A call of a built-in function, or of none at all.
    pub(super) fn builtin_call(&mut self, symbol: Symbol, at: Span, args: Vec<Expr>, span: Span) -> Expr {
        let name = self.name(symbol);
        let bytes = |a: &Expr| matches!(a.ty, Type::Vector(Scalar::Char | Scalar::UChar, 4));
        let special = match name {
            "dot" if args.iter().all(bytes) => Some(Special::DotBytes(DotBytes { accumulates: false, packed: None })),
            _ => builtins::find_special(name),
        };
        if let Some(special) = special {
            let Some(special) = self.available(special, name, at) else { return Expr::error(span) };
            return self.special_call(special, name, args, span);
        }
        self.table_call(symbol, at, args, span)
    }

    /// The function, or what the option `--fp64` makes of it if `double` is in its name.
    fn available(&mut self, special: Special, name: &str, at: Span) -> Option<Special> {
        if !matches!(
            special,
            Special::Convert { scalar: Scalar::Double, .. } | Special::AsType { scalar: Scalar::Double, .. }
        ) {
            return Some(special);
        }
        match self.fp64 {
            Fp64::Reject => {
                self.error(at, format!("'{name}': Metal has no 64-bit floating point"));
                None
            }
            Fp64::Emulate => Some(special),
            Fp64::Float => {
                if !std::mem::replace(&mut self.demoted, true) {
                    self.warning(at, demotion(name));
                }
                Some(special.demoted())
            }
        }
    }

    pub(super) fn user_call(&mut self, id: FunctionId, values: Vec<Expr>, span: Span) -> Expr {
        let callee = self.function_ref(id);
        let name = callee.name.clone();
        let params: Vec<Type> = callee.params.iter().map(|&p| callee.local(p).ty.clone()).collect();
        let ret = callee.ret.clone();
        let declared_at = callee.span;
        let pairs: Vec<(u32, u32)> = signature_vars(callee)
            .into_iter()
            .map(|formal| match self.spaces.fresh() {
                Space::Var(actual) => (formal, actual),
                _ => unreachable!("a fresh space is a variable"),
            })
            .collect();
        if values.len() != params.len() {
            let message = takes(&name, params.len(), values.len());
            self.report(Diagnostic::error(span, message).with_note(declared_at, "declared here"));
            return Expr::error(span);
        }
        let instance = |ty: &Type| {
            ty.map_spaces(&mut |s| match s {
                Space::Var(v) => pairs.iter().find(|(f, _)| *f == v).map_or(s, |&(_, actual)| Space::Var(actual)),
                other => other,
            })
        };
        let converted: Vec<Expr> = values
            .into_iter()
            .zip(&params)
            .enumerate()
            .map(|(i, (value, ty))| {
                let what = format!("argument {} of '{name}'", i + 1);
                self.assign_convert(value, &instance(ty), &what)
            })
            .collect();
        for (value, _) in converted.iter().zip(&params).filter(|(v, ty)| ty.image().is_some() && !v.ty.is_error()) {
            if self.check_image(value, &name).is_none() {
                return Expr::error(span);
            }
        }
        let ty = instance(&ret);
        if let Some(current) = &self.current {
            self.calls.push(CallSite { caller: current.id, callee: id, span, spaces: pairs.clone() });
        } else {
            return self.bad(span, "a function cannot be called at program scope");
        }
        if converted.iter().any(|a| a.ty.is_error()) {
            return Expr { ty, ..Expr::error(span) };
        }
        Expr::new(ExprKind::Call { function: id, args: converted, spaces: pairs }, ty, span)
    }

    fn table_call(&mut self, symbol: Symbol, at: Span, args: Vec<Expr>, span: Span) -> Expr {
        let name = self.name(symbol);
        let mut arity = None;
        for (row, builtin) in builtins::rows(name) {
            arity = Some(builtin.params.len());
            if builtin.params.len() == args.len() {
                return self.row_call(row, builtin, args, span);
            }
        }
        match arity {
            None => {
                let error = match self.definitions.get(&symbol) {
                    Some(&later) => Diagnostic::error(at, format!("'{name}' is used before it is declared"))
                        .with_note(later, "it is defined here; a prototype before the use declares it"),
                    None => {
                        let question = self.did_you_mean(name, true);
                        Diagnostic::error(at, format!("use of undeclared function '{name}'{question}"))
                    }
                };
                self.report(error);
                Expr::error(span)
            }
            Some(n) => self.bad(span, takes(name, n, args.len())),
        }
    }

    fn row_call(&mut self, row: usize, builtin: &Builtin, args: Vec<Expr>, span: Span) -> Expr {
        let Some((scalar, lanes)) = self.generic_type(builtin, &args, span) else {
            return Expr::error(span);
        };
        let mut converted = Vec::with_capacity(args.len());
        for (i, (arg, param)) in args.into_iter().zip(builtin.params).enumerate() {
            let what = format!("argument {} of '{}'", i + 1, builtin.name);
            let arg = match param {
                Param::PtrT => self.pointer_argument(arg, &Type::lanes(scalar, lanes), &what),
                Param::PtrInt => self.pointer_argument(arg, &Type::lanes(Scalar::Int, lanes), &what),
                other => match other.instantiate(scalar, lanes) {
                    Some(ty) if arg.ty.arithmetic().is_some_and(|(_, n)| n == 1 || n == lanes) => {
                        if arg.ty.vector().is_some() && arg.ty != ty {
                            let (a, b) = (self.show(&arg.ty), self.show(&ty));
                            return self.bad(arg.span, format!("{what}: '{a}' does not convert to '{b}'"));
                        }
                        convert(arg, &ty)
                    }
                    _ => {
                        let ty = self.show(&arg.ty);
                        return self.bad(arg.span, format!("{what} cannot be '{ty}'"));
                    }
                },
            };
            if arg.ty.is_error() {
                return Expr::error(span);
            }
            converted.push(arg);
        }
        let ty = builtin.ret.instantiate(scalar, lanes).unwrap_or(Type::Error);
        let builtin = Resolved::Row(row, scalar, lanes);
        Expr::new(ExprKind::Builtin { builtin, args: converted }, ty, span)
    }

    /// Finds what `T` is: the one vector type among the arguments, or the common type of the scalars.
    fn generic_type(&mut self, builtin: &Builtin, args: &[Expr], span: Span) -> Option<(Scalar, u8)> {
        let generic = || args.iter().zip(builtin.params).filter(|(_, p)| **p == Param::T).map(|(a, _)| a);
        let mut found: Option<(Scalar, u8)> = None;
        for arg in generic() {
            let Some((s, n)) = arg.ty.arithmetic() else {
                let ty = self.show(&arg.ty);
                self.error(arg.span, format!("'{}' is not defined on '{ty}'", builtin.name));
                return None;
            };
            found = match found {
                None => Some((s, n)),
                Some((t, 1)) if n == 1 => Some((if t == s { t } else { t.usual(s) }, 1)),
                Some((_, 1)) => Some((s, n)),
                Some((t, m)) if n == 1 || (t, m) == (s, n) => Some((t, m)),
                Some((t, m)) => {
                    let (a, b) = (self.show(&Type::lanes(t, m)), self.show(&arg.ty));
                    self.error(span, format!("'{}': the types '{a}' and '{b}' do not mix", builtin.name));
                    return None;
                }
            };
        }
        let (mut scalar, lanes) = found?;
        if scalar == Scalar::Double && !builtin.takes_double() {
            self.error(span, format!("'{}': not available for emulated double", builtin.name));
            return None;
        }
        // OpenCL C 3.0 §6.15.2 has these for float.
        if lanes == 1 && scalar == Scalar::Half && builtin.is_single() {
            scalar = Scalar::Float;
        }
        let wrong = match builtin.class {
            Class::Float | Class::Geometric if lanes == 1 && scalar.is_integer() => {
                scalar = Scalar::Float;
                false
            }
            Class::Float => scalar.is_integer(),
            Class::Geometric => scalar.is_integer() || lanes > 4,
            Class::Int => {
                if scalar == Scalar::Bool {
                    scalar = Scalar::Int;
                }
                // OpenCL C 3.0 §6.15.3 has these for 32 bits: a narrower scalar is promoted, a vector has no conversion.
                let narrow = matches!(builtin.name, "mul24" | "mad24") && scalar.promoted() != scalar;
                if narrow && lanes == 1 {
                    scalar = scalar.promoted();
                }
                scalar.is_float() || narrow && lanes > 1
            }
            Class::Any => {
                if scalar == Scalar::Bool {
                    scalar = Scalar::Int;
                }
                false
            }
        };
        let cross = builtin.name == "cross" && !(lanes == 3 || lanes == 4);
        if wrong || cross {
            let ty = self.show(&Type::lanes(scalar, lanes));
            self.error(span, format!("'{}' is not defined on '{ty}'", builtin.name));
            return None;
        }
        Some((scalar, lanes))
    }

    /// An argument through which a built-in function returns a second result.
    pub(super) fn pointer_argument(&mut self, arg: Expr, to: &Type, what: &str) -> Expr {
        let span = arg.span;
        match arg.ty.pointee() {
            Some(p) if p.ty == *to && !p.quals.is_const => arg,
            _ => {
                let (a, b) = (self.show(&arg.ty), self.show(to));
                self.bad(span, format!("{what} must be a pointer to '{b}', not '{a}'"))
            }
        }
    }

    /// Checks that no function calls itself, that called functions have bodies, and relates address spaces across
    /// calls. Returns the functions in an order in which callees come first.
    pub(super) fn check_call_graph(&mut self) -> Vec<FunctionId> {
        let calls = std::mem::take(&mut self.calls);
        let count = self.program.functions.len();
        let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (i, call) in calls.iter().enumerate() {
            outgoing[call.caller.0 as usize].push(i);
        }
        let mut order = Vec::with_capacity(count);
        // 0: new, 1: on the path, 2: done.
        let mut state = vec![0u8; count];
        for root in 0..count {
            // Functions are visited with an explicit stack, because chains of calls may be long.
            let mut stack = vec![(root, 0usize)];
            if state[root] != 0 {
                continue;
            }
            state[root] = 1;
            while let Some((function, next)) = stack.pop() {
                let Some(&call) = outgoing[function].get(next) else {
                    state[function] = 2;
                    order.push(FunctionId(function as u32));
                    continue;
                };
                stack.push((function, next + 1));
                let callee = calls[call].callee.0 as usize;
                match state[callee] {
                    0 => {
                        state[callee] = 1;
                        stack.push((callee, 0));
                    }
                    1 => {
                        let name = &self.program.functions[callee].name;
                        let message =
                            format!("recursion is not supported (OpenCL C 3.0 §6.11.i): '{name}' calls itself");
                        self.error(calls[call].span, message);
                    }
                    _ => {}
                }
            }
        }
        for id in &order {
            for &call in &outgoing[id.0 as usize] {
                let call = &calls[call];
                let callee = &self.program.functions[call.callee.0 as usize];
                if callee.body.is_none() {
                    let message = format!("'{}' is called but not defined", callee.name);
                    let note = callee.span;
                    self.report(Diagnostic::error(call.span, message).with_note(note, "declared here"));
                } else if let Err(conflict) = self.spaces.solve_call(&call.spaces) {
                    let what = format!("call of '{}'", callee.name);
                    self.space_conflict(call.span, &what, conflict.0, conflict.1);
                }
            }
        }
        order
    }
}

/// The inference variables in a function's signature, in order, each once.
pub(crate) fn signature_vars(function: &Function) -> Vec<u32> {
    let mut vars = Vec::new();
    let mut seen = HashSet::default();
    let mut note = |s: Space| {
        if let Space::Var(v) = s
            && seen.insert(v)
        {
            vars.push(v);
        }
        s
    };
    for &p in &function.params {
        function.local(p).ty.map_spaces(&mut note);
    }
    function.ret.map_spaces(&mut note);
    vars
}

/// A wrong number of arguments, in words.
pub(super) fn takes(name: &str, wanted: usize, given: usize) -> String {
    format!("'{name}' takes {wanted} argument{}, not {given}", if wanted == 1 { "" } else { "s" })
}
