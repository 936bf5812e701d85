//! Finds the Python objects that only one tensor keeps alive, for Python's cycle collector.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::foreign;
use crate::graph::{Edge, HookKind, Hooks, Node, Root, Rule, Tensor, View, try_locked};

/// The most nodes that are visited for one handle. The collector takes objects beyond them for reachable, and keeps
/// them.
const MAX_NODES: usize = 1 << 12;

/// A function that is called with foreign objects.
type Visit<'a> = dyn FnMut(&dyn Any) + 'a;

impl Tensor {
    /// Calls `visit` with each foreign object that only this handle keeps alive. The collector counts one reference for
    /// each visit, so objects behind anything shared are left out.
    pub fn visit_owned(&self, visit: &mut Visit<'_>) {
        if !foreign::is_present() {
            return;
        }
        if let Some(view) = &self.via {
            visit_views(view, visit);
        }
        if Arc::strong_count(&self.root) == 1 {
            visit_root(&self.root, visit);
        }
    }
}

fn visit_root(root: &Root, visit: &mut Visit<'_>) {
    let Some(state) = try_locked(&root.state) else { return };
    let held: SmallVec<[&Arc<Node>; 2]> = state.nodes().collect();
    let mut pending: SmallVec<[&Node; 8]> = SmallVec::new();
    add_owned(&held, &mut pending);
    let mut left = MAX_NODES;
    while let Some(node) = pending.pop() {
        if left == 0 {
            return;
        }
        left -= 1;
        visit_hooks(&node.hooks, visit);
        match &node.rule {
            Rule::Custom(_, rule) => visit(&**rule as &dyn Any),
            Rule::Recompute(function) => visit(&**function as &dyn Any),
            _ => {}
        }
        let edges: SmallVec<[&Edge; 2]> = node.edges.iter().flatten().collect();
        for edge in &edges {
            if let Some(view) = &edge.via {
                visit_views(view, visit);
            }
        }
        let held: SmallVec<[&Arc<Node>; 2]> = edges.iter().map(|edge| &edge.source.node).collect();
        add_owned(&held, &mut pending);
    }
}

/// Adds to `into` each node whose only references are those in `held`, once.
fn add_owned<'a>(held: &[&'a Arc<Node>], into: &mut SmallVec<[&'a Node; 8]>) {
    for (k, &node) in held.iter().enumerate() {
        let references = |held: &[&Arc<Node>]| held.iter().filter(|other| Arc::ptr_eq(other, node)).count();
        if references(&held[..k]) == 0 && references(held) == Arc::strong_count(node) {
            into.push(node);
        }
    }
}

fn visit_views(view: &Arc<View>, visit: &mut Visit<'_>) {
    let mut next = Some(view);
    while let Some(view) = next.filter(|view| Arc::strong_count(view) == 1) {
        visit_hooks(&view.hooks, visit);
        next = view.parent.as_ref();
    }
}

fn visit_hooks(hooks: &Hooks, visit: &mut Visit<'_>) {
    let Some(hooks) = try_locked(hooks) else { return };
    for registered in hooks.iter() {
        if let HookKind::Call(hook) | HookKind::PostAccumulate(hook) = &registered.kind
            && Arc::strong_count(hook) == 1
        {
            visit(&**hook as &dyn Any);
        }
    }
}
