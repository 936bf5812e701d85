//! Complex functions on (re, im) pairs in float64, with C99's branch cuts and values at infinities and NaNs (annex G).
//! The inverse functions follow Kahan, *Branch Cuts for Complex Elementary Functions* (1987).

type Z = (f64, f64);

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn mul((a, b): Z, (c, d): Z) -> Z {
    (a * c - b * d, a * d + b * c)
}

/// Returns i·z. [`over_i`] returns -i·z.
fn times_i((a, b): Z) -> Z {
    (-b, a)
}
fn over_i((a, b): Z) -> Z {
    (b, -a)
}

/// z/|z|; 0 at 0.
pub(super) fn sign((a, b): Z) -> Z {
    let r = a.hypot(b);
    if r.is_nan() {
        return (NAN, NAN);
    }
    if r == 0.0 {
        return (0.0, 0.0);
    }
    if r == INF {
        return match (a.is_infinite(), b.is_infinite()) {
            (true, true) => (NAN, NAN),
            (true, false) => (1f64.copysign(a), 0.0),
            _ => (0.0, 1f64.copysign(b)),
        };
    }
    (a / r, b / r)
}

pub(super) fn sqrt((a, b): Z) -> Z {
    if a == 0.0 && b == 0.0 {
        return (0.0, b);
    }
    if b.is_infinite() {
        return (INF, b);
    }
    if a.is_nan() {
        return (a, NAN);
    }
    if a.is_infinite() {
        let d = b - b;
        return if a < 0.0 { (d.abs(), a.abs().copysign(b)) } else { (a, d.copysign(b)) };
    }
    // Scaled by a power of 4, so that hypot does not overflow or lose subnormals.
    let top = a.abs().max(b.abs());
    let (scale, back) = if top > 1e300 {
        (0.0625, 4.0)
    } else if top < 1e-290 {
        (4f64.powi(60), 2f64.powi(-60))
    } else {
        (1.0, 1.0)
    };
    let (a, b) = (a * scale, b * scale);
    let (re, im) = if a >= 0.0 {
        let t = ((a + a.hypot(b)) * 0.5).sqrt();
        (t, b / (2.0 * t))
    } else {
        let t = ((-a + a.hypot(b)) * 0.5).sqrt();
        (b.abs() / (2.0 * t), t.copysign(b))
    };
    (re * back, im * back)
}

pub(super) fn exp((a, b): Z) -> Z {
    if b == 0.0 {
        return (a.exp(), b);
    }
    if !b.is_finite() {
        return match a {
            a if a == -INF => (0.0, 0.0f64.copysign(if b.is_nan() { 0.0 } else { b })),
            a if a == INF => (INF, NAN),
            _ => (NAN, NAN),
        };
    }
    if a.is_nan() {
        return (NAN, NAN);
    }
    let (s, c) = b.sin_cos();
    if a > 709.0 && a < 1500.0 {
        // e^a alone may overflow even if its product with a small cosine does not.
        let e = (a - 700.0).exp();
        let t = 700f64.exp();
        return (c * e * t, s * e * t);
    }
    let e = a.exp();
    (e * c, e * s)
}

pub(super) fn exp2((a, b): Z) -> Z {
    exp((a * std::f64::consts::LN_2, b * std::f64::consts::LN_2))
}

/// e^z - 1 = expm1(a)·cos b - 2 sin²(b/2) + i·e^a·sin b, without special cases, as in NumPy.
pub(super) fn expm1((a, b): Z) -> Z {
    let half = (0.5 * b).sin();
    (a.exp_m1() * b.cos() - 2.0 * half * half, a.exp() * b.sin())
}

/// ln|z| without overflow, accurate near |z| = 1.
fn ln_abs((a, b): Z) -> f64 {
    let (x, y) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
    if a.is_infinite() || b.is_infinite() {
        return INF;
    }
    if a.is_nan() || b.is_nan() {
        return NAN;
    }
    if (0.5..2.0).contains(&x) {
        // (x-1)(x+1) + y² with its rounding errors recovered: the log1p then sees |z|² - 1 to full accuracy.
        let p = (x - 1.0) * (x + 1.0);
        let e = (x - 1.0).mul_add(x + 1.0, -p);
        let q = y * y;
        let f = y.mul_add(y, -q);
        let s = p + q;
        let back = s - p;
        let rest = (p - (s - back)) + (q - back);
        return 0.5 * (s + (rest + e + f)).ln_1p();
    }
    if x > 1e150 || y < 1e-150 && x < 1e-150 {
        return a.hypot(b).ln();
    }
    let h = a.hypot(b);
    if h.is_infinite() { (a * 0.25).hypot(b * 0.25).ln() + 4f64.ln() } else { h.ln() }
}

pub(super) fn ln((a, b): Z) -> Z {
    (ln_abs((a, b)), b.atan2(a))
}

pub(super) fn log2(z: Z) -> Z {
    let (a, b) = ln(z);
    (a * std::f64::consts::LOG2_E, b * std::f64::consts::LOG2_E)
}

pub(super) fn log10(z: Z) -> Z {
    let (a, b) = ln(z);
    (a * std::f64::consts::LOG10_E, b * std::f64::consts::LOG10_E)
}

pub(super) fn ln_1p((a, b): Z) -> Z {
    // |1 + z|² - 1 = a(2 + a) + b²
    if a.abs() < 0.5 && b.abs() < 0.5 {
        return (0.5 * (a * (2.0 + a) + b * b).ln_1p(), b.atan2(a + 1.0));
    }
    ln((a + 1.0, b))
}

/// 1/z by Smith's method, which squares no parts and so does not overflow.
fn reciprocal((a, b): Z) -> Z {
    if a == 0.0 && b == 0.0 {
        return (INF, NAN);
    }
    if b.abs() <= a.abs() {
        let r = b / a;
        let s = 1.0 / (a + b * r);
        (s, (0.0 - r) * s)
    } else {
        let r = a / b;
        let s = 1.0 / (b + a * r);
        (r * s, -s)
    }
}

/// NumPy's `nc_pow`: products for small integer exponents, otherwise e^(w·ln z).
pub(super) fn power(z: Z, w: Z) -> Z {
    let ((a, b), (c, d)) = (z, w);
    if c == 0.0 && d == 0.0 {
        return (1.0, 0.0);
    }
    if a == 0.0 && b == 0.0 {
        return if c > 0.0 { (0.0, 0.0) } else { (NAN, NAN) };
    }
    if d == 0.0 && c == c.trunc() && c.abs() < 100.0 {
        // A product with 1 would give NaN for infinite parts.
        match c {
            1.0 => return z,
            2.0 => return mul(z, z),
            3.0 => return mul(z, mul(z, z)),
            _ => {}
        }
        let mut n = c.abs() as u32;
        let (mut base, mut y) = (z, (1.0, 0.0));
        while n > 0 {
            if n & 1 == 1 {
                y = mul(y, base);
            }
            base = mul(base, base);
            n >>= 1;
        }
        return if c < 0.0 { reciprocal(y) } else { y };
    }
    exp(mul(w, ln(z)))
}

pub(super) fn sinh((a, b): Z) -> Z {
    if b == 0.0 {
        return (a.sinh(), b);
    }
    if a.is_infinite() && !b.is_finite() {
        return (INF, NAN);
    }
    if a == 0.0 && !b.is_finite() {
        return (a, NAN);
    }
    if !b.is_finite() || a.is_nan() {
        return (NAN, NAN);
    }
    let (s, c) = b.sin_cos();
    if a == 0.0 {
        return (0.0f64.copysign(a * c), s);
    }
    if a.abs() > 700.0 {
        let (re, im) = exp((a.abs() - std::f64::consts::LN_2, b));
        return (re.copysign(a * c), im);
    }
    (a.sinh() * c, a.cosh() * s)
}

pub(super) fn cosh((a, b): Z) -> Z {
    if b == 0.0 {
        return (a.cosh(), if a.is_nan() { b } else { 0f64.copysign(a.signum() * b.signum()) });
    }
    if a.is_infinite() && !b.is_finite() {
        return (INF, NAN);
    }
    if a == 0.0 && !b.is_finite() {
        return (NAN, a);
    }
    if !b.is_finite() || a.is_nan() {
        return (NAN, NAN);
    }
    let (s, c) = b.sin_cos();
    if a.abs() > 700.0 {
        let (re, im) = exp((a.abs() - std::f64::consts::LN_2, b));
        return (re, if a < 0.0 { -im } else { im });
    }
    (a.cosh() * c, a.sinh() * s)
}

pub(super) fn tanh((a, b): Z) -> Z {
    if a.is_infinite() {
        let s = if b.is_finite() { (2.0 * b).sin() } else { 1.0 };
        return (1f64.copysign(a), 0f64.copysign(s));
    }
    if b == 0.0 {
        return (a.tanh(), b);
    }
    if a.is_nan() || !b.is_finite() {
        return (if a == 0.0 { a } else { NAN }, NAN);
    }
    if a.abs() > 20.0 {
        let e = (-a.abs()).exp();
        return (1f64.copysign(a), 4.0 * b.sin() * b.cos() * e * e);
    }
    // Kahan: t = tan b, β = 1 + t², s = sinh a, ρ = cosh a.
    let t = b.tan();
    let beta = 1.0 + t * t;
    let s = a.sinh();
    let rho = (1.0 + s * s).sqrt();
    if t.is_infinite() {
        return (rho / s, 1.0 / t);
    }
    let d = 1.0 + beta * s * s;
    (beta * rho * s / d, t / d)
}

pub(super) fn sin(z: Z) -> Z {
    if !z.0.is_finite() && z.1.is_infinite() {
        return (NAN, INF);
    }
    over_i(sinh(times_i(z)))
}
pub(super) fn cos(z: Z) -> Z {
    cosh(times_i(z))
}
pub(super) fn tan(z: Z) -> Z {
    over_i(tanh(times_i(z)))
}

/// √(1-z) and √(1+z), with the sign of an imaginary zero preserved.
fn roots((a, b): Z) -> (Z, Z) {
    (sqrt((1.0 - a, -b)), sqrt((1.0 + a, b)))
}

pub(super) fn asin((a, b): Z) -> Z {
    if a.is_infinite() && b.is_nan() {
        return (NAN, INF);
    }
    if a.is_nan() || b.is_nan() || a.is_infinite() || b.is_infinite() {
        return over_i(asinh(times_i((a, b))));
    }
    if a.abs().max(b.abs()) > 1e150 {
        let (re, im) = ln((a.abs(), b.abs()));
        return ((std::f64::consts::FRAC_PI_2 - im).copysign(a), (re + std::f64::consts::LN_2).copysign(b));
    }
    let (m, p) = roots((a, b));
    let re = a.atan2(m.0 * p.0 - m.1 * p.1);
    (re, libm::asinh(m.0 * p.1 - m.1 * p.0))
}

pub(super) fn acos((a, b): Z) -> Z {
    if a.is_nan() || b.is_nan() {
        if a.is_infinite() {
            return (NAN, -INF);
        }
        if b.is_infinite() {
            return (NAN, -b);
        }
        return (if a == 0.0 { std::f64::consts::FRAC_PI_2 } else { NAN }, NAN);
    }
    if a.is_infinite() || b.is_infinite() || a.abs().max(b.abs()) > 1e150 {
        let re = b.abs().atan2(a);
        let im = ln_abs((a, b)) + std::f64::consts::LN_2;
        return (re, -im.copysign(b));
    }
    let (m, p) = roots((a, b));
    (2.0 * m.0.atan2(p.0), libm::asinh(p.0 * m.1 - p.1 * m.0))
}

pub(super) fn asinh((a, b): Z) -> Z {
    if a.is_nan() || b.is_nan() {
        if a.is_infinite() {
            return (a, NAN);
        }
        if b.is_infinite() {
            return (INF, NAN);
        }
        return (NAN, if b == 0.0 { b } else { NAN });
    }
    if a.is_infinite() || b.is_infinite() {
        let angle = b.abs().atan2(a.abs());
        return (INF.copysign(a), angle.copysign(b));
    }
    over_i(asin(times_i((a, b))))
}

pub(super) fn acosh(z: Z) -> Z {
    let (re, im) = acos(z);
    // acosh = ±i·acos, with the sign that makes the real part positive.
    if im.is_nan() {
        return (if re.is_nan() && (z.0.is_infinite() || z.1.is_infinite()) { INF } else { NAN }, re);
    }
    if im.is_sign_positive() && (im != 0.0 || z.1.is_sign_negative()) {
        (im, -re.abs())
    } else {
        (-im, re.abs().copysign(z.1))
    }
}

pub(super) fn atanh((a, b): Z) -> Z {
    use std::f64::consts::FRAC_PI_2;
    if a.is_infinite() || b.is_infinite() {
        return (0f64.copysign(a), if b.is_nan() { NAN } else { FRAC_PI_2.copysign(b) });
    }
    if b == 0.0 && a.abs() < 1.0 {
        return (libm::atanh(a), b);
    }
    if a.is_nan() || b.is_nan() {
        return (if a == 0.0 { a } else { NAN }, NAN);
    }
    if a.abs() == 1.0 && b == 0.0 {
        return (INF.copysign(a), b);
    }
    let (x, y) = (a.abs(), b.abs());
    if x > 1e150 || y > 1e150 {
        // Re ≈ Re(1/z)
        let h = x.hypot(y);
        return ((x / h / h).copysign(a), FRAC_PI_2.copysign(b));
    }
    // ¼·log1p(4x/((1-x)² + y²)), ½·arg((1-x)(1+x) - y², 2y)
    let re = 0.25 * (4.0 * x / ((1.0 - x) * (1.0 - x) + y * y)).ln_1p();
    let im = 0.5 * (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y);
    (re.copysign(a), im.copysign(b))
}

pub(super) fn atan(z: Z) -> Z {
    over_i(atanh(times_i(z)))
}
