//! Operations on elements that decompositions need beyond faer's arithmetic.

use cuprous_numerics::Decompose;
use num_complex::Complex;

pub(super) trait Number: Decompose + Send + Sync {
    /// Range of the largest element in which squares neither overflow nor underflow.
    const SAFE: (f64, f64);
    fn from_real(x: f64) -> Self;
    fn conjugate(self) -> Self;
    /// Multiplies by a real factor.
    fn scale_by(self, factor: f64) -> Self;
    /// Multiplies two numbers.
    fn multiply(self, o: Self) -> Self;
    /// Returns the real and the imaginary part.
    fn parts(self) -> (f64, f64);
    /// Creates a number from its parts. A real number drops the second.
    fn from_parts(re: f64, im: f64) -> Self;

    /// Returns true if one of the parts is NaN.
    fn is_nan(self) -> bool;

    /// Returns the larger absolute value of the parts, or NaN if one is NaN.
    fn magnitude(self) -> f64 {
        let (re, im) = self.parts();
        if re.is_nan() || im.is_nan() { f64::NAN } else { re.abs().max(im.abs()) }
    }
}

macro_rules! numbers {
    ($($t:ty, $small:literal, $large:literal;)*) => {$(
        impl Number for $t {
            const SAFE: (f64, f64) = ($small, $large);
            fn from_real(x: f64) -> $t { x as $t }
            fn conjugate(self) -> $t { self }
            fn scale_by(self, factor: f64) -> $t { (f64::from(self) * factor) as $t }
            fn multiply(self, o: $t) -> $t { self * o }
            fn parts(self) -> (f64, f64) { (self.into(), 0.0) }
            fn from_parts(re: f64, _: f64) -> $t { re as $t }
            fn is_nan(self) -> bool { <$t>::is_nan(self) }
        }

        impl Number for Complex<$t> {
            const SAFE: (f64, f64) = ($small, $large);
            fn from_real(x: f64) -> Self { Complex::new(x as $t, 0.0) }
            fn conjugate(self) -> Self { self.conj() }
            fn scale_by(self, factor: f64) -> Self { Complex::new(self.re.scale_by(factor), self.im.scale_by(factor)) }
            fn multiply(self, o: Self) -> Self { self * o }
            fn parts(self) -> (f64, f64) { (self.re.into(), self.im.into()) }
            fn from_parts(re: f64, im: f64) -> Self { Complex::new(re as $t, im as $t) }
            fn is_nan(self) -> bool { self.re.is_nan() | self.im.is_nan() }
        }
    )*};
}
numbers! {
    f32, 1e-12, 1e12;
    f64, 1e-120, 1e120;
}

/// Scales elements into the range in which squares neither overflow nor underflow. Returns a factor for [`rescaled`],
/// or `None` if an element is infinite or NaN.
pub(super) fn scaled<T: Number>(a: &mut [T]) -> Option<f64> {
    let largest = largest(a)?;
    scaled_by(a, largest)
}

/// Does the same as [`scaled`], by the lower triangle of a column-major n × n matrix.
pub(super) fn scaled_triangle<T: Number>(a: &mut [T], n: usize) -> Option<f64> {
    let mut most = 0.0f64;
    for j in 0..n {
        most = most.max(largest(&a[j * n + j..(j + 1) * n])?);
    }
    scaled_by(a, most)
}

/// Returns the magnitude of the largest element. Infinity and NaN become NaN when multiplied by zero, and their sum is
/// NaN, so that the loop has no branches.
fn largest<T: Number>(a: &[T]) -> Option<f64> {
    let (mut most, mut nan_sum) = (0.0f64, 0.0f64);
    for x in a {
        let (re, im) = x.parts();
        most = most.max(re.abs()).max(im.abs());
        nan_sum += re * 0.0 + im * 0.0;
    }
    (nan_sum == 0.0).then_some(most)
}

fn scaled_by<T: Number>(a: &mut [T], largest: f64) -> Option<f64> {
    let (small, large) = T::SAFE;
    if largest == 0.0 || (small..large).contains(&largest) {
        return Some(1.0);
    }
    // The factor is a power of two, which does not round. It is applied in two steps, because it or its inverse may not
    // be representable.
    let half = (largest.log2() / 2.0).round();
    let factor = (-half).exp2();
    a.iter_mut().for_each(|x| *x = x.scale_by(factor).scale_by(factor));
    Some(half.exp2())
}

/// Scales a result of a matrix that was [`scaled`] back.
pub(super) fn rescaled<T: Number>(x: T, factor: f64) -> T {
    if factor == 1.0 { x } else { x.scale_by(factor).scale_by(factor) }
}

/// Drops imaginary parts on the diagonal of a Hermitian matrix of `n` rows, which LAPACK ignores.
pub(super) fn make_diagonal_real<T: Number>(a: &mut [T], n: usize) {
    a.iter_mut().step_by(n + 1).take(n).for_each(|x| *x = T::from_parts(x.parts().0, 0.0));
}
