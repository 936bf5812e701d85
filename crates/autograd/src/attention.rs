//! Attention by a device's own routine, with its own way back.

use std::sync::Arc;

use cuprous_core::attention::{Attention, Part};
use cuprous_core::layout::contiguous_strides;
use cuprous_core::{Array, DType, Error, Layout, Result, RoutineOp, Saved};
use cuprous_plan::Operand;

use crate::engine::engine_of;
use crate::graph::{Edge, Edges, Grads, Node, NodeOutput, Rule, SavedArrays, Tensor};
use crate::mode;
use crate::record::needs_graph;

/// `softmax(scale · q kᵀ) v` of halves: (batch, heads, queries, width), (batch, heads, keys, width) and (batch, heads, keys,
/// depth) to (batch, heads, queries, depth); `causal`: query i sees the keys up to i. `None` where the device has no routine
/// for it.
pub fn attend(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool, scale: f32) -> Result<Option<Tensor>> {
    let parts = [q, k, v];
    let (&[batch, heads, queries, width], &[b, h, keys, w], &[b2, h2, keys2, depth]) =
        (q.shape(), k.shape(), v.shape())
    else {
        return Ok(None);
    };
    let dtype = q.dtype();
    let device = q.array.storage.device;
    let alike = parts.iter().all(|t| t.dtype() == dtype && t.array.storage.device == device);
    let fits = (b, h, w, keys) == (batch, heads, width, keys2) && (b2, h2) == (batch, heads);
    let some = batch > 0 && heads > 0;
    if !(alike && fits && some && matches!(dtype, DType::F16 | DType::BF16)) {
        return Ok(None);
    }
    let engine = engine_of(&q.array);
    let tracked = needs_graph(&parts);
    let none = Part { start: 0, strides: [0; 3] };
    let mut of = Attention {
        batch,
        heads,
        queries,
        keys,
        width,
        depth,
        causal,
        scale: scale.to_bits(),
        training: tracked,
        dtype,
        parts: [none; 3],
        operand: 0,
    };
    let together = together(parts.map(|t| &t.array));
    let start = match &together {
        Some((start, elements, parts)) => {
            (of.parts, of.operand) = (*parts, *elements);
            *start
        }
        None => {
            (of.parts, of.operand) = of.packed();
            0
        }
    };
    let of = Arc::new(of);
    let call = RoutineOp::Attend(of.clone());
    if !engine.can(&call) {
        return Ok(None);
    }
    let operand = if together.is_some() {
        q.array.view(Layout::new(dtype, &[of.operand], &[1], start))
    } else {
        let operand = engine.empty(dtype, &[of.operand])?;
        for ((part, place), extents) in parts.iter().zip(of.parts).zip(of.extents()) {
            engine.update(&rows(&operand, extents, place), Operand::Array(&part.array))?;
        }
        operand
    };
    let result = engine.whole(call, &[&operand], dtype, &[of.result()])?;
    let extents = of.extents()[3];
    let outputs = rows(&result, extents, Part { start: 0, strides: Attention::by_rows(extents) });
    if !tracked {
        return Ok(Some(Tensor::new(outputs)));
    }
    let edges: Edges = parts.iter().map(|t| t.edge()).collect();
    let mut saved: SavedArrays = Default::default();
    (saved[0], saved[3]) = (Some(Saved::new(&operand)), Some(Saved::new(&result)));
    let node = Node::new(Rule::Attention(of), edges, saved);
    Ok(Some(Tensor::with_source(outputs, NodeOutput { node, index: 0 })))
}

/// Elements by which an operand starts: 16 bytes of a half.
const ALIGNED: i64 = 8;

/// Where the three are in memory that they share, if they do: the first element of all, how many there are up to the last,
/// and the parts. The features of a row must be next to each other.
fn together(arrays: [&Array; 3]) -> Option<(i64, i64, [Part; 3])> {
    let storage = &arrays[0].storage;
    let shared = arrays.iter().all(|a| Arc::ptr_eq(&a.storage, storage)) && !storage.is_external();
    let plain = |a: &Array| a.layout.strides[3] == 1 && a.layout.strides.iter().all(|&s| s > 0);
    if !(shared && arrays.into_iter().all(plain)) {
        return None;
    }
    let last = |a: &Array| {
        let steps = a.shape().iter().zip(&a.layout.strides).map(|(n, s)| (n - 1) * s);
        a.layout.offset + steps.sum::<i64>()
    };
    let start = arrays.iter().map(|a| a.layout.offset).min()? / ALIGNED * ALIGNED;
    let end = arrays.into_iter().map(last).max()? + 1;
    let part = |a: &Array| {
        let s = &a.layout.strides;
        Part { start: a.layout.offset - start, strides: [s[0], s[1], s[2]] }
    };
    Some((start, end - start, arrays.map(part)))
}

/// A part of a flat array.
fn rows(a: &Array, extents: [i64; 4], part: Part) -> Array {
    let [batch, head, row] = part.strides;
    a.view(Layout::new(a.dtype(), &extents, &[batch, head, row, 1], a.layout.offset + part.start))
}

/// Gradients of Q, K and V at once.
pub(crate) fn backward(
    node: &Arc<Node>,
    of: &Arc<Attention>,
    g: &Tensor,
    is_needed: &dyn Fn(&Edge) -> bool,
) -> Result<Grads> {
    if mode::enabled() {
        return Err(Error::not_implemented(
            "[scaled_dot_product_attention] cuDNN's way back has no derivative; compute the forward pass within \
             torch.nn.attention.sdpa_kernel(SDPBackend.MATH) for derivatives of gradients",
        ));
    }
    let (operand, result) = (node.saved(0)?, node.saved(3)?);
    let engine = engine_of(&operand);
    // In the outputs' order of memory.
    let layout = g.array.layout.permute(&[0, 2, 1, 3]);
    let by_rows = g.array.view(layout);
    let flat = [by_rows.layout.size];
    let gradient = if by_rows.layout.is_c_contiguous() && by_rows.layout.offset % ALIGNED == 0 {
        by_rows
    } else {
        engine.cast(&by_rows, of.dtype)?
    };
    let gradient = gradient.view(Layout::new(of.dtype, &flat, &contiguous_strides(&flat), gradient.layout.offset));
    let (parts, elements) = of.gradients();
    let all =
        engine.whole(RoutineOp::AttendBackward(of.clone()), &[&operand, &result, &gradient], of.dtype, &[elements])?;
    let mut grads = Grads::new();
    for (k, edge) in node.edges.iter().enumerate() {
        if edge.as_ref().is_some_and(is_needed) {
            grads.push((k, Tensor::new(rows(&all, of.extents()[k], parts[k]))));
        }
    }
    Ok(grads)
}
