//! The loops of direct convolutions: sums of shifted lines, and products of lines.

use std::marker::PhantomData;

use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::simd::Simd;

/// Elements behind the last that loads of complete blocks may read, and stores may write.
pub(super) const SLACK: usize = 8 * 16;
/// Outputs that a block computes from the same loads, at most.
pub(super) const CHANNELS: usize = 4;

/// Arguments of [`Sum`]: `out[c][q] = Σ weights[c][t] * lines[offsets[t] + q]` over t, for q below `span`.
pub(super) struct SumArgs<T> {
    pub(super) lines: *const T,
    pub(super) offsets: *const usize,
    pub(super) taps: usize,
    pub(super) weights: *const T,
    /// 1, 2 or 4. Rows of weights are `taps` apart, rows of the result `pitch`.
    pub(super) channels: usize,
    pub(super) out: *mut T,
    pub(super) pitch: usize,
    pub(super) span: usize,
}

/// Arguments of [`Product`]: `sums[c][t][lane] += lines[offsets[t] + q] * factors[c][q]`, with q congruent to the lane, for
/// q below `span`. The factors are zero up to the next multiple of the number of lanes.
pub(super) struct ProductArgs<T> {
    pub(super) lines: *const T,
    pub(super) offsets: *const usize,
    pub(super) taps: usize,
    pub(super) factors: *const T,
    /// 1, 2 or 4. Rows of factors are `pitch` apart.
    pub(super) channels: usize,
    pub(super) pitch: usize,
    pub(super) span: usize,
    pub(super) sums: *mut T,
}

struct Sum<S, T>(PhantomData<(S, T)>);
struct Product<S, T>(PhantomData<(S, T)>);

/// Returns true if there are 32 registers, so that a block may have 16 accumulators.
const fn has_many_registers<S: Simd<T>, T>() -> bool {
    size_of::<S::V>() == 64
}

impl<S: Simd<T>, T: Copy + Default + 'static> Sum<S, T> {
    #[inline(always)]
    unsafe fn block<const C: usize, const N: usize>(a: &SumArgs<T>, q: usize) {
        // SAFETY: by the contract of `SumArgs`, with [`SLACK`] elements behind lines and results.
        unsafe {
            let mut acc = [[S::splat(T::default()); N]; C];
            for t in 0..a.taps {
                let line = a.lines.add(*a.offsets.add(t) + q);
                let mut v = [S::splat(T::default()); N];
                for (l, v) in v.iter_mut().enumerate() {
                    *v = S::load(line.add(l * S::LANES));
                }
                for (c, acc) in acc.iter_mut().enumerate() {
                    let w = S::splat(*a.weights.add(c * a.taps + t));
                    for (acc, &v) in acc.iter_mut().zip(&v) {
                        *acc = S::fma(v, w, *acc);
                    }
                }
            }
            for (c, acc) in acc.iter().enumerate() {
                for (l, &v) in acc.iter().enumerate() {
                    S::store(a.out.add(c * a.pitch + q + l * S::LANES), v);
                }
            }
        }
    }

    /// Processes blocks of `N` vectors, and the rest by blocks of half as many.
    #[inline(always)]
    unsafe fn lines<const C: usize, const N: usize, const HALF: usize>(a: &SumArgs<T>) {
        let mut q = 0;
        // SAFETY: by this type's contract.
        unsafe {
            while a.span.saturating_sub(q) > HALF * S::LANES {
                Self::block::<C, N>(a, q);
                q += N * S::LANES;
            }
            while q < a.span && HALF > 1 && a.span - q > S::LANES {
                Self::block::<C, HALF>(a, q);
                q += HALF * S::LANES;
            }
            if q < a.span {
                Self::block::<C, 1>(a, q);
            }
        }
    }
}

impl<S: Simd<T>, T: Copy + Default + 'static> Body for Sum<S, T> {
    type Args = SumArgs<T>;

    #[inline(always)]
    unsafe fn run(a: &SumArgs<T>) {
        // SAFETY: by this type's contract.
        unsafe {
            match (a.channels, has_many_registers::<S, T>()) {
                (1, _) => Self::lines::<1, 8, 4>(a),
                (2, _) => Self::lines::<2, 4, 2>(a),
                (_, true) => Self::lines::<CHANNELS, 4, 2>(a),
                (_, false) => Self::lines::<CHANNELS, 2, 1>(a),
            }
        }
    }
}

impl<S: Simd<T>, T: Copy + Default + 'static> Product<S, T> {
    /// Processes `B` taps from `t` on.
    #[inline(always)]
    unsafe fn block<const C: usize, const B: usize>(a: &ProductArgs<T>, t: usize) {
        // SAFETY: by the contract of `ProductArgs`, with [`SLACK`] elements behind lines.
        unsafe {
            let sums = |c: usize, b: usize| a.sums.add((c * a.taps + t + b) * S::LANES);
            let mut acc = [[S::splat(T::default()); B]; C];
            let mut line = [a.lines; B];
            for (b, line) in line.iter_mut().enumerate() {
                *line = a.lines.add(*a.offsets.add(t + b));
            }
            for (c, acc) in acc.iter_mut().enumerate() {
                for (b, acc) in acc.iter_mut().enumerate() {
                    *acc = S::load(sums(c, b));
                }
            }
            for q in (0..a.span).step_by(S::LANES) {
                let mut factor = [S::splat(T::default()); C];
                for (c, factor) in factor.iter_mut().enumerate() {
                    *factor = S::load(a.factors.add(c * a.pitch + q));
                }
                for (b, line) in line.iter().enumerate() {
                    let v = S::load(line.add(q));
                    for (acc, &factor) in acc.iter_mut().zip(&factor) {
                        acc[b] = S::fma(v, factor, acc[b]);
                    }
                }
            }
            for (c, acc) in acc.iter().enumerate() {
                for (b, &acc) in acc.iter().enumerate() {
                    S::store(sums(c, b), acc);
                }
            }
        }
    }

    /// Processes blocks of `B` taps, and the rest one by one.
    #[inline(always)]
    unsafe fn blocks<const C: usize, const B: usize, const HALF: usize>(a: &ProductArgs<T>) {
        let mut t = 0;
        // SAFETY: by this type's contract.
        unsafe {
            while a.taps - t >= B {
                Self::block::<C, B>(a, t);
                t += B;
            }
            while a.taps - t >= HALF {
                Self::block::<C, HALF>(a, t);
                t += HALF;
            }
            while t < a.taps {
                Self::block::<C, 1>(a, t);
                t += 1;
            }
        }
    }
}

impl<S: Simd<T>, T: Copy + Default + 'static> Body for Product<S, T> {
    type Args = ProductArgs<T>;

    #[inline(always)]
    unsafe fn run(a: &ProductArgs<T>) {
        // SAFETY: by this type's contract.
        unsafe {
            match (a.channels, has_many_registers::<S, T>()) {
                (1, _) => Self::blocks::<1, 9, 4>(a),
                (2, _) => Self::blocks::<2, 4, 2>(a),
                (_, true) => Self::blocks::<CHANNELS, 4, 2>(a),
                (_, false) => Self::blocks::<CHANNELS, 2, 1>(a),
            }
        }
    }
}

/// The loops of an instruction set for elements of type `T`.
#[derive(Clone, Copy)]
pub(super) struct Loops<T> {
    pub(super) sum: Entry<SumArgs<T>>,
    pub(super) product: Entry<ProductArgs<T>>,
    pub(super) lanes: usize,
}

/// A type of elements.
pub(super) trait Element: Copy + Default + Send + Sync + Into<f64> + 'static {
    fn loops() -> Loops<Self>;
    fn rounded(v: f64) -> Self;
    fn is_finite(self) -> bool;
}

fn of_level<L: Isa + Simd<T>, T: Copy + Default + 'static>() -> Loops<T> {
    Loops { sum: L::entry::<Sum<L, T>>(), product: L::entry::<Product<L, T>>(), lanes: L::LANES }
}

macro_rules! element {
    ($($t:ty)*) => {$(
        impl Element for $t {
            fn loops() -> Loops<$t> {
                match isa::level() {
                    Level::V1 => of_level::<V1, $t>(),
                    Level::V3 => of_level::<V3, $t>(),
                    Level::V4 => of_level::<V4, $t>(),
                }
            }
            fn rounded(v: f64) -> $t {
                v as $t
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}
element!(f32 f64);
