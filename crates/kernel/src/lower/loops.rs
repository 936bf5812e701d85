//! Loops.

use cuprous_core::{DType, Fun};

use super::context::{Loop, Thing, Walk};
use crate::ast::{BinOp, Expr as Ast, ExprKind, Stmt, StmtKind as Py, Value};
use crate::diagnostic::Result;
use crate::ir::{self, Expr, Kind, StmtKind};
use crate::types::{INT, Ty};

/// Whether the items of a tuple are of different types.
fn several_types(ty: &Ty) -> bool {
    match ty {
        Ty::Tuple(items, _) if !ty.is_unknown() => items.iter().any(|item| *item != items[0]),
        _ => false,
    }
}

/// Whether a statement leaves the loop around it, or its turn.
fn jumps(stmt: &Stmt) -> bool {
    match &stmt.kind {
        Py::Break | Py::Continue => true,
        Py::If { body, orelse, .. } => body.iter().chain(orelse).any(jumps),
        Py::While { orelse, .. } | Py::For { orelse, .. } => orelse.iter().any(jumps),
        _ => false,
    }
}

impl Walk<'_, '_> {
    /// The body of a loop, with what `break` has to say to an `else`.
    fn turn(
        &mut self,
        orelse: &[Stmt],
        body: impl FnOnce(&mut Self) -> Result<()>,
        make: impl FnOnce(Vec<ir::Stmt>) -> StmtKind,
    ) -> Result<()> {
        let pos = self.pos;
        let completed = (!orelse.is_empty()).then(|| {
            let flag = self.variable("completed", crate::types::BOOL);
            self.push(StmtKind::Assign(flag, Expr::bool(true)));
            flag
        });
        self.loops.push(Loop { completed });
        let written = self.block(body);
        self.loops.pop();
        let ((), body) = written?;
        self.pos = pos;
        self.push(make(body));
        if let Some(flag) = completed {
            let ((), then) = self.block(|walk| walk.body(orelse))?;
            let test = Expr::new(crate::types::BOOL, Kind::Var(flag));
            self.push(StmtKind::If { test, then, orelse: Vec::new() });
        }
        Ok(())
    }

    pub(super) fn while_loop(&mut self, test: &Ast, body: &[Stmt], orelse: &[Stmt]) -> Result<()> {
        let (value, before) = self.block(|walk| walk.test(test))?;
        if before.is_empty() {
            return self.turn(orelse, |walk| walk.body(body), |body| StmtKind::While { test: value, body });
        }
        // The test needs statements: it becomes the beginning of each turn. Its `break` is no break of the program's.
        let whole = |walk: &mut Self| {
            walk.append(before);
            let stop = Expr::new(crate::types::BOOL, Kind::Not(Box::new(value)));
            let line = walk.pos.line;
            let then = vec![ir::Stmt { line, kind: StmtKind::Break }];
            walk.push(StmtKind::If { test: stop, then, orelse: Vec::new() });
            walk.body(body)
        };
        self.turn(orelse, whole, |body| StmtKind::While { test: Expr::bool(true), body })
    }

    pub(super) fn for_loop(&mut self, target: &Ast, over: Thing, body: &[Stmt], orelse: &[Stmt]) -> Result<()> {
        let over = match over {
            Thing::Value(tuple @ Value::Tuple(..)) => Thing::Expr(self.value(Thing::Value(tuple))?),
            other => other,
        };
        match over {
            Thing::Range(range) => {
                let [start, stop, step] = *range;
                if [&start, &stop, &step].iter().any(|e| e.ty == Ty::Unknown) {
                    return self.walk_unknown(body, orelse);
                }
                let stop = self.fixed("stop", stop);
                let step = self.fixed("step", step);
                let ty = start.ty.clone();
                // A counter that only the loop changes and reads is the variable itself.
                if let ExprKind::Name(name) = &target.kind
                    && let Some(web) = self.web(name)
                    && self.webs.private[web]
                {
                    self.bounds[web] = super::Bound::Ty(ty.clone());
                    let var = self.var_of(web);
                    self.vars[var].ty = ty;
                    return self.turn(
                        orelse,
                        |walk| walk.body(body),
                        |body| StmtKind::For { var, start, stop, step, body },
                    );
                }
                let var = self.variable("i", ty.clone());
                let item = Expr::new(ty, Kind::Var(var));
                let whole = |walk: &mut Self| {
                    walk.assign(target, Thing::Expr(item))?;
                    walk.body(body)
                };
                self.turn(orelse, whole, |body| StmtKind::For { var, start, stop, step, body })
            }
            // No turn, and no type that an item would have.
            Thing::Expr(Expr { ty: Ty::Tuple(items, _), .. }) if items.is_empty() => self.body(orelse),
            Thing::Expr(e) if several_types(&e.ty) => {
                if body.iter().any(jumps) {
                    return Err(self.unsupported("break and continue in a loop over items of several types"));
                }
                // A turn for each item, with code of its own.
                let items: Vec<Expr> = self.items(e).into_iter().map(|item| self.fixed("item", item)).collect();
                for item in items {
                    match &target.kind {
                        ExprKind::Name(name) => self.rebind(name, item),
                        _ => self.assign(target, Thing::Expr(item))?,
                    }
                    self.body(body)?;
                }
                self.body(orelse)
            }
            over => {
                let Some(count) = self.count(&over)? else { return self.walk_unknown(body, orelse) };
                let over = self.fix_items(over)?;
                let stop = self.fixed("count", count);
                let var = self.variable("k", INT);
                let at = Expr::new(INT, Kind::Var(var));
                let whole = |walk: &mut Self| {
                    let item = walk.item_at(&over, &at)?;
                    walk.assign(target, item)?;
                    walk.body(body)
                };
                let (start, step) = (Expr::int(0), Expr::int(1));
                self.turn(orelse, whole, |body| StmtKind::For { var, start, stop, step, body })
            }
        }
    }

    /// Types of variables inside may be found even where what is looped over is not known yet.
    fn walk_unknown(&mut self, body: &[Stmt], orelse: &[Stmt]) -> Result<()> {
        self.turn(&[], |walk| walk.body(body), |body| StmtKind::While { test: Expr::bool(true), body })?;
        self.body(orelse)
    }

    /// How many items there are; `None` where that is not known yet.
    fn count(&mut self, over: &Thing) -> Result<Option<Expr>> {
        Ok(match over {
            Thing::Range(range) => {
                let [start, stop, step] = &**range;
                if [start, stop, step].iter().any(|e| e.ty == Ty::Unknown) {
                    return Ok(None);
                }
                // max(0, ceil((stop - start) / step)), as -((start - stop) // step).
                let cast = |walk: &mut Self, e: &Expr| walk.cast_dtype(e.clone(), DType::I64);
                let (start, stop, step) = (cast(self, start)?, cast(self, stop)?, cast(self, step)?);
                let fun = |fun, args| Expr::new(INT, Kind::Fun(fun, DType::I64, args));
                let length = fun(Fun::FloorDivide, vec![fun(Fun::Subtract, vec![start, stop]), step]);
                Some(fun(Fun::Maximum, vec![Expr::int(0), fun(Fun::Negative, vec![length])]))
            }
            Thing::Enumerate(inner, _) => self.count(inner)?,
            Thing::Zip(all) => {
                let mut least: Option<Expr> = None;
                for one in all {
                    let Some(n) = self.count(one)? else { return Ok(None) };
                    least = Some(match least {
                        Some(m) => Expr::new(INT, Kind::Fun(Fun::Minimum, DType::I64, vec![m, n])),
                        None => n,
                    });
                }
                Some(least.unwrap_or_else(|| Expr::int(0)))
            }
            Thing::Expr(e) => match &e.ty {
                Ty::Unknown => None,
                Ty::Array(a) if a.ndim > 0 => Some(Expr::new(INT, Kind::Extent(Box::new(e.clone()), 0))),
                Ty::Tuple(items, _) => Some(Expr::int(items.len() as i64)),
                ty => return Err(self.typing(format!("{ty} cannot be looped over"))),
            },
            Thing::Value(v @ (Value::Tuple(..) | Value::Array(_))) => {
                let e = self.value(Thing::Value(v.clone()))?;
                self.count(&Thing::Expr(e))?
            }
            other => {
                let what = match other {
                    Thing::Value(v) => super::context::describe(v),
                    _ => "this".into(),
                };
                return Err(self.typing(format!("{what} cannot be looped over")));
            }
        })
    }

    /// What is looped over is evaluated once, before the loop.
    fn fix_items(&mut self, over: Thing) -> Result<Thing> {
        Ok(match over {
            Thing::Expr(e) => Thing::Expr(self.fixed("items", e)),
            Thing::Range(range) => {
                let [start, stop, step] = *range;
                let all = [self.fixed("start", start), stop, self.fixed("step", step)];
                Thing::Range(Box::new(all))
            }
            Thing::Enumerate(inner, start) => {
                Thing::Enumerate(Box::new(self.fix_items(*inner)?), Box::new(self.fixed("start", *start)))
            }
            Thing::Zip(all) => Thing::Zip(all.into_iter().map(|t| self.fix_items(t)).collect::<Result<_>>()?),
            Thing::Value(v) => {
                let e = self.value(Thing::Value(v))?;
                Thing::Expr(self.fixed("items", e))
            }
            other => other,
        })
    }

    /// The item at a place that is less than the count.
    fn item_at(&mut self, over: &Thing, at: &Expr) -> Result<Thing> {
        Ok(match over {
            Thing::Range(range) => {
                let [start, _, step] = &**range;
                let ty = start.ty.clone();
                let d = ty.scalar().unwrap_or(DType::I64);
                let at = self.cast(at.clone(), &ty)?;
                let far = Expr::new(ty.clone(), Kind::Fun(Fun::Multiply, d, vec![at, step.clone()]));
                Thing::Expr(Expr::new(ty, Kind::Fun(Fun::Add, d, vec![start.clone(), far])))
            }
            Thing::Enumerate(inner, start) => {
                let number = self.binary(BinOp::Add, (**start).clone(), at.clone())?;
                let item = self.item_at(inner, at)?;
                let item = self.value(item)?;
                Thing::Expr(super::context::tuple(vec![number, item], None))
            }
            Thing::Zip(all) => {
                let mut items = Vec::new();
                for one in all {
                    let item = self.item_at(one, at)?;
                    items.push(self.value(item)?);
                }
                Thing::Expr(super::context::tuple(items, None))
            }
            Thing::Expr(all @ Expr { ty: Ty::Tuple(types, _), .. }) => {
                self.tuple_item(all.clone(), types, at.clone())?
            }
            Thing::Expr(e) => Thing::Expr(self.element(e.clone(), at.clone())?),
            Thing::Value(_) | Thing::Method(..) => Thing::Expr(Expr::unknown()),
        })
    }
}
