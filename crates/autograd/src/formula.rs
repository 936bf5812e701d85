//! Words in which rules that are formulas are written.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, Result};
use smallvec::SmallVec;

use crate::{Arg, Tensor, ops};

/// A function of tensors.
pub(crate) fn map(fun: Fun, args: &[&Tensor]) -> Result<Tensor> {
    let args: SmallVec<[Arg; 3]> = args.iter().map(|t| Arg::Tensor(t)).collect();
    ops::map(fun, &args, None)
}

/// A function of a tensor and a number.
pub(crate) fn with(fun: Fun, t: &Tensor, n: f64) -> Result<Tensor> {
    ops::map(fun, &[Arg::Tensor(t), Arg::Number(Number::Float(n))], None)
}

/// Halves in float32.
pub(crate) fn wide(t: &Tensor) -> Result<Tensor> {
    if matches!(t.dtype(), DType::F16 | DType::BF16) { ops::cast(t, DType::F32) } else { Ok(t.clone()) }
}

/// Back to halves, where `dtype` is one.
pub(crate) fn narrow(t: Tensor, dtype: DType) -> Result<Tensor> {
    let halves = matches!(dtype, DType::F16 | DType::BF16) && t.dtype() != dtype;
    if halves { ops::cast(&t, dtype) } else { Ok(t) }
}
