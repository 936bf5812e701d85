//! Walking back: from the results to the leaves, newest operation first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use cuprous_core::layout::show;
use cuprous_core::{DType, Error, Fun, LayoutRef, Result};
use smallvec::SmallVec;

use crate::node::{Edge, Head, Listener, Node, Rule, locked};
use crate::spread::{Piece, Pieces, assemble, tell};
use crate::{Arg, Tensor, mode, ops, rules};

/// What one output of a node has got so far.
struct Output {
    out: u32,
    base: LayoutRef,
    pieces: Pieces,
}

type Pending = BTreeMap<u64, (Arc<Node>, SmallVec<[Output; 1]>)>;

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
    let needed = needed(results, &heads);
    let outcome = run(results, Some(&needed), options);
    for (input, id) in inputs.iter().zip(taps) {
        input.remove_hook(id);
    }
    outcome?;
    Ok(places.iter().map(|place| locked(place).take()).collect())
}

/// The nodes through which the way to some heads leads, by number.
fn needed(results: &[(&Tensor, Option<&Tensor>)], heads: &[Head]) -> HashMap<u64, bool> {
    let mut all: BTreeMap<u64, Arc<Node>> = BTreeMap::new();
    let mut waiting: Vec<Arc<Node>> = results.iter().filter_map(|(t, _)| Some(t.head()?.node)).collect();
    while let Some(node) = waiting.pop() {
        if all.insert(node.seq, node.clone()).is_none() {
            waiting.extend(node.edges.iter().flatten().map(|edge| edge.head.node.clone()));
        }
    }
    let mut needed: HashMap<u64, bool> = HashMap::new();
    for (seq, node) in all {
        let target = heads.iter().any(|head| head.node.seq == seq);
        let on_the_way = node.edges.iter().flatten().any(|edge| needed[&edge.head.node.seq]);
        needed.insert(seq, target || on_the_way);
    }
    needed
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

fn run(results: &[(&Tensor, Option<&Tensor>)], needed: Option<&HashMap<u64, bool>>, options: Options) -> Result<()> {
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
    let wanted = |edge: &Edge| needed.is_none_or(|needed| needed.get(&edge.head.node.seq).copied().unwrap_or(false));
    while let Some((_, (node, outputs))) = pending.pop_last() {
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
        for (k, g) in rules::backward(&node, &gs, &wanted)? {
            let edge = node.edges[k].as_ref().expect("gradients are for operands that want one");
            put(&mut pending, edge, g)?;
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
    let (_, outputs) = pending.entry(edge.head.node.seq).or_insert_with(|| (edge.head.node.clone(), SmallVec::new()));
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
            if mode::enabled() || (theirs && ops::engine_of(&g.array).is_sole(&g.array)) {
                g
            } else {
                ops::cast(&g, g.dtype())?
            }
        }
        Some(before) if mode::enabled() => add(&before, &g)?,
        Some(before) => {
            ops::update(&before, Arg::Tensor(&add(&before, &g)?))?;
            return Ok(());
        }
    };
    let _old = locked(place).replace(sum);
    Ok(())
}

fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ops::map(Fun::Add, &[Arg::Tensor(a), Arg::Tensor(b)], None::<DType>)
}
