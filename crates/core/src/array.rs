//! The array handle that every Python face wraps in a class of its own.

use std::sync::Arc;

use crate::{DType, LayoutRef, Storage};

/// A view of a storage. Cheap to clone; clones alias.
#[derive(Clone, Debug)]
pub struct Array {
    /// The memory and state that views share.
    pub storage: Arc<Storage>,
    /// The layout of the elements in it.
    pub layout: LayoutRef,
}

impl Array {
    /// Returns the element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// Returns the extents.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        &self.layout.shape
    }

    /// Returns another view of the same storage.
    #[inline]
    pub fn view(&self, layout: LayoutRef) -> Array {
        Array { storage: self.storage.clone(), layout }
    }
}
