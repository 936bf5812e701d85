//! What a tensor does with its position in the graph: views, `requires_grad`, gradients and hooks.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use cuprous_core::{Array, DType, Error, LayoutRef, Result};

use crate::engine::engine_of;
use crate::graph::{
    Edge, Hook, HookKind, Node, NodeOutput, RegisteredHook, Root, Rule, Tensor, View, locked, next_seq,
};
use crate::{foreign, mode};

/// True once a function has been registered that is called after a leaf's gradient was accumulated.
static HAS_POST_ACCUMULATE_HOOKS: AtomicBool = AtomicBool::new(false);

/// Returns true if some leaf may have a function that is called after its gradient was accumulated.
pub(crate) fn has_post_accumulate_hooks() -> bool {
    HAS_POST_ACCUMULATE_HOOKS.load(Relaxed)
}

impl Tensor {
    /// Returns `array` as output `index` of a node: for the results that a custom rule saved.
    pub fn output(array: Array, node: Arc<Node>, index: u32) -> Tensor {
        Tensor::with_source(array, NodeOutput { node, index })
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Returns the extents.
    pub fn shape(&self) -> &[i64] {
        self.array.shape()
    }

    /// Returns the node output that produced the value, or for a view the whole value.
    pub fn source(&self) -> Option<NodeOutput> {
        self.root.source()
    }

    /// Returns true if the tensor requires a gradient or was computed from one that does.
    pub fn requires_grad(&self) -> bool {
        locked(&self.root.state).source.is_some()
    }

    /// Returns true if the handle shows all of its value.
    pub fn is_whole(&self) -> bool {
        self.via.is_none() && self.array.layout.id == self.root.layout.id
    }

    /// Returns true if no recorded operation produced the tensor.
    pub fn is_leaf(&self) -> bool {
        self.source().is_none_or(|source| source.node.is_leaf() && self.is_whole())
    }

    /// Returns the edge of an operation that reads this tensor, or `None` if it does not require a gradient.
    pub(crate) fn edge(&self) -> Option<Edge> {
        let source = self.source()?;
        Some(Edge { source, via: self.via.clone(), read: self.array.layout.clone(), base: self.root.layout.clone() })
    }

    /// Returns another view of the same memory.
    pub fn view(&self, layout: LayoutRef) -> Tensor {
        let tracked = self.requires_grad();
        let array = self.array.view(layout);
        match (tracked, mode::enabled()) {
            (true, false) => Tensor::new(array),
            (true, true) => {
                let via = View { layout: array.layout.clone(), parent: self.via.clone(), hooks: Mutex::default() };
                Tensor { array, root: self.root.clone(), via: Some(Arc::new(via)) }
            }
            (false, _) => Tensor { array, root: self.root.clone(), via: None },
        }
    }

    /// Returns a tensor of the same memory that is not part of the graph.
    pub fn detach(&self) -> Tensor {
        Tensor::new(self.array.clone())
    }

    /// Sets whether a leaf requires a gradient.
    pub fn set_requires_grad(&mut self, on: bool) -> Result<()> {
        match (self.source(), on) {
            (Some(_), true) | (None, false) => Ok(()),
            (Some(source), false) => {
                if !(source.node.is_leaf() && self.is_whole()) {
                    return Err(Error::runtime(
                        "you can only change requires_grad flags of leaf variables. If you want to use a computed \
                         variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
                    ));
                }
                self.root.set_source(None);
                Ok(())
            }
            (None, true) => {
                if !(self.dtype().is_float() || self.dtype().is_complex()) {
                    return Err(Error::runtime(
                        "only Tensors of floating point and complex dtype can require gradients",
                    ));
                }
                self.array = injective(&self.array)?;
                if !self.is_whole() {
                    // The part that the handle shows becomes a value of its own.
                    self.root = Root::new(self.array.layout.clone(), None);
                    self.via = None;
                }
                let node = self.leaf_node();
                self.root.set_source(Some(NodeOutput { node, index: 0 }));
                Ok(())
            }
        }
    }

    /// Returns the node that accumulates this leaf's gradient.
    fn leaf_node(&self) -> Arc<Node> {
        locked(&self.root.state).leaf.get_or_insert_with(Node::leaf).clone()
    }

    /// Returns the gradient: of a leaf the accumulated one, of other tensors the one that [`Tensor::retain_grad`]
    /// stored.
    pub fn grad(&self) -> Option<Tensor> {
        if self.is_leaf() {
            let leaf = locked(&self.root.state).leaf.clone()?;
            let Rule::Leaf(grad) = &leaf.rule else { return None };
            return locked(grad).clone();
        }
        self.with_hooks(|hooks, output| {
            hooks.iter().find_map(|hook| match &hook.kind {
                HookKind::Retain(slot) if hook.output == output => locked(slot).clone(),
                _ => None,
            })
        })
    }

    /// Sets the gradient of a leaf, or of a tensor that retains its gradient.
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
                // The previous gradient is dropped after the lock is released, because dropping it may drop nodes.
                let _previous = std::mem::replace(&mut *locked(grad), gradient);
            }
            return Ok(());
        }
        self.with_hooks(|hooks, output| {
            for hook in hooks.iter() {
                if let HookKind::Retain(slot) = &hook.kind
                    && hook.output == output
                {
                    *locked(slot) = gradient.clone();
                }
            }
        });
        Ok(())
    }

    /// Calls `use_` with the hooks on this tensor's view or node, and the index of the node's output.
    fn with_hooks<T>(&self, use_: impl FnOnce(&mut Vec<RegisteredHook>, u32) -> T) -> T {
        match (&self.via, self.source()) {
            (Some(view), _) => use_(&mut locked(&view.hooks), 0),
            (None, Some(source)) => use_(&mut locked(&source.node.hooks), source.index),
            (None, None) => use_(&mut Vec::new(), 0),
        }
    }

    pub(crate) fn add_hook(&self, kind: HookKind) -> u64 {
        let id = next_seq();
        foreign::mark_present();
        self.with_hooks(|hooks, output| hooks.push(RegisteredHook { id, output, kind }));
        id
    }

    /// Registers a function to be called with each gradient of this tensor. Returns the number by which it is removed.
    pub fn register_hook(&self, hook: Arc<dyn Hook>) -> Result<u64> {
        if !self.requires_grad() {
            return Err(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"));
        }
        Ok(self.add_hook(HookKind::Call(hook)))
    }

    /// Registers a function to be called with this leaf's gradient each time it was accumulated. Returns the number by
    /// which it is removed.
    pub fn register_post_accumulate(&self, hook: Arc<dyn Hook>) -> Result<u64> {
        if !self.requires_grad() {
            return Err(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"));
        }
        if !self.is_leaf() {
            return Err(Error::runtime("post accumulate grad hooks cannot be registered on non-leaf tensors"));
        }
        HAS_POST_ACCUMULATE_HOOKS.store(true, Relaxed);
        Ok(self.add_hook(HookKind::PostAccumulate(hook)))
    }

    /// Removes a hook.
    pub fn remove_hook(&self, id: u64) {
        self.with_hooks(|hooks, _| hooks.retain(|hook| hook.id != id));
    }

    /// Stores the gradient of a tensor that is not a leaf, from the next backward pass on.
    pub fn retain_grad(&self) -> Result<()> {
        if !self.requires_grad() {
            return Err(Error::runtime("can't retain_grad on Tensor that has requires_grad=False"));
        }
        if !self.is_leaf() && !self.retains_grad() {
            self.add_hook(HookKind::Retain(Arc::default()));
        }
        Ok(())
    }

    /// Returns true if the tensor is not a leaf and its gradient is stored nevertheless.
    pub fn retains_grad(&self) -> bool {
        !self.is_leaf()
            && self.with_hooks(|hooks, output| {
                hooks.iter().any(|hook| hook.output == output && matches!(hook.kind, HookKind::Retain(_)))
            })
    }

    /// Replaces the array and keeps the position in the graph, as `tensor.data = other` does.
    pub fn set_data(&mut self, array: Array) -> Result<()> {
        if let Some(source) = self.source()
            && !(source.node.is_leaf() && self.is_whole())
        {
            return Err(Error::runtime("only the data of a leaf can be set"));
        }
        let leaf = locked(&self.root.state).leaf.clone();
        let source = self.source();
        let array = if source.is_some() { injective(&array)? } else { array };
        self.root = Root::new(array.layout.clone(), source);
        locked(&self.root.state).leaf = leaf;
        self.array = array;
        self.via = None;
        Ok(())
    }
}

/// Returns the array, or a copy if elements of it share memory.
pub(crate) fn injective(array: &Array) -> Result<Array> {
    if array.layout.is_injective() { Ok(array.clone()) } else { engine_of(array).cast(array, array.dtype()) }
}
