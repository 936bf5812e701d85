//! Layer normalisation: a rule that keeps the input, where the formulas' own would keep what is between as well. Halves are
//! computed in float32 and rounded once.

use std::sync::Arc;

use cuprous_core::{Fun, ReduceOp, Result, Saved};

use crate::formula::{map, wide, with};
use crate::node::{Edge, Kept, Node, Rule};
use crate::ops::{self, noted_result};
use crate::{Tensor, mode};

/// The mean over the axes in `mask`, which stay.
fn mean(x: &Tensor, mask: u32) -> Result<Tensor> {
    let n: i64 = (0..x.shape().len()).filter(|&k| mask >> k & 1 == 1).map(|k| x.shape()[k]).product();
    with(Fun::Divide, &ops::reduce(ReduceOp::Sum, x, mask, true)?, n as f64)
}

/// What is left of the mean, and one over the standard deviation.
fn standard(x: &Tensor, mask: u32, eps: f64) -> Result<[Tensor; 3]> {
    let middle = mean(x, mask)?;
    let centred = map(Fun::Subtract, &[x, &middle])?;
    let variance = mean(&map(Fun::Square, &[&centred])?, mask)?;
    let scale = map(Fun::Rsqrt, &[&with(Fun::Add, &variance, eps)?])?;
    Ok([middle, centred, scale])
}

/// The axes from `first` on brought to mean 0 and variance 1, then scaled and shifted.
pub fn layer_norm(
    t: &Tensor,
    first: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let mask = trailing(t, first);
    let (out, middle, scale) = {
        let _mode = mode::Guard::new(false);
        let [middle, centred, scale] = standard(&wide(&t.detach())?, mask, eps)?;
        let mut y = map(Fun::Multiply, &[&centred, &scale])?;
        if let Some(weight) = weight {
            y = map(Fun::Multiply, &[&y, &weight.detach()])?;
        }
        if let Some(bias) = bias {
            y = map(Fun::Add, &[&y, &bias.detach()])?;
        }
        let y = if y.dtype() == t.dtype() { y } else { ops::cast(&y, t.dtype())? };
        (y, middle, scale)
    };
    let blank = Tensor::new(middle.array.clone());
    let operands = [t, weight.unwrap_or(&blank), bias.unwrap_or(&blank)];
    noted_result(out.array, &operands, |_| {
        let mut kept: Kept = Default::default();
        kept[0] = Some(Saved::new(&t.array));
        kept[1] = weight.map(|weight| Saved::new(&weight.array));
        kept[2] = Some(Saved::new(&middle.array));
        kept[3] = Some(Saved::new(&scale.array));
        (Rule::LayerNorm(first, eps, weight.is_some()), kept)
    })
}

fn trailing(t: &Tensor, first: usize) -> u32 {
    (first..t.shape().len()).fold(0, |mask, k| mask | 1 << k)
}

/// The gradient of operand `k`: input, weight or bias.
pub(crate) fn backward(
    node: &Arc<Node>,
    (first, eps, weighed): (usize, f64, bool),
    k: usize,
    edge: &Edge,
    g: &Tensor,
) -> Result<Tensor> {
    let g = wide(g)?;
    let lead = (1u32 << first) - 1;
    if k == 2 {
        return ops::reshape(&ops::reduce(ReduceOp::Sum, &g, lead, false)?, &edge.read.shape);
    }
    let x = wide(&node.operand(0)?)?;
    let mask = trailing(&x, first);
    let (centred, scale) = if mode::enabled() {
        let [_, centred, scale] = standard(&x, mask, eps)?;
        (centred, scale)
    } else {
        (map(Fun::Subtract, &[&x, &Tensor::new(node.saved(2)?)])?, Tensor::new(node.saved(3)?))
    };
    let normal = map(Fun::Multiply, &[&centred, &scale])?;
    if k == 1 {
        let along = ops::reduce(ReduceOp::Sum, &map(Fun::Multiply, &[&g, &normal])?, lead, false)?;
        return ops::reshape(&along, &edge.read.shape);
    }
    let g = if weighed { map(Fun::Multiply, &[&g, &node.operand(1)?])? } else { g };
    let share = map(Fun::Multiply, &[&normal, &mean(&map(Fun::Multiply, &[&g, &normal])?, mask)?])?;
    let rest = map(Fun::Subtract, &[&map(Fun::Subtract, &[&g, &mean(&g, mask)?])?, &share])?;
    map(Fun::Multiply, &[&rest, &scale])
}
