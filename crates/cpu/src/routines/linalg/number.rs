//! What decompositions ask of their elements beyond faer's arithmetic.

use faer::traits::ComplexField;
use num_complex::Complex;

pub(super) trait Number: ComplexField + Copy + Send + Sync {
    /// Largest elements between which squares neither overflow nor vanish.
    const SAFE: (f64, f64);
    fn from_real(x: f64) -> Self;
    fn conjugate(self) -> Self;
    /// By a real factor.
    fn scale_by(self, factor: f64) -> Self;
    /// The product.
    fn multiply(self, o: Self) -> Self;
    /// Real and imaginary part.
    fn parts(self) -> (f64, f64);
    /// From them; a real number drops the second.
    fn from_parts(re: f64, im: f64) -> Self;

    /// Whether one of the parts is.
    fn is_nan(self) -> bool;

    /// The larger of the parts' sizes; NaN if one is.
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

/// Brings elements to where squares neither overflow nor vanish; the factor that brings results back. `None` where one
/// is infinite or NaN.
pub(super) fn scaled<T: Number>(a: &mut [T]) -> Option<f64> {
    let largest = largest(a)?;
    scaled_by(a, largest)
}

/// As [`scaled`], by the lower triangle of a column-major n × n matrix.
pub(super) fn scaled_triangle<T: Number>(a: &mut [T], n: usize) -> Option<f64> {
    let mut most = 0.0f64;
    for j in 0..n {
        most = most.max(largest(&a[j * n + j..(j + 1) * n])?);
    }
    scaled_by(a, most)
}

/// The size of the largest element. Infinity and NaN become NaN when multiplied by zero, which a sum keeps: no branches.
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
    // A power of two: nothing is rounded. In two steps, since neither it nor its inverse need be a number.
    let half = (largest.log2() / 2.0).round();
    let factor = (-half).exp2();
    a.iter_mut().for_each(|x| *x = x.scale_by(factor).scale_by(factor));
    Some(half.exp2())
}

/// A value of a matrix that was [`scaled`].
pub(super) fn rescaled<T: Number>(x: T, factor: f64) -> T {
    if factor == 1.0 { x } else { x.scale_by(factor).scale_by(factor) }
}

/// Drops imaginary parts on the diagonal of a Hermitian matrix of `n` rows: LAPACK does not look at them.
pub(super) fn make_diagonal_real<T: Number>(a: &mut [T], n: usize) {
    a.iter_mut().step_by(n + 1).take(n).for_each(|x| *x = T::from_parts(x.parts().0, 0.0));
}
