//! Reductions along an axis that is not contiguous. Each element of a tile has an accumulator of its own, and tiles are
//! pushed into the accumulators element by element.
//!
//! A state is a count of pushes and three arrays of accumulators. After [`RADIX`] pushes an array is merged into the
//! next and restarted, which bounds the rounding error of long sums.

use std::marker::PhantomData;

use super::reductions::Reduction;
use crate::isa::{Body, Entry, Isa, V1};

/// Number of pushes after which an array of accumulators is merged into the next.
const RADIX: u64 = 64;
/// Number of arrays of accumulators.
const LEVELS: usize = 3;

/// Arguments of the column functions.
///
/// Contract: `state` has [`ColumnFns::bytes`] for `accumulators`, is aligned to 16 bytes and, except for `start`, was
/// started. `push`: `src` has `n ≤ accumulators` elements. `merge`: `src` is a state with as many accumulators.
/// `finish`: `out` has space for `width` results, and `accumulators` is a multiple of `width`.
pub(crate) struct ColumnArgs {
    /// The accumulators.
    pub state: *mut u8,
    /// Number of accumulators in the state.
    pub accumulators: usize,
    /// The elements that `push` adds to the state, or the state that `merge` adds.
    pub src: *const u8,
    /// Number of elements that `push` adds.
    pub n: usize,
    /// Index of the tile, counted from the start of the row even if several threads share the row.
    pub tile: i64,
    /// Results.
    pub out: *mut u8,
    /// Number of results.
    pub width: usize,
}

/// The column functions of one reduction for one element type.
#[derive(Clone, Copy)]
pub(crate) struct ColumnFns {
    /// Bytes of an accumulator.
    acc: usize,
    /// Initializes a state.
    pub start: Entry<ColumnArgs>,
    /// Pushes a tile.
    pub push: Entry<ColumnArgs>,
    /// Merges two states.
    pub merge: Entry<ColumnArgs>,
    /// Merges accumulators that are `width` apart and writes the results.
    pub finish: Entry<ColumnArgs>,
}

impl ColumnFns {
    /// Returns the size of a state.
    pub(crate) fn bytes(&self, accumulators: usize) -> usize {
        HEADER + LEVELS * (accumulators * self.acc).next_multiple_of(64)
    }
}

/// Bytes for the count of pushes.
const HEADER: usize = 64;

struct Start<F, E>(PhantomData<(F, E)>);
struct Push<F, E>(PhantomData<(F, E)>);
struct Merge<F, E>(PhantomData<(F, E)>);
struct Finish<F, E>(PhantomData<(F, E)>);

/// Returns accumulator array `level` of a state.
#[inline(always)]
unsafe fn level<A>(state: *mut u8, accumulators: usize, level: usize) -> *mut A {
    // SAFETY: within the state, by the contract of `ColumnArgs`.
    unsafe { state.add(HEADER + level * (accumulators * size_of::<A>()).next_multiple_of(64)) as *mut A }
}

/// Merges the accumulators at `from` into those at `to`.
#[inline(always)]
unsafe fn merge_arrays<E: Copy, F: Reduction<E>>(to: *mut F::Acc, from: *const F::Acc, accumulators: usize) {
    for l in 0..accumulators {
        // SAFETY: both arrays have `accumulators` elements.
        unsafe { *to.add(l) = F::merge(*to.add(l), *from.add(l)) };
    }
}

#[inline(always)]
unsafe fn clear<E: Copy, F: Reduction<E>>(at: *mut F::Acc, accumulators: usize) {
    for l in 0..accumulators {
        // SAFETY: the array has `accumulators` elements.
        unsafe { *at.add(l) = F::empty() };
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Start<F, E> {
    type Args = ColumnArgs;

    #[inline(always)]
    unsafe fn run(a: &ColumnArgs) {
        // SAFETY: by the contract of `ColumnArgs`.
        unsafe {
            *(a.state as *mut u64) = 0;
            for k in 0..LEVELS {
                clear::<E, F>(level(a.state, a.accumulators, k), a.accumulators);
            }
        }
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Push<F, E> {
    type Args = ColumnArgs;

    #[inline(always)]
    unsafe fn run(a: &ColumnArgs) {
        let src = a.src as *const E;
        // SAFETY: by the contract of `ColumnArgs`; elements and accumulators do not overlap.
        unsafe {
            let count = &mut *(a.state as *mut u64);
            let acc = std::slice::from_raw_parts_mut(level::<F::Acc>(a.state, a.accumulators, 0), a.n);
            let src = std::slice::from_raw_parts(src, a.n);
            for (acc, &e) in acc.iter_mut().zip(src) {
                *acc = F::push(*acc, e, a.tile);
            }
            *count += 1;
            let mut carries = *count;
            for k in 1..LEVELS {
                if !carries.is_multiple_of(RADIX) {
                    break;
                }
                carries /= RADIX;
                let from = level::<F::Acc>(a.state, a.accumulators, k - 1);
                merge_arrays::<E, F>(level(a.state, a.accumulators, k), from, a.accumulators);
                clear::<E, F>(from, a.accumulators);
            }
        }
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Merge<F, E> {
    type Args = ColumnArgs;

    #[inline(always)]
    unsafe fn run(a: &ColumnArgs) {
        for k in 0..LEVELS {
            // SAFETY: by the contract of `ColumnArgs`; `src` is only read.
            unsafe {
                merge_arrays::<E, F>(
                    level(a.state, a.accumulators, k),
                    level(a.src as *mut u8, a.accumulators, k),
                    a.accumulators,
                )
            };
        }
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Finish<F, E> {
    type Args = ColumnArgs;

    #[inline(always)]
    unsafe fn run(a: &ColumnArgs) {
        let out = a.out as *mut F::Out;
        let rows = a.accumulators / a.width;
        // SAFETY: by the contract of `ColumnArgs`.
        unsafe {
            let top = level::<F::Acc>(a.state, a.accumulators, LEVELS - 1);
            for k in (0..LEVELS - 1).rev() {
                merge_arrays::<E, F>(top, level(a.state, a.accumulators, k), a.accumulators);
            }
            for r in 0..rows {
                for c in 0..a.width {
                    let at = top.add(r * a.width + c);
                    *at = F::renumber(*at, rows as i64, r as i64);
                }
            }
            // Rows are merged pairwise, which keeps rounding errors small.
            let mut left = rows;
            while left > 1 {
                let half = left.div_ceil(2);
                merge_arrays::<E, F>(top, top.add(half * a.width), (left - half) * a.width);
                left = half;
            }
            for c in 0..a.width {
                *out.add(c) = F::finish(*top.add(c));
            }
        }
    }
}

pub(super) fn fns<S: Isa, F: Reduction<E>, E: Copy + 'static>() -> ColumnFns {
    ColumnFns {
        acc: size_of::<F::Acc>(),
        start: V1::entry::<Start<F, E>>(),
        push: S::entry::<Push<F, E>>(),
        merge: V1::entry::<Merge<F, E>>(),
        finish: V1::entry::<Finish<F, E>>(),
    }
}
