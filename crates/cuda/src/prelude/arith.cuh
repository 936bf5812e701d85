// Arithmetic, comparison and bit operations, named as in the operation table and following NumPy's rules.
template <class T> DEV T add(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(widen(a) + widen(b));
    else if constexpr (cplx<T>) return T{a.re + b.re, a.im + b.im};
    else if constexpr (integral<T>) return (T)((wrapped<T>)a + (wrapped<T>)b);
    else return a + b;
}
template <class T> DEV T sub(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(widen(a) - widen(b));
    else if constexpr (cplx<T>) return T{a.re - b.re, a.im - b.im};
    else if constexpr (integral<T>) return (T)((wrapped<T>)a - (wrapped<T>)b);
    else return a - b;
}
template <class T> DEV T mul(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(widen(a) * widen(b));
    else if constexpr (cplx<T>) return T{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    else if constexpr (integral<T>) return (T)((wrapped<T>)a * (wrapped<T>)b);
    else return a * b;
}
template <class T> DEV T neg(T a) {
    if constexpr (half_float<T>) return T{(uint16)(a.bits ^ 0x8000)};
    else if constexpr (cplx<T>) return T{-a.re, -a.im};
    else if constexpr (integral<T>) return (T)(0 - (wrapped<T>)a);
    else return -a;
}
// 64-bit division branches, because small numbers take a short cut, and NVVM duplicates the code after a branch into
// both paths: a kernel with six remainders in a row took 75 s to compile. Volatile assembly is never duplicated.
template <class T> DEV T opaque(T a) {
    if constexpr (sizeof(T) == 8) asm volatile("" : IN_REGISTER(a));
    return a;
}
// Integer division: a divisor of 0 gives 0, and MIN / -1 does not trap.
template <class T> DEV T divisor_without_trap(T b) {
    if constexpr (is_signed<T>) return (b == 0) | (b == (T)-1) ? (T)1 : b;
    else return b == 0 ? (T)1 : b;
}
template <class T> DEV T quotient_toward_zero(T a, T b) {
    const T q = opaque((T)(a / divisor_without_trap(b)));
    if constexpr (is_signed<T>) return b == 0 ? (T)0 : b == (T)-1 ? neg(a) : q;
    else return b == 0 ? (T)0 : q;
}
template <class T> DEV T fmod_(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(fmod_(widen(a), widen(b)));
    else if constexpr (integral<T>) return opaque((T)(a % divisor_without_trap(b)));
    else return fmod(a, b);
}
template <class T> DEV T div(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(widen(a) / widen(b));
    else if constexpr (cplx<T>) return quotient_of(a, b);
    else if constexpr (integral<T>) return quotient_toward_zero(a, b);
    else return a / b;
}
template <class T> DEV T remainder_(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(remainder_(widen(a), widen(b)));
    else if constexpr (integral<T>) {
        const T r = fmod_(a, b);
        if constexpr (is_signed<T>) return (r != 0) & ((r < 0) != (b < 0)) ? (T)(r + b) : r;
        else return r;
    } else {
        T r = fmod(a, b);
        if (b == 0) return r;
        if (r == 0) return copysign((T)0, b);
        return (b < 0) != (r < 0) ? r + b : r;
    }
}
template <class T> DEV T floor_divide(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(floor_divide(widen(a), widen(b)));
    else if constexpr (integral<T>) {
        const T q = quotient_toward_zero(a, b);
        if constexpr (is_signed<T>) return (b != 0) & (fmod_(a, b) != 0) & ((a < 0) != (b < 0)) ? (T)(q - 1) : q;
        else return q;
    } else {
        if (b == 0) return a / b;
        T r = fmod(a, b), q = (a - r) / b;
        if (r != 0 && (b < 0) != (r < 0)) q -= 1;
        if (q == 0) return copysign((T)0, a / b);
        T rounded = floor(q);
        return q - rounded > (T)0.5 ? rounded + 1 : rounded;
    }
}
// CUDA's pow is off by one bit for 3 to the power of 1. Powers of integers are exact here, as in C libraries.
DEV_FAR double power_of_doubles(double a, double b) {
    if (b == 1) return a;
    if (b == 2) return a * a;
    const double p = pow(a, b);
    const bool is_integer = a == rint(a) && b == rint(b) && b >= 0 && fabs(p) < 4503599627370496.0;
    return is_integer ? rint(p) : p;
}
template <class T> DEV_FAR T power(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(pow(widen(a), widen(b)));
    else if constexpr (cplx<T>) return power_of(a, b);
    else if constexpr (integral<T>) {
        if constexpr (is_signed<T>) if (b < 0) return a == 1 ? (T)1 : a == (T)-1 ? ((b & 1) ? a : (T)1) : (T)0;
        T y = 1;
        for (; b > 0; b >>= 1, a = mul(a, a)) if (b & 1) y = mul(y, a);
        return y;
    } else if constexpr (sizeof(T) == 8) return power_of_doubles(a, b);
    else return pow(a, b);
}
template <class T> DEV T reciprocal(T a) {
    if constexpr (half_float<T>) return narrow<T>(1.0f / widen(a));
    else if constexpr (cplx<T>) return quotient_of(T{1, 0}, a);
    else if constexpr (integral<T>) return quotient_toward_zero((T)1, a);
    else return 1 / a;
}

// --- comparison: complex numbers compare lexicographically; with a NaN in any part they are unordered
template <class T> DEV bool isnan_(T a) {
    if constexpr (half_float<T>) return isnan_(widen(a));
    else if constexpr (cplx<T>) return a.re != a.re || a.im != a.im;
    else if constexpr (floating<T>) return a != a;
    else return false;
}
template <class T> DEV bool isfinite_(T a) {
    if constexpr (half_float<T>) return isfinite_(widen(a));
    else if constexpr (cplx<T>) return isfinite_(a.re) && isfinite_(a.im);
    else if constexpr (floating<T>) return a - a == 0;
    else return true;
}
template <class T> DEV bool isinf_(T a) {
    if constexpr (half_float<T>) return isinf_(widen(a));
    else if constexpr (cplx<T>) return isinf_(a.re) || isinf_(a.im);
    else if constexpr (floating<T>) return a == a && a - a != 0;
    else return false;
}
template <class T> DEV bool equal(T a, T b) {
    if constexpr (half_float<T>) return widen(a) == widen(b);
    else if constexpr (cplx<T>) return a.re == b.re && a.im == b.im;
    else return a == b;
}
template <class T> DEV bool not_equal(T a, T b) { return !equal(a, b); }
template <class T> DEV bool less(T a, T b) {
    if constexpr (half_float<T>) return widen(a) < widen(b);
    else if constexpr (cplx<T>) return (a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im < b.im);
    else return a < b;
}
template <class T> DEV bool less_equal(T a, T b) {
    if constexpr (half_float<T>) return widen(a) <= widen(b);
    else if constexpr (cplx<T>) return (a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im <= b.im);
    else return a <= b;
}
// Returns -1, 0 or 1 by the order of the exact values.
DEV int8 compare_integers(int64 a, uint64 b) {
    return a < 0 ? (int8)-1 : (int8)((int)((uint64)a > b) - (int)((uint64)a < b));
}
DEV int8 compare_integers(uint64 a, int64 b) { return (int8)-compare_integers(b, a); }
// NaN propagates; of two NaN the first is returned.
template <class T> DEV T maximum(T a, T b) { return less_equal(b, a) || isnan_(a) ? a : b; }
template <class T> DEV T minimum(T a, T b) { return less_equal(a, b) || isnan_(a) ? a : b; }
// NaN is ignored in favor of a number.
template <class T> DEV T fmax_(T a, T b) { return less_equal(b, a) || isnan_(b) ? a : b; }
template <class T> DEV T fmin_(T a, T b) { return less_equal(a, b) || isnan_(b) ? a : b; }

// --- sign
template <class T> DEV T copysign_(T a, T b) {
    if constexpr (half_float<T>) return T{(uint16)((a.bits & 0x7fff) | (b.bits & 0x8000))};
    else return copysign(a, b);
}
template <class T> DEV bool signbit_(T a) {
    if constexpr (half_float<T>) return (a.bits & 0x8000) != 0;
    else if constexpr (same<T, float>) return __float_as_int(a) < 0;
    else return __double_as_longlong(a) < 0;
}
template <class T> DEV component<T> absolute(T a) {
    if constexpr (half_float<T>) return T{(uint16)(a.bits & 0x7fff)};
    else if constexpr (cplx<T>) return hypot(a.re, a.im);
    else if constexpr (floating<T>) return fabs(a);
    else if constexpr (is_signed<T>) return a < 0 ? neg(a) : a;
    else return a;
}
template <class T> DEV T sign(T a) {
    if constexpr (half_float<T>) return narrow<T>(sign(widen(a)));
    else if constexpr (cplx<T>) return unit_of(a);
    else if constexpr (floating<T>) return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a;
    else if constexpr (is_signed<T>) return (T)((a > 0) - (a < 0));
    else return (T)(a > 0);
}
template <class T> DEV T conj_(T a) {
    if constexpr (cplx<T>) return T{a.re, -a.im};
    else return a;
}
template <class T> DEV T heaviside(T a, T b) {
    if constexpr (half_float<T>) return narrow<T>(heaviside(widen(a), widen(b)));
    else return a != a ? a : a == 0 ? b : a < 0 ? (T)0 : (T)1;
}

// --- rounding
#define CUPROUS_ROUND(name, function)                                                 \
    template <class T> DEV T name(T a) {                                              \
        if constexpr (half_float<T>) return narrow<T>(function(widen(a)));            \
        else if constexpr (cplx<T>) return T{function(a.re), function(a.im)};         \
        else if constexpr (floating<T>) return function(a);                           \
        else return a;                                                                \
    }
CUPROUS_ROUND(rint_, rint)
CUPROUS_ROUND(floor_, floor)
CUPROUS_ROUND(ceil_, ceil)
CUPROUS_ROUND(trunc_, trunc)
#undef CUPROUS_ROUND

// --- integers and bits: a shift by the width or more, or by a negative number, shifts every bit out
template <class T> DEV T bit_and(T a, T b) { return (T)(a & b); }
template <class T> DEV T bit_or(T a, T b) { return (T)(a | b); }
template <class T> DEV T bit_xor(T a, T b) { return (T)(a ^ b); }
template <class T> DEV T bit_not(T a) {
    if constexpr (same<T, bool>) return !a;
    else return (T)~a;
}
template <class T> DEV T left_shift(T a, T b) {
    return (wrapped<T>)b < 8 * sizeof(T) ? (T)((wrapped<T>)a << b) : (T)0;
}
template <class T> DEV T right_shift(T a, T b) {
    if ((wrapped<T>)b < 8 * sizeof(T)) return (T)(a >> b);
    return a < 0 ? (T)-1 : (T)0;
}
template <class T> DEV uint8 bitwise_count(T a) {
    T m = absolute(a);
    if constexpr (sizeof(T) == 8) return (uint8)__popcll((uint64)m);
    else if constexpr (sizeof(T) == 4) return (uint8)__popc((uint32)m);
    else return (uint8)__popc((uint32)m & ((1u << 8 * sizeof(T)) - 1));
}
// The absolute value, also of the least integer.
template <class T> DEV wrapped<T> magnitude(T a) {
    wrapped<T> x = (wrapped<T>)absolute(a);
    if constexpr (sizeof(T) < 4) x &= (1u << 8 * sizeof(T)) - 1;
    return x;
}
template <class T> DEV_FAR T gcd(T a, T b) {
    wrapped<T> x = magnitude(a), y = magnitude(b);
    while (y != 0) {
        wrapped<T> r = x % y;
        x = y;
        y = r;
    }
    return (T)x;
}
template <class T> DEV_FAR T lcm(T a, T b) {
    wrapped<T> g = magnitude(gcd(a, b));
    return g == 0 ? (T)0 : (T)(magnitude(a) / g * magnitude(b));
}
