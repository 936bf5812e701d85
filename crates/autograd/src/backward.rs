//! The backward pass: from the results to the leaves, newest operation first.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use cuprous_core::layout::show;
use cuprous_core::scalar::Number;
use cuprous_core::{Error, Fun, LayoutRef, ReduceOp, Result};
use smallvec::SmallVec;

use crate::accumulate::{Contribution, Contributions, accumulate, run_hooks};
use crate::arg::Arg;
use crate::engine::engine_of;
use crate::formula;
use crate::graph::{Edge, HookKind, Node, NodeOutput, Recompute, RegisteredHook, Rule, Tensor, locked};
use crate::mode::{self, Anomaly};
use crate::{ops, rules};

/// The contributions that one output of a node has received so far.
struct PendingOutput {
    index: u32,
    base: LayoutRef,
    contributions: Contributions,
}

/// Nodes that have received gradients, newest last. The next gradient almost always goes to the end.
type Pending = Vec<(Arc<Node>, SmallVec<[PendingOutput; 1]>)>;

/// Options of a backward pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keeps the saved arrays for another backward pass.
    pub retain_graph: bool,
    /// Records the operations of the backward pass, for higher derivatives.
    pub create_graph: bool,
}

/// Accumulates the gradients of `results` into leaves: into all of them, or into those among `inputs`. Each result
/// comes with its own gradient, which may be left out for scalars.
pub fn backward(results: &[(&Tensor, Option<&Tensor>)], inputs: Option<&[&Tensor]>, options: Options) -> Result<()> {
    if let Some(inputs) = inputs {
        let grads = gradients(results, inputs, options)?;
        for (input, g) in inputs.iter().zip(grads) {
            if let (Some(g), true, Some(source)) = (g, input.is_leaf(), input.source()) {
                accumulate_leaf(&source.node, g, &input.array.layout)?;
                run_post_accumulate_hooks(&source.node)?;
            }
        }
        return Ok(());
    }
    run(results, None, options)
}

/// Returns the gradients of `results` with respect to `inputs`; `None` for an input on which no result depends.
pub fn gradients(
    results: &[(&Tensor, Option<&Tensor>)],
    inputs: &[&Tensor],
    options: Options,
) -> Result<Vec<Option<Tensor>>> {
    let mut targets = Vec::new();
    for input in inputs {
        targets.push(
            input.source().ok_or_else(|| Error::runtime("One of the differentiated Tensors does not require grad"))?,
        );
    }
    let slots: Vec<Arc<Mutex<Option<Tensor>>>> = inputs.iter().map(|_| Arc::default()).collect();
    let hooks: Vec<u64> =
        inputs.iter().zip(&slots).map(|(input, slot)| input.add_hook(HookKind::Retain(slot.clone()))).collect();
    let needed = NeededNodes::new(results, targets);
    let outcome = run(results, Some(needed), options);
    for (input, id) in inputs.iter().zip(hooks) {
        input.remove_hook(id);
    }
    outcome?;
    Ok(slots.iter().map(|slot| locked(slot).take()).collect())
}

/// Which nodes lie on a path from the results to the targets.
struct NeededNodes {
    targets: Vec<NodeOutput>,
    /// By number, for every node that was examined.
    nodes: HashMap<u64, bool>,
}

impl NeededNodes {
    fn new(results: &[(&Tensor, Option<&Tensor>)], targets: Vec<NodeOutput>) -> NeededNodes {
        let mut needed = NeededNodes { targets, nodes: HashMap::new() };
        needed.examine(results.iter().filter_map(|(t, _)| Some(t.source()?.node)).collect());
        needed
    }

    /// Examines some nodes and all from which they were computed.
    fn examine(&mut self, mut pending: Vec<Arc<Node>>) {
        let mut all: BTreeMap<u64, Arc<Node>> = BTreeMap::new();
        while let Some(node) = pending.pop() {
            if !self.nodes.contains_key(&node.seq) && all.insert(node.seq, node.clone()).is_none() {
                pending.extend(node.edges.iter().flatten().map(|edge| edge.source.node.clone()));
            }
        }
        // Operands have smaller numbers, so they are decided first.
        for (seq, node) in all {
            let is_target = self.targets.iter().any(|target| target.node.seq == seq);
            let leads_there = node.edges.iter().flatten().any(|edge| self.has(edge));
            self.nodes.insert(seq, is_target || leads_there);
        }
    }

    fn has(&self, edge: &Edge) -> bool {
        self.nodes.get(&edge.source.node.seq).copied().unwrap_or(false)
    }
}

/// Returns the gradient with which the backward pass starts at result number `at`.
fn initial_gradient(result: &Tensor, gradient: Option<&Tensor>, at: usize) -> Result<Tensor> {
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

/// Recomputes the outputs of a checkpoint, and hands their gradients to the nodes that produced them.
fn recompute(
    function: &dyn Recompute,
    gs: &[Option<Tensor>],
    pending: &mut Pending,
    needed: Option<&mut NeededNodes>,
) -> Result<()> {
    let outputs = {
        let _mode = mode::Guard::new(true);
        function.compute()?
    };
    if let Some(needed) = needed {
        needed.examine(outputs.iter().filter_map(|t| Some(t.source()?.node)).collect());
    }
    for (k, g) in gs.iter().enumerate() {
        let Some(g) = g else { continue };
        let output = outputs.get(k).filter(|t| t.shape() == g.shape());
        let output = output.ok_or_else(|| {
            Error::runtime(
                "[checkpoint] the function returned different outputs when it was recomputed; it must compute the same \
                 as in the forward pass",
            )
        })?;
        if let Some(edge) = output.edge() {
            contribute(pending, &edge, g.clone())?;
        }
    }
    Ok(())
}

/// Returns PyTorch's error if `g`, the gradient of operand `k`, contains NaN.
fn check_nan(node: &Node, k: usize, g: &Tensor) -> Result<()> {
    if !(g.dtype().is_float() || g.dtype().is_complex()) || g.array.layout.size == 0 {
        return Ok(());
    }
    let _mode = mode::Guard::new(false);
    let nan = formula::map(Fun::Isnan, &[g])?;
    let all = (1u64 << nan.shape().len()) - 1;
    let any = ops::reduce(ReduceOp::Max, &nan, all as u32, false)?;
    let mut byte = [0];
    engine_of(&any.array).download(&any.array, &mut byte)?;
    if byte[0] == 0 {
        return Ok(());
    }
    Err(Error::runtime(format!("Function '{}' returned nan values in its {k}th output.", node.name())))
}

/// A function that runs when a backward pass has reached all leaves.
type AtEnd = Box<dyn FnOnce() -> Result<()>>;

thread_local! {
    /// How many backward passes run, each within another.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static AT_END: RefCell<Vec<AtEnd>> = const { RefCell::new(Vec::new()) };
}

/// Calls `function` when the outermost backward pass that runs on this thread has reached all leaves. It is dropped if
/// the pass fails.
///
/// # Errors
/// No backward pass runs.
pub fn at_end(function: Box<dyn FnOnce() -> Result<()>>) -> Result<()> {
    if DEPTH.get() == 0 {
        return Err(Error::runtime("Final callbacks can only be installed during backward pass."));
    }
    AT_END.with_borrow_mut(|functions| functions.push(function));
    Ok(())
}

/// Runs a backward pass and then, if it is the outermost, the functions of [`at_end`].
fn run(results: &[(&Tensor, Option<&Tensor>)], needed: Option<NeededNodes>, options: Options) -> Result<()> {
    let depth = DEPTH.replace(DEPTH.get() + 1);
    let result = walk(results, needed, options);
    DEPTH.set(depth);
    if depth > 0 {
        return result;
    }
    let functions = AT_END.take();
    result?;
    functions.into_iter().try_for_each(|function| function())
}

/// Runs a backward pass: to all leaves, or only through the `needed` nodes, whose gradients hooks collect.
fn walk(results: &[(&Tensor, Option<&Tensor>)], mut needed: Option<NeededNodes>, options: Options) -> Result<()> {
    let _mode = mode::Guard::new(options.create_graph);
    let mut pending = Pending::new();
    for (at, (result, gradient)) in results.iter().enumerate() {
        let edge = result.edge().ok_or_else(|| {
            Error::runtime(format!("element {at} of tensors does not require grad and does not have a grad_fn"))
        })?;
        let g = initial_gradient(result, *gradient, at)?;
        contribute(&mut pending, &edge, g)?;
    }
    let anomaly = mode::anomaly();
    let mut open_edges = if needed.is_none() { open_edges(results) } else { None };
    loop {
        let complete = open_edges.as_mut().and_then(|open| open.take_complete(&mut pending));
        let Some((node, outputs)) = complete.or_else(|| pending.pop()) else { break };
        let mut gs: SmallVec<[Option<Tensor>; 1]> = SmallVec::new();
        for output in outputs {
            let g = accumulate(output.contributions, &output.base)?;
            let registered = locked(&node.hooks);
            let hooks: Vec<HookKind> =
                registered.iter().filter(|hook| hook.output == output.index).map(|hook| hook.kind.clone()).collect();
            drop(registered);
            let g = if hooks.is_empty() { g } else { run_hooks(hooks, g)? };
            if node.is_leaf() {
                if needed.is_none() {
                    accumulate_leaf(&node, g, &output.base)?;
                    run_post_accumulate_hooks(&node)?;
                }
                continue;
            }
            let index = output.index as usize;
            gs.resize(gs.len().max(index + 1), None);
            gs[index] = Some(g);
        }
        if node.is_leaf() {
            continue;
        }
        if let Rule::Recompute(function) = &node.rule {
            node.check_saved()?;
            recompute(&**function, &gs, &mut pending, needed.as_mut())?;
        } else {
            let is_needed = |edge: &Edge| needed.as_ref().is_none_or(|needed| needed.has(edge));
            for (k, g) in rules::backward(&node, &gs, &is_needed).map_err(|e| node.explained(e))? {
                if anomaly == Anomaly::Nan {
                    check_nan(&node, k, &g).map_err(|e| node.explained(e))?;
                }
                let edge = node.edges[k].as_ref().expect("a rule returns gradients of operands with an edge");
                contribute(&mut pending, edge, g)?;
            }
        }
        if let Some(open) = &mut open_edges {
            open.close(&node);
        }
        if !options.retain_graph {
            node.free();
        }
        // The tape ends where it would if Python had recorded these operations: at its cap, or with enough work.
        if let Some(g) = gs.iter().flatten().next() {
            let engine = engine_of(&g.array);
            if engine.take_due() {
                engine.flush()?;
            }
        }
    }
    Ok(())
}

/// How many reads of each leaf have not contributed to its gradient yet. With it, a leaf is complete as soon as the
/// last of them has, so that what waits for the gradient, such as a transfer to other processes, begins during the
/// pass. Without it, leaves are older than all operations and come last.
struct OpenEdges {
    of_leaves: HashMap<u64, usize>,
    complete: Vec<u64>,
}

/// Counts the reads of leaves, if some leaf waits for its gradient and no checkpoint hides reads.
fn open_edges(results: &[(&Tensor, Option<&Tensor>)]) -> Option<OpenEdges> {
    if !crate::tensor::has_post_accumulate_hooks() {
        return None;
    }
    let mut nodes: Vec<Arc<Node>> = results.iter().filter_map(|(t, _)| Some(t.source()?.node)).collect();
    let mut seen: HashSet<u64> = nodes.iter().map(|node| node.seq).collect();
    let mut of_leaves = HashMap::new();
    while let Some(node) = nodes.pop() {
        if matches!(node.rule, Rule::Recompute(_)) {
            return None;
        }
        for edge in node.edges.iter().flatten() {
            let source = &edge.source.node;
            if source.is_leaf() {
                *of_leaves.entry(source.seq).or_insert(0) += 1;
            } else if seen.insert(source.seq) {
                nodes.push(source.clone());
            }
        }
    }
    // A result that is a leaf itself has a gradient that no edge brings.
    for (result, _) in results {
        if let Some(source) = result.source() {
            of_leaves.remove(&source.node.seq);
        }
    }
    Some(OpenEdges { of_leaves, complete: Vec::new() })
}

impl OpenEdges {
    /// Notes that a node has contributed to the gradients of its operands.
    fn close(&mut self, node: &Node) {
        for edge in node.edges.iter().flatten() {
            let seq = edge.source.node.seq;
            if let Some(count) = self.of_leaves.get_mut(&seq) {
                *count -= 1;
                if *count == 0 {
                    self.complete.push(seq);
                }
            }
        }
    }

    /// Removes a leaf whose gradient is complete.
    fn take_complete(&mut self, pending: &mut Pending) -> Option<(Arc<Node>, SmallVec<[PendingOutput; 1]>)> {
        while let Some(seq) = self.complete.pop() {
            let at = pending.partition_point(|(node, _)| node.seq < seq);
            if pending.get(at).is_some_and(|(node, _)| node.seq == seq) {
                return Some(pending.remove(at));
            }
        }
        None
    }
}

/// Adds the gradient of an operand, in the shape in which it was read, to the contributions of its source.
fn contribute(pending: &mut Pending, edge: &Edge, g: Tensor) -> Result<()> {
    let same_shape = edge.read.shape.as_slice() == g.shape();
    let read = if same_shape { edge.read.clone() } else { edge.read.broadcast_to(g.shape())? };
    let contribution = Contribution { read, via: edge.via.clone(), g };
    let seq = edge.source.node.seq;
    let at = match pending.last() {
        Some((newest, _)) if newest.seq >= seq => pending.partition_point(|(node, _)| node.seq < seq),
        _ => pending.len(),
    };
    if pending.get(at).is_none_or(|(node, _)| node.seq != seq) {
        pending.insert(at, (edge.source.node.clone(), SmallVec::new()));
    }
    let outputs = &mut pending[at].1;
    match outputs.iter_mut().find(|output| output.index == edge.source.index) {
        Some(output) if output.base.id == edge.base.id => output.contributions.push(contribution),
        // Before and after the program looked at a value in the engine's order: see `Tensor::show_row_major`.
        Some(output) if output.base.engine_order => {
            let before = std::mem::take(&mut output.contributions);
            let before = accumulate(before, &std::mem::replace(&mut output.base, edge.base.clone()))?;
            output.contributions.push(Contribution { read: edge.base.clone(), via: None, g: before });
            output.contributions.push(contribution);
        }
        Some(output) if edge.base.engine_order => {
            let g = accumulate(Contributions::from_iter([contribution]), &edge.base)?;
            output.contributions.push(Contribution { read: output.base.clone(), via: None, g });
        }
        Some(output) => output.contributions.push(contribution),
        None => {
            let mut contributions = Contributions::new();
            contributions.push(contribution);
            outputs.push(PendingOutput { index: edge.source.index, base: edge.base.clone(), contributions });
        }
    }
    Ok(())
}

/// Adds `g` to a leaf's gradient. The first gradient is taken without a copy if nothing else holds its memory and its
/// layout suits the leaf.
fn accumulate_leaf(node: &Node, g: Tensor, base: &LayoutRef) -> Result<()> {
    let Rule::Leaf(slot) = &node.rule else { return Ok(()) };
    let g = if g.array.layout.engine_order { ops::contiguous(&g)? } else { g };
    let previous = locked(slot).clone();
    let sum = match previous {
        None => {
            let own = &g.array.layout;
            let suits = base.strides == own.strides || own.is_c_contiguous();
            if suits && engine_of(&g.array).is_sole_owner(&g.array) { g } else { ops::cast(&g, g.dtype())? }
        }
        // A gradient that the user set may be a view whose elements share memory, which cannot be written.
        Some(previous) if mode::enabled() || !previous.array.layout.is_injective() => add(&previous, &g)?,
        Some(previous) => {
            ops::update(&previous, Arg::Tensor(&add(&previous, &g)?))?;
            return Ok(());
        }
    };
    let _previous = locked(slot).replace(sum);
    Ok(())
}

/// Moves the gradient of a leaf into the memory of `view`, which is its gradient from then on. Without a gradient,
/// `view` becomes zero, and there is still none.
pub fn move_gradient(leaf: &Tensor, view: &Tensor) -> Result<()> {
    match leaf.grad() {
        None => ops::update(view, Arg::Number(Number::Int(0))),
        // It was accumulated there.
        Some(g) if Arc::ptr_eq(&g.array.storage, &view.array.storage) && g.array.layout.id == view.array.layout.id => {
            Ok(())
        }
        Some(g) => {
            ops::update(view, Arg::Tensor(&g.detach()))?;
            leaf.set_grad(Some(view.clone()))
        }
    }
}

/// Calls the hooks that run after a leaf's gradient was accumulated.
fn run_post_accumulate_hooks(node: &Node) -> Result<()> {
    let post =
        |hook: &RegisteredHook| if let HookKind::PostAccumulate(f) = &hook.kind { Some(f.clone()) } else { None };
    let hooks: Vec<_> = locked(&node.hooks).iter().filter_map(post).collect();
    let Rule::Leaf(slot) = &node.rule else { return Ok(()) };
    for hook in hooks {
        let sum = locked(slot).clone();
        if let Some(sum) = sum {
            hook.call(&sum)?;
        }
    }
    Ok(())
}

fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    formula::map(Fun::Add, &[a, b])
}
