//! What a tensor does with its position in the graph: views, `requires_grad`, gradients and hooks.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use cuprous_core::{Array, DType, Error, LayoutRef, Result};

use crate::engine::engine_of;
use crate::graph::{
    Edge, Hook, HookKind, Node, NodeOutput, RegisteredHook, Root, RootState, Rule, Tensor, View, Writes, locked,
    next_seq,
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

    /// Returns true if no recorded operation produced the tensor. A view that was created without gradient recording
    /// counts as such.
    pub fn is_leaf(&self) -> bool {
        self.is_unrecorded_view() || self.source().is_none_or(|source| source.node.is_leaf() && self.is_whole())
    }

    /// Returns true for a view that was itself created without gradient recording, of a value that requires a gradient.
    fn is_unrecorded_view(&self) -> bool {
        let Some(view) = &self.via else { return false };
        view.unrecorded.is_some() && view.parent.as_ref().is_none_or(|parent| parent.unrecorded.is_none())
    }

    /// Returns true for a view of a value, also if it shows all of it.
    pub fn is_view(&self) -> bool {
        !self.is_whole()
    }

    /// Returns the whole value of which this tensor is a view.
    pub fn base(&self) -> Tensor {
        Tensor { array: self.array.view(self.root.layout.clone()), root: self.root.clone(), via: None }
    }

    /// Returns how often the value was written to in place. Views and detached tensors share the count.
    pub fn version(&self) -> u32 {
        locked(&self.root.state).writes.count()
    }

    /// Counts a write in place.
    pub fn count_write(&self) {
        locked(&self.root.state).writes.increment();
    }

    /// Raises PyTorch's error if the tensor is a view that was created without gradient recording and its value has been
    /// written to since: its position in the graph is undefined.
    pub fn check_position(&self) -> Result<()> {
        match self.via.as_ref().and_then(|view| view.unrecorded) {
            Some(version) if version != self.version() => Err(self.ambiguous(
                "and its base or another view of its base has been modified inplace with grad mode enabled",
            )),
            _ => Ok(()),
        }
    }

    /// Returns PyTorch's error for a view that was created without gradient recording.
    #[cold]
    fn ambiguous(&self, what: &str) -> Error {
        let view = if self.is_unrecorded_view() {
            "A view was"
        } else {
            "Output 0 of ViewBackward0 is a view of a view which was"
        };
        Error::runtime(format!(
            "{view} created in no_grad mode {what}. Given that this use case is ambiguous and error-prone, it is \
             forbidden. You can clarify your code by moving both the view and the inplace either both inside the no_grad \
             block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
        ))
    }

    /// Raises PyTorch's error for a write in place that cannot be recorded: to a leaf that requires a gradient, to a view
    /// of one, or to a view that was created without gradient recording.
    pub fn check_write(&self) -> Result<()> {
        if !mode::enabled() {
            return Ok(());
        }
        if self.via.as_ref().is_some_and(|view| view.unrecorded.is_some()) && self.requires_grad() {
            return Err(self.ambiguous("and is being modified inplace with grad mode enabled"));
        }
        match self.source() {
            Some(source) if source.node.is_leaf() => Err(Error::runtime(if self.is_whole() {
                "a leaf Variable that requires grad is being used in an in-place operation."
            } else {
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            })),
            _ => Ok(()),
        }
    }

    /// Raises an error for a write that is recorded, through a view by strides that leaves its value: the gradient has
    /// memory for the value only.
    pub(crate) fn check_inside(&self) -> Result<()> {
        let inside = match (self.array.layout.span(), self.root.layout.span()) {
            (Some((from, to)), Some((low, high))) => low <= from && to <= high,
            (reached, _) => reached.is_none(),
        };
        if inside {
            return Ok(());
        }
        Err(Error::not_implemented(
            "[as_strided] a write is not differentiable through a view that reaches outside of the tensor it was made \
             from; make the view from the tensor that has all of the memory",
        ))
    }

    /// Returns the edge of an operation that reads this tensor, or `None` if no gradient flows to it.
    pub(crate) fn edge(&self) -> Option<Edge> {
        if self.via.as_ref().is_some_and(|view| view.unrecorded.is_some()) {
            return None;
        }
        let source = self.source()?;
        Some(Edge { source, via: self.via.clone(), read: self.array.layout.clone(), base: self.root.layout.clone() })
    }

    /// Returns another view of the same memory.
    pub fn view(&self, layout: LayoutRef) -> Tensor {
        let array = self.array.view(layout);
        let (tracked, version) = {
            let state = locked(&self.root.state);
            (state.source.is_some(), state.writes.count())
        };
        let via = tracked.then(|| {
            let inherited = self.via.as_ref().and_then(|view| view.unrecorded);
            let unrecorded = if mode::enabled() { inherited } else { Some(version) };
            // A view without gradient recording is a leaf, whatever it was made from.
            let parent = if mode::enabled() { self.via.clone() } else { None };
            Arc::new(View { layout: array.layout.clone(), parent, hooks: Mutex::default(), unrecorded })
        });
        Tensor { array, root: self.root.clone(), via }
    }

    /// If the value lies in an order that an engine chose ([`Layout::in_engine_order`]), moves it to row-major memory, as
    /// the program must see it before it looks at strides or makes a view. The position in the graph stays the same.
    ///
    /// # Errors
    /// The copy cannot be recorded.
    ///
    /// [`Layout::in_engine_order`]: cuprous_core::Layout::in_engine_order
    pub fn show_row_major(&mut self) -> Result<()> {
        if !self.array.layout.engine_order {
            return Ok(());
        }
        debug_assert!(self.is_whole(), "there are no views of such a value");
        self.array = engine_of(&self.array).cast(&self.array, self.dtype())?;
        let state = std::mem::take(&mut *locked(&self.root.state));
        *locked(&self.root.state) = RootState { source: state.source.clone(), ..Default::default() };
        self.root = Arc::new(Root { layout: self.array.layout.clone(), state: Mutex::new(state) });
        Ok(())
    }

    /// Returns a tensor of the same memory that is not part of the graph.
    pub fn detach(&self) -> Tensor {
        let root = self.root.detached(self.array.layout.clone());
        Tensor { array: self.array.clone(), root, via: None }
    }

    /// Sets whether a leaf requires a gradient.
    pub fn set_requires_grad(&mut self, on: bool) -> Result<()> {
        match (self.source(), on) {
            (Some(_), true) | (None, false) => Ok(()),
            (Some(_), false) if self.is_unrecorded_view() => Ok(()),
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
                    self.root = self.root.detached(self.array.layout.clone());
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
        if self.is_leaf() && !self.is_unrecorded_view() {
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
        if self.is_unrecorded_view() {
            // No backward pass changes the gradient of such a view, so only this one can be stored.
            self.with_hooks(|hooks, _| hooks.retain(|hook| !matches!(hook.kind, HookKind::Retain(_))));
            self.add_hook(HookKind::Retain(Arc::new(Mutex::new(gradient))));
            return Ok(());
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

    /// Makes this handle show what `view`, a view of it, shows. A leaf stays one.
    pub fn become_view(&mut self, view: Tensor) -> Result<()> {
        self.check_write()?;
        self.count_write();
        match (self.is_whole(), self.requires_grad(), mode::enabled()) {
            (true, true, false) => self.set_data(view.array)?,
            (true, false, _) => *self = view.detach(),
            _ => *self = view,
        }
        Ok(())
    }

    /// Replaces the array and keeps the position in the graph, as `tensor.data = other` does.
    pub fn set_data(&mut self, array: Array) -> Result<()> {
        if self.is_unrecorded_view() {
            *self = Tensor::new(array);
            return Ok(());
        }
        if let Some(source) = self.source()
            && !(source.node.is_leaf() && self.is_whole())
        {
            return Err(Error::runtime("only the data of a leaf can be set"));
        }
        let leaf = locked(&self.root.state).leaf.clone();
        let source = self.source();
        let version = self.version();
        let array = if source.is_some() { injective(&array)? } else { array };
        self.root = Root::new(array.layout.clone(), source);
        {
            let mut state = locked(&self.root.state);
            state.leaf = leaf;
            state.writes = Writes::Own(version);
        }
        self.array = array;
        self.via = None;
        Ok(())
    }
}

/// Returns the array, or a copy if elements of it share memory.
pub(crate) fn injective(array: &Array) -> Result<Array> {
    if array.layout.is_injective() { Ok(array.clone()) } else { engine_of(array).cast(array, array.dtype()) }
}
