//! Operations on tensors: each records with the engine and notes the way back where a gradient may be asked for.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use cuprous_core::error::ErrorKind;
use cuprous_core::layout::show;
use cuprous_core::scalar::Number;
use cuprous_core::vjp::{self, RESULT, Reason};
use cuprous_core::{Array, DType, Dims, Error, Fun, Layout, ReduceOp, Result, Saved, Scalar, ScanOp, ScatterOp};
use cuprous_plan::{Engine, Operand};
use smallvec::{SmallVec, smallvec};

use crate::foreign::{Again, Custom};
use crate::node::{Edge, Head, Kept, Node, Rule, next};
use crate::spread::is_injective;
use crate::tensor::separate;
use crate::{Tensor, mixed, mode, promote};

/// An operand.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number.
    Number(Number),
}

/// Finds an engine by its number; set once by whoever starts engines.
pub static ENGINES: OnceLock<fn(u8) -> &'static Arc<Engine>> = OnceLock::new();

/// The engine of that number.
pub fn engine(id: u8) -> &'static Arc<Engine> {
    ENGINES.get().expect("the engines are known")(id)
}

/// The engine of an array.
#[inline]
pub fn engine_of(a: &Array) -> &'static Arc<Engine> {
    engine(a.storage.device)
}

fn smooth(d: DType) -> bool {
    d.is_float() || d.is_complex()
}

/// Is an operation on these noted?
#[inline]
pub(crate) fn noted(tensors: &[&Tensor]) -> bool {
    mode::enabled() && tensors.iter().any(|t| t.requires_grad())
}

/// A result with its way back.
fn result(out: Array, rule: Rule, edges: SmallVec<[Option<Edge>; 2]>, kept: Kept) -> Tensor {
    Tensor::with_head(out, Head { node: Node::new(rule, edges, kept), out: 0 })
}

/// A result of some operands, with the way back that `rule` gives where one of them wants a gradient.
pub(crate) fn noted_result(
    out: Array,
    operands: &[&Tensor],
    rule: impl FnOnce(&[Option<Edge>]) -> (Rule, Kept),
) -> Result<Tensor> {
    if !noted(operands) || !smooth(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let edges: SmallVec<[Option<Edge>; 2]> = operands.iter().map(|t| t.edge()).collect();
    let (rule, kept) = rule(&edges);
    Ok(result(out, rule, edges, kept))
}

/// A scalar function, in the dtype that PyTorch computes it in, or in `dtype`.
pub fn map(fun: Fun, args: &[Arg], dtype: Option<DType>) -> Result<Tensor> {
    let tensors: SmallVec<[&Tensor; 3]> =
        args.iter().filter_map(|arg| if let Arg::Tensor(t) = arg { Some(*t) } else { None }).collect();
    let noted = noted(&tensors);
    if noted && vjp::reason(fun) == Some(Reason::Missing) {
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
        Err(error) => return mixed::map(fun, args, dtype, &tensors, explained(error, &tensors)),
    };
    if !noted || !smooth(out.dtype()) || vjp::reason(fun).is_some() {
        return Ok(Tensor::new(out));
    }
    let mut numbers = [None; 3];
    let mut edges: SmallVec<[Option<Edge>; 2]> = SmallVec::new();
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
    let mut kept: Kept = Default::default();
    for (k, arg) in args.iter().enumerate() {
        if let Arg::Tensor(t) = arg
            && needs >> k & 1 == 1
        {
            kept[k] = Some(Saved::new(&t.array));
        }
    }
    if needs & RESULT != 0 {
        kept[3] = Some(Saved::new(&out));
    }
    Ok(result(out, Rule::Map(fun, numbers), edges, kept))
}

/// PyTorch's words where shapes do not fit.
#[cold]
fn explained(error: Error, tensors: &[&Tensor]) -> Error {
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
    // PyTorch has no other class for what shapes and values do not allow.
    if error.kind == ErrorKind::Value { Error::runtime(error.message) } else { error }
}

/// A copy in another dtype, or in the same one.
pub fn cast(t: &Tensor, dtype: DType) -> Result<Tensor> {
    let out = engine_of(&t.array).cast(&t.array, dtype)?;
    if !noted(&[t]) || !smooth(dtype) {
        return Ok(Tensor::new(out));
    }
    let fun = if dtype == t.dtype() { Fun::Positive } else { Fun::Cast };
    Ok(result(out, Rule::Map(fun, [None; 3]), smallvec![t.edge()], Default::default()))
}

/// The tensor, or a copy of it in row-major order.
pub fn contiguous(t: &Tensor) -> Result<Tensor> {
    if t.array.layout.is_c_contiguous() { Ok(t.clone()) } else { cast(t, t.dtype()) }
}

/// The elements in another shape: a view, or a copy where strides cannot say it.
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

/// A view stretched to a shape.
pub fn expand(t: &Tensor, shape: &[i64]) -> Result<Tensor> {
    Ok(t.view(t.array.layout.broadcast_to(shape)?))
}

/// A tensor of one value.
pub fn full(like: &Tensor, shape: &[i64], value: f64, dtype: DType) -> Result<Tensor> {
    let value = Scalar::new(Number::Float(value), dtype);
    Ok(Tensor::new(engine_of(&like.array).full(shape, value, dtype)?))
}

/// Folds the axes in `mask`.
pub fn reduce(op: ReduceOp, t: &Tensor, mask: u32, keep: bool) -> Result<Tensor> {
    let mut out = engine_of(&t.array).reduce(op, &t.array, mask)?;
    if keep {
        let ones: Dims = t.shape().iter().enumerate().map(|(k, &n)| if mask >> k & 1 == 1 { 1 } else { n }).collect();
        let layout = out.layout.reshape(&ones).expect("axes of extent 1 need no copy");
        out = out.view(layout);
    }
    if !noted(&[t]) || !smooth(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let mut kept: Kept = Default::default();
    if matches!(op, ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::M2) {
        kept[0] = Some(Saved::new(&t.array));
    }
    if matches!(op, ReduceOp::Max | ReduceOp::Min) {
        kept[3] = Some(Saved::new(&out));
    }
    Ok(result(out, Rule::Fold(op, mask), smallvec![t.edge()], kept))
}

/// A running fold along an axis. Running extremes have no rule of their own: they are picked by index.
pub fn scan(op: ScanOp, t: &Tensor, axis: usize) -> Result<Tensor> {
    let out = engine_of(&t.array).scan(op, &t.array, axis)?;
    if !noted(&[t]) || !smooth(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let mut kept: Kept = Default::default();
    match op {
        ScanOp::Sum => {}
        ScanOp::Prod => kept[0] = Some(Saved::new(&t.array)),
        ScanOp::Max | ScanOp::Min => {
            return Err(Error::not_implemented(format!("[cum{op:?}] has no derivative; use torch.cummax or cummin")));
        }
    }
    Ok(result(out, Rule::Scan(op, axis), smallvec![t.edge()], kept))
}

/// The product (…, m, k) × (…, k, n) of one dtype and batch.
pub fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let engine = engine_of(&a.array);
    if !noted(&[a, b]) || !smooth(a.dtype()) || a.shape().len() < 3 || b.shape().len() < 3 {
        let out = engine.dot(&a.array, &b.array)?;
        if !noted(&[a, b]) || !smooth(out.dtype()) {
            return Ok(Tensor::new(out));
        }
        return Ok(noted_dot(out, a, b, &a.array, &b.array));
    }
    // What has to be copied for the product is kept as the copy: the way back needs no other.
    let (x, y) = (engine.matmul_operand(&a.array)?, engine.matmul_operand(&b.array)?);
    let out = engine.dot(&x, &y)?;
    Ok(noted_dot(out, a, b, &x, &y))
}

/// A product with its way back; `x` and `y` hold what `a` and `b` do.
fn noted_dot(out: Array, a: &Tensor, b: &Tensor, x: &Array, y: &Array) -> Tensor {
    let edges: SmallVec<[Option<Edge>; 2]> = smallvec![a.edge(), b.edge()];
    let mut kept: Kept = Default::default();
    kept[0] = edges[1].is_some().then(|| Saved::new(x));
    kept[1] = edges[0].is_some().then(|| Saved::new(y));
    result(out, Rule::Dot, edges, kept)
}

/// Returns the tensor, or a copy of it if its gradient by index will be recorded and elements share memory, as in an
/// expanded view. Such a gradient is written to memory, so each element needs memory of its own.
pub fn indexable(t: &Tensor) -> Result<Tensor> {
    if !noted(&[t]) || is_injective(&t.array.layout) { Ok(t.clone()) } else { cast(t, t.dtype()) }
}

/// Refuses to write a tensor to an expanded view, as PyTorch does. If the write will be recorded, also refuses other targets
/// whose elements share memory: it is not known which value stays there, so neither is its gradient.
fn check_places(target: &Tensor, value: Option<&Tensor>) -> Result<()> {
    let (own, root) = (&target.array.layout, &target.root().layout);
    let expanded = || own.shape.iter().zip(&own.strides).any(|(&n, &s)| n > 1 && s == 0);
    let apart = is_injective(own);
    let refused = (!apart && value.is_some() && expanded())
        || (!apart && value.is_some_and(|v| noted(&[v])))
        || (!is_injective(root) && (noted(&[target]) || value.is_some_and(|v| noted(&[v]))));
    if !refused {
        return Ok(());
    }
    Err(Error::runtime(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please \
         clone() the tensor before performing the operation.",
    ))
}

/// `out[i]` is the element `index[i]` places (int64) after the first of `a`, in its storage. Where a gradient is noted, `a`
/// is [`indexable`].
pub fn gather(a: &Tensor, index: &Tensor) -> Result<Tensor> {
    if a.array.storage.bytes == 0 && index.array.layout.size > 0 {
        return Err(Error::index("cannot pick elements of an empty tensor"));
    }
    let out = engine_of(&a.array).gather(&a.array, &index.array)?;
    if !noted(&[a]) || !smooth(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    if !is_injective(&a.array.layout) {
        return Err(Error::runtime("[gather] elements of the operand share memory; pass a clone() of it"));
    }
    let mut kept: Kept = Default::default();
    kept[1] = Some(Saved::new(&index.array));
    Ok(result(out, Rule::Gather, smallvec![a.edge()], kept))
}

/// Refuses what would change a leaf whose gradient is asked for.
pub fn check_write(target: &Tensor) -> Result<()> {
    if mode::enabled()
        && let Some(head) = target.head()
        && head.node.is_leaf()
    {
        return Err(Error::runtime(if target.is_whole() {
            "a leaf Variable that requires grad is being used in an in-place operation."
        } else {
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        }));
    }
    Ok(())
}

/// Writes a value, with broadcasting and casting.
pub fn update(target: &Tensor, value: Arg) -> Result<()> {
    check_write(target)?;
    check_places(target, if let Arg::Tensor(v) = value { Some(v) } else { None })?;
    let operand = match &value {
        Arg::Tensor(v) => Operand::Array(&v.array),
        Arg::Number(n) => Operand::Weak(*n),
    };
    let same = matches!(&value, Arg::Tensor(v)
        if Arc::ptr_eq(&v.array.storage, &target.array.storage) && v.array.layout.id == target.array.layout.id);
    let engine = engine_of(&target.array);
    if let Err(error) = engine.update(&target.array, operand) {
        return match value {
            Arg::Tensor(v) if v.array.storage.device != engine.id => {
                update(target, Arg::Tensor(&mixed::beside(v, target)?))
            }
            _ => Err(Error::runtime(error.message)),
        };
    }
    if same || !mode::enabled() {
        return Ok(());
    }
    let source = match value {
        Arg::Tensor(v) if v.requires_grad() && smooth(target.dtype()) => Some(v),
        _ => None,
    };
    let root = target.root();
    if source.is_none() && root.head().is_none() {
        return Ok(());
    }
    let whole = target.array.layout.id == root.layout.id;
    if whole
        && let Some(v) = source
        && v.is_whole()
        && v.array.layout.id == root.layout.id
        && v.array.layout.is_c_contiguous()
        && let Some(head) = v.head()
        && !head.node.is_leaf()
    {
        // All is overwritten by a value that lies the same way: from now on it is that value.
        root.set_head(Some(head));
        return Ok(());
    }
    let before = root.head().filter(|_| !whole).map(|head| Edge {
        head,
        via: None,
        read: root.layout.clone(),
        base: root.layout.clone(),
    });
    // Leading axes of extent 1 go when a value is assigned.
    let edge = source.and_then(|v| {
        let extra = v.shape().len().saturating_sub(target.shape().len());
        let layout = &v.array.layout;
        let read = layout.with(&layout.shape[extra..], &layout.strides[extra..], layout.offset);
        v.edge().map(|edge| Edge { read, ..edge })
    });
    let rule = Rule::Update { base: root.layout.clone(), at: target.array.layout.clone() };
    let node = Node::new(rule, smallvec![before, edge], Default::default());
    root.set_head(Some(Head { node, out: 0 }));
    Ok(())
}

/// Writes `value[i]` to the place `index[i]` elements (int64) after the first of `target`, combined by `op`.
pub fn scatter(target: &Tensor, index: &Tensor, value: &Tensor, op: ScatterOp) -> Result<()> {
    check_write(target)?;
    check_places(target, Some(value))?;
    value.array.layout.broadcast_to(index.shape())?;
    let root = target.root().clone();
    let noted = noted(&[target, value]) && smooth(target.dtype());
    if noted && !matches!(op, ScatterOp::Set | ScatterOp::Add) {
        return Err(Error::not_implemented(format!("[scatter] with {op:?} has no derivative here")));
    }
    engine_of(&target.array).scatter(&target.array, &index.array, &value.array, op)?;
    if !noted {
        return Ok(());
    }
    let before = root.head().map(|head| Edge { head, via: None, read: root.layout.clone(), base: root.layout.clone() });
    let mut kept: Kept = Default::default();
    kept[1] = Some(Saved::new(&index.array));
    let rule = Rule::Scatter { op, base: root.layout.clone(), offset: target.array.layout.offset };
    let node = Node::new(rule, smallvec![before, None, value.edge()], kept);
    root.set_head(Some(Head { node, out: 0 }));
    Ok(())
}

/// Tensors of one dtype one behind the other along an axis.
pub fn join(tensors: &[&Tensor], axis: usize) -> Result<Tensor> {
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
    if !noted(tensors) || !smooth(out.dtype()) {
        return Ok(Tensor::new(out));
    }
    let extents = tensors.iter().map(|t| t.shape()[axis]).collect();
    Ok(result(out, Rule::Join(axis, extents), tensors.iter().map(|t| t.edge()).collect(), Default::default()))
}

/// A copy on another device; without `wait` one that may still be under way: see [`cuprous_plan::Engine::send`].
pub fn to_device(t: &Tensor, id: u8, wait: bool) -> Result<Tensor> {
    Ok(moved(t, engine_of(&t.array).send(&t.array, engine(id), wait)?))
}

/// What is on another device as it is in `t`, with the way back.
pub(crate) fn moved(t: &Tensor, out: Array) -> Tensor {
    if !noted(&[t]) {
        return Tensor::new(out);
    }
    result(out, Rule::Move(t.array.storage.device), smallvec![t.edge()], Default::default())
}

/// Gives results that were computed otherwise a way back of their own. Results that cannot have a gradient are passed on.
pub fn custom(name: &str, outputs: Vec<Array>, inputs: &[&Tensor], rule: Box<dyn Custom>) -> Result<Vec<Tensor>> {
    if !noted(inputs) {
        return Ok(outputs.into_iter().map(Tensor::new).collect());
    }
    let edges = inputs.iter().map(|t| t.edge()).collect();
    let node = Node::new(Rule::Custom(name.into(), rule), edges, Default::default());
    let give = |(out, array): (usize, Array)| -> Result<Tensor> {
        Ok(if smooth(array.dtype()) {
            Tensor::with_head(separate(&array)?, Head { node: node.clone(), out: out as u32 })
        } else {
            Tensor::new(array)
        })
    };
    outputs.into_iter().enumerate().map(give).collect()
}

/// A mark in time: nodes that are made later have larger numbers.
pub fn mark() -> u64 {
    next()
}

/// Results that will be computed again when their gradients arrive, so that nothing is kept for the way back meanwhile:
/// `outputs` were computed, and noted, after the mark `start`.
pub fn checkpoint(outputs: &[Tensor], start: u64, again: Box<dyn Again>) -> Result<Vec<Tensor>> {
    // What the graph of the outputs was computed from.
    let mut edges: SmallVec<[Option<Edge>; 2]> = SmallVec::new();
    let mut seen = HashSet::new();
    let mut waiting: Vec<Arc<Node>> = outputs.iter().filter_map(|t| Some(t.head()?.node)).collect();
    waiting.retain(|node| node.seq > start);
    if waiting.is_empty() {
        return Ok(outputs.to_vec());
    }
    while let Some(node) = waiting.pop() {
        if !seen.insert((node.seq, 0)) {
            continue;
        }
        for edge in node.edges.iter().flatten() {
            if edge.head.node.seq > start && !edge.head.node.is_leaf() {
                waiting.push(edge.head.node.clone());
            } else if seen.insert((edge.head.node.seq, edge.head.out + 1)) {
                let (read, base) = (edge.base.clone(), edge.base.clone());
                edges.push(Some(Edge { head: edge.head.clone(), via: None, read, base }));
            }
        }
    }
    let node = Node::new(Rule::Again(again), edges, Default::default());
    let give = |(out, t): (usize, &Tensor)| -> Result<Tensor> {
        Ok(match t.head() {
            Some(head) if head.node.seq > start => {
                Tensor::with_head(separate(&t.array)?, Head { node: node.clone(), out: out as u32 })
            }
            _ => t.clone(),
        })
    };
    outputs.iter().enumerate().map(give).collect()
}

/// Do results depend on leaves that are not among the inputs?
pub fn has_other_leaves(results: &[&Tensor], inputs: &[&Tensor]) -> bool {
    let own: HashSet<u64> = inputs.iter().filter_map(|t| Some(t.head()?.node.seq)).collect();
    let mut seen = HashSet::new();
    let mut waiting: Vec<Arc<Node>> = results.iter().filter_map(|t| Some(t.head()?.node)).collect();
    while let Some(node) = waiting.pop() {
        if own.contains(&node.seq) || !seen.insert(node.seq) {
            continue;
        }
        if node.is_leaf() {
            return true;
        }
        waiting.extend(node.edges.iter().flatten().map(|edge| edge.head.node.clone()));
    }
    false
}

/// Index values through a layout of int64.
pub(crate) fn iota(like: &Tensor, layout: &Arc<Layout>) -> Result<Tensor> {
    Ok(Tensor::new(engine_of(&like.array).iota(layout)?))
}
