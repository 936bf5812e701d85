//! Conversions by value, as NumPy's C casts on x86-64. Floats are truncated to integers. A value that does not fit
//! becomes the "integer indefinite" of the instruction that a C compiler uses for that width.

use super::*;
use crate::isa::Isa;

/// A conversion by value.
pub(crate) trait Cast<T> {
    /// Converts the value.
    fn cast(self) -> T;
}

/// Converts like `cvttss2si`: out of range and NaN give the smallest integer.
#[inline(always)]
fn to_i32(v: f64) -> i32 {
    let v = if (v > -2147483649.0) & (v < 2147483648.0) { v } else { -2147483648.0 };
    // SAFETY: `v` is in range after truncation.
    unsafe { v.to_int_unchecked() }
}

#[inline(always)]
fn to_i64(v: f64) -> i64 {
    let v = if (v >= -9223372036854775808.0) & (v < 9223372036854775808.0) { v } else { -9223372036854775808.0 };
    // SAFETY: `v` is in range.
    unsafe { v.to_int_unchecked() }
}

#[inline(always)]
fn to_u64(v: f64) -> u64 {
    // As compilers do without AVX-512: the upper half of the range is shifted down.
    if v >= 9223372036854775808.0 { to_i64(v - 9223372036854775808.0) as u64 ^ (1 << 63) } else { to_i64(v) as u64 }
}

/// A real number that is converted to an integer or a float.
pub(crate) trait Source: Copy {
    /// Returns its value modulo 2^32 if it is an integer.
    fn int32(self) -> i32;
    /// Returns its value modulo 2^64 if it is an integer.
    fn int64(self) -> i64;
    /// Returns its value modulo 2^64.
    fn uint64(self) -> u64;
    /// Returns its value rounded to float32.
    fn float32(self) -> f32;
    /// Returns its value rounded to float64.
    fn float64(self) -> f64;
    /// Returns the bits of its value as float16, rounded once.
    fn float16(self) -> u16;
    /// Returns true if it is not zero. NaN is not zero.
    fn truth(self) -> bool;
}

macro_rules! int_source {
    ($($t:ident)*) => {$(
        impl Source for $t {
            #[inline(always)]
            fn int32(self) -> i32 { self as i32 }
            #[inline(always)]
            fn int64(self) -> i64 { self as i64 }
            #[inline(always)]
            fn uint64(self) -> u64 { self as u64 }
            #[inline(always)]
            fn float32(self) -> f32 { self as f32 }
            #[inline(always)]
            fn float64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn float16(self) -> u16 { <::half::f16 as half::HalfBits>::narrow(self as f32) }
            #[inline(always)]
            fn truth(self) -> bool { self != 0 }
        }
    )*};
}
int_source!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Source for B {
    #[inline(always)]
    fn int32(self) -> i32 {
        i32::from(self.0 != 0)
    }
    #[inline(always)]
    fn int64(self) -> i64 {
        i64::from(self.0 != 0)
    }
    #[inline(always)]
    fn uint64(self) -> u64 {
        u64::from(self.0 != 0)
    }
    #[inline(always)]
    fn float32(self) -> f32 {
        f32::from(u8::from(self.0 != 0))
    }
    #[inline(always)]
    fn float64(self) -> f64 {
        f64::from(u8::from(self.0 != 0))
    }
    #[inline(always)]
    fn float16(self) -> u16 {
        if self.0 != 0 { 0x3c00 } else { 0 }
    }
    #[inline(always)]
    fn truth(self) -> bool {
        self.0 != 0
    }
}

macro_rules! float_source {
    ($t:ty, |$v:ident| $wide:expr, $narrow:expr) => {
        impl<S: Isa> Source for $t {
            #[inline(always)]
            fn int32(self) -> i32 {
                let $v = self;
                to_i32($wide)
            }
            #[inline(always)]
            fn int64(self) -> i64 {
                let $v = self;
                to_i64($wide)
            }
            #[inline(always)]
            fn uint64(self) -> u64 {
                let $v = self;
                to_u64($wide)
            }
            #[inline(always)]
            fn float32(self) -> f32 {
                let $v = self;
                $narrow
            }
            #[inline(always)]
            fn float64(self) -> f64 {
                let $v = self;
                $wide
            }
            #[inline(always)]
            fn float16(self) -> u16 {
                let $v = self;
                <::half::f16 as half::HalfBits>::narrow(to_odd($wide))
            }
            #[inline(always)]
            fn truth(self) -> bool {
                let $v = self;
                $narrow != 0.0 || $wide != 0.0
            }
        }
    };
}
float_source!(F64<S>, |v| v.0, v.0 as f32);
float_source!(F32<S>, |v| f64::from(v.0), v.0);
float_source!(F16<S>, |v| f64::from(v.wide().0), v.wide().0);
float_source!(BF16<S>, |v| f64::from(v.wide().0), v.wide().0);

/// Rounds to float32 by rounding to odd (Boldo and Melquiond 2008), so that a second rounding to fewer bits gives the
/// correctly rounded result.
#[inline(always)]
fn to_odd(v: f64) -> f32 {
    let f = v as f32;
    let exact = f64::from(f) == v || v != v;
    // The neighbor toward zero, unless the conversion already rounded toward zero; then its lowest bit is set.
    let over = f64::from(f).abs() > v.abs();
    let bits = f.to_bits() - u32::from(over && !exact);
    f32::from_bits(if exact { f.to_bits() } else { bits | 1 })
}

/// Defines the casts to a type, with one rule for all sources.
macro_rules! targets {
    ($($t:ty, |$v:ident| $e:expr;)*) => {$(
        impl<A: Source> Cast<$t> for Real<A> {
            #[inline(always)]
            fn cast(self) -> $t {
                let $v = self.0;
                $e
            }
        }
    )*};
}

/// Marks a source that is not complex. A complex number is converted by its real part.
#[derive(Clone, Copy)]
pub(crate) struct Real<A>(pub A);

targets! {
    B, |v| B::from(v.truth());
    i8, |v| v.int32() as i8;
    i16, |v| v.int32() as i16;
    i32, |v| v.int32();
    i64, |v| v.int64();
    u8, |v| v.int32() as u8;
    u16, |v| v.int32() as u16;
    u32, |v| v.int64() as u32;
    u64, |v| v.uint64();
}
impl<A: Source, S: Isa> Cast<F64<S>> for Real<A> {
    #[inline(always)]
    fn cast(self) -> F64<S> {
        x(self.0.float64())
    }
}
impl<A: Source, S: Isa> Cast<F32<S>> for Real<A> {
    #[inline(always)]
    fn cast(self) -> F32<S> {
        x(self.0.float32())
    }
}
impl<A: Source, S: Isa> Cast<F16<S>> for Real<A> {
    #[inline(always)]
    fn cast(self) -> F16<S> {
        H::of(self.0.float16())
    }
}
impl<A: Source, S: Isa> Cast<BF16<S>> for Real<A> {
    #[inline(always)]
    fn cast(self) -> BF16<S> {
        H::of(<::half::bf16 as half::HalfBits>::narrow(self.0.float32()))
    }
}
impl<A: Source, F: complex::Part> Cast<Cx<F>> for Real<A>
where
    Real<A>: Cast<F>,
{
    #[inline(always)]
    fn cast(self) -> Cx<F> {
        Cx::new(self.cast(), F::ZERO)
    }
}
