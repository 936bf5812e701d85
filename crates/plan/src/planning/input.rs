//! What the planner is given.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use cuprous_core::{LayoutRef, Node, NodeKind, Scalar};

/// A tape as the planner sees it.
pub(crate) struct Input<'a> {
    pub(crate) nodes: &'a [Node],
    /// Somebody outside the tape sees the node's value.
    pub(crate) live: &'a [bool],
    /// Which storage each node writes; leaves come first, in slot order.
    pub(crate) storage_of: &'a [u32],
    /// Size of each storage.
    pub(crate) storage_bytes: &'a [usize],
    pub(crate) leaves: usize,
    pub(crate) layouts: &'a HashMap<u32, LayoutRef>,
    /// What the launches of users' kernels are.
    pub(crate) launches: &'a [Arc<dyn Any + Send + Sync>],
    /// Values of the constants, of which a plan may use no more than [`Program::nonzero`](crate::Program) says.
    pub(crate) consts: &'a [Scalar],
}

impl Input<'_> {
    pub(crate) fn layout(&self, id: u32) -> &LayoutRef {
        &self.layouts[&id]
    }

    /// A write that leaves nothing of the version before.
    pub(crate) fn overwrites(&self, node: usize) -> bool {
        let n = &self.nodes[node];
        let out = self.layout(n.out);
        n.kind == NodeKind::Update
            && out.identity
            && out.size as usize * out.dtype.size() == self.storage_bytes[self.storage_of[node] as usize]
    }
}
