// float16 and bfloat16: stored in 16 bits, computed in float.
#ifdef CUPROUS_HIP
// HIP's headers have a type of this name.
#define half cuprous_half
#endif
struct half { uint16 bits; };
struct bf16 { uint16 bits; };
template <> constexpr bool half_float<half> = true;
template <> constexpr bool half_float<bf16> = true;

DEV float widen(half x) { return half_bits_to_float(x.bits); }
DEV float widen(bf16 x) { return __uint_as_float((uint32)x.bits << 16); }

// Rounds a double to odd: the float's last bit is set if any bit was cut off, so that the next rounding is correct.
DEV float to_odd_float(double x) {
    float f = __double2float_rz(x);
    bool cut = (double)f != x && x - x == 0;
    return cut ? __uint_as_float(__float_as_uint(f) | 1) : f;
}
template <> struct narrow_to<half> {
    static DEV half from(float x) { return half{float_to_half_bits(x)}; }
    static DEV half from(double x) { return from(to_odd_float(x)); }
    template <class I> static DEV half from(I x) { return from((double)x); }
};
template <> struct narrow_to<bf16> {
    static DEV bf16 from(float x) { return bf16{float_to_bf16_bits(x)}; }
    static DEV bf16 from(double x) { return from(to_odd_float(x)); }
    template <class I> static DEV bf16 from(I x) { return from((double)x); }
};
template <class T> DEV T narrow(float x) { return narrow_to<T>::from(x); }

// The next 16-bit float after `a` towards `b`; `inf` is the bit pattern of infinity.
DEV uint16 next_bits(uint16 a, uint16 b, uint16 inf) {
    uint16 x = a & 0x7fff, y = b & 0x7fff;
    if (x > inf) return a;
    if (y > inf) return b;
    if (a == b || (x | y) == 0) return b;
    if (x == 0) return (b & 0x8000) | 1;
    // The magnitude grows if b is farther from zero on the same side.
    bool grow = (a & 0x8000) == (b & 0x8000) && y > x;
    return grow ? a + 1 : a - 1;
}
// The neighbor to which NumPy's spacing measures. For float16 it is the next larger value; for bfloat16 of ml_dtypes it
// is the next value away from zero.
DEV half spacing_neighbor(half a) { return half{next_bits(a.bits, 0x7c00, 0x7c00)}; }
DEV bf16 spacing_neighbor(bf16 a) { return bf16{(uint16)(a.bits + 1)}; }
DEV half nextafter_low(half a, half b) { return half{next_bits(a.bits, b.bits, 0x7c00)}; }
DEV bf16 nextafter_low(bf16 a, bf16 b) { return bf16{next_bits(a.bits, b.bits, 0x7f80)}; }
