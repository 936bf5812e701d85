//! The typed, structured programs of kernels. [`crate::verify`] checks their invariants.

use std::collections::BTreeSet;
use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, Scalar};

use crate::ast::ConstArray;
use crate::builtin::Builtin;
use crate::exception::RaiseSite;
use crate::types::Ty;

/// A kernel and the functions that it calls.
#[derive(Clone, Debug)]
pub struct Module {
    /// Function 0 is the kernel. A function may call any other.
    pub functions: Vec<Function>,
    /// Host arrays that are part of the code.
    pub constants: Vec<Arc<ConstArray>>,
    /// Whether threads of a block synchronize or lanes of a warp exchange values.
    pub barriers: bool,
    /// Whether blocks wait for one another, so that all must run at the same time.
    pub cooperative: bool,
    /// The locations where it may raise.
    pub raise_sites: Vec<RaiseSite>,
    /// Whether it reports exceptions to the host.
    pub reports: bool,
    /// Whether it uses dynamic shared memory.
    pub dynamic_shared: bool,
    /// Whether its accesses to memory and its barriers are checked at run time: [`crate::exception::Checks::accesses`].
    pub is_checked: bool,
}

impl Module {
    /// Returns the kernel.
    pub fn kernel(&self) -> &Function {
        &self.functions[0]
    }
}

/// The index of a variable in its function.
pub type VarId = usize;

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// A C identifier, unique in the module.
    pub name: String,
    /// The file of its source.
    pub file: String,
    /// The lines of its source, for comments.
    pub lines: Vec<String>,
    /// The number of the first line.
    pub first_line: u32,
    /// The variables; parameters come first.
    pub vars: Vec<Var>,
    /// The number of parameters.
    pub params: usize,
    /// The type of the result.
    pub ret: Ty,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The arrays that it declares.
    pub arrays: Vec<LocalArray>,
    /// The parameters whose elements the function or its callees may write.
    pub writes: BTreeSet<usize>,
}

impl Function {
    /// Returns true if the function itself may raise; with `reported`, if it may raise an exception that is reported.
    pub fn raises(&self, reported: bool) -> bool {
        fn within(body: &[Stmt], reported: bool) -> bool {
            body.iter().any(|stmt| match &stmt.kind {
                StmtKind::Raise(site, _) => site.is_some() || !reported,
                kind => kind.blocks().into_iter().any(|block| within(block, reported)),
            })
        }
        within(&self.body, reported)
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Var {
    /// The name in Python.
    pub name: String,
    /// The type.
    pub ty: Ty,
}

/// The memory space of an array that a kernel declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Shared memory: one array for each block.
    Shared,
    /// Dynamic shared memory, whose size the launch gives. All such arrays start at its beginning.
    Dynamic,
    /// Local memory: one array for each thread.
    Local,
}

/// An array that a kernel declares.
#[derive(Clone, Debug)]
pub struct LocalArray {
    /// The memory space.
    pub space: Space,
    /// The element type: a number or a record.
    pub elem: Ty,
    /// The extents; empty for dynamic shared memory, which has one axis.
    pub shape: Vec<i64>,
    /// The alignment in bytes, a power of two; 0 for that of the element type.
    pub align: u32,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// The line in the function's file.
    pub line: u32,
    /// The kind of statement.
    pub kind: StmtKind,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `var = value`, of the same type.
    Assign(VarId, Expr),
    /// `array[indices] = value`.
    Store {
        /// The array.
        array: Expr,
        /// One integer for each axis.
        indices: Vec<Expr>,
        /// A value of the element's type.
        value: Expr,
    },
    /// Copies a record over another. Both are arrays of records without axes.
    Copy {
        /// The target.
        to: Expr,
        /// The source.
        from: Expr,
    },
    /// A call whose value is not used.
    Eval(Expr),
    /// A branch.
    If {
        /// The condition, a bool.
        test: Expr,
        /// The statements if it is true.
        then: Vec<Stmt>,
        /// The statements if it is false.
        orelse: Vec<Stmt>,
    },
    /// A loop that tests its condition before each iteration.
    While {
        /// The condition, a bool.
        test: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// A counted loop. The body does not assign the counter.
    For {
        /// The counter.
        var: VarId,
        /// The first value. Start, stop and step have the counter's type.
        start: Expr,
        /// The end, exclusive.
        stop: Expr,
        /// The step.
        step: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Leaves the innermost loop.
    Break,
    /// Starts the next iteration of the innermost loop.
    Continue,
    /// Returns from the function.
    Return(Option<Expr>),
    /// Prints a line to the standard output of the process.
    Print(Vec<Printed>),
    /// Ends the thread. With a raise site, the exception is reported together with some int64 values.
    Raise(Option<usize>, Vec<Expr>),
}

/// A part of a printed line.
#[derive(Clone, Debug)]
pub enum Printed {
    /// Literal text.
    Text(String),
    /// A number or a bool.
    Value(Expr),
}

/// An expression. It has no effect unless it is a call, an atomic operation or a builtin with an effect. Expressions
/// with effects stand only at the root of an `Assign` or `Eval`.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The type.
    pub ty: Ty,
    /// The kind of expression.
    pub kind: Kind,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A constant of the expression's type.
    Const(Number),
    /// `None`, which takes no memory.
    Nothing,
    /// A variable.
    Var(VarId),
    /// A conversion with the semantics of C. Arrays convert to a more general order, tuples item by item.
    Cast(Box<Expr>),
    /// A function of the operation table, computed in that dtype, to which the operands belong.
    Fun(Fun, DType, Vec<Expr>),
    /// A builtin of the devices. The operands have the types of its signature.
    Builtin(&'static Builtin, Vec<Expr>),
    /// `a and b` of bools. `b` is evaluated only if `a` is true.
    And(Box<Expr>, Box<Expr>),
    /// `a or b` of bools.
    Or(Box<Expr>, Box<Expr>),
    /// `not a`.
    Not(Box<Expr>),
    /// `a if c else b`, as `c`, `a`, `b`. Only one of `a` and `b` is evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A tuple.
    Tuple(Vec<Expr>),
    /// An item of a tuple.
    Item(Box<Expr>, usize),
    /// An element of an array.
    Load(Box<Expr>, Vec<Expr>),
    /// A view of an array: an entry for each axis, and `New` for each new axis.
    View(Box<Expr>, Vec<Index>),
    /// A field of an array of records, or the real (0) or imaginary (1) parts of complex numbers. The axes of the field
    /// come last.
    Field(Box<Expr>, usize),
    /// The array with its axes reversed.
    Transpose(Box<Expr>),
    /// The memory of an array of order C, with other extents and perhaps another element type.
    Reshape(Box<Expr>, Vec<Expr>),
    /// The extent of an axis.
    Extent(Box<Expr>, usize),
    /// The stride of an axis in bytes.
    Stride(Box<Expr>, usize),
    /// An array that this function declares.
    Declared(usize),
    /// A host array that is part of the code.
    Constant(usize),
    /// A call of a function of the module.
    Call(usize, Vec<Expr>),
    /// An atomic operation on an element. Its value is the old value of the element.
    Atomic {
        /// The operation.
        op: AtomicOp,
        /// The array.
        array: Box<Expr>,
        /// One integer for each axis.
        indices: Vec<Expr>,
        /// Operands of the element's type: one, or (old, new) for `Cas`.
        operands: Vec<Expr>,
    },
    /// A load or store of an element with a cache hint. A store has no value.
    Cached {
        /// The operation.
        op: CacheOp,
        /// The array.
        array: Box<Expr>,
        /// One integer for each axis.
        indices: Vec<Expr>,
        /// The value that is stored, of the element's type; empty for a load.
        operands: Vec<Expr>,
    },
}

/// An entry of a subscript that creates a view.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "views are few")]
pub enum Index {
    /// A position along the axis, which is removed.
    At(Expr),
    /// A range of the axis: start, stop and step of type int64, `None` for Python's defaults.
    Slice(Option<Expr>, Option<Expr>, Option<Expr>),
    /// A new axis of length one.
    New,
}

/// Atomic operations, by Numba's names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of cuda.atomic")]
pub enum AtomicOp {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    Exch,
    Max,
    Min,
    Nanmax,
    Nanmin,
    Cas,
}

impl AtomicOp {
    /// The operations with Numba's names.
    pub const ALL: [(&'static str, AtomicOp); 13] = [
        ("add", AtomicOp::Add),
        ("sub", AtomicOp::Sub),
        ("and_", AtomicOp::And),
        ("or_", AtomicOp::Or),
        ("xor", AtomicOp::Xor),
        ("inc", AtomicOp::Inc),
        ("dec", AtomicOp::Dec),
        ("exch", AtomicOp::Exch),
        ("max", AtomicOp::Max),
        ("min", AtomicOp::Min),
        ("nanmax", AtomicOp::Nanmax),
        ("nanmin", AtomicOp::Nanmin),
        ("cas", AtomicOp::Cas),
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, op)| *op == self).map_or("", |(name, _)| name)
    }

    /// Returns true if the operation is defined for elements of that type.
    pub const fn allows(self, d: DType) -> bool {
        use DType::*;
        match self {
            AtomicOp::Add | AtomicOp::Sub => {
                matches!(d, I16 | U16 | I32 | U32 | I64 | U64 | F16 | BF16 | F32 | F64 | C64 | C128)
            }
            AtomicOp::Max | AtomicOp::Min | AtomicOp::Nanmax | AtomicOp::Nanmin => {
                matches!(d, I16 | U16 | I32 | U32 | I64 | U64 | F16 | BF16 | F32 | F64)
            }
            AtomicOp::Inc | AtomicOp::Dec => matches!(d, U32 | U64),
            AtomicOp::Exch | AtomicOp::Cas => {
                matches!(d, I16 | U16 | I32 | U32 | I64 | U64 | F16 | BF16 | F32 | F64)
            }
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => matches!(d, I16 | U16 | I32 | U32 | I64 | U64),
        }
    }
}

/// Loads and stores with a cache hint, by Numba's names: `cuda.ldcg(a, i)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of CUDA's cache operators")]
pub enum CacheOp {
    Ldca,
    Ldcg,
    Ldcs,
    Ldlu,
    Ldcv,
    Stcg,
    Stcs,
    Stwb,
    Stwt,
}

impl CacheOp {
    /// The operations with Numba's names.
    pub const ALL: [(&'static str, CacheOp); 9] = [
        ("ldca", CacheOp::Ldca),
        ("ldcg", CacheOp::Ldcg),
        ("ldcs", CacheOp::Ldcs),
        ("ldlu", CacheOp::Ldlu),
        ("ldcv", CacheOp::Ldcv),
        ("stcg", CacheOp::Stcg),
        ("stcs", CacheOp::Stcs),
        ("stwb", CacheOp::Stwb),
        ("stwt", CacheOp::Stwt),
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, op)| *op == self).map_or("", |(name, _)| name)
    }

    /// Returns true for a load, false for a store.
    pub const fn is_load(self) -> bool {
        matches!(self, CacheOp::Ldca | CacheOp::Ldcg | CacheOp::Ldcs | CacheOp::Ldlu | CacheOp::Ldcv)
    }

    /// Returns true if elements of that type may be loaded or stored.
    pub const fn allows(self, d: DType) -> bool {
        !matches!(d, DType::Bool | DType::C64 | DType::C128)
    }
}

impl Expr {
    /// Creates an expression.
    pub fn new(ty: Ty, kind: Kind) -> Expr {
        Expr { ty, kind }
    }

    /// Creates a constant.
    pub fn number(n: Number, d: DType) -> Expr {
        Expr::new(Ty::Scalar(d), Kind::Const(n))
    }

    /// Creates an int64.
    pub fn int(n: i64) -> Expr {
        Expr::number(Number::Int(n.into()), DType::I64)
    }

    /// Creates a bool.
    pub fn bool(b: bool) -> Expr {
        Expr::number(Number::Bool(b), DType::Bool)
    }

    /// Creates a value whose type is not known yet.
    pub fn unknown() -> Expr {
        Expr::new(Ty::Unknown, Kind::Nothing)
    }

    /// Returns the dtype of a number.
    pub fn dtype(&self) -> Option<DType> {
        self.ty.scalar()
    }

    /// Returns the compile-time value of an integer; `None` if it is not a constant or wraps around in its type.
    pub fn as_int(&self) -> Option<i64> {
        let known = self.as_exact_int()?;
        let d = self.dtype()?;
        let held = Scalar::new(Number::Int(known.into()), d).number(d);
        (d == DType::Bool || held == Number::Int(known.into())).then_some(known)
    }

    fn as_exact_int(&self) -> Option<i64> {
        match &self.kind {
            Kind::Const(Number::Int(n)) => i64::try_from(*n).ok(),
            Kind::Const(Number::Bool(b)) => Some((*b).into()),
            Kind::Cast(inner) if self.dtype().is_some_and(DType::is_int) => inner.as_int(),
            Kind::Fun(fun, _, args) => {
                let values = args.iter().map(Expr::as_int).collect::<Option<Vec<_>>>()?;
                match (fun, &values[..]) {
                    (Fun::Add, [a, b]) => a.checked_add(*b),
                    (Fun::Subtract, [a, b]) => a.checked_sub(*b),
                    (Fun::Multiply, [a, b]) => a.checked_mul(*b),
                    (Fun::FloorDivide, [a, b]) if *b > 0 => Some(a.div_euclid(*b)),
                    (Fun::Remainder, [a, b]) if *b > 0 => Some(a.rem_euclid(*b)),
                    (Fun::LeftShift, [a, b]) if (0..62).contains(b) => a.checked_mul(1 << b),
                    (Fun::RightShift, [a, b]) if (0..63).contains(b) => Some(a >> b),
                    (Fun::Power, [a, b]) => a.checked_pow(u32::try_from(*b).ok()?),
                    (Fun::Negative, [a]) => a.checked_neg(),
                    (Fun::Positive, [a]) => Some(*a),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns true if the expression costs nothing to evaluate twice: a constant or a variable.
    pub fn is_simple(&self) -> bool {
        match &self.kind {
            Kind::Const(_) | Kind::Nothing | Kind::Var(_) | Kind::Declared(_) | Kind::Constant(_) => true,
            Kind::Cast(inner) => inner.is_simple(),
            _ => false,
        }
    }

    /// Returns true if the expression does more than compute a value.
    pub fn has_effect(&self) -> bool {
        match &self.kind {
            Kind::Call(..) | Kind::Atomic { .. } | Kind::Cached { .. } => true,
            Kind::Builtin(row, _) => row.has_effect,
            _ => false,
        }
    }
}

/// Visitors for shared and for mutable references.
macro_rules! visitors {
    ($me:ident, $each_operand:ident, $exprs:ident, $blocks:ident, $iter:ident $(, $mut:tt)?) => {
        impl Expr {
            /// Calls `f` with each direct operand.
            pub fn $each_operand<'a>(&'a $($mut)? $me, f: &mut dyn FnMut(&'a $($mut)? Expr)) {
                match &$($mut)? $me.kind {
                    Kind::Const(_) | Kind::Nothing | Kind::Var(_) | Kind::Declared(_) | Kind::Constant(_) => {}
                    Kind::Cast(a)
                    | Kind::Not(a)
                    | Kind::Item(a, _)
                    | Kind::Field(a, _)
                    | Kind::Transpose(a)
                    | Kind::Extent(a, _)
                    | Kind::Stride(a, _) => f(a),
                    Kind::And(a, b) | Kind::Or(a, b) => {
                        f(a);
                        f(b);
                    }
                    Kind::Select(c, a, b) => {
                        f(c);
                        f(a);
                        f(b);
                    }
                    Kind::Fun(_, _, all) | Kind::Builtin(_, all) | Kind::Tuple(all) | Kind::Call(_, all) => {
                        all.$iter().for_each(f);
                    }
                    Kind::Load(a, indices) | Kind::Reshape(a, indices) => {
                        f(a);
                        indices.$iter().for_each(f);
                    }
                    Kind::View(a, indices) => {
                        f(a);
                        for index in indices {
                            match index {
                                Index::At(e) => f(e),
                                Index::Slice(start, stop, step) => [start, stop, step].into_iter().flatten().for_each(&mut *f),
                                Index::New => {}
                            }
                        }
                    }
                    Kind::Atomic { array, indices, operands, .. } | Kind::Cached { array, indices, operands, .. } => {
                        f(array);
                        indices.$iter().chain(operands).for_each(f);
                    }
                }
            }
        }

        impl StmtKind {
            /// Calls `f` with each expression of the statement itself, without nested statements.
            pub fn $exprs<'a>(&'a $($mut)? $me, f: &mut dyn FnMut(&'a $($mut)? Expr)) {
                match $me {
                    StmtKind::Assign(_, value) | StmtKind::Eval(value) | StmtKind::Return(Some(value)) => f(value),
                    StmtKind::Store { array, indices, value } => {
                        f(array);
                        indices.$iter().for_each(&mut *f);
                        f(value);
                    }
                    StmtKind::Copy { to, from } => {
                        f(to);
                        f(from);
                    }
                    StmtKind::If { test, .. } | StmtKind::While { test, .. } => f(test),
                    StmtKind::For { start, stop, step, .. } => [start, stop, step].into_iter().for_each(f),
                    StmtKind::Print(parts) => {
                        for part in parts {
                            if let Printed::Value(value) = part {
                                f(value);
                            }
                        }
                    }
                    StmtKind::Raise(_, values) => values.$iter().for_each(f),
                    StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
                }
            }

            /// Returns the nested blocks of statements.
            pub fn $blocks(&$($mut)? $me) -> Vec<&$($mut)? [Stmt]> {
                match $me {
                    StmtKind::If { then, orelse, .. } => vec![then, orelse],
                    StmtKind::While { body, .. } | StmtKind::For { body, .. } => vec![body],
                    _ => Vec::new(),
                }
            }
        }
    };
}

visitors!(self, each_operand, exprs, blocks, iter);
visitors!(self, each_operand_mut, exprs_mut, blocks_mut, iter_mut, mut);

/// Calls `f` with every statement of a block, nested ones included.
pub fn each_stmt<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        f(stmt);
        for block in stmt.kind.blocks() {
            each_stmt(block, f);
        }
    }
}

/// Calls `f` with every expression of a block, nested ones included.
pub fn each_expr<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Expr)) {
    fn inner<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
        f(e);
        e.each_operand(&mut |part| inner(part, f));
    }
    each_stmt(body, &mut |stmt| stmt.kind.exprs(&mut |e| inner(e, f)));
}

/// Returns true if `f` holds for any expression of a block.
pub fn any_expr(body: &[Stmt], f: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    each_expr(body, &mut |e| found |= f(e));
    found
}

/// Calls `f` with each function that a block calls.
pub fn each_call(body: &[Stmt], f: &mut dyn FnMut(usize)) {
    each_expr(body, &mut |e| {
        if let Kind::Call(callee, _) = &e.kind {
            f(*callee);
        }
    });
}

/// Returns the functions that are reachable from the first one, renumbered in the order of their first call.
pub(crate) fn reachable_functions(mut all: Vec<Option<Function>>) -> Vec<Function> {
    let mut number = vec![usize::MAX; all.len()];
    let mut order = vec![0];
    number[0] = 0;
    let mut next = 0;
    while next < order.len() {
        if let Some(function) = &all[order[next]] {
            each_call(&function.body, &mut |callee| {
                if number[callee] == usize::MAX {
                    number[callee] = order.len();
                    order.push(callee);
                }
            });
        }
        next += 1;
    }
    let mut functions: Vec<Function> = order.iter().filter_map(|&k| all[k].take()).collect();
    functions.iter_mut().for_each(|function| renumber(&mut function.body, &number));
    functions
}

/// Calls stand only at the root of an `Assign` or `Eval`: see [`Expr`].
fn renumber(body: &mut [Stmt], number: &[usize]) {
    for stmt in body {
        if let StmtKind::Assign(_, e) | StmtKind::Eval(e) = &mut stmt.kind
            && let Kind::Call(callee, _) = &mut e.kind
        {
            *callee = number[*callee];
        }
        stmt.kind.blocks_mut().into_iter().for_each(|block| renumber(block, number));
    }
}
