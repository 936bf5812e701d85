//! Statements.

use super::context::{Loop, Thing, Walk};
use crate::ast::{BinOp, Expr as Ast, ExprKind, Stmt, StmtKind as Py, Value};
use crate::diagnostic::Result;
use crate::exception::FaultKind;
use crate::ir::{Expr, Kind, StmtKind};
use crate::types::Ty;

impl Walk<'_, '_> {
    /// Statements; what comes after one that never goes on is not looked at.
    pub(super) fn body(&mut self, body: &[Stmt]) -> Result<()> {
        for stmt in body {
            self.pos = stmt.pos;
            self.stmt(stmt)?;
            if matches!(stmt.kind, Py::Return(_) | Py::Break | Py::Continue | Py::Raise(..)) {
                break;
            }
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match &stmt.kind {
            Py::Assign { targets, value } => {
                let value = self.eval(value)?;
                match &targets[..] {
                    [target] => self.assign(target, value),
                    all => {
                        let value = self.hold_thing(value);
                        all.iter().try_for_each(|target| self.assign(target, value.clone()))
                    }
                }
            }
            Py::AugAssign { target, op, value } => self.aug_assign(target, *op, value),
            Py::If { test, body, orelse } => {
                let test = self.test(test)?;
                self.choose(test, |walk| walk.body(body), |walk| walk.body(orelse))
            }
            Py::While { test, body, orelse } => self.while_loop(test, body, orelse),
            Py::For { target, iter, body, orelse } => {
                let thing = self.eval(iter)?;
                self.for_loop(target, thing, body, orelse)
            }
            Py::Return(value) => self.give_back(value.as_ref()),
            Py::Expr(e) => {
                // A docstring, or an expression for its effect.
                if !matches!(e.kind, ExprKind::Value(_)) {
                    let thing = self.eval(e)?;
                    self.forget(&thing);
                }
                Ok(())
            }
            Py::Assert { test, message } => {
                let test = self.test(test)?;
                let text = message.clone().unwrap_or_else(|| "assertion failed".into());
                self.choose(
                    test,
                    |_| Ok(()),
                    |walk| {
                        walk.raise(FaultKind::Assert(text), Vec::new());
                        Ok(())
                    },
                )
            }
            Py::Raise(class, text) => {
                self.raise(FaultKind::Raise(*class, text.clone()), Vec::new());
                Ok(())
            }
            Py::Break => {
                if let Some(Loop { completed: Some(flag) }) = self.loops.last() {
                    let flag = *flag;
                    self.push(StmtKind::Assign(flag, Expr::bool(false)));
                }
                self.push(StmtKind::Break);
                Ok(())
            }
            Py::Continue => {
                self.push(StmtKind::Continue);
                Ok(())
            }
            Py::Pass => Ok(()),
            Py::Unsupported { what, instead } => Err(self.lacks(what, instead.as_deref())),
        }
    }

    pub(super) fn lacks(&self, what: &str, instead: Option<&str>) -> Box<crate::Diagnostic> {
        let error = self.unsupported(format!("{what} is not supported in kernels"));
        match instead {
            Some(instead) => error.hint(instead),
            None => error,
        }
    }

    /// In Python's words.
    pub(super) fn undefined(&self, name: &str) -> Box<crate::Diagnostic> {
        self.typing(format!("NameError: name '{name}' is not defined"))
    }

    /// A truth value, or a constant one.
    pub(super) fn test(&mut self, e: &Ast) -> Result<Expr> {
        let thing = self.eval(e)?;
        if let Thing::Value(Value::Str(text)) = &thing {
            return Ok(Expr::bool(!text.is_empty()));
        }
        let value = self.value(thing)?;
        self.truth(value)
    }

    /// An `if`; of a constant one only the way taken is looked at.
    fn choose(
        &mut self,
        test: Expr,
        then: impl FnOnce(&mut Self) -> Result<()>,
        orelse: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if let Some(known) = test.as_int() {
            return if known != 0 { then(self) } else { orelse(self) };
        }
        let pos = self.pos;
        let ((), then) = self.block(then)?;
        let ((), orelse) = self.block(orelse)?;
        self.pos = pos;
        if then.is_empty() && !orelse.is_empty() {
            let test = Expr::new(crate::types::BOOL, Kind::Not(Box::new(test)));
            self.push(StmtKind::If { test, then: orelse, orelse: Vec::new() });
        } else if !then.is_empty() || !orelse.is_empty() {
            self.push(StmtKind::If { test, then, orelse });
        }
        Ok(())
    }

    fn give_back(&mut self, value: Option<&Ast>) -> Result<()> {
        let value = match value {
            Some(e) => {
                let thing = self.eval(e)?;
                self.value(thing)?
            }
            None => Expr::new(Ty::None, Kind::Nothing),
        };
        if value.ty == Ty::Unknown {
            self.compiler.instances[self.instance].gives = true;
            return Ok(());
        }
        let known = self.compiler.instances[self.instance].ret.clone();
        let Some(ty) = known.unify(&value.ty) else {
            // A tuple around what it returned before grows for ever.
            let around = |tuple: &Ty, item: &Ty| matches!(tuple, Ty::Tuple(items, _) if items.contains(item));
            let unsettled = |ty: &Ty| matches!(ty, Ty::Tuple(..)) && ty.is_unknown();
            let grows = around(&value.ty, &known) || unsettled(&known) || unsettled(&value.ty);
            let name = &self.function.name;
            return Err(if grows {
                self.typing(format!(
                    "Return type of recursive function does not converge: {name} returns {known} within {}",
                    value.ty
                ))
            } else {
                self.typing(format!("{name} returns both {known} and {}", value.ty))
                    .hint("return values of one type on every way out")
            });
        };
        self.compiler.instances[self.instance].ret = ty.clone();
        let value = self.cast(value, &ty)?;
        self.push(StmtKind::Return((ty != Ty::None).then_some(value)));
        Ok(())
    }

    // --- assignment

    fn hold_thing(&mut self, thing: Thing) -> Thing {
        match thing {
            Thing::Expr(e) => Thing::Expr(self.fixed("t", e)),
            other => other,
        }
    }

    /// Assigns to a name, an element, or the names of a tuple.
    pub(super) fn assign(&mut self, target: &Ast, value: Thing) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let Some(web) = self.web(name) else { return Ok(()) };
                match value {
                    Thing::Value(v) if v.is_static() || matches!(v, Value::Other(_)) => self.bind_static(web, v),
                    other => {
                        let value = self.value(other)?;
                        self.bind(web, value)
                    }
                }
            }
            ExprKind::Tuple(targets) => self.unpack(targets, value),
            ExprKind::Subscript { value: array, index } => {
                self.pos = target.pos;
                self.store(array, index, value)
            }
            ExprKind::Attribute { value: base, name } => {
                if let Thing::Value(Value::Str(text)) = &value {
                    let base = self.eval_value(base)?;
                    let field = self.field_view(base, name)?;
                    return self.write_text(field, text);
                }
                let value = self.value(value)?;
                let base = self.eval_value(base)?;
                self.pos = target.pos;
                if base.ty == Ty::Unknown {
                    return Ok(());
                }
                if let Ty::Array(a) = &base.ty
                    && a.record().is_some()
                {
                    let field = self.field_view(base, name)?;
                    return self.fill(field, value);
                }
                Err(self.unsupported(format!("the attribute {name:?} cannot be assigned to in a kernel")))
            }
            ExprKind::Unsupported { what, instead } => Err(self.lacks(what, instead.as_deref())),
            _ => Err(self.unsupported("this cannot be assigned to")),
        }
    }

    fn unpack(&mut self, targets: &[Ast], value: Thing) -> Result<()> {
        let value = self.value(value)?;
        let items: Vec<Expr> = match (&value.ty, value.kind) {
            (Ty::Unknown, _) => return Ok(()),
            // All items are computed before the first name changes: `a, b = b, a`.
            (Ty::Tuple(..), Kind::Tuple(items)) => {
                let mut changed = Vec::new();
                let mut plain = true;
                for target in targets {
                    match &target.kind {
                        ExprKind::Name(name) => changed.extend(self.web(name).map(|web| self.var_of(web))),
                        _ => plain = false,
                    }
                }
                plain &= !items.iter().any(|e| self.mentions(e, &changed));
                items.into_iter().map(|e| if plain { e } else { self.fixed("t", e) }).collect()
            }
            (Ty::Tuple(types, _), kind) => {
                let held = self.fixed("t", Expr::new(value.ty.clone(), kind));
                let item = |(k, ty): (usize, &Ty)| Expr::new(ty.clone(), Kind::Item(Box::new(held.clone()), k));
                types.iter().enumerate().map(item).collect()
            }
            (ty, _) => {
                return Err(self
                    .typing(format!("{ty} cannot be unpacked"))
                    .hint("tuples can; of an array name the elements: x, y = a[0], a[1]"));
            }
        };
        if items.len() != targets.len() {
            let (have, want) = (items.len(), targets.len());
            return Err(self.typing(format!("{have} values cannot be unpacked into {want} names")));
        }
        targets.iter().zip(items).try_for_each(|(target, item)| self.assign(target, Thing::Expr(item)))
    }

    fn aug_assign(&mut self, target: &Ast, op: BinOp, value: &Ast) -> Result<()> {
        if let ExprKind::Subscript { value: array, index } = &target.kind
            && !self.is_field(index)
        {
            // Array and indices are evaluated once.
            let (array, indices) = self.place(array, index)?;
            let Some((array, indices)) = array.zip(indices) else { return Ok(()) };
            let array = self.fixed("t", array);
            let indices: Vec<Expr> = indices.into_iter().map(|e| self.fixed("t", e)).collect();
            let old = self.load(array.clone(), indices.clone())?;
            let old = self.hold("t", old);
            let right = self.eval(value)?;
            let right = self.value(right)?;
            self.pos = target.pos;
            let new = self.binary(op, old, right)?;
            return self.store_element(array, indices, new);
        }
        let old = self.eval(target)?;
        let both = self.in_order([None, Some(value)], |walk, item| match item {
            None => Ok(old.clone()),
            Some(e) => walk.eval(e),
        })?;
        let mut both = both.into_iter();
        let (Some(left), Some(right)) = (both.next(), both.next()) else { return Ok(()) };
        let (left, right) = (self.value(left)?, self.value(right)?);
        let new = self.binary(op, left, right)?;
        self.assign(target, Thing::Expr(new))
    }
}
