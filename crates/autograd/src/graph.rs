//! The types of the graph: tensors, and a node for each recorded operation with an edge to each operand that requires a
//! gradient.
//!
//! Tensors refer to nodes and nodes to tensors, so all of these types are defined here. `tensor` and `node` have their
//! methods.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use cuprous_core::attention::Attention;
use cuprous_core::convolution::{Geometry, Part};
use cuprous_core::recurrent::Recurrence;
use cuprous_core::scalar::Number;
use cuprous_core::{Array, Dims, Fun, LayoutRef, ReduceOp, Result, Saved, ScanOp, ScatterOp};
use smallvec::SmallVec;

use crate::foreign::Foreign;

/// An array and its position in the graph. Clones and views share both.
///
/// Invariants: `array.layout` shows a part of what `root.layout` shows. `via` is the chain of views from the whole
/// value to this part; it exists for views of a value that requires a gradient. If a root requires a gradient, each element
/// of its layout has memory of its own: a gradient has the layout of its value, and parts of a value are identified by
/// their layout alone.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Memory and view.
    pub array: Array,
    pub(crate) root: Arc<Root>,
    pub(crate) via: Option<Arc<View>>,
}

/// What all views of one value share: the node output that produced it. A write to any view replaces the source, so
/// that all views see the new one.
#[derive(Debug)]
pub(crate) struct Root {
    /// The layout of the whole value.
    pub(crate) layout: LayoutRef,
    pub(crate) state: Mutex<RootState>,
}

#[derive(Debug, Default)]
pub(crate) struct RootState {
    /// The node output that produced the value; `None` if the value does not require a gradient.
    pub(crate) source: Option<NodeOutput>,
    /// The node that accumulates a leaf's gradient. Kept while `requires_grad` is off, so that `grad` survives.
    pub(crate) leaf: Option<Arc<Node>>,
    /// How often the value was written to in place.
    pub(crate) writes: Writes,
}

/// A count of in-place writes, which detached tensors of the same memory share.
#[derive(Debug)]
pub(crate) enum Writes {
    Own(u32),
    Shared(Arc<AtomicU32>),
}

/// A value in the graph: one output of a node.
#[derive(Clone, Debug)]
pub struct NodeOutput {
    /// The node.
    pub node: Arc<Node>,
    /// The index of the output.
    pub index: u32,
}

/// A view of a value and the view from which it was made. It holds no storage, so it keeps no memory alive.
pub(crate) struct View {
    pub(crate) layout: LayoutRef,
    pub(crate) parent: Option<Arc<View>>,
    pub(crate) hooks: Hooks,
    /// The number of writes to the value at which the view, or one from which it was made, was created without gradient
    /// recording. Such a view requires a gradient as its value does, but no gradient flows through it.
    pub(crate) unrecorded: Option<u32>,
}

/// An operand that requires a gradient.
pub(crate) struct Edge {
    pub(crate) source: NodeOutput,
    /// The view through which the operand was read, if it was a part of the value.
    pub(crate) via: Option<Arc<View>>,
    /// The layout through which the operand was read.
    pub(crate) read: LayoutRef,
    /// The layout of the whole value.
    pub(crate) base: LayoutRef,
}

/// The edges of a node, by operand. `None` for operands that do not require a gradient.
pub(crate) type Edges = SmallVec<[Option<Edge>; 2]>;

/// Arrays saved for the backward pass: operands 0 to 2, then the result. Rules with more outputs use the slots as they
/// need.
pub(crate) type SavedArrays = [Option<Saved>; 4];

/// A recorded operation. `seq` orders the nodes: operands are older than the operations that read them.
pub struct Node {
    pub(crate) seq: u64,
    /// The gradient rule.
    pub rule: Rule,
    pub(crate) edges: Edges,
    /// `None` once it was freed.
    pub(crate) saved: Mutex<Option<SavedArrays>>,
    pub(crate) hooks: Hooks,
    /// The source location that recorded the operation, if anomaly detection was on.
    pub(crate) location: Option<u32>,
}

/// The gradient rule of an operation.
pub enum Rule {
    /// A leaf: gradients are accumulated here.
    Leaf(Mutex<Option<Tensor>>),
    /// A scalar function. Operands that were numbers are kept here.
    Map(Fun, [Option<Number>; 3]),
    /// A reduction of the axes whose bits are set.
    Reduce(ReduceOp, u32),
    /// A scan along an axis.
    Scan(ScanOp, usize),
    /// A product of (stacks of) matrices.
    Dot,
    /// A convolution or one of its gradients.
    Conv(Part, Arc<Geometry>),
    /// Layers of a recurrent network. Edges are the parameters, the input and the initial states; outputs are the
    /// sequence of outputs and the final states.
    Recurrence(Arc<Recurrence>),
    /// Attention by a device's library. Edges are Q, K and V.
    Attention(Arc<Attention>),
    /// The largest element of each window of this size; windows do not overlap. Saved operand 0 holds the positions of
    /// the largest elements within their windows.
    MaxPool(Dims),
    /// `x` times the normal distribution function of `x`.
    Gelu,
    /// Layer normalization from this axis on, with this epsilon, and whether it has a weight. Saved: input, weight, and
    /// (unless a device's routines compute them again) means and reciprocal standard deviations.
    LayerNorm(usize, f64, bool),
    /// Batch normalization with this epsilon, and whether it has a weight. Saved: input, weight, and either all statistics
    /// that a device's routine computed, or means and reciprocal standard deviations.
    BatchNorm(f64, bool),
    /// Softmax along an axis, or (if true) its logarithm.
    Softmax(usize, bool),
    /// The logarithm of the softmax along an axis, at the indices in saved operand 1. Saved operand 2 is the logarithm
    /// of the sum.
    LogLikelihood(usize),
    /// Elements picked by an index array (operand 1).
    Gather,
    /// A write through a layout. Edge 0 is the value before the write, edge 1 the value written.
    Update {
        /// The layout of the whole value.
        base: LayoutRef,
        /// The layout that was written.
        at: LayoutRef,
    },
    /// A write at an index array (operand 1). Edge 0 is the value before the write, edge 2 the value written.
    Scatter {
        /// How written elements were combined with those before.
        op: ScatterOp,
        /// The layout of the whole value.
        base: LayoutRef,
        /// The offset from which the index counts.
        offset: i64,
    },
    /// Arrays concatenated along an axis, and their extents.
    Concatenate(usize, Dims),
    /// A copy from the device of this number.
    ToDevice(u8),
    /// A checkpoint: the outputs are recomputed when their gradients arrive. Edges lead to the values from which they
    /// were computed.
    Recompute(Box<dyn Recompute>),
    /// A rule defined outside this crate, under its name.
    Custom(String, Box<dyn Custom>),
}

/// A function that sees a gradient in the backward pass and may replace it.
pub trait Hook: Foreign {
    /// Returns the gradient that replaces `g`, if any.
    fn call(&self, g: &Tensor) -> Result<Option<Tensor>>;
}

/// A gradient rule that is defined in Python.
pub trait Custom: Foreign {
    /// Returns the gradients of the operands (`None` if one has no gradient) from those of the outputs.
    fn backward(&self, node: &Arc<Node>, gs: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>>;
}

/// A function that recomputes the outputs of a checkpoint, with their graph.
pub trait Recompute: Foreign {
    /// Returns the outputs.
    fn compute(&self) -> Result<Vec<Tensor>>;
}

/// What happens with a gradient when it arrives.
#[derive(Clone)]
pub(crate) enum HookKind {
    /// Calls a function, which may replace the gradient.
    Call(Arc<dyn Hook>),
    /// Calls a function after a leaf's gradient was accumulated.
    PostAccumulate(Arc<dyn Hook>),
    /// Stores the gradient.
    Retain(Arc<Mutex<Option<Tensor>>>),
}

/// A hook on the gradient of one output, with the number by which it can be removed.
#[derive(Clone)]
pub(crate) struct RegisteredHook {
    pub(crate) id: u64,
    pub(crate) output: u32,
    pub(crate) kind: HookKind,
}

/// Hooks in the order in which they run.
pub(crate) type Hooks = Mutex<Vec<RegisteredHook>>;

/// Gradients of operands: the index of the edge, and the gradient in the shape in which the operand was read.
pub(crate) type Grads = SmallVec<[(usize, Tensor); 3]>;

static SEQ: AtomicU64 = AtomicU64::new(1);

/// Returns a number larger than all returned before. Numbers nodes and hooks.
pub(crate) fn next_seq() -> u64 {
    SEQ.fetch_add(1, Relaxed)
}

/// Locks a mutex. A panic while it was locked leaves its value usable.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Locks a mutex, or returns `None` if it is locked already.
pub(crate) fn try_locked<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Root {
    pub(crate) fn new(layout: LayoutRef, source: Option<NodeOutput>) -> Arc<Root> {
        Arc::new(Root { layout, state: Mutex::new(RootState { source, leaf: None, writes: Writes::Own(0) }) })
    }

    /// Returns a root that counts writes together with this one.
    pub(crate) fn detached(&self, layout: LayoutRef) -> Arc<Root> {
        let writes = Writes::Shared(locked(&self.state).writes.share());
        Arc::new(Root { layout, state: Mutex::new(RootState { source: None, leaf: None, writes }) })
    }

    pub(crate) fn source(&self) -> Option<NodeOutput> {
        locked(&self.state).source.clone()
    }

    pub(crate) fn set_source(&self, source: Option<NodeOutput>) {
        locked(&self.state).source = source;
    }
}

impl Writes {
    /// Returns the count.
    pub(crate) fn count(&self) -> u32 {
        match self {
            Writes::Own(count) => *count,
            Writes::Shared(count) => count.load(Relaxed),
        }
    }

    /// Counts one more write.
    pub(crate) fn increment(&mut self) {
        match self {
            Writes::Own(count) => *count = count.wrapping_add(1),
            Writes::Shared(count) => _ = count.fetch_add(1, Relaxed),
        }
    }

    /// Returns the count as one that others share.
    fn share(&mut self) -> Arc<AtomicU32> {
        if let Writes::Own(count) = self {
            *self = Writes::Shared(Arc::new(AtomicU32::new(*count)));
        }
        let Writes::Shared(count) = self else { unreachable!("the count is shared now") };
        count.clone()
    }
}

impl Default for Writes {
    fn default() -> Writes {
        Writes::Own(0)
    }
}

impl RootState {
    /// Returns the nodes that the state refers to.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.source.iter().map(|source| &source.node).chain(&self.leaf)
    }
}

impl Tensor {
    /// Returns a tensor that does not require a gradient.
    #[inline]
    pub fn new(array: Array) -> Tensor {
        let root = Root::new(array.layout.clone(), None);
        Tensor { array, root, via: None }
    }

    /// Returns the whole value that `source` produced.
    pub(crate) fn with_source(array: Array, source: NodeOutput) -> Tensor {
        debug_assert!(array.layout.is_injective(), "elements of a result share memory");
        let root = Root::new(array.layout.clone(), Some(source));
        Tensor { array, root, via: None }
    }

    /// Returns the operand of `edge`, with `array` as its contents.
    pub(crate) fn from_edge(array: Array, edge: &Edge) -> Tensor {
        let root = Root::new(edge.base.clone(), Some(edge.source.clone()));
        Tensor { array, root, via: edge.via.clone() }
    }
}

impl Drop for Node {
    /// Drops the operands in a loop, because recursion on a long chain would overflow the stack.
    fn drop(&mut self) {
        let mut pending: Vec<Edge> = self.edges.drain(..).flatten().collect();
        while let Some(edge) = pending.pop() {
            if let Some(mut node) = Arc::into_inner(edge.source.node) {
                pending.extend(node.edges.drain(..).flatten());
            }
        }
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({:?})", self.layout.shape)
    }
}
