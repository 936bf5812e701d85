// Converts 16-bit floats: by hardware instructions, or, where there are none, in plain C++.
#ifdef __CUDA_ARCH__
DEV float half_bits_to_float(uint16 x) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
}
DEV uint16 float_to_half_bits(float x) {
    uint16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
DEV uint16 float_to_bf16_bits(float x) {
    uint16 h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#elif defined(CUPROUS_HIP)
DEV float half_bits_to_float(uint16 x) { return (float)__builtin_bit_cast(_Float16, x); }
DEV uint16 float_to_half_bits(float x) { return __builtin_bit_cast(uint16, (_Float16)x); }
DEV uint16 float_to_bf16_bits(float f) {
    const uint32 x = __float_as_uint(f);
    return (x & 0x7fffffff) > 0x7f800000 ? (uint16)0x7fff : (uint16)((x + 0x7fff + (x >> 16 & 1)) >> 16);
}
#else
DEV float half_bits_to_float(uint16 x) {
    uint32 sign = (uint32)(x & 0x8000) << 16, exponent = x >> 10 & 31, mantissa = x & 0x3ff;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000 | mantissa << 13);
    float magnitude = exponent == 0 ? (float)mantissa * 5.9604644775390625e-8f
                                    : __uint_as_float((exponent + 112) << 23 | mantissa << 13);
    return sign ? -magnitude : magnitude;
}
DEV uint16 float_to_half_bits(float f) {
    uint32 x = __float_as_uint(f), sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff;
    if (magnitude >= 0x477ff000) return (uint16)(sign | 0x7c00);
    if (magnitude < 0x38800000) return (uint16)(sign | (uint32)rint(__uint_as_float(magnitude) * 16777216.0f));
    uint32 up = magnitude + 0xfff + (magnitude >> 13 & 1);
    return (uint16)(sign | ((up - 0x38000000) >> 13));
}
DEV uint16 float_to_bf16_bits(float f) {
    uint32 x = __float_as_uint(f);
    if ((x & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (uint16)((x + 0x7fff + (x >> 16 & 1)) >> 16);
}
#endif
