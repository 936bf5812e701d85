//! The context of lowering a function: its variables, the blocks that are being written, and the conversion of operands
//! to values.

use std::collections::BTreeSet;

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use super::{Arg, Binding, Compiler};
use crate::ast::{self, Name, Pos, Value};
use crate::diagnostic::{Diagnostic, ErrorKind, Result};
use crate::exception::ExceptionKind;
use crate::ir::{self, Expr, Kind, StmtKind, Var, VarId};
use crate::live_ranges::LiveRanges;
use crate::rules;
use crate::types::{ArrayTy, BOOL, Order, Ty};

/// The meaning of an expression: a run-time value or a compile-time object.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// A run-time value.
    Expr(Expr),
    /// A constant, a function, a type.
    Value(Value),
    /// `range(start, stop, step)`.
    Range(Box<[Expr; 3]>),
    /// `enumerate(iterable, start)`.
    Enumerate(Box<Operand>, Box<Expr>),
    /// `zip(…)`.
    Zip(Vec<Operand>),
    /// A method of a value, not called yet.
    Method(Box<Expr>, String),
}

/// A loop around the statement being lowered.
pub(super) struct Loop {
    /// The variable that `break` sets to false, if the loop has an `else`.
    pub(super) completed: Option<VarId>,
}

/// The state of one pass over a function.
pub(super) struct LoweringContext<'c, 'a> {
    pub(super) compiler: &'c mut Compiler<'a>,
    pub(super) instance: usize,
    pub(super) function: &'a ast::Function,
    pub(super) live_ranges: &'c LiveRanges,
    pub(super) bindings: &'c mut Vec<Binding>,
    /// Parameters, then live ranges, then temporaries.
    pub(super) vars: Vec<Var>,
    /// The variable of each live range.
    var_of: Vec<VarId>,
    /// For a live range with a use that may come before any assignment: the variable that is true once it is assigned.
    /// Only if values are checked.
    assigned_flags: Vec<Option<VarId>>,
    /// The compile-time numbers, or tuples of numbers, of live ranges with one assignment. Array shapes may use them.
    constants: Vec<Option<Value>>,
    pub(super) arrays: Vec<ir::LocalArray>,
    /// The statements of the open blocks, innermost last.
    blocks: Vec<Vec<ir::Stmt>>,
    pub(super) loops: Vec<Loop>,
    pub(super) pos: Pos,
    /// The nesting depth of the current expression.
    pub(super) depth: usize,
    /// The first variable that was read without a type, and its source location.
    unset: Option<(String, Pos)>,
}

impl<'c, 'a> LoweringContext<'c, 'a> {
    pub(super) fn new(
        compiler: &'c mut Compiler<'a>,
        instance: usize,
        function: &'a ast::Function,
        live_ranges: &'c LiveRanges,
        bindings: &'c mut Vec<Binding>,
    ) -> Self {
        let pos = Pos { line: function.first_line, column: 0, end: 0 };
        LoweringContext {
            compiler,
            instance,
            function,
            live_ranges,
            bindings,
            vars: Vec::new(),
            var_of: Vec::new(),
            assigned_flags: Vec::new(),
            constants: vec![None; live_ranges.names.len()],
            arrays: Vec::new(),
            blocks: vec![Vec::new()],
            loops: Vec::new(),
            pos,
            depth: 0,
            unset: None,
        }
    }

    /// Lowers the function with the types found so far. Also returns the error that remains if no further types are
    /// found.
    pub(super) fn run(mut self) -> Result<(ir::Function, Option<Box<Diagnostic>>)> {
        self.declare()?;
        let function = self.function;
        self.body(&function.body)?;
        let body = self.blocks.pop().unwrap_or_default();
        let unset = self.unset.take().map(|(name, pos)| {
            self.pos = pos;
            self.typing(format!("variable {name:?} is used before it is assigned"))
        });
        let function = ir::Function {
            name: identifier(&function.name),
            file: function.file.clone(),
            lines: function.lines.clone(),
            first_line: function.first_line,
            params: function.params.len(),
            vars: self.vars,
            ret: Ty::Unknown,
            body,
            arrays: self.arrays,
            writes: BTreeSet::new(),
        };
        Ok((function, unset))
    }

    /// Creates variables for parameters and live ranges. A parameter that is assigned to gets a second variable, whose
    /// type may be wider.
    fn declare(&mut self) -> Result<()> {
        let function = self.function;
        let args = self.compiler.instances[self.instance].args.clone();
        self.check_arguments(args.len())?;
        for (param, arg) in function.params.iter().zip(&args) {
            let ty = match arg {
                Arg::Ty(ty) => ty.clone(),
                Arg::Static(_) => Ty::None,
            };
            self.vars.push(Var { name: param.name.text.clone(), ty });
        }
        for live_range in 0..self.live_ranges.names.len() {
            let ty = match &self.bindings[live_range] {
                Binding::Ty(ty) => ty.clone(),
                Binding::Static(_) => Ty::None,
                Binding::Unset => Ty::Unknown,
            };
            self.var_of.push(self.vars.len());
            self.vars.push(Var { name: self.live_ranges.names[live_range].clone(), ty });
        }
        let tracks = self.compiler.checks.values || self.compiler.checks.accesses;
        self.assigned_flags = vec![None; self.live_ranges.names.len()];
        for (live_range, tracked) in self.live_ranges.tracked().into_iter().enumerate().filter(|_| tracks) {
            if tracked {
                let flag = self.variable("assigned", BOOL);
                self.assigned_flags[live_range] = Some(flag);
                self.emit(StmtKind::Assign(flag, Expr::bool(false)));
            }
        }
        for (k, (param, arg)) in function.params.iter().zip(args).enumerate() {
            let Some(live_range) = self.live_ranges.of(&param.name) else { continue };
            match arg {
                Arg::Static(value) => self.bind_static(live_range, value)?,
                Arg::Ty(ty) => {
                    let value = Expr::new(ty.clone(), Kind::Var(k));
                    if self.live_ranges.assignments[live_range] == 1 {
                        self.bindings[live_range] = Binding::Ty(ty);
                        self.var_of[live_range] = k;
                    } else {
                        self.bind(live_range, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_arguments(&self, given: usize) -> Result<()> {
        let wanted = self.function.params.len();
        if given == wanted {
            return Ok(());
        }
        Err(self.arity_error(&self.function.name, &wanted.to_string(), given))
    }

    // --- messages

    pub(super) fn error(&self, class: ErrorKind, message: impl Into<String>) -> Box<Diagnostic> {
        Diagnostic::new(class, message, self.function, self.pos)
    }

    pub(super) fn typing(&self, message: impl Into<String>) -> Box<Diagnostic> {
        self.error(ErrorKind::Typing, message)
    }

    pub(super) fn unsupported(&self, message: impl Into<String>) -> Box<Diagnostic> {
        self.error(ErrorKind::Unsupported, message)
    }

    /// Creates the error for a wrong number of arguments.
    pub(super) fn arity_error(&self, name: &str, wanted: &str, given: usize) -> Box<Diagnostic> {
        let plural = if wanted == "1" { "" } else { "s" };
        self.typing(format!("{name} takes {wanted} argument{plural}, {given} given"))
    }

    // --- statements

    pub(super) fn emit(&mut self, kind: StmtKind) {
        let line = self.pos.line;
        if let Some(block) = self.blocks.last_mut() {
            block.push(ir::Stmt { line, kind });
        }
    }

    /// Writes the statements of `f` to a block of their own.
    pub(super) fn block<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Vec<ir::Stmt>)> {
        self.blocks.push(Vec::new());
        let result = f(self);
        let block = self.blocks.pop().unwrap_or_default();
        Ok((result?, block))
    }

    /// Appends the statements of a block.
    pub(super) fn append(&mut self, block: Vec<ir::Stmt>) {
        if let Some(open) = self.blocks.last_mut() {
            open.extend(block);
        }
    }

    // --- variables

    /// Creates a variable.
    pub(super) fn variable(&mut self, name: &str, ty: Ty) -> VarId {
        self.vars.push(Var { name: name.into(), ty });
        self.vars.len() - 1
    }

    /// Assigns a value to a new variable.
    pub(super) fn materialize(&mut self, name: &str, value: Expr) -> Expr {
        let ty = value.ty.clone();
        let var = self.variable(name, ty.clone());
        self.emit(StmtKind::Assign(var, value));
        Expr::new(ty, Kind::Var(var))
    }

    /// Returns an expression for a value that may be evaluated several times and does not change later.
    pub(super) fn stabilize(&mut self, name: &str, value: Expr) -> Expr {
        if self.is_stable(&value) { value } else { self.materialize(name, value) }
    }

    /// Returns an expression for a value that may be evaluated twice at this point.
    pub(super) fn duplicable(&mut self, name: &str, e: Expr) -> Expr {
        if e.is_simple() { e } else { self.materialize(name, e) }
    }

    fn is_stable(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Const(_) | Kind::Nothing | Kind::Declared(_) | Kind::Constant(_) => true,
            Kind::Var(v) => self.is_assigned_once(*v),
            Kind::Cast(inner) | Kind::Extent(inner, _) => self.is_stable(inner),
            Kind::Builtin(row, args) => args.is_empty() && !row.has_effect,
            _ => false,
        }
    }

    /// Temporaries are assigned once; live ranges may be assigned again.
    fn is_assigned_once(&self, var: VarId) -> bool {
        match self.var_of.iter().position(|&v| v == var) {
            Some(live_range) => self.live_ranges.assignments[live_range] == 1,
            None => true,
        }
    }

    pub(super) fn live_range(&self, name: &Name) -> Option<usize> {
        self.live_ranges.of(name)
    }

    pub(super) fn var_of(&self, live_range: usize) -> VarId {
        self.var_of[live_range]
    }

    /// Returns the value of a variable.
    pub(super) fn read(&mut self, name: &Name) -> Result<Operand> {
        let Some(live_range) = self.live_ranges.of(name) else {
            return Err(self.typing(format!("variable {:?} is used before it is assigned", name.text)));
        };
        Ok(match &self.bindings[live_range] {
            Binding::Static(value) => Operand::Value(value.clone()),
            Binding::Unset => {
                self.unset.get_or_insert_with(|| (name.text.clone(), self.pos));
                Operand::Expr(Expr::unknown())
            }
            Binding::Ty(ty) => {
                let value = Expr::new(ty.clone(), Kind::Var(self.var_of[live_range]));
                if let (Some(flag), true) = (self.assigned_flags[live_range], self.live_ranges.maybe_unassigned(name)) {
                    let flag = Expr::new(BOOL, Kind::Var(flag));
                    let missing = Expr::new(BOOL, Kind::Not(Box::new(flag)));
                    self.raise_if(missing, ExceptionKind::Unassigned(name.text.clone()), Vec::new())?;
                }
                Operand::Expr(value)
            }
        })
    }

    /// Records that a live range has a value from here on.
    fn mark_assigned(&mut self, live_range: usize) {
        if let Some(flag) = self.assigned_flags[live_range] {
            self.emit(StmtKind::Assign(flag, Expr::bool(true)));
        }
    }

    /// Assigns to a live range.
    pub(super) fn bind(&mut self, live_range: usize, value: Expr) -> Result<()> {
        if value.ty == Ty::Unknown {
            return Ok(());
        }
        let ty = match &self.bindings[live_range] {
            Binding::Unset => value.ty.clone(),
            Binding::Ty(ty) => match ty.unify(&value.ty) {
                Some(ty) => ty,
                None => {
                    let name = &self.live_ranges.names[live_range];
                    let error = self.typing(format!("variable {name:?} is assigned both {ty} and {}", value.ty));
                    return Err(error.hint("use two names: a variable has one type at each use"));
                }
            },
            Binding::Static(_) => return Err(self.ambiguous_binding(live_range)),
        };
        if self.live_ranges.assignments[live_range] == 1 {
            self.constants[live_range] = self.constant_value(&value);
        }
        self.bindings[live_range] = Binding::Ty(ty.clone());
        let var = self.var_of[live_range];
        self.vars[var].ty = ty.clone();
        let value = self.cast(value, &ty)?;
        self.emit(StmtKind::Assign(var, value));
        self.mark_assigned(live_range);
        Ok(())
    }

    /// Binds a name to a new variable, whose type may differ from the previous one.
    pub(super) fn rebind(&mut self, name: &Name, value: Expr) {
        let Some(live_range) = self.live_ranges.of(name) else { return };
        let var = self.variable(&name.text, value.ty.clone());
        (self.bindings[live_range], self.var_of[live_range]) = (Binding::Ty(value.ty.clone()), var);
        self.constants[live_range] = None;
        self.emit(StmtKind::Assign(var, value));
        self.mark_assigned(live_range);
    }

    /// Makes a live range an alias of a compile-time object.
    pub(super) fn bind_static(&mut self, live_range: usize, value: Value) -> Result<()> {
        match &self.bindings[live_range] {
            Binding::Unset => self.bindings[live_range] = Binding::Static(value),
            Binding::Static(known) if *known == value => {}
            _ => return Err(self.ambiguous_binding(live_range)),
        }
        Ok(())
    }

    fn ambiguous_binding(&self, live_range: usize) -> Box<Diagnostic> {
        let name = &self.live_ranges.names[live_range];
        self.typing(format!("variable {name:?} has different meanings on different paths through the function"))
            .hint("functions, types and strings are known when the kernel is compiled; use two names")
    }

    /// Returns the compile-time value of an integer, through variables that are assigned once.
    pub(super) fn constant_int(&self, e: &Expr) -> Option<i64> {
        match &e.kind {
            Kind::Var(v) => {
                let live_range = self.var_of.iter().position(|&var| var == *v)?;
                integer(self.constants[live_range].as_ref()?)
            }
            Kind::Item(of, k) => match self.constant_value(of)? {
                Value::Tuple(items, _) => integer(items.get(*k)?),
                _ => None,
            },
            Kind::Cast(inner) => {
                let constant = Expr::int(self.constant_int(inner)?);
                Expr::new(e.ty.clone(), Kind::Cast(Box::new(constant))).as_int()
            }
            Kind::Fun(fun, d, args) => {
                let constants = args.iter().map(|a| self.constant_int(a).map(Expr::int)).collect::<Option<Vec<_>>>()?;
                Expr::new(e.ty.clone(), Kind::Fun(*fun, *d, constants)).as_int()
            }
            _ => e.as_int(),
        }
    }

    /// Returns the compile-time value of a number or a tuple of numbers, with its types.
    pub(super) fn constant_value(&self, e: &Expr) -> Option<Value> {
        match (&e.kind, &e.ty) {
            (Kind::Const(n), Ty::Scalar(d)) => Some(Value::Typed(*n, *d)),
            (Kind::Var(v), Ty::Scalar(_) | Ty::Tuple(..)) => {
                let live_range = self.var_of.iter().position(|&var| var == *v)?;
                self.constants[live_range].clone()
            }
            (_, Ty::Scalar(d)) => Some(Value::Typed(Number::Int(self.constant_int(e)?.into()), *d)),
            (Kind::Tuple(items), Ty::Tuple(_, names)) => {
                let items = items.iter().map(|item| self.constant_value(item)).collect::<Option<_>>()?;
                Some(Value::Tuple(items, names.clone()))
            }
            _ => None,
        }
    }

    // --- values

    /// Converts an operand to a run-time value.
    pub(super) fn value(&mut self, operand: Operand) -> Result<Expr> {
        match operand {
            Operand::Expr(e) => Ok(e),
            Operand::Value(value) => self.constant(value),
            Operand::Range(_) | Operand::Enumerate(..) | Operand::Zip(_) => {
                Err(self.unsupported("range, enumerate and zip are supported only as the iterable of a loop"))
            }
            Operand::Method(of, name) => Err(self.unsupported(format!(
                "{} has no attribute {name:?} in kernels, where methods can only be called",
                of.ty
            ))),
        }
    }

    fn constant(&mut self, value: Value) -> Result<Expr> {
        Ok(match value {
            Value::None => Expr::new(Ty::None, Kind::Nothing),
            Value::Number(n) => Expr::number(n, rules::python_type(n)),
            Value::Typed(n, d) => Expr::number(n, d),
            Value::Tuple(items, names) => {
                let items = items.into_iter().map(|v| self.constant(v)).collect::<Result<Vec<_>>>()?;
                tuple(items, names)
            }
            Value::Array(array) => {
                let (elem, ndim) = (Box::new(array.elem.clone()), array.shape.len() as u8);
                let ty = ArrayTy { elem, ndim, order: Order::C, mutable: false };
                Expr::new(Ty::Array(ty), Kind::Constant(self.compiler.constant(&array)))
            }
            other => return Err(self.typing(format!("a kernel cannot use {} as a value", describe(&other)))),
        })
    }

    /// Converts a value to another type.
    pub(super) fn cast(&mut self, e: Expr, to: &Ty) -> Result<Expr> {
        if e.ty == *to || e.ty == Ty::Unknown || *to == Ty::Unknown {
            return Ok(e);
        }
        if !e.ty.converts_to(to) {
            return Err(self.typing(format!("cannot convert {} to {to}", e.ty)));
        }
        // Constants are converted at compile time.
        if let (Kind::Const(n), Some(from), Some(d)) = (&e.kind, e.dtype(), to.scalar()) {
            return Ok(Expr::number(convert(*n, from, d), d));
        }
        if let Kind::Tuple(items) = e.kind {
            let Ty::Tuple(types, names) = to else { return Err(self.typing("expected a tuple")) };
            let items = items.into_iter().zip(types).map(|(item, ty)| self.cast(item, ty)).collect::<Result<_>>()?;
            return Ok(tuple(items, names.clone()));
        }
        Ok(Expr::new(to.clone(), Kind::Cast(Box::new(e))))
    }

    pub(super) fn cast_dtype(&mut self, e: Expr, d: DType) -> Result<Expr> {
        self.cast(e, &Ty::Scalar(d))
    }

    /// Converts a value to a bool.
    pub(super) fn truth_value(&mut self, e: Expr) -> Result<Expr> {
        match &e.ty {
            Ty::Unknown => Ok(e),
            Ty::Scalar(DType::Bool) => Ok(e),
            Ty::Scalar(d) => {
                if let Kind::Const(n) = &e.kind {
                    return Ok(Expr::bool(!cuprous_core::Scalar::new(*n, *d).is_zero(*d)));
                }
                let zero = Expr::number(convert(Number::Int(0), DType::I64, *d), *d);
                Ok(Expr::new(BOOL, Kind::Fun(Fun::NotEqual, *d, vec![e, zero])))
            }
            Ty::Record(_) => Err(self.typing("the truth value of a record is not defined")),
            Ty::None => Ok(Expr::bool(false)),
            Ty::Tuple(items, _) => Ok(Expr::bool(!items.is_empty())),
            Ty::Array(_) => Err(self
                .typing("the truth value of an array is ambiguous")
                .hint("compare one element, or the array's size: `if a.size > 0`")),
        }
    }

    /// Evaluates a value with an effect at this point, as Python does.
    pub(super) fn emit_effect(&mut self, e: Expr) -> Expr {
        if !e.has_effect() {
            return e;
        }
        if e.ty == Ty::None {
            self.emit(StmtKind::Eval(e));
            return Expr::new(Ty::None, Kind::Nothing);
        }
        self.materialize("t", e)
    }

    /// Turns the assignment of an unused result into a call for its effect.
    pub(super) fn discard(&mut self, operand: &Operand) {
        let Some(last) = self.blocks.last_mut().and_then(|block| block.last_mut()) else { return };
        if let (Operand::Expr(Expr { kind: Kind::Var(v), .. }), StmtKind::Assign(var, value)) =
            (operand, &mut last.kind)
            && v == var
            && value.has_effect()
        {
            let value = std::mem::replace(value, Expr::unknown());
            last.kind = StmtKind::Eval(value);
        }
    }

    /// Returns true if an expression reads one of the variables or memory.
    pub(super) fn mentions(&self, e: &Expr, vars: &[VarId]) -> bool {
        let mut found = matches!(e.kind, Kind::Var(v) if vars.contains(&v)) || matches!(e.kind, Kind::Load(..));
        e.each_operand(&mut |part| found |= self.mentions(part, vars));
        found
    }

    /// Evaluates expressions in order. Values that come before an expression with statements of its own are evaluated
    /// first.
    pub(super) fn in_order<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut eval: impl FnMut(&mut Self, T) -> Result<Operand>,
    ) -> Result<Vec<Operand>> {
        let mut operands: Vec<Operand> = Vec::new();
        for item in items {
            let (operand, block) = self.block(|cx| eval(cx, item))?;
            if !block.is_empty() {
                for earlier in &mut operands {
                    if let Operand::Expr(e) = earlier
                        && !self.is_stable(e)
                    {
                        let value = std::mem::replace(e, Expr::unknown());
                        *e = self.materialize("t", value);
                    }
                }
                self.append(block);
            }
            operands.push(operand);
        }
        Ok(operands)
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Typed(Number::Int(n), _) => i64::try_from(*n).ok(),
        _ => None,
    }
}

/// Creates a tuple.
pub(super) fn tuple(items: Vec<Expr>, names: Option<std::sync::Arc<[String]>>) -> Expr {
    let types = items.iter().map(|e| e.ty.clone()).collect();
    Expr::new(Ty::Tuple(types, names), Kind::Tuple(items))
}

/// Converts a number as devices do.
pub(super) fn convert(n: Number, from: DType, to: DType) -> Number {
    let here = cuprous_core::Scalar::new(n, from).number(from);
    cuprous_core::Scalar::new(here, to).number(to)
}

/// Returns a C identifier that resembles a Python name.
pub(super) fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// Describes a value for a message.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::None => "None".into(),
        Value::Ellipsis => "...".into(),
        Value::Number(_) | Value::Typed(..) => "a number".into(),
        Value::Str(text) => format!("the string {text:?}"),
        Value::Tuple(..) => "a tuple".into(),
        Value::Type(ty) => format!("the type {ty}"),
        Value::Builtin(name) => format!("the function {name}"),
        Value::Function(_) | Value::Closure(..) => "a function".into(),
        Value::NamedTuple(_) => "a class of named tuples".into(),
        Value::Array(_) => "an array".into(),
        Value::Other(what) => what.clone(),
    }
}
