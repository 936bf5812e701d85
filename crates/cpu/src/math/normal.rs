//! Normal numbers from random words (Box and Muller 1958), **bit for bit the same on every device**.
//!
//! Each function below is a fixed sequence of correctly rounded IEEE operations: add, subtract, multiply, divide, square
//! root, explicit fused multiply-add, and exact integer work on bits. No library call, no contraction, no reordering: what
//! is written `a * b + c` is two roundings. The CUDA prelude has the same sequence with `__fma_rn`/`__fmaf_rn`,
//! `__dmul_rn`/`__fmul_rn`, `__dadd_rn`/`__fadd_rn`, `__ddiv_rn`/`__fdiv_rn`, `__dsqrt_rn`/`__fsqrt_rn`.
//!
//! With FMA hardware `mul_add` is an instruction; elsewhere it is a slow but exact library routine.
//!
//! Draws, for element `index` of a stream (`seed`, `offset`), `w` = words of the block as in [`super::philox`]:
//! * float32: block `offset + index / 4`, p = (index % 4) / 2, u1 = ((w[2p] >> 8) + 1)·2^-24, u2 = (w[2p+1] >> 8)·2^-24;
//! * float64: block `offset + index / 2`, u1 = ((bits64_0 >> 11) + 1)·2^-53, u2 = (bits64_1 >> 11)·2^-53;
//! * r = sqrt(-2·ln u1); an even index gets r·cos(2πu2), an odd one r·sin(2πu2).

/// ln u for u in (0, 1], normal. The reduction and coefficients of fdlibm's `e_log.c`.
#[inline(always)]
pub(crate) fn ln64(u: f64) -> f64 {
    // u = 2^k·m, m in [√½, √2): add so that the exponent field steps at √2.
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
    // 1 - z/2 + p·z², with the rounding error of 1 - z/2 put back
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

/// ln u for u in (0, 1], normal. fdlibm's `e_logf.c`.
#[inline(always)]
pub(crate) fn ln32(u: f32) -> f32 {
    let t = u.to_bits().wrapping_add(0x3f80_0000 - 0x3f35_04f3);
    let m = f32::from_bits((t & 0x007f_ffff) + 0x3f35_04f3);
    let k = ((t >> 23) as i32 - 127) as f32;
    let f = m - 1.0; // exact
    let s = f / (2.0 + f);
    let z = s * s;
    let mut r = 0.24279078841_f32; // 3e789e26
    r = r.mul_add(z, 0.28498786688); // 3e91e9ee
    r = r.mul_add(z, 0.40000972152); // 3eccce13
    r = r.mul_add(z, 0.66666662693); // 3f2aaaaa
    r *= z;
    let h = (0.5 * f) * f;
    let low = s.mul_add(h + r, k * 9.0580006145e-06); // ln2_lo 3717f7d1
    let inner = f - (h - low);
    k.mul_add(6.9313812256e-01, inner) // ln2_hi 3f317180
}

/// (cos 2πu, sin 2πu) for u in [0, 1). Minimax polynomials of fdlibm's `k_sinf.c` and `k_cosf.c`, rounded to float32.
#[inline(always)]
pub(crate) fn cos_sin32(u: f32) -> (f32, f32) {
    let q = u.mul_add(4.0, 0.5) as i32; // floor(4u + 1/2)
    let r = (q as f32).mul_add(-0.25, u); // exact
    let t = r * 6.2831855; // 40c90fdb
    let z = t * t;
    let mut p = 2.7183114e-6_f32; // k_sinf's, rounded
    p = p.mul_add(z, -1.9839335e-4);
    p = p.mul_add(z, 8.333329e-3);
    p = p.mul_add(z, -0.16666667);
    let s = (p * z).mul_add(t, t);
    let mut p = 2.439045e-5_f32;
    p = p.mul_add(z, -1.3886764e-3);
    p = p.mul_add(z, 4.1666623e-2);
    let h = 0.5 * z;
    let w = 1.0 - h;
    let c = w + p.mul_add(z * z, (1.0 - w) - h);
    let (a, b) = if q & 1 == 0 { (c, s) } else { (s, c) };
    let a = f32::from_bits(a.to_bits() ^ ((((q + 1) as u32) & 2) << 30));
    let b = f32::from_bits(b.to_bits() ^ (((q as u32) & 2) << 30));
    (a, b)
}

/// Two normals from two words.
#[inline(always)]
pub(crate) fn normal32(words: [u32; 2]) -> [f32; 2] {
    let u1 = ((words[0] >> 8) + 1) as f32 * 5.9604644775390625e-8; // 2^-24, exact
    let u2 = (words[1] >> 8) as f32 * 5.9604644775390625e-8;
    let r = (-2.0 * ln32(u1)).sqrt();
    let (c, s) = cos_sin32(u2);
    [r * c, r * s]
}
