//! Statements.

use super::context::{Loop, LoweringContext, Operand};
use crate::ast::{BinOp, Expr as Ast, ExprKind, Stmt, StmtKind as Py, Value};
use crate::diagnostic::Result;
use crate::exception::ExceptionKind;
use crate::ir::{Expr, Kind, StmtKind};
use crate::types::Ty;

impl LoweringContext<'_, '_> {
    /// Lowers statements up to the first one that never completes.
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
                        let value = self.stabilize_operand(value);
                        all.iter().try_for_each(|target| self.assign(target, value.clone()))
                    }
                }
            }
            Py::AugAssign { target, op, value } => self.aug_assign(target, *op, value),
            Py::If { test, body, orelse } => {
                let test = self.test(test)?;
                self.emit_if(test, |cx| cx.body(body), |cx| cx.body(orelse))
            }
            Py::While { test, body, orelse } => self.while_loop(test, body, orelse),
            Py::For { target, iter, body, orelse } => {
                let operand = self.eval(iter)?;
                self.for_loop(target, operand, body, orelse)
            }
            Py::Return(value) => self.lower_return(value.as_ref()),
            Py::Expr(e) => {
                // A docstring has no effect.
                if !matches!(e.kind, ExprKind::Value(_)) {
                    let operand = self.eval(e)?;
                    self.discard(&operand);
                }
                Ok(())
            }
            Py::Assert { test, message } => {
                let test = self.test(test)?;
                let text = message.clone().unwrap_or_else(|| "assertion failed".into());
                self.emit_if(
                    test,
                    |_| Ok(()),
                    |cx| {
                        cx.raise(ExceptionKind::Assert(text), Vec::new());
                        Ok(())
                    },
                )
            }
            Py::Raise(class, text) => {
                self.raise(ExceptionKind::Raise(*class, text.clone()), Vec::new());
                Ok(())
            }
            Py::Break => {
                if let Some(Loop { completed: Some(flag) }) = self.loops.last() {
                    let flag = *flag;
                    self.emit(StmtKind::Assign(flag, Expr::bool(false)));
                }
                self.emit(StmtKind::Break);
                Ok(())
            }
            Py::Continue => {
                self.emit(StmtKind::Continue);
                Ok(())
            }
            Py::Pass => Ok(()),
            Py::Unsupported { what, instead } => Err(self.unsupported_syntax(what, instead.as_deref())),
        }
    }

    pub(super) fn unsupported_syntax(&self, what: &str, instead: Option<&str>) -> Box<crate::Diagnostic> {
        let error = self.unsupported(format!("{what} is not supported in kernels"));
        match instead {
            Some(instead) => error.hint(instead),
            None => error,
        }
    }

    /// Creates Python's error for an undefined name.
    pub(super) fn undefined_name(&self, name: &str) -> Box<crate::Diagnostic> {
        self.typing(format!("NameError: name '{name}' is not defined"))
    }

    /// Evaluates a condition to a bool, perhaps a constant.
    pub(super) fn test(&mut self, e: &Ast) -> Result<Expr> {
        let operand = self.eval(e)?;
        if let Operand::Value(Value::Str(text)) = &operand {
            return Ok(Expr::bool(!text.is_empty()));
        }
        let value = self.value(operand)?;
        self.truth_value(value)
    }

    /// Lowers an `if`. If the condition is a constant, only the branch taken is lowered.
    fn emit_if(
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
            self.emit(StmtKind::If { test, then: orelse, orelse: Vec::new() });
        } else if !then.is_empty() || !orelse.is_empty() {
            self.emit(StmtKind::If { test, then, orelse });
        }
        Ok(())
    }

    fn lower_return(&mut self, value: Option<&Ast>) -> Result<()> {
        let value = match value {
            Some(e) => {
                let operand = self.eval(e)?;
                self.value(operand)?
            }
            None => Expr::new(Ty::None, Kind::Nothing),
        };
        if value.ty == Ty::Unknown {
            self.compiler.instances[self.instance].returns_unknown = true;
            return Ok(());
        }
        let known = self.compiler.instances[self.instance].ret.clone();
        let Some(ty) = known.unify(&value.ty) else {
            // A tuple that contains the previous result type grows forever.
            let contains_item = |tuple: &Ty, item: &Ty| matches!(tuple, Ty::Tuple(items, _) if items.contains(item));
            let unsettled = |ty: &Ty| matches!(ty, Ty::Tuple(..)) && ty.is_unknown();
            let grows = contains_item(&value.ty, &known) || unsettled(&known) || unsettled(&value.ty);
            let name = &self.function.name;
            return Err(if grows {
                self.typing(format!(
                    "Return type of recursive function does not converge: {name} returns {known} within {}",
                    value.ty
                ))
            } else {
                self.typing(format!("{name} returns both {known} and {}", value.ty))
                    .hint("return values of one type on every path")
            });
        };
        self.compiler.instances[self.instance].ret = ty.clone();
        let value = self.cast(value, &ty)?;
        self.emit(StmtKind::Return((ty != Ty::None).then_some(value)));
        Ok(())
    }

    // --- assignment

    fn stabilize_operand(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Expr(e) => Operand::Expr(self.stabilize("t", e)),
            other => other,
        }
    }

    /// Assigns to a name, an element, a field or the targets of a tuple.
    pub(super) fn assign(&mut self, target: &Ast, value: Operand) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let Some(live_range) = self.live_range(name) else { return Ok(()) };
                match value {
                    Operand::Value(v) if v.is_static() || matches!(v, Value::Other(_)) => {
                        self.bind_static(live_range, v)
                    }
                    other => {
                        let value = self.value(other)?;
                        self.bind(live_range, value)
                    }
                }
            }
            ExprKind::Tuple(targets) => self.unpack(targets, value),
            ExprKind::Subscript { value: array, index } => {
                self.pos = target.pos;
                self.store(array, index, value)
            }
            ExprKind::Attribute { value: base, name } => {
                if let Operand::Value(Value::Str(text)) = &value {
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
            ExprKind::Unsupported { what, instead } => Err(self.unsupported_syntax(what, instead.as_deref())),
            _ => Err(self.unsupported("this cannot be assigned to")),
        }
    }

    fn unpack(&mut self, targets: &[Ast], value: Operand) -> Result<()> {
        let value = self.value(value)?;
        let items: Vec<Expr> = match (&value.ty, value.kind) {
            (Ty::Unknown, _) => return Ok(()),
            // All items are evaluated before the first target is assigned: `a, b = b, a`.
            (Ty::Tuple(..), Kind::Tuple(items)) => {
                let mut changed = Vec::new();
                let mut independent = true;
                for target in targets {
                    match &target.kind {
                        ExprKind::Name(name) => {
                            changed.extend(self.live_range(name).map(|live_range| self.var_of(live_range)))
                        }
                        _ => independent = false,
                    }
                }
                independent &= !items.iter().any(|e| self.mentions(e, &changed));
                items.into_iter().map(|e| if independent { e } else { self.stabilize("t", e) }).collect()
            }
            (Ty::Tuple(types, _), kind) => {
                let held = self.stabilize("t", Expr::new(value.ty.clone(), kind));
                let item = |(k, ty): (usize, &Ty)| Expr::new(ty.clone(), Kind::Item(Box::new(held.clone()), k));
                types.iter().enumerate().map(item).collect()
            }
            (ty, _) => {
                return Err(self
                    .typing(format!("{ty} cannot be unpacked"))
                    .hint("only tuples can be unpacked; name the elements of an array: x, y = a[0], a[1]"));
            }
        };
        if items.len() != targets.len() {
            let (have, want) = (items.len(), targets.len());
            return Err(self.typing(format!("{have} values cannot be unpacked into {want} names")));
        }
        targets.iter().zip(items).try_for_each(|(target, item)| self.assign(target, Operand::Expr(item)))
    }

    fn aug_assign(&mut self, target: &Ast, op: BinOp, value: &Ast) -> Result<()> {
        if let ExprKind::Subscript { value: array, index } = &target.kind
            && !self.is_field(index)
        {
            // The array and the indices are evaluated once.
            let (array, indices) = self.store_target(array, index)?;
            let Some((array, indices)) = array.zip(indices) else { return Ok(()) };
            let array = self.stabilize("t", array);
            let indices: Vec<Expr> = indices.into_iter().map(|e| self.stabilize("t", e)).collect();
            let old = self.load(array.clone(), indices.clone())?;
            let old = self.materialize("t", old);
            let right = self.eval(value)?;
            let right = self.value(right)?;
            self.pos = target.pos;
            let new = self.binary(op, old, right)?;
            return self.store_element(array, indices, new);
        }
        let old = self.eval(target)?;
        let both = self.in_order([None, Some(value)], |cx, item| match item {
            None => Ok(old.clone()),
            Some(e) => cx.eval(e),
        })?;
        let mut both = both.into_iter();
        let (Some(left), Some(right)) = (both.next(), both.next()) else { return Ok(()) };
        let (left, right) = (self.value(left)?, self.value(right)?);
        let new = self.binary(op, left, right)?;
        self.assign(target, Operand::Expr(new))
    }
}
