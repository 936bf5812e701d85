//! Losses as training programs mostly want them: the mean over a batch.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, ReduceOp, Result};

use crate::formula::{map, with};
use crate::{Arg, Tensor, ops, softmax};

/// The mean of `-log(softmax(t))` at the targets (int64; rows are axis 0, classes 1), of those that are not `ignore`, in
/// `dtype`; `None` for tensors of another kind.
pub fn cross_entropy(t: &Tensor, target: &Tensor, ignore: i64, dtype: DType) -> Result<Option<Tensor>> {
    let fits = t.shape().len() == 2 && target.shape() == &t.shape()[..1] && target.dtype() == DType::I64;
    if !fits || !t.dtype().is_float() || t.array.layout.size == 0 {
        return Ok(None);
    }
    let number = |n: i64| Arg::Number(Number::Int(n.into()));
    let valid = ops::map(Fun::NotEqual, &[Arg::Tensor(target), number(ignore)], None)?;
    let index = ops::map(Fun::Where, &[Arg::Tensor(&valid), Arg::Tensor(target), number(0)], None)?;
    let logs = softmax::likelihood(t, &index, 1, dtype)?;
    let losses = ops::map(Fun::Where, &[Arg::Tensor(&valid), Arg::Tensor(&logs), number(0)], None)?;
    let sum = ops::reduce(ReduceOp::Sum, &map(Fun::Negative, &[&losses])?, 1, false)?;
    let count = ops::reduce(ReduceOp::Sum, &ops::cast(&valid, dtype)?, 1, false)?;
    map(Fun::Divide, &[&sum, &count]).map(Some)
}

/// The mean of the squared differences of two tensors of floats and of one shape; `None` for others.
pub fn mean_square(a: &Tensor, b: &Tensor) -> Result<Option<Tensor>> {
    let n = a.array.layout.size;
    if a.shape() != b.shape() || n == 0 || !a.dtype().is_float() || a.shape().len() > 32 {
        return Ok(None);
    }
    let square = map(Fun::Square, &[&map(Fun::Subtract, &[a, b])?])?;
    let all = ((1u64 << a.shape().len()) - 1) as u32;
    with(Fun::Divide, &ops::reduce(ReduceOp::Sum, &square, all, false)?, n as f64).map(Some)
}
