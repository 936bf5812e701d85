//! Layer normalization. Its gradient rule saves the input and, without a device's routine, the means and the reciprocal
//! standard deviations, whereas the rules of the operations in its formula would save intermediate results of the input's
//! size. Half precision is computed in float32 and rounded once.
//!
//! If the backward pass computed the formula again and differentiated it, a step in float32 would take 1.6 times as
//! long at (8, 16) and 1.3 to 2 times at (4096, 1024), because the mean and the variance are computed twice.

use std::sync::Arc;

use cuprous_core::routine::RowNorm;
use cuprous_core::{Array, DType, Fun, ReduceOp, Result, RoutineOp, Saved};
use smallvec::SmallVec;

use crate::engine::engine_of;
use crate::formula::{map, map_number, narrow, section, widen};
use crate::graph::{Edge, Grads, Node, Rule, SavedArrays, Tensor};
use crate::record::{needs_graph, record};
use crate::{mode, ops};

/// Elements up to which a device's routine is used where it has none for the gradients. It is one operation instead of ten,
/// but more elements are computed faster together with what comes before and after.
const MAX_BY_ROUTINE: i64 = 1 << 16;

/// Elements of a row from which on a device's routine is used: it computes row by row, so narrow ones are faster by the
/// formula.
const MIN_ROW: i64 = 16;

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
    let (out, saved) = {
        let _mode = mode::Guard::new(false);
        forward(&t.detach(), first, weight.map(Tensor::detach), bias.map(Tensor::detach), eps)?
    };
    // Stands for a missing operand, because it requires no gradient.
    let none = Tensor::new(out.array.clone());
    let operands = [t, weight.unwrap_or(&none), bias.unwrap_or(&none)];
    record(out.array, &operands, |_| {
        let [average, rstd] = saved.map(|kept| kept.map(|kept| Saved::new(&kept.array)));
        let weight_array = weight.map(|weight| Saved::new(&weight.array));
        let saved: SavedArrays = [Some(Saved::new(&t.array)), weight_array, average, rstd];
        (Rule::LayerNorm(first, eps, weight.is_some()), saved)
    })
}

/// Returns the result, and the means and reciprocal standard deviations unless the backward pass computes them again.
fn forward(
    t: &Tensor,
    first: usize,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    eps: f64,
) -> Result<(Tensor, [Option<Tensor>; 2])> {
    let x = widen(t)?;
    if let Some(norm) = trained(&x, first, eps) {
        let weight = weight.as_ref().map_or_else(|| constant(&x, first, 1.0), widen)?;
        let bias = bias.as_ref().map_or_else(|| constant(&x, first, 0.0), widen)?;
        if let Some(out) = run(RoutineOp::Normalize(norm), &[&x, &weight, &bias], x.shape())? {
            return Ok((narrow(out, t.dtype())?, [None, None]));
        }
    }
    let [average, centered, rstd] = statistics(&x, trailing(t, first), eps)?;
    let mut y = map(Fun::Multiply, &[&centered, &rstd])?;
    if let Some(weight) = weight {
        y = map(Fun::Multiply, &[&y, &weight])?;
    }
    if let Some(bias) = bias {
        y = map(Fun::Add, &[&y, &bias])?;
    }
    let y = if y.dtype() == t.dtype() { y } else { ops::cast(&y, t.dtype())? };
    Ok((y, [Some(average), Some(rstd)]))
}

/// Returns the routine's rows, if they are not narrow and the device has a routine for the gradients too. Such a device has
/// them for any number of rows.
fn trained(x: &Tensor, first: usize, eps: f64) -> Option<RowNorm> {
    if x.shape()[first..].iter().product::<i64>() < MIN_ROW {
        return None;
    }
    let norm = RowNorm { first: first as u8, eps: eps.to_bits(), dtype: x.dtype() };
    engine_of(&x.array).supports(&RoutineOp::NormalizeBackward(norm)).then_some(norm)
}

/// Returns the result of the device's routine, without a graph; `None` if it has none for these operands.
fn by_routine(t: &Tensor, first: usize, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Option<Tensor>> {
    let norm = RowNorm { first: first as u8, eps: eps.to_bits(), dtype: t.dtype() };
    let is_large = t.array.layout.size > MAX_BY_ROUTINE && trained(t, first, eps).is_none();
    let is_float = matches!(t.dtype(), DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    if is_large || !is_float || [weight, bias].iter().any(|x| x.shape() != &t.shape()[first..]) {
        return Ok(None);
    }
    run(RoutineOp::Normalize(norm), &[t, weight, bias], t.shape())
}

/// Runs a routine on operands of one dtype and device; `None` if the device lacks it, or the operands differ.
fn run(op: RoutineOp, operands: &[&Tensor], shape: &[i64]) -> Result<Option<Tensor>> {
    let (dtype, device) = (operands[0].dtype(), operands[0].array.storage.device);
    let engine = engine_of(&operands[0].array);
    let fits =
        operands.iter().all(|x| x.dtype() == dtype && x.array.storage.device == device && x.array.layout.size > 0);
    if !fits || !engine.supports(&op) {
        return Ok(None);
    }
    let operands: SmallVec<[&Array; 3]> = operands.iter().map(|x| &x.array).collect();
    Ok(Some(Tensor::new(engine.routine(op, &operands, dtype, shape)?)))
}

/// Returns a number for each element of a row of `x`.
fn constant(x: &Tensor, first: usize, value: f64) -> Result<Tensor> {
    ops::full(x, &x.shape()[first..], value, x.dtype())
}

/// Returns the bits of the axes from `first` on.
fn trailing(t: &Tensor, first: usize) -> u32 {
    (first..t.shape().len()).fold(0, |mask, k| mask | 1 << k)
}

/// Returns the gradients of the operands whose edge `is_needed`.
pub(crate) fn backward(
    node: &Arc<Node>,
    (first, eps, weighted): (usize, f64, bool),
    g: &Tensor,
    is_needed: &dyn Fn(&Edge) -> bool,
) -> Result<Grads> {
    let (g, x) = (widen(g)?, widen(&node.operand(0)?)?);
    let (mask, leading) = (trailing(&x, first), (1u32 << first) - 1);
    let needed = |k: usize| node.edges[k].as_ref().is_some_and(is_needed);
    let mut grads = Grads::new();
    if !mode::enabled()
        && !node.saves(2)
        && let Some(norm) = trained(&x, first, eps)
    {
        let weight = if weighted { widen(&node.operand(1)?)? } else { constant(&x, first, 1.0)? };
        let (size, width) = (x.array.layout.size, weight.array.layout.size);
        if let Some(all) = run(RoutineOp::NormalizeBackward(norm), &[&g, &x, &weight], &[size + 2 * width])? {
            let parts = [(0, x.shape()), (size, weight.shape()), (size + width, weight.shape())];
            return Ok((0..3).filter(|&k| needed(k)).map(|k| (k, section(&all, parts[k].0, parts[k].1))).collect());
        }
    }
    if needed(2) {
        grads.push((2, ops::reduce(ReduceOp::Sum, &g, leading, false)?));
    }
    let (centered, rstd) = if mode::enabled() || !node.saves(2) {
        let [_, centered, rstd] = statistics(&x, mask, eps)?;
        (centered, rstd)
    } else {
        (map(Fun::Subtract, &[&x, &Tensor::new(node.saved(2)?)])?, Tensor::new(node.saved(3)?))
    };
    let normalized = map(Fun::Multiply, &[&centered, &rstd])?;
    if needed(1) {
        let products = map(Fun::Multiply, &[&g, &normalized])?;
        grads.push((1, ops::reduce(ReduceOp::Sum, &products, leading, false)?));
    }
    if needed(0) {
        let g = if weighted { map(Fun::Multiply, &[&g, &node.operand(1)?])? } else { g };
        let share = map(Fun::Multiply, &[&normalized, &mean(&map(Fun::Multiply, &[&g, &normalized])?, mask)?])?;
        let rest = map(Fun::Subtract, &[&map(Fun::Subtract, &[&g, &mean(&g, mask)?])?, &share])?;
        grads.push((0, map(Fun::Multiply, &[&rest, &rstd])?));
    }
    Ok(grads)
}
