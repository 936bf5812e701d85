//! The planner's input.

use std::any::Any;
use std::sync::Arc;

use cuprous_core::{LayoutRef, Node, NodeKind, Scalar};

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
    pub(crate) layouts: Layouts<'a>,
    /// The launches of user kernels.
    pub(crate) launches: &'a [Arc<dyn Any + Send + Sync>],
    /// Values of the constants. A plan may depend on them only as [`Program::nonzero`](crate::Program) says.
    pub(crate) consts: &'a [Scalar],
}

/// The layouts of a tape by id. A look-up is two loads, because the planner does dozens of them for each node.
#[derive(Clone, Copy)]
pub(crate) struct Layouts<'a> {
    layouts: &'a [LayoutRef],
    /// The position in `layouts` of each id that the tape uses.
    position: &'a [u32],
}

impl<'a> Layouts<'a> {
    /// Indexes the layouts of a tape. `position` is memory that is reused from tape to tape: entries of other tapes
    /// stay in it, and no node of this tape names them. Ids are reused, so it is as long as layouts were live at once.
    pub(crate) fn new(layouts: &'a [LayoutRef], position: &'a mut Vec<u32>) -> Layouts<'a> {
        for (k, layout) in layouts.iter().enumerate() {
            let id = layout.id as usize;
            if id >= position.len() {
                position.resize((id + 1).next_power_of_two(), 0);
            }
            position[id] = k as u32;
        }
        Layouts { layouts, position }
    }

    pub(crate) fn get(&self, id: u32) -> &'a LayoutRef {
        let layout = &self.layouts[self.position[id as usize] as usize];
        debug_assert_eq!(layout.id, id, "a tape keeps the layouts that its nodes name");
        layout
    }
}

impl<'a> Input<'a> {
    pub(crate) fn layout(&self, id: u32) -> &'a LayoutRef {
        self.layouts.get(id)
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
