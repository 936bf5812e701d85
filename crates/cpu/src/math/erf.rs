//! erf and erfc in float64: the rational approximations of Sun's fdlibm (`s_erf.c`). All ranges are evaluated and one
//! is selected, so that loops vectorize. 2 ulp (erfc: 4 ulp).

use super::{float64::exp, pick, poly};
use crate::isa::Isa;

const ERX: f64 = 8.45062911510467529297e-01;

/// erf v / v - 1 on |v| < 0.84375, as a fraction.
#[inline(always)]
fn near<S: Isa>(z: f64) -> (f64, f64) {
    (
        poly::<S, 5>(
            z,
            [
                -2.37630166566501626084e-05,
                -5.77027029648944159157e-03,
                -2.84817495755985104766e-02,
                -3.25042107247001499370e-01,
                1.28379167095512558561e-01,
            ],
        ),
        poly::<S, 6>(
            z,
            [
                -3.96022827877536812320e-06,
                1.32494738004321644526e-04,
                5.08130628187576562776e-03,
                6.50222499887672944485e-02,
                3.97917223959155352819e-01,
                1.0,
            ],
        ),
    )
}

/// erf v - ERX on 0.84375 ≤ v < 1.25, s = v - 1.
#[inline(always)]
fn middle<S: Isa>(s: f64) -> (f64, f64) {
    (
        poly::<S, 7>(
            s,
            [
                -2.16637559486879084300e-03,
                3.54783043256182359371e-02,
                -1.10894694282396677476e-01,
                3.18346619901161753674e-01,
                -3.72207876035701323847e-01,
                4.14856118683748331666e-01,
                -2.36211856075265944077e-03,
            ],
        ),
        poly::<S, 7>(
            s,
            [
                1.19844998467991074170e-02,
                1.36370839120290507362e-02,
                1.26171219808761642112e-01,
                7.18286544141962662868e-02,
                5.40397917702171048937e-01,
                1.06420880400844228286e-01,
                1.0,
            ],
        ),
    )
}

/// log(v·e^(v²)·erfc v) + 0.5625 on 1.25 ≤ v < 1/0.35, s = 1/v².
#[inline(always)]
fn far<S: Isa>(s: f64) -> (f64, f64) {
    (
        poly::<S, 8>(
            s,
            [
                -9.81432934416914548592e+00,
                -8.12874355063065934246e+01,
                -1.84605092906711035994e+02,
                -1.62396669462573470355e+02,
                -6.23753324503260060396e+01,
                -1.05586262253232909814e+01,
                -6.93858572707181764372e-01,
                -9.86494403484714822705e-03,
            ],
        ),
        poly::<S, 9>(
            s,
            [
                -6.04244152148580987438e-02,
                6.57024977031928170135e+00,
                1.08635005541779435134e+02,
                4.29008140027567833386e+02,
                6.45387271733267880336e+02,
                4.34565877475229228821e+02,
                1.37657754143519042600e+02,
                1.96512716674392571292e+01,
                1.0,
            ],
        ),
    )
}

/// The same for 1/0.35 ≤ v < 28.
#[inline(always)]
fn farther<S: Isa>(s: f64) -> (f64, f64) {
    (
        poly::<S, 7>(
            s,
            [
                -4.83519191608651397019e+02,
                -1.02509513161107724954e+03,
                -6.37566443368389627722e+02,
                -1.60636384855821916062e+02,
                -1.77579549177547519889e+01,
                -7.99283237680523006574e-01,
                -9.86494292470009928597e-03,
            ],
        ),
        poly::<S, 8>(
            s,
            [
                -2.24409524465858183362e+01,
                4.74528541206955367215e+02,
                2.55305040643316442583e+03,
                3.19985821950859553908e+03,
                1.53672958608443695994e+03,
                3.25792512996573918826e+02,
                3.03380607434824582924e+01,
                1.0,
            ],
        ),
    )
}

/// Returns whether `a = |v|` is below 0.84375 and below 1.25, the fraction of its range, and erfc's tail for larger
/// `a`.
#[inline(always)]
fn parts<S: Isa>(a: f64) -> (bool, bool, f64, f64) {
    let (low, mid) = (a < 0.84375, a < 1.25);
    // Beyond 28 erfc is zero. The clamp keeps the fractions finite.
    let t = if a > 28.0 { 28.0 } else { a };
    let s = 1.0 / (t * t);
    let (mut p, mut q) = far::<S>(s);
    let (p2, q2) = farther::<S>(s);
    let (pn, qn) = near::<S>(a * a);
    let (pm, qm) = middle::<S>(a - 1.0);
    p = if a >= 1.0 / 0.35 { p2 } else { p };
    q = if a >= 1.0 / 0.35 { q2 } else { q };
    p = pick(low, pn, pick(mid, pm, p));
    q = pick(low, qn, pick(mid, qm, q));
    let y = p / q;
    // e^(-a²) = e^(-z² - 0.5625)·e^((z-a)(z+a) + R) with z = a truncated to 21 bits, so that z² is exact.
    let z = f64::from_bits(t.to_bits() & 0xffff_ffff_0000_0000);
    let tail = exp::<S>(-z * z - 0.5625, 0.0) * exp::<S>((z - t) * (z + t) + if mid { 0.0 } else { y }, 0.0) / t;
    (low, mid, y, tail)
}

/// erf v.
#[inline(always)]
pub(super) fn erf<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let (low, mid, y, tail) = parts::<S>(a);
    let r = pick(low, a + a * y, pick(mid, ERX + y, 1.0 - tail));
    let r = if a > 6.0 { 1.0 } else { r };
    (if v != v { v } else { r }).copysign(v)
}

/// erfc v.
#[inline(always)]
pub(super) fn erfc<S: Isa>(v: f64) -> f64 {
    let a = v.abs();
    let (low, mid, y, tail) = parts::<S>(a);
    let near = if v < 0.25 { 1.0 - (v + v * y) } else { 0.5 - (v - 0.5 + v * y) };
    let positive = if mid { 1.0 - ERX - y } else { tail };
    let positive = if a > 28.0 { 0.0 } else { positive };
    let negative = if mid { 1.0 + (ERX + y) } else { 2.0 - tail };
    let r = pick(low, near, pick(v > 0.0, positive, negative));
    let r = if v < -6.0 { 2.0 } else { r };
    if v != v { v } else { r }
}
