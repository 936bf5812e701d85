//! Attention by a device's library routine, and its gradient.

use std::sync::Arc;

use cuprous_core::attention::{Attention, Mask, Part, RowAttention};
use cuprous_core::layout::contiguous_strides;
use cuprous_core::{Array, DType, Error, Layout, Result, RoutineOp, Saved};
use cuprous_plan::Operand;

use crate::engine::engine_of;
use crate::graph::{Edge, Edges, Grads, Node, NodeOutput, Rule, SavedArrays, Tensor};
use crate::mode;
use crate::record::needs_graph;

/// Returns `softmax(scale · q kᵀ + mask) v`, for `q` (batch, heads, queries, width), `k` (batch, heads, keys, width),
/// `v` (batch, heads, keys, depth) and a finite mask (batch or 1, heads or 1, queries, keys), which has no gradient. The
/// result is (batch, heads, queries, depth). With `causal`, query i attends to keys up to i. `None` if the device has no
/// routine for these operands.
pub fn attend(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    causal: bool,
    scale: f64,
) -> Result<Option<Tensor>> {
    let parts = [q, k, v];
    let (&[batch, heads, queries, width], &[b, h, keys, w], &[b2, h2, keys2, depth]) =
        (q.shape(), k.shape(), v.shape())
    else {
        return Ok(None);
    };
    let dtype = q.dtype();
    let device = q.array.storage.device;
    let alike = parts.iter().all(|t| t.dtype() == dtype && t.array.storage.device == device);
    let consistent = (b, h, w, keys) == (batch, heads, width, keys2) && (b2, h2) == (batch, heads);
    let nonempty = batch > 0 && heads > 0;
    if !(alike && consistent && nonempty) {
        return Ok(None);
    }
    let engine = engine_of(&q.array);
    let tracked = needs_graph(&parts);
    let of_rows = RowAttention {
        heads: batch.saturating_mul(heads),
        queries,
        keys,
        features: width.max(depth),
        causal,
        scale: scale.to_bits(),
        dtype,
    };
    let routine = RoutineOp::AttendRows(of_rows);
    if mask.is_none() && dtype.is_float() && !tracked && keys > 0 && engine.supports(&routine) {
        let shape = [batch, queries, heads, depth];
        let out = engine.routine(routine, &parts.map(|t| &t.array), dtype, &shape)?;
        return Ok(Some(Tensor::new(out.view(out.layout.permute(&[0, 2, 1, 3])))));
    }
    if !matches!(dtype, DType::F16 | DType::BF16) {
        return Ok(None);
    }
    let none = Part { start: 0, strides: [0; 3] };
    let mut of = Attention {
        batch,
        heads,
        queries,
        keys,
        width,
        depth,
        causal,
        mask: None,
        scale: (scale as f32).to_bits(),
        training: tracked,
        dtype,
        parts: [none; 3],
        operand: 0,
    };
    let shared = if mask.is_none() { in_one_storage(parts.map(|t| &t.array)) } else { None };
    let start = match &shared {
        Some((start, elements, parts)) => {
            (of.parts, of.operand) = (*parts, *elements);
            *start
        }
        None => {
            (of.parts, of.operand) = of.packed();
            0
        }
    };
    if let Some(mask) = mask {
        let &[batches, of_heads, rows, columns] = mask.shape() else { return Ok(None) };
        let fits =
            [1, batch].contains(&batches) && [1, heads].contains(&of_heads) && (rows, columns) == (queries, keys);
        if !fits || mask.dtype() != dtype || mask.array.storage.device != device {
            return Ok(None);
        }
        of.mask = Some(Mask { start: of.operand, batches, heads: of_heads });
        of.operand += mask.array.layout.size;
    }
    let of = Arc::new(of);
    let routine = RoutineOp::Attend(of.clone());
    if !engine.supports(&routine) {
        return Ok(None);
    }
    let operand = if shared.is_some() {
        q.array.view(Layout::new(dtype, &[of.operand], &[1], start))
    } else {
        let operand = engine.empty(dtype, &[of.operand])?;
        for ((tensor, part), extents) in parts.iter().zip(of.parts).zip(of.extents()) {
            engine.update(&section(&operand, extents, part), Operand::Array(&tensor.array))?;
        }
        if let Some((mask, place)) = mask.zip(of.mask) {
            let extents = of.extents_of_mask(place);
            let strides = contiguous_strides(&extents);
            let part = Part { start: place.start, strides: [strides[0], strides[1], strides[2]] };
            engine.update(&section(&operand, extents, part), Operand::Array(&mask.array))?;
        }
        operand
    };
    let result = engine.routine(routine, &[&operand], dtype, &[of.result()])?;
    let extents = of.extents()[3];
    let outputs = section(&result, extents, Part { start: 0, strides: Attention::by_rows(extents) });
    if !tracked {
        return Ok(Some(Tensor::new(outputs)));
    }
    let edges: Edges = parts.iter().map(|t| t.edge()).collect();
    let mut saved: SavedArrays = Default::default();
    (saved[0], saved[3]) = (Some(Saved::new(&operand)), Some(Saved::new(&result)));
    let node = Node::new(Rule::Attention(of), edges, saved);
    Ok(Some(Tensor::with_source(outputs, NodeOutput { node, index: 0 })))
}

/// The alignment of an operand in elements of half precision: 16 bytes.
const ALIGNMENT: i64 = 8;

/// Returns the range of memory that holds all three arrays, if they share a storage: the first element, the number of
/// elements, and the position of each array in it. The features of a row must be contiguous.
fn in_one_storage(arrays: [&Array; 3]) -> Option<(i64, i64, [Part; 3])> {
    let storage = &arrays[0].storage;
    let same = arrays.iter().all(|a| Arc::ptr_eq(&a.storage, storage)) && !storage.is_external();
    let plain = |a: &Array| a.layout.strides[3] == 1 && a.layout.strides.iter().all(|&s| s > 0);
    if !(same && arrays.into_iter().all(plain)) {
        return None;
    }
    let last = |a: &Array| {
        let steps = a.shape().iter().zip(&a.layout.strides).map(|(n, s)| (n - 1) * s);
        a.layout.offset + steps.sum::<i64>()
    };
    let start = arrays.iter().map(|a| a.layout.offset).min()? / ALIGNMENT * ALIGNMENT;
    let end = arrays.into_iter().map(last).max()? + 1;
    let part = |a: &Array| {
        let s = &a.layout.strides;
        Part { start: a.layout.offset - start, strides: [s[0], s[1], s[2]] }
    };
    Some((start, end - start, arrays.map(part)))
}

/// Returns a part of a flat array as a view of the extents.
fn section(a: &Array, extents: [i64; 4], part: Part) -> Array {
    let [batch, head, row] = part.strides;
    a.view(Layout::new(a.dtype(), &extents, &[batch, head, row, 1], a.layout.offset + part.start))
}

/// Returns the gradients of Q, K and V, which one routine computes together.
pub(crate) fn backward(
    node: &Arc<Node>,
    of: &Arc<Attention>,
    g: &Tensor,
    is_needed: &dyn Fn(&Edge) -> bool,
) -> Result<Grads> {
    if mode::enabled() {
        return Err(Error::not_implemented(
            "[scaled_dot_product_attention] the gradient of cuDNN's routine has no derivative; compute the forward pass within \
             torch.nn.attention.sdpa_kernel(SDPBackend.MATH) for derivatives of gradients",
        ));
    }
    let (operand, result) = (node.saved(0)?, node.saved(3)?);
    let engine = engine_of(&operand);
    // The outputs lie in memory in the order (batch, query, head, feature).
    let layout = g.array.layout.permute(&[0, 2, 1, 3]);
    let by_rows = g.array.view(layout);
    let flat = [by_rows.layout.size];
    let gradient = if by_rows.layout.is_c_contiguous() && by_rows.layout.offset % ALIGNMENT == 0 {
        by_rows
    } else {
        engine.cast(&by_rows, of.dtype)?
    };
    let gradient = gradient.view(Layout::new(of.dtype, &flat, &contiguous_strides(&flat), gradient.layout.offset));
    let (parts, elements) = of.gradients();
    let all = engine.routine(
        RoutineOp::AttendBackward(of.clone()),
        &[&operand, &result, &gradient],
        of.dtype,
        &[elements],
    )?;
    let mut grads = Grads::new();
    for (k, edge) in node.edges.iter().enumerate() {
        if edge.as_ref().is_some_and(is_needed) {
            grads.push((k, Tensor::new(section(&all, of.extents()[k], parts[k]))));
        }
    }
    Ok(grads)
}
