//! What a node of the graph knows: its name, its operands and the arrays saved for the backward pass.

use std::fmt;
use std::sync::{Arc, Mutex};

use cuprous_core::error::ErrorKind;
use cuprous_core::tape::{CURRENT_LOCATION, FORMAT_LOCATION};
use cuprous_core::{Array, Error, Fun, ReduceOp, Result};
use smallvec::SmallVec;

use crate::foreign;
use crate::graph::{Edge, Edges, Node, NodeOutput, Rule, SavedArrays, Tensor, locked, next_seq};
use crate::mode::{self, Anomaly};

impl Node {
    pub(crate) fn new(rule: Rule, edges: Edges, saved: SavedArrays) -> Arc<Node> {
        if matches!(rule, Rule::Custom(..) | Rule::Recompute(_)) {
            foreign::mark_present();
        }
        let detects = mode::anomaly() != Anomaly::Off;
        let location = detects.then(|| CURRENT_LOCATION.get().map(|current| current())).flatten();
        Arc::new(Node {
            seq: next_seq(),
            rule,
            edges,
            saved: Mutex::new(Some(saved)),
            hooks: Mutex::default(),
            location,
        })
    }

    pub(crate) fn leaf() -> Arc<Node> {
        Node::new(Rule::Leaf(Mutex::new(None)), SmallVec::new(), Default::default())
    }

    /// Adds to an error of the backward pass the source location that recorded the operation, if it is known.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let Some((location, format)) = self.location.zip(FORMAT_LOCATION.get()) else { return error };
        let message = format!("{}\n  [{}] was recorded at {}", error.message, self.name(), format(location));
        Error { message, ..error }
    }

    /// Returns true if gradients are accumulated here.
    pub fn is_leaf(&self) -> bool {
        matches!(self.rule, Rule::Leaf(_))
    }

    /// Returns PyTorch's name for the gradient rule.
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
            Rule::Reduce(ReduceOp::Max, _) => "AmaxBackward0".into(),
            Rule::Reduce(ReduceOp::Min, _) => "AminBackward0".into(),
            Rule::Reduce(ReduceOp::M2, _) => "VarBackward0".into(),
            Rule::Reduce(op, mask) => {
                let all = self.edges.first().and_then(Option::as_ref).map_or(0, |edge| edge.read.ndim());
                format!("{op:?}Backward{}", u8::from((mask.count_ones() as usize) < all))
            }
            Rule::Scan(op, _) => format!("Cum{}Backward0", format!("{op:?}").to_lowercase()),
            Rule::Dot => "MmBackward0".into(),
            Rule::Conv(..) => "ConvolutionBackward0".into(),
            Rule::Recurrence(_) => "CudnnRnnBackward0".into(),
            Rule::Attention(_) => "ScaledDotProductCudnnAttentionBackward0".into(),
            Rule::Gelu => "GeluBackward0".into(),
            Rule::LayerNorm(..) => "NativeLayerNormBackward0".into(),
            Rule::BatchNorm(..) => "NativeBatchNormBackward0".into(),
            Rule::MaxPool(_) => "MaxPool2DWithIndicesBackward0".into(),
            Rule::Softmax(_, log) => if *log { "LogSoftmaxBackward0" } else { "SoftmaxBackward0" }.into(),
            Rule::LogLikelihood(_) => "NllLossBackward0".into(),
            Rule::Gather => "IndexBackward0".into(),
            Rule::Update { .. } => "CopySlices".into(),
            Rule::Scatter { .. } => "IndexPutBackward0".into(),
            Rule::Concatenate(..) => "CatBackward0".into(),
            Rule::ToDevice(_) => "ToCopyBackward0".into(),
            Rule::Recompute(_) => "CheckpointBackward".into(),
            Rule::Custom(name, _) => name.clone(),
        }
    }

    /// Returns the node output to which the gradient of each operand goes. `None` if the operand does not require one.
    pub fn sources(&self) -> impl Iterator<Item = Option<NodeOutput>> + '_ {
        self.edges.iter().map(|edge| edge.as_ref().map(|edge| edge.source.clone()))
    }

    /// Returns PyTorch's error if the saved arrays were freed.
    pub(crate) fn check_saved(&self) -> Result<()> {
        match &*locked(&self.saved) {
            Some(_) => Ok(()),
            None => Err(freed()),
        }
    }

    /// Returns operand `k` as it was when the operation was recorded.
    pub(crate) fn operand(&self, k: usize) -> Result<Tensor> {
        let array = self.saved(k)?;
        Ok(match self.edges.get(k) {
            Some(Some(edge)) if array.layout.id == edge.read.id => Tensor::from_edge(array, edge),
            // A copy of the operand was saved. It enters the graph as a copy.
            Some(Some(edge)) if mode::enabled() => {
                let Edge { source, via, read, base } = edge;
                let edge = Edge { source: source.clone(), via: via.clone(), read: read.clone(), base: base.clone() };
                let rule = Rule::Map(Fun::Positive, [None; 3]);
                let node = Node::new(rule, std::iter::once(Some(edge)).collect(), Default::default());
                Tensor::with_source(array, NodeOutput { node, index: 0 })
            }
            _ => Tensor::new(array),
        })
    }

    /// Returns the result as it was when the operation was recorded.
    pub(crate) fn result(self: &Arc<Node>) -> Result<Tensor> {
        Ok(Tensor::with_source(self.saved(3)?, NodeOutput { node: self.clone(), index: 0 }))
    }

    /// Returns true if operand `k`, or the result (3), was saved and not freed.
    pub(crate) fn saves(&self, k: usize) -> bool {
        locked(&self.saved).as_ref().is_some_and(|saved| saved[k].is_some())
    }

    /// Returns the saved array of operand `k`, or of the result (3).
    pub(crate) fn saved(&self, k: usize) -> Result<Array> {
        match &*locked(&self.saved) {
            Some(saved) => Ok(saved[k].as_ref().expect("a rule saves what it reads").array()),
            None => Err(freed()),
        }
    }

    /// Frees the saved arrays. A node without any can go through another backward pass.
    pub(crate) fn free(&self) {
        let mut saved = locked(&self.saved);
        if saved.as_ref().is_some_and(|saved| saved.iter().any(Option::is_some))
            || matches!(self.rule, Rule::Custom(..) | Rule::Recompute(_))
        {
            *saved = None;
        }
        drop(saved);
        match &self.rule {
            Rule::Custom(_, rule) => rule.release(),
            Rule::Recompute(function) => function.release(),
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

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.name())
    }
}
