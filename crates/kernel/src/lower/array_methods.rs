//! Methods of arrays that return arrays: `reshape`, `ravel`, `view`, `copy`.

use cuprous_core::{DType, Fun};

use super::context::{LoweringContext, Operand};
use crate::ast::{BinOp, Value};
use crate::diagnostic::Result;
use crate::exception::ExceptionKind;
use crate::ir::{self, Expr, Kind, Space};
use crate::types::{ArrayTy, BOOL, INT, Order, Ty};

fn of_ints(fun: Fun, a: Expr, b: Expr) -> Expr {
    Expr::new(INT, Kind::Fun(fun, DType::I64, vec![a, b]))
}

fn test(fun: Fun, a: Expr, b: Expr) -> Expr {
    Expr::new(BOOL, Kind::Fun(fun, DType::I64, vec![a, b]))
}

impl LoweringContext<'_, '_> {
    /// Lowers one of these methods; `None` for other names.
    pub(super) fn array_method(
        &mut self,
        base: &Expr,
        ty: &ArrayTy,
        name: &str,
        args: &[Operand],
    ) -> Result<Option<Operand>> {
        Ok(Some(Operand::Expr(match (name, args) {
            ("reshape", [_, ..]) => self.reshape(base, ty, args)?,
            ("ravel", []) => self.reshape(base, ty, &[Operand::Expr(Expr::int(-1))])?,
            ("view", [dtype]) => return self.view_as(base, ty, dtype).map(|e| Some(Operand::Expr(e))),
            ("copy", []) => self.copy(base, ty)?,
            _ => return Ok(None),
        })))
    }

    fn require_c_order(&self, ty: &ArrayTy, name: &str) -> Result<()> {
        if ty.order == Order::C {
            return Ok(());
        }
        let error = self.unsupported(format!(
            "{name}() of {} is not supported in kernels: the array may not be contiguous",
            Ty::Array(ty.clone())
        ));
        Err(error.hint("pass a C-contiguous array, or index the array"))
    }

    /// Extents as separate arguments or as a tuple. One of them may be -1.
    fn reshape(&mut self, base: &Expr, ty: &ArrayTy, args: &[Operand]) -> Result<Expr> {
        self.require_c_order(ty, "reshape")?;
        let mut operands = Vec::new();
        for arg in args {
            let value = self.value(arg.clone())?;
            match &value.ty {
                Ty::Unknown => return Ok(Expr::unknown()),
                Ty::Tuple(..) if args.len() == 1 => operands.extend(self.items(value)),
                _ => operands.push(value),
            }
        }
        let mut extents = Vec::new();
        for extent in operands {
            match extent.dtype() {
                _ if extent.ty == Ty::Unknown => return Ok(Expr::unknown()),
                Some(d) if d.is_int() => {
                    let extent = self.cast(extent, &INT)?;
                    extents.push(self.stabilize("n", extent));
                }
                _ => return Err(self.typing(format!("reshape: an extent must be an integer, not {}", extent.ty))),
            }
        }
        if extents.is_empty() {
            return Err(self.unsupported("reshape to zero axes is not supported in kernels").hint("read the element"));
        }
        let base = self.stabilize("a", base.clone());
        let mut size = Expr::int(1);
        for k in 0..ty.ndim as usize {
            size = of_ints(Fun::Multiply, size, Expr::new(INT, Kind::Extent(Box::new(base.clone()), k)));
        }
        let size = self.materialize("size", size);
        let to = |extents: &[Expr]| ArrayTy { ndim: extents.len() as u8, ..ty.clone() };
        // A single extent of -1 fits every array.
        if let [one] = &extents[..]
            && self.constant_int(one).is_some_and(|n| n < 0)
        {
            let all = vec![size];
            return Ok(Expr::new(Ty::Array(to(&all)), Kind::Reshape(Box::new(base), all)));
        }
        if extents.iter().any(|n| self.constant_int(n).is_none_or(|n| n < 0)) {
            // The extent that -1 stands for. With -1 among them, the product of the extents is minus the product of the
            // others.
            let product = extents.iter().cloned().reduce(|a, b| of_ints(Fun::Multiply, a, b)).unwrap_or(size.clone());
            let rest = of_ints(
                Fun::Maximum,
                Expr::int(1),
                Expr::new(INT, Kind::Fun(Fun::Negative, DType::I64, vec![product])),
            );
            let rest = self.materialize("rest", rest);
            let quotient = self.binary(BinOp::FloorDiv, size.clone(), rest)?;
            let missing = self.materialize("missing", quotient);
            for extent in &mut extents {
                let choice = Kind::Select(
                    Box::new(test(Fun::Less, extent.clone(), Expr::int(0))),
                    Box::new(missing.clone()),
                    Box::new(extent.clone()),
                );
                *extent = self.materialize("n", Expr::new(INT, choice));
            }
        }
        let product = extents.iter().cloned().reduce(|a, b| of_ints(Fun::Multiply, a, b)).unwrap_or(size.clone());
        let message = "reshape: the new shape has a different number of elements than the array";
        self.raise_if(test(Fun::NotEqual, product, size), ExceptionKind::Value(message.into()), Vec::new())?;
        Ok(Expr::new(Ty::Array(to(&extents)), Kind::Reshape(Box::new(base), extents)))
    }

    /// `a.view(dtype)`: the same memory. If the sizes of the elements differ, the extent of the last axis changes.
    fn view_as(&mut self, base: &Expr, ty: &ArrayTy, dtype: &Operand) -> Result<Expr> {
        let (Some(from), Operand::Value(Value::Type(Ty::Scalar(to)))) = (ty.dtype(), dtype) else {
            return Err(self.typing("view() takes a numeric dtype, such as np.int32, and works on numeric arrays"));
        };
        self.require_c_order(ty, "view")?;
        let base = self.stabilize("a", base.clone());
        let ndim = (ty.ndim as usize).max(1);
        let mut extents: Vec<Expr> =
            (0..ty.ndim as usize).map(|k| Expr::new(INT, Kind::Extent(Box::new(base.clone()), k))).collect();
        let (old, new) = (from.size() as i64, to.size() as i64);
        if old != new {
            let Some(last) = extents.pop() else {
                return Err(self.typing("view() of an array without axes cannot change the size of the element"));
            };
            let bytes = self.materialize("bytes", of_ints(Fun::Multiply, last, Expr::int(old)));
            let rest = self.binary(BinOp::Mod, bytes.clone(), Expr::int(new))?;
            let message = format!("view: the size of {} does not divide the size of the last axis in bytes", to.name());
            self.raise_if(test(Fun::NotEqual, rest, Expr::int(0)), ExceptionKind::Value(message), Vec::new())?;
            let quotient = self.binary(BinOp::FloorDiv, bytes, Expr::int(new))?;
            extents.push(self.materialize("n", quotient));
        }
        let to = ArrayTy { elem: Box::new(Ty::Scalar(*to)), ndim: ndim as u8, ..ty.clone() };
        if extents.is_empty() {
            return Err(self.unsupported("view of an array without axes is not supported in kernels"));
        }
        Ok(Expr::new(Ty::Array(to), Kind::Reshape(Box::new(base), extents)))
    }

    /// A copy in local memory. The shape must be known at compile time.
    fn copy(&mut self, base: &Expr, ty: &ArrayTy) -> Result<Expr> {
        let shape = match &base.kind {
            Kind::Constant(k) => self.compiler.constants[*k].shape.clone(),
            Kind::Declared(k) if self.arrays[*k].space != Space::Dynamic => self.arrays[*k].shape.clone(),
            _ => Vec::new(),
        };
        if shape.is_empty() {
            let error = self.unsupported("copy() of an array whose shape is not known when the kernel is compiled");
            return Err(error.hint("declare cuda.local.array(shape, dtype) and assign to all of it: b[:] = a"));
        }
        let elem = (*ty.elem).clone();
        self.arrays.push(ir::LocalArray { space: Space::Local, elem, shape, align: 0 });
        let to = ArrayTy { order: Order::C, mutable: true, ..ty.clone() };
        let copy = Expr::new(Ty::Array(to), Kind::Declared(self.arrays.len() - 1));
        self.fill(copy.clone(), base.clone())?;
        Ok(copy)
    }

    /// `x.view(np.int32)` of a number: a reinterpretation of its bits.
    pub(super) fn reinterpret(&mut self, x: Expr, dtype: &Operand) -> Result<Option<Expr>> {
        let (Some(from), Operand::Value(Value::Type(Ty::Scalar(to)))) = (x.dtype(), dtype) else { return Ok(None) };
        let name = match (from, *to) {
            (DType::F32, DType::I32 | DType::U32) => "libdevice.float_as_int",
            (DType::I32 | DType::U32, DType::F32) => "libdevice.int_as_float",
            (DType::F64, DType::I64 | DType::U64) => "libdevice.double_as_longlong",
            (DType::I64 | DType::U64, DType::F64) => "libdevice.longlong_as_double",
            (a, b) if a.is_int() && b.is_int() && a.size() == b.size() => return self.cast_dtype(x, b).map(Some),
            _ => return Ok(None),
        };
        let Some(row) = crate::table::row(name) else { return Ok(None) };
        let x =
            if from.is_int() { self.cast_dtype(x, if from.size() == 4 { DType::I32 } else { DType::I64 })? } else { x };
        let bits = self.device_builtin(row, vec![x])?;
        self.cast_dtype(bits, *to).map(Some)
    }
}
