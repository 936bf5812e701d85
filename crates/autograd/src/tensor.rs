//! The handle: an array and its place in the graph.

use std::sync::{Arc, Mutex, MutexGuard};

use cuprous_core::{Array, DType, Error, LayoutRef, Result};

use crate::foreign::{Hook, note_foreign};
use crate::mode;
use crate::node::{Edge, Head, Listener, Node, Rule, Tap, View, locked, next, try_locked};
use crate::ops;
use crate::spread::is_injective;

/// What the views of one value share: which node made it. A write to any view moves `head` to a new node, so that all
/// of them see it.
#[derive(Debug)]
pub(crate) struct Root {
    /// How the whole value lies in its memory.
    pub(crate) layout: LayoutRef,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    head: Option<Head>,
    /// Where gradients are summed up; kept while the tensor does not ask for one.
    leaf: Option<Arc<Node>>,
}

impl State {
    /// The nodes that it references.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.head.iter().map(|head| &head.node).chain(&self.leaf)
    }
}

impl Root {
    pub(crate) fn new(layout: LayoutRef, head: Option<Head>) -> Arc<Root> {
        Arc::new(Root { layout, state: Mutex::new(State { head, leaf: None }) })
    }

    pub(crate) fn head(&self) -> Option<Head> {
        locked(&self.state).head.clone()
    }

    pub(crate) fn try_state(&self) -> Option<MutexGuard<'_, State>> {
        try_locked(&self.state)
    }

    pub(crate) fn set_head(&self, head: Option<Head>) {
        locked(&self.state).head = head;
    }
}

/// An array and its place in the graph. Clones and views share memory and place.
///
/// Invariants: `array.layout` shows a part of what `root.layout` shows; `via` is the way there, noted while the value wants
/// a gradient. A root that wants a gradient has a layout in which each element has memory of its own: gradients lie as
/// the value does, and parts of the value are known by their layout alone.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Memory and view.
    pub array: Array,
    root: Arc<Root>,
    via: Option<Arc<View>>,
}

impl Tensor {
    /// A tensor that was not computed from any that wants a gradient.
    #[inline]
    pub fn new(array: Array) -> Tensor {
        let root = Root::new(array.layout.clone(), None);
        Tensor { array, root, via: None }
    }

    /// A result.
    pub(crate) fn with_head(array: Array, head: Head) -> Tensor {
        debug_assert!(is_injective(&array.layout), "elements of a result share memory");
        let root = Root::new(array.layout.clone(), Some(head));
        Tensor { array, root, via: None }
    }

    /// The array as an output of a node: what a rule from outside kept of its results.
    pub fn output(array: Array, node: Arc<Node>, out: u32) -> Tensor {
        Tensor::with_head(array, Head { node, out })
    }

    pub(crate) fn from_parts(array: Array, root: Arc<Root>, via: Option<Arc<View>>) -> Tensor {
        Tensor { array, root, via }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Extents.
    pub fn shape(&self) -> &[i64] {
        self.array.shape()
    }

    pub(crate) fn via(&self) -> Option<&Arc<View>> {
        self.via.as_ref()
    }

    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.root
    }

    /// The node that made the value; of a view, that of the whole value.
    pub fn head(&self) -> Option<Head> {
        self.root.head()
    }

    /// Does it want a gradient, or was it computed from one that does?
    pub fn requires_grad(&self) -> bool {
        locked(&self.root.state).head.is_some()
    }

    /// Shows the handle all of its value?
    pub fn is_whole(&self) -> bool {
        self.via.is_none() && self.array.layout.id == self.root.layout.id
    }

    /// Was it not computed by an operation that was noted?
    pub fn is_leaf(&self) -> bool {
        self.head().is_none_or(|head| head.node.is_leaf() && self.is_whole())
    }

    /// The way back starts here.
    pub(crate) fn edge(&self) -> Option<Edge> {
        let head = self.head()?;
        Some(Edge { head, via: self.via.clone(), read: self.array.layout.clone(), base: self.root.layout.clone() })
    }

    /// Another view of the same memory.
    pub fn view(&self, layout: LayoutRef) -> Tensor {
        let tracked = self.requires_grad();
        let array = self.array.view(layout);
        match (tracked, mode::enabled()) {
            (true, false) => Tensor::new(array),
            (true, true) => {
                let via = View { layout: array.layout.clone(), parent: self.via.clone(), taps: Mutex::default() };
                Tensor { array, root: self.root.clone(), via: Some(Arc::new(via)) }
            }
            (false, _) => Tensor { array, root: self.root.clone(), via: None },
        }
    }

    /// The same memory without a place in the graph.
    pub fn detach(&self) -> Tensor {
        Tensor::new(self.array.clone())
    }

    /// Asks for a gradient, or no longer.
    pub fn set_requires_grad(&mut self, on: bool) -> Result<()> {
        let head = self.head();
        match (head, on) {
            (Some(_), true) | (None, false) => Ok(()),
            (Some(head), false) => {
                if !(head.node.is_leaf() && self.is_whole()) {
                    return Err(Error::runtime(
                        "you can only change requires_grad flags of leaf variables. If you want to use a computed \
                         variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
                    ));
                }
                self.root.set_head(None);
                Ok(())
            }
            (None, true) => {
                if !(self.dtype().is_float() || self.dtype().is_complex()) {
                    return Err(Error::runtime(
                        "only Tensors of floating point and complex dtype can require gradients",
                    ));
                }
                self.array = separate(&self.array)?;
                if !self.is_whole() {
                    // The part that the handle shows becomes a value of its own.
                    self.root = Root::new(self.array.layout.clone(), None);
                    self.via = None;
                }
                let node = self.leaf_node();
                self.root.set_head(Some(Head { node, out: 0 }));
                Ok(())
            }
        }
    }

    /// Where this leaf's gradient is summed up.
    fn leaf_node(&self) -> Arc<Node> {
        locked(&self.root.state).leaf.get_or_insert_with(Node::leaf).clone()
    }

    /// The gradient: of a leaf what was summed up, of others what [`Tensor::retain_grad`] kept.
    pub fn grad(&self) -> Option<Tensor> {
        if self.is_leaf() {
            let leaf = locked(&self.root.state).leaf.clone()?;
            let Rule::Leaf(grad) = &leaf.rule else { return None };
            return locked(grad).clone();
        }
        self.with_taps(|taps, out| {
            taps.iter().find_map(|tap| match &tap.listener {
                Listener::Keep(place) if tap.out == out => locked(place).clone(),
                _ => None,
            })
        })
    }

    /// Sets a leaf's gradient.
    pub fn set_grad(&self, gradient: Option<Tensor>) -> Result<()> {
        if let Some(g) = &gradient {
            if g.shape() != self.shape() {
                return Err(Error::runtime(format!(
                    "assigned grad has data of a different size: the tensor has shape {:?}, the grad {:?}",
                    self.shape(),
                    g.shape()
                )));
            }
            if g.dtype() != self.dtype() {
                return Err(Error::runtime(format!(
                    "assigned grad has data of a different type: the tensor has dtype {}, the grad {}",
                    self.dtype().name(),
                    g.dtype().name()
                )));
            }
        }
        if self.is_leaf() {
            if gradient.is_none() && locked(&self.root.state).leaf.is_none() {
                return Ok(());
            }
            if let Rule::Leaf(grad) = &self.leaf_node().rule {
                // What was there is dropped after the lock is let go of.
                let _before = std::mem::replace(&mut *locked(grad), gradient);
            }
            return Ok(());
        }
        self.with_taps(|taps, out| {
            for tap in taps.iter() {
                if let Listener::Keep(place) = &tap.listener
                    && tap.out == out
                {
                    *locked(place) = gradient.clone();
                }
            }
        });
        Ok(())
    }

    fn with_taps<T>(&self, use_: impl FnOnce(&mut Vec<Tap>, u32) -> T) -> T {
        match (&self.via, self.head()) {
            (Some(view), _) => use_(&mut locked(&view.taps), 0),
            (None, Some(head)) => use_(&mut locked(&head.node.taps), head.out),
            (None, None) => use_(&mut Vec::new(), 0),
        }
    }

    pub(crate) fn listen(&self, listener: Listener) -> u64 {
        let id = next();
        note_foreign();
        self.with_taps(|taps, out| taps.push(Tap { id, out, listener }));
        id
    }

    /// Calls a function with each gradient of this tensor; the number by which it can be taken away.
    pub fn register_hook(&self, hook: Arc<dyn Hook>) -> Result<u64> {
        if !self.requires_grad() {
            return Err(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"));
        }
        Ok(self.listen(Listener::Hook(hook)))
    }

    /// Calls a function whenever this leaf's gradient was summed up, with that; the number by which it can be taken away.
    pub fn register_after(&self, hook: Arc<dyn Hook>) -> Result<u64> {
        if !self.requires_grad() {
            return Err(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"));
        }
        if !self.is_leaf() {
            return Err(Error::runtime("post accumulate grad hooks cannot be registered on non-leaf tensors"));
        }
        Ok(self.listen(Listener::After(hook)))
    }

    /// Takes a hook away.
    pub fn remove_hook(&self, id: u64) {
        self.with_taps(|taps, _| taps.retain(|tap| tap.id != id));
    }

    /// Keeps the gradient of a tensor that is no leaf.
    pub fn retain_grad(&self) -> Result<()> {
        if !self.requires_grad() {
            return Err(Error::runtime("can't retain_grad on Tensor that has requires_grad=False"));
        }
        if !self.is_leaf() && !self.retains_grad() {
            self.listen(Listener::Keep(Arc::default()));
        }
        Ok(())
    }

    /// Is the gradient kept although the tensor is no leaf?
    pub fn retains_grad(&self) -> bool {
        !self.is_leaf()
            && self.with_taps(|taps, out| {
                taps.iter().any(|tap| tap.out == out && matches!(tap.listener, Listener::Keep(_)))
            })
    }

    /// A handle for another array with the same place in the graph: what `tensor.data = other` does.
    pub fn set_data(&mut self, array: Array) -> Result<()> {
        if let Some(head) = self.head()
            && !(head.node.is_leaf() && self.is_whole())
        {
            return Err(Error::runtime("only the data of a leaf can be set"));
        }
        let leaf = locked(&self.root.state).leaf.clone();
        let head = self.head();
        let array = if head.is_some() { separate(&array)? } else { array };
        self.root = Root::new(array.layout.clone(), head);
        locked(&self.root.state).leaf = leaf;
        self.array = array;
        self.via = None;
        Ok(())
    }
}

/// Returns the array, or a copy if elements of it share memory.
pub(crate) fn separate(array: &Array) -> Result<Array> {
    if is_injective(&array.layout) { Ok(array.clone()) } else { ops::engine_of(array).cast(array, array.dtype()) }
}
