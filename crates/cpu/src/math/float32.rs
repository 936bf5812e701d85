//! float32: the most common functions by their own polynomials, the others in float64 and then rounded (0.5 ulp).

use cuprous_core::{DType, Fun};

use super::float_common::float_common;
use super::float64::{fast, fast2, slow, slow2};
use super::*;
use crate::isa::Isa;

float_common!(f32 F32);

const LOG2E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts; the first has 15 trailing zeros.
const LN2_HI: f32 = 0.693145751953125;
const LN2_LO: f32 = 1.428606765330187e-6;
/// Adding it rounds to an integer, which is then in the low bits.
const MAGIC: f32 = 12582912.0;

/// `2^k·p` with one rounding, also for subnormals.
#[inline(always)]
fn scale(p: f32, kf: f32, t: f32) -> f32 {
    let (low, high) = (kf < -100.0, kf > 100.0);
    let shift = pick(low, 40i32, pick(high, -2, 0));
    let post = pick(low, 9.094947e-13, pick(high, 4.0, 1.0));
    let k = (t.to_bits() as i32).wrapping_add(shift + 127);
    p * f32::from_bits((k as u32) << 23) * post
}

/// e^r - 1 on |r| ≤ ln2/2: Taylor to r⁷, remainder below 2^-27 of the result's ulp range.
#[inline(always)]
fn expm1_kernel<S: Isa>(r: f32) -> f32 {
    let p = polyf::<S, 6>(r, [1.984127e-4, 1.3888889e-3, 8.333334e-3, 4.1666668e-2, 0.16666667, 0.5]);
    fmaf::<S>(r * r, p, r)
}

/// Reduces v = k·ln2 + r. Returns r, k as a float, and k in the low bits.
#[inline(always)]
fn reduce<S: Isa>(v: f32) -> (f32, f32, f32) {
    let t = fmaf::<S>(v, LOG2E, MAGIC);
    let k = t - MAGIC;
    (fmaf::<S>(-k, LN2_LO, fmaf::<S>(-k, LN2_HI, v)), k, t)
}

/// e^v, 1 ulp.
#[inline(always)]
fn exp<S: Isa>(v: f32) -> f32 {
    // Not computed where the result is zero: processors take 100 cycles to round a subnormal number.
    let zero = v < -104.0;
    let c = pick(v > 89.0, 89.0, pick(zero, 0.0, v));
    let (r, k, t) = reduce::<S>(c);
    pick(zero, 0.0, scale(expm1_kernel::<S>(r) + 1.0, k, t))
}

/// 2^v, 1 ulp.
#[inline(always)]
fn exp2<S: Isa>(v: f32) -> f32 {
    let zero = v < -151.0;
    let c = pick(v > 129.0, 129.0, pick(zero, 0.0, v));
    let t = c + MAGIC;
    let k = t - MAGIC;
    pick(zero, 0.0, scale(expm1_kernel::<S>((c - k) * std::f32::consts::LN_2) + 1.0, k, t))
}

/// e^v - 1, 1.5 ulp.
#[inline(always)]
fn expm1<S: Isa>(v: f32) -> f32 {
    let c = pick(v > 89.0, 89.0, pick(v < -30.0, -30.0, v));
    let (r, _, t) = reduce::<S>(c);
    let p = expm1_kernel::<S>(r);
    let s = f32::from_bits((t.to_bits().wrapping_add(126)) << 23);
    let y = fmaf::<S>(s, p, s - 0.5) * 2.0;
    if v.abs() < 1e-8 { v } else { y }
}

/// ln v, 1 ulp (fdlibm `e_logf.c`).
#[inline(always)]
fn ln<S: Isa>(v: f32) -> f32 {
    let tiny = v < f32::MIN_POSITIVE;
    let scaled = if tiny { v * 33554432.0 } else { v };
    let t = scaled.to_bits().wrapping_add(0x3f80_0000 - 0x3f35_04f3);
    let f = f32::from_bits((t & 0x007f_ffff) + 0x3f35_04f3) - 1.0;
    let k = (t >> 23) as i32 as f32 - if tiny { 152.0 } else { 127.0 };
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * polyf::<S, 4>(z, [0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693]);
    let half = 0.5 * f * f;
    let y = fmaf::<S>(s, half + r, k * 9.0580006145e-06) - half + f + k * 6.9313812256e-01;
    let y = if v == 0.0 { f32::NEG_INFINITY } else { y };
    let y = if v < 0.0 { f32::NAN } else { y };
    if (v == f32::INFINITY) | (v != v) { v } else { y }
}

/// tanh v, 3 ulp.
#[inline(always)]
fn tanh<S: Isa>(v: f32) -> f32 {
    let a = v.abs();
    let t = expm1::<S>(2.0 * if a > 10.0 { 10.0 } else { a });
    let y = (t / (t + 2.0)).copysign(v);
    if a < 1e-4 { v } else { y }
}

/// erf v, 1.5 ulp: an odd polynomial on |v| < 1, and from there 1 - e^q with a polynomial q for ln erfc |v|. Both are
/// minimax fits. From 4 on the result rounds to 1.
#[inline(always)]
fn erf<S: Isa>(v: f32) -> f32 {
    let a = v.abs();
    let near = polyf::<S, 7>(
        v * v,
        [7.853848e-5, -8.0101896e-4, 5.1883273e-3, -2.6853811e-2, 0.112835854, -0.37612626, 0.12837917],
    );
    let q = polyf::<S, 7>(
        pick(a > 4.0, 4.0, a),
        [1.8557518e-4, -2.9396187e-3, 2.1805413e-2, -0.10303746, -0.63822556, -1.1270401, -3.5370397e-4],
    );
    pick(a < 1.0, fmaf::<S>(near, v, v), (1.0 - exp::<S>(q)).copysign(v))
}

/// 1/(1 + e^-v), 2 ulp.
#[inline(always)]
fn expit<S: Isa>(v: f32) -> f32 {
    let e = exp::<S>(-v.abs());
    (if v < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// The parity of the quadrant and the reduced argument, in float64 as in fdlibm's `k_sinf.c`.
#[inline(always)]
fn quadrant<S: Isa>(v: f32) -> (u64, f64) {
    let v = f64::from(v);
    let t = fma::<S>(v, std::f64::consts::FRAC_2_PI, float64::MAGIC);
    let k = t - float64::MAGIC;
    (t.to_bits(), fma::<S>(-k, 6.123233995736766e-17, fma::<S>(-k, std::f64::consts::FRAC_PI_2, v)))
}

/// sin on |r| ≤ π/4, relative error 2^-37 (fdlibm `k_sinf.c`).
#[inline(always)]
fn sin_kernel<S: Isa>(r: f64) -> f64 {
    let z = r * r;
    let p = poly::<S, 4>(z, [2.718311493989822e-6, -1.9839334836096632e-4, 8.333329385889463e-3, -0.16666666641626524]);
    fma::<S>(r * z, p, r)
}

/// cos on |r| ≤ π/4, relative error 2^-34 (fdlibm `k_cosf.c`).
#[inline(always)]
fn cos_kernel<S: Isa>(r: f64) -> f64 {
    let z = r * r;
    poly::<S, 5>(
        z,
        [2.439044879627741e-5, -1.388676377460993e-3, 4.16666233237390631894e-2, -0.499999997251031003120, 1.0],
    )
}

#[inline(always)]
fn sin<S: Isa>(v: f32) -> f32 {
    let (q, r) = quadrant::<S>(v);
    let (s, c) = (sin_kernel::<S>(r), cos_kernel::<S>(r));
    let y = if q & 1 == 0 { s } else { c };
    let y = f64::from_bits(y.to_bits() ^ ((q & 2) << 62)) as f32;
    if v == 0.0 { v } else { y }
}

#[inline(always)]
fn cos<S: Isa>(v: f32) -> f32 {
    let (q, r) = quadrant::<S>(v);
    let (s, c) = (sin_kernel::<S>(r), cos_kernel::<S>(r));
    let y = if q & 1 == 0 { c } else { s };
    f64::from_bits(y.to_bits() ^ ((q.wrapping_add(1) & 2) << 62)) as f32
}

/// a^b where `fast2` holds. float64 has enough spare bits.
#[inline(always)]
fn pow<S: Isa>(a: f64, b: f64) -> f64 {
    float64::exp::<S>(b * float64::ln::<S>(a), 0.0)
}

/// Defines methods by functions of this module.
macro_rules! forward {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self { x($name::<S>(self.0)) }
    )*};
}

/// Defines methods that compute in float64.
macro_rules! widen {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self { x(x::<f64, S>(f64::from(self.0)).$name().0 as f32) }
    )*};
}

/// Defines methods of two operands that compute in float64.
macro_rules! widen2 {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self {
            x(x::<f64, S>(f64::from(self.0)).$name(x(f64::from(o.0))).0 as f32)
        }
    )*};
}

impl<S: Isa> Inexact for F32<S> {
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        x(self.0 / o.0)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        x(self.0.sqrt())
    }
    #[inline(always)]
    fn rint(self) -> Self {
        x(self.0.round_ties_even())
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0 != self.0
    }
    #[inline(always)]
    fn is_inf(self) -> bool {
        self.0.abs() == f32::INFINITY
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.0.abs() < f32::INFINITY
    }
    forward!(exp exp2 expm1 ln tanh sin cos);
    widen!(log2 log10 ln_1p tan asin acos atan sinh cosh asinh acosh atanh);
}

impl<S: Isa> Float for F32<S> {
    forward!(expit erf);
    widen!(cbrt erfc erfinv gamma gammaln digamma ndtr i0 sinc);
    widen2!(logaddexp logaddexp2 atan2);
    #[inline(always)]
    fn rsqrt(self) -> Self {
        x(1.0 / self.0.sqrt())
    }
    #[inline(always)]
    fn hypot(self, o: Self) -> Self {
        let (a, b) = (f64::from(self.0), f64::from(o.0));
        let y = (a * a + b * b).sqrt();
        x(if (a.abs() == f64::INFINITY) | (b.abs() == f64::INFINITY) { f32::INFINITY } else { y as f32 })
    }
    #[inline(always)]
    fn copysign(self, o: Self) -> Self {
        x(self.0.copysign(o.0))
    }
    #[inline(always)]
    fn nextafter(self, o: Self) -> Self {
        self.next_after(o)
    }
    #[inline(always)]
    fn spacing(self) -> Self {
        self.spacing_of()
    }
    #[inline(always)]
    fn heaviside(self, o: Self) -> Self {
        self.heaviside_of(o)
    }
    #[inline(always)]
    fn ldexp(self, e: i32) -> Self {
        x(libm::ldexpf(self.0, e))
    }
    #[inline(always)]
    fn frexp_mantissa(self) -> Self {
        if !self.0.is_finite() { self } else { x(libm::frexpf(self.0).0) }
    }
    #[inline(always)]
    fn frexp_exponent(self) -> i32 {
        if !self.0.is_finite() { 0 } else { libm::frexpf(self.0).1 }
    }
    #[inline(always)]
    fn modf_fraction(self) -> Self {
        self.modf_of()
    }
    #[inline(always)]
    fn degrees(self) -> Self {
        x(self.0 * (180.0 / std::f32::consts::PI))
    }
    #[inline(always)]
    fn radians(self) -> Self {
        x(self.0 * (std::f32::consts::PI / 180.0))
    }
    #[inline(always)]
    fn signbit(self) -> bool {
        (self.0.to_bits() >> 31) != 0
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        x(v as f32)
    }
}
