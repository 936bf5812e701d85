// Converts 16-bit floats by hardware instructions.
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
