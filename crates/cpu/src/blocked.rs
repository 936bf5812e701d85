//! Cache blocking of kernels with transposed operands: the same kernel over blocks of two axes.
//!
//! Tiles follow the last axis. An operand that is contiguous along another axis would use one element of each cache
//! line, so both axes are cut into blocks and a tile covers a square of them. Every cache line is then used completely
//! while it is in cache. The remainders of both axes become up to three more kernels.

use cuprous_plan::{Access, Inst, Kernel};
use smallvec::SmallVec;

/// Edge of a block in elements.
const EDGE: i64 = 64;
/// Kernels with fewer elements fit into caches.
const MIN_ELEMENTS: i64 = 1 << 14;

/// Returns the kernels that compute `kernel` block by block, or `None` if all operands follow the last axis.
pub(crate) fn blocked(kernel: &Kernel) -> Option<Vec<Kernel>> {
    if kernel.outer_size() < MIN_ELEMENTS || !kernel.inner.is_empty() {
        return None;
    }
    let transposed_axis = transposed_axis(kernel)?;
    let last = kernel.outer.len() - 1;
    let mut parts = Vec::new();
    for (start, rows) in cuts(kernel.outer[transposed_axis]) {
        for (from, columns) in cuts(kernel.outer[last]) {
            parts.push(part(kernel, (transposed_axis, start, rows), (last, from, columns)));
        }
    }
    Some(parts)
}

/// Returns an axis other than the last along which some operand is contiguous, if that operand has a large stride along
/// the last axis.
fn transposed_axis(kernel: &Kernel) -> Option<usize> {
    let extents = &kernel.outer;
    let last = extents.len().checked_sub(1)?;
    let mut found = None;
    for t in &kernel.body {
        let access = match &t.inst {
            Inst::Load { access, .. } | Inst::Store { access, .. } => access,
            // Reductions have an inner space, and the writes of scatters are ordered.
            Inst::Reduce { .. } | Inst::Scatter { .. } => return None,
            _ => continue,
        };
        let bytes = |axis: usize| access.strides[axis].unsigned_abs() as usize * t.dtype.size();
        if found.is_none() && extents[last] >= 16 && bytes(last) >= 64 {
            found = (0..last).find(|&axis| extents[axis] >= 16 && access.strides[axis].abs() == 1);
        }
    }
    found
}

/// Returns where to cut an axis: (start, extent) of the complete blocks and of the remainder.
fn cuts(extent: i64) -> SmallVec<[(i64, i64); 2]> {
    let whole = extent / EDGE * EDGE;
    [(0, whole), (whole, extent - whole)].into_iter().filter(|&(_, n)| n > 0).collect()
}

/// Returns the kernel over a range of two axes (axis, start, extent), each split into blocks. The axes within a block
/// come last.
fn part(kernel: &Kernel, rows: (usize, i64, i64), columns: (usize, i64, i64)) -> Kernel {
    let split = |v: &[i64], of: [[i64; 2]; 2]| {
        let rest = (0..v.len()).filter(|&k| k != rows.0 && k != columns.0).map(|k| v[k]);
        rest.chain([of[0][0], of[1][0], of[0][1], of[1][1]]).collect()
    };
    let (m, n) = (rows.2.min(EDGE), columns.2.min(EDGE));
    let access = |a: &Access| {
        let (r, c) = (a.strides[rows.0], a.strides[columns.0]);
        Access { offset: a.offset + rows.1 * r + columns.1 * c, strides: split(&a.strides, [[r * m, r], [c * n, c]]) }
    };
    let mut part = kernel.clone();
    part.outer = split(&kernel.outer, [[rows.2 / m, m], [columns.2 / n, n]]);
    for t in &mut part.body {
        match &mut t.inst {
            Inst::Load { access: a, .. } | Inst::Store { access: a, .. } | Inst::Iota { access: a } => *a = access(a),
            _ => (),
        }
    }
    part
}
