//! Gradient rules: dispatch by [`Rule`], the rules of reductions, products and indexing, and the bridge to the table of
//! derivatives of scalar functions (`cuprous_core::vjp`).

use std::sync::Arc;

use cuprous_core::convolution::Part;
use cuprous_core::scalar::Number;
use cuprous_core::vjp::{self, RESULT, Term, Value};
use cuprous_core::{DType, Error, Fun, Layout, ReduceOp, Result, ScanOp, ScatterOp};
use smallvec::SmallVec;

use crate::accumulate::{in_layout, span_of};
use crate::add_at::add_at;
use crate::arg::Arg;
use crate::formula::{ZERO, broadcast_reduced, choose, conj, map, map_number};
use crate::graph::{Edge, Grads, Node, Rule, Tensor};
use crate::{activation, attention, batch_norm, conv, layer_norm, ops, pool, recurrent, softmax};

/// Returns the gradients of the operands whose edge `is_needed`, from those of the outputs.
pub(crate) fn backward(node: &Arc<Node>, gs: &[Option<Tensor>], is_needed: &dyn Fn(&Edge) -> bool) -> Result<Grads> {
    node.check_saved()?;
    if let Rule::Custom(_, rule) = &node.rule {
        return custom(node, rule.backward(node, gs)?);
    }
    if let Rule::Recurrence(recurrence) = &node.rule {
        return recurrent::backward(node, recurrence, gs, is_needed);
    }
    let g = gs.first().and_then(Option::as_ref).expect("a visited node has a gradient");
    match &node.rule {
        Rule::Attention(of) => return attention::backward(node, of, g, is_needed),
        &Rule::LayerNorm(first, eps, weighted) => {
            return layer_norm::backward(node, (first, eps, weighted), g, is_needed);
        }
        &Rule::BatchNorm(eps, weighted) => return batch_norm::backward(node, (eps, weighted), g, is_needed),
        _ => {}
    }
    let shared;
    let g = match &node.rule {
        Rule::Conv(Part::Output, geometry) => {
            shared = conv::shared_gradient(node, geometry, g)?;
            &shared
        }
        _ => g,
    };
    let mut out = Grads::new();
    for (k, edge) in node.edges.iter().enumerate() {
        let Some(edge) = edge else { continue };
        if !is_needed(edge) {
            continue;
        }
        let dg = match &node.rule {
            Rule::Leaf(_)
            | Rule::Custom(..)
            | Rule::Recompute(_)
            | Rule::Recurrence(_)
            | Rule::Attention(_)
            | Rule::LayerNorm(..)
            | Rule::BatchNorm(..) => unreachable!("handled above or by the backward pass"),
            Rule::Map(fun, numbers) => scalar(node, *fun, numbers, k, g)?,
            Rule::Reduce(op, mask) => reduction(node, *op, *mask, edge, g)?,
            Rule::Scan(op, axis) => scan(node, *op, *axis, g)?,
            Rule::Dot => dot(node, k, edge, g)?,
            Rule::Conv(part, geometry) => conv::backward(node, *part, k, geometry, g)?,
            Rule::Gelu => activation::gelu_backward(node, g)?,
            Rule::MaxPool(kernel) => pool::backward(node, kernel, edge, g)?,
            Rule::Softmax(axis, log) => softmax::backward(node, *axis, *log, g)?,
            Rule::LogLikelihood(axis) => softmax::log_likelihood_backward(node, *axis, edge, g)?,
            Rule::Gather => gather(node, edge, g)?,
            Rule::Update { base, at } => {
                let (whole, shift) = if k == 0 { copy_in_layout(g, base)? } else { in_layout(g, base)? };
                let part = whole.view(at.with(&at.shape, &at.strides, at.offset + shift));
                if k == 0 {
                    ops::update(&part, ZERO)?;
                    whole
                } else {
                    part
                }
            }
            Rule::Scatter { op, base, offset } => scatter(node, *op, base, *offset, k, g)?,
            Rule::Concatenate(axis, extents) => {
                let start: i64 = extents[..k].iter().sum();
                let own = &g.array.layout;
                g.view(own.with(&edge.read.shape, &own.strides, own.offset + start * own.strides[*axis]))
            }
            Rule::ToDevice(from) => ops::to_device(g, *from, true)?,
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

/// A tensor, or the first error of the operations that compute it. Rows of the table therefore need no `?`.
#[derive(Clone)]
struct Fallible(Result<Tensor>);

impl Value for Fallible {
    fn map(fun: Fun, terms: &[Term<Fallible>]) -> Fallible {
        let mut args: SmallVec<[Arg; 3]> = SmallVec::new();
        for term in terms {
            args.push(match term {
                Term::Number(n) => Arg::Number(*n),
                Term::Value(Fallible(Ok(t))) => Arg::Tensor(t),
                Term::Value(Fallible(Err(e))) => return Fallible(Err(e.clone())),
            });
        }
        Fallible(ops::map(fun, &args, None))
    }

    fn is_complex(&self) -> bool {
        self.0.as_ref().is_ok_and(|t| t.dtype().is_complex())
    }

    fn unsupported(what: &'static str) -> Fallible {
        Fallible(Err(Error::not_implemented(format!("[backward] the derivative of {what} is not supported"))))
    }
}

fn scalar(node: &Arc<Node>, fun: Fun, numbers: &[Option<Number>; 3], k: usize, g: &Tensor) -> Result<Tensor> {
    let needs = vjp::needs(fun, k);
    let term = |at: usize| -> Result<Term<Fallible>> {
        Ok(match numbers[at] {
            Some(n) => Term::Number(n),
            None if needs >> at & 1 == 1 => Term::Value(Fallible(Ok(node.operand(at)?))),
            None => Term::from(0.0),
        })
    };
    let x = [term(0)?, term(1)?, term(2)?];
    let y = if needs & RESULT != 0 { Term::Value(Fallible(Ok(node.result()?))) } else { Term::from(0.0) };
    let g = Term::Value(Fallible(Ok(g.clone())));
    match vjp::vjp(fun, k, &g, &x, &y) {
        Some(Term::Value(Fallible(dg))) => dg,
        Some(Term::Number(_)) => unreachable!("a rule's result depends on the gradient"),
        None => {
            Err(Error::not_implemented(format!("[{}] has no derivative with respect to operand {k}", fun.op().name)))
        }
    }
}

// --- reductions

fn reduction(node: &Arc<Node>, op: ReduceOp, mask: u32, edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let shape = &edge.read.shape;
    let g = broadcast_reduced(g, mask, shape);
    match op {
        ReduceOp::Sum => Ok(g),
        ReduceOp::Max | ReduceOp::Min => {
            let (x, y) = (node.operand(0)?, node.result()?);
            let winners = map(Fun::Equal, &[&x, &broadcast_reduced(&y, mask, shape)])?;
            let count = ops::reduce(ReduceOp::Sum, &ops::cast(&winners, g.dtype())?, mask, true)?;
            let share = map(Fun::Divide, &[&g, &broadcast_reduced(&count, mask, shape)])?;
            choose(&winners, Arg::Tensor(&share), ZERO)
        }
        ReduceOp::M2 => {
            // d/dx Σ |x - mean|² = 2 (x - mean): the mean's own part sums to zero.
            let x = node.operand(0)?;
            let n: i64 = (0..shape.len()).filter(|&k| mask >> k & 1 == 1).map(|k| shape[k]).product();
            let mean = map_number(Fun::Divide, &ops::reduce(ReduceOp::Sum, &x, mask, true)?, n as f64)?;
            let deviation = map(Fun::Subtract, &[&x, &broadcast_reduced(&mean, mask, shape)])?;
            map_number(Fun::Multiply, &map(Fun::Multiply, &[&g, &deviation])?, 2.0)
        }
        ReduceOp::Prod => {
            // The slope is the product of the other elements: for a nonzero element by division, for a single zero the
            // product of all nonzero elements.
            let x = node.operand(0)?;
            let zero = map_number(Fun::Equal, &x, 0.0)?;
            let filled = choose(&zero, Arg::Number(Number::Int(1)), Arg::Tensor(&x))?;
            let product = broadcast_reduced(&ops::reduce(ReduceOp::Prod, &filled, mask, true)?, mask, shape);
            let zeros = ops::reduce(ReduceOp::Sum, &ops::cast(&zero, DType::I64)?, mask, true)?;
            let zeros = broadcast_reduced(&zeros, mask, shape);
            let other_zeros = map(Fun::Subtract, &[&zeros, &ops::cast(&zero, DType::I64)?])?;
            let slope = map(Fun::Divide, &[&product, &filled])?;
            let slope = choose(&map_number(Fun::Equal, &other_zeros, 0.0)?, Arg::Tensor(&slope), ZERO)?;
            map(Fun::Multiply, &[&g, &conj(&slope)?])
        }
        ReduceOp::ArgMax | ReduceOp::ArgMin => unreachable!("indices have no gradient"),
    }
}

// --- scans

fn flipped(t: &Tensor, axis: usize) -> Tensor {
    let own = &t.array.layout;
    let mut strides = own.strides.clone();
    let offset = own.offset + (own.shape[axis] - 1).max(0) * strides[axis];
    strides[axis] = -strides[axis];
    t.view(own.with(&own.shape, &strides, offset))
}

/// Returns for each index the sum of the elements from there to the end.
fn reverse_cumsum(t: &Tensor, axis: usize) -> Result<Tensor> {
    Ok(flipped(&ops::scan(ScanOp::Sum, &flipped(t, axis), axis)?, axis))
}

fn scan(node: &Arc<Node>, op: ScanOp, axis: usize, g: &Tensor) -> Result<Tensor> {
    match op {
        ScanOp::Sum => reverse_cumsum(g, axis),
        ScanOp::Prod => {
            // Before the first zero each product is divided by the element. At the first zero the products are taken
            // without it. After it all products are zero, whatever the element is.
            let x = node.operand(0)?;
            let zero = map_number(Fun::Equal, &x, 0.0)?;
            let zeros = ops::scan(ScanOp::Sum, &ops::cast(&zero, DType::I64)?, axis)?;
            let first = map(Fun::LogicalAnd, &[&zero, &map_number(Fun::Equal, &zeros, 1.0)?])?;
            let before = map_number(Fun::Equal, &zeros, 0.0)?;
            let filled = choose(&first, Arg::Number(Number::Int(1)), Arg::Tensor(&x))?;
            let without = ops::scan(ScanOp::Prod, &filled, axis)?;
            let products = ops::scan(ScanOp::Prod, &x, axis)?;
            let at = reverse_cumsum(&map(Fun::Multiply, &[g, &conj(&without)?])?, axis)?;
            let safe = choose(&zero, Arg::Number(Number::Int(1)), Arg::Tensor(&x))?;
            let through = reverse_cumsum(&map(Fun::Multiply, &[g, &conj(&products)?])?, axis)?;
            let through = map(Fun::Divide, &[&through, &conj(&safe)?])?;
            let rest = choose(&before, Arg::Tensor(&through), ZERO)?;
            choose(&first, Arg::Tensor(&at), Arg::Tensor(&rest))
        }
        ScanOp::Max | ScanOp::Min => unreachable!("refused when they are recorded"),
    }
}

// --- products

/// Returns the tensor with its last two axes exchanged.
fn transposed(t: &Tensor) -> Tensor {
    let n = t.array.layout.ndim();
    let mut order: SmallVec<[usize; 6]> = (0..n).collect();
    order.swap(n - 2, n - 1);
    t.view(t.array.layout.permute(&order))
}

/// Computes the gradient in the memory order of the operand, so that accumulating a weight's gradient makes no copy.
fn dot(node: &Arc<Node>, k: usize, edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let n = edge.read.ndim();
    let is_transposed = edge.read.strides[n - 2] == 1 && edge.read.strides[n - 1] != 1;
    let other = conj(&node.operand(1 - k)?)?;
    Ok(match (k, is_transposed) {
        (0, false) => ops::dot(g, &transposed(&other))?,
        (0, true) => transposed(&ops::dot(&other, &transposed(g))?),
        (_, false) => ops::dot(&transposed(&other), g)?,
        (_, true) => transposed(&ops::dot(&transposed(g), &other)?),
    })
}

// --- indexing

/// Returns zeros for the memory of a value of layout `base` and of a view `read` of it: flat, and as a view with the
/// strides of `base`, and what to add to offsets in the value's memory to find the same elements there.
fn zeros_in_layout(g: &Tensor, base: &Layout, read: &Layout) -> Result<(Tensor, Tensor, i64)> {
    let (low, high) = span_of([base, read]);
    let flat = ops::full(g, &[high - low + 1], 0.0, base.dtype)?;
    let whole = flat.view(Layout::new(base.dtype, &base.shape, &base.strides, base.offset - low));
    Ok((flat, whole, -low))
}

fn shifted(index: &Tensor, by: i64) -> Result<Tensor> {
    if by == 0 {
        return Ok(index.clone());
    }
    ops::map(Fun::Add, &[Arg::Tensor(index), Arg::Number(Number::Int(by.into()))], None)
}

fn gather(node: &Arc<Node>, edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let (flat, whole, shift) = zeros_in_layout(g, &edge.base, &edge.read)?;
    let index = shifted(&node.operand(1)?, edge.read.offset + shift)?;
    add_at(&flat, &index, g)?;
    if edge.read.id == edge.base.id {
        return Ok(whole);
    }
    let read = &edge.read;
    Ok(flat.view(read.with(&read.shape, &read.strides, read.offset + shift)))
}

/// As [`in_layout`], but always a copy.
fn copy_in_layout(g: &Tensor, base: &Layout) -> Result<(Tensor, i64)> {
    let (_, whole, shift) = zeros_in_layout(g, base, base)?;
    ops::update(&whole, Arg::Tensor(g))?;
    Ok((whole, shift))
}

fn scatter(node: &Arc<Node>, op: ScatterOp, base: &Layout, offset: i64, k: usize, g: &Tensor) -> Result<Tensor> {
    match (k, op) {
        (0, ScatterOp::Add) => Ok(g.clone()),
        (0, _) => {
            let (whole, shift) = copy_in_layout(g, base)?;
            let index = shifted(&node.operand(1)?, offset + shift - whole.array.layout.offset)?;
            let zero = ops::full(g, &[], 0.0, g.dtype())?;
            ops::scatter(&whole, &index, &zero, ScatterOp::Set)?;
            Ok(whole)
        }
        _ => {
            let (whole, shift) = in_layout(g, base)?;
            let index = shifted(&node.operand(1)?, offset + shift - whole.array.layout.offset)?;
            ops::gather(&whole, &index)
        }
    }
}
