//! The reductions: how elements are added to an accumulator, and how accumulators are merged. The loops over elements
//! are in [`super::reduce`] and [`super::columns`].

use crate::isa::Isa;
use crate::math::{All, B, BF16, Cx, F16, F32, F64, Num, complex::Part};

/// Number of elements that are reduced with [`WIDTH`] parallel accumulators before pairwise merging.
pub(super) const BLOCK: usize = 1024;
/// Number of parallel accumulators within a block: enough vectors to hide the latency of an addition.
pub(super) const WIDTH: usize = 64;

/// A reduction of elements of type `E`.
pub(super) trait Reduction<E: Copy>: 'static {
    type Acc: Copy;
    type Out: Copy;
    fn empty() -> Self::Acc;
    /// Adds an element. `index` grows from push to push of one accumulator.
    fn push(acc: Self::Acc, e: E, index: i64) -> Self::Acc;
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn finish(acc: Self::Acc) -> Self::Out;
    /// Returns the reduction of a single element. `empty` is not always an identity: 0 + -0 is 0, not -0.
    #[inline(always)]
    fn single(e: E) -> Self::Acc {
        Self::push(Self::empty(), e, 0)
    }
    /// Converts an index `i` that counts tiles of `per` rows to `i·per + row`.
    #[inline(always)]
    fn renumber(acc: Self::Acc, _per: i64, _row: i64) -> Self::Acc {
        acc
    }
    /// Reduces up to [`BLOCK`] elements.
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
        merge_tree::<E, Self>(&mut acc)
    }
}

/// Merges the upper half into the lower half until one accumulator is left.
#[inline(always)]
fn merge_tree<E: Copy, F: Reduction<E> + ?Sized>(acc: &mut [F::Acc; WIDTH]) -> F::Acc {
    let mut half = WIDTH / 2;
    while half > 0 {
        for l in 0..half {
            acc[l] = F::merge(acc[l], acc[l + half]);
        }
        half /= 2;
    }
    acc[0]
}

/// A type in which sums and products of elements accumulate.
pub(crate) trait Accumulate: All {
    type Wide: All;
    const WIDE_ZERO: Self::Wide;
    const WIDE_ONE: Self::Wide;
    fn widen(self) -> Self::Wide;
    fn narrow(w: Self::Wide) -> Self;
    fn plus(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn times(a: Self::Wide, b: Self::Wide) -> Self::Wide;
}

macro_rules! accumulate {
    ($([$($g:tt)*] $t:ty, $wide:ty, |$w:ident| $widen:expr, $narrow:expr;)*) => {$(
        impl<$($g)*> Accumulate for $t {
            type Wide = $wide;
            const WIDE_ZERO: $wide = <$wide as All>::ZERO;
            const WIDE_ONE: $wide = <$wide as Num>::ONE;
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

/// The sum of truth values is "any" and their product is "all".
impl Accumulate for B {
    type Wide = B;
    const WIDE_ZERO: B = B(0);
    const WIDE_ONE: B = B(1);
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
pub(super) struct Arg<const MAX: bool>;
pub(super) struct M2;
pub(super) struct ComplexM2;

macro_rules! accumulating_reduction {
    ($name:ident, $empty:ident, $op:ident) => {
        impl<E: Accumulate> Reduction<E> for $name {
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
accumulating_reduction!(Sum, WIDE_ZERO, plus);
accumulating_reduction!(Prod, WIDE_ONE, times);

macro_rules! order_reduction {
    ($name:ident, $empty:ident, $op:ident) => {
        impl<E: All> Reduction<E> for $name {
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
order_reduction!(Max, LOWEST, maximum);
order_reduction!(Min, HIGHEST, minimum);

/// The best element so far and its index, which is -1 if there are no elements.
#[derive(Clone, Copy)]
pub(super) struct Best<E> {
    value: E,
    index: i64,
}

impl<E: All, const MAX: bool> Reduction<E> for Arg<MAX> {
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
    /// Finds the best value, then the first index that has it.
    #[inline(always)]
    unsafe fn block(src: *const E, n: usize, base: i64) -> Best<E> {
        if n == 0 {
            return <Self as Reduction<E>>::empty();
        }
        // SAFETY: by this function's contract, `n` elements are at `src`.
        let value = unsafe {
            if MAX { <Max as Reduction<E>>::block(src, n, 0) } else { <Min as Reduction<E>>::block(src, n, 0) }
        };
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
    fn renumber(acc: Best<E>, per: i64, row: i64) -> Best<E> {
        Best { index: if acc.index < 0 { -1 } else { acc.index * per + row }, ..acc }
    }
}

/// Count, mean and sum of squared deviations (Welford 1962 for elements; Chan, Golub and LeVeque 1979 for merging).
#[derive(Clone, Copy)]
pub(super) struct Moments<const N: usize> {
    n: f64,
    mean: [f64; N],
    m2: f64,
}

/// An element as `N` real parts.
pub(super) trait Parts<const N: usize>: All {
    fn parts(self) -> [f64; N];
    fn from_m2(m2: f64) -> Self::Component;
}

macro_rules! parts {
    ($($t:ty)*) => {$(
        impl<S: Isa> Parts<1> for $t {
            #[inline(always)]
            fn parts(self) -> [f64; 1] { [crate::math::Float::to_f64(self)] }
            #[inline(always)]
            fn from_m2(m2: f64) -> $t { <$t as crate::math::Float>::from_f64(m2) }
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
    fn from_m2(m2: f64) -> F {
        F::from_f64(m2)
    }
}

macro_rules! moments_reduction {
    ($name:ident $n:literal) => {
        impl<E: Parts<$n>> Reduction<E> for $name {
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
                // Both may be empty, and 0/0 would make the result NaN.
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
                E::from_m2(acc.m2)
            }
            /// Makes two passes over the block, which is in cache: the mean, then the deviations.
            #[inline(always)]
            unsafe fn block(src: *const E, n: usize, _base: i64) -> Moments<$n> {
                let mut mean = [0.0; $n];
                let mut lanes = [[0.0; $n]; WIDTH / 2];
                let each = |lanes: &mut [[f64; $n]; WIDTH / 2], center: Option<[f64; $n]>| {
                    let mut start = 0;
                    while start < n {
                        let m = (n - start).min(WIDTH / 2);
                        for (l, lane) in lanes[..m].iter_mut().enumerate() {
                            // SAFETY: `start + l < n`.
                            let e = unsafe { *src.add(start + l) }.parts();
                            for k in 0..$n {
                                lane[k] += match center {
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
moments_reduction!(M2 1);
moments_reduction!(ComplexM2 2);
