//! The syntax tree of a Python function. Names that are not local are already resolved to the constants, builtins and
//! functions that they meant when the function was translated.

use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::scalar::Number;

use crate::types::Ty;

/// A kernel and the functions that it uses. The kernel is the first.
#[derive(Debug, Default)]
pub struct Source {
    /// The functions; [`Value::Function`] is an index into this list.
    pub functions: Vec<Function>,
    /// The function that implements `round(x, ndigits)`, if one of the functions calls it.
    pub round_to: Option<usize>,
}

/// One function.
#[derive(Debug, Default)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The file that holds it.
    pub file: String,
    /// The lines of the source text, for messages and comments. The first is line `first_line` of the file.
    pub lines: Vec<String>,
    /// The number of the first line.
    pub first_line: u32,
    /// The parameters, in order. Captured variables of an enclosing function come last and are passed by name.
    pub params: Vec<Param>,
    /// The parameter that takes the remaining positional arguments: `*args`.
    pub vararg: Option<usize>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The argument types given to the decorator. Arguments of other types are converted to them.
    pub signatures: Vec<Vec<Ty>>,
    /// The number of name occurrences; every [`Name::id`] is less.
    pub names: u32,
}

impl Function {
    /// Returns the text of a line of the file.
    pub fn line(&self, number: u32) -> &str {
        let at = number.wrapping_sub(self.first_line) as usize;
        self.lines.get(at).map_or("", |line| line.trim_end())
    }
}

/// A parameter.
#[derive(Debug)]
pub struct Param {
    /// The name, which counts as an occurrence.
    pub name: Name,
    /// The default value.
    pub default: Option<Value>,
}

/// An occurrence of a local name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name of the variable.
    pub text: String,
    /// The number of the occurrence, unique in its function.
    pub id: u32,
}

/// A source location: lines count from 1, columns from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pos {
    /// The line of the file.
    pub line: u32,
    /// The first column.
    pub column: u32,
    /// The column after the last one on the same line; 0 if the syntax ends on another line.
    pub end: u32,
}

/// A statement.
#[derive(Debug)]
pub struct Stmt {
    /// The source location.
    pub pos: Pos,
    /// The kind of statement.
    pub kind: StmtKind,
}

/// The kinds of statements, with Python's names.
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
    /// The index of the exception class among those that the translation collected, and the message.
    Raise(Option<usize>, String),
    Break,
    Continue,
    Pass,
    /// A statement that the kernel language does not have. It is an error only if it is reached.
    Unsupported {
        what: String,
        instead: Option<String>,
    },
}

/// An expression.
#[derive(Debug)]
pub struct Expr {
    /// The source location.
    pub pos: Pos,
    /// The kind of expression.
    pub kind: ExprKind,
}

/// The kinds of expressions, with Python's names.
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
    /// `and` or `or`.
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
    /// A nested function that is used as a value, with the variables that it captures.
    Closure {
        function: usize,
        captured: Vec<(String, Expr)>,
    },
    /// An expression that the kernel language does not have.
    Unsupported {
        what: String,
        instead: Option<String>,
    },
    /// A name that is assigned nowhere.
    Undefined(String),
}

/// The meaning of a name from outside the function.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `...`.
    Ellipsis,
    /// A Python number.
    Number(Number),
    /// A NumPy scalar, which keeps its type.
    Typed(Number, DType),
    /// A string. Kernels use strings only at compile time.
    Str(String),
    /// A tuple; a named tuple has names.
    Tuple(Vec<Value>, Option<Arc<[String]>>),
    /// A type: `float32`, `np.int64`, `int`.
    Type(Ty),
    /// The name of a builtin: `math.sin`, `cuda.grid`.
    Builtin(String),
    /// A function of the same [`Source`].
    Function(usize),
    /// A function of the same [`Source`] with values for its last parameters.
    Closure(usize, Vec<(String, Value)>),
    /// A class of named tuples, given by the field names.
    NamedTuple(Arc<[String]>),
    /// A host array whose contents become part of the code.
    Array(Arc<ConstArray>),
    /// Any other object, with a description for messages.
    Other(String),
}

impl Value {
    /// Returns true if the value exists at compile time only: a kernel cannot hold it in a variable.
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

/// A host array that a kernel captures.
#[derive(Debug, PartialEq)]
pub struct ConstArray {
    /// The element type: a number or a record.
    pub elem: Ty,
    /// The extents.
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
    /// Returns the operator's symbol.
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
