//! Views of arrays.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cuprous_core::{Error, Result};
use cuprous_kernel::ir::{Expr, Index};
use cuprous_kernel::types::{ArrayTy, Order, Ty};

use super::function::FunctionCompiler;
use super::values::{Values, array_parts};

impl FunctionCompiler<'_, '_, '_> {
    /// Returns the strides of an array in bytes.
    pub(super) fn strides(&mut self, ty: &ArrayTy, values: &[Value]) -> Values {
        let a = array_parts(ty, values);
        if !a.strides.is_empty() {
            return a.strides.into();
        }
        let size = ty.item_size() as i64;
        let mut strides = Values::new();
        let mut stride = self.b.ins().iconst(types::I64, size);
        for (k, &n) in a.shape.iter().enumerate().rev() {
            strides.insert(0, stride);
            if k > 0 {
                stride = self.b.ins().imul(stride, n);
            }
        }
        strides
    }

    pub(super) fn transpose(&mut self, array: &Expr, to: &Ty) -> Result<Values> {
        let values = self.expr(array)?;
        let (Ty::Array(from), Ty::Array(to)) = (&array.ty, to) else { return Ok(values) };
        let strides = self.strides(from, &values);
        let axes = (from.ndim as usize).max(1);
        let mut all: Values = values[..1].into();
        all.extend(values[1..1 + axes].iter().rev().copied());
        if to.order != Order::C {
            all.extend(strides.into_iter().rev());
        }
        Ok(all)
    }

    /// Returns the view of a field of the elements.
    pub(super) fn field(&mut self, array: &Expr, k: usize) -> Result<Values> {
        let values = self.expr(array)?;
        let Ty::Array(from) = &array.ty else { return Ok(values) };
        let Some(field) = from.field(k) else { return Ok(values) };
        let ndim = from.ndim as usize;
        let mut shape: Values = values[1..1 + ndim].into();
        let mut steps: Values = self.strides(from, &values)[..ndim].into();
        let mut all = Values::new();
        all.push(self.b.ins().iadd_imm_s(values[0], field.offset as i64));
        let mut size = field.elem.item_size() as i64;
        let mut own = Values::new();
        for &n in field.shape.iter().rev() {
            own.insert(0, self.b.ins().iconst(types::I64, size));
            size *= n;
        }
        shape.extend(field.shape.iter().map(|&n| self.b.ins().iconst(types::I64, n)));
        steps.extend(own);
        if shape.is_empty() {
            shape.push(self.b.ins().iconst(types::I64, 1));
            steps.push(self.b.ins().iconst(types::I64, 0));
        }
        all.extend(shape);
        all.extend(steps);
        Ok(all)
    }

    /// Returns a view of a part of an array.
    pub(super) fn view(&mut self, array: &Expr, indices: &[Index], to: &Ty) -> Result<Values> {
        let values = self.expr(array)?;
        let (Ty::Array(from), Ty::Array(to)) = (&array.ty, to) else {
            return Err(Error::runtime("[kernel] internal error: a view of a value that is not an array"));
        };
        let strides = self.strides(from, &values);
        let mut data = values[0];
        let (mut shape, mut steps) = (Values::new(), Values::new());
        let mut axis = 0;
        for index in indices {
            match index {
                Index::New => {
                    shape.push(self.b.ins().iconst(types::I64, 1));
                    steps.push(self.b.ins().iconst(types::I64, 0));
                    continue;
                }
                Index::At(e) => {
                    let at = self.value_of(e)?;
                    let at = if self.is_non_negative(e) { at } else { self.wrap_negative(at, values[1 + axis]) };
                    let far = self.b.ins().imul(at, strides[axis]);
                    data = self.b.ins().iadd(data, far);
                }
                Index::Slice(None, None, None) => {
                    shape.push(values[1 + axis]);
                    steps.push(strides[axis]);
                }
                Index::Slice(start, stop, step) => {
                    let n = values[1 + axis];
                    let bounds = [start, stop, step].map(Option::as_ref);
                    let (first, length, step) = self.part(n, bounds)?;
                    let far = self.b.ins().imul(first, strides[axis]);
                    data = self.b.ins().iadd(data, far);
                    shape.push(length);
                    let stride = self.b.ins().imul(strides[axis], step);
                    steps.push(stride);
                }
            }
            axis += 1;
        }
        if to.ndim == 0 {
            shape.push(self.b.ins().iconst(types::I64, 1));
            steps.push(self.b.ins().iconst(types::I64, 0));
        }
        let mut all = Values::new();
        all.push(data);
        all.extend(shape);
        if to.order != Order::C {
            all.extend(steps);
        }
        Ok(all)
    }

    /// Returns the start, length and step of a slice by Python's rules.
    fn part(&mut self, n: Value, [start, stop, step]: [Option<&Expr>; 3]) -> Result<(Value, Value, Value)> {
        let step = match step {
            Some(e) => self.value_of(e)?,
            None => self.b.ins().iconst(types::I64, 1),
        };
        let zero = self.b.ins().iconst(types::I64, 0);
        let minus = self.b.ins().iconst(types::I64, -1);
        let up = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, step, 0);
        let last = self.b.ins().iadd_imm_s(n, -1);
        let least = self.b.ins().select(up, zero, minus);
        let most = self.b.ins().select(up, n, last);
        let bound = |body: &mut Self, e: Option<&Expr>, missing: Value| -> Result<Value> {
            let Some(e) = e else { return Ok(missing) };
            let at = body.value_of(e)?;
            let at = body.wrap_negative(at, n);
            let at = body.b.ins().smax(at, least);
            Ok(body.b.ins().smin(at, most))
        };
        let from = self.b.ins().select(up, zero, last);
        let to = self.b.ins().select(up, n, minus);
        let from = bound(self, start, from)?;
        let to = bound(self, stop, to)?;
        // Rounded up: (distance + size - 1) / size, where both are negated for a negative step. A step of zero counts
        // as one.
        let there = self.b.ins().isub(to, from);
        let back = self.b.ins().isub(from, to);
        let distance = self.b.ins().select(up, there, back);
        let size = self.b.ins().iabs(step);
        let one = self.b.ins().iconst(types::I64, 1);
        let size = self.b.ins().umax(size, one);
        let more = self.b.ins().iadd(distance, size);
        let more = self.b.ins().iadd_imm_s(more, -1);
        let length = self.b.ins().sdiv(more, size);
        let length = self.b.ins().smax(length, zero);
        // An empty slice may start beyond the end, so its address is the start of the array.
        let empty = self.b.ins().icmp_imm_s(IntCC::Equal, length, 0);
        let first = self.b.ins().select(empty, zero, from);
        Ok((first, length, step))
    }
}
