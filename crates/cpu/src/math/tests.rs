//! Errors in ulps against the C library (float64) and against float64 (float32), on dense samples.

use super::*;
use crate::isa::{V1, V3};

/// Returns the largest error, in ulps of the result, over a geometric and a linear sample of `lo..hi`.
fn worst(lo: f64, hi: f64, single: bool, got: impl Fn(f64) -> f64, want: impl Fn(f64) -> f64) -> f64 {
    let mut worst: f64 = 0.0;
    let n = 200_000;
    for i in 0..n {
        let t = (f64::from(i) + 0.37) / f64::from(n);
        for v in [lo + (hi - lo) * t, if lo > 0.0 { lo * (hi / lo).powf(t) } else { hi * (t - 0.5).powi(7) }] {
            let v = if single { f64::from(v as f32) } else { v };
            let (g, w) = (got(v), want(v));
            let w = if single && !(w as f32).is_finite() { f64::from(w as f32) } else { w };
            if !w.is_finite() || g == w {
                assert!(g == w || g.is_nan() && w.is_nan(), "{v}: {g} {w}");
                continue;
            }
            let (digits, least) = if single { (23, -149) } else { (52, -1074) };
            let ulp = ((w.abs().log2().floor() as i32 - digits).max(least) as f64).exp2();
            worst = worst.max((g - w).abs() / ulp);
        }
    }
    worst
}

macro_rules! check {
    ($($name:ident $lo:expr, $hi:expr, $want:expr, $d:expr, $s:expr;)*) => {
        let mut report = String::new();
        let mut bad = false;
        $(
            // Compiled without FMA instructions, so that `mul_add` is an exact library call.
            let d = worst($lo, $hi, false, |v| x::<f64, V3>(v).$name().0, $want);
            let plain = worst($lo, $hi, false, |v| x::<f64, V1>(v).$name().0, $want);
            let s = worst($lo, $hi, true, |v| f64::from(x::<f32, V3>(v as f32).$name().0), $want);
            bad |= d > $d || plain > 2.0 * $d + 2.0 && !matches!(stringify!($name), "sin" | "cos" | "tan") || s > $s;
            report += &format!("{} {}..{}: float64 {d:.2} ({plain:.2} without FMA), float32 {s:.2}\n",
                stringify!($name), $lo, $hi);
        )*
        assert!(!bad, "{report}");
        #[allow(clippy::print_stderr, reason = "shown with --nocapture")]
        { eprintln!("{report}"); }
    };
}

#[test]
fn errors_in_ulps() {
    check! {
        exp -745.0, 700.0, f64::exp, 1.1, 1.2;
        exp2 -1070.0, 1000.0, f64::exp2, 1.1, 1.2;
        expm1 -30.0, 80.0, f64::exp_m1, 2.0, 2.0;
        ln 1e-300, 1e300, f64::ln, 1.2, 1.2;
        ln 0.5, 2.0, f64::ln, 1.2, 1.2;
        log2 1e-300, 1e300, f64::log2, 2.1, 1.0;
        log10 0.3, 30.0, f64::log10, 2.1, 1.0;
        ln_1p -0.999, 10.0, f64::ln_1p, 1.6, 1.0;
        sin -1000.0, 1000.0, f64::sin, 1.2, 1.0;
        cos -1000.0, 1000.0, f64::cos, 1.2, 1.0;
        tan -100.0, 100.0, f64::tan, 3.5, 1.0;
        asin -1.0, 1.0, f64::asin, 2.5, 1.0;
        acos -1.0, 1.0, f64::acos, 2.5, 1.0;
        atan -50.0, 50.0, f64::atan, 2.5, 1.0;
        sinh -80.0, 80.0, f64::sinh, 3.0, 1.0;
        cosh -80.0, 80.0, f64::cosh, 2.5, 1.0;
        tanh -20.0, 20.0, f64::tanh, 3.5, 3.5;
        asinh -50.0, 50.0, libm::asinh, 3.5, 1.0;
        acosh 1.0, 50.0, libm::acosh, 3.5, 1.0;
        atanh -1.0, 1.0, libm::atanh, 3.5, 1.0;
        erf -5.0, 5.0, libm::erf, 2.5, 1.5;
        erfc -5.0, 20.0, libm::erfc, 6.0, 1.0;
        expit -30.0, 30.0, |v: f64| 1.0 / (1.0 + (-v).exp()), 4.0, 3.0;
    }
}

#[test]
fn hypot_is_within_one_ulp_of_the_c_library() {
    let sizes = [0.0, 5e-324, 1e-310, 1e-308, 3e-160, 1e-121, 1.3e-120, 0.7, 1.0, 3e9, 1e150, 4e150, 2e154, 1.7e308];
    let specials = [f64::INFINITY, f64::NAN];
    let factors = (0..40).map(|k| 1.0 + f64::from(k * k % 97) / 97.0);
    let numbers: Vec<f64> = factors.flat_map(|f| sizes.map(|v| v * f)).chain(specials).collect();
    for &a in &numbers {
        for &b in &numbers {
            let want = libm::hypot(a, b);
            for (a, b) in [(a, b), (-b, a)] {
                for got in [x::<f64, V1>(a).hypot(x(b)).0, x::<f64, V3>(a).hypot(x(b)).0] {
                    let near = got.is_sign_positive() && got.to_bits().abs_diff(want.to_bits()) <= 1;
                    assert!(near || got.is_nan() && want.is_nan(), "{a:e} {b:e}: {got:e}, not {want:e}");
                }
            }
        }
    }
}

#[test]
fn powers() {
    let mut worst: f64 = 0.0;
    for i in 0..2000 {
        for j in -40..40 {
            let (a, b) = (0.01 + f64::from(i) * 0.013, f64::from(j) * 0.37);
            let (a, b) = (x::<f64, V3>(a), x::<f64, V3>(b));
            if All::fast2(a, b, cuprous_core::Fun::Power) {
                let want = a.0.powf(b.0);
                worst = worst.max(((a.power(b).0 - want) / want).abs() / f64::EPSILON);
            }
        }
    }
    assert!(worst < 1.5, "{worst}");
}

/// sin and cos of 2πu by the C library, after exact reduction by quarter turns, because 2πu itself would be too
/// inaccurate.
fn sin_cos_of_turns(u: f64) -> (f64, f64) {
    let q = (4.0 * u).round();
    let (s, c) = (std::f64::consts::TAU * (u - q / 4.0)).sin_cos();
    [(s, c), (c, -s), (-s, -c), (-c, s)][q as usize % 4]
}

#[test]
fn normals_are_within_four_ulps() {
    let (mut w64, mut w32): (f64, f64) = (0.0, 0.0);
    for i in 0..300_000u64 {
        let words = philox::block(i, 42);
        let pair = philox::pair(words);
        let (u1, u2) = (((pair[0] >> 11) + 1) as f64 * 2f64.powi(-53), (pair[1] >> 11) as f64 * 2f64.powi(-53));
        let n = normal::normal64(pair);
        let r = (-2.0 * u1.ln()).sqrt();
        let (s, c) = sin_cos_of_turns(u2);
        for (g, w) in n.into_iter().zip([r * c, r * s]) {
            if w != 0.0 {
                w64 = w64.max(((g - w) / w).abs() / f64::EPSILON);
            }
        }
        let u = f64::from((words[0] as f32).mul_add(2f32.powi(-32), 2f32.powi(-33)));
        let r = (-2.0 * u.ln()).sqrt();
        let (s, c) = (f64::from((words[1] << 2) as i32) * std::f64::consts::FRAC_PI_4 * 2f64.powi(-31)).sin_cos();
        let c = if words[1] >> 31 == 0 { c } else { -c };
        let pair = if words[1] >> 30 & 1 == 0 { [r * c, r * s] } else { [r * s, r * c] };
        for (g, w) in normal::normal32([words[0], words[1]]).into_iter().zip(pair) {
            if w != 0.0 && w.abs() > 1e-7 {
                w32 = w32.max(((f64::from(g) - w) / w).abs() / f64::from(f32::EPSILON));
            }
        }
    }
    assert!(w64 < 4.0 && w32 < 4.0, "{w64} {w32}");
}

#[test]
fn small_floats_convert_as_the_half_crate() {
    use super::half::HalfBits;
    for bits in 0..=u16::MAX {
        let (a, b) = (::half::f16::from_bits(bits).to_f32(), ::half::bf16::from_bits(bits).to_f32());
        let same = |p: f32, q: f32| p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan();
        assert!(same(<::half::f16 as HalfBits>::widen(bits), a) && same(<::half::bf16 as HalfBits>::widen(bits), b));
    }
    for i in 0..2_000_000u32 {
        let v = f32::from_bits(i.wrapping_mul(2_654_435_761));
        if !v.is_nan() {
            assert_eq!(<::half::f16 as HalfBits>::narrow(v), ::half::f16::from_f32_const(v).to_bits(), "{v}");
            assert_eq!(<::half::bf16 as HalfBits>::narrow(v), ::half::bf16::from_f32(v).to_bits(), "{v}");
        }
    }
}

/// Means and variances of the variates agree within five standard errors.
#[test]
fn rejection_draws_have_the_right_moments() {
    let moments = |f: &dyn Fn(u64) -> f64| {
        let n = 100_000;
        let v: Vec<f64> = (0..n).map(f).collect();
        let mean = v.iter().sum::<f64>() / n as f64;
        (mean, v.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64)
    };
    let close = |(mean, var): (f64, f64), m: f64, v: f64, what: &str| {
        assert!((mean - m).abs() < 5.0 * (v / 1e5).sqrt(), "{what}: mean {mean} not {m}");
        assert!((var / v - 1.0).abs() < 0.06, "{what}: variance {var} not {v}");
    };
    for k in [0.3, 1.0, 2.5, 40.0] {
        close(moments(&|i| reject::gamma(i, 7, k)), k, k, "gamma");
    }
    for lam in [0.5, 5.0, 12.0, 1000.0] {
        close(moments(&|i| reject::poisson(i, 7, lam) as f64), lam, lam, "poisson");
    }
    for (n, p) in [(10.0, 0.3), (100.0, 0.02), (100.0, 0.5), (1000.0, 0.9)] {
        close(moments(&|i| reject::binomial(i, 7, [n, p]) as f64), n * p, n * p * (1.0 - p), "binomial");
    }
}
