//! Fusion: which recorded operations run together.
//!
//! Nodes are taken in tape order and put into **groups**. The list of groups is a valid schedule at every moment. A
//! node may join any group that comes no earlier than everything it depends on. It may share a group with a dependency
//! only if the value passes from one to the other inside the iteration (a *direct* edge). Write-after-read and
//! write-after-write are dependencies like any other, so no load moves across a write of its storage.

use cuprous_core::node::SrcKind;
use cuprous_core::{Dims, LayoutRef, Node, NodeKind, Src};

use smallvec::SmallVec;

use super::NONE;
use super::epilogue::{self, FusedMatmul};
use super::input::Input;
use crate::program::Level;

/// Nodes that run in one step.
#[derive(Debug)]
pub(crate) struct Group {
    /// Iteration space of full-level nodes.
    pub(crate) shape: Dims,
    /// Reduced axes of `shape`, as bits; 0 without a reduction.
    pub(crate) mask: u32,
    /// In tape order.
    pub(crate) nodes: Vec<u32>,
    /// For a matmul with a fused epilogue, its index in [`Fusion::fused_matmuls`].
    pub(crate) fused: Option<usize>,
    /// True if further nodes may join.
    open: bool,
    /// True if every node reads and writes in flat order, so that only the size of `shape` matters.
    flat: bool,
    /// The formula that the nodes belong to, or 0: see `Node::extra`.
    formula: u8,
    /// Groups that must not run before this one.
    successors: Vec<u32>,
}

/// Limits that keep generated code small.
const MAX_NODES: usize = 192;
/// Longest row that a kernel keeps in registers or shared memory between passes.
const MAX_ROW: i64 = 1 << 15;
/// How many groups a node considers joining.
const LOOKAHEAD: usize = 12;

/// The grouping of a tape.
pub(crate) struct Fusion<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) needed: Vec<bool>,
    pub(crate) groups: Vec<Group>,
    pub(crate) level: Vec<Level>,
    pub(crate) fused_matmuls: Vec<FusedMatmul>,
    /// The index of the fused matmul that each node belongs to.
    matmul_of: Vec<Option<usize>>,
    group_of: Vec<u32>,
    /// The group that each group was merged into; itself if it was not merged.
    merged_into: Vec<u32>,
    /// The last node that writes each storage, or [`NONE`].
    pub(crate) last_writer: Vec<u32>,
    /// (reader, layout id) of each version, by node and by leaf.
    node_readers: Vec<Readers>,
    leaf_readers: Vec<Readers>,
}

type Readers = SmallVec<[(u32, u32); 2]>;
/// Nodes that must run before a node, each with true if the node may run in its group.
type Dependencies = SmallVec<[(u32, bool); 6]>;

impl<'a> Fusion<'a> {
    /// Groups the needed nodes of a tape.
    pub(crate) fn new(input: Input<'a>) -> Fusion<'a> {
        let n = input.nodes.len();
        let needed = needed(&input);
        let fused_matmuls = epilogue::fused_matmuls(&input, &needed);
        let mut last_writer = vec![NONE; input.storage_bytes.len()];
        for k in (0..n).filter(|&k| input.nodes[k].is_write()) {
            last_writer[input.storage_of[k] as usize] = k as u32;
        }
        let mut matmul_of = vec![None; n];
        for (k, fused) in fused_matmuls.iter().enumerate() {
            fused.members.iter().for_each(|&m| matmul_of[m as usize] = Some(k));
        }
        let mut fusion = Fusion {
            needed,
            matmul_of,
            fused_matmuls,
            groups: Vec::with_capacity(n),
            level: vec![Level::Full; n],
            group_of: vec![NONE; n],
            merged_into: Vec::with_capacity(n),
            last_writer,
            node_readers: vec![Readers::new(); n],
            leaf_readers: vec![Readers::new(); input.leaves],
            input,
        };
        for node in 0..n as u32 {
            match fusion.matmul_of[node as usize] {
                Some(fused) if fusion.fused_matmuls[fused].last == node => fusion.place_matmul(fused),
                Some(_) => {}
                None if fusion.needed[node as usize] => fusion.place(node),
                None => {}
            }
        }
        fusion
    }

    pub(crate) fn layout(&self, id: u32) -> &'a LayoutRef {
        self.input.layout(id)
    }

    pub(crate) fn node(&self, node: u32) -> &'a Node {
        &self.input.nodes[node as usize]
    }

    /// Returns the group that a node is in, after merges.
    pub(crate) fn group(&self, node: u32) -> u32 {
        self.resolve(self.group_of[node as usize])
    }

    /// Returns true if a node is a write that replaces all of the previous version.
    pub(crate) fn overwrites(&self, node: u32) -> bool {
        self.input.overwrites(node as usize)
    }

    /// Puts a node into a group, into a new one if no group can take it.
    fn place(&mut self, n: u32) {
        let node = *self.node(n);
        if self.layout(node.out).size == 0 {
            // Empty values need no work; reading one reads nothing.
            self.needed[n as usize] = false;
            return;
        }
        let alone = matches!(node.kind, NodeKind::Routine | NodeKind::Scatter | NodeKind::Launch);
        let (shape, mask) = match node.kind {
            NodeKind::Reduce => (&self.layout(node.ins[0].layout).shape, node.reduced_axes()),
            NodeKind::Scatter => (&self.layout(node.ins[1].layout).shape, 0),
            _ => (&self.layout(node.out).shape, 0),
        };
        let flat = self.is_flat(&node);
        let mut dependencies = self.dependencies(n);
        let target = if node.kind == NodeKind::Launch && node.fun == 0 {
            // The nodes of a launch are adjacent on the tape, so nothing has been placed since the first.
            Some((self.group(n - 1), Level::Full))
        } else if alone {
            None
        } else {
            if self.merge_producers(n, &dependencies) {
                dependencies = self.dependencies(n);
            }
            self.find_group(n, shape, mask, flat, &dependencies)
        };
        let (group, level) = target.unwrap_or_else(|| {
            let group = self.groups.len() as u32;
            self.groups.push(Group {
                shape: shape.clone(),
                mask: 0,
                nodes: Vec::new(),
                fused: None,
                open: !alone,
                flat: true,
                formula: 0,
                successors: Vec::new(),
            });
            self.merged_into.push(group);
            let level = if node.kind == NodeKind::Reduce { Level::Row } else { Level::Full };
            (group, level)
        });
        self.level[n as usize] = level;
        self.group_of[n as usize] = group;
        let g = &mut self.groups[group as usize];
        g.nodes.push(n);
        g.formula = node.formula();
        if node.kind == NodeKind::Reduce {
            g.mask = mask;
            g.shape = shape.clone();
            g.flat = false;
        } else if level == Level::Full && !flat {
            g.shape = shape.clone();
            g.flat = false;
        }
        self.register(n, group, &dependencies);
    }

    /// Gives a fused matmul a group of its own, after everything so far.
    fn place_matmul(&mut self, fused: usize) {
        let group = self.groups.len() as u32;
        let members = self.fused_matmuls[fused].members.clone();
        members.iter().for_each(|&m| self.group_of[m as usize] = group);
        self.merged_into.push(group);
        self.groups.push(Group {
            shape: self.layout(self.node(members[0]).out).shape.clone(),
            mask: 0,
            nodes: members.clone(),
            fused: Some(fused),
            open: false,
            flat: false,
            formula: 0,
            successors: Vec::new(),
        });
        for m in members {
            let dependencies = self.dependencies(m);
            self.register(m, group, &dependencies);
        }
    }

    /// Records what a placed node depends on and what it reads.
    fn register(&mut self, n: u32, group: u32, dependencies: &[(u32, bool)]) {
        for &(dep, _) in dependencies {
            let from = self.group(dep);
            if from != group {
                self.groups[from as usize].successors.push(group);
            }
        }
        let node = *self.node(n);
        for operand in node.operands() {
            let readers = match operand.src.kind() {
                SrcKind::Node(p) => &mut self.node_readers[p as usize],
                SrcKind::Leaf(slot) => &mut self.leaf_readers[slot as usize],
                _ => continue,
            };
            readers.push((n, operand.layout));
        }
    }

    /// Returns true if all operands are read, and the result is written, in flat order.
    fn is_flat(&self, node: &Node) -> bool {
        match node.kind {
            NodeKind::Map => {}
            NodeKind::Update if self.layout(node.out).identity => {}
            _ => return false,
        }
        let inputs = if node.kind == NodeKind::Update { &node.ins[1..2] } else { node.operands() };
        inputs.iter().all(|i| match i.src.kind() {
            SrcKind::Const(_) => true,
            SrcKind::Iota => self.layout(i.layout).is_c_contiguous(),
            _ => self.layout(i.layout).identity,
        })
    }

    /// Returns the nodes that must run before `n`, each with true if `n` may run in its group.
    fn dependencies(&self, n: u32) -> Dependencies {
        let node = self.node(n);
        let mut found = Dependencies::new();
        let write = node.is_write();
        for (k, operand) in node.operands().iter().enumerate() {
            let in_memory = node.kind == NodeKind::Gather && k == 0;
            if write && k == 0 {
                continue;
            }
            if let SrcKind::Node(p) = operand.src.kind()
                && self.needed[p as usize]
            {
                found.push((p, !in_memory && self.passes(p, operand.layout, n)));
            }
        }
        if write {
            self.older_versions(n, &mut found);
        }
        found
    }

    /// Collects what a write must come after: the writer and all readers of the version that it replaces. If the write
    /// may share the writer's group, or the writer is not run at all, the versions before count as well.
    fn older_versions(&self, n: u32, found: &mut Dependencies) {
        let node = self.node(n);
        let mut version = node.ins[0].src;
        loop {
            let readers = match version.kind() {
                SrcKind::Node(p) => &self.node_readers[p as usize],
                SrcKind::Leaf(slot) => &self.leaf_readers[slot as usize],
                _ => unreachable!("only storages are written"),
            };
            for &(reader, layout) in readers {
                if reader == n || !self.needed[reader as usize] {
                    continue;
                }
                let r = self.node(reader);
                // A write names its base as an operand without reading it.
                let values = if r.is_write() { &r.operands()[1..] } else { r.operands() };
                if !values.iter().any(|i| i.src == version) {
                    continue;
                }
                let gathers = r.kind == NodeKind::Gather && r.ins[0].src == version;
                let same_element = node.kind == NodeKind::Update
                    && layout == node.out
                    && self.level[reader as usize] == Level::Full
                    && matches!(r.kind, NodeKind::Map | NodeKind::Update | NodeKind::Gather)
                    && !gathers;
                found.push((reader, same_element));
            }
            let SrcKind::Node(p) = version.kind() else { return };
            let writer = self.node(p);
            if self.needed[p as usize] {
                let same_element = node.kind == NodeKind::Update
                    && match writer.kind {
                        NodeKind::Update => writer.out == node.out,
                        NodeKind::Map | NodeKind::Gather => self.overwrites(n) && self.level[p as usize] == Level::Full,
                        _ => false,
                    };
                found.push((p, same_element));
                if !same_element {
                    return;
                }
            }
            if !writer.is_write() {
                return;
            }
            version = writer.ins[0].src;
        }
    }

    /// Returns true if the value of `p`, read through a layout, can pass to `n` inside one iteration when both are in
    /// one group.
    pub(crate) fn passes(&self, p: u32, layout: u32, n: u32) -> bool {
        let writer = self.node(p);
        let read = self.layout(layout);
        let out = self.layout(writer.out);
        if self.matmul_of[p as usize].is_some() {
            return false;
        }
        match writer.kind {
            NodeKind::Routine | NodeKind::Scatter | NodeKind::Launch => return false,
            // The version after a write equals the written value only where it was written.
            NodeKind::Update => return layout == writer.out && self.node(n).kind != NodeKind::Reduce,
            _ => {}
        }
        if read.dtype != out.dtype {
            return false;
        }
        let group = &self.groups[self.group(p) as usize];
        match self.level[p as usize] {
            Level::Full => read.identity && read.size == out.size,
            Level::Row => {
                let row = read.identity && read.size == out.size && self.node(n).kind != NodeKind::Reduce;
                let node = self.node(n);
                let full = node.kind != NodeKind::Reduce
                    && self.layout(node.out).shape == group.shape
                    && broadcasts_rows(&read.strides, read.offset, &group.shape, group.mask)
                    && row_is_short(group);
                full || (row && self.layout(node.out).size == out.size)
            }
        }
    }

    /// Returns the nodes that read a node's version, each with the layout.
    pub(crate) fn readers(&self, node: u32) -> &[(u32, u32)] {
        &self.node_readers[node as usize]
    }

    /// Returns true if a node is a matmul with a fused epilogue, or a part of that.
    pub(crate) fn is_in_matmul(&self, node: u32) -> bool {
        self.matmul_of[node as usize].is_some()
    }

    /// Merges the groups of the producers of `n` where the schedule allows it. Returns true if it merged any.
    fn merge_producers(&mut self, n: u32, dependencies: &[(u32, bool)]) -> bool {
        let mut merged = false;
        let Some(last) = dependencies.iter().map(|&(d, _)| self.group(d)).max() else { return false };
        for &(dep, direct) in dependencies {
            let from = self.group(dep);
            if from == last || !direct {
                continue;
            }
            let (a, b) = (&self.groups[from as usize], &self.groups[last as usize]);
            let shapes_agree =
                a.shape == b.shape || (a.flat && b.flat && a.mask | b.mask == 0 && size(&a.shape) == size(&b.shape));
            let free = a.successors.iter().all(|&s| self.resolve(s) > last);
            if !(a.open && b.open && shapes_agree && free && a.formula == b.formula)
                || (a.mask != 0 && b.mask != 0 && a.mask != b.mask)
                || a.nodes.len() + b.nodes.len() >= MAX_NODES
            {
                continue;
            }
            // Row-level values of one group must not be mistaken for full-level values of the other.
            let n_shape = &self.layout(self.node(n).out).shape;
            if a.mask != b.mask && *n_shape != b.shape && !(a.flat && b.flat) {
                continue;
            }
            let moving = std::mem::take(&mut self.groups[from as usize].nodes);
            let successors = std::mem::take(&mut self.groups[from as usize].successors);
            let mask = self.groups[from as usize].mask;
            let flat = self.groups[from as usize].flat;
            let shape = self.groups[from as usize].shape.clone();
            self.groups[from as usize].open = false;
            self.merged_into[from as usize] = last;
            let b = &mut self.groups[last as usize];
            if b.flat && !flat {
                b.shape = shape;
            }
            b.flat &= flat;
            b.mask |= mask;
            b.nodes.extend(moving);
            b.nodes.sort_unstable();
            b.successors.extend(successors);
            merged = true;
        }
        merged
    }

    fn resolve(&self, mut g: u32) -> u32 {
        while self.merged_into[g as usize] != g {
            g = self.merged_into[g as usize];
        }
        g
    }

    /// Returns the first group that can take `n`.
    fn find_group(
        &self,
        n: u32,
        shape: &Dims,
        mask: u32,
        flat: bool,
        dependencies: &[(u32, bool)],
    ) -> Option<(u32, Level)> {
        let count = self.groups.len();
        let first = if dependencies.is_empty() {
            count.checked_sub(1)?
        } else {
            dependencies
                .iter()
                .map(|&(d, direct)| self.group(d) as usize + usize::from(!direct))
                .max()
                .expect("not empty")
        };
        (first..count.min(first + LOOKAHEAD)).find_map(|g| {
            let level = self.level_in(g as u32, n, shape, mask, flat)?;
            // An edge is direct only at the level that the group gives the node.
            let direct = dependencies.iter().all(|&(d, _)| self.group(d) as usize != g || self.is_direct(d, n, level));
            direct.then_some((g as u32, level))
        })
    }

    /// Returns the level at which `n` would run in a group, or `None` if the group cannot take it.
    fn level_in(&self, g: u32, n: u32, shape: &Dims, mask: u32, flat: bool) -> Option<Level> {
        let group = &self.groups[g as usize];
        if !group.open || group.nodes.len() >= MAX_NODES {
            return None;
        }
        let node = self.node(n);
        if group.formula != node.formula() {
            return None;
        }
        if node.kind == NodeKind::Reduce {
            let read = self.layout(node.ins[0].layout);
            let same_space = group.shape == *shape
                || (group.flat && group.mask == 0 && read.identity && size(&group.shape) == size(shape));
            let ok = same_space && (group.mask == 0 || group.mask == mask);
            return ok.then_some(Level::Row);
        }
        if group.shape == *shape || ((flat || group.flat) && group.mask == 0 && size(&group.shape) == size(shape)) {
            // A flat group takes the shape of the first node that is not flat.
            return Some(Level::Full);
        }
        let is_row = group.mask != 0
            && matches!(node.kind, NodeKind::Map)
            && kept_extents(shape, 0).eq(kept_extents(&group.shape, group.mask));
        is_row.then_some(Level::Row)
    }

    /// Returns true if the value of `d` passes to `n`, in the same group, inside the iteration with `n` at `level`.
    fn is_direct(&self, d: u32, n: u32, level: Level) -> bool {
        let node = self.node(n);
        node.operands().iter().enumerate().all(|(k, operand)| {
            if operand.src != Src::node(d) || (node.is_write() && k == 0) {
                return true;
            }
            let read = self.layout(operand.layout);
            let group = &self.groups[self.group(d) as usize];
            match (self.level[d as usize], level) {
                (Level::Full, Level::Full) => true,
                (Level::Full, Level::Row) => node.kind == NodeKind::Reduce,
                (Level::Row, Level::Row) => node.kind != NodeKind::Reduce && read.identity,
                (Level::Row, Level::Full) => {
                    broadcasts_rows(&read.strides, read.offset, &group.shape, group.mask) && row_is_short(group)
                }
            }
        })
    }
}

/// Returns for each node whether its value is visible outside or read by a node that is needed. Launches are always
/// needed, because a kernel may have effects beyond its arrays.
fn needed(input: &Input) -> Vec<bool> {
    let mut needed = input.live.to_vec();
    for (i, node) in input.nodes.iter().enumerate().rev() {
        needed[i] |= node.kind == NodeKind::Launch;
        if !needed[i] {
            continue;
        }
        if input.layout(node.out).size == 0 {
            // An empty value or write needs nothing. The version before an empty write is its own.
            needed[i] = node.is_write();
            if !needed[i] {
                continue;
            }
        }
        for (k, operand) in node.operands().iter().enumerate() {
            let replaced = k == 0 && node.is_write() && input.overwrites(i);
            if let SrcKind::Node(p) = operand.src.kind()
                && !replaced
            {
                needed[p as usize] = true;
            }
        }
    }
    needed
}

/// Returns true if an axis is in a mask of reduced axes, which are among the first 32.
pub(crate) fn is_reduced(mask: u32, axis: usize) -> bool {
    mask.checked_shr(axis as u32).unwrap_or(0) & 1 == 1
}

/// Returns true if the strides of a view of shape `shape` broadcast a contiguous array of the kept axes along the
/// reduced ones.
fn broadcasts_rows(strides: &[i64], offset: i64, shape: &[i64], mask: u32) -> bool {
    let mut expect = 1;
    offset == 0
        && strides.len() == shape.len()
        && (0..shape.len()).rev().all(|k| {
            if shape[k] == 1 {
                return true;
            }
            if is_reduced(mask, k) {
                return strides[k] == 0;
            }
            let fits = strides[k] == expect;
            expect *= shape[k];
            fits
        })
}

/// Returns true if a group's reduced axes are the last ones and have few enough elements to be read again in a second
/// pass.
fn row_is_short(group: &Group) -> bool {
    let first = (0..group.shape.len()).find(|&k| is_reduced(group.mask, k)).unwrap_or(group.shape.len());
    let trailing = (first..group.shape.len()).all(|k| is_reduced(group.mask, k) || group.shape[k] == 1);
    trailing && group.shape[first..].iter().product::<i64>() <= MAX_ROW
}

/// Returns the extents other than 1 of the axes that are not reduced.
fn kept_extents(shape: &[i64], mask: u32) -> impl Iterator<Item = i64> + '_ {
    shape.iter().enumerate().filter(move |&(k, n)| !is_reduced(mask, k) && *n != 1).map(|(_, &n)| n)
}

fn size(shape: &[i64]) -> i64 {
    shape.iter().product()
}
