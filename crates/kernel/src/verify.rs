//! The invariants of [`crate::ir`]. Every lowered module is checked before a device sees it.

use cuprous_core::{DType, Fun};

use crate::builtin::TypeSpec;
use crate::exception::{VALUES, WORDS};
use crate::ir::{Expr, Function, Index, Kind, Module, Printed, Stmt, StmtKind};
use crate::types::{BOOL, INT, Order, Ty};

/// A broken invariant and where it is broken.
type Violation = String;
type Check = Result<(), Violation>;

/// Checks a module.
///
/// # Errors
/// The first broken invariant.
pub fn verify(module: &Module) -> Check {
    for function in &module.functions {
        let verifier = Verifier { module, function };
        if let Some(var) = function.vars[..function.params].iter().find(|v| v.ty.is_unknown()) {
            return Err(format!("{}: parameter {} has no type", function.name, var.name));
        }
        verifier.block(&function.body, false).map_err(|violation| format!("{}: {violation}", function.name))?;
    }
    Ok(())
}

struct Verifier<'m> {
    module: &'m Module,
    function: &'m Function,
}

fn ensure(holds: bool, text: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(text()) }
}

impl Verifier<'_> {
    fn block(&self, body: &[Stmt], in_loop: bool) -> Check {
        for stmt in body {
            self.stmt(&stmt.kind, in_loop).map_err(|violation| format!("line {}: {violation}", stmt.line))?;
        }
        Ok(())
    }

    fn var(&self, var: usize) -> Result<&Ty, Violation> {
        match self.function.vars.get(var) {
            Some(v) if !v.ty.is_unknown() => Ok(&v.ty),
            Some(v) => Err(format!("variable {} has no type", v.name)),
            None => Err("the variable does not exist".into()),
        }
    }

    fn stmt(&self, stmt: &StmtKind, in_loop: bool) -> Check {
        match stmt {
            StmtKind::Assign(var, value) => {
                self.root(value)?;
                let ty = self.var(*var)?;
                ensure(*ty == value.ty, || format!("a variable of type {ty} is assigned {}", value.ty))
            }
            StmtKind::Store { array, indices, value } => {
                self.expr(array)?;
                self.expr(value)?;
                let elem = self.element(array, indices)?;
                ensure(elem == value.ty, || format!("{} is stored in an element of type {elem}", value.ty))
            }
            StmtKind::Copy { to, from } => {
                self.expr(to)?;
                self.expr(from)?;
                let record = |e: &Expr| match &e.ty {
                    Ty::Array(a) if a.ndim == 0 => a.record().cloned(),
                    _ => None,
                };
                ensure(record(to).is_some() && record(to) == record(from), || {
                    format!("{} is copied to {}", from.ty, to.ty)
                })
            }
            StmtKind::Eval(value) => {
                ensure(value.has_effect(), || "an Eval of an expression without effect".into())?;
                self.root(value)
            }
            StmtKind::If { test, then, orelse } => {
                self.expr(test)?;
                ensure(test.ty == BOOL, || "a condition that is not a bool".into())?;
                self.block(then, in_loop)?;
                self.block(orelse, in_loop)
            }
            StmtKind::While { test, body } => {
                self.expr(test)?;
                ensure(test.ty == BOOL, || "a loop condition that is not a bool".into())?;
                self.block(body, true)
            }
            StmtKind::For { var, start, stop, step, body } => {
                let ty = self.var(*var)?;
                for bound in [start, stop, step] {
                    self.expr(bound)?;
                    ensure(bound.ty == *ty, || format!("a counter of type {ty} and a bound of type {}", bound.ty))?;
                }
                ensure(ty.scalar().is_some_and(DType::is_int), || "a counter that is not an integer".into())?;
                let changes = assigns(body, *var);
                ensure(!changes, || "the body assigns the counter".into())?;
                self.block(body, true)
            }
            StmtKind::Break | StmtKind::Continue => ensure(in_loop, || "break or continue outside of a loop".into()),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.expr(value)?;
                }
                let ty = value.as_ref().map_or(&Ty::None, |v| &v.ty);
                ensure(*ty == self.function.ret, || format!("{ty} is returned, not {}", self.function.ret))
            }
            StmtKind::Print(parts) => parts.iter().try_for_each(|part| match part {
                Printed::Text(_) => Ok(()),
                Printed::Value(value) => {
                    self.expr(value)?;
                    ensure(value.dtype().is_some(), || "a printed value that is not a number".into())
                }
            }),
            StmtKind::Raise(site, values) => {
                ensure(site.is_none_or(|k| k < self.module.raise_sites.len()), || {
                    "a raise site that does not exist".into()
                })?;
                ensure(values.len() <= WORDS - VALUES, || "an exception with too many values".into())?;
                values.iter().try_for_each(|value| {
                    self.expr(value)?;
                    ensure(value.ty == INT, || format!("an exception value of type {}", value.ty))
                })
            }
        }
    }

    /// Checks the root expression of a statement, which may have an effect.
    fn root(&self, e: &Expr) -> Check {
        let mut result = Ok(());
        e.each_operand(&mut |part| {
            if result.is_ok() {
                result = self.expr(part);
            }
        });
        result?;
        self.types(e)
    }

    fn expr(&self, e: &Expr) -> Check {
        ensure(!e.has_effect(), || "a nested expression has an effect".into())?;
        self.root(e)
    }

    /// Returns the type of an element of an array.
    fn element(&self, array: &Expr, indices: &[Expr]) -> Result<Ty, Violation> {
        let Ty::Array(ty) = &array.ty else { return Err(format!("{} is indexed", array.ty)) };
        ensure(indices.len() == ty.ndim as usize, || "the number of indices differs from the number of axes".into())?;
        for index in indices {
            self.expr(index)?;
            ensure(index.ty == INT, || format!("an index of type {}", index.ty))?;
        }
        Ok((*ty.elem).clone())
    }

    /// Checks that the type of an expression follows from those of its operands.
    fn types(&self, e: &Expr) -> Check {
        ensure(!e.ty.is_unknown(), || "a value without type".into())?;
        let same = |ty: &Ty| ensure(e.ty == *ty, || format!("the type is {}, expected {ty}", e.ty));
        match &e.kind {
            Kind::Const(_) => ensure(e.dtype().is_some(), || "a constant that is not a number".into()),
            Kind::Nothing => same(&Ty::None),
            Kind::Var(v) => same(self.var(*v)?),
            Kind::Cast(from) => ensure(from.ty.converts_to(&e.ty) || both_numbers(&from.ty, &e.ty), || {
                format!("{} does not convert to {}", from.ty, e.ty)
            }),
            Kind::Fun(fun, d, args) => {
                ensure(args.len() == fun.op().arity as usize, || format!("{fun:?} of {} operands", args.len()))?;
                let fits = |a: &Expr| a.dtype() == Some(*d);
                ensure(args.iter().all(fits), || format!("{fun:?} in {} with operands of another type", d.name()))?;
                let result = match fun {
                    Fun::MakeComplex if *d == DType::F64 => DType::C128,
                    Fun::MakeComplex => DType::C64,
                    fun => fun.result(*d),
                };
                same(&Ty::Scalar(result))
            }
            Kind::Builtin(row, args) => {
                ensure(args.len() == row.params.len(), || format!("{} of {} operands", row.name, args.len()))?;
                let mut variable = None;
                for (arg, slot) in args.iter().zip(row.params) {
                    let fits = match slot {
                        TypeSpec::Is(d) => arg.dtype() == Some(*d),
                        _ => {
                            let known = *variable.get_or_insert(arg.dtype());
                            known == arg.dtype() && arg.dtype().is_some_and(|d| row.types.contains(&d))
                        }
                    };
                    ensure(fits, || format!("{} of {}", row.name, arg.ty))?;
                }
                match row.ret {
                    TypeSpec::Is(d) => same(&Ty::Scalar(d)),
                    TypeSpec::T => ensure(Some(e.dtype()) == variable, || format!("{} gives {}", row.name, e.ty)),
                    TypeSpec::Nothing => same(&Ty::None),
                    TypeSpec::Several(all) => same(&Ty::Tuple(all.iter().copied().map(Ty::Scalar).collect(), None)),
                    TypeSpec::IntBool => same(&Ty::Tuple(vec![Ty::Scalar(DType::I32), BOOL], None)),
                }
            }
            Kind::And(a, b) | Kind::Or(a, b) => {
                ensure(a.ty == BOOL && b.ty == BOOL, || "`and` or `or` of a value that is not a bool".into())?;
                same(&BOOL)
            }
            Kind::Not(a) => {
                ensure(a.ty == BOOL, || "`not` of a value that is not a bool".into())?;
                same(&BOOL)
            }
            Kind::Select(c, a, b) => {
                ensure(c.ty == BOOL, || "a condition that is not a bool".into())?;
                same(&a.ty)?;
                same(&b.ty)
            }
            Kind::Tuple(items) => match &e.ty {
                Ty::Tuple(types, _) if types.len() == items.len() => {
                    let fits = types.iter().zip(items).all(|(ty, item)| *ty == item.ty);
                    ensure(fits, || "an item whose type differs from the tuple's".into())
                }
                ty => Err(format!("a tuple of type {ty}")),
            },
            Kind::Item(of, k) => match &of.ty {
                Ty::Tuple(types, _) if *k < types.len() => same(&types[*k]),
                ty => Err(format!("item {k} of {ty}")),
            },
            Kind::Load(array, indices) => same(&self.element(array, indices)?),
            Kind::View(array, indices) => {
                let (Ty::Array(from), Ty::Array(to)) = (&array.ty, &e.ty) else {
                    return Err("a view of a value that is not an array".into());
                };
                let used = indices.iter().filter(|i| !matches!(i, Index::New)).count();
                let kept = indices.iter().filter(|i| !matches!(i, Index::At(_))).count();
                ensure(used == from.ndim as usize && kept == to.ndim as usize, || {
                    "a view with the wrong number of axes".into()
                })?;
                ensure(from.elem == to.elem, || "a view with another element type".into())
            }
            Kind::Field(array, k) => {
                let (Ty::Array(from), Ty::Array(to)) = (&array.ty, &e.ty) else {
                    return Err("a field of a value that is not an array".into());
                };
                let fits = from.field(*k).is_some_and(|field| {
                    field.elem == *to.elem && to.ndim as usize == from.ndim as usize + field.shape.len()
                });
                ensure(fits, || "a field that does not exist, or with the wrong type".into())
            }
            Kind::Transpose(array) => match (&array.ty, &e.ty) {
                (Ty::Array(a), Ty::Array(b)) => ensure(a.elem == b.elem && a.ndim == b.ndim, || {
                    "a transpose with another element type or number of axes".into()
                }),
                _ => Err("a transpose of a value that is not an array".into()),
            },
            Kind::Reshape(array, extents) => {
                let (Ty::Array(from), Ty::Array(to)) = (&array.ty, &e.ty) else {
                    return Err("a reshape of a value that is not an array".into());
                };
                let rows = from.order == Order::C && to.order == Order::C;
                ensure(rows && to.ndim as usize == extents.len(), || {
                    "a reshape of an array that is not C-contiguous, or with the wrong number of extents".into()
                })?;
                ensure(extents.iter().all(|n| n.ty == INT), || "an extent that is not an int64".into())
            }
            Kind::Extent(array, axis) | Kind::Stride(array, axis) => {
                let Ty::Array(ty) = &array.ty else { return Err("an extent of a value that is not an array".into()) };
                ensure(*axis < ty.ndim as usize, || "an extent of an axis that does not exist".into())?;
                same(&INT)
            }
            Kind::Declared(k) => match (self.function.arrays.get(*k), &e.ty) {
                (Some(array), Ty::Array(ty)) => {
                    let fits = *ty.elem == array.elem && ty.ndim as usize == array.shape.len().max(1);
                    ensure(fits, || "a declared array with another type".into())
                }
                _ => Err("an array that is not declared".into()),
            },
            Kind::Constant(k) => {
                ensure(*k < self.module.constants.len(), || "a constant array that does not exist".into())
            }
            Kind::Call(callee, args) => {
                let Some(callee) = self.module.functions.get(*callee) else {
                    return Err("a function that does not exist".into());
                };
                let params = &callee.vars[..callee.params];
                ensure(params.len() == args.len(), || format!("{} with {} arguments", callee.name, args.len()))?;
                for (param, arg) in params.iter().zip(args) {
                    ensure(param.ty == arg.ty, || format!("{} gets {}", callee.name, arg.ty))?;
                }
                same(&callee.ret)
            }
            Kind::Atomic { op, array, indices, operands } => {
                let elem = self.element(array, indices)?;
                let fits = operands.iter().all(|o| o.ty == elem);
                ensure(fits, || "an operand whose type differs from the element's".into())?;
                ensure(elem.scalar().is_some_and(|d| op.allows(d)), || format!("{op:?} of {elem}"))?;
                same(&elem)
            }
            Kind::Cached { op, array, indices, operands } => {
                let elem = self.element(array, indices)?;
                let fits = operands.iter().all(|o| o.ty == elem);
                ensure(fits, || "an operand whose type differs from the element's".into())?;
                ensure(elem.scalar().is_some_and(|d| op.allows(d)), || format!("{op:?} of {elem}"))?;
                same(if op.is_load() { &elem } else { &Ty::None })
            }
        }
    }
}

/// Returns true for conversions between numbers that C has, including lossy ones: `int(x)`.
fn both_numbers(a: &Ty, b: &Ty) -> bool {
    match (a.scalar(), b.scalar()) {
        (Some(a), Some(b)) => !a.is_complex() || b.is_complex(),
        _ => false,
    }
}

fn assigns(body: &[Stmt], var: usize) -> bool {
    body.iter().any(|stmt| {
        matches!(&stmt.kind, StmtKind::Assign(v, _) if *v == var)
            || stmt.kind.blocks().into_iter().any(|block| assigns(block, var))
    })
}
