//! Folds: what a reduction does to blocks of elements.
//!
//! A [`Reduction`] turns elements into accumulators and merges accumulators. Three drivers use it: rows that lie one after
//! the other in a tile, one long row that comes tile by tile, and columns (module [`super::columns`]), where every lane of
//! a tile has an accumulator of its own. Long rows merge blocks of [`BLOCK`] elements pairwise, in an order that depends
//! on positions only: sums are as accurate as NumPy's pairwise ones, and equal for any number of threads.

use std::marker::PhantomData;

use cuprous_core::{DType, ReduceOp};

use super::columns::{self, ColumnFns};
use super::reductions::{Arg, BLOCK, ComplexM2, M2, Max, Min, Prod, Reduction, Sum, WIDTH};
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{
    B, BF16, F16, F32, F64,
    complex::{C64, C128},
};

/// Merge levels of a long row: 2^40 blocks.
const LEVELS: usize = 40;

/// Rows that lie one after the other: `rows` folds of `n` elements each.
///
/// Contract: `rows·n` elements at `src`, room for `rows` results at `out`.
pub(crate) struct RowsArgs {
    /// First element.
    pub src: *const u8,
    /// Elements of a row.
    pub n: usize,
    /// Rows.
    pub rows: usize,
    /// Results.
    pub out: *mut u8,
}

/// A part of a long row.
///
/// Contract: `state` has [`ReduceFns::state_bytes`], is 16-byte aligned and, but for `start`, was started; `n` elements
/// are at `src`.
pub(crate) struct PushArgs {
    /// The fold so far.
    pub state: *mut u8,
    /// Elements.
    pub src: *const u8,
    /// How many; a multiple of [`BLOCK`] but at the end.
    pub n: usize,
    /// Position of the first.
    pub base: i64,
}

/// `state` absorbs the next part of its row, or `other` becomes its result.
///
/// Contract: both are states; for `finish`, `other` is room for a result.
pub(crate) struct MergeArgs {
    /// The earlier part.
    pub state: *mut u8,
    /// The later part, or the result.
    pub other: *mut u8,
}

/// Partial folds of blocks, merged like the digits of a binary counter.
struct State<A> {
    blocks: u64,
    stack: [A; LEVELS],
}

struct Rows<F, E>(PhantomData<(F, E)>);
struct Start<F, E>(PhantomData<(F, E)>);
struct Push<F, E>(PhantomData<(F, E)>);
struct Merge<F, E>(PhantomData<(F, E)>);
struct Finish<F, E>(PhantomData<(F, E)>);

/// A whole row, blocks merged pairwise.
#[inline(always)]
unsafe fn reduce_row<E: Copy + 'static, F: Reduction<E>>(src: *const E, n: usize) -> F::Acc {
    if n <= BLOCK {
        // SAFETY: passed on.
        return unsafe { F::block(src, n, 0) };
    }
    let mut state = State { blocks: 0, stack: [F::empty(); LEVELS] };
    for start in (0..n).step_by(BLOCK) {
        // SAFETY: within the row.
        let acc = unsafe { F::block(src.add(start), BLOCK.min(n - start), start as i64) };
        add_block::<E, F>(&mut state, acc);
    }
    merge_blocks::<E, F>(&state)
}

/// Adds a block: each trailing one of the count is a finished neighbour of the same size.
#[inline(always)]
fn add_block<E: Copy, F: Reduction<E>>(state: &mut State<F::Acc>, mut acc: F::Acc) {
    let mut level = 0;
    while state.blocks >> level & 1 == 1 {
        acc = F::merge(state.stack[level], acc);
        level += 1;
    }
    state.stack[level.min(LEVELS - 1)] = acc;
    state.blocks += 1;
}

#[inline(always)]
fn merge_blocks<E: Copy, F: Reduction<E>>(state: &State<F::Acc>) -> F::Acc {
    let mut acc = F::empty();
    for level in 0..LEVELS {
        if state.blocks >> level & 1 == 1 {
            acc = F::merge(state.stack[level], acc);
        }
    }
    acc
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Rows<F, E> {
    type Args = RowsArgs;

    #[inline(always)]
    unsafe fn run(a: &RowsArgs) {
        let (src, out) = (a.src as *const E, a.out as *mut F::Out);
        if a.n >= WIDTH / 2 {
            for r in 0..a.rows {
                // SAFETY: by the contract of `RowsArgs`.
                unsafe { *out.add(r) = F::finish(reduce_row::<E, F>(src.add(r * a.n), a.n)) };
            }
            return;
        }
        // Short rows: many at once, so that their additions do not wait for each other.
        for start in (0..a.rows).step_by(WIDTH) {
            let rows = WIDTH.min(a.rows - start);
            let mut acc = [F::empty(); WIDTH];
            for j in 0..a.n {
                for (r, acc) in acc[..rows].iter_mut().enumerate() {
                    // SAFETY: as above.
                    *acc = F::push(*acc, unsafe { *src.add((start + r) * a.n + j) }, j as i64);
                }
            }
            for (r, acc) in acc[..rows].iter().enumerate() {
                // SAFETY: as above.
                unsafe { *out.add(start + r) = F::finish(*acc) };
            }
        }
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Start<F, E> {
    type Args = MergeArgs;

    #[inline(always)]
    unsafe fn run(a: &MergeArgs) {
        // SAFETY: by the contract of `MergeArgs`.
        unsafe { *(a.state as *mut State<F::Acc>) = State { blocks: 0, stack: [F::empty(); LEVELS] } }
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Push<F, E> {
    type Args = PushArgs;

    #[inline(always)]
    unsafe fn run(a: &PushArgs) {
        // SAFETY: by the contract of `PushArgs`.
        let state = unsafe { &mut *(a.state as *mut State<F::Acc>) };
        let src = a.src as *const E;
        for start in (0..a.n).step_by(BLOCK) {
            // SAFETY: `n` elements are there.
            let acc = unsafe { F::block(src.add(start), BLOCK.min(a.n - start), a.base + start as i64) };
            add_block::<E, F>(state, acc);
        }
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Merge<F, E> {
    type Args = MergeArgs;

    #[inline(always)]
    unsafe fn run(a: &MergeArgs) {
        // SAFETY: by the contract of `MergeArgs`.
        let (state, other) = unsafe { (&mut *(a.state as *mut State<F::Acc>), &*(a.other as *const State<F::Acc>)) };
        let acc = F::merge(merge_blocks::<E, F>(state), merge_blocks::<E, F>(other));
        state.blocks = 1;
        state.stack[0] = acc;
    }
}

impl<E: Copy + 'static, F: Reduction<E>> Body for Finish<F, E> {
    type Args = MergeArgs;

    #[inline(always)]
    unsafe fn run(a: &MergeArgs) {
        // SAFETY: by the contract of `MergeArgs`.
        unsafe { *(a.other as *mut F::Out) = F::finish(merge_blocks::<E, F>(&*(a.state as *const State<F::Acc>))) }
    }
}

/// The functions of one fold of one element type.
#[derive(Clone, Copy)]
pub(crate) struct ReduceFns {
    /// Size of a long row's state.
    pub state_bytes: usize,
    /// Many rows at once.
    pub rows: Entry<RowsArgs>,
    /// Begins a long row.
    pub start: Entry<MergeArgs>,
    /// Continues it.
    pub push: Entry<PushArgs>,
    /// Joins two parts of it.
    pub merge: Entry<MergeArgs>,
    /// Ends it.
    pub finish: Entry<MergeArgs>,
    /// Columns.
    pub columns: ColumnFns,
}

fn fns<S: Isa, F: Reduction<E>, E: Copy + 'static>() -> ReduceFns {
    ReduceFns {
        state_bytes: size_of::<State<F::Acc>>(),
        rows: S::entry::<Rows<F, E>>(),
        // Once a row: not worth copies per level.
        start: V1::entry::<Start<F, E>>(),
        push: S::entry::<Push<F, E>>(),
        merge: V1::entry::<Merge<F, E>>(),
        finish: V1::entry::<Finish<F, E>>(),
        columns: columns::fns::<S, F, E>(),
    }
}

/// The functions of `op` on elements of type `d`, and the dtype of the result.
pub(crate) fn reduce(op: ReduceOp, d: DType) -> Option<(ReduceFns, DType)> {
    let out = match op {
        ReduceOp::ArgMax | ReduceOp::ArgMin => DType::I64,
        ReduceOp::M2 => d.component(),
        _ => d,
    };
    let fns = match isa::level() {
        Level::V4 if matches!(d, DType::F32 | DType::F64) => reduce_at::<V4>(op, d),
        Level::V4 | Level::V3 => reduce_at::<V3>(op, d),
        Level::V1 => reduce_at::<V1>(op, d),
    };
    Some((fns?, out))
}

fn reduce_at<S: Isa>(op: ReduceOp, d: DType) -> Option<ReduceFns> {
    macro_rules! all {
        ($F:ty) => {
            Some(match d {
                DType::Bool => fns::<S, $F, B>(),
                DType::I8 => fns::<S, $F, i8>(),
                DType::I16 => fns::<S, $F, i16>(),
                DType::I32 => fns::<S, $F, i32>(),
                DType::I64 => fns::<S, $F, i64>(),
                DType::U8 => fns::<S, $F, u8>(),
                DType::U16 => fns::<S, $F, u16>(),
                DType::U32 => fns::<S, $F, u32>(),
                DType::U64 => fns::<S, $F, u64>(),
                DType::F16 => fns::<S, $F, F16<S>>(),
                DType::BF16 => fns::<S, $F, BF16<S>>(),
                DType::F32 => fns::<S, $F, F32<S>>(),
                DType::F64 => fns::<S, $F, F64<S>>(),
                DType::C64 => fns::<S, $F, C64<S>>(),
                DType::C128 => fns::<S, $F, C128<S>>(),
            })
        };
    }
    match op {
        ReduceOp::Sum => all!(Sum),
        ReduceOp::Prod => all!(Prod),
        ReduceOp::Max => all!(Max),
        ReduceOp::Min => all!(Min),
        ReduceOp::ArgMax => all!(Arg<true>),
        ReduceOp::ArgMin => all!(Arg<false>),
        ReduceOp::M2 => Some(match d {
            DType::F16 => fns::<S, M2, F16<S>>(),
            DType::BF16 => fns::<S, M2, BF16<S>>(),
            DType::F32 => fns::<S, M2, F32<S>>(),
            DType::F64 => fns::<S, M2, F64<S>>(),
            DType::C64 => fns::<S, ComplexM2, C64<S>>(),
            DType::C128 => fns::<S, ComplexM2, C128<S>>(),
            _ => return None,
        }),
    }
}
