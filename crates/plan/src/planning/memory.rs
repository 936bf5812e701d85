//! Which values must be in memory, and which kernels compute again instead of reading them: cheap ones of operands that are
//! in memory anyway, if these take no more bytes to read. Such a value is then not written, unless others need it.

use cuprous_core::node::SrcKind;
use cuprous_core::{Fun, In, Node, NodeKind, Src};
use smallvec::SmallVec;

use super::NONE;
use super::fusion::Fusion;
use crate::program::Level;

/// Most operations that are computed again for a value, each of the time of an addition.
const MAX_OPERATIONS: usize = 4;

/// Where the values of a tape are.
pub(crate) struct Memory {
    /// Whether each node's value is in memory after its group has run.
    pub(crate) stored: Vec<bool>,
    /// Whether readers in other groups compute each node's value again, if they [can](Fusion::recomputes).
    recomputed: Vec<Recomputed>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Recomputed {
    No,
    /// Of operands that are broadcast, so the iteration must have the value's shape.
    InItsShape,
    /// Of operands of the value's shape and order.
    InAnyShape,
}

/// What is read to compute a value again.
#[derive(Default)]
struct Reads {
    operations: usize,
    /// Bytes for each element of the value.
    bytes: usize,
    /// Each array and layout once.
    arrays: SmallVec<[(Src, u32); 4]>,
    broadcast: bool,
}

impl Fusion<'_> {
    /// Decides for all nodes, once they are in groups, where their values are.
    pub(crate) fn memory(&self) -> Memory {
        let n = self.input.nodes.len();
        let mut memory = Memory { stored: vec![false; n], recomputed: vec![Recomputed::No; n] };
        // A value is computed again of values before it, of which it is known by then whether they are in memory.
        for p in (0..n as u32).filter(|&p| self.needed[p as usize]) {
            let (recomputed, bytes) = self.recomputed(p, &memory.stored);
            memory.recomputed[p as usize] = recomputed;
            let read = self.readers(p).iter().any(|&(reader, _)| self.reads_memory(p, reader, &memory));
            memory.stored[p as usize] = read || self.input.live[p as usize];
            if memory.stored[p as usize] && bytes == self.layout(self.node(p).out).dtype.size() {
                memory.recomputed[p as usize] = Recomputed::No;
            }
        }
        memory
    }

    /// Returns true if the reader of `p` through a layout, in another group, computes it again.
    pub(crate) fn recomputes(&self, p: u32, layout: u32, reader: u32, memory: &Memory) -> bool {
        let (read, out) = (self.layout(layout), self.layout(self.node(p).out));
        let whole = read.identity && read.shape == out.shape && read.dtype == out.dtype;
        whole
            && match memory.recomputed[p as usize] {
                Recomputed::No => false,
                Recomputed::InAnyShape => true,
                Recomputed::InItsShape => {
                    let is_full = self.level[reader as usize] == Level::Full;
                    let full = is_full || self.node(reader).kind == NodeKind::Reduce;
                    full && self.groups[self.group(reader) as usize].shape == out.shape
                }
            }
    }

    /// Returns true if a reader of `p` needs it in memory.
    fn reads_memory(&self, p: u32, reader: u32, memory: &Memory) -> bool {
        let node = self.node(reader);
        let across = self.group(p) != self.group(reader);
        self.needed[reader as usize]
            && node.operands().iter().enumerate().filter(|(_, operand)| operand.src == Src::node(p)).any(
                |(k, operand)| {
                    if node.is_write() && k == 0 {
                        let rewritten = self.node(p).kind == NodeKind::Update && self.node(p).out == node.out;
                        return !(self.overwrites(reader) || rewritten && !across && node.kind == NodeKind::Update);
                    }
                    // Routines and their epilogues read memory.
                    let kernel = node.kind != NodeKind::Routine && !self.is_in_matmul(reader);
                    let in_memory = node.kind == NodeKind::Gather && k == 0;
                    match across {
                        true => in_memory || !(kernel && self.recomputes(p, operand.layout, reader, memory)),
                        false => in_memory || !self.passes(p, operand.layout, reader),
                    }
                },
            )
    }

    /// Decides whether other groups compute `p` again, and returns how many bytes that reads for each element. `stored` is
    /// known for the nodes before it.
    fn recomputed(&self, p: u32, stored: &[bool]) -> (Recomputed, usize) {
        let mut reads = Reads::default();
        let fits = self.collect(p, stored, &mut reads) && reads.bytes <= self.layout(self.node(p).out).dtype.size();
        let recomputed = match fits {
            true if reads.broadcast => Recomputed::InItsShape,
            true => Recomputed::InAnyShape,
            false => Recomputed::No,
        };
        (recomputed, reads.bytes)
    }

    /// Adds what is read to compute `p`. Returns false if that cannot be or takes long.
    fn collect(&self, p: u32, stored: &[bool], reads: &mut Reads) -> bool {
        let node = self.node(p);
        reads.operations += 1;
        is_cheap(node)
            && !self.is_in_matmul(p)
            && reads.operations <= MAX_OPERATIONS
            && node.operands().iter().all(|operand| match operand.src.kind() {
                SrcKind::Const(_) => true,
                SrcKind::Iota => false,
                SrcKind::Leaf(slot) => self.add_read(p, slot, operand, reads),
                SrcKind::Node(q) if stored[q as usize] => {
                    self.add_read(p, self.input.storage_of[q as usize], operand, reads)
                }
                SrcKind::Node(q) => {
                    let (read, out) = (self.layout(operand.layout), self.layout(self.node(q).out));
                    let whole = read.identity && read.shape == out.shape && read.dtype == out.dtype;
                    self.needed[q as usize] && whole && self.collect(q, stored, reads)
                }
            })
    }

    /// Adds the read of an operand of `p` in memory. Returns false if that memory changes later.
    fn add_read(&self, p: u32, storage: u32, operand: &In, reads: &mut Reads) -> bool {
        let writer = self.last_writer[storage as usize];
        if !reads.arrays.contains(&(operand.src, operand.layout)) {
            let layout = self.layout(operand.layout);
            let repeats = layout.shape.iter().zip(&layout.strides).any(|(&n, &stride)| n > 1 && stride == 0);
            reads.arrays.push((operand.src, operand.layout));
            reads.broadcast |= !layout.is_c_contiguous();
            reads.bytes += if repeats { 0 } else { layout.dtype.size() };
        }
        writer == NONE || writer < p
    }
}

fn is_cheap(node: &Node) -> bool {
    node.kind == NodeKind::Map && node.map_fun().op().cost <= Fun::Add.op().cost
}
