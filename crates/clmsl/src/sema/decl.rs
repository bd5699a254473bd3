//! Declarations: at program scope, and of variables in functions.

use super::const_eval::{Value, const_lanes};
use super::types::is_unsized;
use super::{Entity, Qualified, Sema, const_int};
use crate::ast::{BinaryOp, Declaration, InitDeclarator, Specs, Storage};
use crate::hir::{Constant, ConstantId, Decl, Expr, ExprKind, Local, LocalId};
use crate::source::Span;
use crate::types::{Quals, Space, Type, layout};

/// An array of more addresses is refused: each use of one names all of them.
const MAX_ADDRESSES: usize = 1024;

impl Sema<'_> {
    /// A declaration outside functions: typedefs, tags, prototypes, and variables in the constant address space.
    pub(super) fn program_declaration(&mut self, declaration: &Declaration) {
        let base = self.base_type(&declaration.specs);
        self.refuse_specifiers(&declaration.specs);
        for item in &declaration.declarators {
            self.program_declarator(&declaration.specs, &base, item);
        }
    }

    fn program_declarator(&mut self, specs: &Specs, base: &Qualified, item: &InitDeclarator) {
        let Some(name) = item.declarator.name else {
            self.error(item.declarator.span, "a declaration needs a name");
            return;
        };
        let declared = self.declared(base, &item.declarator);
        self.refuse_attributes(&item.declarator.attributes);
        if let Some((Storage::Typedef, _)) = specs.storage {
            self.typedef(name.name, name.span, declared.ty, declared.params.is_some());
            return;
        }
        if let Some(params) = declared.params {
            self.prototype(specs, &item.declarator, name, &declared.ty, params);
            return;
        }
        let text = self.name(name.name).to_owned();
        let mut q = declared.ty;
        if q.ty.is_error() {
            self.bind(name.name, Entity::Broken);
            return;
        }
        // What never changes may as well lie in constant memory (OpenCL C 2.0 puts it in global memory).
        if q.quals.is_const && item.init.is_some() && matches!(q.space, None | Some(Space::Global)) {
            q.space = Some(Space::Constant);
        }
        let sampler = q.ty == Type::Sampler && q.space.is_none();
        if q.space != Some(Space::Constant) && !sampler {
            let message = match q.space {
                Some(Space::Global) | None => format!(
                    "variable '{text}' at program scope must be __constant: Metal has no writable program-scope variables"
                ),
                Some(other) => format!("variable '{text}' at program scope cannot be {}", other.opencl_name()),
            };
            self.error(name.span, message);
            self.bind(name.name, Entity::Broken);
            return;
        }
        if let Some((Storage::Extern, span)) = specs.storage {
            self.error(span, "external variables are not supported: a program is one source");
        }
        self.constant(item, &q, name.name, name.span, &text);
    }

    /// A variable in the constant address space, at program scope or in a function.
    fn constant(
        &mut self,
        item: &InitDeclarator,
        q: &Qualified,
        symbol: crate::token::Symbol,
        span: Span,
        text: &str,
    ) -> Option<ConstantId> {
        if matches!(self.lookup_here(symbol), Some(Entity::Constant(_) | Entity::Function(_) | Entity::Overloaded(_))) {
            self.error(span, format!("'{text}' is declared twice"));
        }
        let mut ty = self.fresh_spaces(&q.ty);
        let Some(init) = &item.init else {
            self.error(span, format!("the __constant variable '{text}' needs an initialiser"));
            self.bind(symbol, Entity::Broken);
            return None;
        };
        // The variable is not in scope in its own initialiser here, which only an address could use.
        let (sized, mut value) = self.initialiser(init, &ty, "initialisation");
        ty = sized;
        if is_unsized(&ty) {
            self.error(span, format!("the size of '{text}' is not known"));
        }
        match (&mut value.kind, &ty) {
            (ExprKind::Aggregate(parts), Type::Array(element, _)) if element.pointee().is_some() => {
                if parts.len() > MAX_ADDRESSES {
                    self.error(span, format!("more than {MAX_ADDRESSES} addresses in '{text}' are not supported"));
                }
                parts.iter_mut().for_each(|part| self.fold_address(part));
            }
            (_, Type::Pointer(_)) => self.fold_address(&mut value),
            _ => self.fold_constants(&mut value),
        }
        let id = ConstantId(self.program.constants.len() as u32);
        self.program.constants.push(Constant { name: text.to_owned(), ty, init: Some(value), span });
        self.bind(symbol, Entity::Constant(id));
        Some(id)
    }

    /// Makes the initial value of a pointer in constant memory the address of other such memory.
    fn fold_address(&mut self, expr: &mut Expr) {
        // A pointer declared before stands for its value.
        expr.rewrite(&mut |part| {
            if let ExprKind::Constant(id) = part.kind
                && part.ty.pointee().is_some()
                && let Some(value) = &self.program.constants[id.0 as usize].init
            {
                *part = Expr { span: part.span, ..value.clone() };
            }
        });
        if !expr.ty.is_error() && !is_address(expr) {
            let message = "the initial value of a pointer in __constant memory must be null or the address of a \
                           __constant variable or a string, with a constant offset";
            self.error(expr.span, message);
        }
    }

    /// Replaces every scalar part of an initialiser by its value, which must be constant.
    fn fold_constants(&mut self, expr: &mut Expr) {
        if expr.ty.is_error() {
            return;
        }
        match &mut expr.kind {
            ExprKind::Aggregate(parts) | ExprKind::VectorLiteral(parts) => {
                let mut parts = std::mem::take(parts);
                parts.iter_mut().for_each(|p| self.fold_constants(p));
                if let ExprKind::Aggregate(list) | ExprKind::VectorLiteral(list) = &mut expr.kind {
                    *list = parts;
                }
            }
            ExprKind::UnionOf(_, part) => self.fold_constants(part),
            ExprKind::Convert(inner) if expr.ty.vector().is_some() => {
                let mut part = (**inner).clone();
                self.fold_constants(&mut part);
                expr.kind = ExprKind::Convert(Box::new(part));
            }
            ExprKind::Zero | ExprKind::Null => {}
            ExprKind::Int { .. } if expr.ty == Type::Sampler => {}
            ExprKind::Constant(id) if expr.ty == Type::Sampler => {
                if let Some(init) = &self.program.constants[id.0 as usize].init {
                    *expr = Expr { span: expr.span, ..init.clone() };
                }
            }
            _ => match self.constant_lanes(expr) {
                Some(lanes) => {
                    let (ty, span) = (expr.ty.clone(), expr.span);
                    let hexadecimal = matches!(expr.kind, ExprKind::Int { hexadecimal: true, .. });
                    let literal = |value: &Value| match *value {
                        Value::Int(value) => ExprKind::Int { value, hexadecimal },
                        Value::Float(value) => ExprKind::Float(value),
                        Value::Double(value) => ExprKind::Double(value),
                    };
                    expr.kind = match (ty.vector(), lanes.as_slice()) {
                        (Some((scalar, _)), lanes) => {
                            let lane = |v| Expr::new(literal(v), Type::Scalar(scalar), span);
                            ExprKind::VectorLiteral(lanes.iter().map(lane).collect())
                        }
                        (None, [value]) => literal(value),
                        (None, _) => unreachable!("a scalar has one value"),
                    };
                }
                None if expr.ty.pointee().is_some() => {
                    let message = "a pointer other than null in a structure, or in an array of arrays, in __constant \
                                   memory is not supported: Metal is not known to keep addresses there";
                    self.error(expr.span, message);
                }
                None => self.error(expr.span, "this initialiser is not a constant expression of a supported form"),
            },
        }
    }

    /// The values of a constant expression in which variables of the constant address space may stand for theirs, as
    /// Clang lets them.
    fn constant_lanes(&self, expr: &Expr) -> Option<Vec<Value>> {
        let mut expr = expr.clone();
        expr.rewrite(&mut |part| {
            if let ExprKind::Constant(id) = part.kind
                && part.ty.arithmetic().is_some()
                && let Some(init) = &self.program.constants[id.0 as usize].init
            {
                *part = init.clone();
            }
        });
        const_lanes(&expr)
    }

    fn typedef(&mut self, symbol: crate::token::Symbol, span: Span, q: Qualified, is_function: bool) {
        if is_function {
            self.error(span, "function types are not supported");
            self.bind(symbol, Entity::Broken);
            return;
        }
        if let Type::Struct(id) = q.ty
            && let Some(s) = self.program.structs.get(id.0 as usize)
            && s.name.is_empty()
        {
            let name = self.name(symbol).to_owned();
            self.program.structs[id.0 as usize].name = name;
        }
        let same = match self.lookup_here(symbol) {
            None | Some(Entity::Broken) => true,
            Some(Entity::Typedef(before)) => (&before.ty, before.quals) == (&q.ty, q.quals) || q.ty.is_error(),
            Some(_) => false,
        };
        if !same {
            let text = self.name(symbol);
            self.error(span, format!("'{text}' is declared twice in one scope"));
        }
        let entity = if q.ty.is_error() { Entity::Broken } else { Entity::Typedef(q) };
        self.bind(symbol, entity);
    }

    /// A declaration in a function. Typedefs, prototypes and constants leave no statement.
    pub(super) fn local_declaration(&mut self, declaration: &Declaration) -> Vec<Decl> {
        let base = self.base_type(&declaration.specs);
        let align = match (&declaration.specs.storage, declaration.declarators.as_slice()) {
            (Some((Storage::Typedef, _)), _) | (_, []) => {
                self.refuse_specifiers(&declaration.specs);
                1
            }
            _ => self.variable_attributes(&declaration.specs.attributes),
        };
        let mut out = Vec::new();
        for item in &declaration.declarators {
            out.extend(self.local_declarator(&declaration.specs, &base, align, item));
        }
        out
    }

    /// `align`: what the specifiers ask for.
    fn local_declarator(&mut self, specs: &Specs, base: &Qualified, align: u64, item: &InitDeclarator) -> Option<Decl> {
        let Some(name) = item.declarator.name else {
            self.error(item.declarator.span, "a declaration needs a name");
            return None;
        };
        let text = self.name(name.name).to_owned();
        let declared = self.declared(base, &item.declarator);
        let q = declared.ty;
        let is_variable = declared.params.is_none()
            && !matches!(specs.storage, Some((Storage::Typedef, _)))
            && q.ty != Type::Sampler
            && q.space != Some(Space::Constant);
        let align = if is_variable {
            self.variable_attributes(&item.declarator.attributes).max(align)
        } else {
            self.refuse_attributes(&item.declarator.attributes);
            if align > 1 {
                self.error(name.span, format!("'{text}': attribute 'aligned' is not supported here"));
            }
            1
        };
        match specs.storage {
            Some((Storage::Typedef, _)) => {
                self.typedef(name.name, name.span, q, declared.params.is_some());
                return None;
            }
            Some((Storage::Static, span)) if q.space != Some(Space::Constant) => {
                self.error(span, "static variables are not supported: Metal has no writable program-scope variables");
            }
            Some((Storage::Extern, span)) if declared.params.is_none() => {
                self.error(span, "external variables are not supported: a program is one source");
            }
            _ => {}
        }
        if let Some(params) = declared.params {
            self.prototype(specs, &item.declarator, name, &q, params);
            return None;
        }
        if q.ty.is_error() {
            if let Some(crate::ast::Init::Expr(e)) = &item.init {
                self.value(e);
            }
            self.bind(name.name, Entity::Broken);
            return None;
        }
        if self.lookup_here(name.name).is_some_and(|known| !matches!(known, Entity::Broken)) {
            self.error(name.span, format!("'{text}' is declared twice in one scope"));
        }
        if q.ty == Type::Sampler && matches!(q.space, None | Some(Space::Private)) {
            // It cannot change, so it is the same as one at program scope.
            self.constant(item, &q, name.name, name.span, &text);
            return None;
        }
        match q.space {
            Some(Space::Constant) => {
                self.constant(item, &q, name.name, name.span, &text);
                None
            }
            Some(Space::Global) => {
                self.error(name.span, format!("variable '{text}' in a function cannot be __global"));
                self.bind(name.name, Entity::Broken);
                None
            }
            Some(Space::Local) => self.local_memory(item, &q, name, text),
            _ => self.private_variable(item, q, name, text),
        }
        .inspect(|decl| self.align(decl.local, align))
    }

    /// A variable is aligned as its type is, or more.
    fn align(&mut self, local: LocalId, align: u64) {
        let natural = layout(&self.local(local).ty, &self.program.structs).map_or(1, |(_, align)| align);
        if let Some(current) = &mut self.current
            && align > natural
        {
            current.locals[local.0 as usize].min_align = align;
        }
    }

    fn private_variable(
        &mut self,
        item: &InitDeclarator,
        q: Qualified,
        name: crate::ast::Ident,
        text: String,
    ) -> Option<Decl> {
        let ty = self.fresh_spaces(&q.ty);
        if matches!(ty, Type::Void) || (!is_unsized(&ty) && layout(&ty, &self.program.structs).is_none()) {
            let shown = self.show(&ty);
            self.error(name.span, format!("variable '{text}' cannot have the type '{shown}'"));
            self.bind(name.name, Entity::Broken);
            return None;
        }
        // Nothing else sees the variable; see `without_volatile`.
        let is_volatile = q.quals.is_volatile && ty.vector().is_none();
        let quals = Quals { is_volatile, ..q.quals };
        let local = self.add_local(text.clone(), ty.clone(), Space::Private, quals, name.span);
        self.bind(name.name, Entity::Local(local));
        let init = item.init.as_ref().map(|init| {
            let (sized, value) = self.initialiser(init, &ty, "initialisation");
            if let Some(current) = &mut self.current {
                current.locals[local.0 as usize].ty = sized;
            }
            value
        });
        if is_unsized(&self.local(local).ty) {
            self.error(name.span, format!("the size of '{text}' is not known"));
        }
        Some(Decl { local, init })
    }

    /// A `__local` variable, which lives as long as the kernel.
    fn local_memory(
        &mut self,
        item: &InitDeclarator,
        q: &Qualified,
        name: crate::ast::Ident,
        text: String,
    ) -> Option<Decl> {
        if item.init.is_some() {
            self.error(name.span, format!("the __local variable '{text}' cannot be initialised (OpenCL C 3.0 §6.7.2)"));
        }
        if !self.current.as_ref().is_some_and(|c| c.is_kernel) {
            self.error(
                name.span,
                format!("the __local variable '{text}' must be declared in a kernel (OpenCL C 3.0 §6.7.2)"),
            );
        }
        let ty = self.fresh_spaces(&q.ty);
        if is_unsized(&ty) || layout(&ty, &self.program.structs).is_none() {
            self.error(name.span, format!("the size of '{text}' is not known"));
            self.bind(name.name, Entity::Broken);
            return None;
        }
        let local = self.add_local(text, ty, Space::Local, q.quals, name.span);
        self.bind(name.name, Entity::Local(local));
        Some(Decl { local, init: None })
    }

    pub(super) fn add_local(&mut self, name: String, ty: Type, space: Space, quals: Quals, span: Span) -> LocalId {
        let Some(current) = &mut self.current else { unreachable!("a local variable outside a function") };
        let id = LocalId(current.locals.len() as u32);
        let mut local = Local::new(name, ty, space, span);
        local.quals = quals;
        current.locals.push(local);
        id
    }
}

/// Whether the expression is null or the address of constant memory.
fn is_address(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Null | ExprKind::Zero => true,
        ExprKind::Decay(place) | ExprKind::AddressOf(place) => is_constant_place(place),
        ExprKind::Convert(inner) => e.ty.pointee().is_some() && inner.ty.pointee().is_some() && is_address(inner),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) if e.ty.pointee().is_some() => {
            (is_address(a) && const_int(b).is_some()) || (is_address(b) && const_int(a).is_some())
        }
        _ => false,
    }
}

/// Whether the expression is an object in constant memory that is known here.
fn is_constant_place(place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Constant(_) => place.ty.pointee().is_none(),
        ExprKind::Member(base, _) => is_constant_place(base),
        ExprKind::Index(base, index) if base.ty.pointee().is_some() => is_address(base) && const_int(index).is_some(),
        ExprKind::Index(base, index) => is_constant_place(base) && const_int(index).is_some(),
        ExprKind::Deref(pointer) => is_address(pointer),
        _ => false,
    }
}
