//! Normalization of rows, with a scale and a shift for each element of a row, and its gradients. The backward pass computes
//! the mean and the variance of a row again, because the row is in a cache then.

use std::marker::PhantomData;
use std::ptr::null_mut as null;

use cuprous_core::routine::RowNorm;
use cuprous_core::{DType, LayoutRef, Result};

use super::{TASK, compiled, sums};
use crate::alloc::Block;
use crate::isa::Body;
use crate::math::Float;
use crate::routines::operands::{Contiguous, View};
use crate::threads::{SharedPtr, parallel_for};

/// Rows at most whose contributions to the gradients of the parameters are added up before they are added to the rest, so
/// that the error does not grow with their number.
const BLOCK_ROWS: usize = 64;
/// Tasks at most that compute the gradients of the parameters. Each has sums of its own.
const MAX_SUM_TASKS: usize = 64;

/// Returns true if the operands and the result fit together: see `RoutineOp::Normalize`.
pub(crate) fn fits(of: &RowNorm, x: &LayoutRef, parameters: &[&LayoutRef], out: &LayoutRef) -> bool {
    let first = first_axis(of);
    x.size > 0
        && first < x.ndim()
        && x.shape == out.shape
        && parameters.iter().all(|p| p.shape[..] == x.shape[first..])
        && parameters.iter().chain([&x, &out]).all(|p| p.dtype == of.dtype)
        && matches!(of.dtype, DType::F32 | DType::F64)
}

/// Returns true if the operands and the result fit together: see `RoutineOp::NormalizeBackward`.
pub(crate) fn fits_backward(of: &RowNorm, g: &LayoutRef, x: &LayoutRef, weight: &LayoutRef, out: &LayoutRef) -> bool {
    fits(of, g, &[weight], x) && out.dtype == of.dtype && out.shape[..] == [x.size + 2 * weight.size]
}

fn first_axis(of: &RowNorm) -> usize {
    usize::from(of.first)
}

/// Contiguous rows of `width` elements: gradients, inputs and results, and parameters that are the same for all of them.
/// Pointers that a loop does not use are null. All others are to memory that holds these elements.
#[derive(Clone, Copy)]
struct Rows {
    g: *mut u8,
    x: *mut u8,
    weight: *mut u8,
    bias: *mut u8,
    sums: *mut u8,
    out: *mut u8,
    rows: usize,
    width: usize,
    eps: f64,
}

// SAFETY: threads write disjoint rows.
unsafe impl Send for Rows {}
// SAFETY: threads write disjoint rows.
unsafe impl Sync for Rows {}

impl Rows {
    /// Returns `count` rows from `first` on, as far as there are any.
    fn part(&self, first: usize, count: usize, dtype: DType) -> Rows {
        let bytes = first * self.width * dtype.size();
        let [g, x, out] = [self.g, self.x, self.out].map(|p| p.wrapping_add(bytes));
        Rows { g, x, out, rows: count.min(self.rows - first), ..*self }
    }

    /// Returns the arguments for adding the sums at `from` to those at `to`.
    fn added(&self, from: *mut u8, to: *mut u8) -> Rows {
        Rows { x: from, sums: to, ..*self }
    }
}

/// Returns the mean of a row and its reciprocal standard deviation.
///
/// # Safety
/// The row has `n` elements, at least one.
#[inline(always)]
unsafe fn statistics<E: Float>(x: *const E, n: usize, eps: f64) -> (E, E) {
    let count = E::from_f64(n as f64);
    // SAFETY: by this function's contract.
    unsafe {
        let [total] = sums(n, |k| [*x.add(k)]);
        let mean = total.div(count);
        let [squares] = sums(n, |k| {
            let centered = (*x.add(k)).sub(mean);
            [centered.mul(centered)]
        });
        (mean, E::ONE.div(squares.div(count).add(E::from_f64(eps)).sqrt()))
    }
}

/// Normalizes rows of `x`.
struct Normalize<E>(PhantomData<E>);

impl<E: Float> Body for Normalize<E> {
    type Args = Rows;

    #[inline(always)]
    unsafe fn run(a: &Rows) {
        let n = a.width;
        let (weight, bias) = (a.weight as *const E, a.bias as *const E);
        for row in 0..a.rows {
            // SAFETY: by the contract of `Rows`.
            unsafe {
                let (x, out) = ((a.x as *const E).add(row * n), (a.out as *mut E).add(row * n));
                let (mean, scale) = statistics(x, n, a.eps);
                for k in 0..n {
                    let normal = (*x.add(k)).sub(mean).mul(scale);
                    *out.add(k) = normal.mul(*weight.add(k)).add(*bias.add(k));
                }
            }
        }
    }
}

/// Writes the gradients of rows of `x`, and adds those of the parameters to the sums at `sums`: `width` of the scale, then
/// `width` of the shift.
struct Backward<E>(PhantomData<E>);

impl<E: Float> Body for Backward<E> {
    type Args = Rows;

    #[inline(always)]
    unsafe fn run(a: &Rows) {
        let (n, weight) = (a.width, a.weight as *const E);
        let count = E::from_f64(n as f64);
        // SAFETY: by the contract of `Rows`.
        let [scales, shifts] = unsafe { [a.sums as *mut E, (a.sums as *mut E).add(n)] };
        for row in 0..a.rows {
            // SAFETY: by the contract of `Rows`.
            unsafe {
                let [g, x] = [a.g, a.x].map(|p| (p as *const E).add(row * n));
                let out = (a.out as *mut E).add(row * n);
                let (mean, scale) = statistics(x, n, a.eps);
                let [shift, slope] = sums(n, |k| {
                    let weighted = (*g.add(k)).mul(*weight.add(k));
                    [weighted, weighted.mul((*x.add(k)).sub(mean).mul(scale))]
                });
                let (shift, slope) = (shift.div(count), slope.div(count));
                for k in 0..n {
                    let (g, normal) = (*g.add(k), (*x.add(k)).sub(mean).mul(scale));
                    *out.add(k) = g.mul(*weight.add(k)).sub(shift).sub(normal.mul(slope)).mul(scale);
                    *scales.add(k) = (*scales.add(k)).add(g.mul(normal));
                    *shifts.add(k) = (*shifts.add(k)).add(g);
                }
            }
        }
    }
}

/// Adds the sums at `x` to those at `sums`.
struct Accumulate<E>(PhantomData<E>);

impl<E: Float> Body for Accumulate<E> {
    type Args = Rows;

    #[inline(always)]
    unsafe fn run(a: &Rows) {
        let (x, sums) = (a.x as *const E, a.sums as *mut E);
        for k in 0..2 * a.width {
            // SAFETY: by the contract of `Rows`.
            unsafe { *sums.add(k) = (*sums.add(k)).add(*x.add(k)) };
        }
    }
}

/// Returns the number of rows, and of elements of each.
fn extents(of: &RowNorm, x: &View) -> (usize, usize) {
    let extent = |axes: &[i64]| axes.iter().product::<i64>() as usize;
    let (outer, row) = x.shape().split_at(first_axis(of));
    (extent(outer), extent(row))
}

/// Normalizes rows: see `RoutineOp::Normalize`.
///
/// # Safety
/// The views are in memory and [fit](fits) together. The output is contiguous and not empty.
pub(crate) unsafe fn normalize(of: &RowNorm, x: View, weight: View, bias: View, out: View) -> Result<()> {
    let ((rows, width), dtype, eps) = (extents(of, &x), of.dtype, of.epsilon());
    let step = (TASK / width).max(1);
    // SAFETY: by this function's contract; the rows of tasks are disjoint.
    unsafe {
        let [x, weight, bias] =
            [Contiguous::new(x, dtype)?, Contiguous::new(weight, dtype)?, Contiguous::new(bias, dtype)?];
        let (x, weight, bias) = (x.ptr(), weight.ptr(), bias.ptr());
        let all = Rows { g: null(), x, weight, bias, sums: null(), out: out.origin(), rows, width, eps };
        let entry = compiled!(Normalize, dtype);
        parallel_for(rows.div_ceil(step), |t| entry(&all.part(t * step, step, dtype)));
    }
    Ok(())
}

/// Computes the gradients: see `RoutineOp::NormalizeBackward`.
///
/// # Safety
/// The views are in memory and [fit](fits_backward) together. The output is contiguous and not empty.
pub(crate) unsafe fn backward(of: &RowNorm, g: View, x: View, weight: View, out: View) -> Result<()> {
    let ((rows, width), dtype, eps) = (extents(of, &x), of.dtype, of.epsilon());
    let bytes = 2 * width * dtype.size();
    let step = (TASK / width).clamp(1, BLOCK_ROWS);
    let blocks = rows.div_ceil(step);
    let blocks_per_task = blocks.div_ceil(MAX_SUM_TASKS);
    let tasks = blocks.div_ceil(blocks_per_task);
    // The sums of a block of rows, and of all blocks, for each task.
    let workspace = Block::new(2 * tasks * bytes)?;
    // SAFETY: by this function's contract; the rows of tasks and their sums are disjoint. Sums are zero to begin with.
    unsafe {
        workspace.as_ptr().write_bytes(0, 2 * tasks * bytes);
        let [g, x, weight] = [Contiguous::new(g, dtype)?, Contiguous::new(x, dtype)?, Contiguous::new(weight, dtype)?];
        let (g, x, weight, start) = (g.ptr(), x.ptr(), weight.ptr(), SharedPtr(workspace.as_ptr()));
        let all = Rows { g, x, weight, bias: null(), sums: null(), out: out.origin(), rows, width, eps };
        let (entry, add) = (compiled!(Backward, dtype), compiled!(Accumulate, dtype));
        parallel_for(tasks, |t| {
            let [part, total] = [2 * t, 2 * t + 1].map(|k| start.at((k * bytes) as i64));
            for block in t * blocks_per_task..blocks.min((t + 1) * blocks_per_task) {
                part.write_bytes(0, bytes);
                entry(&Rows { sums: part, ..all.part(block * step, step, dtype) });
                add(&all.added(part, total));
            }
        });
        let sums = out.origin().add(rows * width * dtype.size());
        sums.write_bytes(0, bytes);
        (0..tasks).for_each(|t| add(&all.added(start.at(((2 * t + 1) * bytes) as i64), sums)));
    }
    Ok(())
}
