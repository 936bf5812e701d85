//! Loops of reductions over contiguous elements.
//!
//! A [`Reduction`] adds elements to accumulators and merges accumulators. Three kinds of loop use it: adjacent rows of
//! a tile, one long row that arrives tile by tile, and columns (module [`super::columns`]), where each element of a
//! tile has its own accumulator. Long rows merge blocks of [`BLOCK`] elements pairwise, in an order that depends only
//! on positions. Sums are therefore as accurate as NumPy's pairwise sums and the same for any number of threads.

use std::marker::PhantomData;

use cuprous_core::{DType, ReduceOp};

use super::columns::{self, ColumnFns};
use super::reductions::{Arg, BLOCK, ComplexM2, M2, Max, Min, Prod, Reduction, Sum, WIDTH};
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{
    B, BF16, F16, F32, F64,
    complex::{C64, C128},
};

/// Merge levels of a long row, enough for 2^40 blocks.
const LEVELS: usize = 40;

/// Arguments of reductions of `rows` adjacent rows of `n` elements each.
///
/// Contract: `rows·n` elements at `src`, space for `rows` results at `out`.
pub(crate) struct RowsArgs {
    /// First element.
    pub src: *const u8,
    /// Number of elements in a row.
    pub n: usize,
    /// Number of rows.
    pub rows: usize,
    /// Results.
    pub out: *mut u8,
}

/// Arguments that push a part of a long row.
///
/// Contract: `state` has [`ReduceFns::state_bytes`], is aligned to 16 bytes and was started; `n` elements are at `src`.
pub(crate) struct PushArgs {
    /// The state so far.
    pub state: *mut u8,
    /// Elements.
    pub src: *const u8,
    /// Number of elements. A part whose number is no multiple of [`BLOCK`] ends with a smaller block.
    pub n: usize,
    /// Position of the first element in the row.
    pub base: i64,
}

/// Arguments that merge `other`, the next part of a row, into `state`, or write the result of `state` to `other`.
///
/// Contract: both are states, except that `other` is space for a result in `finish` and unused in `start`.
pub(crate) struct MergeArgs {
    /// The earlier part.
    pub state: *mut u8,
    /// The later part, or the result.
    pub other: *mut u8,
}

/// Accumulators of blocks, merged like the digits of a binary counter.
struct State<A> {
    blocks: u64,
    stack: [A; LEVELS],
}

struct Rows<F, E>(PhantomData<(F, E)>);
struct Start<F, E>(PhantomData<(F, E)>);
struct Push<F, E>(PhantomData<(F, E)>);
struct Merge<F, E>(PhantomData<(F, E)>);
struct Finish<F, E>(PhantomData<(F, E)>);

/// Reduces a complete row, with blocks merged pairwise.
#[inline(always)]
unsafe fn reduce_row<E: Copy + 'static, F: Reduction<E>>(src: *const E, n: usize) -> F::Acc {
    if n <= BLOCK {
        // SAFETY: by the caller's contract, `n` elements are at `src`.
        return unsafe { F::block(src, n, 0) };
    }
    let mut state = State { blocks: 0, stack: [F::empty(); LEVELS] };
    for start in (0..n).step_by(BLOCK) {
        // SAFETY: the block lies within the row.
        let acc = unsafe { F::block(src.add(start), BLOCK.min(n - start), start as i64) };
        add_block::<E, F>(&mut state, acc);
    }
    merge_blocks::<E, F>(&state)
}

/// Adds a block. Each trailing one bit of the count stands for a complete neighbor of the same size.
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
                    // SAFETY: by the contract of `RowsArgs`.
                    *acc = F::push(*acc, unsafe { *src.add((start + r) * a.n + j) }, j as i64);
                }
            }
            for (r, acc) in acc[..rows].iter().enumerate() {
                // SAFETY: by the contract of `RowsArgs`.
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
            // SAFETY: by the contract of `PushArgs`, `n` elements are in memory.
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

/// The functions of one reduction for one element type.
#[derive(Clone, Copy)]
pub(crate) struct ReduceFns {
    /// Size of a long row's state in bytes.
    pub state_bytes: usize,
    /// Reduces many rows.
    pub rows: Entry<RowsArgs>,
    /// Starts a long row.
    pub start: Entry<MergeArgs>,
    /// Pushes a part of it.
    pub push: Entry<PushArgs>,
    /// Merges two parts of it.
    pub merge: Entry<MergeArgs>,
    /// Writes its result.
    pub finish: Entry<MergeArgs>,
    /// The functions for columns.
    pub columns: ColumnFns,
}

fn fns<S: Isa, F: Reduction<E>, E: Copy + 'static>() -> ReduceFns {
    ReduceFns {
        state_bytes: size_of::<State<F::Acc>>(),
        rows: S::entry::<Rows<F, E>>(),
        // Called once per row, so versions per level are not worthwhile.
        start: V1::entry::<Start<F, E>>(),
        push: S::entry::<Push<F, E>>(),
        merge: V1::entry::<Merge<F, E>>(),
        finish: V1::entry::<Finish<F, E>>(),
        columns: columns::fns::<S, F, E>(),
    }
}

/// Returns the functions of `op` for elements of type `d`, and the dtype of the result.
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
