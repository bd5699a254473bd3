//! Meaning: names, types, conversions. From the syntax tree to the typed program (`hir`).
//!
//! Follows C99 §6.2 to §6.9 as OpenCL C 3.0 §6.3 to §6.11 changes it: vectors do not promote, comparisons of vectors give
//! integer vectors, pointers carry address spaces. A pointer without a qualifier gets an inference variable
//! (`spaces`), because OpenCL C 2.0 lets it point anywhere and Metal does not.

mod c11;
mod call;
mod cast;
mod const_eval;
mod conv;
mod decl;
mod expr;
mod function;
mod group;
mod image;
mod init;
mod ops;
mod overload;
mod place;
mod printf;
pub(crate) mod spaces;
mod special;
mod stmt;
mod string;
mod types;

use rustc_hash::FxHashMap as HashMap;

use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::hir::{ConstantId, Expr, Function, FunctionId, Local, LocalId, Program};
use crate::options::{Fp64, Settings};
use crate::source::Span;
use crate::token::{Interner, Symbol};
use crate::types::{Quals, Scalar, Space, StructId, Type, describe};

pub(crate) use call::signature_vars;
pub(crate) use const_eval::{Value, const_int, const_value, int_with};
pub(crate) use conv::convert;
pub(crate) use place::{is_fixed, is_pure, may_repeat, place_space};
use spaces::Spaces;

/// Errors, and warnings, that are kept.
pub(crate) const MAX_DIAGNOSTICS: usize = 100;

/// What an ordinary name stands for.
#[derive(Clone, Debug)]
enum Entity {
    Function(FunctionId),
    /// Functions with `__attribute__((overloadable))`, in the order of their declarations.
    Overloaded(Vec<FunctionId>),
    Local(LocalId),
    Constant(ConstantId),
    EnumConstant(i128, Scalar),
    Typedef(Qualified),
    /// Declared with an error; uses are silent.
    Broken,
}

/// What a tag stands for.
#[derive(Clone, Copy, Debug)]
enum Tag {
    Struct(StructId),
    Enum(Scalar),
}

/// A type with what a declaration says besides.
#[derive(Clone, Debug)]
struct Qualified {
    ty: Type,
    quals: Quals,
    space: Option<Space>,
    /// `size_t` and its kin by name.
    pointer_sized: Option<&'static str>,
    /// Declared with `double`, which `--fp64 float` made `float`.
    demoted: bool,
}

/// One call, for the check of the call graph.
struct CallSite {
    caller: FunctionId,
    callee: FunctionId,
    span: Span,
    /// Variable of the callee's signature and the one that stands for it at this call.
    spaces: Vec<(u32, u32)>,
}

/// The function whose body is being checked.
struct Current {
    id: FunctionId,
    is_kernel: bool,
    ret: Type,
    locals: Vec<Local>,
    loops: u32,
    switches: Vec<Type>,
    labels: HashMap<Symbol, Span>,
    gotos: Vec<ast::Ident>,
    /// Variables that compound literals are.
    literals: Vec<LocalId>,
}

/// The state of the stage.
struct Sema<'a> {
    names: &'a Interner,
    fp64: Fp64,
    /// Constants without suffix are `double`.
    double_constants: bool,
    /// Whether the warning of a `double` that became `float` was given.
    demoted: bool,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
    program: Program,
    scopes: Vec<HashMap<Symbol, Entity>>,
    tags: Vec<HashMap<Symbol, Tag>>,
    spaces: Spaces,
    calls: Vec<CallSite>,
    current: Option<Current>,
    /// Positions of members by name, of structures with many; anonymous ones by the empty name.
    member_index: HashMap<StructId, HashMap<String, u32>>,
    /// Where the file defines functions, also those that are not declared yet.
    definitions: HashMap<Symbol, Span>,
    /// The arrays that string literals are, by their bytes.
    strings: HashMap<&'a [u8], ConstantId>,
    /// Labels that ranges of them were made.
    range_labels: i128,
}

/// What the stage yields besides the program.
pub(crate) struct Checked {
    pub(crate) program: Program,
    pub(crate) spaces: Spaces,
    /// Functions in an order in which callees come first.
    pub(crate) order: Vec<FunctionId>,
}

/// Checks a whole file. The program may be lowered only if there is no error.
pub(crate) fn check(program: &ast::Program, names: &Interner, settings: Settings) -> (Checked, Vec<Diagnostic>) {
    let mut sema = Sema {
        names,
        fp64: settings.fp64,
        double_constants: settings.fp64 == Fp64::Emulate && !settings.single_precision_constant,
        demoted: program.demoted,
        diagnostics: Vec::new(),
        errors: 0,
        warnings: 0,
        program: Program::default(),
        scopes: vec![HashMap::default()],
        tags: vec![HashMap::default()],
        spaces: Spaces::default(),
        calls: Vec::new(),
        current: None,
        member_index: HashMap::default(),
        definitions: HashMap::default(),
        strings: HashMap::default(),
        range_labels: 0,
    };
    for item in &program.items {
        if let ast::Item::Function(f) = item
            && let Some(name) = f.declarator.name
        {
            sema.definitions.entry(name.name).or_insert(name.span);
        }
    }
    for item in &program.items {
        match item {
            ast::Item::Function(f) => sema.function(f),
            ast::Item::Declaration(d) => sema.program_declaration(d),
        }
    }
    let order = sema.check_call_graph();
    let checked = Checked { program: sema.program, spaces: sema.spaces, order };
    (checked, sema.diagnostics)
}

impl<'a> Sema<'a> {
    fn name(&self, symbol: Symbol) -> &'a str {
        self.names.name(symbol)
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(span, message));
    }

    fn warning(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::warning(span, message));
    }

    /// Keeps a diagnostic, unless there are enough of its severity.
    fn report(&mut self, diagnostic: Diagnostic) {
        let kept = if diagnostic.is_error() { &mut self.errors } else { &mut self.warnings };
        *kept += 1;
        if *kept <= MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports and stands in for an expression.
    fn bad(&mut self, span: Span, message: impl Into<String>) -> Expr {
        self.error(span, message);
        Expr::error(span)
    }

    fn show(&self, ty: &Type) -> String {
        let resolved = ty.map_spaces(&mut |s| self.spaces.resolve(s));
        describe(&resolved, &self.program.structs)
    }

    /// `; did you mean 'x'?` for a name that is not declared.
    fn did_you_mean(&self, wanted: &str, function: bool) -> String {
        if self.errors >= MAX_DIAGNOSTICS {
            return String::new();
        }
        let fits = |e: &Entity| {
            matches!(e, Entity::Function(_) | Entity::Overloaded(_)) == function && !matches!(e, Entity::Broken)
        };
        let user = self.scopes.iter().flatten().filter(|(_, e)| fits(e)).map(|(&name, _)| self.name(name));
        let builtin = crate::builtins::TABLE.iter().map(|b| b.name).chain(crate::suggest::SHAPED.iter().copied());
        crate::suggest::question(wanted, user.chain(builtin.filter(|_| function)))
    }

    fn lookup(&self, name: Symbol) -> Option<&Entity> {
        self.scopes.iter().rev().find_map(|s| s.get(&name))
    }

    fn lookup_here(&self, name: Symbol) -> Option<&Entity> {
        self.scopes.last().and_then(|s| s.get(&name))
    }

    fn bind(&mut self, name: Symbol, entity: Entity) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, entity);
        }
    }

    fn enter_scope(&mut self) {
        self.scopes.push(HashMap::default());
        self.tags.push(HashMap::default());
    }

    fn leave_scope(&mut self) {
        self.scopes.pop();
        self.tags.pop();
    }

    /// Where a local variable's declaration is, for the expressions that need it.
    fn local(&self, id: LocalId) -> &Local {
        match &self.current {
            Some(current) => &current.locals[id.0 as usize],
            None => unreachable!("a local variable outside a function"),
        }
    }

    fn locals(&self) -> &[Local] {
        self.current.as_ref().map_or(&[], |c| &c.locals)
    }

    fn function_ref(&self, id: FunctionId) -> &Function {
        &self.program.functions[id.0 as usize]
    }

    /// Gives every unqualified pointer in the type a fresh inference variable.
    fn fresh_spaces(&mut self, ty: &Type) -> Type {
        let spaces = &mut self.spaces;
        ty.map_spaces(&mut |s| if s == Space::Unset { spaces.fresh() } else { s })
    }
}
