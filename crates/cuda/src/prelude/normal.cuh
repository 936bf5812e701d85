// Normal deviates (Box and Muller 1958): the sequence of roundings of the CPU's math/normal.rs, operation for operation,
// so that both give the same bits. Every operation names its rounding: no flag can change it.
DEV float normal_ln32(float u) {
    const uint32 t = __float_as_uint(u) + (0x3f800000u - 0x3f3504f3u);
    const float m = __uint_as_float((t & 0x007fffffu) + 0x3f3504f3u);
    const float k = (float)((int32)(t >> 23) - 127);
    const float f = __fadd_rn(m, -1.0f);
    const float s = __fdiv_rn(f, __fadd_rn(2.0f, f));
    const float z = __fmul_rn(s, s);
    float r = 0.24279078841f;
    r = __fmaf_rn(r, z, 0.28498786688f);
    r = __fmaf_rn(r, z, 0.40000972152f);
    r = __fmaf_rn(r, z, 0.66666662693f);
    r = __fmul_rn(r, z);
    const float h = __fmul_rn(__fmul_rn(0.5f, f), f);
    const float low_part = __fmaf_rn(s, __fadd_rn(h, r), __fmul_rn(k, 9.0580006145e-06f));
    const float inner = __fadd_rn(f, -__fadd_rn(h, -low_part));
    return __fmaf_rn(k, 6.9313812256e-01f, inner);
}
// cos 2πu and sin 2πu for u in [0, 1).
DEV void normal_cos_sin32(float u, float* cosine, float* sine) {
    const int32 q = (int32)__fmaf_rn(u, 4.0f, 0.5f);
    const float r = __fmaf_rn((float)q, -0.25f, u);
    const float t = __fmul_rn(r, 6.2831855f);
    const float z = __fmul_rn(t, t);
    float p = 2.7183114e-6f;
    p = __fmaf_rn(p, z, -1.9839335e-4f);
    p = __fmaf_rn(p, z, 8.333329e-3f);
    p = __fmaf_rn(p, z, -0.16666667f);
    const float s = __fmaf_rn(__fmul_rn(p, z), t, t);
    p = 2.439045e-5f;
    p = __fmaf_rn(p, z, -1.3886764e-3f);
    p = __fmaf_rn(p, z, 4.1666623e-2f);
    const float h = __fmul_rn(0.5f, z);
    const float w = __fadd_rn(1.0f, -h);
    const float c = __fadd_rn(w, __fmaf_rn(p, __fmul_rn(z, z), __fadd_rn(__fadd_rn(1.0f, -w), -h)));
    const bool even = (q & 1) == 0;
    *cosine = __uint_as_float(__float_as_uint(even ? c : s) ^ (((uint32)(q + 1) & 2u) << 30));
    *sine = __uint_as_float(__float_as_uint(even ? s : c) ^ (((uint32)q & 2u) << 30));
}
// Elements k = 0..3 of a block: words 0, 1 give the first pair, words 2, 3 the second.
DEV float random_normal32(const words4& b, int k) {
    const float u1 = __fmul_rn((float)((pick32(b, k & 2) >> 8) + 1), 5.9604644775390625e-8f);
    const float u2 = __fmul_rn((float)(pick32(b, (k & 2) + 1) >> 8), 5.9604644775390625e-8f);
    const float r = __fsqrt_rn(__fmul_rn(-2.0f, normal_ln32(u1)));
    float c, s;
    normal_cos_sin32(u2, &c, &s);
    return __fmul_rn(r, (k & 1) == 0 ? c : s);
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
// Elements 0 and 1 of a block.
DEV double random_normal64(const words4& b, int k) {
    const double u1 = __dmul_rn((double)((pick64(b, 0) >> 11) + 1), 1.1102230246251565e-16);
    const double u2 = __dmul_rn((double)(pick64(b, 1) >> 11), 1.1102230246251565e-16);
    const double r = __dsqrt_rn(__dmul_rn(-2.0, normal_ln64(u1)));
    double c, s;
    normal_cos_sin64(u2, &c, &s);
    return __dmul_rn(r, k == 0 ? c : s);
}
