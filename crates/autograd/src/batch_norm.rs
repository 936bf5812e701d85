//! Batch normalization by the statistics of a batch. Its gradient rule saves the input, in its own dtype, and a few numbers
//! for each channel, whereas the rules of the operations in its formula would save intermediate results of the input's size
//! and reduce them once more. Half precision is computed in float32 and rounded once.

use std::sync::Arc;

use cuprous_core::routine::ChannelNorm;
use cuprous_core::{Dims, Fun, ReduceOp, Result, RoutineOp, Saved};

use crate::engine::engine_of;
use crate::formula::{map, map_number, section, widen};
use crate::graph::{Edge, Grads, Node, Rule, SavedArrays, Tensor};
use crate::record::record;
use crate::{mode, ops};

/// Elements of a channel of one image from which on a device's routine is used where it has one. It is also used for one
/// element, where channels are neighbors.
const MIN_AREA: i64 = 16;

/// Returns the bits of all axes but that of the channels.
fn others(x: &Tensor) -> u32 {
    ((1u64 << x.shape().len()) - 1) as u32 & !2
}

/// Returns the number of elements of a channel.
fn count(x: &Tensor) -> f64 {
    x.shape().iter().enumerate().map(|(k, &n)| if k == 1 { 1.0 } else { n as f64 }).product()
}

/// Returns a number for each channel so that it broadcasts to `x`.
fn channelwise(t: &Tensor, x: &Tensor) -> Result<Tensor> {
    let shape: Dims = x.shape().iter().enumerate().map(|(k, &n)| if k == 1 { n } else { 1 }).collect();
    ops::reshape(t, &shape)
}

/// Returns the result of a device's routine; `None` if it has none, or another way is faster. All operands of the shape of
/// the batch, which is one of them, are contiguous.
fn by_routine(op: RoutineOp, x: &Tensor, operands: &[&Tensor], shape: &[i64]) -> Result<Option<Tensor>> {
    let engine = engine_of(&x.array);
    let area: i64 = x.shape()[2..].iter().product();
    let fits = operands.iter().all(|t| {
        t.dtype() == x.dtype()
            && t.array.storage.device == x.array.storage.device
            && (t.shape() != x.shape() || t.array.layout.is_c_contiguous())
    });
    if !fits || (2..MIN_AREA).contains(&area) || x.array.layout.size == 0 || !engine.supports(&op) {
        return Ok(None);
    }
    let arrays: Vec<_> = operands.iter().map(|t| &t.array).collect();
    Ok(Some(Tensor::new(engine.routine(op, &arrays, x.dtype(), shape)?)))
}

fn norm_of(x: &Tensor, eps: f64) -> ChannelNorm {
    ChannelNorm { eps: eps.to_bits(), dtype: x.dtype() }
}

/// Returns the scale times the weight.
fn factor(scale: &Tensor, weight: Option<&Tensor>, x: &Tensor) -> Result<Tensor> {
    weight.map_or_else(|| Ok(scale.clone()), |weight| map(Fun::Multiply, &[scale, &channelwise(&widen(weight)?, x)?]))
}

/// What is known of each channel, so that it broadcasts to the batch.
struct Statistics {
    mean: Tensor,
    variance: Tensor,
    /// The reciprocal standard deviation.
    scale: Tensor,
    /// The scale times the weight.
    factor: Tensor,
    /// All of it in one array, if a routine computed it.
    all: Option<Tensor>,
}

impl Statistics {
    fn new(x: &Tensor, weight: Option<&Tensor>, eps: f64) -> Result<Statistics> {
        let channels = x.shape()[1];
        if !mode::enabled() {
            let weight = weight.map(|weight| ops::reshape(&widen(weight)?, &[channels])).transpose()?;
            let operands: Vec<&Tensor> = [x].into_iter().chain(&weight).collect();
            let op = RoutineOp::ChannelStatistics(norm_of(x, eps));
            if let Some(all) = by_routine(op, x, &operands, &[4, channels])? {
                return Statistics::of_routine(all, x);
            }
        }
        let average = |t: &Tensor| map_number(Fun::Divide, &ops::reduce(ReduceOp::Sum, t, others(t), true)?, count(t));
        let mean = average(x)?;
        let variance = average(&map(Fun::Square, &[&map(Fun::Subtract, &[x, &mean])?])?)?;
        let scale = map(Fun::Rsqrt, &[&map_number(Fun::Add, &variance, eps)?])?;
        let factor = factor(&scale, weight, x)?;
        Ok(Statistics { mean, variance, scale, factor, all: None })
    }

    fn of_routine(all: Tensor, x: &Tensor) -> Result<Statistics> {
        let channels = x.shape()[1];
        let row = |k: i64| channelwise(&section(&all, k * channels, &[channels]), x);
        let (mean, variance, scale, factor) = (row(0)?, row(1)?, row(2)?, row(3)?);
        Ok(Statistics { mean, variance, scale, factor, all: Some(all) })
    }
}

/// Returns the input (batch, channels, ...) with each channel normalized to mean 0 and variance 1, times `weight`, plus
/// `bias` (channels each); and the means and variances of the channels, which have no gradient.
pub fn batch_norm(t: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<[Tensor; 3]> {
    let (out, statistics) = {
        let _mode = mode::Guard::new(false);
        let x = widen(&t.detach())?;
        let statistics = Statistics::new(&x, weight.map(Tensor::detach).as_ref(), eps)?;
        let mut y = map(Fun::Multiply, &[&map(Fun::Subtract, &[&x, &statistics.mean])?, &statistics.factor])?;
        if let Some(bias) = bias {
            y = map(Fun::Add, &[&y, &channelwise(&widen(&bias.detach())?, &x)?])?;
        }
        (if y.dtype() == t.dtype() { y } else { ops::cast(&y, t.dtype())? }, statistics)
    };
    // Stands for a missing operand, because it requires no gradient.
    let none = Tensor::new(statistics.mean.array.clone());
    let operands = [t, weight.unwrap_or(&none), bias.unwrap_or(&none)];
    let out = record(out.array, &operands, |_| {
        let saved = |t: &Tensor| Some(Saved::new(&t.array));
        let [known, scale] = match &statistics.all {
            Some(all) => [saved(all), None],
            None => [saved(&statistics.mean), saved(&statistics.scale)],
        };
        let saved: SavedArrays = [saved(t), weight.and_then(saved), known, scale];
        (Rule::BatchNorm(eps, weight.is_some()), saved)
    })?;
    Ok([out, statistics.mean, statistics.variance])
}

/// Returns the gradients of the operands whose edge `is_needed`.
pub(crate) fn backward(
    node: &Arc<Node>,
    (eps, weighted): (f64, bool),
    g: &Tensor,
    is_needed: &dyn Fn(&Edge) -> bool,
) -> Result<Grads> {
    let (g, x) = (widen(g)?, widen(&node.operand(0)?)?);
    let weight = if weighted { Some(node.operand(1)?) } else { None };
    let needed = |k: usize| node.edges[k].as_ref().filter(|edge| is_needed(edge));
    let [mean, scale, factor] = if mode::enabled() {
        // The gradient of the gradient depends on the input by way of the statistics.
        let statistics = Statistics::new(&x, weight.as_ref(), eps)?;
        [statistics.mean, statistics.scale, statistics.factor]
    } else if node.saves(3) {
        let (mean, scale) = (Tensor::new(node.saved(2)?), Tensor::new(node.saved(3)?));
        let factor = factor(&scale, weight.as_ref(), &x)?;
        [mean, scale, factor]
    } else {
        let all = Tensor::new(node.saved(2)?);
        let (size, channels) = (x.array.layout.size, x.shape()[1]);
        let op = RoutineOp::ChannelBackward(norm_of(&x, eps));
        if let Some(grads) = by_routine(op, &x, &[&g, &x, &all], &[size + 2 * channels])? {
            let parts = [(0, x.shape()), (size, &[channels]), (size + channels, &[channels])];
            let part = |k: usize| {
                let edge = needed(k)?;
                let (start, shape) = parts[k];
                let part = section(&grads, start, shape);
                Some(if k == 0 { Ok((k, part)) } else { ops::reshape(&part, &edge.read.shape).map(|part| (k, part)) })
            };
            return (0..3).filter_map(part).collect();
        }
        let statistics = Statistics::of_routine(all, &x)?;
        [statistics.mean, statistics.scale, statistics.factor]
    };
    let centered = map(Fun::Subtract, &[&x, &mean])?;
    let sum = |t: &Tensor| ops::reduce(ReduceOp::Sum, t, others(t), true);
    let (shift, slope) = (sum(&g)?, map(Fun::Multiply, &[&sum(&map(Fun::Multiply, &[&g, &centered])?)?, &scale])?);
    let mut grads = Grads::new();
    if needed(0).is_some() {
        // The numbers of each channel come first, so that one pass does the rest.
        let average = map_number(Fun::Divide, &shift, count(&x))?;
        let steepness = map(Fun::Multiply, &[&map_number(Fun::Divide, &slope, count(&x))?, &scale])?;
        let line = map(Fun::Multiply, &[&centered, &steepness])?;
        let rest = map(Fun::Subtract, &[&map(Fun::Subtract, &[&g, &average])?, &line])?;
        grads.push((0, map(Fun::Multiply, &[&rest, &factor])?));
    }
    for (k, sum) in [(1, &slope), (2, &shift)] {
        if let Some(edge) = needed(k) {
            grads.push((k, ops::reshape(sum, &edge.read.shape)?));
        }
    }
    Ok(grads)
}
