// Normal deviates (Box and Muller 1958). The operations and roundings are those of the CPU's math/normal.rs, in the
// same order, so that both give the same bits. Every operation names its rounding mode, so that no compiler flag can
// change it.
DEV float normal_minus_ln32(float u) {
    const uint32 bits = __float_as_uint(u);
    const uint32 e = (bits - 0x3f2aaaabu) & 0xff800000u;
    const float f = __fadd_rn(__uint_as_float(bits - e), -1.0f);
    float p = -0.14026348f;
    p = __fmaf_rn(p, f, 0.15388541f);
    p = __fmaf_rn(p, f, -0.13995809f);
    p = __fmaf_rn(p, f, 0.1641596f);
    p = __fmaf_rn(p, f, -0.20011169f);
    p = __fmaf_rn(p, f, 0.2500782f);
    p = __fmaf_rn(p, f, -0.33333198f);
    p = __fmaf_rn(p, f, 0.49999936f);
    return __fmaf_rn((float)(int32)e, -8.262958e-8f, __fmaf_rn(__fmul_rn(p, f), f, -f));
}
// √2·cos t and √2·sin t for |t| <= π/4.
DEV void normal_cos_sin32(float t, float* cosine, float* sine) {
    const float z = __fmul_rn(t, t);
    float p = -2.7582834e-4f;
    p = __fmaf_rn(p, z, 0.01178328f);
    p = __fmaf_rn(p, z, -0.23570204f);
    p = __fmaf_rn(p, z, 1.4142135f);
    float q = 3.4468154e-5f;
    q = __fmaf_rn(q, z, -1.9638518e-3f);
    q = __fmaf_rn(q, z, 0.05892549f);
    q = __fmaf_rn(q, z, -0.7071068f);
    *cosine = __fmaf_rn(q, z, 1.4142135f);
    *sine = __fmul_rn(p, t);
}
// The correctly rounded square root of 0 and of [2^-60, 2^60]: the compiler's own sequence without its branch for other
// arguments.
DEV float normal_sqrt32(float x) {
#ifdef __CUDA_ARCH__
    float guess;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(fmaxf(x, 8.6736174e-19f)));
    const float y = __fmul_rn(x, guess);
    return __fmaf_rn(__fmaf_rn(-y, y, x), __fmul_rn(guess, 0.5f), y);
#else
    return sqrtf(x);
#endif
}
// Elements k = 0..3 of a block: words 0 and 1 give the first pair, words 2 and 3 the second.
DEV float random_normal32(const words4& w, int k) {
    const uint32 a = pick32(w, k & 2), b = pick32(w, (k & 2) + 1);
    const float r = normal_sqrt32(normal_minus_ln32(__fmaf_rn((float)a, 2.3283064e-10f, 1.1641532e-10f)));
    float c, s;
    normal_cos_sin32(__fmul_rn((float)(int32)(b << 2), 3.6572951e-10f), &c, &s);
    c = __uint_as_float(__float_as_uint(c) ^ (b & 0x80000000u));
    return __fmul_rn(r, ((b & 0x40000000u) == 0) == ((k & 1) == 0) ? c : s);
}

DEV double normal_ln64(double u) {
    const uint64 t = (uint64)__double_as_longlong(u) + (0x3ff0000000000000ull - 0x3fe6a09e00000000ull);
    const double m = __longlong_as_double((int64)((t & 0x000fffffffffffffull) + 0x3fe6a09e00000000ull));
    const double k = __dadd_rn(__longlong_as_double((int64)(0x4330000000000000ull | (t >> 52))), -4503599627371519.0);
    const double f = __dadd_rn(m, -1.0);
    const double s = __ddiv_rn(f, __dadd_rn(2.0, f));
    const double z = __dmul_rn(s, s);
    double r = 1.479819860511658591e-01;
    r = __fma_rn(r, z, 1.531383769920937332e-01);
    r = __fma_rn(r, z, 1.818357216161805012e-01);
    r = __fma_rn(r, z, 2.222219843214978396e-01);
    r = __fma_rn(r, z, 2.857142874366239149e-01);
    r = __fma_rn(r, z, 3.999999999940941908e-01);
    r = __fma_rn(r, z, 6.666666666666735130e-01);
    r = __dmul_rn(r, z);
    const double h = __dmul_rn(__dmul_rn(0.5, f), f);
    const double low_part = __fma_rn(s, __dadd_rn(h, r), __dmul_rn(k, 1.90821492927058770002e-10));
    const double inner = __dadd_rn(f, -__dadd_rn(h, -low_part));
    return __fma_rn(k, 6.93147180369123816490e-01, inner);
}
DEV void normal_cos_sin64(double u, double* cosine, double* sine) {
    const int64 q = (int64)__fma_rn(u, 4.0, 0.5);
    const double r = __fma_rn((double)q, -0.25, u);
    const double t = __dmul_rn(r, 6.283185307179586);
    const double z = __dmul_rn(t, t);
    double p = 1.58969099521155010221e-10;
    p = __fma_rn(p, z, -2.50507602534068634195e-08);
    p = __fma_rn(p, z, 2.75573137070700676789e-06);
    p = __fma_rn(p, z, -1.98412698298579493134e-04);
    p = __fma_rn(p, z, 8.33333333332248946124e-03);
    p = __fma_rn(p, z, -1.66666666666666324348e-01);
    const double s = __fma_rn(__dmul_rn(p, z), t, t);
    p = -1.13596475577881948265e-11;
    p = __fma_rn(p, z, 2.08757232129817482790e-09);
    p = __fma_rn(p, z, -2.75573143513906633035e-07);
    p = __fma_rn(p, z, 2.48015872894767294178e-05);
    p = __fma_rn(p, z, -1.38888888888741095749e-03);
    p = __fma_rn(p, z, 4.16666666666666019037e-02);
    const double h = __dmul_rn(0.5, z);
    const double w = __dadd_rn(1.0, -h);
    const double c = __dadd_rn(w, __fma_rn(p, __dmul_rn(z, z), __dadd_rn(__dadd_rn(1.0, -w), -h)));
    const bool even = (q & 1) == 0;
    *cosine = __longlong_as_double(__double_as_longlong(even ? c : s) ^ (int64)(((uint64)(q + 1) & 2ull) << 62));
    *sine = __longlong_as_double(__double_as_longlong(even ? s : c) ^ (int64)(((uint64)q & 2ull) << 62));
}
// Elements k = 0 and 1 of a block.
DEV double random_normal64(const words4& b, int k) {
    const double u1 = __dmul_rn((double)((pick64(b, 0) >> 11) + 1), 1.1102230246251565e-16);
    const double u2 = __dmul_rn((double)(pick64(b, 1) >> 11), 1.1102230246251565e-16);
    const double r = __dsqrt_rn(__dmul_rn(-2.0, normal_ln64(u1)));
    double c, s;
    normal_cos_sin64(u2, &c, &s);
    return __dmul_rn(r, k == 0 ? c : s);
}
