//! Folds: what a reduction does to blocks of elements.
//!
//! A [`Fold`] turns elements into accumulators and merges accumulators. Three drivers use it: rows that lie one after
//! the other in a tile, one long row that comes tile by tile, and columns (module [`super::lanes`]), where every lane of
//! a tile has an accumulator of its own. Long rows merge blocks of [`BLOCK`] elements pairwise, in an order that depends
//! on positions only: sums are as accurate as NumPy's pairwise ones, and equal for any number of threads.

use std::marker::PhantomData;

use cuprous_core::{DType, ReduceOp};

use super::lanes::{self, LaneFns};
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{
    All, B, BF16, Cx, F16, F32, F64, Num,
    complex::{C64, C128, Part},
};

/// Elements that are folded with [`WIDTH`] parallel accumulators before the pairwise merging.
pub(crate) const BLOCK: usize = 1024;
/// Parallel accumulators within a block: enough vectors to hide the latency of an addition.
const WIDTH: usize = 64;
/// Merge levels of a long row: 2^40 blocks.
const LEVELS: usize = 40;

/// A fold over elements of type `E`.
pub(super) trait Fold<E: Copy>: 'static {
    type Acc: Copy;
    type Out: Copy;
    fn empty() -> Self::Acc;
    /// `index` grows from push to push of one accumulator.
    fn push(acc: Self::Acc, e: E, index: i64) -> Self::Acc;
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn finish(acc: Self::Acc) -> Self::Out;
    /// The reduction of a single element. `empty` is not always an identity: 0 + -0 is 0, not -0.
    #[inline(always)]
    fn single(e: E) -> Self::Acc {
        Self::push(Self::empty(), e, 0)
    }
    /// An index `i` counted in tiles of `per` rows becomes `i·per + row`.
    #[inline(always)]
    fn relabel(acc: Self::Acc, _per: i64, _row: i64) -> Self::Acc {
        acc
    }
    /// Folds up to [`BLOCK`] elements.
    ///
    /// # Safety
    /// `n` elements are at `src`.
    #[inline(always)]
    unsafe fn block(src: *const E, n: usize, base: i64) -> Self::Acc {
        let mut acc = [Self::empty(); WIDTH];
        let mut i = 0;
        while i + WIDTH <= n {
            for (l, a) in acc.iter_mut().enumerate() {
                // SAFETY: `i + l < n`.
                *a = Self::push(*a, unsafe { *src.add(i + l) }, base + (i + l) as i64);
            }
            i += WIDTH;
        }
        for (l, a) in acc[..n - i].iter_mut().enumerate() {
            // SAFETY: `i + l < n`.
            *a = Self::push(*a, unsafe { *src.add(i + l) }, base + (i + l) as i64);
        }
        tree::<E, Self>(&mut acc)
    }
}

/// Merges neighbours' halves until one is left.
#[inline(always)]
fn tree<E: Copy, F: Fold<E> + ?Sized>(acc: &mut [F::Acc; WIDTH]) -> F::Acc {
    let mut half = WIDTH / 2;
    while half > 0 {
        for l in 0..half {
            acc[l] = F::merge(acc[l], acc[l + half]);
        }
        half /= 2;
    }
    acc[0]
}

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
/// Contract: `state` has [`FoldFns::state_bytes`], is 16-byte aligned and, but for `start`, was started; `n` elements
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
unsafe fn row<E: Copy + 'static, F: Fold<E>>(src: *const E, n: usize) -> F::Acc {
    if n <= BLOCK {
        // SAFETY: passed on.
        return unsafe { F::block(src, n, 0) };
    }
    let mut state = State { blocks: 0, stack: [F::empty(); LEVELS] };
    for start in (0..n).step_by(BLOCK) {
        // SAFETY: within the row.
        let acc = unsafe { F::block(src.add(start), BLOCK.min(n - start), start as i64) };
        count::<E, F>(&mut state, acc);
    }
    total::<E, F>(&state)
}

/// Adds a block: each trailing one of the count is a finished neighbour of the same size.
#[inline(always)]
fn count<E: Copy, F: Fold<E>>(state: &mut State<F::Acc>, mut acc: F::Acc) {
    let mut level = 0;
    while state.blocks >> level & 1 == 1 {
        acc = F::merge(state.stack[level], acc);
        level += 1;
    }
    state.stack[level.min(LEVELS - 1)] = acc;
    state.blocks += 1;
}

#[inline(always)]
fn total<E: Copy, F: Fold<E>>(state: &State<F::Acc>) -> F::Acc {
    let mut acc = F::empty();
    for level in 0..LEVELS {
        if state.blocks >> level & 1 == 1 {
            acc = F::merge(state.stack[level], acc);
        }
    }
    acc
}

impl<E: Copy + 'static, F: Fold<E>> Body for Rows<F, E> {
    type Args = RowsArgs;

    #[inline(always)]
    unsafe fn run(a: &RowsArgs) {
        let (src, out) = (a.src as *const E, a.out as *mut F::Out);
        if a.n >= WIDTH / 2 {
            for r in 0..a.rows {
                // SAFETY: by the contract of `RowsArgs`.
                unsafe { *out.add(r) = F::finish(row::<E, F>(src.add(r * a.n), a.n)) };
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

impl<E: Copy + 'static, F: Fold<E>> Body for Start<F, E> {
    type Args = MergeArgs;

    #[inline(always)]
    unsafe fn run(a: &MergeArgs) {
        // SAFETY: by the contract of `MergeArgs`.
        unsafe { *(a.state as *mut State<F::Acc>) = State { blocks: 0, stack: [F::empty(); LEVELS] } }
    }
}

impl<E: Copy + 'static, F: Fold<E>> Body for Push<F, E> {
    type Args = PushArgs;

    #[inline(always)]
    unsafe fn run(a: &PushArgs) {
        // SAFETY: by the contract of `PushArgs`.
        let state = unsafe { &mut *(a.state as *mut State<F::Acc>) };
        let src = a.src as *const E;
        for start in (0..a.n).step_by(BLOCK) {
            // SAFETY: `n` elements are there.
            let acc = unsafe { F::block(src.add(start), BLOCK.min(a.n - start), a.base + start as i64) };
            count::<E, F>(state, acc);
        }
    }
}

impl<E: Copy + 'static, F: Fold<E>> Body for Merge<F, E> {
    type Args = MergeArgs;

    #[inline(always)]
    unsafe fn run(a: &MergeArgs) {
        // SAFETY: by the contract of `MergeArgs`.
        let (state, other) = unsafe { (&mut *(a.state as *mut State<F::Acc>), &*(a.other as *const State<F::Acc>)) };
        let acc = F::merge(total::<E, F>(state), total::<E, F>(other));
        state.blocks = 1;
        state.stack[0] = acc;
    }
}

impl<E: Copy + 'static, F: Fold<E>> Body for Finish<F, E> {
    type Args = MergeArgs;

    #[inline(always)]
    unsafe fn run(a: &MergeArgs) {
        // SAFETY: by the contract of `MergeArgs`.
        unsafe { *(a.other as *mut F::Out) = F::finish(total::<E, F>(&*(a.state as *const State<F::Acc>))) }
    }
}

/// The functions of one fold of one element type.
#[derive(Clone, Copy)]
pub(crate) struct FoldFns {
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
    pub lanes: LaneFns,
}

fn fns<S: Isa, F: Fold<E>, E: Copy + 'static>() -> FoldFns {
    FoldFns {
        state_bytes: size_of::<State<F::Acc>>(),
        rows: S::entry::<Rows<F, E>>(),
        // Once a row: not worth copies per level.
        start: V1::entry::<Start<F, E>>(),
        push: S::entry::<Push<F, E>>(),
        merge: V1::entry::<Merge<F, E>>(),
        finish: V1::entry::<Finish<F, E>>(),
        lanes: lanes::fns::<S, F, E>(),
    }
}

/// A type in which sums and products of elements accumulate.
pub(crate) trait Accumulate: All {
    type Wide: All;
    const NOUGHT: Self::Wide;
    const UNIT: Self::Wide;
    fn widen(self) -> Self::Wide;
    fn narrow(w: Self::Wide) -> Self;
    fn plus(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn times(a: Self::Wide, b: Self::Wide) -> Self::Wide;
}

macro_rules! accumulate {
    ($([$($g:tt)*] $t:ty, $wide:ty, |$w:ident| $widen:expr, $narrow:expr;)*) => {$(
        impl<$($g)*> Accumulate for $t {
            type Wide = $wide;
            const NOUGHT: $wide = <$wide as All>::ZERO;
            const UNIT: $wide = <$wide as Num>::ONE;
            #[inline(always)]
            fn widen(self) -> $wide { let $w = self; $widen }
            #[inline(always)]
            fn narrow($w: $wide) -> $t { $narrow }
            #[inline(always)]
            fn plus(a: $wide, b: $wide) -> $wide { a.add(b) }
            #[inline(always)]
            fn times(a: $wide, b: $wide) -> $wide { a.mul(b) }
        }
    )*};
}
accumulate! {
    [] i8, i8, |w| w, w; [] i16, i16, |w| w, w; [] i32, i32, |w| w, w; [] i64, i64, |w| w, w;
    [] u8, u8, |w| w, w; [] u16, u16, |w| w, w; [] u32, u32, |w| w, w; [] u64, u64, |w| w, w;
    [S: Isa] F32<S>, F32<S>, |w| w, w;
    [S: Isa] F64<S>, F64<S>, |w| w, w;
    [S: Isa] F16<S>, F32<S>, |w| w.wide(), F16::narrow(w);
    [S: Isa] BF16<S>, F32<S>, |w| w.wide(), BF16::narrow(w);
    [F: Part] Cx<F>, Cx<F>, |w| w, w;
}

/// The sum of truth values is "any", their product "all".
impl Accumulate for B {
    type Wide = B;
    const NOUGHT: B = B(0);
    const UNIT: B = B(1);
    #[inline(always)]
    fn widen(self) -> B {
        B::from(self.0 != 0)
    }
    #[inline(always)]
    fn narrow(w: B) -> B {
        w
    }
    #[inline(always)]
    fn plus(a: B, b: B) -> B {
        a | b
    }
    #[inline(always)]
    fn times(a: B, b: B) -> B {
        a & b
    }
}

pub(super) struct Sum;
pub(super) struct Prod;
pub(super) struct Max;
pub(super) struct Min;
struct Arg<const MAX: bool>;
struct M2;
struct ComplexM2;

macro_rules! wide_fold {
    ($name:ident, $empty:ident, $op:ident) => {
        impl<E: Accumulate> Fold<E> for $name {
            type Acc = E::Wide;
            type Out = E;
            #[inline(always)]
            fn empty() -> E::Wide {
                E::$empty
            }
            #[inline(always)]
            fn push(acc: E::Wide, e: E, _index: i64) -> E::Wide {
                E::$op(acc, e.widen())
            }
            #[inline(always)]
            fn single(e: E) -> E::Wide {
                e.widen()
            }
            #[inline(always)]
            fn merge(a: E::Wide, b: E::Wide) -> E::Wide {
                E::$op(a, b)
            }
            #[inline(always)]
            fn finish(acc: E::Wide) -> E {
                E::narrow(acc)
            }
        }
    };
}
wide_fold!(Sum, NOUGHT, plus);
wide_fold!(Prod, UNIT, times);

macro_rules! order_fold {
    ($name:ident, $empty:ident, $op:ident) => {
        impl<E: All> Fold<E> for $name {
            type Acc = E;
            type Out = E;
            #[inline(always)]
            fn empty() -> E {
                E::$empty
            }
            #[inline(always)]
            fn push(acc: E, e: E, _index: i64) -> E {
                acc.$op(e)
            }
            #[inline(always)]
            fn merge(a: E, b: E) -> E {
                a.$op(b)
            }
            #[inline(always)]
            fn finish(acc: E) -> E {
                acc
            }
        }
    };
}
order_fold!(Max, LOWEST, maximum);
order_fold!(Min, HIGHEST, minimum);

/// The best element so far and its index; -1 where there is none.
#[derive(Clone, Copy)]
pub(super) struct Best<E> {
    value: E,
    index: i64,
}

impl<E: All, const MAX: bool> Fold<E> for Arg<MAX> {
    type Acc = Best<E>;
    type Out = i64;
    #[inline(always)]
    fn empty() -> Best<E> {
        Best { value: if MAX { E::LOWEST } else { E::HIGHEST }, index: -1 }
    }
    #[inline(always)]
    fn push(acc: Best<E>, e: E, index: i64) -> Best<E> {
        let beats = if MAX { acc.value.lt(e) } else { e.lt(acc.value) };
        let nan = e.ne(e) & !acc.value.ne(acc.value);
        let take = beats | nan | (acc.index < 0);
        Best { value: if take { e } else { acc.value }, index: if take { index } else { acc.index } }
    }
    #[inline(always)]
    fn merge(a: Best<E>, b: Best<E>) -> Best<E> {
        let (a_nan, b_nan) = (a.value.ne(a.value), b.value.ne(b.value));
        let beats = if MAX { a.value.lt(b.value) } else { b.value.lt(a.value) };
        let tie = (a_nan & b_nan) | a.value.eq(b.value);
        let take = (b.index >= 0) & ((a.index < 0) | beats & !a_nan | b_nan & !a_nan | tie & (b.index < a.index));
        if take { b } else { a }
    }
    #[inline(always)]
    fn finish(acc: Best<E>) -> i64 {
        acc.index.max(0)
    }
    /// The best value, then the first place where it stands.
    #[inline(always)]
    unsafe fn block(src: *const E, n: usize, base: i64) -> Best<E> {
        if n == 0 {
            return <Self as Fold<E>>::empty();
        }
        // SAFETY: passed on.
        let value =
            unsafe { if MAX { <Max as Fold<E>>::block(src, n, 0) } else { <Min as Fold<E>>::block(src, n, 0) } };
        let nan = value.ne(value);
        let mut index = 0;
        for start in (0..n).step_by(WIDTH) {
            let m = WIDTH.min(n - start);
            let mut found = false;
            for i in start..start + m {
                // SAFETY: `i < n`.
                let e = unsafe { *src.add(i) };
                found |= e.eq(value) | (nan & e.ne(e));
            }
            if found {
                index = start;
                break;
            }
        }
        while index + 1 < n {
            // SAFETY: `index < n`.
            let e = unsafe { *src.add(index) };
            if e.eq(value) | (nan & e.ne(e)) {
                break;
            }
            index += 1;
        }
        Best { value, index: base + index as i64 }
    }
    #[inline(always)]
    fn relabel(acc: Best<E>, per: i64, row: i64) -> Best<E> {
        Best { index: if acc.index < 0 { -1 } else { acc.index * per + row }, ..acc }
    }
}

/// Count, mean and sum of squared deviations (Welford 1962 for elements, Chan, Golub and LeVeque 1979 for merging).
#[derive(Clone, Copy)]
pub(super) struct Moments<const N: usize> {
    n: f64,
    mean: [f64; N],
    m2: f64,
}

/// An element as `N` real parts.
pub(super) trait Parts<const N: usize>: All {
    fn parts(self) -> [f64; N];
    fn back(m2: f64) -> Self::Component;
}

macro_rules! parts {
    ($($t:ty)*) => {$(
        impl<S: Isa> Parts<1> for $t {
            #[inline(always)]
            fn parts(self) -> [f64; 1] { [crate::math::Float::to_f64(self)] }
            #[inline(always)]
            fn back(m2: f64) -> $t { <$t as crate::math::Float>::from_f64(m2) }
        }
    )*};
}
parts!(F16<S> BF16<S> F32<S> F64<S>);

impl<F: Part> Parts<2> for Cx<F> {
    #[inline(always)]
    fn parts(self) -> [f64; 2] {
        [self.re.to_f64(), self.im.to_f64()]
    }
    #[inline(always)]
    fn back(m2: f64) -> F {
        F::from_f64(m2)
    }
}

macro_rules! m2_fold {
    ($name:ident $n:literal) => {
        impl<E: Parts<$n>> Fold<E> for $name {
            type Acc = Moments<$n>;
            type Out = E::Component;
            #[inline(always)]
            fn empty() -> Moments<$n> {
                Moments { n: 0.0, mean: [0.0; $n], m2: 0.0 }
            }
            #[inline(always)]
            fn push(acc: Moments<$n>, e: E, _index: i64) -> Moments<$n> {
                let (e, n) = (e.parts(), acc.n + 1.0);
                let (mut mean, mut m2) = (acc.mean, acc.m2);
                for k in 0..$n {
                    let d = e[k] - mean[k];
                    mean[k] += d / n;
                    m2 += d * (e[k] - mean[k]);
                }
                Moments { n, mean, m2 }
            }
            #[inline(always)]
            fn merge(a: Moments<$n>, b: Moments<$n>) -> Moments<$n> {
                let n = a.n + b.n;
                // Both empty: 0/0 must not poison the result.
                let share = if n == 0.0 { 0.0 } else { b.n / n };
                let (mut mean, mut m2) = (a.mean, a.m2 + b.m2);
                for k in 0..$n {
                    let d = b.mean[k] - a.mean[k];
                    let d = if (a.n == 0.0) | (b.n == 0.0) { 0.0 } else { d };
                    m2 += d * d * (a.n * share);
                    mean[k] = if a.n == 0.0 { b.mean[k] } else { mean[k] + d * share };
                }
                Moments { n, mean, m2 }
            }
            #[inline(always)]
            fn finish(acc: Moments<$n>) -> E::Component {
                E::back(acc.m2)
            }
            /// Two passes over the block, which is in cache: the mean, then the deviations.
            #[inline(always)]
            unsafe fn block(src: *const E, n: usize, _base: i64) -> Moments<$n> {
                let mut mean = [0.0; $n];
                let mut lanes = [[0.0; $n]; WIDTH / 2];
                let each = |lanes: &mut [[f64; $n]; WIDTH / 2], centre: Option<[f64; $n]>| {
                    let mut start = 0;
                    while start < n {
                        let m = (n - start).min(WIDTH / 2);
                        for (l, lane) in lanes[..m].iter_mut().enumerate() {
                            // SAFETY: `start + l < n`.
                            let e = unsafe { *src.add(start + l) }.parts();
                            for k in 0..$n {
                                lane[k] += match centre {
                                    None => e[k],
                                    Some(c) => (e[k] - c[k]) * (e[k] - c[k]),
                                };
                            }
                        }
                        start += m;
                    }
                };
                each(&mut lanes, None);
                for k in 0..$n {
                    mean[k] = lanes.iter().map(|l| l[k]).sum::<f64>() / n.max(1) as f64;
                }
                let mut squares = [[0.0; $n]; WIDTH / 2];
                each(&mut squares, Some(mean));
                let m2 = squares.iter().map(|l| l.iter().sum::<f64>()).sum::<f64>();
                Moments { n: n as f64, mean, m2 }
            }
        }
    };
}
m2_fold!(M2 1);
m2_fold!(ComplexM2 2);

/// The functions of `op` on elements of type `d`, and the dtype of the result.
pub(crate) fn fold(op: ReduceOp, d: DType) -> Option<(FoldFns, DType)> {
    let out = match op {
        ReduceOp::ArgMax | ReduceOp::ArgMin => DType::I64,
        ReduceOp::M2 => d.component(),
        _ => d,
    };
    let fns = match isa::level() {
        Level::V4 if matches!(d, DType::F32 | DType::F64) => fold_at::<V4>(op, d),
        Level::V4 | Level::V3 => fold_at::<V3>(op, d),
        Level::V1 => fold_at::<V1>(op, d),
    };
    Some((fns?, out))
}

fn fold_at<S: Isa>(op: ReduceOp, d: DType) -> Option<FoldFns> {
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
