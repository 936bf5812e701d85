//! Layer normalization. Its gradient rule saves the input, the means and the reciprocal standard deviations, whereas
//! the rules of the operations in its formula would save intermediate results of the input's size. Half precision is
//! computed in float32 and rounded once.
//!
//! If the backward pass computed the formula again and differentiated it, a step in float32 would take 1.6 times as
//! long at (8, 16) and 1.3 to 2 times at (4096, 1024), because the mean and the variance are computed twice.

use std::sync::Arc;

use cuprous_core::{DType, Fun, ReduceOp, Result, RoutineOp, Saved};

use crate::engine::engine_of;
use crate::formula::{map, map_number, widen};
use crate::graph::{Edge, Node, Rule, SavedArrays, Tensor};
use crate::record::{needs_graph, record};
use crate::{mode, ops};

/// Elements up to which a device's routine is used where it has one. It is one operation instead of ten, but more elements
/// are computed faster together with what comes before and after.
const MAX_BY_ROUTINE: i64 = 1 << 16;

/// Returns the mean over the axes in `mask`, which stay with extent 1.
fn mean(x: &Tensor, mask: u32) -> Result<Tensor> {
    let n: i64 = (0..x.shape().len()).filter(|&k| mask >> k & 1 == 1).map(|k| x.shape()[k]).product();
    map_number(Fun::Divide, &ops::reduce(ReduceOp::Sum, x, mask, true)?, n as f64)
}

/// Returns the mean, the input minus the mean, and the reciprocal standard deviation.
fn statistics(x: &Tensor, mask: u32, eps: f64) -> Result<[Tensor; 3]> {
    let average = mean(x, mask)?;
    let centered = map(Fun::Subtract, &[x, &average])?;
    let variance = mean(&map(Fun::Square, &[&centered])?, mask)?;
    let rstd = map(Fun::Rsqrt, &[&map_number(Fun::Add, &variance, eps)?])?;
    Ok([average, centered, rstd])
}

/// Returns the input normalized to mean 0 and variance 1 over the axes from `first` on, times `weight`, plus `bias`.
pub fn layer_norm(
    t: &Tensor,
    first: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    if let (Some(weight), Some(bias)) = (weight, bias)
        && !needs_graph(&[t, weight, bias])
        && let Some(out) = by_routine(t, first, weight, bias, eps)?
    {
        return Ok(out);
    }
    let mask = trailing(t, first);
    let (out, average, rstd) = {
        let _mode = mode::Guard::new(false);
        let [average, centered, rstd] = statistics(&widen(&t.detach())?, mask, eps)?;
        let mut y = map(Fun::Multiply, &[&centered, &rstd])?;
        if let Some(weight) = weight {
            y = map(Fun::Multiply, &[&y, &weight.detach()])?;
        }
        if let Some(bias) = bias {
            y = map(Fun::Add, &[&y, &bias.detach()])?;
        }
        let y = if y.dtype() == t.dtype() { y } else { ops::cast(&y, t.dtype())? };
        (y, average, rstd)
    };
    // Stands for a missing operand, because it requires no gradient.
    let none = Tensor::new(average.array.clone());
    let operands = [t, weight.unwrap_or(&none), bias.unwrap_or(&none)];
    record(out.array, &operands, |_| {
        let mut saved: SavedArrays = Default::default();
        saved[0] = Some(Saved::new(&t.array));
        saved[1] = weight.map(|weight| Saved::new(&weight.array));
        saved[2] = Some(Saved::new(&average.array));
        saved[3] = Some(Saved::new(&rstd.array));
        (Rule::LayerNorm(first, eps, weight.is_some()), saved)
    })
}

/// Returns the result of the device's routine, without a graph; `None` if it has none for these operands.
fn by_routine(t: &Tensor, first: usize, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Option<Tensor>> {
    let operands = [t, weight, bias].map(|x| &x.array);
    let (dtype, device) = (t.dtype(), t.array.storage.device);
    let routine = RoutineOp::Normalize { first: first as u8, eps: eps.to_bits(), dtype };
    let engine = engine_of(&t.array);
    let fits = matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
        && operands.iter().all(|x| x.dtype() == dtype && x.storage.device == device)
        && [weight, bias].iter().all(|x| x.shape() == &t.shape()[first..])
        && (1..=MAX_BY_ROUTINE).contains(&t.array.layout.size);
    if !fits || !engine.supports(&routine) {
        return Ok(None);
    }
    Ok(Some(Tensor::new(engine.routine(routine, &operands, dtype, t.shape())?)))
}

/// Returns the bits of the axes from `first` on.
fn trailing(t: &Tensor, first: usize) -> u32 {
    (first..t.shape().len()).fold(0, |mask, k| mask | 1 << k)
}

/// Returns the gradient of operand `k`: input, weight or bias.
pub(crate) fn backward(
    node: &Arc<Node>,
    (first, eps, weighted): (usize, f64, bool),
    k: usize,
    edge: &Edge,
    g: &Tensor,
) -> Result<Tensor> {
    let g = widen(g)?;
    let leading = (1u32 << first) - 1;
    if k == 2 {
        return ops::reshape(&ops::reduce(ReduceOp::Sum, &g, leading, false)?, &edge.read.shape);
    }
    let x = widen(&node.operand(0)?)?;
    let mask = trailing(&x, first);
    let (centered, rstd) = if mode::enabled() {
        let [_, centered, rstd] = statistics(&x, mask, eps)?;
        (centered, rstd)
    } else {
        (map(Fun::Subtract, &[&x, &Tensor::new(node.saved(2)?)])?, Tensor::new(node.saved(3)?))
    };
    let normalized = map(Fun::Multiply, &[&centered, &rstd])?;
    if k == 1 {
        let sum = ops::reduce(ReduceOp::Sum, &map(Fun::Multiply, &[&g, &normalized])?, leading, false)?;
        return ops::reshape(&sum, &edge.read.shape);
    }
    let g = if weighted { map(Fun::Multiply, &[&g, &node.operand(1)?])? } else { g };
    let share = map(Fun::Multiply, &[&normalized, &mean(&map(Fun::Multiply, &[&g, &normalized])?, mask)?])?;
    let rest = map(Fun::Subtract, &[&map(Fun::Subtract, &[&g, &mean(&g, mask)?])?, &share])?;
    map(Fun::Multiply, &[&rest, &rstd])
}
