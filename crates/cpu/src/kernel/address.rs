//! Addresses of array elements.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use cuprous_core::{Error, Fun, Result};
use cuprous_kernel::ir::{Expr, Kind};
use cuprous_kernel::types::{ArrayTy, Ty};
use smallvec::SmallVec;

use super::function::FunctionCompiler;
use super::values::{Values, array_parts};

/// The stride of each axis in bytes, as a value and, if it is constant, as a number.
pub(super) type Strides = SmallVec<[(Value, Option<i64>); 4]>;

/// Splits an index into an expression and a constant that is added to it.
pub(super) fn split_constant(e: &Expr) -> (Option<&Expr>, i64) {
    if let Some(n) = e.as_int() {
        return (None, n);
    }
    if let Kind::Fun(fun @ (Fun::Add | Fun::Subtract), _, args) = &e.kind {
        match (fun, args[0].as_int(), args[1].as_int()) {
            (Fun::Add, _, Some(n)) => return (Some(&args[0]), n),
            (Fun::Add, Some(n), _) => return (Some(&args[1]), n),
            (_, _, Some(n)) if n != i64::MIN => return (Some(&args[0]), -n),
            _ => {}
        }
    }
    (Some(e), 0)
}

impl FunctionCompiler<'_, '_, '_> {
    /// Returns the strides of an array.
    pub(super) fn known_strides(&mut self, array: &Expr, ty: &ArrayTy, values: &Values) -> Strides {
        let a = array_parts(ty, values);
        if !a.strides.is_empty() {
            return a.strides.iter().map(|&s| (s, None)).collect();
        }
        let extents = match &array.kind {
            Kind::Declared(k) => self.function.arrays[*k].shape.clone(),
            Kind::Constant(k) => self.shared.ir.constants[*k].shape.clone(),
            _ => Vec::new(),
        };
        let size = ty.item_size() as i64;
        let mut stride = (self.b.ins().iconst(types::I64, size), Some(size));
        let mut strides = Strides::new();
        for axis in (0..ty.ndim as usize).rev() {
            strides.insert(0, stride);
            if axis > 0 {
                let known = stride.1.zip(extents.get(axis)).map(|(s, n)| s * n);
                stride = match known {
                    Some(n) => (self.b.ins().iconst(types::I64, n), known),
                    None => (self.b.ins().imul(stride.0, a.shape[axis]), None),
                };
            }
        }
        strides
    }

    /// Returns the byte offset of an index along its axis.
    pub(super) fn byte_offset(&mut self, index: Value, (stride, known): (Value, Option<i64>)) -> Value {
        match known {
            Some(size) if size > 0 && size.count_ones() == 1 => {
                self.b.ins().ishl_imm_s(index, i64::from(size.trailing_zeros()))
            }
            Some(size) => self.b.ins().imul_imm_s(index, size),
            None => self.b.ins().imul(index, stride),
        }
    }

    /// Adds constant indices to an address. Returns the address and a constant offset for the load or store
    /// instruction.
    pub(super) fn add_constant_offset(&mut self, mut address: Value, apart: &[i64], strides: &Strides) -> (Value, i32) {
        let mut offset = 0i64;
        for (&more, &(stride, known)) in apart.iter().zip(strides) {
            match known.and_then(|s| s.checked_mul(more)) {
                _ if more == 0 => {}
                Some(far) => offset = offset.saturating_add(far),
                None => {
                    let far = self.b.ins().imul_imm_s(stride, more);
                    address = self.b.ins().iadd(address, far);
                }
            }
        }
        match i32::try_from(offset) {
            Ok(far) if far.unsigned_abs() < 1 << 30 => (address, far),
            _ => (self.b.ins().iadd_imm_s(address, offset), 0),
        }
    }

    /// Returns the address of an element, as a value and a constant offset.
    pub(super) fn element_address(&mut self, array: &Expr, indices: &[Expr]) -> Result<(Value, i32)> {
        let values = self.expr(array)?;
        let Ty::Array(ty) = &array.ty else { return Err(Error::runtime("[kernel] internal error: expected an array")) };
        let strides = self.known_strides(array, ty, &values);
        let mut address = values[0];
        let mut apart = Vec::new();
        for (axis, index) in indices.iter().enumerate() {
            let natural = self.is_non_negative(index);
            let (rest, more) = if natural { split_constant(index) } else { (Some(index), 0) };
            apart.push(more);
            let Some(rest) = rest else { continue };
            let at = self.value_of(rest)?;
            let at = if natural { at } else { self.wrap_negative(at, values[1 + axis]) };
            let far = self.byte_offset(at, strides[axis]);
            address = self.b.ins().iadd(address, far);
        }
        Ok(self.add_constant_offset(address, &apart, &strides))
    }

    /// Returns the address of an element.
    pub(super) fn element(&mut self, array: &Expr, indices: &[Expr]) -> Result<Value> {
        let (address, far) = self.element_address(array, indices)?;
        Ok(if far == 0 { address } else { self.b.ins().iadd_imm_s(address, i64::from(far)) })
    }
}
