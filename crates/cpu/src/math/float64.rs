//! float64: arithmetic, and elementary functions by polynomials that vectorize.
//!
//! Reductions and coefficients are from Sun's fdlibm (`e_log.c`, `s_log1p.c`, `k_sin.c`, `k_cos.c`, `e_asin.c`) and
//! Cephes (`atan.c`). The exponential is a Taylor polynomial on |r| ≤ ln2/2. The stated errors are the largest that
//! `tests.rs` has found.

use cuprous_core::{DType, Fun};

use super::float_common::float_common;
use super::*;
use crate::isa::Isa;

pub(super) const LOG2E: f64 = std::f64::consts::LOG2_E;
/// ln 2 in two parts; the first has 32 trailing zeros, so its product with an exponent is exact.
pub(super) const LN2_HI: f64 = 6.93147180369123816490e-01;
pub(super) const LN2_LO: f64 = 1.90821492927058770002e-10;
/// Adding it rounds to an integer, which is then in the low bits.
pub(super) const MAGIC: f64 = 6755399441055744.0;

float_common!(f64 F64);

/// Returns the square, rounded, and what rounding lost.
#[inline(always)]
fn exact_square<S: Isa>(v: f64) -> [f64; 2] {
    let square = v * v;
    if S::FMA {
        return [square, v.mul_add(v, -square)];
    }
    // Dekker's product: the operand is split into two parts of 26 bits.
    let split = v * 134_217_729.0;
    let high = v - split + split;
    let low = v - high;
    [square, high * high - square + 2.0 * high * low + low * low]
}

/// Returns true where the vectorized method is correct. Functions that are not listed are correct everywhere.
#[inline(always)]
pub(super) fn fast<S: Isa>(a: f64, fun: Fun) -> bool {
    match fun {
        // Beyond 1e5 the three-part reduction loses bits. Without FMA it is never accurate.
        Fun::Sin | Fun::Cos | Fun::Tan => S::FMA & (a.abs() < 1e5),
        Fun::Sinh | Fun::Cosh => !(a.abs() > 709.0),
        _ => true,
    }
}

/// Computes `fun` for any operand with the C library.
#[inline(never)]
pub(super) fn slow(a: f64, fun: Fun) -> f64 {
    match fun {
        Fun::Sin => a.sin(),
        Fun::Cos => a.cos(),
        Fun::Tan => a.tan(),
        Fun::Sinh => a.sinh(),
        Fun::Cosh => a.cosh(),
        _ => a,
    }
}

#[inline(always)]
pub(super) fn fast2<S: Isa>(a: f64, b: f64, fun: Fun) -> bool {
    match fun {
        Fun::Power | Fun::FloatPower => {
            S::FMA & (a > 1e-300) & (a < 1e300) & (b.abs() < 1e6) & ((a - 1.0).abs() * b.abs() < 300.0)
                | S::FMA & (a > 1e-9) & (a < 1e9) & (b.abs() < 30.0)
        }
        Fun::Fmod | Fun::Remainder | Fun::FloorDivide => {
            S::FMA & ((a / b).abs() < 9e15) & (b.abs() < 1e300) & (a.abs() > 1e-290)
        }
        // atan2 is computed from y/x, which must not overflow or underflow.
        Fun::Arctan2 => (a.abs() > 1e-140) & (a.abs() < 1e140) & (b.abs() > 1e-140) & (b.abs() < 1e140),
        _ => true,
    }
}

#[inline(never)]
pub(super) fn slow2(a: f64, b: f64, fun: Fun) -> f64 {
    match fun {
        Fun::Power | Fun::FloatPower => a.powf(b),
        Fun::Arctan2 => a.atan2(b),
        _ => a,
    }
}

/// `2^k·p` for an integer `k` in `MAGIC`'s bits (as a float in `kf`) and `p` near 1. One rounding, also for subnormals.
#[inline(always)]
fn scale(p: f64, kf: f64, t: f64) -> f64 {
    let (low, high) = (kf < -900.0, kf > 1000.0);
    let shift = pick(low, 128i64, pick(high, -2, 0));
    let post = pick(low, 2.938735877055719e-39, pick(high, 4.0, 1.0));
    let k = (t.to_bits() as i64).wrapping_add(shift + 1023);
    p * f64::from_bits((k as u64) << 52) * post
}

/// (e^r - 1 - r)/r² for |r| ≤ 0.35: Taylor polynomial, remainder below 2^-58.
#[inline(always)]
fn exp_tail<S: Isa>(r: f64) -> f64 {
    poly::<S, 12>(
        r,
        [
            1.6059043836821613e-10,
            2.08767569878681e-9,
            2.505210838544172e-8,
            2.755731922398589e-7,
            2.7557319223985893e-6,
            2.48015873015873e-5,
            1.984126984126984e-4,
            1.388888888888889e-3,
            8.333333333333333e-3,
            4.1666666666666664e-2,
            1.6666666666666666e-1,
            0.5,
        ],
    )
}

/// e^(v + tail), 0.6 ulp with `tail` 0.
#[inline(always)]
pub(super) fn exp<S: Isa>(v: f64, tail: f64) -> f64 {
    // The clamp keeps k in range. NaN passes both comparisons. Where the result is zero it is not computed: processors
    // take 100 cycles to round a subnormal number.
    let zero = v < -746.0;
    let c = pick(v > 710.0, 710.0, pick(zero, 0.0, v));
    let t = fma::<S>(c, LOG2E, MAGIC);
    let kf = t - MAGIC;
    let r = fma::<S>(-kf, LN2_LO, fma::<S>(-kf, LN2_HI, c) + tail);
    pick(zero, 0.0, scale(fma::<S>(r * r, exp_tail::<S>(r), r) + 1.0, kf, t))
}

/// e^v - 1, 1.3 ulp.
#[inline(always)]
pub(super) fn expm1<S: Isa>(v: f64) -> f64 {
    let c = pick(v > 710.0, 710.0, pick(v < -60.0, -60.0, v));
    let t = fma::<S>(c, LOG2E, MAGIC);
    let kf = t - MAGIC;
    let r = fma::<S>(-kf, LN2_LO, fma::<S>(-kf, LN2_HI, c));
    let p = fma::<S>(r * r, exp_tail::<S>(r), r);
    let s = f64::from_bits((t.to_bits().wrapping_add(1022)) << 52);
    let y = (fma::<S>(s, p, s - 0.5)) * 2.0;
    if v.abs() < 1e-17 { v } else { y }
}

/// Splits a positive normal or subnormal number: v = 2^k·(1 + f), 1 + f in [√½, √2).
#[inline(always)]
pub(super) fn split(v: f64) -> (f64, f64) {
    let tiny = v < f64::MIN_POSITIVE;
    let scaled = if tiny { v * 18014398509481984.0 } else { v };
    let t = scaled.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_0000_0000);
    let m = f64::from_bits((t & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_0000_0000);
    let k = f64::from_bits(0x4330_0000_0000_0000 | (t >> 52)) - (4503599627370496.0 + 1023.0);
    (if tiny { k - 54.0 } else { k }, m - 1.0)
}

/// fdlibm's R(s²) with s = f/(2+f): log(1+f) = f - f²/2 + s·(f²/2 + R).
#[inline(always)]
pub(super) fn log_tail<S: Isa>(s: f64) -> f64 {
    let z = s * s;
    z * poly::<S, 7>(
        z,
        [
            1.479819860511658591e-01,
            1.531383769920937332e-01,
            1.818357216161805012e-01,
            2.222219843214978396e-01,
            2.857142874366239149e-01,
            3.999999999940941908e-01,
            6.666666666666735130e-01,
        ],
    )
}

/// Returns the values of a logarithm at the edge of its domain, else `y`.
#[inline(always)]
fn log_edges(v: f64, y: f64) -> f64 {
    let y = if v == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if v < 0.0 { f64::NAN } else { y };
    if (v == f64::INFINITY) | (v != v) { v } else { y }
}

/// ln v, 0.8 ulp.
#[inline(always)]
pub(super) fn ln<S: Isa>(v: f64) -> f64 {
    let (k, f) = split(v);
    let s = f / (2.0 + f);
    let half = 0.5 * f * f;
    let y = fma::<S>(s, half + log_tail::<S>(s), k * LN2_LO) - half + f + k * LN2_HI;
    log_edges(v, y)
}

/// ln(1 + v), 0.9 ulp.
#[inline(always)]
pub(super) fn ln_1p<S: Isa>(v: f64) -> f64 {
    let u = 1.0 + v;
    let (k, f) = split(u);
    let c = if u > 2.0 { 1.0 - (u - v) } else { v - (u - 1.0) } / u;
    let small = (v > -0.2928) & (v < 0.4142);
    let (k, f, c) = (if small { 0.0 } else { k }, if small { v } else { f }, if small { 0.0 } else { c });
    let s = f / (2.0 + f);
    let half = 0.5 * f * f;
    let y = fma::<S>(s, half + log_tail::<S>(s), fma::<S>(k, LN2_LO, c)) - half + f + k * LN2_HI;
    let y = log_edges(u, y);
    if v.abs() < 1e-17 { v } else { y }
}

/// log(1+f) as a high part of 21 bits and a remainder (fdlibm `e_log2.c`).
#[inline(always)]
fn log_parts<S: Isa>(f: f64) -> (f64, f64) {
    let half = 0.5 * f * f;
    let s = f / (2.0 + f);
    let hi = f64::from_bits((f - half).to_bits() & 0xffff_ffff_0000_0000);
    (hi, fma::<S>(s, half + log_tail::<S>(s), f - hi - half))
}

/// log2 v, 1 ulp.
#[inline(always)]
pub(super) fn log2<S: Isa>(v: f64) -> f64 {
    const HI: f64 = 1.44269504072144627571e+00;
    const LO: f64 = 1.67517131648865118353e-10;
    let (k, f) = split(v);
    let (hi, lo) = log_parts::<S>(f);
    let top = hi * HI;
    let rest = (lo + hi) * LO + lo * HI;
    let w = k + top;
    log_edges(v, (rest + ((k - w) + top)) + w)
}

/// log10 v, 1 ulp.
#[inline(always)]
pub(super) fn log10<S: Isa>(v: f64) -> f64 {
    const HI: f64 = 4.34294481878168880939e-01;
    const LO: f64 = 2.50829467116452752298e-11;
    const LOG10_2_HI: f64 = 3.01029995663611771306e-01;
    const LOG10_2_LO: f64 = 3.69423907715893078616e-13;
    let (k, f) = split(v);
    let (hi, lo) = log_parts::<S>(f);
    let (top, y) = (hi * HI, k * LOG10_2_HI);
    let rest = k * LOG10_2_LO + (lo + hi) * LO + lo * HI;
    let w = y + top;
    log_edges(v, (rest + ((y - w) + top)) + w)
}

/// Reduces by π/2 in three parts (Cody and Waite 1980, with FMA). Returns the quadrant in the low bits, and r + tail.
#[inline(always)]
pub(super) fn quadrant<S: Isa>(v: f64) -> (u64, f64, f64) {
    const P1: f64 = std::f64::consts::FRAC_PI_2;
    const P2: f64 = 6.123233995736766e-17;
    const P3: f64 = -1.4973849048591833e-33;
    let t = fma::<S>(v, std::f64::consts::FRAC_2_PI, MAGIC);
    let k = t - MAGIC;
    let a = fma::<S>(-k, P1, v);
    let r = fma::<S>(-k, P2, a);
    let tail = fma::<S>(-k, P3, fma::<S>(-k, P2, a - r));
    (t.to_bits(), r, tail)
}

/// sin(r + tail) on |r| ≤ π/4 (fdlibm `k_sin.c`).
#[inline(always)]
pub(super) fn sin_kernel<S: Isa>(r: f64, tail: f64) -> f64 {
    let z = r * r;
    let p = poly::<S, 5>(
        z,
        [
            1.58969099521155010221e-10,
            -2.50507602534068634195e-08,
            2.75573137070700676789e-06,
            -1.98412698298579493134e-04,
            8.33333333332248946124e-03,
        ],
    );
    let v = z * r;
    r - ((z * (0.5 * tail - v * p) - tail) - v * -1.66666666666666324348e-01)
}

/// cos(r + tail) on |r| ≤ π/4 (fdlibm `k_cos.c`).
#[inline(always)]
pub(super) fn cos_kernel<S: Isa>(r: f64, tail: f64) -> f64 {
    let z = r * r;
    let p = z * poly::<S, 6>(
        z,
        [
            -1.13596475577881948265e-11,
            2.08757232129817482790e-09,
            -2.75573143513906633035e-07,
            2.48015872894767294178e-05,
            -1.38888888888741095749e-03,
            4.16666666666666019037e-02,
        ],
    );
    let h = 0.5 * z;
    let w = 1.0 - h;
    w + (((1.0 - w) - h) + (z * p - r * tail))
}

/// Negates where bit 1 of `q` is set.
#[inline(always)]
fn flip(y: f64, q: u64) -> f64 {
    f64::from_bits(y.to_bits() ^ ((q & 2) << 62))
}

/// sin v, 0.8 ulp for |v| < 1e5.
#[inline(always)]
fn sin<S: Isa>(v: f64) -> f64 {
    let (q, r, tail) = quadrant::<S>(v);
    let (s, c) = (sin_kernel::<S>(r, tail), cos_kernel::<S>(r, tail));
    // The kernel would return +0 for -0.
    if v == 0.0 { v } else { flip(if q & 1 == 0 { s } else { c }, q) }
}

#[inline(always)]
fn cos<S: Isa>(v: f64) -> f64 {
    let (q, r, tail) = quadrant::<S>(v);
    let (s, c) = (sin_kernel::<S>(r, tail), cos_kernel::<S>(r, tail));
    flip(if q & 1 == 0 { c } else { s }, q.wrapping_add(1))
}

/// tan v = sin/cos, 2.5 ulp.
#[inline(always)]
fn tan<S: Isa>(v: f64) -> f64 {
    let (q, r, tail) = quadrant::<S>(v);
    let (s, c) = (sin_kernel::<S>(r, tail), cos_kernel::<S>(r, tail));
    let y = if q & 1 == 0 { s / c } else { -c / s };
    if v == 0.0 { v } else { y }
}

/// (asin root - root)/root for root = √z, |z| ≤ 1/4 (fdlibm `e_asin.c`).
#[inline(always)]
fn asin_tail<S: Isa>(z: f64) -> f64 {
    let p = z * poly::<S, 6>(
        z,
        [
            3.47933107596021167570e-05,
            7.91534994289814532176e-04,
            -4.00555345006794114027e-02,
            2.01212532134862925881e-01,
            -3.25565818622400915405e-01,
            1.66666666666666657415e-01,
        ],
    );
    let q = poly::<S, 5>(
        z,
        [
            7.70381505559019352791e-02,
            -6.88283971605453293030e-01,
            2.02094576023350569471e+00,
            -2.40339491173441421878e+00,
            1.0,
        ],
    );
    p / q
}

const PIO2_LO: f64 = 6.12323399573676603587e-17;

/// asin v, 1.5 ulp.
#[inline(always)]
fn asin<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let big = a >= 0.5;
    let z = if big { (1.0 - a) * 0.5 } else { v * v };
    let root = if big { z.sqrt() } else { a };
    let y = fma::<S>(root, asin_tail::<S>(z), root);
    // π/2 - 2y: the two-part π/4 keeps the low bits.
    let far = std::f64::consts::FRAC_PI_2 - (2.0 * y - PIO2_LO);
    (if big { far } else { y }).copysign(v)
}

/// acos v, 1.5 ulp.
#[inline(always)]
fn acos<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let big = a >= 0.5;
    let z = if big { (1.0 - a) * 0.5 } else { v * v };
    let root = if big { z.sqrt() } else { v };
    let tail = root * asin_tail::<S>(z);
    let near = std::f64::consts::FRAC_PI_2 - (v - (PIO2_LO - tail));
    let right = if big { root_error::<S>(z, root) } else { 0.0 } + tail;
    let right = 2.0 * (root + right);
    let left = 2.0 * (std::f64::consts::FRAC_PI_2 - (root + (tail - PIO2_LO)));
    if big { if v < 0.0 { left } else { right } } else { near }
}

/// √z - root, to first order.
#[inline(always)]
fn root_error<S: Isa>(z: f64, root: f64) -> f64 {
    if S::FMA & (root > 0.0) { fma::<S>(-root, root, z) / (2.0 * root) } else { 0.0 }
}

/// atan v, 1.5 ulp (Cephes `atan.c`).
#[inline(always)]
fn atan<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let (far, mid) = (a > 2.414213562373095, a > 0.66);
    let num = pick(far, -1.0, pick(mid, a - 1.0, a));
    let den = pick(far, a, pick(mid, a + 1.0, 1.0));
    let base = pick(far, std::f64::consts::FRAC_PI_2, pick(mid, std::f64::consts::FRAC_PI_4, 0.0));
    let low = pick(far, PIO2_LO, pick(mid, 0.5 * PIO2_LO, 0.0));
    let t = num / den;
    let z = t * t;
    let p = poly::<S, 5>(
        z,
        [
            -8.750608600031904122785e-1,
            -1.615753718733365076637e1,
            -7.500855792314704667340e1,
            -1.228866684490136173410e2,
            -6.485021904942025371773e1,
        ],
    );
    let q = poly::<S, 6>(
        z,
        [
            1.0,
            2.485846490142306297962e1,
            1.650270098316988542046e2,
            4.328810604912902668951e2,
            4.853903996359136964868e2,
            1.945506571482613964425e2,
        ],
    );
    let y = base + (fma::<S>(t, z * p / q, low) + t);
    y.copysign(v)
}

/// atan2 where `fast2` holds, 2.5 ulp.
#[inline(always)]
fn atan2<S: Isa>(y: f64, v: f64) -> f64 {
    // 0/0 is an angle of zero, and ∞/∞ an angle of 45°.
    let ratio = if y == 0.0 {
        0.0
    } else if y.abs() == v.abs() {
        1.0
    } else {
        y.abs() / v.abs()
    };
    let a = atan::<S>(if v.is_nan() { v } else { ratio });
    let a = if v.is_sign_negative() { std::f64::consts::PI - (a - 2.0 * PIO2_LO) } else { a };
    a.copysign(y)
}

/// tanh v, 2 ulp.
#[inline(always)]
fn tanh<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let t = expm1::<S>(2.0 * if a > 22.0 { 22.0 } else { a });
    let y = (t / (t + 2.0)).copysign(v);
    if a < 1e-9 { v } else { y }
}

/// sinh v where `fast` holds, 2 ulp.
#[inline(always)]
fn sinh<S: Isa>(v: f64) -> f64 {
    let t = expm1::<S>(v.abs());
    (0.5 * (t + t / (t + 1.0))).copysign(v)
}

/// cosh v where `fast` holds, 1.5 ulp.
#[inline(always)]
fn cosh<S: Isa>(v: f64) -> f64 {
    let e = exp::<S>(v.abs(), 0.0);
    0.5 * e + 0.5 / e
}

/// asinh v, 2 ulp.
#[inline(always)]
fn asinh<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let big = a > 1e8;
    let small = if big { 1.0 } else { a };
    let near = ln_1p::<S>(small + small * small / (1.0 + (small * small + 1.0).sqrt()));
    let far = ln::<S>(a) + std::f64::consts::LN_2;
    let y = (if big { far } else { near }).copysign(v);
    if v == 0.0 { v } else { y }
}

/// acosh v, 2 ulp.
#[inline(always)]
fn acosh<S: Isa>(v: f64) -> f64 {
    let big = v > 1e8;
    let t = if big { 1.0 } else { v - 1.0 };
    let near = ln_1p::<S>(t + (t * (t + 2.0)).sqrt());
    let far = ln::<S>(v) + std::f64::consts::LN_2;
    let y = if big { far } else { near };
    if v < 1.0 { f64::NAN } else { y }
}

/// atanh v, 2 ulp.
#[inline(always)]
fn atanh<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let y = 0.5 * ln_1p::<S>(2.0 * a / (1.0 - a));
    let small = 0.5 * ln_1p::<S>(2.0 * a + 2.0 * a * a / (1.0 - a));
    (if a < 0.5 { small } else { y }).copysign(v)
}

/// 1/(1 + e^-v), 2 ulp.
#[inline(always)]
pub(super) fn expit<S: Isa>(v: f64) -> f64 {
    let e = exp::<S>(-v.abs(), 0.0);
    (if v < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// a^b where `fast2` holds: a logarithm in two doubles (s = f/(2+f) with its rounding error), then exp. 1 ulp.
#[inline(always)]
fn pow<S: Isa>(a: f64, b: f64) -> f64 {
    let (k, f) = split(a);
    let den = 2.0 + f;
    let s = f / den;
    // The rounding errors of `den` and of the quotient.
    let slo = (fma::<S>(-s, den, f) - s * (f - (den - 2.0))) / den;
    // log(1+f) = 2s + s³·(2/3 + …). 2/3 is in two parts, the rest in one.
    let z = s * s;
    let zlo = fma::<S>(s, s, -z) + 2.0 * s * slo;
    let c = z * poly::<S, 9>(
        z,
        [
            // 2/(2n+3) for n = 9..1. The last two are adjusted toward the minimax fit on |s| ≤ 0.1716.
            0.095238095238095233,
            0.105263157894736847,
            0.117647058823529413,
            0.133333333333333331,
            0.153846153846153855,
            0.181818181818181823,
            0.222222222222222210,
            0.285714285714285698,
            0.4,
        ],
    );
    let third = 0.66666666666666663;
    let w = third + c;
    let wlo = (third - w) + c + 3.700743415417188e-17;
    // z·w in two parts, then s·(2 + z·w).
    let h = z * w;
    let hlo = fma::<S>(z, w, -h) + z * wlo + zlo * w;
    let t = 2.0 + h;
    let tlo = (2.0 - t) + h + hlo;
    let p = s * t;
    let plo = fma::<S>(s, t, -p) + s * tlo + slo * t;
    // + k·ln2
    let base = k * LN2_HI;
    let l = base + p;
    let back = l - base;
    let llo = (base - (l - back)) + (p - back) + plo + k * LN2_LO;
    // · b
    let y = l * b;
    let ylo = fma::<S>(l, b, -y) + llo * b;
    exp::<S>(y, ylo)
}

/// Defines methods by functions of this module.
macro_rules! forward {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self { x($name::<S>(self.0)) }
    )*};
}

/// Defines methods by scalar functions of other modules, in float64.
macro_rules! outside {
    ($($name:ident = $path:path),* $(,)?) => {$(
        #[inline(always)]
        fn $name(self) -> Self { x($path(self.0)) }
    )*};
}

impl<S: Isa> Double for F64<S> {}

impl<S: Isa> Inexact for F64<S> {
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
    fn exp(self) -> Self {
        x(exp::<S>(self.0, 0.0))
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        let v = self.0;
        let zero = v < -1080.0;
        let c = pick(v > 1025.0, 1025.0, pick(zero, 0.0, v));
        let t = c + MAGIC;
        let k = t - MAGIC;
        let r = (c - k) * std::f64::consts::LN_2;
        x(pick(zero, 0.0, scale(fma::<S>(r * r, exp_tail::<S>(r), r) + 1.0, k, t)))
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0 != self.0
    }
    #[inline(always)]
    fn is_inf(self) -> bool {
        self.0.abs() == f64::INFINITY
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.0.abs() < f64::INFINITY
    }
    forward!(expm1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh);
}

impl<S: Isa> Float for F64<S> {
    outside!(
        cbrt = libm::cbrt,
        erfinv = special::erfinv,
        gamma = special::gamma,
        gammaln = special::gammaln,
        digamma = special::digamma,
        i0 = special::i0,
    );
    forward!(expit);
    #[inline(always)]
    fn rsqrt(self) -> Self {
        x(1.0 / self.0.sqrt())
    }
    /// Adds the exact squares, as FreeBSD's and musl's `hypot` do, but scales both operands by the larger one alone, so that
    /// there is no branch.
    #[inline(always)]
    fn hypot(self, o: Self) -> Self {
        const SCALE: f64 = f64::from_bits((1023 + 600) << 52);
        let (a, b) = (self.0.abs(), o.0.abs());
        let (large, small) = (pick(a > b, a, b), pick(a > b, b, a));
        let (tiny, huge) = (large < f64::from_bits((1023 - 400) << 52), large > f64::from_bits((1023 + 500) << 52));
        let scale = pick(tiny, SCALE, pick(huge, 1.0 / SCALE, 1.0));
        let ([x2, xr], [y2, yr]) = (exact_square::<S>(large * scale), exact_square::<S>(small * scale));
        let root = (yr + xr + y2 + x2).sqrt() * pick(tiny, 1.0 / SCALE, pick(huge, SCALE, 1.0));
        x(pick((a == f64::INFINITY) | (b == f64::INFINITY), f64::INFINITY, root))
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
        x(libm::ldexp(self.0, e))
    }
    #[inline(always)]
    fn frexp_mantissa(self) -> Self {
        if !self.0.is_finite() { self } else { x(libm::frexp(self.0).0) }
    }
    #[inline(always)]
    fn frexp_exponent(self) -> i32 {
        if !self.0.is_finite() { 0 } else { libm::frexp(self.0).1 }
    }
    #[inline(always)]
    fn modf_fraction(self) -> Self {
        self.modf_of()
    }
    #[inline(always)]
    fn logaddexp(self, o: Self) -> Self {
        let (a, b) = (self.0, o.0);
        let top = if a > b { a } else { b };
        let y = top + ln_1p::<S>(exp::<S>(-(a - b).abs(), 0.0));
        // For equal infinities `a - b` would be NaN.
        x(if a == b {
            a + std::f64::consts::LN_2
        } else if (a != a) | (b != b) {
            a + b
        } else {
            y
        })
    }
    #[inline(always)]
    fn logaddexp2(self, o: Self) -> Self {
        let (a, b) = (self.0, o.0);
        let top = if a > b { a } else { b };
        let e = F64::<S>::exp2(x(-(a - b).abs())).0;
        let y = top + LOG2E * ln_1p::<S>(e);
        x(if a == b {
            a + 1.0
        } else if (a != a) | (b != b) {
            a + b
        } else {
            y
        })
    }
    #[inline(always)]
    fn atan2(self, o: Self) -> Self {
        x(atan2::<S>(self.0, o.0))
    }
    #[inline(always)]
    fn degrees(self) -> Self {
        x(self.0 * (180.0 / std::f64::consts::PI))
    }
    #[inline(always)]
    fn radians(self) -> Self {
        x(self.0 * (std::f64::consts::PI / 180.0))
    }
    #[inline(always)]
    fn signbit(self) -> bool {
        (self.0.to_bits() >> 63) != 0
    }
    #[inline(always)]
    fn erf(self) -> Self {
        x(erf::erf::<S>(self.0))
    }
    #[inline(always)]
    fn erfc(self) -> Self {
        x(erf::erfc::<S>(self.0))
    }
    #[inline(always)]
    fn ndtr(self) -> Self {
        x(0.5 * erf::erfc::<S>(-self.0 * std::f64::consts::FRAC_1_SQRT_2))
    }
    #[inline(always)]
    fn sinc(self) -> Self {
        let t = std::f64::consts::PI * self.0;
        x(if t == 0.0 { 1.0 } else { t.sin() / t })
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.0
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        x(v)
    }
}
