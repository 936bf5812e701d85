//! A Python function as data. Names that are not local are already resolved to what they meant when the function was
//! translated: constants, builtins, other functions.

use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::scalar::Number;

use crate::types::Ty;

/// Functions that belong together: the kernel is the first.
#[derive(Debug, Default)]
pub struct Source {
    /// The functions; [`Value::Function`] is an index of this list.
    pub functions: Vec<Function>,
    /// The function that rounds floats to digits, where one of them does.
    pub round_to: Option<usize>,
}

/// One function.
#[derive(Debug, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The file that holds it.
    pub file: String,
    /// Its lines, for messages and comments; the first is line `first_line` of the file.
    pub lines: Vec<String>,
    /// Number of the first line.
    pub first_line: u32,
    /// Parameters, in order. Those of variables of an enclosing function come last; calls name them.
    pub params: Vec<Param>,
    /// The parameter that takes all further arguments by position: `*args`.
    pub rest: Option<usize>,
    /// Statements.
    pub body: Vec<Stmt>,
    /// Types of arguments that its decorator has; others are converted to them.
    pub signatures: Vec<Vec<Ty>>,
    /// How many names occur: each [`Name::id`] is below.
    pub names: u32,
}

impl Function {
    /// The text of a line of the file.
    pub fn line(&self, number: u32) -> &str {
        let at = number.wrapping_sub(self.first_line) as usize;
        self.lines.get(at).map_or("", |line| line.trim_end())
    }
}

/// A parameter.
#[derive(Debug)]
pub struct Param {
    /// The name, as an occurrence of its own.
    pub name: Name,
    /// The default value.
    pub default: Option<Value>,
}

/// An occurrence of a local name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The variable's name.
    pub text: String,
    /// Unique in its function.
    pub id: u32,
}

/// Where something stands: lines from 1, columns from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pos {
    /// Line of the file.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Column after the last, on the same line; 0 where it ends elsewhere.
    pub end: u32,
}

/// A statement.
#[derive(Debug)]
pub struct Stmt {
    /// Where it stands.
    pub pos: Pos,
    /// What it is.
    pub kind: StmtKind,
}

/// What a statement is; the names are Python's.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names are those of Python's ast module")]
pub enum StmtKind {
    Assign {
        targets: Vec<Expr>,
        value: Expr,
    },
    AugAssign {
        target: Expr,
        op: BinOp,
        value: Expr,
    },
    If {
        test: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    While {
        test: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    For {
        target: Expr,
        iter: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    Return(Option<Expr>),
    Expr(Expr),
    Assert {
        test: Expr,
        message: Option<String>,
    },
    /// Which of the classes that translation met, and the message.
    Raise(Option<usize>, String),
    Break,
    Continue,
    Pass,
    /// Something the kernel language does not have; an error if it is reached.
    Unsupported {
        what: String,
        instead: Option<String>,
    },
}

/// An expression.
#[derive(Debug)]
pub struct Expr {
    /// Where it stands.
    pub pos: Pos,
    /// What it is.
    pub kind: ExprKind,
}

/// What an expression is; the names are Python's.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names are those of Python's ast module")]
pub enum ExprKind {
    /// A literal, or a name that is not local.
    Value(Value),
    Name(Name),
    Bin {
        op: BinOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    /// `and`, `or`.
    Bool {
        and: bool,
        values: Vec<Expr>,
    },
    Compare {
        left: Box<Expr>,
        rest: Vec<(CmpOp, Expr)>,
    },
    IfExp {
        test: Box<Expr>,
        body: Box<Expr>,
        orelse: Box<Expr>,
    },
    Call {
        func: Box<Expr>,
        args: Vec<Expr>,
        keywords: Vec<(String, Expr)>,
    },
    Attribute {
        value: Box<Expr>,
        name: String,
    },
    Subscript {
        value: Box<Expr>,
        index: Box<Expr>,
    },
    Slice {
        start: Option<Box<Expr>>,
        stop: Option<Box<Expr>>,
        step: Option<Box<Expr>>,
    },
    Tuple(Vec<Expr>),
    /// `*tuple` among arguments.
    Starred(Box<Expr>),
    /// A function defined inside another that is passed on, with what it captures.
    Closure {
        function: usize,
        captured: Vec<(String, Expr)>,
    },
    /// Something the kernel language does not have.
    Unsupported {
        what: String,
        instead: Option<String>,
    },
    /// A name that nobody has assigned to.
    Undefined(String),
}

/// What a name outside the function means.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `...`.
    Ellipsis,
    /// A Python number.
    Number(Number),
    /// A NumPy number, whose type stays.
    Typed(Number, DType),
    /// A string, known when the kernel is compiled.
    Str(String),
    /// A tuple; a named one has its names.
    Tuple(Vec<Value>, Option<Arc<[String]>>),
    /// A type: `float32`, `np.int64`, `int`.
    Type(Ty),
    /// A row of the table of builtins, or a special form: `math.sin`, `cuda.grid`.
    Builtin(String),
    /// A function of the same [`Source`].
    Function(usize),
    /// One with values for its last parameters.
    Closure(usize, Vec<(String, Value)>),
    /// A class of named tuples, by the names.
    NamedTuple(Arc<[String]>),
    /// An array of the host whose contents are copied into the code.
    Array(Arc<ConstArray>),
    /// Anything else, by a description for messages.
    Other(String),
}

impl Value {
    /// Whether it only means something to the compiler: no thread can hold it.
    pub fn is_static(&self) -> bool {
        matches!(
            self,
            Value::Str(_)
                | Value::Type(_)
                | Value::Builtin(_)
                | Value::Function(_)
                | Value::Closure(..)
                | Value::NamedTuple(_)
        )
    }
}

/// A host array that a kernel captured.
#[derive(Debug, PartialEq)]
pub struct ConstArray {
    /// Element type: a number, or a record.
    pub elem: Ty,
    /// Extents.
    pub shape: Vec<i64>,
    /// The elements in C order, little-endian.
    pub bytes: Vec<u8>,
}

/// Python's binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of Python's ast module")]
pub enum BinOp {
    Add,
    Sub,
    Mult,
    Div,
    FloorDiv,
    Mod,
    Pow,
    LShift,
    RShift,
    BitOr,
    BitXor,
    BitAnd,
    MatMult,
}

impl BinOp {
    /// As it is written.
    pub const fn text(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mult => "*",
            BinOp::Div => "/",
            BinOp::FloorDiv => "//",
            BinOp::Mod => "%",
            BinOp::Pow => "**",
            BinOp::LShift => "<<",
            BinOp::RShift => ">>",
            BinOp::BitOr => "|",
            BinOp::BitXor => "^",
            BinOp::BitAnd => "&",
            BinOp::MatMult => "@",
        }
    }
}

/// Python's unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of Python's ast module")]
pub enum UnaryOp {
    Invert,
    Not,
    UAdd,
    USub,
}

/// Python's comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of Python's ast module")]
pub enum CmpOp {
    Eq,
    NotEq,
    Lt,
    LtE,
    Gt,
    GtE,
    Is,
    IsNot,
    In,
    NotIn,
}
