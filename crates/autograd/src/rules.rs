//! The way back through what is not a scalar function, and the bridge to the rows of `cuprous_core::vjp`.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::vjp::{self, RESULT, Term, Value};
use cuprous_core::{DType, Dims, Error, Fun, Layout, ReduceOp, Result, ScanOp, ScatterOp};
use smallvec::SmallVec;

use crate::add_at::add_at;
use crate::node::{Edge, Node, Rule};
use crate::spread::lay;
use crate::{Arg, Tensor, activation, attention, conv, layer_norm, ops, pool, recurrent, softmax};

/// Gradients by number of edge, each in the shape in which the operand was read.
pub(crate) type Grads = SmallVec<[(usize, Tensor); 3]>;

/// What the operands with an edge get of the gradients of the outputs.
pub(crate) fn backward(node: &Arc<Node>, gs: &[Option<Tensor>], wanted: &dyn Fn(&Edge) -> bool) -> Result<Grads> {
    node.check()?;
    if let Rule::Custom(_, rule) = &node.rule {
        return custom(node, rule.backward(node, gs)?);
    }
    if let Rule::Recur(recurrence) = &node.rule {
        return recurrent::backward(node, recurrence, gs, wanted);
    }
    let g = gs.first().and_then(Option::as_ref).expect("a visited node has a gradient");
    if let Rule::Attend(of) = &node.rule {
        return attention::backward(node, of, g, wanted);
    }
    let mut out = Grads::new();
    for (k, edge) in node.edges.iter().enumerate() {
        let Some(edge) = edge else { continue };
        if !wanted(edge) {
            continue;
        }
        let dg = match &node.rule {
            Rule::Leaf(_) | Rule::Custom(..) | Rule::Again(_) | Rule::Recur(_) | Rule::Attend(_) => {
                unreachable!("handled before")
            }
            Rule::Map(fun, numbers) => scalar(node, *fun, numbers, k, g)?,
            Rule::Fold(op, mask) => fold(node, *op, *mask, edge, g)?,
            Rule::Scan(op, axis) => scan(node, *op, *axis, g)?,
            Rule::Dot => dot(node, k, edge, g)?,
            Rule::Conv(part, geometry) => conv::backward(node, *part, k, geometry, g)?,
            Rule::Gelu => activation::gelu_backward(node, g)?,
            &Rule::LayerNorm(first, eps, weighed) => layer_norm::backward(node, (first, eps, weighed), k, edge, g)?,
            Rule::MaxPool(kernel) => pool::backward(node, kernel, edge, g)?,
            Rule::Softmax(axis, log) => softmax::backward(node, *axis, *log, g)?,
            Rule::Likelihood(axis) => softmax::likelihood_backward(node, *axis, edge, g)?,
            Rule::Gather => gather(node, edge, g)?,
            Rule::Update { base, at } => {
                let (seen, shift) = if k == 0 { copied(g, base)? } else { lay(g, base)? };
                let part = seen.view(at.with(&at.shape, &at.strides, at.offset + shift));
                if k == 0 {
                    ops::update(&part, Arg::Number(Number::Int(0)))?;
                    seen
                } else {
                    part
                }
            }
            Rule::Scatter { op, base, offset } => scattered(node, *op, base, *offset, k, g)?,
            Rule::Join(axis, extents) => {
                let start: i64 = extents[..k].iter().sum();
                let own = &g.array.layout;
                g.view(own.with(&edge.read.shape, &own.strides, own.offset + start * own.strides[*axis]))
            }
            Rule::Move(from) => ops::to_device(g, *from, true)?,
        };
        out.push((k, dg));
    }
    Ok(out)
}

fn custom(node: &Node, grads: Vec<Option<Tensor>>) -> Result<Grads> {
    if grads.len() != node.edges.len() {
        return Err(Error::runtime(format!(
            "function {} returned an incorrect number of gradients (expected {}, got {})",
            node.name(),
            node.edges.len(),
            grads.len()
        )));
    }
    let pairs = grads.into_iter().enumerate().filter_map(|(k, g)| Some((k, g?)));
    Ok(pairs.filter(|(k, _)| node.edges[*k].is_some()).collect())
}

// --- scalar functions

/// A tensor or the error that came in the way, so that rows need not ask.
#[derive(Clone)]
struct Lazy(Result<Tensor>);

impl Value for Lazy {
    fn map(fun: Fun, terms: &[Term<Lazy>]) -> Lazy {
        let mut args: SmallVec<[Arg; 3]> = SmallVec::new();
        for term in terms {
            args.push(match term {
                Term::Number(n) => Arg::Number(*n),
                Term::Value(Lazy(Ok(t))) => Arg::Tensor(t),
                Term::Value(Lazy(Err(e))) => return Lazy(Err(e.clone())),
            });
        }
        Lazy(ops::map(fun, &args, None))
    }

    fn is_complex(&self) -> bool {
        self.0.as_ref().is_ok_and(|t| t.dtype().is_complex())
    }

    fn unsupported(what: &'static str) -> Lazy {
        Lazy(Err(Error::not_implemented(format!("[backward] there is no derivative of {what}"))))
    }
}

fn scalar(node: &Arc<Node>, fun: Fun, numbers: &[Option<Number>; 3], k: usize, g: &Tensor) -> Result<Tensor> {
    let needs = vjp::needs(fun, k);
    let term = |at: usize| -> Result<Term<Lazy>> {
        Ok(match numbers[at] {
            Some(n) => Term::Number(n),
            None if needs >> at & 1 == 1 => Term::Value(Lazy(Ok(node.operand(at)?))),
            None => Term::from(0.0),
        })
    };
    let x = [term(0)?, term(1)?, term(2)?];
    let y = if needs & RESULT != 0 { Term::Value(Lazy(Ok(node.result()?))) } else { Term::from(0.0) };
    let g = Term::Value(Lazy(Ok(g.clone())));
    match vjp::vjp(fun, k, &g, &x, &y) {
        Some(Term::Value(Lazy(dg))) => dg,
        Some(Term::Number(_)) => unreachable!("a rule answers with the gradient it got"),
        None => {
            Err(Error::not_implemented(format!("[{}] has no derivative with respect to operand {k}", fun.op().name)))
        }
    }
}

fn map(fun: Fun, args: &[&Tensor]) -> Result<Tensor> {
    let args: SmallVec<[Arg; 3]> = args.iter().map(|t| Arg::Tensor(t)).collect();
    ops::map(fun, &args, None)
}

fn with(fun: Fun, t: &Tensor, n: f64) -> Result<Tensor> {
    ops::map(fun, &[Arg::Tensor(t), Arg::Number(Number::Float(n))], None)
}

/// `a` where the mask holds, otherwise `b`.
fn choose(mask: &Tensor, a: Arg, b: Arg) -> Result<Tensor> {
    ops::map(Fun::Where, &[Arg::Tensor(mask), a, b], None)
}

const ZERO: Arg<'static> = Arg::Number(Number::Int(0));

// --- folds

/// A folded value stretched over the axes that were folded.
pub(crate) fn stretched(t: &Tensor, mask: u32, shape: &[i64]) -> Tensor {
    let own = &t.array.layout;
    let kept = own.ndim() == shape.len();
    let mut at = 0;
    let mut strides = Dims::new();
    for k in 0..shape.len() {
        let folded = mask >> k & 1 == 1;
        strides.push(if folded { 0 } else { own.strides[at] });
        at += usize::from(kept || !folded);
    }
    t.view(own.with(shape, &strides, own.offset))
}

fn fold(node: &Arc<Node>, op: ReduceOp, mask: u32, edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let shape = &edge.read.shape;
    let g = stretched(g, mask, shape);
    match op {
        ReduceOp::Sum => Ok(g),
        ReduceOp::Max | ReduceOp::Min => {
            let (x, y) = (node.operand(0)?, node.result()?);
            let winners = map(Fun::Equal, &[&x, &stretched(&y, mask, shape)])?;
            let count = ops::reduce(ReduceOp::Sum, &ops::cast(&winners, g.dtype())?, mask, true)?;
            let share = map(Fun::Divide, &[&g, &stretched(&count, mask, shape)])?;
            choose(&winners, Arg::Tensor(&share), ZERO)
        }
        ReduceOp::M2 => {
            // d/dx Σ |x - mean|² = 2 (x - mean): the mean's own part sums to zero.
            let x = node.operand(0)?;
            let n: i64 = (0..shape.len()).filter(|&k| mask >> k & 1 == 1).map(|k| shape[k]).product();
            let mean = with(Fun::Divide, &ops::reduce(ReduceOp::Sum, &x, mask, true)?, n as f64)?;
            let deviation = map(Fun::Subtract, &[&x, &stretched(&mean, mask, shape)])?;
            with(Fun::Multiply, &map(Fun::Multiply, &[&g, &deviation])?, 2.0)
        }
        ReduceOp::Prod => {
            // The product of the others: of those that are not zero by division, of the only zero directly.
            let x = node.operand(0)?;
            let zero = with(Fun::Equal, &x, 0.0)?;
            let filled = choose(&zero, Arg::Number(Number::Int(1)), Arg::Tensor(&x))?;
            let product = stretched(&ops::reduce(ReduceOp::Prod, &filled, mask, true)?, mask, shape);
            let zeros = ops::reduce(ReduceOp::Sum, &ops::cast(&zero, DType::I64)?, mask, true)?;
            let zeros = stretched(&zeros, mask, shape);
            // Zeros among the others: all but the element itself.
            let among = map(Fun::Subtract, &[&zeros, &ops::cast(&zero, DType::I64)?])?;
            let slope = map(Fun::Divide, &[&product, &filled])?;
            let slope = choose(&with(Fun::Equal, &among, 0.0)?, Arg::Tensor(&slope), ZERO)?;
            map(Fun::Multiply, &[&g, &conj(&slope)?])
        }
        ReduceOp::ArgMax | ReduceOp::ArgMin => unreachable!("indices have no gradient"),
    }
}

pub(crate) fn conj(t: &Tensor) -> Result<Tensor> {
    if t.dtype().is_complex() { map(Fun::Conjugate, &[t]) } else { Ok(t.clone()) }
}

// --- running folds

fn flipped(t: &Tensor, axis: usize) -> Tensor {
    let own = &t.array.layout;
    let mut strides = own.strides.clone();
    let offset = own.offset + (own.shape[axis] - 1).max(0) * strides[axis];
    strides[axis] = -strides[axis];
    t.view(own.with(&own.shape, &strides, offset))
}

/// For each place the sum of what comes from there on.
fn sum_from(t: &Tensor, axis: usize) -> Result<Tensor> {
    Ok(flipped(&ops::scan(ScanOp::Sum, &flipped(t, axis), axis)?, axis))
}

fn scan(node: &Arc<Node>, op: ScanOp, axis: usize, g: &Tensor) -> Result<Tensor> {
    match op {
        ScanOp::Sum => sum_from(g, axis),
        ScanOp::Prod => {
            // Before the first zero the products can be divided by the element; at it they are those without it; after
            // it nothing changes them.
            let x = node.operand(0)?;
            let zero = with(Fun::Equal, &x, 0.0)?;
            let seen = ops::scan(ScanOp::Sum, &ops::cast(&zero, DType::I64)?, axis)?;
            let first = map(Fun::LogicalAnd, &[&zero, &with(Fun::Equal, &seen, 1.0)?])?;
            let before = with(Fun::Equal, &seen, 0.0)?;
            let filled = choose(&first, Arg::Number(Number::Int(1)), Arg::Tensor(&x))?;
            let without = ops::scan(ScanOp::Prod, &filled, axis)?;
            let products = ops::scan(ScanOp::Prod, &x, axis)?;
            let at = sum_from(&map(Fun::Multiply, &[g, &conj(&without)?])?, axis)?;
            let safe = choose(&zero, Arg::Number(Number::Int(1)), Arg::Tensor(&x))?;
            let through = sum_from(&map(Fun::Multiply, &[g, &conj(&products)?])?, axis)?;
            let through = map(Fun::Divide, &[&through, &conj(&safe)?])?;
            let rest = choose(&before, Arg::Tensor(&through), ZERO)?;
            choose(&first, Arg::Tensor(&at), Arg::Tensor(&rest))
        }
        ScanOp::Max | ScanOp::Min => unreachable!("refused when they are recorded"),
    }
}

// --- products

/// The last two axes exchanged.
fn transposed(t: &Tensor) -> Tensor {
    let n = t.array.layout.ndim();
    let mut order: SmallVec<[usize; 6]> = (0..n).collect();
    order.swap(n - 2, n - 1);
    t.view(t.array.layout.permute(&order))
}

/// Gradients are computed the way round in which the operand lies in memory, so that a weight's needs no copy.
fn dot(node: &Arc<Node>, k: usize, edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let n = edge.read.ndim();
    let lies_transposed = edge.read.strides[n - 2] == 1 && edge.read.strides[n - 1] != 1;
    let other = conj(&node.operand(1 - k)?)?;
    Ok(match (k, lies_transposed) {
        (0, false) => ops::dot(g, &transposed(&other))?,
        (0, true) => transposed(&ops::dot(&other, &transposed(g))?),
        (_, false) => ops::dot(&transposed(&other), g)?,
        (_, true) => transposed(&ops::dot(&transposed(g), &other)?),
    })
}

// --- indexing

/// Zeros in which the value lies as `base` does, and what to add to offsets in the value's memory.
fn blank(g: &Tensor, base: &Layout) -> Result<(Tensor, Tensor, i64)> {
    let (low, high) = base.span().unwrap_or((0, -1));
    let flat = ops::full(g, &[high - low + 1], 0.0, base.dtype)?;
    let seen = flat.view(Layout::new(base.dtype, &base.shape, &base.strides, base.offset - low));
    Ok((flat, seen, -low))
}

fn moved(index: &Tensor, by: i64) -> Result<Tensor> {
    if by == 0 {
        return Ok(index.clone());
    }
    ops::map(Fun::Add, &[Arg::Tensor(index), Arg::Number(Number::Int(by.into()))], None)
}

fn gather(node: &Arc<Node>, edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let (flat, seen, shift) = blank(g, &edge.base)?;
    let index = moved(&node.operand(1)?, edge.read.offset + shift)?;
    add_at(&flat, &index, g)?;
    if edge.read.id == edge.base.id {
        return Ok(seen);
    }
    let read = &edge.read;
    Ok(flat.view(read.with(&read.shape, &read.strides, read.offset + shift)))
}

/// A copy of the gradient that lies as `base` does.
fn copied(g: &Tensor, base: &Layout) -> Result<(Tensor, i64)> {
    let (_, seen, shift) = blank(g, base)?;
    ops::update(&seen, Arg::Tensor(g))?;
    Ok((seen, shift))
}

fn scattered(node: &Arc<Node>, op: ScatterOp, base: &Layout, offset: i64, k: usize, g: &Tensor) -> Result<Tensor> {
    match (k, op) {
        (0, ScatterOp::Add) => Ok(g.clone()),
        (0, _) => {
            let (seen, shift) = copied(g, base)?;
            let index = moved(&node.operand(1)?, offset + shift - seen.array.layout.offset)?;
            let zero = ops::full(g, &[], 0.0, g.dtype())?;
            ops::scatter(&seen, &index, &zero, ScatterOp::Set)?;
            Ok(seen)
        }
        _ => {
            let (seen, shift) = lay(g, base)?;
            let index = moved(&node.operand(1)?, offset + shift - seen.array.layout.offset)?;
            ops::gather(&seen, &index)
        }
    }
}
