//! Loops.

use cuprous_core::{DType, Fun};

use super::context::{Loop, LoweringContext, Operand};
use crate::ast::{BinOp, Expr as Ast, ExprKind, Stmt, StmtKind as Py, Value};
use crate::diagnostic::Result;
use crate::ir::{self, Expr, Kind, StmtKind};
use crate::types::{INT, Ty};

/// Returns true if the items of a tuple have different types.
fn is_heterogeneous(ty: &Ty) -> bool {
    match ty {
        Ty::Tuple(items, _) if !ty.is_unknown() => items.iter().any(|item| *item != items[0]),
        _ => false,
    }
}

/// Returns true if a statement may leave the enclosing loop or start its next iteration.
fn jumps(stmt: &Stmt) -> bool {
    match &stmt.kind {
        Py::Break | Py::Continue => true,
        Py::If { body, orelse, .. } => body.iter().chain(orelse).any(jumps),
        Py::While { orelse, .. } | Py::For { orelse, .. } => orelse.iter().any(jumps),
        _ => false,
    }
}

impl LoweringContext<'_, '_> {
    /// Lowers a loop and its `else`, which runs unless the loop ends by `break`.
    fn emit_loop(
        &mut self,
        orelse: &[Stmt],
        body: impl FnOnce(&mut Self) -> Result<()>,
        make: impl FnOnce(Vec<ir::Stmt>) -> StmtKind,
    ) -> Result<()> {
        let pos = self.pos;
        let completed = (!orelse.is_empty()).then(|| {
            let flag = self.variable("completed", crate::types::BOOL);
            self.emit(StmtKind::Assign(flag, Expr::bool(true)));
            flag
        });
        self.loops.push(Loop { completed });
        let written = self.block(body);
        self.loops.pop();
        let ((), body) = written?;
        self.pos = pos;
        self.emit(make(body));
        if let Some(flag) = completed {
            let ((), then) = self.block(|cx| cx.body(orelse))?;
            let test = Expr::new(crate::types::BOOL, Kind::Var(flag));
            self.emit(StmtKind::If { test, then, orelse: Vec::new() });
        }
        Ok(())
    }

    pub(super) fn while_loop(&mut self, test: &Ast, body: &[Stmt], orelse: &[Stmt]) -> Result<()> {
        let (value, before) = self.block(|cx| cx.test(test))?;
        if before.is_empty() {
            return self.emit_loop(orelse, |cx| cx.body(body), |body| StmtKind::While { test: value, body });
        }
        // The condition needs statements, so it is evaluated at the beginning of the body. This `break` does not skip
        // `else`.
        let lower_body = |cx: &mut Self| {
            cx.append(before);
            let stop = Expr::new(crate::types::BOOL, Kind::Not(Box::new(value)));
            let line = cx.pos.line;
            let then = vec![ir::Stmt { line, kind: StmtKind::Break }];
            cx.emit(StmtKind::If { test: stop, then, orelse: Vec::new() });
            cx.body(body)
        };
        self.emit_loop(orelse, lower_body, |body| StmtKind::While { test: Expr::bool(true), body })
    }

    pub(super) fn for_loop(&mut self, target: &Ast, iterable: Operand, body: &[Stmt], orelse: &[Stmt]) -> Result<()> {
        let iterable = match iterable {
            Operand::Value(tuple @ Value::Tuple(..)) => Operand::Expr(self.value(Operand::Value(tuple))?),
            other => other,
        };
        match iterable {
            Operand::Range(range) => {
                let [start, stop, step] = *range;
                if [&start, &stop, &step].iter().any(|e| e.ty == Ty::Unknown) {
                    return self.infer_loop_types(body, orelse);
                }
                let stop = self.stabilize("stop", stop);
                let step = self.stabilize("step", step);
                let ty = start.ty.clone();
                // If only the loop uses the variable, it serves as the counter.
                if let ExprKind::Name(name) = &target.kind
                    && let Some(live_range) = self.live_range(name)
                    && self.live_ranges.private[live_range]
                {
                    self.bindings[live_range] = super::Binding::Ty(ty.clone());
                    let var = self.var_of(live_range);
                    self.vars[var].ty = ty;
                    return self.emit_loop(
                        orelse,
                        |cx| cx.body(body),
                        |body| StmtKind::For { var, start, stop, step, body },
                    );
                }
                let var = self.variable("i", ty.clone());
                let item = Expr::new(ty, Kind::Var(var));
                let lower_body = |cx: &mut Self| {
                    cx.assign(target, Operand::Expr(item))?;
                    cx.body(body)
                };
                self.emit_loop(orelse, lower_body, |body| StmtKind::For { var, start, stop, step, body })
            }
            // No iteration, and no type for the target.
            Operand::Expr(Expr { ty: Ty::Tuple(items, _), .. }) if items.is_empty() => self.body(orelse),
            Operand::Expr(e) if is_heterogeneous(&e.ty) => {
                if body.iter().any(jumps) {
                    return Err(self
                        .unsupported("break and continue are not supported in a loop over items of different types"));
                }
                // Items of different types: the body is lowered once for each item.
                let items: Vec<Expr> = self.items(e).into_iter().map(|item| self.stabilize("item", item)).collect();
                for item in items {
                    match &target.kind {
                        ExprKind::Name(name) => self.rebind(name, item),
                        _ => self.assign(target, Operand::Expr(item))?,
                    }
                    self.body(body)?;
                }
                self.body(orelse)
            }
            iterable => {
                let Some(count) = self.iteration_count(&iterable)? else { return self.infer_loop_types(body, orelse) };
                let iterable = self.stabilize_iterable(iterable)?;
                let stop = self.stabilize("count", count);
                let var = self.variable("k", INT);
                let at = Expr::new(INT, Kind::Var(var));
                let lower_body = |cx: &mut Self| {
                    let item = cx.item_at(&iterable, &at)?;
                    cx.assign(target, item)?;
                    cx.body(body)
                };
                let (start, step) = (Expr::int(0), Expr::int(1));
                self.emit_loop(orelse, lower_body, |body| StmtKind::For { var, start, stop, step, body })
            }
        }
    }

    /// Lowers a loop over an iterable of unknown type, because the types of variables in its body may be found.
    fn infer_loop_types(&mut self, body: &[Stmt], orelse: &[Stmt]) -> Result<()> {
        self.emit_loop(&[], |cx| cx.body(body), |body| StmtKind::While { test: Expr::bool(true), body })?;
        self.body(orelse)
    }

    /// Returns the number of items; `None` if it is not known yet.
    fn iteration_count(&mut self, iterable: &Operand) -> Result<Option<Expr>> {
        Ok(match iterable {
            Operand::Range(range) => {
                let [start, stop, step] = &**range;
                if [start, stop, step].iter().any(|e| e.ty == Ty::Unknown) {
                    return Ok(None);
                }
                // max(0, ceil((stop - start) / step)), computed as -((start - stop) // step).
                let cast = |cx: &mut Self, e: &Expr| cx.cast_dtype(e.clone(), DType::I64);
                let (start, stop, step) = (cast(self, start)?, cast(self, stop)?, cast(self, step)?);
                let fun = |fun, args| Expr::new(INT, Kind::Fun(fun, DType::I64, args));
                let length = fun(Fun::FloorDivide, vec![fun(Fun::Subtract, vec![start, stop]), step]);
                Some(fun(Fun::Maximum, vec![Expr::int(0), fun(Fun::Negative, vec![length])]))
            }
            Operand::Enumerate(inner, _) => self.iteration_count(inner)?,
            Operand::Zip(all) => {
                let mut shortest: Option<Expr> = None;
                for one in all {
                    let Some(n) = self.iteration_count(one)? else { return Ok(None) };
                    shortest = Some(match shortest {
                        Some(m) => Expr::new(INT, Kind::Fun(Fun::Minimum, DType::I64, vec![m, n])),
                        None => n,
                    });
                }
                Some(shortest.unwrap_or_else(|| Expr::int(0)))
            }
            Operand::Expr(e) => match &e.ty {
                Ty::Unknown => None,
                Ty::Array(a) if a.ndim > 0 => Some(Expr::new(INT, Kind::Extent(Box::new(e.clone()), 0))),
                Ty::Tuple(items, _) => Some(Expr::int(items.len() as i64)),
                ty => return Err(self.typing(format!("{ty} is not iterable"))),
            },
            Operand::Value(v @ (Value::Tuple(..) | Value::Array(_))) => {
                let e = self.value(Operand::Value(v.clone()))?;
                self.iteration_count(&Operand::Expr(e))?
            }
            other => {
                let what = match other {
                    Operand::Value(v) => super::context::describe(v),
                    _ => "this".into(),
                };
                return Err(self.typing(format!("{what} is not iterable")));
            }
        })
    }

    /// Evaluates the iterable once, before the loop.
    fn stabilize_iterable(&mut self, iterable: Operand) -> Result<Operand> {
        Ok(match iterable {
            Operand::Expr(e) => Operand::Expr(self.stabilize("items", e)),
            Operand::Range(range) => {
                let [start, stop, step] = *range;
                let all = [self.stabilize("start", start), stop, self.stabilize("step", step)];
                Operand::Range(Box::new(all))
            }
            Operand::Enumerate(inner, start) => Operand::Enumerate(
                Box::new(self.stabilize_iterable(*inner)?),
                Box::new(self.stabilize("start", *start)),
            ),
            Operand::Zip(all) => {
                Operand::Zip(all.into_iter().map(|t| self.stabilize_iterable(t)).collect::<Result<_>>()?)
            }
            Operand::Value(v) => {
                let e = self.value(Operand::Value(v))?;
                Operand::Expr(self.stabilize("items", e))
            }
            other => other,
        })
    }

    /// Returns the item at an index below the number of items.
    fn item_at(&mut self, iterable: &Operand, at: &Expr) -> Result<Operand> {
        Ok(match iterable {
            Operand::Range(range) => {
                let [start, _, step] = &**range;
                let ty = start.ty.clone();
                let d = ty.scalar().unwrap_or(DType::I64);
                let at = self.cast(at.clone(), &ty)?;
                let offset = Expr::new(ty.clone(), Kind::Fun(Fun::Multiply, d, vec![at, step.clone()]));
                Operand::Expr(Expr::new(ty, Kind::Fun(Fun::Add, d, vec![start.clone(), offset])))
            }
            Operand::Enumerate(inner, start) => {
                let number = self.binary(BinOp::Add, (**start).clone(), at.clone())?;
                let item = self.item_at(inner, at)?;
                let item = self.value(item)?;
                Operand::Expr(super::context::tuple(vec![number, item], None))
            }
            Operand::Zip(all) => {
                let mut items = Vec::new();
                for one in all {
                    let item = self.item_at(one, at)?;
                    items.push(self.value(item)?);
                }
                Operand::Expr(super::context::tuple(items, None))
            }
            Operand::Expr(all @ Expr { ty: Ty::Tuple(types, _), .. }) => {
                self.tuple_item(all.clone(), types, at.clone())?
            }
            Operand::Expr(e) => Operand::Expr(self.element(e.clone(), at.clone())?),
            Operand::Value(_) | Operand::Method(..) => Operand::Expr(Expr::unknown()),
        })
    }
}
