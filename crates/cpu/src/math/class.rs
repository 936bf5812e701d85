//! The element classes, as traits. Each provides the methods that rows of its class use.
#![allow(missing_docs, reason = "the methods are named after the rows of the operation table")]

use std::ops::{BitAnd, BitOr, BitXor, Not};

use cuprous_core::{DType, Fun};

/// Every element type.
pub(crate) trait All: Copy + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// What `abs`, `real` and `imag` return.
    type Component: All;
    /// All bits zero.
    const ZERO: Self;
    /// No element is less.
    const LOWEST: Self;
    /// No element is greater.
    const HIGHEST: Self;

    fn maximum(self, o: Self) -> Self;
    fn minimum(self, o: Self) -> Self;
    fn fmax(self, o: Self) -> Self;
    fn fmin(self, o: Self) -> Self;
    fn absolute(self) -> Self::Component;
    fn eq(self, o: Self) -> bool;
    fn ne(self, o: Self) -> bool;
    fn lt(self, o: Self) -> bool;
    fn le(self, o: Self) -> bool;

    /// Returns true if the method for `fun` is correct for this operand. Otherwise the operand is recomputed by
    /// [`All::slow`], which keeps the loop over the fast method free of branches.
    #[inline(always)]
    fn fast(self, _fun: Fun) -> bool {
        true
    }
    /// Computes `fun` for any operand.
    fn slow(self, _fun: Fun) -> Self {
        self
    }
    /// Returns true if the method for `fun` is correct for these two operands.
    #[inline(always)]
    fn fast2(self, _o: Self, _fun: Fun) -> bool {
        true
    }
    /// Computes `fun` for any two operands.
    fn slow2(self, _o: Self, _fun: Fun) -> Self {
        self
    }
}

/// Numbers: all but bool.
pub(crate) trait Num: All {
    const ONE: Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn neg(self) -> Self;
    fn sign(self) -> Self;
    fn reciprocal(self) -> Self;
    fn power(self, o: Self) -> Self;
    fn conj(self) -> Self;
}

/// Integers and floats.
pub(crate) trait Real: Num {
    fn floor_divide(self, o: Self) -> Self;
    fn remainder(self, o: Self) -> Self;
    fn fmod(self, o: Self) -> Self;
}

/// Types that can be rounded to a whole number.
pub(crate) trait RealBool: All {
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
}

/// Integers.
pub(crate) trait Int: Real {
    fn left_shift(self, o: Self) -> Self;
    fn right_shift(self, o: Self) -> Self;
    fn gcd(self, o: Self) -> Self;
    fn lcm(self, o: Self) -> Self;
}

/// Types with bitwise operations.
pub(crate) trait IntBool:
    All + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

/// Bool.
pub(crate) trait Bool: IntBool {}

/// Floats and complex numbers.
pub(crate) trait Inexact: Num {
    fn div(self, o: Self) -> Self;
    fn sqrt(self) -> Self;
    fn rint(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn expm1(self) -> Self;
    fn ln(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn ln_1p(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    fn is_nan(self) -> bool;
    fn is_inf(self) -> bool;
    fn is_finite(self) -> bool;
}

/// Types that true division computes in; integers are converted to one of them first.
pub(crate) trait Divide: Inexact {}
impl<E: Inexact> Divide for E {}

/// Types that `float_power` computes in.
pub(crate) trait Double: Num {}

/// Floats.
pub(crate) trait Float: Inexact + Real + RealBool + All<Component = Self> {
    fn rsqrt(self) -> Self;
    fn cbrt(self) -> Self;
    fn hypot(self, o: Self) -> Self;
    fn copysign(self, o: Self) -> Self;
    fn nextafter(self, o: Self) -> Self;
    fn spacing(self) -> Self;
    fn heaviside(self, o: Self) -> Self;
    fn ldexp(self, e: i32) -> Self;
    fn frexp_mantissa(self) -> Self;
    fn frexp_exponent(self) -> i32;
    fn modf_fraction(self) -> Self;
    fn logaddexp(self, o: Self) -> Self;
    fn logaddexp2(self, o: Self) -> Self;
    fn atan2(self, o: Self) -> Self;
    fn degrees(self) -> Self;
    fn radians(self) -> Self;
    fn signbit(self) -> bool;
    fn erf(self) -> Self;
    fn erfc(self) -> Self;
    fn erfinv(self) -> Self;
    fn gamma(self) -> Self;
    fn gammaln(self) -> Self;
    fn digamma(self) -> Self;
    fn expit(self) -> Self;
    fn ndtr(self) -> Self;
    fn i0(self) -> Self;
    fn sinc(self) -> Self;
    /// Converts to float64 exactly.
    fn to_f64(self) -> f64;
    /// Rounds to the nearest float of this type.
    fn from_f64(v: f64) -> Self;
}
