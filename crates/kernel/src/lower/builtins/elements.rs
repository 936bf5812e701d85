//! Atomic operations on elements of arrays, and loads and stores with a cache hint.

use cuprous_core::DType;

use super::Call;
use crate::diagnostic::Result;
use crate::ir::{AtomicOp, CacheOp, Expr, Kind};
use crate::lower::context::{LoweringContext, Operand};
use crate::types::{INT, Ty};

/// An operation on one element of an array.
#[derive(Clone, Copy)]
pub(super) enum ElementOp {
    Atomic(AtomicOp),
    Cached(CacheOp),
}

impl ElementOp {
    pub(super) fn of(name: &str) -> Option<ElementOp> {
        if let Some(name) = name.strip_prefix("cuda.atomic.") {
            return AtomicOp::ALL.iter().find(|(n, _)| *n == name).map(|(_, op)| ElementOp::Atomic(*op));
        }
        let name = name.strip_prefix("cuda.")?;
        CacheOp::ALL.iter().find(|(n, _)| *n == name).map(|(_, op)| ElementOp::Cached(*op))
    }

    /// Returns the number of arguments: the array, the index and the operands.
    fn arity(self) -> usize {
        match self {
            ElementOp::Atomic(AtomicOp::Cas) => 4,
            ElementOp::Cached(op) if op.is_load() => 2,
            _ => 3,
        }
    }

    fn allows(self, d: DType) -> bool {
        match self {
            ElementOp::Atomic(op) => op.allows(d),
            ElementOp::Cached(op) => op.allows(d),
        }
    }
}

/// `cuda.atomic.compare_and_swap(array, old, value)`: on the first element.
pub(super) fn compare_and_swap(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let array = call.value(cx, 0)?;
    let operands = vec![call.value(cx, 1)?, call.value(cx, 2)?];
    let op = ElementOp::Atomic(AtomicOp::Cas);
    cx.element_op_at(op, call.name, array, Expr::int(0), operands).map(Operand::Expr)
}

impl LoweringContext<'_, '_> {
    pub(super) fn element_op(&mut self, name: &str, op: ElementOp, args: Vec<Operand>) -> Result<Operand> {
        let args = self.values(args)?;
        if args.len() != op.arity() {
            return Err(self.arity_error(name, &op.arity().to_string(), args.len()));
        }
        let mut args = args.into_iter();
        let (Some(array), Some(index)) = (args.next(), args.next()) else { return Ok(Operand::Expr(Expr::unknown())) };
        self.element_op_at(op, name, array, index, args.collect()).map(Operand::Expr)
    }

    fn element_op_at(
        &mut self,
        op: ElementOp,
        name: &str,
        array: Expr,
        index: Expr,
        operands: Vec<Expr>,
    ) -> Result<Expr> {
        if [&array, &index].into_iter().chain(&operands).any(|e| e.ty == Ty::Unknown) {
            return Ok(Expr::unknown());
        }
        let Ty::Array(ty) = array.ty.clone() else {
            return Err(self
                .typing(format!("{name} works on an element of an array, not on {}", array.ty))
                .hint(format!("pass the array and the index: {name}(a, i, value)")));
        };
        let allowed = ty.dtype().filter(|d| op.allows(*d));
        let Some(d) = allowed else {
            return Err(self.typing(format!("{name} is not defined for elements of type {}", ty.elem)));
        };
        if !ty.mutable {
            return Err(self.typing("this array is a constant and cannot be written to"));
        }
        let indices = match &index.ty {
            Ty::Tuple(..) => self.items(index),
            _ => vec![index],
        };
        if indices.len() != ty.ndim as usize {
            return Err(self.typing(format!("{name}: {} indices for an array of {} axes", indices.len(), ty.ndim)));
        }
        let indices = indices.into_iter().map(|i| self.element_index(name, i)).collect::<Result<Vec<_>>>()?;
        let operands = operands.into_iter().map(|e| self.cast_dtype(e, d)).collect::<Result<Vec<_>>>()?;
        let (array, indices) = self.check_bounds(array, indices)?;
        let array = Box::new(array);
        let (ty, kind) = match op {
            ElementOp::Atomic(op) => (Ty::Scalar(d), Kind::Atomic { op, array, indices, operands }),
            ElementOp::Cached(op) => {
                let ty = if op.is_load() { Ty::Scalar(d) } else { Ty::None };
                (ty, Kind::Cached { op, array, indices, operands })
            }
        };
        Ok(self.emit_effect(Expr::new(ty, kind)))
    }

    fn element_index(&mut self, name: &str, index: Expr) -> Result<Expr> {
        if !index.dtype().is_some_and(|d| d.is_int() || d == DType::Bool) {
            // Once integers are known at compile time, a branch on one may leave only the integer here.
            return Err(self.typing(format!("{name}: an index must be an integer, not {}", index.ty)).literal());
        }
        self.cast(index, &INT)
    }
}
