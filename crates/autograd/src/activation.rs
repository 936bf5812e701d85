//! ReLU, and GELU: a rule that keeps the input, where the formula's own would keep what is between as well. Halves are
//! computed in float32 and rounded once.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};
use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{Fun, Result, Saved};

use crate::formula::{map, narrow, wide, with};
use crate::node::{Kept, Node, Rule};
use crate::ops::{self, noted_result};
use crate::{Arg, Tensor, mode};

/// The larger of each element and 0.
pub fn relu(t: &Tensor) -> Result<Tensor> {
    let zero = Arg::Number(Number::Int(0));
    let below = ops::map(Fun::LessEqual, &[Arg::Tensor(t), zero], None)?;
    ops::map(Fun::Where, &[Arg::Tensor(&below), zero, Arg::Tensor(t)], None)
}

/// x times the normal distribution function of x.
pub fn gelu(t: &Tensor) -> Result<Tensor> {
    let out = {
        let _mode = mode::Guard::new(false);
        let x = wide(&t.detach())?;
        narrow(map(Fun::Multiply, &[&x, &distribution(&x)?])?, t.dtype())?
    };
    noted_result(out.array, &[t], |_| {
        let mut kept: Kept = Default::default();
        kept[0] = Some(Saved::new(&t.array));
        (Rule::Gelu, kept)
    })
}

/// The normal distribution function by the error function, as PyTorch has it: a GPU takes half the time of the one that
/// keeps its relative error far below 0, where x times it is nothing.
fn distribution(x: &Tensor) -> Result<Tensor> {
    let erf = map(Fun::Erf, &[&with(Fun::Multiply, x, FRAC_1_SQRT_2)?])?;
    with(Fun::Add, &with(Fun::Multiply, &erf, 0.5)?, 0.5)
}

/// The distribution function, and x times the density.
pub(crate) fn gelu_backward(node: &Arc<Node>, g: &Tensor) -> Result<Tensor> {
    let (x, g) = (wide(&node.operand(0)?)?, wide(g)?);
    let power = map(Fun::Exp, &[&with(Fun::Multiply, &map(Fun::Square, &[&x])?, -0.5)?])?;
    let density = with(Fun::Multiply, &power, 1.0 / TAU.sqrt())?;
    let slope = map(Fun::Add, &[&distribution(&x)?, &map(Fun::Multiply, &[&x, &density])?])?;
    map(Fun::Multiply, &[&g, &slope])
}
