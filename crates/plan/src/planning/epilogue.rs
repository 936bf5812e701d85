//! Epilogue fusion: recorded operations after a matmul that a library performs before it writes the result.

use cuprous_core::node::SrcKind;
use cuprous_core::{DType, Fun, In, Node, NodeKind, RoutineOp, Src};

use smallvec::SmallVec;

use super::input::Input;
use crate::program::Factor;

/// A matmul with the operations that are fused into its epilogue.
///
/// Invariants:
/// - A member's value is read by the next member only, except for the last one's.
/// - Nothing recorded between a member and the last one writes what the member reads, so all of them can run in place
///   of the last one.
/// - The readers of the last value are routines or read memory. Otherwise a kernel would run in any case, and the
///   fusion would save nothing.
/// - The memory that is written is not read by the matmul, except for the addend at the same positions.
#[derive(Debug)]
pub(crate) struct FusedMatmul {
    /// In tape order.
    pub(crate) members: Vec<u32>,
    pub(crate) matmul: u32,
    /// The member whose storage receives the result.
    pub(crate) last: u32,
    pub(crate) scale: Factor,
    pub(crate) addend: Option<(In, Factor)>,
    pub(crate) bias: Option<In>,
}

/// The readers of each node's value: (reader, true if it reads the value from memory in any case).
type Readers = Vec<SmallVec<[(u32, bool); 2]>>;

/// One kind of operation that can follow a matmul: extends the fusion by it, or returns `None`. The first row that fits
/// wins. All rows need the matmul's dtype and its elements in flat order.
///
/// Activations are left out: cuBLASLt 13.1 loses NaN in the maximum with 0 in some of its kernels (float32
/// 2048×64×2048, float16 33×100×65 on an H200), so a kernel has to run for them anyway. Biases are fused only for the
/// dtypes for which the library is fast: a float64 matmul with a bias took twice the time of one without.
type Row = fn(&Search, &mut FusedMatmul, u32, u32) -> Option<()>;
const ROWS: [Row; 4] = [fuse_scale, fuse_addend, fuse_bias, fuse_assignment];

/// Returns the fused matmuls of a tape. No node is in two of them.
pub(crate) fn fused_matmuls(input: &Input, needed: &[bool]) -> Vec<FusedMatmul> {
    let is_matmul = |n: &Node| n.kind == NodeKind::Routine && *RoutineOp::interned(n.routine_id()) == RoutineOp::Dot;
    let matmuls: Vec<u32> =
        (0..input.nodes.len() as u32).filter(|&n| needed[n as usize] && is_matmul(&input.nodes[n as usize])).collect();
    if matmuls.is_empty() {
        return Vec::new();
    }
    let mut search = Search { input, readers: readers(input, needed), used: vec![false; input.nodes.len()] };
    let mut found = Vec::new();
    for matmul in matmuls {
        if let Some(fused) = search.fuse_from(matmul) {
            fused.members.iter().for_each(|&m| search.used[m as usize] = true);
            found.push(fused);
        }
    }
    found
}

fn readers(input: &Input, needed: &[bool]) -> Readers {
    let mut readers = vec![SmallVec::new(); input.nodes.len()];
    for (i, node) in input.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
        for (k, operand) in node.operands().iter().enumerate() {
            let base = k == 0 && node.is_write();
            if let SrcKind::Node(p) = operand.src.kind()
                && !(base && input.overwrites(i))
            {
                let memory = base || node.kind == NodeKind::Routine || (k == 0 && node.kind == NodeKind::Gather);
                readers[p as usize].push((i as u32, memory));
            }
        }
    }
    readers
}

struct Search<'a> {
    input: &'a Input<'a>,
    readers: Readers,
    used: Vec<bool>,
}

impl Search<'_> {
    /// Returns the longest fusion that starts at a matmul.
    fn fuse_from(&self, matmul: u32) -> Option<FusedMatmul> {
        if self.input.layout(self.node(matmul).out).size == 0 {
            return None;
        }
        let mut fused = FusedMatmul {
            members: vec![matmul],
            matmul,
            last: matmul,
            scale: Factor::default(),
            addend: None,
            bias: None,
        };
        while let Some(next) = self.only_reader(fused.last) {
            let at = fused.last;
            if self.used[next as usize] || ROWS.iter().find_map(|row| row(self, &mut fused, at, next)).is_none() {
                break;
            }
            fused.members.push(next);
            fused.last = next;
        }
        fused.members.sort_unstable();
        let ends = self.readers[fused.last as usize].iter().all(|&(_, memory)| memory);
        (fused.members.len() > 1 && ends && self.is_deferrable(&fused)).then_some(fused)
    }

    fn node(&self, n: u32) -> &Node {
        &self.input.nodes[n as usize]
    }

    /// Returns the only reader of a value, if there is exactly one and it does not need the value in memory.
    fn only_reader(&self, n: u32) -> Option<u32> {
        match self.readers[n as usize][..] {
            [(reader, false)] if !self.input.live[n as usize] => Some(reader),
            _ => None,
        }
    }

    fn storage(&self, operand: &In) -> Option<u32> {
        match operand.src.kind() {
            SrcKind::Node(p) => Some(self.input.storage_of[p as usize]),
            SrcKind::Leaf(slot) => Some(slot),
            _ => None,
        }
    }

    /// Returns true if everything that the members read from outside stays unchanged up to the last one, and when that
    /// one writes.
    fn is_deferrable(&self, fused: &FusedMatmul) -> bool {
        let written = self.input.storage_of[fused.last as usize];
        fused.members.iter().all(|&m| {
            let node = self.node(m);
            let values = if node.is_write() { &node.operands()[1..] } else { node.operands() };
            values.iter().all(|operand| {
                let inside = matches!(operand.src.kind(), SrcKind::Node(p) if fused.members.contains(&p));
                let Some(storage) = self.storage(operand).filter(|_| !inside) else { return true };
                let in_place = fused.addend.is_some_and(|(addend, _)| {
                    addend.src == operand.src
                        && self.input.layout(addend.layout).offset == 0
                        && self.input.layout(operand.layout).is_c_contiguous()
                        && m != fused.matmul
                        && fused.bias.is_none_or(|bias| bias.src != addend.src)
                });
                let changes = |w: u32| {
                    self.node(w).is_write()
                        && self.input.storage_of[w as usize] == storage
                        && !fused.members.contains(&w)
                };
                (storage != written || in_place) && !(m + 1..fused.last).any(changes)
            })
        })
    }

    /// Returns true if the elements of `operand` in flat order correspond to those of the matmul.
    fn flat(&self, fused: &FusedMatmul, operand: &In) -> bool {
        let (read, out) = (self.input.layout(operand.layout), self.input.layout(self.node(fused.matmul).out));
        matches!(operand.src.kind(), SrcKind::Node(_) | SrcKind::Leaf(_))
            && read.dtype == out.dtype
            && read.size == out.size
            && read.is_c_contiguous()
    }

    /// Returns the function of `n`, its operand other than the value of `at`, and whether that operand comes first. The
    /// value of `at` must be read in flat order, and the result must have the same dtype.
    fn other_operand(&self, fused: &FusedMatmul, at: u32, n: u32) -> Option<(Fun, In, bool)> {
        let node = self.node(n);
        let [a, b] = *node.operands() else { return None };
        let second = a.src == Src::node(at);
        let (value, other) = if second { (a, b) } else { (b, a) };
        let out = self.input.layout(self.node(fused.matmul).out);
        let fits = node.kind == NodeKind::Map
            && self.input.layout(node.out).dtype == out.dtype
            && (out.dtype.is_float() || out.dtype.is_complex())
            && self.flat(fused, &value)
            && self.input.layout(value.layout).identity;
        fits.then(|| (node.map_fun(), other, !second))
    }

    /// Returns the slot of the constant that an operand is, unless it is zero: libraries skip what zero multiplies.
    fn nonzero_constant(&self, operand: &In) -> Option<u32> {
        let SrcKind::Const(slot) = operand.src.kind() else { return None };
        let zero = self.input.consts[slot as usize].is_zero(self.input.layout(operand.layout).dtype);
        (!zero).then_some(slot)
    }

    /// Returns true if the value is in memory anyway. Otherwise the kernel that computes it can also add it.
    fn in_memory(&self, operand: &In) -> bool {
        match operand.src.kind() {
            SrcKind::Node(p) => {
                self.input.live[p as usize]
                    || self.node(p).is_write()
                    || self.node(p).kind == NodeKind::Routine
                    || self.readers[p as usize].iter().any(|&(_, memory)| memory)
            }
            SrcKind::Leaf(_) => true,
            _ => false,
        }
    }
}

/// `matmul * constant`.
fn fuse_scale(search: &Search, fused: &mut FusedMatmul, at: u32, n: u32) -> Option<()> {
    let (fun, other, _) = search.other_operand(fused, at, n)?;
    let first = fused.scale == Factor::default() && fused.addend.is_none() && fused.bias.is_none();
    (fun == Fun::Multiply && first).then_some(())?;
    fused.scale.constant = Some(search.nonzero_constant(&other)?);
    Some(())
}

/// `matmul ± array` and `array - matmul`, where the array may be multiplied by a constant.
fn fuse_addend(search: &Search, fused: &mut FusedMatmul, at: u32, n: u32) -> Option<()> {
    let (fun, other, first) = search.other_operand(fused, at, n)?;
    if !is_sum(fun, first, fused) || fused.addend.is_some() || !search.flat(fused, &other) {
        return None;
    }
    let mut factor = Factor { constant: None, negative: fun == Fun::Subtract && !first };
    let (mut addend, mut scaled_by) = (other, None);
    if let SrcKind::Node(p) = other.src.kind()
        && !search.used[p as usize]
        && search.only_reader(p) == Some(n)
        && let [a, b] = *search.node(p).operands()
        && search.node(p).kind == NodeKind::Map
        && search.node(p).map_fun() == Fun::Multiply
        && search.input.layout(other.layout).identity
    {
        let (array, constant) = if search.nonzero_constant(&b).is_some() { (a, b) } else { (b, a) };
        factor.constant = Some(search.nonzero_constant(&constant)?);
        (addend, scaled_by) = (array, Some(p));
    }
    if !search.flat(fused, &addend) || !search.in_memory(&addend) {
        return None;
    }
    fused.members.extend(scaled_by);
    fused.scale.negative ^= fun == Fun::Subtract && first;
    fused.addend = Some((addend, factor));
    Some(())
}

/// `matmul + vector` and `vector - matmul`, with a value for each column. It comes before an addend, because that is the
/// order in which an epilogue is rounded.
fn fuse_bias(search: &Search, fused: &mut FusedMatmul, at: u32, n: u32) -> Option<()> {
    let (fun, other, first) = search.other_operand(fused, at, n)?;
    let (read, out) = (search.input.layout(other.layout), search.input.layout(search.node(fused.matmul).out));
    let columns = *out.shape.last()?;
    let (last, rows) = (read.shape.len().checked_sub(1)?, &read.strides[..]);
    let fits = matches!(other.src.kind(), SrcKind::Node(_) | SrcKind::Leaf(_))
        && matches!(out.dtype, DType::F32 | DType::F16 | DType::BF16)
        && read.dtype == out.dtype
        && read.shape[last] == columns
        && (rows[last] == 1 || columns == 1)
        && (0..last).all(|k| rows[k] == 0 || read.shape[k] == 1);
    let is_added = fused.bias.is_some() || fused.addend.is_some();
    if !fits || !is_sum(fun, first, fused) || (fun == Fun::Subtract && !first) || is_added {
        return None;
    }
    fused.scale.negative ^= fun == Fun::Subtract;
    fused.bias = Some(other);
    Some(())
}

/// `target[...] = matmul`, which replaces all of the target's memory.
fn fuse_assignment(search: &Search, fused: &mut FusedMatmul, at: u32, n: u32) -> Option<()> {
    let node = search.node(n);
    let value = node.ins[1];
    let fits = node.kind == NodeKind::Update
        && value.src == Src::node(at)
        && search.flat(fused, &value)
        && search.input.layout(value.layout).identity
        && search.input.overwrites(n as usize);
    fits.then_some(())
}

/// Returns true if the function is a sum that extends the fusion. Only the matmul alone can be subtracted from
/// something.
fn is_sum(fun: Fun, first: bool, fused: &FusedMatmul) -> bool {
    match fun {
        Fun::Add => true,
        Fun::Subtract => !first || (fused.addend.is_none() && fused.bias.is_none()),
        _ => false,
    }
}
