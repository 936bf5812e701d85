//! The handle that every face shows under its own name.

use std::sync::Arc;

use crate::{DType, LayoutRef, Storage};

/// A view of a storage. Cheap to clone; clones alias.
#[derive(Clone, Debug)]
pub struct Array {
    /// What aliases share.
    pub storage: Arc<Storage>,
    /// How the elements lie in it.
    pub layout: LayoutRef,
}

impl Array {
    /// Element type.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// Extents.
    pub fn shape(&self) -> &[i64] {
        &self.layout.shape
    }

    /// The same storage seen otherwise.
    pub fn view(&self, layout: LayoutRef) -> Array {
        Array { storage: self.storage.clone(), layout }
    }
}
