//! Sums at places that may be equal, the same in every run.
//!
//! A GPU adds at equal places in no fixed order, and floats that are added in another order give another sum. So it adds
//! whole numbers, of which any order gives the same: the values times a power of two for which all of them together fit into
//! 63 bits. What that rounds is 2⁻⁶¹ of the largest value times their number, less than a sum of floats does.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, ReduceOp, Result, ScatterOp};

use crate::formula::{map, with};
use crate::ops::{self, engine_of};
use crate::{Arg, Tensor, mode};

/// Bits of the sum of all magnitudes.
const BITS: f64 = 61.0;
/// Largest values below this count as this: powers of two beyond would not be numbers.
const LEAST: f64 = 1e-270;

/// Adds `value` to the flat `target` at the offsets in `index`. Where a value is not finite, no place that gets any
/// is.
pub(crate) fn add_at(target: &Tensor, index: &Tensor, value: &Tensor) -> Result<()> {
    let count = index.array.layout.size;
    let in_order = engine_of(&target.array).name() == "cpu";
    if in_order || mode::enabled() || count == 0 || !value.dtype().is_float() || value.shape() != index.shape() {
        return ops::scatter(target, index, value, ScatterOp::Add);
    }
    let wide = ops::cast(value, DType::F64)?;
    let all = ((1u64 << wide.shape().len()) - 1) as u32;
    let top = ops::reduce(ReduceOp::Max, &map(Fun::Absolute, &[&wide])?, all, false)?;
    let power = map(Fun::Floor, &[&map(Fun::Log2, &[&with(Fun::Maximum, &top, LEAST)?])?])?;
    // Below 2^(power + 1) each, count of them.
    let room = BITS - 1.0 - (count as f64).log2().ceil();
    let scale = map(Fun::Exp2, &[&with(Fun::Add, &map(Fun::Negative, &[&power])?, room)?])?;
    let finite = map(Fun::Isfinite, &[&top])?;
    let rounded = map(Fun::Rint, &[&map(Fun::Multiply, &[&wide, &scale])?])?;
    let one = Arg::Number(Number::Int(1));
    let whole = ops::map(Fun::Where, &[Arg::Tensor(&finite), Arg::Tensor(&rounded), one], None)?;
    let sums = ops::full(target, target.shape(), 0.0, DType::I64)?;
    ops::scatter(&sums, index, &ops::cast(&whole, DType::I64)?, ScatterOp::Add)?;
    let back = map(Fun::Divide, &[&ops::cast(&sums, DType::F64)?, &scale])?;
    let nothing = ops::map(Fun::Equal, &[Arg::Tensor(&sums), Arg::Number(Number::Int(0))], None)?;
    let zero = Arg::Number(Number::Int(0));
    let kept = ops::map(Fun::Where, &[Arg::Tensor(&nothing), zero, Arg::Tensor(&back)], None)?;
    let total = ops::cast(&map(Fun::Add, &[&ops::cast(target, DType::F64)?, &kept])?, target.dtype())?;
    ops::update(target, Arg::Tensor(&total))
}
