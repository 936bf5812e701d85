//! Recurrent layers by a device's library routine, and their gradient.

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

/// Returns the outputs (steps, batch, directions · hidden) and the final states (layers · directions, batch, hidden)
/// for an input (steps, batch, input). `parameters` and initial `states` have the shapes that `of` gives. `None` if the
/// device has no routine for these layers.
pub fn layers(x: &Tensor, states: &[&Tensor], parameters: &[&Tensor], of: Layers) -> Result<Option<Vec<Tensor>>> {
    let engine = engine_of(&x.array);
    let parts: Vec<&Tensor> = parameters.iter().copied().chain([x]).chain(states.iter().copied()).collect();
    let tracked = needs_graph(&parts);
    let Some(r) = engine.device.recurrence(&Layers { training: tracked, ..of }) else { return Ok(None) };
    check(&parts, &r)?;
    let operand = engine.empty(r.of.dtype, &[r.operand])?;
    for (part, &start) in parts.iter().zip(&r.offsets) {
        engine.update(&section(&operand, part.shape(), start), Operand::Array(&part.array))?;
    }
    let result = engine.routine(RoutineOp::Recur(r.clone()), &[&operand], r.of.dtype, &[r.result])?;
    let outputs: Vec<Array> =
        shapes(&r.of).iter().zip(&r.result_offsets).map(|(shape, &start)| section(&result, shape, start)).collect();
    if !tracked {
        return Ok(Some(outputs.into_iter().map(Tensor::new).collect()));
    }
    let edges: Edges = parts.iter().map(|t| t.edge()).collect();
    let mut saved: SavedArrays = Default::default();
    (saved[0], saved[3]) = (Some(Saved::new(&operand)), Some(Saved::new(&result)));
    let node = Node::new(Rule::Recurrence(r), edges, saved);
    let output = |(index, array)| Tensor::with_source(array, NodeOutput { node: node.clone(), index });
    Ok(Some((0..).zip(outputs).map(output).collect()))
}

/// Returns an error unless the parts have the shapes and the dtype of the layers.
fn check(parts: &[&Tensor], r: &Recurrence) -> Result<()> {
    let of = &r.of;
    let state: Dims = [of.layers * of.directions(), of.batch, of.hidden].as_slice().into();
    let mut expected = of.parameters();
    expected.push([of.steps, of.batch, of.input].as_slice().into());
    expected.extend(std::iter::repeat_n(state, of.cell.states()));
    let fits = |(part, shape): (&&Tensor, &Dims)| part.shape() == shape.as_slice() && part.dtype() == of.dtype;
    if expected.len() != parts.len() || !parts.iter().zip(&expected).all(fits) {
        return Err(Error::runtime("[recurrence] shapes or dtypes of parameters, input and states do not match"));
    }
    Ok(())
}

/// Returns the shapes of the outputs and the final states.
fn shapes(of: &Layers) -> Vec<Dims> {
    let states: Dims = [of.layers * of.directions(), of.batch, of.hidden].as_slice().into();
    let outputs: Dims = [of.steps, of.batch, of.directions() * of.hidden].as_slice().into();
    std::iter::once(outputs).chain(std::iter::repeat_n(states, of.cell.states())).collect()
}

/// Returns a part of a flat array as a view.
fn section(a: &Array, shape: &[i64], start: i64) -> Array {
    a.view(Layout::new(a.dtype(), shape, &contiguous_strides(shape), start))
}

/// Returns the gradients of all parts, which one routine computes together.
pub(crate) fn backward(
    node: &Arc<Node>,
    r: &Arc<Recurrence>,
    gs: &[Option<Tensor>],
    is_needed: &dyn Fn(&Edge) -> bool,
) -> Result<Grads> {
    if mode::enabled() {
        return Err(Error::not_implemented(
            "[recurrence] the gradient of cuDNN's routine has no derivative; compute the forward pass within \
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
        engine.update(&section(&gradient, shape, start), value)?;
    }
    let routine = RoutineOp::RecurBackward(r.clone());
    let all = engine.routine(routine, &[&operand, &result, &gradient], r.of.dtype, &[r.operand])?;
    let mut grads = Grads::new();
    for (k, edge) in node.edges.iter().enumerate() {
        if let Some(edge) = edge.as_ref().filter(|edge| is_needed(edge)) {
            grads.push((k, Tensor::new(section(&all, &edge.read.shape, r.offsets[k]))));
        }
    }
    Ok(grads)
}

/// Runs one direction of an LSTM layer by a device's routine, outside the graph. Returns the outputs, h and c after the
/// last step, and the routine's whole result, which [`steps_backward`] reads. `None` if the device has no routine. See
/// [`Steps`] for the operands.
pub fn steps(x: &Array, weight: &Array, first: [&Array; 2], of: &Arc<Steps>) -> Result<Option<[Array; 4]>> {
    let engine = engine_of(x);
    let routine = RoutineOp::Steps(of.clone());
    if !engine.supports(&routine) {
        return Ok(None);
    }
    let start = concatenated(first.into_iter())?;
    let [h, c, _, _, end] = of.results();
    let result = engine.routine(routine, &[x, weight, &start], of.dtype, &[end])?;
    let state = [of.batch, of.hidden];
    let outputs = section(&result, &[of.steps * of.batch, of.hidden], 0);
    Ok(Some([outputs, section(&result, &state, h), section(&result, &state, c), result]))
}

/// Returns the gradients of the inputs' part of the gates and of h and c before the first step. `outputs` and `last`
/// are the gradients of the outputs and of h and c after the last step, `forward` is the whole result of [`steps`], and
/// `cell` is c before the first step.
pub fn steps_backward(
    weight: &Array,
    forward: &Array,
    outputs: &Array,
    last: [&Array; 2],
    cell: &Array,
    of: &Arc<Steps>,
) -> Result<[Array; 3]> {
    let [all, one] = of.sizes();
    let gradient = concatenated([outputs, last[0], last[1], cell].into_iter())?;
    let routine = RoutineOp::StepsBackward(of.clone());
    let result = engine_of(weight).routine(routine, &[weight, forward, &gradient], of.dtype, &[4 * all + 2 * one])?;
    let state = [of.batch, of.hidden];
    let inputs = section(&result, &[of.steps * of.batch, 4 * of.hidden], 0);
    Ok([inputs, section(&result, &state, 4 * all), section(&result, &state, 4 * all + one)])
}

/// Concatenates arrays of one dtype into a flat array.
fn concatenated<'a>(parts: impl Iterator<Item = &'a Array> + Clone) -> Result<Array> {
    let first = parts.clone().next().expect("there are parts");
    let engine = engine_of(first);
    let flat = engine.empty(first.dtype(), &[parts.clone().map(|part| part.layout.size).sum()])?;
    let mut start = 0;
    for part in parts {
        engine.update(&section(&flat, part.shape(), start), Operand::Array(part))?;
        start += part.layout.size;
    }
    Ok(flat)
}
