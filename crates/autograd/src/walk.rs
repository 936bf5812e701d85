//! Walking back: from the results to the leaves, newest operation first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use cuprous_core::layout::show;
use cuprous_core::{DType, Error, Fun, LayoutRef, ReduceOp, Result};
use smallvec::SmallVec;

use crate::foreign::Again;
use crate::mode::Anomaly;
use crate::node::{Edge, Head, Listener, Node, Rule, Tap, locked};
use crate::spread::{Piece, Pieces, assemble, is_injective, tell};
use crate::{Arg, Tensor, mode, ops, rules};

/// What one output of a node has got so far.
struct Output {
    out: u32,
    base: LayoutRef,
    pieces: Pieces,
}

/// Nodes that have got gradients, the newest last: almost always that is where the next one goes.
type Pending = Vec<(Arc<Node>, SmallVec<[Output; 1]>)>;

/// How to walk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep what the operations kept, for another walk.
    pub retain_graph: bool,
    /// Note the operations of the walk, for derivatives of it.
    pub create_graph: bool,
}

/// Sums up the gradients of leaves (all of them, or those in `inputs`) from results and their gradients.
pub fn backward(results: &[(&Tensor, Option<&Tensor>)], inputs: Option<&[&Tensor]>, options: Options) -> Result<()> {
    if let Some(inputs) = inputs {
        let grads = gradients(results, inputs, options)?;
        for (input, g) in inputs.iter().zip(grads) {
            if let (Some(g), true, Some(head)) = (g, input.is_leaf(), input.head()) {
                accumulate(&head.node, g, &input.array.layout)?;
                told(&head.node)?;
            }
        }
        return Ok(());
    }
    run(results, None, options)
}

/// The gradients of some tensors; `None` where the results do not depend on one.
pub fn gradients(
    results: &[(&Tensor, Option<&Tensor>)],
    inputs: &[&Tensor],
    options: Options,
) -> Result<Vec<Option<Tensor>>> {
    let mut heads = Vec::new();
    for input in inputs {
        heads.push(
            input.head().ok_or_else(|| Error::runtime("One of the differentiated Tensors does not require grad"))?,
        );
    }
    let places: Vec<Arc<Mutex<Option<Tensor>>>> = inputs.iter().map(|_| Arc::default()).collect();
    let taps: Vec<u64> =
        inputs.iter().zip(&places).map(|(input, place)| input.listen(Listener::Keep(place.clone()))).collect();
    let wanted = Wanted::new(results, heads);
    let outcome = run(results, Some(wanted), options);
    for (input, id) in inputs.iter().zip(taps) {
        input.remove_hook(id);
    }
    outcome?;
    Ok(places.iter().map(|place| locked(place).take()).collect())
}

/// The nodes through which the way to some heads leads, by number.
struct Wanted {
    heads: Vec<Head>,
    nodes: HashMap<u64, bool>,
}

impl Wanted {
    fn new(results: &[(&Tensor, Option<&Tensor>)], heads: Vec<Head>) -> Wanted {
        let mut wanted = Wanted { heads, nodes: HashMap::new() };
        wanted.add(results.iter().filter_map(|(t, _)| Some(t.head()?.node)).collect());
        wanted
    }

    /// Looks at what leads to some nodes.
    fn add(&mut self, mut waiting: Vec<Arc<Node>>) {
        let mut all: BTreeMap<u64, Arc<Node>> = BTreeMap::new();
        while let Some(node) = waiting.pop() {
            if !self.nodes.contains_key(&node.seq) && all.insert(node.seq, node.clone()).is_none() {
                waiting.extend(node.edges.iter().flatten().map(|edge| edge.head.node.clone()));
            }
        }
        for (seq, node) in all {
            let target = self.heads.iter().any(|head| head.node.seq == seq);
            let on_the_way = node.edges.iter().flatten().any(|edge| self.has(edge));
            self.nodes.insert(seq, target || on_the_way);
        }
    }

    fn has(&self, edge: &Edge) -> bool {
        self.nodes.get(&edge.head.node.seq).copied().unwrap_or(false)
    }
}

/// The gradient with which the walk starts at a result.
fn seed(result: &Tensor, gradient: Option<&Tensor>, at: usize) -> Result<Tensor> {
    match gradient {
        Some(g) => {
            if g.shape() != result.shape() {
                return Err(Error::runtime(format!(
                    "Mismatch in shape: grad_output[{at}] has a shape of {} and output[{at}] has a shape of {}.",
                    show(g.shape()),
                    show(result.shape())
                )));
            }
            Ok(g.clone())
        }
        None if result.array.layout.size != 1 => {
            Err(Error::runtime("grad can be implicitly created only for scalar outputs"))
        }
        None if result.dtype().is_complex() => {
            Err(Error::runtime("grad can be implicitly created only for real scalar outputs but got a complex one"))
        }
        None => ops::full(result, result.shape(), 1.0, result.dtype()),
    }
}

/// Computes the outputs of a node again, and goes on from them.
fn again(again: &dyn Again, gs: &[Option<Tensor>], pending: &mut Pending, wanted: Option<&mut Wanted>) -> Result<()> {
    let outputs = {
        let _mode = mode::Guard::new(true);
        again.compute()?
    };
    if let Some(wanted) = wanted {
        wanted.add(outputs.iter().filter_map(|t| Some(t.head()?.node)).collect());
    }
    for (k, g) in gs.iter().enumerate() {
        let Some(g) = g else { continue };
        let output = outputs.get(k).filter(|t| t.shape() == g.shape());
        let output = output.ok_or_else(|| {
            Error::runtime(
                "[checkpoint] the function gave other results when it was computed again; it must compute the same",
            )
        })?;
        if let Some(edge) = output.edge() {
            put(pending, &edge, g.clone())?;
        }
    }
    Ok(())
}

/// Refuses gradients with NaN in them.
fn check_nan(node: &Node, k: usize, g: &Tensor) -> Result<()> {
    if !(g.dtype().is_float() || g.dtype().is_complex()) || g.array.layout.size == 0 {
        return Ok(());
    }
    let _mode = mode::Guard::new(false);
    let bad = ops::map(Fun::Isnan, &[Arg::Tensor(g)], None::<DType>)?;
    let all = (1u64 << bad.shape().len()) - 1;
    let bad = ops::reduce(ReduceOp::Max, &bad, all as u32, false)?;
    let mut byte = [0];
    ops::engine_of(&bad.array).download(&bad.array, &mut byte)?;
    if byte[0] == 0 {
        return Ok(());
    }
    Err(Error::runtime(format!("Function '{}' returned nan values in its {k}th output.", node.name())))
}

fn run(results: &[(&Tensor, Option<&Tensor>)], mut needed: Option<Wanted>, options: Options) -> Result<()> {
    let _mode = mode::Guard::new(options.create_graph);
    let mut pending = Pending::new();
    for (at, (result, gradient)) in results.iter().enumerate() {
        let edge = {
            // The way back exists whether or not this walk is noted.
            result.edge().ok_or_else(|| {
                Error::runtime(format!("element {at} of tensors does not require grad and does not have a grad_fn"))
            })?
        };
        let g = seed(result, *gradient, at)?;
        put(&mut pending, &edge, g)?;
    }
    let anomaly = mode::anomaly();
    while let Some((node, outputs)) = pending.pop() {
        let mut gs: SmallVec<[Option<Tensor>; 1]> = SmallVec::new();
        for output in outputs {
            let g = assemble(output.pieces, &output.base)?;
            let taps = locked(&node.taps);
            let listeners: Vec<Listener> =
                taps.iter().filter(|tap| tap.out == output.out).map(|tap| tap.listener.clone()).collect();
            drop(taps);
            let g = if listeners.is_empty() { g } else { tell(listeners, g)? };
            if node.is_leaf() {
                if needed.is_none() {
                    accumulate(&node, g, &output.base)?;
                    told(&node)?;
                }
                continue;
            }
            let place = output.out as usize;
            gs.resize(gs.len().max(place + 1), None);
            gs[place] = Some(g);
        }
        if node.is_leaf() {
            continue;
        }
        if let Rule::Again(rule) = &node.rule {
            node.check()?;
            again(&**rule, &gs, &mut pending, needed.as_mut())?;
        } else {
            let wanted = |edge: &Edge| needed.as_ref().is_none_or(|needed| needed.has(edge));
            for (k, g) in rules::backward(&node, &gs, &wanted).map_err(|e| node.explained(e))? {
                if anomaly == Anomaly::Nan {
                    check_nan(&node, k, &g).map_err(|e| node.explained(e))?;
                }
                let edge = node.edges[k].as_ref().expect("gradients are for operands that want one");
                put(&mut pending, edge, g)?;
            }
        }
        if !options.retain_graph {
            node.free();
        }
        // The tape ends where it would in a program that recorded the same: at its cap, or with enough work.
        if let Some(g) = gs.iter().flatten().next() {
            let engine = ops::engine_of(&g.array);
            if engine.take_due() {
                engine.flush()?;
            }
        }
    }
    Ok(())
}

/// Adds the gradient of an operand, in the shape in which it was read.
fn put(pending: &mut Pending, edge: &Edge, g: Tensor) -> Result<()> {
    let whole = edge.read.shape.as_slice() == g.shape();
    let read = if whole { edge.read.clone() } else { edge.read.broadcast_to(g.shape())? };
    let piece = Piece { read, via: edge.via.clone(), g };
    let seq = edge.head.node.seq;
    let at = match pending.last() {
        Some((newest, _)) if newest.seq >= seq => pending.partition_point(|(node, _)| node.seq < seq),
        _ => pending.len(),
    };
    if pending.get(at).is_none_or(|(node, _)| node.seq != seq) {
        pending.insert(at, (edge.head.node.clone(), SmallVec::new()));
    }
    let outputs = &mut pending[at].1;
    match outputs.iter_mut().find(|output| output.out == edge.head.out) {
        Some(output) => output.pieces.push(piece),
        None => {
            let mut pieces = Pieces::new();
            pieces.push(piece);
            outputs.push(Output { out: edge.head.out, base: edge.base.clone(), pieces });
        }
    }
    Ok(())
}

/// Adds to a leaf's gradient. The first one becomes it, if nobody else holds it and it lies as the leaf does.
fn accumulate(node: &Node, g: Tensor, base: &LayoutRef) -> Result<()> {
    let Rule::Leaf(place) = &node.rule else { return Ok(()) };
    let before = locked(place).clone();
    let sum = match before {
        None => {
            let own = &g.array.layout;
            let theirs = base.strides == own.strides || own.is_c_contiguous();
            if theirs && ops::engine_of(&g.array).is_sole_owner(&g.array) { g } else { ops::cast(&g, g.dtype())? }
        }
        // What was set from outside may be a view whose elements share memory.
        Some(before) if mode::enabled() || !is_injective(&before.array.layout) => add(&before, &g)?,
        Some(before) => {
            ops::update(&before, Arg::Tensor(&add(&before, &g)?))?;
            return Ok(());
        }
    };
    let _old = locked(place).replace(sum);
    Ok(())
}

/// Tells those who wait for a leaf's gradient.
fn told(node: &Node) -> Result<()> {
    let after = |tap: &Tap| if let Listener::After(hook) = &tap.listener { Some(hook.clone()) } else { None };
    let listeners: Vec<_> = locked(&node.taps).iter().filter_map(after).collect();
    let Rule::Leaf(place) = &node.rule else { return Ok(()) };
    for listener in listeners {
        let sum = locked(place).clone();
        if let Some(sum) = sum {
            listener.call(&sum)?;
        }
    }
    Ok(())
}

fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ops::map(Fun::Add, &[Arg::Tensor(a), Arg::Tensor(b)], None::<DType>)
}
