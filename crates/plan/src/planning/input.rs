//! The planner's input.

use std::any::Any;
use std::sync::Arc;

use cuprous_core::{LayoutRef, Node, NodeKind, Scalar};

use super::Map;

/// A tape as the planner sees it.
pub(crate) struct Input<'a> {
    pub(crate) nodes: &'a [Node],
    /// True for each node whose value is visible outside the tape.
    pub(crate) live: &'a [bool],
    /// The storage that each node writes. Leaves come first, in slot order.
    pub(crate) storage_of: &'a [u32],
    /// Size of each storage.
    pub(crate) storage_bytes: &'a [usize],
    pub(crate) leaves: usize,
    pub(crate) layouts: &'a Map<u32, LayoutRef>,
    /// The launches of user kernels.
    pub(crate) launches: &'a [Arc<dyn Any + Send + Sync>],
    /// Values of the constants. A plan may depend on them only as [`Program::nonzero`](crate::Program) says.
    pub(crate) consts: &'a [Scalar],
}

impl Input<'_> {
    pub(crate) fn layout(&self, id: u32) -> &LayoutRef {
        &self.layouts[&id]
    }

    /// Returns true if a node is a write that replaces all of the previous version.
    pub(crate) fn overwrites(&self, node: usize) -> bool {
        let n = &self.nodes[node];
        let out = self.layout(n.out);
        n.kind == NodeKind::Update
            && out.identity
            && out.size as usize * out.dtype.size() == self.storage_bytes[self.storage_of[node] as usize]
    }
}
