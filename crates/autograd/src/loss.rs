//! Losses, as the mean over a batch.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, ReduceOp, Result};

use crate::arg::Arg;
use crate::formula::{choose, map, map_number};
use crate::graph::Tensor;
use crate::{ops, softmax};

/// Returns the mean of `-log(softmax(t))` at the targets (int64), in `dtype`. Axis 0 is the batch, axis 1 the classes.
/// Targets equal to `ignore` do not count. `None` if shapes or dtypes are others: the caller computes the loss from its
/// parts.
pub fn cross_entropy(t: &Tensor, target: &Tensor, ignore: i64, dtype: DType) -> Result<Option<Tensor>> {
    let fits = t.shape().len() == 2 && target.shape() == &t.shape()[..1] && target.dtype() == DType::I64;
    if !fits || !t.dtype().is_float() || t.array.layout.size == 0 {
        return Ok(None);
    }
    let number = |n: i64| Arg::Number(Number::Int(n.into()));
    let valid = ops::map(Fun::NotEqual, &[Arg::Tensor(target), number(ignore)], None)?;
    let index = choose(&valid, Arg::Tensor(target), number(0))?;
    let logs = softmax::log_likelihood(t, &index, 1, dtype)?;
    let losses = choose(&valid, Arg::Tensor(&logs), number(0))?;
    let sum = ops::reduce(ReduceOp::Sum, &map(Fun::Negative, &[&losses])?, 1, false)?;
    let count = ops::reduce(ReduceOp::Sum, &ops::cast(&valid, dtype)?, 1, false)?;
    map(Fun::Divide, &[&sum, &count]).map(Some)
}

/// Returns the mean squared difference of two float tensors of one shape, or `None` for other operands.
pub fn mean_square(a: &Tensor, b: &Tensor) -> Result<Option<Tensor>> {
    let n = a.array.layout.size;
    if a.shape() != b.shape() || n == 0 || !a.dtype().is_float() || a.shape().len() > 32 {
        return Ok(None);
    }
    let square = map(Fun::Square, &[&map(Fun::Subtract, &[a, b])?])?;
    let all = ((1u64 << a.shape().len()) - 1) as u32;
    map_number(Fun::Divide, &ops::reduce(ReduceOp::Sum, &square, all, false)?, n as f64).map(Some)
}
