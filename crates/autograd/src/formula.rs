//! Helpers with which gradient rules and composite operations are written as formulas.

use cuprous_core::layout::contiguous_strides;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Dims, Fun, Layout, Result};
use smallvec::SmallVec;

use crate::arg::Arg;
use crate::graph::Tensor;
use crate::ops;

/// The number 0, of no dtype.
pub(crate) const ZERO: Arg<'static> = Arg::Number(Number::Int(0));

/// Returns a scalar function of tensors.
pub(crate) fn map(fun: Fun, args: &[&Tensor]) -> Result<Tensor> {
    let args: SmallVec<[Arg; 3]> = args.iter().map(|t| Arg::Tensor(t)).collect();
    ops::map(fun, &args, None)
}

/// Returns a scalar function of a tensor and a number.
pub(crate) fn map_number(fun: Fun, t: &Tensor, n: f64) -> Result<Tensor> {
    ops::map(fun, &[Arg::Tensor(t), Arg::Number(Number::Float(n))], None)
}

/// Returns `a` where the mask is true, otherwise `b`.
pub(crate) fn choose(mask: &Tensor, a: Arg, b: Arg) -> Result<Tensor> {
    ops::map(Fun::Where, &[Arg::Tensor(mask), a, b], None)
}

/// Returns the complex conjugate, or the tensor itself if it is real.
pub(crate) fn conj(t: &Tensor) -> Result<Tensor> {
    if t.dtype().is_complex() { map(Fun::Conjugate, &[t]) } else { Ok(t.clone()) }
}

/// Casts half precision to float32. Other dtypes stay.
pub(crate) fn widen(t: &Tensor) -> Result<Tensor> {
    if matches!(t.dtype(), DType::F16 | DType::BF16) { ops::cast(t, DType::F32) } else { Ok(t.clone()) }
}

/// Casts to `dtype` if that is a half precision dtype.
pub(crate) fn narrow(t: Tensor, dtype: DType) -> Result<Tensor> {
    let half = matches!(dtype, DType::F16 | DType::BF16) && t.dtype() != dtype;
    if half { ops::cast(&t, dtype) } else { Ok(t) }
}

/// Returns a reduced tensor, broadcast over the axes in `mask` that were reduced. The axes may still be there with
/// extent 1, or not.
pub(crate) fn broadcast_reduced(t: &Tensor, mask: u32, shape: &[i64]) -> Tensor {
    let own = &t.array.layout;
    let keeps_axes = own.ndim() == shape.len();
    let mut axis = 0;
    let mut strides = Dims::new();
    for k in 0..shape.len() {
        let reduced = mask >> k & 1 == 1;
        strides.push(if reduced { 0 } else { own.strides[axis] });
        axis += usize::from(keeps_axes || !reduced);
    }
    t.view(own.with(shape, &strides, own.offset))
}

/// Returns the product of extents, saturated: an array of such a size cannot exist, and creating it is an error.
pub(crate) fn product(extents: &[i64]) -> i64 {
    extents.iter().fold(1i64, |product, &n| product.saturating_mul(n))
}

/// Returns a part of a contiguous array.
pub(crate) fn section(all: &Tensor, start: i64, shape: &[i64]) -> Tensor {
    all.view(Layout::new(all.dtype(), shape, &contiguous_strides(shape), all.array.layout.offset + start))
}
