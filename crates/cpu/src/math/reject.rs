//! Random numbers by rejection sampling. Each element has its own stream: the block of draw `d` has the counter `[index
//! low, index high, d, "GAMA"]` and the seed as its key. It provides two uniforms in (0, 1) or two normals.
//!
//! Everything is inlined into the loops, which are compiled for an instruction set. Otherwise a fused multiply-add or a
//! floor would be a call.

use super::{normal, philox};

/// Part of the counter that distinguishes these streams from those of [`philox::block`].
const TAG: u32 = 0x4741_4d41;

/// The draws of one element.
struct Draws {
    index: u64,
    seed: u64,
    draw: u32,
}

impl Draws {
    #[inline(always)]
    fn new(index: u64, seed: u64) -> Draws {
        Draws { index, seed, draw: 0 }
    }

    #[inline(always)]
    fn words(&mut self) -> [u64; 2] {
        let counter = [self.index as u32, (self.index >> 32) as u32, self.draw, TAG];
        self.draw = self.draw.wrapping_add(1);
        philox::pair(philox::philox(counter, [self.seed as u32, (self.seed >> 32) as u32]))
    }

    /// Two uniforms in (0, 1).
    #[inline(always)]
    fn uniforms(&mut self) -> [f64; 2] {
        self.words().map(|w| ((w >> 12) as f64 + 0.5) * 2.220446049250313e-16)
    }
}

/// A gamma variate of the given shape and scale 1 by Marsaglia and Tsang, *A simple method for generating gamma
/// variables* (2000). Shapes below 1 use their boost U^(1/shape).
#[inline(always)]
pub(crate) fn gamma(index: u64, seed: u64, shape: f64) -> f64 {
    if !(shape > 0.0) || !shape.is_finite() {
        return if shape == 0.0 { 0.0 } else { f64::NAN };
    }
    let mut draws = Draws::new(index, seed);
    let boost = if shape < 1.0 { draws.uniforms()[0].powf(1.0 / shape) } else { 1.0 };
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let n = normal::normal64(draws.words())[0];
        let u = draws.uniforms()[0];
        let v = 1.0 + c * n;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if u < 1.0 - 0.0331 * (n * n) * (n * n) || u.ln() < 0.5 * n * n + d * (1.0 - v + v.ln()) {
            return d * v * boost;
        }
    }
}

/// A Poisson variate: Knuth's product below 10, otherwise PTRS of Hörmann, *The transformed rejection method for
/// generating Poisson random variables* (1993).
#[inline(always)]
pub(crate) fn poisson(index: u64, seed: u64, lam: f64) -> i64 {
    if !(lam > 0.0) || lam > 9.2e18 {
        return 0;
    }
    let mut draws = Draws::new(index, seed);
    if lam < 10.0 {
        let limit = (-lam).exp();
        let (mut product, mut k) = (1.0, 0);
        loop {
            for u in draws.uniforms() {
                product *= u;
                if product <= limit {
                    return k;
                }
                k += 1;
            }
        }
    }
    let (root, log_lam) = (lam.sqrt(), lam.ln());
    let b = 0.931 + 2.53 * root;
    let a = -0.059 + 0.02483 * b;
    let inv_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let vr = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let [u, v] = draws.uniforms();
        let u = u - 0.5;
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + lam + 0.43).floor();
        if us >= 0.07 && v <= vr {
            return k as i64;
        }
        if k < 0.0 || us < 0.013 && v > us {
            continue;
        }
        if v.ln() + inv_alpha.ln() - (a / (us * us) + b).ln() <= -lam + k * log_lam - libm::lgamma(k + 1.0) {
            return k as i64;
        }
    }
}

/// A binomial variate of (n, p): inversion where n·p < 10, otherwise BTRS of Hörmann, *The generation of binomial
/// random variates* (1993). p above 1/2 uses symmetry.
#[inline(always)]
pub(crate) fn binomial(index: u64, seed: u64, [n, p]: [f64; 2]) -> i64 {
    if !(n >= 1.0) || !(p > 0.0) || n > 9.2e18 {
        return 0;
    }
    if p >= 1.0 {
        return n as i64;
    }
    if p > 0.5 { n as i64 - half_binomial(index, seed, n, 1.0 - p) } else { half_binomial(index, seed, n, p) }
}

/// A binomial variate for p ≤ 1/2.
#[inline(always)]
fn half_binomial(index: u64, seed: u64, n: f64, p: f64) -> i64 {
    let mut draws = Draws::new(index, seed);
    let q = 1.0 - p;
    if n * p < 10.0 {
        // Counts geometric gaps whose sum stays within n (Devroye 1986, X.4), so that q^n does not underflow for large
        // n.
        let log_q = (-p).ln_1p();
        let (mut sum, mut k) = (0.0, 0);
        loop {
            for u in draws.uniforms() {
                sum += (u.ln() / log_q).floor() + 1.0;
                if sum > n {
                    return k;
                }
                k += 1;
            }
        }
    }
    let spq = (n * p * q).sqrt();
    let b = 1.15 + 2.53 * spq;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = n * p + 0.5;
    let vr = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * spq;
    let lpq = (p / q).ln();
    let m = ((n + 1.0) * p).floor();
    let h = libm::lgamma(m + 1.0) + libm::lgamma(n - m + 1.0);
    loop {
        let [u, v] = draws.uniforms();
        let u = u - 0.5;
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if k < 0.0 || k > n {
            continue;
        }
        if us >= 0.07 && v <= vr {
            return k as i64;
        }
        let v = (v * alpha / (a / (us * us) + b)).ln();
        if v <= h - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0) + (k - m) * lpq {
            return k as i64;
        }
    }
}
