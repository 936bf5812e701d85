//! Special functions in float64, element by element.

use std::f64::consts::PI;

/// Γ(v), as in `scipy.special.gamma`: NaN at negative integers, ±∞ at ±0.
pub(crate) fn gamma(v: f64) -> f64 {
    if v == f64::NEG_INFINITY {
        return f64::NAN;
    }
    libm::tgamma(v)
}

/// ln |Γ(v)|.
pub(crate) fn gammaln(v: f64) -> f64 {
    if v == f64::NEG_INFINITY {
        return v; // as SciPy
    }
    libm::lgamma(v)
}

/// ψ(v) by reflection, recurrence up to 10 and the asymptotic series (Abramowitz and Stegun 6.3.7, 6.3.5, 6.3.18). Near
/// its positive root, where the recurrence would cancel, by a series in the distance from the root.
pub(crate) fn digamma(v: f64) -> f64 {
    if v.is_nan() || v == f64::INFINITY {
        return v;
    }
    if v == 0.0 {
        return f64::INFINITY.copysign(-v);
    }
    if v < 0.0 {
        let r = v - v.round(); // exact
        if v == f64::NEG_INFINITY || r == 0.0 {
            return f64::NAN;
        }
        return digamma(1.0 - v) - PI / (PI * r).tan();
    }
    // The positive root in two parts.
    const ROOT: f64 = 1.4616321449683622;
    const ROOT_LO: f64 = 9.549995429965697e-17;
    let d = v - ROOT;
    if d.abs() < 0.02 {
        return digamma_series(d - ROOT_LO, ROOT);
    }
    let (mut v, mut shift) = (v, 0.0);
    while v < 10.0 {
        shift += 1.0 / v;
        v += 1.0;
    }
    let z = 1.0 / (v * v);
    let series = z
        * (1.0 / 12.0
            - z * (1.0 / 120.0
                - z * (1.0 / 252.0
                    - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z * (1.0 / 12.0)))))));
    v.ln() - 0.5 / v - series - shift
}

/// ψ(root + d) = Σ d/((k + root)(k + root + d)): the first terms are summed, the rest by the Euler-Maclaurin formula.
fn digamma_series(d: f64, root: f64) -> f64 {
    let term = |t: f64| d / (t * (t + d));
    let mut sum = 0.0;
    let k = 30;
    for i in 0..k {
        sum += term(f64::from(i) + root);
    }
    let t = f64::from(k) + root;
    // ∫ + f/2 - f'/12 + f'''/720
    let f = term(t);
    let (u, w) = (1.0 / t, 1.0 / (t + d));
    let slope = w * w - u * u;
    let third = 6.0 * (w.powi(4) - u.powi(4));
    sum + (d / t).ln_1p() + 0.5 * f - slope / 12.0 + third / 720.0
}

/// The inverse of erf: Giles' approximation (*Approximating the erfinv function*, 2010), then two Halley steps on erf
/// or erfc.
pub(crate) fn erfinv(y: f64) -> f64 {
    if y.is_nan() || y.abs() > 1.0 {
        return f64::NAN;
    }
    if y.abs() == 1.0 {
        return f64::INFINITY.copysign(y);
    }
    if y.abs() < 1e-8 {
        return y * 0.886226925452758; // √π/2
    }
    let w = -((1.0 - y) * (1.0 + y)).ln();
    let start = if w < 5.0 {
        let w = w - 2.5;
        horner(
            w,
            &[
                2.81022636e-08,
                3.43273939e-07,
                -3.5233877e-06,
                -4.39150654e-06,
                0.00021858087,
                -0.00125372503,
                -0.00417768164,
                0.246640727,
                1.50140941,
            ],
        )
    } else {
        let w = w.sqrt() - 3.0;
        horner(
            w,
            &[
                -0.000200214257,
                0.000100950558,
                0.00134934322,
                -0.00367342844,
                0.00573950773,
                -0.0076224613,
                0.00943887047,
                1.00167406,
                2.83297682,
            ],
        )
    };
    let mut v = start * y.abs();
    // Near 1 the step uses erfc, because 1 - erf would cancel.
    for _ in 0..2 {
        let error = if y.abs() < 0.5 { libm::erf(v) - y.abs() } else { (1.0 - y.abs()) - libm::erfc(v) };
        let step = error / (std::f64::consts::FRAC_2_SQRT_PI * (-v * v).exp());
        v -= step / (1.0 + v * step);
    }
    v.copysign(y)
}

fn horner(t: f64, c: &[f64]) -> f64 {
    c.iter().fold(0.0, |s, &c| s * t + c)
}

/// The modified Bessel function I₀ by its power series where that has few terms, else by the asymptotic series
/// (Abramowitz and Stegun 9.6.12, 9.7.1).
pub(crate) fn i0(v: f64) -> f64 {
    let a = v.abs();
    if !a.is_finite() {
        return a; // NaN, or infinity, for which the series below would be ∞ / ∞
    }
    if a < 30.0 {
        let q = 0.25 * a * a;
        let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
        while term > sum * 1e-17 {
            term *= q / (k * k);
            sum += term;
            k += 1.0;
        }
        return sum;
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..30 {
        let odd = f64::from(2 * k - 1);
        let next = term * odd * odd / (8.0 * f64::from(k) * a);
        if next.abs() > term || next < 1e-17 {
            break;
        }
        term = next;
        sum += term;
    }
    let half = (0.5 * a).exp();
    half * (sum / (2.0 * PI * a).sqrt()) * half
}
