//! The syntax tree: what was written, before names and types are understood.
//!
//! Grammar: C99 §6.5 to 6.9 with OpenCL C 3.0 §6.3 to §6.9 (vector literals, address spaces, kernels). Built-in type
//! names are resolved by the parser; typedef names are kept as names.

use crate::source::Span;
use crate::token::{FloatLiteral, IntLiteral, StrId, Symbol};
use crate::types::{ImageAccess, ImageDim, Quals, Scalar, Space};

/// A name where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ident {
    pub(crate) name: Symbol,
    pub(crate) span: Span,
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) items: Vec<Item>,
    /// Whether there were syntax errors, behind which declarations may be missing.
    pub(crate) incomplete: bool,
    /// Whether `double` was met and made `float`; the parser has warned then.
    pub(crate) demoted: bool,
}

/// Something at program scope.
#[derive(Debug)]
pub(crate) enum Item {
    Function(FunctionDef),
    Declaration(Declaration),
}

/// A function with a body.
#[derive(Debug)]
pub(crate) struct FunctionDef {
    pub(crate) specs: Specs,
    pub(crate) declarator: Declarator,
    pub(crate) body: Block,
}

/// `specifiers declarator = initialiser, ...;`
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) specs: Specs,
    pub(crate) declarators: Vec<InitDeclarator>,
    pub(crate) span: Span,
}

/// One declared thing of a declaration.
#[derive(Debug)]
pub(crate) struct InitDeclarator {
    pub(crate) declarator: Declarator,
    pub(crate) init: Option<Init>,
}

/// Storage class of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Typedef,
    Static,
    Extern,
}

/// Everything before the declarators.
#[derive(Debug)]
pub(crate) struct Specs {
    pub(crate) ty: TypeSpec,
    pub(crate) quals: Quals,
    pub(crate) space: Option<(Space, Span)>,
    pub(crate) storage: Option<(Storage, Span)>,
    /// `read_only` and its kin.
    pub(crate) access: Option<(ImageAccess, Span)>,
    pub(crate) kernel: Option<Span>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) span: Span,
}

/// A type specifier.
#[derive(Debug)]
pub(crate) enum TypeSpec {
    Void,
    Scalar(Scalar),
    Vector(Scalar, u8),
    /// `double` that `--fp64 float` makes a `float`, and how many of it.
    Demoted(u8),
    /// `size_t`, `ptrdiff_t`, `intptr_t`, `uintptr_t`: 64 bits here, and not allowed as a kernel argument.
    PointerSized(Scalar, &'static str),
    Typedef(Ident),
    /// A C11 atomic type.
    Atomic(Scalar),
    Image(ImageDim),
    Sampler,
    Struct(Box<StructSpec>),
    Enum(Box<EnumSpec>),
    /// A type that is not supported, with the reason; reported by the parser.
    Unsupported,
}

/// `struct tag { ... }` or `union`.
#[derive(Debug)]
pub(crate) struct StructSpec {
    pub(crate) is_union: bool,
    pub(crate) tag: Option<Ident>,
    pub(crate) fields: Option<Vec<FieldDecl>>,
    pub(crate) attributes: Vec<Attribute>,
    /// What `#pragma pack` says where the members begin.
    pub(crate) max_align: u8,
    pub(crate) span: Span,
}

/// One member declaration; no declarator for an anonymous structure.
#[derive(Debug)]
pub(crate) struct FieldDecl {
    pub(crate) specs: Specs,
    pub(crate) declarators: Vec<Declarator>,
}

/// `enum tag { A = 1, B }`
#[derive(Debug)]
pub(crate) struct EnumSpec {
    pub(crate) tag: Option<Ident>,
    pub(crate) constants: Option<Vec<(Ident, Option<Expr>)>>,
    pub(crate) attributes: Vec<Attribute>,
}

/// `__attribute__((name(args)))`
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: Ident,
    pub(crate) args: Vec<Expr>,
    /// `vec_type_hint(float4)` has a type as argument.
    pub(crate) type_arg: Option<Box<TypeName>>,
}

/// A declared name and what is derived from the specifiers: `*a[3]` is array of 3 of pointer.
#[derive(Debug)]
pub(crate) struct Declarator {
    pub(crate) name: Option<Ident>,
    /// From the name outwards.
    pub(crate) derived: Vec<Derived>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) span: Span,
}

/// One step of a declarator.
#[derive(Debug)]
pub(crate) enum Derived {
    /// `* quals`; the qualifiers and the space are those of the pointer itself.
    Pointer {
        quals: Quals,
        space: Option<(Space, Span)>,
    },
    Array {
        size: Option<Expr>,
        span: Span,
    },
    Function {
        params: Vec<Param>,
        span: Span,
    },
}

/// A function parameter.
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) specs: Specs,
    pub(crate) declarator: Declarator,
}

/// A type in a cast or `sizeof`.
#[derive(Debug)]
pub(crate) struct TypeName {
    pub(crate) specs: Specs,
    pub(crate) declarator: Declarator,
    pub(crate) span: Span,
}

/// An initialiser.
#[derive(Debug)]
pub(crate) enum Init {
    Expr(Expr),
    List(InitList),
}

/// `{ a, .x = b, [2] = c }`
#[derive(Debug)]
pub(crate) struct InitList {
    pub(crate) items: Vec<(Vec<Designator>, Init)>,
    pub(crate) span: Span,
}

/// `.name` or `[index]` in an initialiser.
#[derive(Debug)]
pub(crate) enum Designator {
    Field(Ident),
    Index(Expr, Span),
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// Height of the tree, limited so that later stages may recurse.
    pub(crate) height: u32,
}

/// Unary operators without side effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Plus,
    Neg,
    Not,
    BitNot,
    Deref,
    AddressOf,
}

/// Binary operators without side effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}

impl BinaryOp {
    /// The operator's text, the same in OpenCL C and MSL.
    pub(crate) fn text(self) -> &'static str {
        match self {
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Lt => "<",
            BinaryOp::Gt => ">",
            BinaryOp::Le => "<=",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::And => "&",
            BinaryOp::Xor => "^",
            BinaryOp::Or => "|",
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::LogicalOr => "||",
        }
    }

    /// `<` and its kin, which yield a truth value.
    pub(crate) fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne)
    }

    pub(crate) fn is_logical(self) -> bool {
        matches!(self, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
    }

    pub(crate) fn is_shift(self) -> bool {
        matches!(self, BinaryOp::Shl | BinaryOp::Shr)
    }

    /// Defined on integers only.
    pub(crate) fn is_bitwise(self) -> bool {
        matches!(self, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
    }
}

/// Kinds of expression.
#[derive(Debug)]
pub(crate) enum ExprKind {
    Int(IntLiteral),
    Float(FloatLiteral),
    Char(i32),
    Str(StrId),
    Ident(Symbol),
    Unary(UnaryOp, Box<Expr>),
    /// `++x` and `--x`
    PreStep {
        increment: bool,
        place: Box<Expr>,
    },
    /// `x++` and `x--`
    PostStep {
        increment: bool,
        place: Box<Expr>,
    },
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    /// Without the operand in the middle, as GNU C has it, the condition is the value.
    Cond(Box<Expr>, Option<Box<Expr>>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Member {
        base: Box<Expr>,
        name: Ident,
        arrow: bool,
    },
    Cast(Box<TypeName>, Box<Expr>),
    /// `(float4)(a, b.xy, c)`
    VectorLiteral(Box<TypeName>, Vec<Expr>),
    CompoundLiteral(Box<TypeName>, InitList),
    SizeofExpr(Box<Expr>),
    SizeofType(Box<TypeName>),
    /// `vec_step expression`
    VecStepExpr(Box<Expr>),
    VecStepType(Box<TypeName>),
}

/// `{ ... }`
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) span: Span,
    /// The closing brace.
    pub(crate) end: Span,
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

/// Kinds of statement.
#[derive(Debug)]
pub(crate) enum StmtKind {
    Empty,
    Expr(Expr),
    Decl(Box<Declaration>),
    Block(Block),
    /// A chain `if ... else if ... else`, flat so that long chains do not nest.
    If {
        arms: Vec<(Expr, Stmt)>,
        otherwise: Option<Box<Stmt>>,
    },
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    For {
        init: Option<Box<Stmt>>,
        cond: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    Switch(Expr, Box<Stmt>),
    /// A label, or GNU C's range of them.
    Case(Expr, Option<Expr>, Box<Stmt>),
    Default(Box<Stmt>),
    Break,
    Continue,
    Return(Option<Expr>),
    Goto(Ident),
    Label(Ident, Box<Stmt>),
    /// Stands where an error was reported.
    Error,
}
