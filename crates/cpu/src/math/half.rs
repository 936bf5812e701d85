//! float16 and bfloat16: computed in float32 and rounded after every operation. The conversions are integer arithmetic,
//! so that loops over them vectorize without F16C.

use std::marker::PhantomData;

use cuprous_core::{DType, Fun};

use super::*;
use crate::isa::Isa;

/// A two-byte float `T` that computes in float32.
#[repr(transparent)]
pub(crate) struct H<T, S>(pub u16, pub PhantomData<(T, S)>);

impl<T, S> Clone for H<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for H<T, S> {}

/// The bit format of a two-byte float.
pub(crate) trait HalfBits: Copy + Send + Sync + 'static {
    /// The dtype.
    const DTYPE: DType;
    /// Bits of 1.
    const ONE: u16;
    /// Bits of infinity.
    const INFINITY: u16;
    /// Whether `spacing` goes up, as for NumPy's float16. For ml_dtypes' bfloat16 it goes away from zero.
    const SPACING_UP: bool;
    /// Converts to float32 exactly.
    fn widen(bits: u16) -> f32;
    /// Rounds to nearest, ties to even.
    fn narrow(v: f32) -> u16;
}

impl HalfBits for ::half::f16 {
    const DTYPE: DType = DType::F16;
    const ONE: u16 = 0x3c00;
    const INFINITY: u16 = 0x7c00;
    const SPACING_UP: bool = true;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        // Shifts the fields into place. Multiplying by 2^112 corrects the exponent's bias and normalizes subnormals.
        let b = u32::from(bits);
        let magnitude = (b & 0x7fff) << 13;
        let v = f32::from_bits(magnitude) * 5.192296858534828e33;
        let v = if (b & 0x7c00) == 0x7c00 { f32::from_bits(magnitude | 0x7f80_0000) } else { v };
        f32::from_bits(v.to_bits() | (b & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(v: f32) -> u16 {
        let bits = v.to_bits();
        let sign = (bits >> 16) & 0x8000;
        let a = bits & 0x7fff_ffff;
        // Normal results: the exponent is rebiased, and adding almost half plus the lowest kept bit rounds to even.
        let normal = a.wrapping_sub(112 << 23).wrapping_add(0xfff + ((a >> 13) & 1)) >> 13;
        // Subnormal results: adding 0.5 aligns the fraction with float32's ulp, which then rounds.
        let small = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let h = if a < 0x3880_0000 { small } else { normal };
        let h = if a >= 0x4780_0000 { 0x7c00 } else { h };
        let h = if a > 0x7f80_0000 { 0x7e00 | (a >> 13) & 0x3ff } else { h };
        (sign | h) as u16
    }
}

impl HalfBits for ::half::bf16 {
    const DTYPE: DType = DType::BF16;
    const ONE: u16 = 0x3f80;
    const INFINITY: u16 = 0x7f80;
    const SPACING_UP: bool = false;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }

    #[inline(always)]
    fn narrow(v: f32) -> u16 {
        let bits = v.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        (if (bits & 0x7fff_ffff) > 0x7f80_0000 { bits >> 16 | 0x40 } else { rounded }) as u16
    }
}

impl<T: HalfBits, S: Isa> H<T, S> {
    /// Creates a number from its bits.
    #[inline(always)]
    pub(crate) fn of(bits: u16) -> Self {
        H(bits, PhantomData)
    }
    /// Converts to float32 exactly.
    #[inline(always)]
    pub(crate) fn wide(self) -> F32<S> {
        x(T::widen(self.0))
    }
    /// Rounds to nearest, ties to even.
    #[inline(always)]
    pub(crate) fn narrow(v: F32<S>) -> Self {
        H::of(T::narrow(v.0))
    }
}

/// Defines methods that compute in float32.
macro_rules! via {
    (@1 $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self { H::narrow(self.wide().$name()) }
    )*};
    (@2 $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self { H::narrow(self.wide().$name(o.wide())) }
    )*};
    (@is $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> bool { self.wide().$name() }
    )*};
    (@compare $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> bool { self.wide().$name(o.wide()) }
    )*};
}

impl<T: HalfBits, S: Isa> All for H<T, S> {
    const DTYPE: DType = T::DTYPE;
    type Component = Self;
    const ZERO: Self = H(0, PhantomData);
    const LOWEST: Self = H(T::INFINITY | 0x8000, PhantomData);
    const HIGHEST: Self = H(T::INFINITY, PhantomData);
    via!(@2 maximum minimum fmax fmin);
    via!(@compare eq ne lt le);
    #[inline(always)]
    fn absolute(self) -> Self {
        H::of(self.0 & 0x7fff)
    }
    #[inline(always)]
    fn fast(self, fun: Fun) -> bool {
        self.wide().fast(fun)
    }
    #[inline(always)]
    fn slow(self, fun: Fun) -> Self {
        H::narrow(self.wide().slow(fun))
    }
    #[inline(always)]
    fn fast2(self, o: Self, fun: Fun) -> bool {
        self.wide().fast2(o.wide(), fun)
    }
    #[inline(always)]
    fn slow2(self, o: Self, fun: Fun) -> Self {
        H::narrow(self.wide().slow2(o.wide(), fun))
    }
}

impl<T: HalfBits, S: Isa> Num for H<T, S> {
    const ONE: Self = H(T::ONE, PhantomData);
    via!(@2 add sub mul power);
    via!(@1 sign reciprocal);
    #[inline(always)]
    fn neg(self) -> Self {
        H::of(self.0 ^ 0x8000)
    }
    #[inline(always)]
    fn conj(self) -> Self {
        self
    }
}

impl<T: HalfBits, S: Isa> Real for H<T, S> {
    via!(@2 floor_divide remainder fmod);
}

impl<T: HalfBits, S: Isa> RealBool for H<T, S> {
    via!(@1 floor ceil trunc);
}

impl<T: HalfBits, S: Isa> Inexact for H<T, S> {
    via!(@2 div);
    via!(@1 sqrt rint exp exp2 expm1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh);
    via!(@is is_nan is_inf is_finite);
}

impl<T: HalfBits, S: Isa> Float for H<T, S> {
    via!(@1 rsqrt cbrt frexp_mantissa modf_fraction degrees radians);
    via!(@1 erf erfc erfinv gamma gammaln digamma expit ndtr i0 sinc);
    via!(@2 hypot copysign heaviside logaddexp logaddexp2 atan2);
    via!(@is signbit);
    #[inline(always)]
    fn nextafter(self, o: Self) -> Self {
        let (a, b) = (self.wide().0, o.wide().0);
        if a != a || b != b {
            return H::of(T::INFINITY | 0x40);
        }
        if a == b {
            return o;
        }
        if a == 0.0 {
            return H::of(1 | o.0 & 0x8000);
        }
        H::of(if (b > a) == (a > 0.0) { self.0 + 1 } else { self.0 - 1 })
    }
    #[inline(always)]
    fn spacing(self) -> Self {
        let a = self.wide().0;
        if !a.is_finite() {
            return H::of(T::INFINITY | 0x40);
        }
        let next = if T::SPACING_UP { self.nextafter(H::of(T::INFINITY)) } else { H::of(self.0 + 1) };
        H::narrow(x(next.wide().0 - a))
    }
    #[inline(always)]
    fn ldexp(self, e: i32) -> Self {
        H::narrow(self.wide().ldexp(e))
    }
    #[inline(always)]
    fn frexp_exponent(self) -> i32 {
        self.wide().frexp_exponent()
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.wide().0)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        H::narrow(x(v as f32))
    }
}
