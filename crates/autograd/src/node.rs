//! The graph: one node for an operation that was noted, with an edge to each operand that wants a gradient.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use cuprous_core::attention::Attention;
use cuprous_core::convolution::{Geometry, Part};
use cuprous_core::error::ErrorKind;
use cuprous_core::recurrent::Recurrence;
use cuprous_core::scalar::Number;
use cuprous_core::tape::{CURRENT_LOCATION, FORMAT_LOCATION};
use cuprous_core::{Array, Dims, Error, Fun, LayoutRef, ReduceOp, Result, Saved, ScanOp, ScatterOp};
use smallvec::SmallVec;

use crate::Tensor;
use crate::foreign::{Again, Custom, Hook, note_foreign};
use crate::mode::{self, Anomaly};
use crate::tensor::Root;

/// How to go back through an operation.
pub enum Rule {
    /// The end of the way: gradients are summed up here.
    Leaf(Mutex<Option<Tensor>>),
    /// A scalar function; operands that were numbers.
    Map(Fun, [Option<Number>; 3]),
    /// A fold of the axes in the mask.
    Fold(ReduceOp, u32),
    /// A running fold along an axis.
    Scan(ScanOp, usize),
    /// A product of (stacks of) matrices.
    Dot,
    /// A convolution or one of its ways back.
    Conv(Part, Arc<Geometry>),
    /// Layers of a recurrence: edges are its parameters, input and first states, outputs those and the last states.
    Recur(Arc<Recurrence>),
    /// Attention by the device's routine: edges are Q, K and V.
    Attend(Arc<Attention>),
    /// The largest element of each window of so many elements, side by side; operand 0 is kept as the places of those.
    MaxPool(Dims),
    /// x times the normal distribution function of x.
    Gelu,
    /// A layer normalisation from that axis on, with that added to the variance, and whether it is weighed; kept are the
    /// input, the weight, means and factors.
    LayerNorm(usize, f64, bool),
    /// A softmax along an axis, or its logarithm.
    Softmax(usize, bool),
    /// The logarithm of a softmax along an axis, at the places in operand 1; operand 2 is the logarithm of the sum.
    Likelihood(usize),
    /// Elements picked by an index array (operand 1).
    Gather,
    /// A write through a layout; edge 0 is what was there, edge 1 the value.
    Update {
        /// The whole value's layout.
        base: LayoutRef,
        /// What was written.
        at: LayoutRef,
    },
    /// A write at an index array (operand 1); edge 0 is what was there, edge 2 the value.
    Scatter {
        /// How it was combined.
        op: ScatterOp,
        /// The whole value's layout.
        base: LayoutRef,
        /// The offset from which the index counts.
        offset: i64,
    },
    /// Arrays one behind the other along an axis, and their extents.
    Join(usize, Dims),
    /// A copy from the device of that number.
    Move(u8),
    /// Computed again when the gradient arrives: the edges are what it was computed from.
    Again(Box<dyn Again>),
    /// Somebody else's rule, under a name.
    Custom(String, Box<dyn Custom>),
}

/// What listens to a gradient.
#[derive(Clone)]
pub(crate) enum Listener {
    Hook(Arc<dyn Hook>),
    /// Is told when the gradient was summed up.
    After(Arc<dyn Hook>),
    /// Keeps it.
    Keep(Arc<Mutex<Option<Tensor>>>),
}

/// A listener to the gradient of output `out`, with its number.
#[derive(Clone)]
pub(crate) struct Tap {
    pub(crate) id: u64,
    pub(crate) out: u32,
    pub(crate) listener: Listener,
}

/// Listeners, in the order in which they are called.
pub(crate) type Taps = Mutex<Vec<Tap>>;

/// A value in the graph: an output of a node.
#[derive(Clone, Debug)]
pub struct Head {
    /// The node.
    pub node: Arc<Node>,
    /// Which of its outputs.
    pub out: u32,
}

/// A part of a value that a handle shows, and of which part it was made; without handles of its own, so that it keeps
/// no memory.
pub(crate) struct View {
    pub(crate) layout: LayoutRef,
    pub(crate) parent: Option<Arc<View>>,
    pub(crate) taps: Taps,
}

/// An operand that wants a gradient.
pub(crate) struct Edge {
    pub(crate) head: Head,
    /// The handle's way from the whole value, if it shows a part.
    pub(crate) via: Option<Arc<View>>,
    /// How the operand lies in the value's memory.
    pub(crate) read: LayoutRef,
    /// How the whole value lies there.
    pub(crate) base: LayoutRef,
}

/// What is kept for the way back: operands 0 to 2 and the result.
pub(crate) type Kept = [Option<Saved>; 4];

/// An operation that was noted. Nodes are ordered by `seq`: operands are older.
pub struct Node {
    pub(crate) seq: u64,
    /// How to go back.
    pub rule: Rule,
    pub(crate) edges: SmallVec<[Option<Edge>; 2]>,
    /// `None` once it was let go of.
    kept: Mutex<Option<Kept>>,
    pub(crate) taps: Taps,
    /// The line that recorded it, while anomalies are looked after.
    place: Option<u32>,
}

static SEQ: AtomicU64 = AtomicU64::new(1);

/// A number that is larger than all before.
pub(crate) fn next() -> u64 {
    SEQ.fetch_add(1, Relaxed)
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Locks a mutex. `None` if it is locked already.
pub(crate) fn try_locked<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Node {
    pub(crate) fn new(rule: Rule, edges: SmallVec<[Option<Edge>; 2]>, kept: Kept) -> Arc<Node> {
        if matches!(rule, Rule::Custom(..) | Rule::Again(_)) {
            note_foreign();
        }
        let place = (mode::anomaly() != Anomaly::Off).then(|| CURRENT_LOCATION.get().map(|here| here())).flatten();
        Arc::new(Node { seq: next(), rule, edges, kept: Mutex::new(Some(kept)), taps: Mutex::default(), place })
    }

    pub(crate) fn leaf() -> Arc<Node> {
        Node::new(Rule::Leaf(Mutex::new(None)), SmallVec::new(), Default::default())
    }

    /// An error of the way back, with the line that recorded the operation where that is known.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let Some((place, spell)) = self.place.zip(FORMAT_LOCATION.get()) else { return error };
        let message = format!("{}\n  [{}] was recorded at {}", error.message, self.name(), spell(place));
        Error { message, ..error }
    }

    /// Is it where gradients are summed up?
    pub fn is_leaf(&self) -> bool {
        matches!(self.rule, Rule::Leaf(_))
    }

    /// PyTorch's name for the way back.
    pub fn name(&self) -> String {
        let camel = |name: &str| -> String {
            name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect::<String>()
        };
        match &self.rule {
            Rule::Leaf(_) => "AccumulateGrad".into(),
            Rule::Map(Fun::Cast, _) => "ToCopyBackward0".into(),
            Rule::Map(Fun::Positive, _) => "CloneBackward0".into(),
            Rule::Map(fun, _) => {
                let name = match fun {
                    Fun::Subtract => "sub",
                    Fun::Multiply => "mul",
                    Fun::Divide => "div",
                    Fun::Power | Fun::Square => "pow",
                    Fun::Negative => "neg",
                    Fun::Absolute => "abs",
                    Fun::Arcsin => "asin",
                    Fun::Arccos => "acos",
                    Fun::Arctan => "atan",
                    Fun::Expit => "sigmoid",
                    Fun::Rint => "round",
                    fun => fun.op().name,
                };
                camel(name) + "Backward0"
            }
            Rule::Fold(ReduceOp::Max, _) => "AmaxBackward0".into(),
            Rule::Fold(ReduceOp::Min, _) => "AminBackward0".into(),
            Rule::Fold(ReduceOp::M2, _) => "VarBackward0".into(),
            Rule::Fold(op, mask) => {
                let all = self.edges.first().and_then(Option::as_ref).map_or(0, |edge| edge.read.ndim());
                format!("{op:?}Backward{}", u8::from((mask.count_ones() as usize) < all))
            }
            Rule::Scan(op, _) => format!("Cum{}Backward0", format!("{op:?}").to_lowercase()),
            Rule::Dot => "MmBackward0".into(),
            Rule::Conv(..) => "ConvolutionBackward0".into(),
            Rule::Recur(_) => "CudnnRnnBackward0".into(),
            Rule::Attend(_) => "ScaledDotProductCudnnAttentionBackward0".into(),
            Rule::Gelu => "GeluBackward0".into(),
            Rule::LayerNorm(..) => "NativeLayerNormBackward0".into(),
            Rule::MaxPool(_) => "MaxPool2DWithIndicesBackward0".into(),
            Rule::Softmax(_, log) => if *log { "LogSoftmaxBackward0" } else { "SoftmaxBackward0" }.into(),
            Rule::Likelihood(_) => "NllLossBackward0".into(),
            Rule::Gather => "IndexBackward0".into(),
            Rule::Update { .. } => "CopySlices".into(),
            Rule::Scatter { .. } => "IndexPutBackward0".into(),
            Rule::Join(..) => "CatBackward0".into(),
            Rule::Move(_) => "ToCopyBackward0".into(),
            Rule::Again(_) => "CheckpointBackward".into(),
            Rule::Custom(name, _) => name.clone(),
        }
    }

    /// Where the gradient of each operand goes; none where nobody wants it.
    pub fn sources(&self) -> impl Iterator<Item = Option<Head>> + '_ {
        self.edges.iter().map(|edge| edge.as_ref().map(|edge| edge.head.clone()))
    }

    /// Nothing was kept, or it is still there.
    pub(crate) fn check(&self) -> Result<()> {
        match &*locked(&self.kept) {
            Some(_) => Ok(()),
            None => Err(freed()),
        }
    }

    /// Operand `k` as it was when the operation was recorded.
    pub(crate) fn operand(&self, k: usize) -> Result<Tensor> {
        let array = self.saved(k)?;
        Ok(match self.edges.get(k) {
            Some(Some(edge)) if array.layout.id == edge.read.id => Tensor::from_edge(array, edge),
            // What was kept is a copy of the operand.
            Some(Some(edge)) if mode::enabled() => {
                let Edge { head, via, read, base } = edge;
                let edge = Edge { head: head.clone(), via: via.clone(), read: read.clone(), base: base.clone() };
                let rule = Rule::Map(Fun::Positive, [None; 3]);
                let node = Node::new(rule, std::iter::once(Some(edge)).collect(), Default::default());
                Tensor::with_head(array, Head { node, out: 0 })
            }
            _ => Tensor::new(array),
        })
    }

    /// The result as it was.
    pub(crate) fn result(self: &Arc<Node>) -> Result<Tensor> {
        Ok(Tensor::with_head(self.saved(3)?, Head { node: self.clone(), out: 0 }))
    }

    /// What was kept of operand `k`, or of the result (3).
    pub(crate) fn saved(&self, k: usize) -> Result<Array> {
        match &*locked(&self.kept) {
            Some(kept) => Ok(kept[k].as_ref().expect("what a rule needs was kept").array()),
            None => Err(freed()),
        }
    }

    /// Lets go of what was kept. A node that kept nothing can be walked again.
    pub(crate) fn free(&self) {
        let mut kept = locked(&self.kept);
        if kept.as_ref().is_some_and(|kept| kept.iter().any(Option::is_some))
            || matches!(self.rule, Rule::Custom(..) | Rule::Again(_))
        {
            *kept = None;
        }
        drop(kept);
        match &self.rule {
            Rule::Custom(_, rule) => rule.release(),
            Rule::Again(again) => again.release(),
            _ => {}
        }
    }
}

fn freed() -> Error {
    Error {
        kind: ErrorKind::Runtime,
        message: "Trying to backward through the graph a second time (or directly access saved tensors after they \
                  have already been freed). Saved intermediate values of the graph are freed when you call \
                  .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph \
                  a second time or if you need to access saved tensors after calling backward."
            .into(),
    }
}

impl Drop for Node {
    /// A long chain would overflow the stack if each node dropped the next.
    fn drop(&mut self) {
        let mut waiting: Vec<Edge> = self.edges.drain(..).flatten().collect();
        while let Some(edge) = waiting.pop() {
            if let Some(mut node) = Arc::into_inner(edge.head.node) {
                waiting.extend(node.edges.drain(..).flatten());
            }
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.name())
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({:?})", self.layout.shape)
    }
}

impl Tensor {
    pub(crate) fn from_edge(array: Array, edge: &Edge) -> Tensor {
        Tensor::from_parts(array, Root::new(edge.base.clone(), Some(edge.head.clone())), edge.via.clone())
    }
}
