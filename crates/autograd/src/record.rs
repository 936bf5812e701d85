//! Adds the results of operations to the graph.

use cuprous_core::{Array, DType, Result};
use smallvec::smallvec;

use crate::graph::{Edge, Edges, Node, NodeOutput, Rule, SavedArrays, Tensor};
use crate::mode;

/// Returns true if values of this dtype can have a gradient.
pub(crate) fn is_differentiable(d: DType) -> bool {
    d.is_float() || d.is_complex()
}

/// Returns true if an operation on these tensors is added to the graph.
#[inline]
pub(crate) fn needs_graph(tensors: &[&Tensor]) -> bool {
    mode::enabled() && tensors.iter().any(|t| t.requires_grad())
}

/// Returns `out` as the result of a new node.
pub(crate) fn with_rule(out: Array, rule: Rule, edges: Edges, saved: SavedArrays) -> Tensor {
    Tensor::with_source(out, NodeOutput { node: Node::new(rule, edges, saved), index: 0 })
}

/// Returns `out` as a tensor. If one of the operands requires a gradient, it is the result of a new node with what
/// `rule` returns for the operands' edges.
pub(crate) fn record(
    out: Array,
    operands: &[&Tensor],
    rule: impl FnOnce(&[Option<Edge>]) -> (Rule, SavedArrays),
) -> Result<Tensor> {
    if !needs_graph(operands) || !is_differentiable(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let edges: Edges = operands.iter().map(|t| t.edge()).collect();
    let (rule, saved) = rule(&edges);
    Ok(with_rule(out, rule, edges, saved))
}

/// Returns `out`, the copy of `t` on another device, as a tensor.
pub(crate) fn record_to_device(t: &Tensor, out: Array) -> Tensor {
    if !needs_graph(&[t]) {
        return Tensor::new(out);
    }
    with_rule(out, Rule::ToDevice(t.array.storage.device), smallvec![t.edge()], Default::default())
}
