//! Running reductions along an axis.

use cuprous_core::{Result, ScanOp};
use rayon::prelude::*;

use crate::blocks::running::{ScanArgs, running_fn};
use crate::routines::operands::{View, gather};
use crate::threads::SharedPtr;

/// Lines at least this long are split, so that several threads can scan them. The parts determine how sums are rounded,
/// so they do not depend on the number of threads.
const PART: usize = 1 << 16;
/// Columns that are scanned together.
const COLUMNS: usize = 512;

/// # Safety
/// The views are in memory and have the same shape. The output is contiguous.
pub(crate) unsafe fn scan(op: ScanOp, axis: usize, a: View, out: View) -> Result<()> {
    // SAFETY: the output has space for all elements.
    unsafe { gather(a, out.dtype(), out.origin())? };
    let shape = out.shape();
    let (n, below) = (shape[axis] as usize, shape[axis + 1..].iter().product::<i64>() as usize);
    let above = shape[..axis].iter().product::<i64>() as usize;
    let f = running_fn(op, out.dtype());
    let size = out.dtype().size();
    let base = SharedPtr(out.origin());
    let total = above * n * below;
    let parallel = total >= 1 << 16 && rayon::current_num_threads() > 1;
    let line = |at: *mut u8, n: usize| {
        // SAFETY: the part lies within the output, and parts are disjoint.
        unsafe { f(&ScanArgs { at, n, columns: 1, pitch: 1, carry: false, from: at }) }
    };
    if below > 1 {
        let blocks = below.div_ceil(COLUMNS);
        let one = |k: usize| {
            let (row, column) = (k / blocks, k % blocks * COLUMNS);
            let at = base.at(((row * n * below + column) * size) as i64);
            let columns = COLUMNS.min(below - column);
            // SAFETY: the part lies within the output, and parts are disjoint.
            unsafe { f(&ScanArgs { at, n, columns, pitch: below, carry: false, from: at }) };
        };
        if parallel {
            (0..above * blocks).into_par_iter().for_each(one);
        } else {
            (0..above * blocks).for_each(one);
        }
        return Ok(());
    }
    if n < 2 * PART {
        let one = |row: usize| line(base.at((row * n * size) as i64), n);
        if parallel {
            (0..above).into_par_iter().with_min_len((PART / n.max(1)).max(1) / 4 + 1).for_each(one);
        } else {
            (0..above).for_each(one);
        }
        return Ok(());
    }
    for row in 0..above {
        let at = |part: usize| base.at(((row * n + part * PART) * size) as i64);
        let parts = n.div_ceil(PART);
        let len = |part: usize| PART.min(n - part * PART);
        // First each part on its own. Then the last elements of the parts are combined in order, which gives the
        // carries. Then every part except the first combines its elements with the carry.
        let scan_part = |part: usize| line(at(part), len(part));
        let carry = |part: usize| {
            let from = at(part).wrapping_sub(size);
            // The last element was combined above.
            // SAFETY: the part lies within the output, and parts are disjoint.
            unsafe { f(&ScanArgs { at: at(part), n: len(part) - 1, columns: 1, pitch: 1, carry: true, from }) };
        };
        (0..parts).into_par_iter().for_each(scan_part);
        for part in 1..parts {
            let (last, from) = (at(part).wrapping_add((len(part) - 1) * size), at(part).wrapping_sub(size));
            // SAFETY: the element lies within the output.
            unsafe { f(&ScanArgs { at: last, n: 1, columns: 1, pitch: 1, carry: true, from }) };
        }
        (1..parts).into_par_iter().for_each(carry);
    }
    Ok(())
}
