//! Python objects that the graph holds (hooks, rules and functions), and how Python's cycle collector finds them.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::Result;
use smallvec::SmallVec;

use crate::Tensor;
use crate::node::{Edge, Listener, Node, Rule, Taps, View, try_locked};
use crate::tensor::Root;

/// A Python object that the graph keeps alive.
pub trait Foreign: Any + Send + Sync {
    /// Releases what was saved for the backward pass.
    fn release(&self) {}
}

/// Sees a gradient in the backward pass and may return another.
pub trait Hook: Foreign {
    /// Returns the gradient that replaces `g`, if any.
    fn call(&self, g: &Tensor) -> Result<Option<Tensor>>;
}

/// A derivative that is defined in Python.
pub trait Custom: Foreign {
    /// Returns the gradients of the operands (`None` if one has no gradient) from those of the outputs.
    fn backward(&self, node: &Arc<Node>, gs: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>>;
}

/// A function that recomputes the outputs of a node, with their graph.
pub trait Again: Foreign {
    /// Returns the outputs.
    fn compute(&self) -> Result<Vec<Tensor>>;
}

/// True once a graph has held a foreign object. Until then there is nothing to visit.
static ANY: AtomicBool = AtomicBool::new(false);

pub(crate) fn note_foreign() {
    if !ANY.load(Relaxed) {
        ANY.store(true, Relaxed);
    }
}

/// The most nodes that are visited for one handle. The collector takes objects beyond them for reachable, and keeps them.
const MOST: usize = 1 << 12;

/// A function that is called with foreign objects.
type Visit<'a> = dyn FnMut(&dyn Any) + 'a;

impl Tensor {
    /// Calls `visit` with each foreign object that nothing but this handle keeps alive. A collector counts a reference
    /// once for each visit, so objects behind anything shared are left out: they are visited by nobody.
    pub fn visit_owned(&self, visit: &mut Visit<'_>) {
        if !ANY.load(Relaxed) {
            return;
        }
        if let Some(view) = self.via() {
            visit_views(view, visit);
        }
        if Arc::strong_count(self.root()) == 1 {
            visit_root(self.root(), visit);
        }
    }
}

fn visit_root(root: &Root, visit: &mut Visit<'_>) {
    let Some(state) = root.try_state() else { return };
    let held: SmallVec<[&Arc<Node>; 2]> = state.nodes().collect();
    let mut waiting: SmallVec<[&Node; 8]> = SmallVec::new();
    owned(&held, &mut waiting);
    let mut left = MOST;
    while let Some(node) = waiting.pop() {
        if left == 0 {
            return;
        }
        left -= 1;
        visit_taps(&node.taps, visit);
        match &node.rule {
            Rule::Custom(_, rule) => visit(&**rule as &dyn Any),
            Rule::Again(again) => visit(&**again as &dyn Any),
            _ => {}
        }
        let edges: SmallVec<[&Edge; 2]> = node.edges.iter().flatten().collect();
        for edge in &edges {
            if let Some(view) = &edge.via {
                visit_views(view, visit);
            }
        }
        let held: SmallVec<[&Arc<Node>; 2]> = edges.iter().map(|edge| &edge.head.node).collect();
        owned(&held, &mut waiting);
    }
}

/// Adds the nodes to which there are no references but `held`, each once.
fn owned<'a>(held: &[&'a Arc<Node>], into: &mut SmallVec<[&'a Node; 8]>) {
    for (k, &node) in held.iter().enumerate() {
        let references = |held: &[&Arc<Node>]| held.iter().filter(|other| Arc::ptr_eq(other, node)).count();
        if references(&held[..k]) == 0 && references(held) == Arc::strong_count(node) {
            into.push(node);
        }
    }
}

fn visit_views(view: &Arc<View>, visit: &mut Visit<'_>) {
    let mut at = Some(view);
    while let Some(view) = at.filter(|view| Arc::strong_count(view) == 1) {
        visit_taps(&view.taps, visit);
        at = view.parent.as_ref();
    }
}

fn visit_taps(taps: &Taps, visit: &mut Visit<'_>) {
    let Some(taps) = try_locked(taps) else { return };
    for tap in taps.iter() {
        if let Listener::Hook(hook) | Listener::After(hook) = &tap.listener
            && Arc::strong_count(hook) == 1
        {
            visit(&**hook as &dyn Any);
        }
    }
}
