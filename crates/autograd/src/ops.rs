//! Operations on tensors. Each records the operation with the engine, and adds a node to the graph if an operand
//! requires a gradient.

use std::collections::HashSet;
use std::sync::Arc;

use cuprous_core::error::ErrorKind;
use cuprous_core::layout::show;
use cuprous_core::scalar::Number;
use cuprous_core::vjp::{self, RESULT, Reason};
use cuprous_core::{Array, DType, Dims, Error, Fun, Layout, ReduceOp, Result, Saved, Scalar, ScanOp, ScatterOp};
use cuprous_plan::Operand;
use smallvec::{SmallVec, smallvec};

use crate::arg::Arg;
use crate::engine::{engine, engine_of};
use crate::graph::{Custom, Edge, Edges, Node, NodeOutput, Recompute, Rule, SavedArrays, Tensor, next_seq};
use crate::record::{is_differentiable, needs_graph, record_to_device, with_rule};
use crate::tensor::injective;
use crate::{mixed, mode, promote};

/// Returns a scalar function of the operands, computed in `dtype`, or in the dtype that PyTorch uses.
pub fn map(fun: Fun, args: &[Arg], dtype: Option<DType>) -> Result<Tensor> {
    let tensors: SmallVec<[&Tensor; 3]> =
        args.iter().filter_map(|arg| if let Arg::Tensor(t) = arg { Some(*t) } else { None }).collect();
    let tracked = needs_graph(&tensors);
    if tracked && vjp::reason(fun) == Some(Reason::Missing) {
        return Err(Error::not_implemented(format!(
            "[{name}] has no derivative here; call it on tensor.detach(), or within torch.no_grad()",
            name = fun.op().name
        )));
    }
    let operands: SmallVec<[Operand; 3]> = args
        .iter()
        .map(|arg| match arg {
            Arg::Tensor(t) => Operand::Array(&t.array),
            Arg::Number(n) => Operand::Weak(*n),
        })
        .collect();
    let Some(first) = tensors.first() else {
        return Err(Error::type_(format!("[{}] needs a tensor among its operands", fun.op().name)));
    };
    let compute = dtype.unwrap_or_else(|| promote::compute(fun, args));
    let engine = engine_of(&first.array);
    let computed = if dtype.is_none() && promote::in_float32(fun, args, compute) {
        let wide = engine.map(fun, &operands, Some(DType::F32));
        wide.and_then(|wide| engine.map(Fun::Cast, &[Operand::Array(&wide)], Some(compute)))
    } else {
        engine.map(fun, &operands, Some(compute))
    };
    let out = match computed {
        Ok(out) => out,
        Err(error) => {
            let moved = mixed::to_common_device(args, &tensors, in_torch_words(error, &tensors))?;
            let moved = args.iter().zip(&moved).map(|(arg, moved)| moved.as_ref().map_or(*arg, Arg::Tensor));
            return map(fun, &moved.collect::<SmallVec<[Arg; 3]>>(), dtype);
        }
    };
    if !tracked || !is_differentiable(out.dtype()) || vjp::reason(fun).is_some() {
        return Ok(Tensor::new(out));
    }
    let mut numbers = [None; 3];
    let mut edges = Edges::new();
    let mut needs = 0;
    for (k, arg) in args.iter().enumerate() {
        match arg {
            Arg::Number(n) => {
                numbers[k] = Some(*n);
                edges.push(None);
            }
            Arg::Tensor(t) => {
                let edge = t.edge();
                if edge.is_some() {
                    needs |= vjp::needs(fun, k);
                }
                edges.push(edge);
            }
        }
    }
    let mut saved: SavedArrays = Default::default();
    for (k, arg) in args.iter().enumerate() {
        if let Arg::Tensor(t) = arg
            && needs >> k & 1 == 1
        {
            saved[k] = Some(Saved::new(&t.array));
        }
    }
    if needs & RESULT != 0 {
        saved[3] = Some(Saved::new(&out));
    }
    Ok(with_rule(out, Rule::Map(fun, numbers), edges, saved))
}

/// Returns PyTorch's error for shapes that do not broadcast, otherwise `error` with the class that PyTorch raises.
#[cold]
fn in_torch_words(error: Error, tensors: &[&Tensor]) -> Error {
    for (at, a) in tensors.iter().enumerate() {
        for b in &tensors[at + 1..] {
            let (x, y) = (a.shape(), b.shape());
            let n = x.len().max(y.len());
            for k in 1..=x.len().min(y.len()) {
                let (p, q) = (x[x.len() - k], y[y.len() - k]);
                if p != q && p != 1 && q != 1 {
                    return Error::runtime(format!(
                        "The size of tensor a ({p}) must match the size of tensor b ({q}) at non-singleton dimension {}",
                        n - k
                    ));
                }
            }
        }
    }
    // PyTorch raises RuntimeError where NumPy raises ValueError.
    if error.kind == ErrorKind::Value { Error::runtime(error.message) } else { error }
}

/// Returns a copy in `dtype`, which may be the tensor's own.
pub fn cast(t: &Tensor, dtype: DType) -> Result<Tensor> {
    let engine = engine_of(&t.array);
    // A cast to another dtype keeps an order in memory that an engine chose; a copy does not.
    let out = if t.array.layout.engine_order && dtype != t.dtype() {
        engine.map(Fun::Cast, &[Operand::Array(&t.array)], Some(dtype))?
    } else {
        engine.cast(&t.array, dtype)?
    };
    if !needs_graph(&[t]) || !is_differentiable(dtype) {
        return Ok(Tensor::new(out));
    }
    let fun = if dtype == t.dtype() { Fun::Positive } else { Fun::Cast };
    Ok(with_rule(out, Rule::Map(fun, [None; 3]), smallvec![t.edge()], Default::default()))
}

/// Returns the tensor if it is C-contiguous, otherwise a copy that is.
pub fn contiguous(t: &Tensor) -> Result<Tensor> {
    if t.array.layout.is_c_contiguous() { Ok(t.clone()) } else { cast(t, t.dtype()) }
}

/// Returns the elements in another shape: a view if strides can express it, otherwise a copy.
pub fn reshape(t: &Tensor, shape: &[i64]) -> Result<Tensor> {
    match t.array.layout.reshape(shape) {
        Some(layout) => Ok(t.view(layout)),
        None => {
            let copy = cast(t, t.dtype())?;
            let layout = copy.array.layout.reshape(shape).expect("a copy is contiguous");
            Ok(copy.view(layout))
        }
    }
}

/// Returns a view broadcast to a shape.
pub fn expand(t: &Tensor, shape: &[i64]) -> Result<Tensor> {
    Ok(t.view(t.array.layout.broadcast_to(shape)?))
}

/// Returns a tensor of one value, on the device of `like`.
pub fn full(like: &Tensor, shape: &[i64], value: f64, dtype: DType) -> Result<Tensor> {
    let value = Scalar::new(Number::Float(value), dtype);
    Ok(Tensor::new(engine_of(&like.array).full(shape, value, dtype)?))
}

/// Reduces the axes whose bits are set in `mask`. With `keep` they stay with extent 1.
pub fn reduce(op: ReduceOp, t: &Tensor, mask: u32, keep: bool) -> Result<Tensor> {
    let mut out = engine_of(&t.array).reduce(op, &t.array, mask)?;
    if keep {
        let ones: Dims = t.shape().iter().enumerate().map(|(k, &n)| if mask >> k & 1 == 1 { 1 } else { n }).collect();
        let layout = out.layout.reshape(&ones).expect("axes of extent 1 need no copy");
        out = out.view(if out.layout.engine_order { layout.in_engine_order() } else { layout });
    }
    if !needs_graph(&[t]) || !is_differentiable(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let mut saved: SavedArrays = Default::default();
    if matches!(op, ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::M2) {
        saved[0] = Some(Saved::new(&t.array));
    }
    if matches!(op, ReduceOp::Max | ReduceOp::Min) {
        saved[3] = Some(Saved::new(&out));
    }
    Ok(with_rule(out, Rule::Reduce(op, mask), smallvec![t.edge()], saved))
}

/// Returns the scan along an axis. Cumulative maxima and minima have no gradient rule: `cummax` and `cummin` gather by
/// index instead.
pub fn scan(op: ScanOp, t: &Tensor, axis: usize) -> Result<Tensor> {
    let out = engine_of(&t.array).scan(op, &t.array, axis)?;
    if !needs_graph(&[t]) || !is_differentiable(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let mut saved: SavedArrays = Default::default();
    match op {
        ScanOp::Sum => {}
        ScanOp::Prod => saved[0] = Some(Saved::new(&t.array)),
        ScanOp::Max | ScanOp::Min => {
            return Err(Error::not_implemented(format!("[cum{op:?}] has no derivative; use torch.cummax or cummin")));
        }
    }
    Ok(with_rule(out, Rule::Scan(op, axis), smallvec![t.edge()], saved))
}

/// Returns the matrix product (…, m, k) × (…, k, n) of operands with one dtype and batch shape.
pub fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let engine = engine_of(&a.array);
    if !needs_graph(&[a, b]) || !is_differentiable(a.dtype()) || a.shape().len() < 3 || b.shape().len() < 3 {
        let out = engine.dot(&a.array, &b.array)?;
        if !needs_graph(&[a, b]) || !is_differentiable(out.dtype()) {
            return Ok(Tensor::new(out));
        }
        return Ok(record_dot(out, a, b, &a.array, &b.array));
    }
    // If an operand must be copied for the product, the copy is saved, so that the backward pass makes no other.
    let (x, y) = (engine.matmul_operand(&a.array)?, engine.matmul_operand(&b.array)?);
    let out = engine.dot(&x, &y)?;
    Ok(record_dot(out, a, b, &x, &y))
}

/// Records a matrix product. `x` and `y` have the contents of `a` and `b`, perhaps in another layout.
fn record_dot(out: Array, a: &Tensor, b: &Tensor, x: &Array, y: &Array) -> Tensor {
    let edges: Edges = smallvec![a.edge(), b.edge()];
    let mut saved: SavedArrays = Default::default();
    saved[0] = edges[1].is_some().then(|| Saved::new(x));
    saved[1] = edges[0].is_some().then(|| Saved::new(y));
    with_rule(out, Rule::Dot, edges, saved)
}

/// Returns the tensor, or a copy of it if its gradient by index will be recorded and elements share memory, as in an
/// expanded view. Such a gradient is written to memory, so each element needs memory of its own.
pub fn indexable(t: &Tensor) -> Result<Tensor> {
    if !needs_graph(&[t]) || t.array.layout.is_injective() { Ok(t.clone()) } else { cast(t, t.dtype()) }
}

/// Refuses to write a tensor to an expanded view, as PyTorch does. If the write will be recorded, also refuses other
/// targets whose elements share memory: it is not known which value stays there, so neither is its gradient.
fn check_overlap(target: &Tensor, value: Option<&Tensor>) -> Result<()> {
    let (own, root) = (&target.array.layout, &target.root.layout);
    let expanded = || own.shape.iter().zip(&own.strides).any(|(&n, &s)| n > 1 && s == 0);
    let injective = own.is_injective();
    let value_tracked = || value.is_some_and(|v| needs_graph(&[v]));
    let refused = (!injective && value.is_some() && expanded())
        || (!injective && value_tracked())
        || (!root.is_injective() && (needs_graph(&[target]) || value_tracked()));
    if !refused {
        return Ok(());
    }
    Err(Error::runtime(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please \
         clone() the tensor before performing the operation.",
    ))
}

/// Returns `out` with `out[i]` the element of `a`'s storage `index[i]` (int64) elements after the first of `a`. If a
/// gradient is recorded, `a` must be [`indexable`].
pub fn gather(a: &Tensor, index: &Tensor) -> Result<Tensor> {
    if a.array.storage.bytes == 0 && index.array.layout.size > 0 {
        return Err(Error::index("cannot pick elements of an empty tensor"));
    }
    let out = engine_of(&a.array).gather(&a.array, &index.array)?;
    if !needs_graph(&[a]) || !is_differentiable(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    if !a.array.layout.is_injective() {
        return Err(Error::runtime("[gather] elements of the operand share memory; pass a clone() of it"));
    }
    let mut saved: SavedArrays = Default::default();
    saved[1] = Some(Saved::new(&index.array));
    Ok(with_rule(out, Rule::Gather, smallvec![a.edge()], saved))
}

/// Writes a value to `target`, with broadcasting and casting.
pub fn update(target: &Tensor, value: Arg) -> Result<()> {
    target.check_write()?;
    check_overlap(target, if let Arg::Tensor(v) = value { Some(v) } else { None })?;
    let operand = match &value {
        Arg::Tensor(v) => Operand::Array(&v.array),
        Arg::Number(n) => Operand::Weak(*n),
    };
    let same = matches!(&value, Arg::Tensor(v)
        if Arc::ptr_eq(&v.array.storage, &target.array.storage) && v.array.layout.id == target.array.layout.id);
    let source = match value {
        Arg::Tensor(v) if v.requires_grad() && is_differentiable(target.dtype()) => Some(v),
        _ => None,
    };
    let root = &target.root;
    let tracked = !same && mode::enabled() && (source.is_some() || root.source().is_some());
    if tracked {
        target.check_inside()?;
    }
    let engine = engine_of(&target.array);
    if let Err(error) = engine.update(&target.array, operand) {
        return match value {
            Arg::Tensor(v) if v.array.storage.device != engine.id => {
                update(target, Arg::Tensor(&mixed::value_for(target, v)?))
            }
            // PyTorch's class for values that do not fit. What has failed or was interrupted stays what it is.
            _ => Err(match error.kind {
                ErrorKind::Value | ErrorKind::Type | ErrorKind::Cast | ErrorKind::Overflow => {
                    Error::runtime(error.message)
                }
                _ => error,
            }),
        };
    }
    target.count_write();
    if !tracked {
        return Ok(());
    }
    let whole = target.array.layout.id == root.layout.id;
    if whole
        && let Some(v) = source
        && v.is_whole()
        && v.array.layout.id == root.layout.id
        && (v.array.layout.is_c_contiguous() || v.array.layout.engine_order)
        && let Some(source) = v.source()
        && !source.node.is_leaf()
    {
        // A value of the same layout replaces the whole value, so the target has that value's source from now on.
        root.set_source(Some(source));
        return Ok(());
    }
    let before = root.source().filter(|_| !whole).map(|source| Edge {
        source,
        via: None,
        read: root.layout.clone(),
        base: root.layout.clone(),
    });
    // Assignment drops leading axes of extent 1 of the value.
    let edge = source.and_then(|v| {
        let extra = v.shape().len().saturating_sub(target.shape().len());
        let layout = &v.array.layout;
        let read = layout.with(&layout.shape[extra..], &layout.strides[extra..], layout.offset);
        v.edge().map(|edge| Edge { read, ..edge })
    });
    let rule = Rule::Update { base: root.layout.clone(), at: target.array.layout.clone() };
    let node = Node::new(rule, smallvec![before, edge], Default::default());
    root.set_source(Some(NodeOutput { node, index: 0 }));
    Ok(())
}

/// Writes `value[i]` to the element `index[i]` (int64) elements after the first of `target`, combined by `op`.
pub fn scatter(target: &Tensor, index: &Tensor, value: &Tensor, op: ScatterOp) -> Result<()> {
    target.check_write()?;
    check_overlap(target, Some(value))?;
    value.array.layout.broadcast_to(index.shape())?;
    let root = target.root.clone();
    let tracked = needs_graph(&[target, value]) && is_differentiable(target.dtype());
    if tracked && !matches!(op, ScatterOp::Set | ScatterOp::Add) {
        return Err(Error::not_implemented(format!("[scatter] with {op:?} has no derivative here")));
    }
    if tracked {
        target.check_inside()?;
    }
    engine_of(&target.array).scatter(&target.array, &index.array, &value.array, op)?;
    target.count_write();
    if !tracked {
        return Ok(());
    }
    let (read, base) = (root.layout.clone(), root.layout.clone());
    let before = root.source().map(|source| Edge { source, via: None, read, base });
    let mut saved: SavedArrays = Default::default();
    saved[1] = Some(Saved::new(&index.array));
    let rule = Rule::Scatter { op, base: root.layout.clone(), offset: target.array.layout.offset };
    let node = Node::new(rule, smallvec![before, None, value.edge()], saved);
    root.set_source(Some(NodeOutput { node, index: 0 }));
    Ok(())
}

/// Concatenates tensors of one dtype along an axis.
pub fn concatenate(tensors: &[&Tensor], axis: usize) -> Result<Tensor> {
    let [first, rest @ ..] = tensors else {
        return Err(Error::runtime("torch.cat(): expected a non-empty list of Tensors"));
    };
    if let Some(k) = tensors.iter().position(|t| t.shape().is_empty()) {
        return Err(Error::runtime(format!("zero-dimensional tensor (at position {k}) cannot be concatenated")));
    }
    let mut shape: Dims = first.shape().into();
    for t in rest {
        let fits = t.shape().len() == shape.len() && (0..shape.len()).all(|k| k == axis || t.shape()[k] == shape[k]);
        if !fits {
            return Err(Error::runtime(format!(
                "Sizes of tensors must match except in dimension {axis}: {} does not fit to {}",
                show(t.shape()),
                show(first.shape())
            )));
        }
        shape[axis] += t.shape()[axis];
    }
    let engine = engine_of(&first.array);
    let out = engine.empty(first.dtype(), &shape)?;
    let mut start = 0;
    for t in tensors {
        let part = &out.layout;
        let layout = part.with(t.shape(), &part.strides, start * part.strides[axis]);
        engine.update(&out.view(layout), Operand::Array(&t.array))?;
        start += t.shape()[axis];
    }
    if !needs_graph(tensors) || !is_differentiable(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let extents = tensors.iter().map(|t| t.shape()[axis]).collect();
    let edges = tensors.iter().map(|t| t.edge()).collect();
    Ok(with_rule(out, Rule::Concatenate(axis, extents), edges, Default::default()))
}

/// Returns a copy on another device. Without `wait` the copy may still be in progress: see
/// [`cuprous_plan::Engine::send`].
pub fn to_device(t: &Tensor, id: u8, wait: bool) -> Result<Tensor> {
    Ok(record_to_device(t, engine_of(&t.array).send(&t.array, engine(id), wait)?))
}

/// Returns arrays that were computed elsewhere as the outputs of a node with a custom gradient rule. Outputs of integer
/// or boolean dtype stay outside the graph.
pub fn custom(name: &str, outputs: Vec<Array>, inputs: &[&Tensor], rule: Box<dyn Custom>) -> Result<Vec<Tensor>> {
    if !needs_graph(inputs) {
        return Ok(outputs.into_iter().map(Tensor::new).collect());
    }
    let edges = inputs.iter().map(|t| t.edge()).collect();
    let node = Node::new(Rule::Custom(name.into(), rule), edges, Default::default());
    let output = |(index, array): (usize, Array)| -> Result<Tensor> {
        Ok(if is_differentiable(array.dtype()) {
            Tensor::with_source(injective(&array)?, NodeOutput { node: node.clone(), index: index as u32 })
        } else {
            Tensor::new(array)
        })
    };
    outputs.into_iter().enumerate().map(output).collect()
}

/// Returns a mark for [`checkpoint`]: nodes created later have larger numbers.
pub fn mark() -> u64 {
    next_seq()
}

/// Returns the outputs of a checkpoint, which saves nothing for the backward pass: `function` recomputes them when
/// their gradients arrive. `start` is the sequence number after which `outputs` were recorded.
pub fn checkpoint(outputs: &[Tensor], start: u64, function: Box<dyn Recompute>) -> Result<Vec<Tensor>> {
    // The edges lead to the older nodes: those with the values from which the outputs were computed.
    let mut edges = Edges::new();
    let mut seen = HashSet::new();
    let mut pending: Vec<Arc<Node>> = outputs.iter().filter_map(|t| Some(t.source()?.node)).collect();
    pending.retain(|node| node.seq > start);
    if pending.is_empty() {
        return Ok(outputs.to_vec());
    }
    while let Some(node) = pending.pop() {
        if !seen.insert((node.seq, 0)) {
            continue;
        }
        for edge in node.edges.iter().flatten() {
            let source = &edge.source;
            if source.node.seq > start && !source.node.is_leaf() {
                pending.push(source.node.clone());
            } else if seen.insert((source.node.seq, source.index + 1)) {
                let (read, base) = (edge.base.clone(), edge.base.clone());
                edges.push(Some(Edge { source: source.clone(), via: None, read, base }));
            }
        }
    }
    let node = Node::new(Rule::Recompute(function), edges, Default::default());
    let output = |(index, t): (usize, &Tensor)| -> Result<Tensor> {
        Ok(match t.source() {
            Some(source) if source.node.seq > start => {
                Tensor::with_source(injective(&t.array)?, NodeOutput { node: node.clone(), index: index as u32 })
            }
            _ => t.clone(),
        })
    };
    outputs.iter().enumerate().map(output).collect()
}

/// Returns true if results depend on leaves that are not among the inputs.
pub fn has_other_leaves(results: &[&Tensor], inputs: &[&Tensor]) -> bool {
    let own: HashSet<u64> = inputs.iter().filter_map(|t| Some(t.source()?.node.seq)).collect();
    let mut seen = HashSet::new();
    let mut pending: Vec<Arc<Node>> = results.iter().filter_map(|t| Some(t.source()?.node)).collect();
    while let Some(node) = pending.pop() {
        if own.contains(&node.seq) || !seen.insert(node.seq) {
            continue;
        }
        if node.is_leaf() {
            return true;
        }
        pending.extend(node.edges.iter().flatten().map(|edge| edge.source.node.clone()));
    }
    false
}

/// Returns the positions (int64) that a layout of int64 assigns to its indices.
pub(crate) fn iota(like: &Tensor, layout: &Arc<Layout>) -> Result<Tensor> {
    Ok(Tensor::new(engine_of(&like.array).iota(layout)?))
}
