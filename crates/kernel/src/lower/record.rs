//! Records, and assignments to parts of arrays. A record is an array of records without axes.

use cuprous_core::DType;
use cuprous_core::scalar::Number;

use super::context::{LoweringContext, Operand};
use crate::ast::{Expr as Ast, ExprKind, Value};
use crate::diagnostic::Result;
use crate::ir::{Expr, Index, Kind, StmtKind};
use crate::types::{ArrayTy, INT, Order, TEXT, Ty};

impl LoweringContext<'_, '_> {
    /// Returns true if a subscript is a string literal, the name of a field.
    pub(super) fn is_field(&self, index: &Ast) -> bool {
        matches!(&index.kind, ExprKind::Value(Value::Str(_)))
    }

    /// Returns the field name that a subscript evaluates to.
    pub(super) fn field_name(&mut self, index: &Ast) -> Result<Option<String>> {
        if !matches!(index.kind, ExprKind::Value(_) | ExprKind::Name(_)) {
            return Ok(None);
        }
        Ok(match self.eval(index)? {
            Operand::Value(Value::Str(name)) => Some(name),
            _ => None,
        })
    }

    /// Returns the value of a field: a number, a record or an array.
    pub(super) fn field(&mut self, base: Expr, name: &str) -> Result<Expr> {
        let view = self.field_view(base, name)?;
        match &view.ty {
            Ty::Array(a) if a.ndim == 0 && a.record().is_none() => self.load(view, Vec::new()),
            _ => Ok(view),
        }
    }

    /// Returns a field as an array.
    pub(super) fn field_view(&mut self, base: Expr, name: &str) -> Result<Expr> {
        let Ty::Array(array) = &base.ty else { return Ok(Expr::unknown()) };
        let Some(record) = array.record() else { return Ok(Expr::unknown()) };
        let Some(k) = record.fields.iter().position(|f| f.name == name) else {
            let names: Vec<&str> = record.fields.iter().map(|f| f.name.as_str()).collect();
            let error = self.typing(format!("the record has no field {name:?}"));
            return Err(error.hint(format!("its fields are {}", names.join(", "))));
        };
        let field = &record.fields[k];
        let align = field.elem.item_align();
        if !field.offset.is_multiple_of(align) || !record.size.is_multiple_of(align) {
            let error = self.typing(format!("type {} is not aligned: field {name:?}", field.elem));
            return Err(error.hint("create the dtype with align=True"));
        }
        let ndim = array.ndim + field.shape.len() as u8;
        let elem = Box::new(field.elem.clone());
        let ty = Ty::Array(ArrayTy { elem, ndim, order: Order::A, mutable: array.mutable });
        Ok(Expr::new(ty, Kind::Field(Box::new(base), k)))
    }

    /// Returns the view or the field that an assignment writes to; `None` if the target is an element.
    pub(super) fn view_target(&mut self, array: &Ast, index: &Ast) -> Result<Option<Expr>> {
        let list: &[Ast] = match &index.kind {
            ExprKind::Tuple(items) => items,
            _ => std::slice::from_ref(index),
        };
        let slices = list.iter().any(|i| {
            matches!(i.kind, ExprKind::Slice { .. } | ExprKind::Value(Value::Ellipsis | Value::None | Value::Str(_)))
        });
        if !slices {
            return Ok(None);
        }
        let base = self.eval_value(array)?;
        if let (Ty::Array(a), ExprKind::Value(Value::Str(name))) = (&base.ty, &index.kind)
            && a.record().is_some()
        {
            return self.field_view(base, name).map(Some);
        }
        let Operand::Expr(view) = self.subscript_of(base, index)? else { return Ok(None) };
        Ok(Some(view))
    }

    /// Writes a compile-time string to a string element. The rest is filled with zeros, as in NumPy.
    pub(super) fn write_text(&mut self, to: Expr, text: &str) -> Result<()> {
        if to.ty == Ty::Unknown {
            return Ok(());
        }
        let is_text =
            matches!(&to.ty, Ty::Array(a) if a.ndim == 0 && a.record().is_some_and(|r| r.fields[0].name == TEXT));
        if !is_text {
            return Err(self.typing(format!("a string cannot be stored in {}", to.ty)));
        }
        let to = self.stabilize("to", to);
        let characters = self.field_view(to, TEXT)?;
        let Ty::Array(ty) = &characters.ty else { return Ok(()) };
        let (Some(d), ndim) = (ty.dtype(), ty.ndim) else { return Ok(()) };
        debug_assert_eq!(ndim, 1);
        let length = match &characters.kind {
            Kind::Field(of, k) => match &of.ty {
                Ty::Array(a) => a.field(*k).map_or(0, |field| field.shape.iter().product()),
                _ => 0,
            },
            _ => 0,
        };
        let characters = self.stabilize("text", characters);
        let mut codes = text.chars().map(u32::from);
        for k in 0..length {
            let code = codes.next().unwrap_or(0);
            if d == DType::U8 && code > 255 {
                return Err(self.typing("a byte string cannot hold this character"));
            }
            let value = Expr::number(Number::Int(code.into()), d);
            self.store_element(characters.clone(), vec![Expr::int(k)], value)?;
        }
        Ok(())
    }

    /// Assigns a number, a record or an array to all elements of an array.
    pub(super) fn fill(&mut self, to: Expr, value: Expr) -> Result<()> {
        if to.ty == Ty::Unknown || value.ty == Ty::Unknown {
            return Ok(());
        }
        let Ty::Array(target) = to.ty.clone() else {
            return Err(self.typing(format!("{} cannot be assigned to", to.ty)));
        };
        if !target.mutable {
            return Err(self.typing("this array is a constant and cannot be written to"));
        }
        let axes = |e: &Expr| match &e.ty {
            Ty::Array(a) => a.ndim as usize,
            _ => 0,
        };
        let (ndim, from) = (target.ndim as usize, axes(&value));
        if from > ndim {
            return Err(self.typing(format!("{} cannot be assigned to {}", value.ty, to.ty)));
        }
        if ndim == 0 {
            return match (target.record(), &value.ty) {
                (Some(record), Ty::Array(a)) if a.record() == Some(record) => {
                    self.emit(StmtKind::Copy { to, from: value });
                    Ok(())
                }
                (Some(_), ty) => Err(self.typing(format!("{ty} cannot be stored in a {}", to.ty))),
                (None, Ty::Array(_)) => {
                    let value = self.load(value, Vec::new())?;
                    self.store_element(to, Vec::new(), value)
                }
                (None, _) => self.store_element(to, Vec::new(), value),
            };
        }
        let (to, value) = (self.stabilize("to", to), self.stabilize("from", value));
        let mut counters = Vec::new();
        self.fill_axis(&to, &value, ndim, from, &mut counters)
    }

    fn fill_axis(&mut self, to: &Expr, value: &Expr, ndim: usize, from: usize, counters: &mut Vec<Expr>) -> Result<()> {
        let axis = counters.len();
        if axis == ndim {
            let value = if from > 0 || matches!(value.ty, Ty::Array(_)) {
                self.load(value.clone(), counters[ndim - from..].to_vec())?
            } else {
                value.clone()
            };
            return self.store_element(to.clone(), counters.clone(), value);
        }
        let var = self.variable("k", INT);
        counters.push(Expr::new(INT, Kind::Var(var)));
        let ((), body) = self.block(|cx| cx.fill_axis(to, value, ndim, from, counters))?;
        counters.pop();
        let stop = Expr::new(INT, Kind::Extent(Box::new(to.clone()), axis));
        self.emit(StmtKind::For { var, start: Expr::int(0), stop, step: Expr::int(1), body });
        Ok(())
    }

    /// Returns `base[index]` for an evaluated array.
    fn subscript_of(&mut self, base: Expr, index: &Ast) -> Result<Operand> {
        if !matches!(base.ty, Ty::Array(_) | Ty::Unknown) {
            return Err(self.typing(format!("{} cannot be assigned to", base.ty)));
        }
        let (base, index) = self.base_then_index(base, index)?;
        let Some(index) = index else { return Ok(Operand::Expr(Expr::unknown())) };
        let Ty::Array(array) = base.ty.clone() else { return Ok(Operand::Expr(Expr::unknown())) };
        let index: Vec<Index> = self.expand_ellipsis(index, array.ndim as usize)?;
        Ok(Operand::Expr(if array.ndim == 0 { base } else { self.view(base, &array, index)? }))
    }
}
