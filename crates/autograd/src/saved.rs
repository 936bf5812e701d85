//! Tensors saved for the backward pass.

use std::sync::Arc;

use cuprous_core::Saved;

use crate::graph::{Edge, Tensor};

/// A tensor as it was when it was saved. Later writes change neither its contents nor its position in the graph. Saving
/// copies nothing; the first write to the memory copies the contents.
pub struct SavedTensor {
    saved: Saved,
    edge: Option<Edge>,
}

impl SavedTensor {
    /// Saves a tensor as it is now.
    pub fn new(t: &Tensor) -> SavedTensor {
        SavedTensor { saved: Saved::new(&t.array), edge: t.edge() }
    }

    /// Returns the tensor that was saved.
    pub fn tensor(&self) -> Tensor {
        let array = self.saved.array();
        match &self.edge {
            Some(edge) => Tensor::from_edge(array, edge),
            None => Tensor::new(array),
        }
    }

    /// Returns true if `t` still has the saved memory, layout and position in the graph.
    pub fn is_current(&self, t: &Tensor) -> bool {
        let array = self.saved.array();
        let same_source = match (&self.edge, t.source()) {
            (Some(edge), Some(source)) => {
                Arc::ptr_eq(&edge.source.node, &source.node) && edge.source.index == source.index
            }
            (edge, source) => edge.is_none() && source.is_none(),
        };
        same_source && Arc::ptr_eq(&array.storage, &t.array.storage) && array.layout.id == t.array.layout.id
    }
}
