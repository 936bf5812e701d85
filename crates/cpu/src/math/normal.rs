//! Normal numbers from random words (Box and Muller 1958), **bit for bit the same on every device**.
//!
//! Each function below is a fixed sequence of correctly rounded IEEE operations: add, subtract, multiply, divide,
//! square root, explicit fused multiply-add, and exact integer operations on bits. There are no library calls,
//! contractions or reorderings: `a * b + c` means two roundings. The CUDA prelude has the same sequence with
//! `__fma_rn`/`__fmaf_rn`, `__dmul_rn`/`__fmul_rn`, `__dadd_rn`/`__fadd_rn`, `__ddiv_rn`/`__fdiv_rn`,
//! `__dsqrt_rn`/`__fsqrt_rn`.
//!
//! With FMA hardware `mul_add` is an instruction. Elsewhere it is a slow but exact library routine.
//!
//! Draws, for element `index` of a stream (`seed`, `offset`), `w` = words of the block as in [`super::philox`]:
//! * float64: block `offset + index / 2`, u1 = ((bits64_0 >> 11) + 1)·2^-53, u2 = (bits64_1 >> 11)·2^-53,
//!   r = sqrt(-2·ln u1); an even index gets r·cos(2πu2), an odd one r·sin(2πu2);
//! * float32: block `offset + index / 4`, a and b its words 0, 1 or, for index % 4 >= 2, 2, 3; u = (a + ½)·2^-32,
//!   rounded, and t = the low 30 bits of b as a signed number, ·π/2·2^-30; then x = sqrt(-2·ln u)·cos t, with the sign
//!   of bit 31 of b, and y = sqrt(-2·ln u)·sin t; bit 30 of b swaps them; an even index gets x, an odd one y.

/// ln u for normal u in (0, 1]. Reduction and coefficients are those of fdlibm's `e_log.c`.
#[inline(always)]
pub(crate) fn ln64(u: f64) -> f64 {
    // u = 2^k·m with m in [√½, √2): the addition makes the exponent field increase at √2.
    let t = u.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_0000_0000);
    let m = f64::from_bits((t & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_0000_0000);
    // k as a float, exactly: the field in the low bits of 2^52, minus 2^52 + 1023.
    let k = f64::from_bits(0x4330_0000_0000_0000 | (t >> 52)) - 4503599627371519.0;
    let f = m - 1.0; // exact
    let s = f / (2.0 + f); // one add, one division
    let z = s * s;
    // R(z), Horner with fma
    let mut r: f64 = 1.479819860511658591e-01; // 3fc2f112df3e5244
    r = r.mul_add(z, 1.531383769920937332e-01); // 3fc39a09d078c69f
    r = r.mul_add(z, 1.818357216161805012e-01); // 3fc7466496cb03de
    r = r.mul_add(z, 2.222219843214978396e-01); // 3fcc71c51d8e78af
    r = r.mul_add(z, 2.857142874366239149e-01); // 3fd2492494229359
    r = r.mul_add(z, 3.999999999940941908e-01); // 3fd999999997fa04
    r = r.mul_add(z, 6.666666666666735130e-01); // 3fe5555555555593
    r *= z;
    let h = (0.5 * f) * f;
    // k·ln2_hi + (f - (h - (s·(h + R) + k·ln2_lo)))
    let low = s.mul_add(h + r, k * 1.90821492927058770002e-10); // ln2_lo 3dea39ef35793c76
    let inner = f - (h - low);
    k.mul_add(6.93147180369123816490e-01, inner) // ln2_hi 3fe62e42fee00000
}

/// (cos 2πu, sin 2πu) for u in [0, 1). fdlibm's `k_sin.c` and `k_cos.c` on |t| ≤ π/4.
#[inline(always)]
pub(crate) fn cos_sin64(u: f64) -> (f64, f64) {
    // q = nearest quarter turn, 0..=4; the remainder r in [-1/8, 1/8] is exact.
    let q = (u.mul_add(4.0, 0.5)) as i64; // exact product and truncation: floor(4u + 1/2)
    let r = (q as f64).mul_add(-0.25, u);
    let t = r * 6.283185307179586; // 401921fb54442d18
    let z = t * t;
    let mut p: f64 = 1.58969099521155010221e-10; // 3de5d93a5acfd57c
    p = p.mul_add(z, -2.50507602534068634195e-08); // be5ae5e68a2b9ceb
    p = p.mul_add(z, 2.75573137070700676789e-06); // 3ec71de357b1fe7d
    p = p.mul_add(z, -1.98412698298579493134e-04); // bf2a01a019c161d5
    p = p.mul_add(z, 8.33333333332248946124e-03); // 3f8111111110f8a6
    p = p.mul_add(z, -1.66666666666666324348e-01); // bfc5555555555549
    let s = (p * z).mul_add(t, t);
    let mut p: f64 = -1.13596475577881948265e-11; // bda8fae9be8838d4
    p = p.mul_add(z, 2.08757232129817482790e-09); // 3e21ee9ebdb4b1c4
    p = p.mul_add(z, -2.75573143513906633035e-07); // be927e4f809c52ad
    p = p.mul_add(z, 2.48015872894767294178e-05); // 3efa01a019cb1590
    p = p.mul_add(z, -1.38888888888741095749e-03); // bf56c16c16c15177
    p = p.mul_add(z, 4.16666666666666019037e-02); // 3fa555555555554c
    // 1 - z/2 + p·z², with the rounding error of 1 - z/2 added
    let h = 0.5 * z;
    let w = 1.0 - h;
    let c = w + (p.mul_add(z * z, (1.0 - w) - h));
    // quadrant 0: (c, s), 1: (-s, c), 2: (-c, -s), 3: (s, -c)
    let (a, b) = if q & 1 == 0 { (c, s) } else { (s, c) };
    let a = f64::from_bits(a.to_bits() ^ ((((q + 1) as u64) & 2) << 62));
    let b = f64::from_bits(b.to_bits() ^ (((q as u64) & 2) << 62));
    (a, b)
}

/// Two normals from two 64-bit words.
#[inline(always)]
pub(crate) fn normal64(words: [u64; 2]) -> [f64; 2] {
    let u1 = ((words[0] >> 11) + 1) as f64 * 1.1102230246251565e-16; // 2^-53, exact
    let u2 = (words[1] >> 11) as f64 * 1.1102230246251565e-16;
    let r = (-2.0 * ln64(u1)).sqrt();
    let (c, s) = cos_sin64(u2);
    [r * c, r * s]
}

/// -ln u for normal u in (0, 1]: u = 2^k·(1 + f) with f in [-1/3, 1/3], and a polynomial with minimax relative error.
#[inline(always)]
pub(crate) fn minus_ln32(u: f32) -> f32 {
    let bits = u.to_bits();
    let e = bits.wrapping_sub(0x3f2a_aaab) & 0xff80_0000; // k·2^23
    let f = f32::from_bits(bits.wrapping_sub(e)) - 1.0; // exact
    let mut p = -0.14026348_f32;
    p = p.mul_add(f, 0.15388541);
    p = p.mul_add(f, -0.13995809);
    p = p.mul_add(f, 0.1641596);
    p = p.mul_add(f, -0.20011169);
    p = p.mul_add(f, 0.2500782);
    p = p.mul_add(f, -0.33333198);
    p = p.mul_add(f, 0.49999936);
    let q = (p * f).mul_add(f, -f);
    (e as i32 as f32).mul_add(-8.262958e-8, q) // -ln 2·2^-23
}

/// (√2·cos t, √2·sin t) for |t| ≤ π/4: polynomials with minimax relative error.
#[inline(always)]
pub(crate) fn cos_sin32(t: f32) -> (f32, f32) {
    let z = t * t;
    let mut p = -2.7582834e-4_f32;
    p = p.mul_add(z, 0.01178328);
    p = p.mul_add(z, -0.23570204);
    p = p.mul_add(z, 1.4142135);
    let mut q = 3.4468154e-5_f32;
    q = q.mul_add(z, -1.9638518e-3);
    q = q.mul_add(z, 0.05892549);
    q = q.mul_add(z, -0.7071068);
    q = q.mul_add(z, 1.4142135);
    (q, p * t)
}

/// Two normals from two words.
#[inline(always)]
pub(crate) fn normal32(words: [u32; 2]) -> [f32; 2] {
    let [a, b] = words;
    // (a + ½)·2^-32, rounded: 2^-33 to 1. The product is exact.
    let u = (a as f32).mul_add(2.3283064e-10, 1.1641532e-10);
    let r = minus_ln32(u).sqrt();
    // The low 30 bits of b are an angle in [-π/4, π/4). The other two select the quarter turn.
    let (c, s) = cos_sin32((b << 2) as i32 as f32 * 3.6572951e-10); // π/4·2^-31
    let c = f32::from_bits(c.to_bits() ^ (b & 0x8000_0000));
    let (c, s) = if b & 0x4000_0000 == 0 { (c, s) } else { (s, c) };
    [r * c, r * s]
}
