//! Scatter-add of floats that gives the same result in every run.
//!
//! A GPU adds elements of equal index in no fixed order, and the sum of floats depends on the order. The sum of
//! integers does not. So values are multiplied by a power of two, such that the sum of all magnitudes fits into 63
//! bits, and added as integers. The rounding error is 2⁻⁶¹ of the largest value times the number of values, less than
//! that of a sum of floats.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, ReduceOp, Result, ScatterOp};

use crate::arg::Arg;
use crate::engine::engine_of;
use crate::formula::{ZERO, choose, map, map_number};
use crate::graph::Tensor;
use crate::{mode, ops};

/// Bits of the sum of all magnitudes.
const BITS: f64 = 61.0;
/// Maxima below this count as this, because the power of two would overflow.
const MIN_MAGNITUDE: f64 = 1e-270;

/// Adds `value` to the flat `target` at the offsets in `index`. If any value is not finite, no element that receives
/// one is finite.
pub(crate) fn add_at(target: &Tensor, index: &Tensor, value: &Tensor) -> Result<()> {
    let count = index.array.layout.size;
    let in_order = engine_of(&target.array).name() == "cpu";
    if in_order || mode::enabled() || count == 0 || !value.dtype().is_float() || value.shape() != index.shape() {
        return ops::scatter(target, index, value, ScatterOp::Add);
    }
    let wide = ops::cast(value, DType::F64)?;
    let all = ((1u64 << wide.shape().len()) - 1) as u32;
    let largest = ops::reduce(ReduceOp::Max, &map(Fun::Absolute, &[&wide])?, all, false)?;
    let power = map(Fun::Floor, &[&map(Fun::Log2, &[&map_number(Fun::Maximum, &largest, MIN_MAGNITUDE)?])?])?;
    // Each of the `count` magnitudes is below 2^(power + 1).
    let headroom = BITS - 1.0 - (count as f64).log2().ceil();
    let scale = map(Fun::Exp2, &[&map_number(Fun::Add, &map(Fun::Negative, &[&power])?, headroom)?])?;
    let finite = map(Fun::Isfinite, &[&largest])?;
    let rounded = map(Fun::Rint, &[&map(Fun::Multiply, &[&wide, &scale])?])?;
    // If a value is not finite, every contribution counts as 1 and dividing by `scale` gives infinity or NaN. Elements
    // that receive nothing must stay 0 then.
    let one = Arg::Number(Number::Int(1));
    let integers = choose(&finite, Arg::Tensor(&rounded), one)?;
    let sums = ops::full(target, target.shape(), 0.0, DType::I64)?;
    ops::scatter(&sums, index, &ops::cast(&integers, DType::I64)?, ScatterOp::Add)?;
    let unscaled = map(Fun::Divide, &[&ops::cast(&sums, DType::F64)?, &scale])?;
    let untouched = ops::map(Fun::Equal, &[Arg::Tensor(&sums), ZERO], None)?;
    let added = choose(&untouched, ZERO, Arg::Tensor(&unscaled))?;
    let total = ops::cast(&map(Fun::Add, &[&ops::cast(target, DType::F64)?, &added])?, target.dtype())?;
    ops::update(target, Arg::Tensor(&total))
}
