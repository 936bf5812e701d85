//! Layers of a recurrence by a device's own routine, with its own way back.

use std::sync::Arc;

use cuprous_core::layout::contiguous_strides;
use cuprous_core::recurrent::{Layers, Recurrence, Steps};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, Dims, Error, Layout, Result, RoutineOp, Saved};
use cuprous_plan::Operand;

use crate::engine::engine_of;
use crate::graph::{Edge, Edges, Grads, Node, NodeOutput, Rule, SavedArrays, Tensor};
use crate::mode;
use crate::record::needs_graph;

/// The outputs (steps, batch, directions · hidden) and the last states (layers · directions, batch, hidden) of an input
/// (steps, batch, input); parameters and states are those of `of`. `None` where the device has no routine for it.
pub fn layers(x: &Tensor, states: &[&Tensor], parameters: &[&Tensor], of: Layers) -> Result<Option<Vec<Tensor>>> {
    let engine = engine_of(&x.array);
    let parts: Vec<&Tensor> = parameters.iter().copied().chain([x]).chain(states.iter().copied()).collect();
    let tracked = needs_graph(&parts);
    let Some(r) = engine.device.recurrence(&Layers { training: tracked, ..of }) else { return Ok(None) };
    check(&parts, &r)?;
    let operand = engine.empty(r.of.dtype, &[r.operand])?;
    for (part, &start) in parts.iter().zip(&r.offsets) {
        engine.update(&piece(&operand, part.shape(), start), Operand::Array(&part.array))?;
    }
    let result = engine.whole(RoutineOp::Recur(r.clone()), &[&operand], r.of.dtype, &[r.result])?;
    let outputs: Vec<Array> =
        shapes(&r.of).iter().zip(&r.result_offsets).map(|(shape, &start)| piece(&result, shape, start)).collect();
    if !tracked {
        return Ok(Some(outputs.into_iter().map(Tensor::new).collect()));
    }
    let edges: Edges = parts.iter().map(|t| t.edge()).collect();
    let mut saved: SavedArrays = Default::default();
    (saved[0], saved[3]) = (Some(Saved::new(&operand)), Some(Saved::new(&result)));
    let node = Node::new(Rule::Recurrence(r), edges, saved);
    let give = |(index, array)| Tensor::with_source(array, NodeOutput { node: node.clone(), index });
    Ok(Some((0..).zip(outputs).map(give).collect()))
}

/// The parts have the shapes and the dtype of the layers.
fn check(parts: &[&Tensor], r: &Recurrence) -> Result<()> {
    let of = &r.of;
    let state: Dims = [of.layers * of.directions(), of.batch, of.hidden].as_slice().into();
    let mut wanted = of.parameters();
    wanted.push([of.steps, of.batch, of.input].as_slice().into());
    wanted.extend(std::iter::repeat_n(state, of.cell.states()));
    let fits = |(part, shape): (&&Tensor, &Dims)| part.shape() == shape.as_slice() && part.dtype() == of.dtype;
    if wanted.len() != parts.len() || !parts.iter().zip(&wanted).all(fits) {
        return Err(Error::runtime("[recurrence] parameters, input and states do not fit together"));
    }
    Ok(())
}

/// The shapes of outputs and last states.
fn shapes(of: &Layers) -> Vec<Dims> {
    let states: Dims = [of.layers * of.directions(), of.batch, of.hidden].as_slice().into();
    let outputs: Dims = [of.steps, of.batch, of.directions() * of.hidden].as_slice().into();
    std::iter::once(outputs).chain(std::iter::repeat_n(states, of.cell.states())).collect()
}

/// A part of a flat array.
fn piece(a: &Array, shape: &[i64], start: i64) -> Array {
    a.view(Layout::new(a.dtype(), shape, &contiguous_strides(shape), start))
}

/// Gradients of all parts at once.
pub(crate) fn backward(
    node: &Arc<Node>,
    r: &Arc<Recurrence>,
    gs: &[Option<Tensor>],
    is_needed: &dyn Fn(&Edge) -> bool,
) -> Result<Grads> {
    if mode::enabled() {
        return Err(Error::not_implemented(
            "[recurrence] cuDNN's way back has no derivative; compute the forward pass within \
             torch.backends.cudnn.flags(enabled=False) for derivatives of gradients",
        ));
    }
    let (operand, result) = (node.saved(0)?, node.saved(3)?);
    let engine = engine_of(&operand);
    let gradient = engine.empty(r.of.dtype, &[r.gradient()])?;
    for (k, (shape, &start)) in shapes(&r.of).iter().zip(&r.result_offsets).enumerate() {
        let value = match gs.get(k).and_then(Option::as_ref) {
            Some(g) => Operand::Array(&g.array),
            None => Operand::Weak(Number::Int(0)),
        };
        engine.update(&piece(&gradient, shape, start), value)?;
    }
    let call = RoutineOp::RecurBackward(r.clone());
    let all = engine.whole(call, &[&operand, &result, &gradient], r.of.dtype, &[r.operand])?;
    let mut grads = Grads::new();
    for (k, edge) in node.edges.iter().enumerate() {
        if let Some(edge) = edge.as_ref().filter(|edge| is_needed(edge)) {
            grads.push((k, Tensor::new(piece(&all, &edge.read.shape, r.offsets[k]))));
        }
    }
    Ok(grads)
}

/// The steps of one direction of an LSTM layer by a routine of the device, not tracked: outputs, h and c after the last step,
/// and what [`steps_back`] wants. `None` where the device has no routine for them. See [`Steps`] for the operands.
pub fn steps(x: &Array, weight: &Array, first: [&Array; 2], of: &Arc<Steps>) -> Result<Option<[Array; 4]>> {
    let engine = engine_of(x);
    let call = RoutineOp::Steps(of.clone());
    if !engine.can(&call) {
        return Ok(None);
    }
    let start = joined(first.into_iter())?;
    let [h, c, _, _, end] = of.results();
    let result = engine.whole(call, &[x, weight, &start], of.dtype, &[end])?;
    let state = [of.batch, of.hidden];
    let outputs = piece(&result, &[of.steps * of.batch, of.hidden], 0);
    Ok(Some([outputs, piece(&result, &state, h), piece(&result, &state, c), result]))
}

/// Their way back: the gradients of the inputs' part and of h and c before the first step, of those of the outputs and of h
/// and c after the last step. `done` is what [`steps`] gave for it, `cell` is c before the first step.
pub fn steps_back(
    weight: &Array,
    done: &Array,
    outputs: &Array,
    last: [&Array; 2],
    cell: &Array,
    of: &Arc<Steps>,
) -> Result<[Array; 3]> {
    let [all, one] = of.sizes();
    let gradient = joined([outputs, last[0], last[1], cell].into_iter())?;
    let call = RoutineOp::StepsBackward(of.clone());
    let result = engine_of(weight).whole(call, &[weight, done, &gradient], of.dtype, &[4 * all + 2 * one])?;
    let state = [of.batch, of.hidden];
    let sums = piece(&result, &[of.steps * of.batch, 4 * of.hidden], 0);
    Ok([sums, piece(&result, &state, 4 * all), piece(&result, &state, 4 * all + one)])
}

/// Arrays of one dtype one behind the other, flat.
fn joined<'a>(parts: impl Iterator<Item = &'a Array> + Clone) -> Result<Array> {
    let first = parts.clone().next().expect("there are parts");
    let engine = engine_of(first);
    let flat = engine.empty(first.dtype(), &[parts.clone().map(|part| part.layout.size).sum()])?;
    let mut start = 0;
    for part in parts {
        engine.update(&piece(&flat, part.shape(), start), Operand::Array(part))?;
        start += part.layout.size;
    }
    Ok(flat)
}
