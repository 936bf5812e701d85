//! Transforms of the lines of an array.

use std::f64::consts::TAU;
use std::marker::PhantomData;
use std::sync::Arc;

use cuprous_numerics::FftReal;
use num_complex::Complex;
use rustfft::{Fft, FftDirection};

use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};

/// A planned transform of lines.
pub(super) trait Transform: Send + Sync + 'static {
    /// The types of its operand and its result.
    type In: Copy;
    type Out: Copy;
    /// The real type.
    type Real: FftReal;

    /// Transforms the lines in `from` into `to`.
    fn run(&self, from: &[Self::In], to: &mut [Self::Out], scratch: &mut [Complex<Self::Real>]);
    fn scratch(&self) -> usize;
    fn scale(value: &mut Self::Out, factor: Self::Real);
}

impl<T: FftReal> Transform for Arc<dyn Fft<T>> {
    type In = Complex<T>;
    type Out = Complex<T>;
    type Real = T;

    fn run(&self, from: &[Complex<T>], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        self.process_immutable_with_scratch(from, to, scratch);
    }

    fn scratch(&self) -> usize {
        self.get_immutable_scratch_len()
    }

    fn scale(value: &mut Complex<T>, factor: T) {
        *value = value.scale(factor);
    }
}

/// Converts between the spectrum of n real points and that of n / 2 complex ones: see [`RealPlan`].
struct Untangle<T>(PhantomData<T>);

struct Pairs<T> {
    /// The values from index 1 on, and those up to the last but one in reverse; `count` of each.
    left: *mut Complex<T>,
    right: *mut Complex<T>,
    twiddles: *const Complex<T>,
    count: usize,
    factor: T,
}

impl<T: FftReal> Body for Untangle<T> {
    type Args = Pairs<T>;

    #[inline(always)]
    unsafe fn run(args: &Pairs<T>) {
        let &Pairs { left, right, twiddles, count: n, factor } = args;
        // SAFETY: by the caller's contract, the slices exist and do not overlap.
        let (left, right, twiddles) = unsafe {
            let [left, right] = [left, right].map(|p| std::slice::from_raw_parts_mut(p, n));
            (left, right, std::slice::from_raw_parts(twiddles, n))
        };
        for k in 0..n {
            let (a, b, twiddle) = (left[k], right[n - 1 - k], twiddles[k]);
            let (even_re, even_im) = ((a.re + b.re) * factor, (a.im - b.im) * factor);
            let (odd_re, odd_im) = (a.re - b.re, a.im + b.im);
            let (re, im) = (twiddle.re * odd_re - twiddle.im * odd_im, twiddle.re * odd_im + twiddle.im * odd_re);
            left[k] = Complex { re: even_re + re, im: even_im + im };
            right[n - 1 - k] = Complex { re: even_re - re, im: im - even_im };
        }
    }
}

/// Transforms real points by a complex transform. For even n it has n / 2 points of two real ones each, and its
/// spectrum is converted to or from that of the real points. For odd n it has n points.
struct RealPlan<T> {
    n: usize,
    plan: Arc<dyn Fft<T>>,
    /// For each pair of values, the factor of half their difference (forward) or of their difference (backward).
    twiddles: Vec<Complex<T>>,
    untangle: Entry<Pairs<T>>,
}

impl<T: FftReal> RealPlan<T> {
    fn new(n: usize, direction: FftDirection) -> RealPlan<T> {
        let even = n.is_multiple_of(2);
        let pairs = if even { (n / 2).saturating_sub(1) / 2 } else { 0 };
        let number = |x: f64| T::from_f64(x).expect("the value is representable");
        let twiddle = |k: usize| {
            let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
            // -i/2 exp(-2πi k/n), or i exp(2πi k/n).
            let (re, im) = if direction == FftDirection::Forward { (-0.5 * sin, -0.5 * cos) } else { (-sin, cos) };
            Complex { re: number(re), im: number(im) }
        };
        RealPlan {
            n,
            plan: T::plan(if even { n / 2 } else { n }, direction),
            twiddles: (1..=pairs).map(twiddle).collect(),
            untangle: match isa::level() {
                Level::V1 => V1::entry::<Untangle<T>>(),
                Level::V3 => V3::entry::<Untangle<T>>(),
                Level::V4 => V4::entry::<Untangle<T>>(),
            },
        }
    }

    fn is_even(&self) -> bool {
        self.n.is_multiple_of(2)
    }

    /// Processes all of the n / 2 + 1 values except the first, the last and the one in the middle.
    fn untangle(&self, values: &mut [Complex<T>], factor: f64) {
        let (half, count) = (self.n / 2, self.twiddles.len());
        let (left, right) = values[1..half].split_at_mut(half - 1 - count);
        let factor = T::from_f64(factor).expect("the value is representable");
        let pairs = Pairs {
            left: left.as_mut_ptr(),
            right: right.as_mut_ptr(),
            twiddles: self.twiddles.as_ptr(),
            count,
            factor,
        };
        // SAFETY: `right` has `count` values and `left` at least as many; this machine has the level's features.
        unsafe { (self.untangle)(&pairs) }
    }

    /// Computes the first n / 2 + 1 values of the spectrum of n real points, for even n.
    fn spectrum(&self, from: &[T], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let half = self.n / 2;
        // SAFETY: a complex number consists of two real ones and has their alignment.
        let points = unsafe { std::slice::from_raw_parts(from.as_ptr() as *const Complex<T>, half) };
        self.plan.process_immutable_with_scratch(points, &mut to[..half], scratch);
        let Complex { re, im } = to[0];
        to[0] = Complex { re: re + im, im: T::zero() };
        to[half] = Complex { re: re - im, im: T::zero() };
        if half.is_multiple_of(2) {
            to[half / 2] = to[half / 2].conj();
        }
        if half > 2 {
            self.untangle(to, 0.5);
        }
    }
}

/// Real points to half a spectrum: [`FftKind::Real`](cuprous_core::routine::FftKind::Real).
pub(super) struct RealToHalf<T>(RealPlan<T>);

impl<T: FftReal> RealToHalf<T> {
    pub(super) fn new(n: usize) -> RealToHalf<T> {
        RealToHalf(RealPlan::new(n, FftDirection::Forward))
    }
}

impl<T: FftReal> Transform for RealToHalf<T> {
    type In = T;
    type Out = Complex<T>;
    type Real = T;

    fn run(&self, from: &[T], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let (n, m) = (self.0.n, self.0.n / 2 + 1);
        for (from, to) in from.chunks_exact(n).zip(to.chunks_exact_mut(m)) {
            if self.0.is_even() {
                self.0.spectrum(from, to, scratch);
                continue;
            }
            let (values, scratch) = scratch.split_at_mut(n);
            values.iter_mut().zip(from).for_each(|(value, &re)| *value = Complex { re, im: T::zero() });
            self.0.plan.process_with_scratch(values, scratch);
            to.copy_from_slice(&values[..m]);
            to[0].im = T::zero();
        }
    }

    fn scratch(&self) -> usize {
        let plan = &self.0.plan;
        if self.0.is_even() { plan.get_immutable_scratch_len() } else { self.0.n + plan.get_inplace_scratch_len() }
    }

    fn scale(value: &mut Complex<T>, factor: T) {
        *value = value.scale(factor);
    }
}

/// Real points to a full spectrum: [`FftKind::Whole`](cuprous_core::routine::FftKind::Whole).
pub(super) struct RealToFull<T>(RealPlan<T>);

impl<T: FftReal> RealToFull<T> {
    pub(super) fn new(n: usize) -> RealToFull<T> {
        RealToFull(RealPlan::new(n, FftDirection::Forward))
    }
}

impl<T: FftReal> Transform for RealToFull<T> {
    type In = T;
    type Out = Complex<T>;
    type Real = T;

    fn run(&self, from: &[T], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let n = self.0.n;
        for (from, to) in from.chunks_exact(n).zip(to.chunks_exact_mut(n)) {
            if self.0.is_even() {
                self.0.spectrum(from, &mut to[..n / 2 + 1], scratch);
                let (left, right) = to.split_at_mut(n / 2 + 1);
                left[1..].iter().zip(right.iter_mut().rev()).for_each(|(value, mirror)| *mirror = value.conj());
            } else {
                to.iter_mut().zip(from).for_each(|(value, &re)| *value = Complex { re, im: T::zero() });
                self.0.plan.process_with_scratch(to, scratch);
            }
        }
    }

    fn scratch(&self) -> usize {
        let plan = &self.0.plan;
        if self.0.is_even() { plan.get_immutable_scratch_len() } else { plan.get_inplace_scratch_len() }
    }

    fn scale(value: &mut Complex<T>, factor: T) {
        *value = value.scale(factor);
    }
}

/// Half a spectrum to real points: [`FftKind::Half`](cuprous_core::routine::FftKind::Half).
pub(super) struct HalfToReal<T>(RealPlan<T>);

impl<T: FftReal> HalfToReal<T> {
    pub(super) fn new(n: usize) -> HalfToReal<T> {
        HalfToReal(RealPlan::new(n, FftDirection::Inverse))
    }

    /// Returns the number of complex values that it needs as workspace.
    fn values(&self) -> usize {
        if self.0.is_even() { self.0.n / 2 + 1 } else { self.0.n }
    }
}

impl<T: FftReal> Transform for HalfToReal<T> {
    type In = Complex<T>;
    type Out = T;
    type Real = T;

    fn run(&self, from: &[Complex<T>], to: &mut [T], scratch: &mut [Complex<T>]) {
        let (n, m) = (self.0.n, self.0.n / 2 + 1);
        let (values, scratch) = scratch.split_at_mut(self.values());
        for (from, to) in from.chunks_exact(m).zip(to.chunks_exact_mut(n)) {
            values[..m].copy_from_slice(from);
            values[0].im = T::zero();
            if !self.0.is_even() {
                let (left, right) = values.split_at_mut(m);
                left[1..].iter().zip(right.iter_mut().rev()).for_each(|(value, mirror)| *mirror = value.conj());
                self.0.plan.process_with_scratch(values, scratch);
                to.iter_mut().zip(&*values).for_each(|(point, value)| *point = value.re);
                continue;
            }
            let half = n / 2;
            let (first, last) = (values[0].re, values[half].re);
            values[0] = Complex { re: first + last, im: first - last };
            if half.is_multiple_of(2) {
                let middle = values[half / 2].conj();
                values[half / 2] = middle + middle;
            }
            if half > 2 {
                self.0.untangle(values, 1.0);
            }
            // SAFETY: a complex number consists of two real ones and has their alignment.
            let points = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr() as *mut Complex<T>, half) };
            self.0.plan.process_outofplace_with_scratch(&mut values[..half], points, scratch);
        }
    }

    fn scratch(&self) -> usize {
        let plan = &self.0.plan;
        let more = if self.0.is_even() { plan.get_outofplace_scratch_len() } else { plan.get_inplace_scratch_len() };
        self.values() + more
    }

    fn scale(value: &mut T, factor: T) {
        *value = *value * factor;
    }
}
