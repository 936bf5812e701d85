//! Folds along an axis that is not contiguous: a tile holds `lanes` neighbours, each with an accumulator of its own, and
//! tiles are folded into them element by element.
//!
//! A state is a count of pushes and three arrays of accumulators: after [`RADIX`] pushes an array is merged into the next
//! and begun anew, which bounds the rounding error of long sums.

use std::marker::PhantomData;

use super::fold::Fold;
use crate::isa::{Body, Entry, Isa, V1};

/// Pushes before an array of accumulators moves up.
const RADIX: u64 = 64;
/// Arrays of accumulators.
const LEVELS: usize = 3;

/// Operands of the lane functions.
///
/// Contract: `state` has [`LaneFns::bytes`] for `lanes`, is 16-byte aligned and, but for `start`, was started. `push`:
/// `src` has `n ≤ lanes` elements. `merge`: `src` is a state of as many lanes. `finish`: `out` has room for `width`
/// results, and `lanes` is a multiple of `width`.
pub(crate) struct LaneArgs {
    /// The accumulators.
    pub state: *mut u8,
    /// Lanes of the state.
    pub lanes: usize,
    /// Elements, or another state.
    pub src: *const u8,
    /// Elements to push.
    pub n: usize,
    /// Which tile is pushed: counted from the start of the row, also where several threads share it.
    pub tile: i64,
    /// Results.
    pub out: *mut u8,
    /// Number of results.
    pub width: usize,
}

/// The functions of one fold of one element type.
#[derive(Clone, Copy)]
pub(crate) struct LaneFns {
    /// Bytes of an accumulator.
    acc: usize,
    /// Begins.
    pub start: Entry<LaneArgs>,
    /// Folds a tile in.
    pub push: Entry<LaneArgs>,
    /// Joins two states.
    pub merge: Entry<LaneArgs>,
    /// Folds lanes `width` apart together and writes the results.
    pub finish: Entry<LaneArgs>,
}

impl LaneFns {
    /// Size of a state.
    pub(crate) fn bytes(&self, lanes: usize) -> usize {
        HEAD + LEVELS * (lanes * self.acc).next_multiple_of(64)
    }
}

/// Room for the count.
const HEAD: usize = 64;

struct Start<F, E>(PhantomData<(F, E)>);
struct Push<F, E>(PhantomData<(F, E)>);
struct Merge<F, E>(PhantomData<(F, E)>);
struct Finish<F, E>(PhantomData<(F, E)>);

/// Accumulator array `level` of a state.
#[inline(always)]
unsafe fn level<A>(state: *mut u8, lanes: usize, level: usize) -> *mut A {
    // SAFETY: within the state, by the contract of `LaneArgs`.
    unsafe { state.add(HEAD + level * (lanes * size_of::<A>()).next_multiple_of(64)) as *mut A }
}

/// Merges array `from` of `other` into array `to` of `state`.
#[inline(always)]
unsafe fn absorb<E: Copy, F: Fold<E>>(to: *mut F::Acc, from: *const F::Acc, lanes: usize) {
    for l in 0..lanes {
        // SAFETY: both have `lanes` accumulators.
        unsafe { *to.add(l) = F::merge(*to.add(l), *from.add(l)) };
    }
}

#[inline(always)]
unsafe fn clear<E: Copy, F: Fold<E>>(at: *mut F::Acc, lanes: usize) {
    for l in 0..lanes {
        // SAFETY: there are `lanes` accumulators.
        unsafe { *at.add(l) = F::empty() };
    }
}

impl<E: Copy + 'static, F: Fold<E>> Body for Start<F, E> {
    type Args = LaneArgs;

    #[inline(always)]
    unsafe fn run(a: &LaneArgs) {
        // SAFETY: by the contract of `LaneArgs`.
        unsafe {
            *(a.state as *mut u64) = 0;
            for k in 0..LEVELS {
                clear::<E, F>(level(a.state, a.lanes, k), a.lanes);
            }
        }
    }
}

impl<E: Copy + 'static, F: Fold<E>> Body for Push<F, E> {
    type Args = LaneArgs;

    #[inline(always)]
    unsafe fn run(a: &LaneArgs) {
        let src = a.src as *const E;
        // SAFETY: by the contract of `LaneArgs`; elements and accumulators do not overlap.
        unsafe {
            let count = &mut *(a.state as *mut u64);
            let acc = std::slice::from_raw_parts_mut(level::<F::Acc>(a.state, a.lanes, 0), a.n);
            let src = std::slice::from_raw_parts(src, a.n);
            for (acc, &e) in acc.iter_mut().zip(src) {
                *acc = F::push(*acc, e, a.tile);
            }
            *count += 1;
            let mut below = *count;
            for k in 1..LEVELS {
                if !below.is_multiple_of(RADIX) {
                    break;
                }
                below /= RADIX;
                let from = level::<F::Acc>(a.state, a.lanes, k - 1);
                absorb::<E, F>(level(a.state, a.lanes, k), from, a.lanes);
                clear::<E, F>(from, a.lanes);
            }
        }
    }
}

impl<E: Copy + 'static, F: Fold<E>> Body for Merge<F, E> {
    type Args = LaneArgs;

    #[inline(always)]
    unsafe fn run(a: &LaneArgs) {
        for k in 0..LEVELS {
            // SAFETY: by the contract of `LaneArgs`; `src` is only read.
            unsafe { absorb::<E, F>(level(a.state, a.lanes, k), level(a.src as *mut u8, a.lanes, k), a.lanes) };
        }
    }
}

impl<E: Copy + 'static, F: Fold<E>> Body for Finish<F, E> {
    type Args = LaneArgs;

    #[inline(always)]
    unsafe fn run(a: &LaneArgs) {
        let out = a.out as *mut F::Out;
        let rows = a.lanes / a.width;
        // SAFETY: by the contract of `LaneArgs`.
        unsafe {
            let top = level::<F::Acc>(a.state, a.lanes, LEVELS - 1);
            for k in (0..LEVELS - 1).rev() {
                absorb::<E, F>(top, level(a.state, a.lanes, k), a.lanes);
            }
            for r in 0..rows {
                for c in 0..a.width {
                    let at = top.add(r * a.width + c);
                    *at = F::relabel(*at, rows as i64, r as i64);
                }
            }
            // Rows in pairs, so that the rounding errors do not pile up.
            let mut left = rows;
            while left > 1 {
                let half = left.div_ceil(2);
                absorb::<E, F>(top, top.add(half * a.width), (left - half) * a.width);
                left = half;
            }
            for c in 0..a.width {
                *out.add(c) = F::finish(*top.add(c));
            }
        }
    }
}

pub(super) fn fns<S: Isa, F: Fold<E>, E: Copy + 'static>() -> LaneFns {
    LaneFns {
        acc: size_of::<F::Acc>(),
        start: V1::entry::<Start<F, E>>(),
        push: S::entry::<Push<F, E>>(),
        merge: V1::entry::<Merge<F, E>>(),
        finish: V1::entry::<Finish<F, E>>(),
    }
}
