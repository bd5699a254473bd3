//! The typed program. Every expression has its type, every conversion is a node, every name is resolved.
//!
//! `sema` builds it in OpenCL C's terms. The lowering passes rewrite it in place until each node has a direct MSL form;
//! the kinds marked *lowered* exist only afterwards. Fields and locals keep the user's spelling until `lower::names`
//! replaces it by the one to print.

use crate::ast::BinaryOp;
use crate::printf::PrintFormat;
use crate::source::Span;
use crate::types::{Quals, Space, Struct, Type};

/// Index into `Program::functions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId(pub(crate) u32);

/// Index into `Function::locals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LocalId(pub(crate) u32);

/// Index into `Program::constants`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConstantId(pub(crate) u32);

/// A whole translation unit.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) structs: Vec<Struct>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) functions: Vec<Function>,
    /// The formats of `printf`; calls name them by number.
    pub(crate) formats: Vec<PrintFormat>,
}

/// A variable in the constant address space at program scope.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) init: Option<Expr>,
    pub(crate) span: Span,
}

/// A function, or only its prototype while `body` is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) kernel: Option<KernelInfo>,
    pub(crate) params: Vec<LocalId>,
    pub(crate) ret: Type,
    pub(crate) locals: Vec<Local>,
    pub(crate) body: Option<Block>,
}

/// What is particular to kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelInfo {
    pub(crate) reqd_work_group_size: Option<[u32; 3]>,
    pub(crate) work_group_size_hint: Option<[u32; 3]>,
    pub(crate) vec_type_hint: Option<String>,
    pub(crate) reqd_sub_group_size: Option<u32>,
    /// *Lowered*: it is a part of a kernel that was cut at its grid barriers.
    pub(crate) grid: Option<GridPart>,
}

/// A part of a kernel with grid barriers (`lower::grid`).
#[derive(Clone, Debug)]
pub(crate) struct GridPart {
    /// In the order of the text; 0 has the kernel's name.
    pub(crate) number: usize,
    pub(crate) count: usize,
    /// How many of the last parameters are not the user's: the work-items' structures, and the turns, if they are there.
    pub(crate) hidden: usize,
    pub(crate) state: bool,
    pub(crate) turns: bool,
}

/// A parameter or variable of a function.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Where the variable itself is: private, local or constant.
    pub(crate) space: Space,
    pub(crate) quals: Quals,
    /// Alignment asked for with `__attribute__((aligned(n)))`, in bytes, or 1.
    pub(crate) min_align: u64,
    pub(crate) span: Span,
    /// *Lowered*: what follows the name of an entry point's parameter, such as `[[buffer(0)]]`.
    pub(crate) attribute: Option<String>,
    /// *Lowered*: printed as a reference (`constant T& x`).
    pub(crate) reference: bool,
    /// *Lowered*: made by a pass; its name gives way to the user's.
    pub(crate) generated: bool,
    /// Declared with `double`, which `--fp64 float` made `float`.
    pub(crate) demoted: bool,
    /// *Lowered*: what it points to is `const` now and was not in the source, or the other way round.
    pub(crate) requalified: bool,
}

impl Local {
    /// A variable that a lowering pass makes.
    pub(crate) fn generated(name: &str, ty: Type, span: Span) -> Local {
        Local { generated: true, ..Local::new(name.to_owned(), ty, Space::Private, span) }
    }

    pub(crate) fn new(name: String, ty: Type, space: Space, span: Span) -> Local {
        Local {
            name,
            ty,
            space,
            quals: Quals::default(),
            min_align: 1,
            span,
            attribute: None,
            reference: false,
            generated: false,
            demoted: false,
            requalified: false,
        }
    }
}

impl Function {
    pub(crate) fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.0 as usize]
    }

    pub(crate) fn local_mut(&mut self, id: LocalId) -> &mut Local {
        &mut self.locals[id.0 as usize]
    }

    pub(crate) fn add_local(&mut self, local: Local) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(local);
        id
    }
}

/// `{ ... }`
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) stmts: Vec<Stmt>,
    /// The closing brace.
    pub(crate) end: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

/// One declared variable.
#[derive(Clone, Debug)]
pub(crate) struct Decl {
    pub(crate) local: LocalId,
    pub(crate) init: Option<Expr>,
}

/// Kinds of statement.
#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Empty,
    Expr(Expr),
    /// In the printed program all variables of one statement have one plain type, or there is only one.
    Decl(Vec<Decl>),
    Block(Block),
    If {
        arms: Vec<(Expr, Block)>,
        otherwise: Option<Block>,
    },
    While(Expr, Block),
    DoWhile(Block, Expr),
    For {
        init: Option<Box<Stmt>>,
        cond: Option<Box<Expr>>,
        step: Option<Box<Expr>>,
        body: Block,
    },
    Switch(Expr, Block),
    /// A label in the block of its switch.
    Case(Expr),
    Default,
    Break,
    Continue,
    Return(Option<Expr>),
    /// Before `lower::goto`.
    Goto(String),
    /// Before `lower::goto`.
    Label(String),
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) ty: Type,
    pub(crate) span: Span,
}

/// Unary operators on values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Neg,
    BitNot,
    /// Yields `bool` (or a vector of `bool`, *lowered*).
    Not,
}

impl UnaryOp {
    pub(crate) fn text(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "!",
        }
    }
}

/// Kinds of expression.
#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// An integer of the expression's type, shown in base 16 if it was written so.
    Int {
        value: i128,
        hexadecimal: bool,
    },
    /// A `float` or `half`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// The null pointer.
    Null,
    /// All bytes zero, for members without initialiser.
    Zero,
    Local(LocalId),
    Constant(ConstantId),
    Unary(UnaryOp, Box<Expr>),
    /// Operands have one type (shift amounts and pointer arithmetic apart). Comparisons and logical operators yield
    /// `bool`; on vectors, before lowering, the integer vector OpenCL defines.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Assign(Box<Expr>, Box<Expr>),
    /// `place op= value`, computed in the type `at`.
    AssignOp {
        op: BinaryOp,
        place: Box<Expr>,
        value: Box<Expr>,
        at: Type,
    },
    Step {
        increment: bool,
        prefix: bool,
        place: Box<Expr>,
    },
    /// Scalar condition.
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Vector condition: the sign bit of each component selects (OpenCL C 3.0 §6.5.i).
    VectorCond(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    /// To the expression's type; from scalar to vector it copies to every component.
    Convert(Box<Expr>),
    /// `(float4)(a, b.xy, c)`
    VectorLiteral(Vec<Expr>),
    /// Components in order; one component yields a scalar. `UNDEFINED_LANE` is the missing fourth of a vector of three.
    Swizzle(Box<Expr>, Vec<u8>),
    /// Base is a pointer, an array place or a vector.
    Index(Box<Expr>, Box<Expr>),
    /// *Lowered*: the member `lo` or (if true) `hi` of a vector that MSL does not have.
    Half(Box<Expr>, bool),
    Deref(Box<Expr>),
    AddressOf(Box<Expr>),
    /// Field by position.
    Member(Box<Expr>, u32),
    /// The array place as a pointer to its first element.
    Decay(Box<Expr>),
    /// Elements of an array, or fields of a structure, in order; what is missing at the end is zero.
    Aggregate(Vec<Expr>),
    /// A union by the value of one of its members.
    UnionOf(u32, Box<Expr>),
    /// `spaces` pairs each inference variable of the callee's signature with the one that stands for it here.
    Call {
        function: FunctionId,
        args: Vec<Expr>,
        spaces: Vec<(u32, u32)>,
    },
    Builtin {
        builtin: crate::builtins::Resolved,
        args: Vec<Expr>,
    },
    /// *Lowered*: `head(args)`, or `arg.method(args)` with the first of `args` if the head is `.method`.
    Msl(String, Vec<Expr>),
    /// *Lowered*: printed as it stands.
    Name(String),
    /// *Lowered*, until `lower::work_item` gives the function this parameter.
    Hidden(Hidden),
    /// Stands where an error was reported.
    Error,
}

/// What a function takes besides the user's parameters: what MSL has only as attributes of an entry point's parameters,
/// and memory of built-in functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Hidden {
    GlobalId,
    LocalId,
    GroupId,
    GlobalSize,
    LocalSize,
    EnqueuedLocalSize,
    NumGroups,
    WorkDim,
    /// The buffer of `printf`.
    Printed,
    LocalIndex,
    SubGroupId,
    SubGroupLocalId,
    MaxSubGroupSize,
    NumSubGroups,
    EnqueuedNumSubGroups,
    /// Threadgroup memory for a value per sub-group, and for one per work-item.
    Partials,
    Items,
    /// A `__local` variable of a called kernel, by its number.
    Shared(u32),
}

/// Lane number of the component that `.hi` and `.odd` of a vector of three do not have.
pub(crate) const UNDEFINED_LANE: u8 = u8::MAX;

impl Expr {
    pub(crate) fn new(kind: ExprKind, ty: Type, span: Span) -> Expr {
        Expr { kind, ty, span }
    }

    pub(crate) fn int(value: i128, ty: Type, span: Span) -> Expr {
        Expr::new(ExprKind::Int { value, hexadecimal: false }, ty, span)
    }

    pub(crate) fn error(span: Span) -> Expr {
        Expr::new(ExprKind::Error, Type::Error, span)
    }

    /// The value of an integer constant node.
    pub(crate) fn int_value(&self) -> Option<i128> {
        match self.kind {
            ExprKind::Int { value, .. } => Some(value),
            _ => None,
        }
    }

    pub(crate) fn convert(self, ty: Type) -> Expr {
        let span = self.span;
        Expr::new(ExprKind::Convert(Box::new(self)), ty, span)
    }

    /// Calls `f` on each direct operand.
    pub(crate) fn for_each_child<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Unary(_, a)
            | ExprKind::Step { place: a, .. }
            | ExprKind::Convert(a)
            | ExprKind::Swizzle(a, _)
            | ExprKind::Half(a, _)
            | ExprKind::Deref(a)
            | ExprKind::AddressOf(a)
            | ExprKind::Member(a, _)
            | ExprKind::UnionOf(_, a)
            | ExprKind::Decay(a) => f(a),
            ExprKind::Binary(_, a, b)
            | ExprKind::Assign(a, b)
            | ExprKind::AssignOp { place: a, value: b, .. }
            | ExprKind::Comma(a, b)
            | ExprKind::Index(a, b) => {
                f(a);
                f(b);
            }
            ExprKind::Cond(a, b, c) | ExprKind::VectorCond(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            ExprKind::VectorLiteral(list)
            | ExprKind::Aggregate(list)
            | ExprKind::Call { args: list, .. }
            | ExprKind::Builtin { args: list, .. }
            | ExprKind::Msl(_, list) => list.iter().for_each(f),
            ExprKind::Int { .. }
            | ExprKind::Float(_)
            | ExprKind::Double(_)
            | ExprKind::Null
            | ExprKind::Zero
            | ExprKind::Local(_)
            | ExprKind::Constant(_)
            | ExprKind::Name(_)
            | ExprKind::Hidden(_)
            | ExprKind::Error => {}
        }
    }

    /// Calls `f` on each direct operand.
    pub(crate) fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Unary(_, a)
            | ExprKind::Step { place: a, .. }
            | ExprKind::Convert(a)
            | ExprKind::Swizzle(a, _)
            | ExprKind::Half(a, _)
            | ExprKind::Deref(a)
            | ExprKind::AddressOf(a)
            | ExprKind::Member(a, _)
            | ExprKind::UnionOf(_, a)
            | ExprKind::Decay(a) => f(a),
            ExprKind::Binary(_, a, b)
            | ExprKind::Assign(a, b)
            | ExprKind::AssignOp { place: a, value: b, .. }
            | ExprKind::Comma(a, b)
            | ExprKind::Index(a, b) => {
                f(a);
                f(b);
            }
            ExprKind::Cond(a, b, c) | ExprKind::VectorCond(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            ExprKind::VectorLiteral(list)
            | ExprKind::Aggregate(list)
            | ExprKind::Call { args: list, .. }
            | ExprKind::Builtin { args: list, .. }
            | ExprKind::Msl(_, list) => list.iter_mut().for_each(f),
            ExprKind::Int { .. }
            | ExprKind::Float(_)
            | ExprKind::Double(_)
            | ExprKind::Null
            | ExprKind::Zero
            | ExprKind::Local(_)
            | ExprKind::Constant(_)
            | ExprKind::Name(_)
            | ExprKind::Hidden(_)
            | ExprKind::Error => {}
        }
    }

    /// Visits the tree, operands first.
    pub(crate) fn walk<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        self.for_each_child(&mut |e| e.walk(f));
        f(self);
    }

    /// Rewrites the tree, operands first.
    pub(crate) fn rewrite(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.for_each_child_mut(&mut |e| e.rewrite(f));
        f(self);
    }
}

/// `place = init`, element by element for arrays.
pub(crate) fn assign(place: Expr, init: Expr, out: &mut Vec<Expr>) {
    let (ty, span) = (place.ty.clone(), place.span);
    let Type::Array(element, count) = &ty else {
        out.push(Expr::new(ExprKind::Assign(Box::new(place), Box::new(init)), ty, span));
        return;
    };
    let mut parts = match init.kind {
        ExprKind::Aggregate(parts) => parts,
        _ => Vec::new(),
    };
    let zero = Expr::new(ExprKind::Zero, (**element).clone(), span);
    parts.resize(*count as usize, zero);
    for (i, part) in parts.into_iter().enumerate() {
        let index = Expr::int(i as i128, Type::INT, span);
        let kind = ExprKind::Index(Box::new(place.clone()), Box::new(index));
        assign(Expr::new(kind, (**element).clone(), span), part, out);
    }
}

impl Block {
    /// Visits the expressions at the top of each statement, in order of the text.
    pub(crate) fn for_each_expr<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        for stmt in &self.stmts {
            stmt.for_each_expr(f);
        }
    }

    /// Visits the expressions at the top of each statement, in order of the text.
    pub(crate) fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for stmt in &mut self.stmts {
            stmt.for_each_expr_mut(f);
        }
    }

    /// Visits every statement list, innermost first.
    pub(crate) fn for_each_list_mut(&mut self, f: &mut dyn FnMut(&mut Vec<Stmt>)) {
        for stmt in &mut self.stmts {
            stmt.for_each_list_mut(f);
        }
        f(&mut self.stmts);
    }
}

impl Stmt {
    /// The blocks of a statement.
    pub(crate) fn blocks(&self) -> Vec<&Block> {
        match &self.kind {
            StmtKind::Block(b)
            | StmtKind::While(_, b)
            | StmtKind::DoWhile(b, _)
            | StmtKind::Switch(_, b)
            | StmtKind::For { body: b, .. } => vec![b],
            StmtKind::If { arms, otherwise } => arms.iter().map(|(_, b)| b).chain(otherwise).collect(),
            _ => Vec::new(),
        }
    }

    /// The blocks of a statement.
    pub(crate) fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match &mut self.kind {
            StmtKind::Block(b)
            | StmtKind::While(_, b)
            | StmtKind::DoWhile(b, _)
            | StmtKind::Switch(_, b)
            | StmtKind::For { body: b, .. } => vec![b],
            StmtKind::If { arms, otherwise } => arms.iter_mut().map(|(_, b)| b).chain(otherwise).collect(),
            _ => Vec::new(),
        }
    }

    /// Visits the statement lists inside, innermost first.
    pub(crate) fn for_each_list_mut(&mut self, f: &mut dyn FnMut(&mut Vec<Stmt>)) {
        match &mut self.kind {
            StmtKind::Block(b)
            | StmtKind::While(_, b)
            | StmtKind::DoWhile(b, _)
            | StmtKind::Switch(_, b)
            | StmtKind::For { body: b, .. } => b.for_each_list_mut(f),
            StmtKind::If { arms, otherwise } => {
                for (_, b) in arms {
                    b.for_each_list_mut(f);
                }
                if let Some(b) = otherwise {
                    b.for_each_list_mut(f);
                }
            }
            _ => {}
        }
    }

    /// See [`Block::for_each_expr`].
    pub(crate) fn for_each_expr<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            StmtKind::Expr(e) | StmtKind::Case(e) | StmtKind::Return(Some(e)) => f(e),
            StmtKind::Decl(decls) => decls.iter().filter_map(|d| d.init.as_ref()).for_each(f),
            StmtKind::Block(b) => b.for_each_expr(f),
            StmtKind::If { arms, otherwise } => {
                for (cond, block) in arms {
                    f(cond);
                    block.for_each_expr(f);
                }
                if let Some(b) = otherwise {
                    b.for_each_expr(f);
                }
            }
            StmtKind::While(cond, b) | StmtKind::Switch(cond, b) => {
                f(cond);
                b.for_each_expr(f);
            }
            StmtKind::DoWhile(b, cond) => {
                b.for_each_expr(f);
                f(cond);
            }
            StmtKind::For { init, cond, step, body } => {
                if let Some(init) = init {
                    init.for_each_expr(f);
                }
                cond.iter().chain(step).for_each(|e| f(e));
                body.for_each_expr(f);
            }
            StmtKind::Empty
            | StmtKind::Default
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Goto(_)
            | StmtKind::Label(_) => {}
        }
    }

    /// See [`Block::for_each_expr_mut`].
    pub(crate) fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            StmtKind::Expr(e) | StmtKind::Case(e) | StmtKind::Return(Some(e)) => f(e),
            StmtKind::Decl(decls) => decls.iter_mut().filter_map(|d| d.init.as_mut()).for_each(f),
            StmtKind::Block(b) => b.for_each_expr_mut(f),
            StmtKind::If { arms, otherwise } => {
                for (cond, block) in arms {
                    f(cond);
                    block.for_each_expr_mut(f);
                }
                if let Some(b) = otherwise {
                    b.for_each_expr_mut(f);
                }
            }
            StmtKind::While(cond, b) | StmtKind::Switch(cond, b) => {
                f(cond);
                b.for_each_expr_mut(f);
            }
            StmtKind::DoWhile(b, cond) => {
                b.for_each_expr_mut(f);
                f(cond);
            }
            StmtKind::For { init, cond, step, body } => {
                if let Some(init) = init {
                    init.for_each_expr_mut(f);
                }
                cond.iter_mut().chain(step).for_each(|e| f(e));
                body.for_each_expr_mut(f);
            }
            StmtKind::Empty
            | StmtKind::Default
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Goto(_)
            | StmtKind::Label(_) => {}
        }
    }
}
