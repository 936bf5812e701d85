// Exponentials, logarithms, roots and trigonometry.
#define CUPROUS_MATH(name, real_expression, complex_expression)                       \
    template <class T> DEV T name(T a) {                                              \
        if constexpr (half_float<T>) return narrow<T>(name(widen(a)));                \
        else if constexpr (cplx<T>) return complex_expression;                        \
        else return real_expression;                                                  \
    }
CUPROUS_MATH(sqrt_, sqrt(a), complex_sqrt(a))
CUPROUS_MATH(exp_, exp(a), complex_exp(a))
CUPROUS_MATH(exp2_, exp2(a), complex_exp(scaled(a, 0.69314718055994530942)))
CUPROUS_MATH(expm1_, expm1(a), complex_expm1(a))
CUPROUS_MATH(log_, log(a), complex_log(a))
CUPROUS_MATH(log2_, log2(a), scaled(complex_log(a), 1.44269504088896340736))
CUPROUS_MATH(log10_, log10(a), scaled(complex_log(a), 0.43429448190325182765))
CUPROUS_MATH(log1p_, log1p(a), complex_log1p(a))
CUPROUS_MATH(sin_, sin(a), complex_sin(a))
CUPROUS_MATH(cos_, cos(a), complex_cos(a))
CUPROUS_MATH(tan_, tan(a), complex_tan(a))
CUPROUS_MATH(asin_, asin(a), complex_asin(a))
CUPROUS_MATH(acos_, acos(a), complex_acos(a))
CUPROUS_MATH(atan_, atan(a), complex_atan(a))
CUPROUS_MATH(sinh_, sinh(a), complex_sinh(a))
CUPROUS_MATH(cosh_, cosh(a), complex_cosh(a))
CUPROUS_MATH(tanh_, tanh(a), complex_tanh(a))
CUPROUS_MATH(asinh_, asinh(a), complex_asinh(a))
CUPROUS_MATH(acosh_, acosh(a), complex_acosh(a))
CUPROUS_MATH(atanh_, atanh(a), complex_atanh(a))
#undef CUPROUS_MATH

#define CUPROUS_REAL(name, expression)                                                \
    template <class T> DEV T name(T a) {                                              \
        if constexpr (half_float<T>) return narrow<T>(name(widen(a)));                \
        else return expression;                                                       \
    }
CUPROUS_REAL(cbrt_, cbrt(a))
CUPROUS_REAL(rsqrt_, 1 / sqrt(a))
CUPROUS_REAL(degrees, a * (T)57.295779513082320877)
CUPROUS_REAL(radians, a * (T)0.017453292519943295769)
// The fraction of infinity is zero.
CUPROUS_REAL(modf_fraction, isinf_(a) ? copysign((T)0, a) : copysign(a - trunc(a), a))
#undef CUPROUS_REAL

#define CUPROUS_REAL2(name, expression)                                               \
    template <class T> DEV T name(T a, T b) {                                         \
        if constexpr (half_float<T>) return narrow<T>(name(widen(a), widen(b)));      \
        else return expression;                                                       \
    }
// CUDA's hypot rounds up to infinity next to the largest number.
template <class T> DEV T hypot_wide(T a, T b) {
    const T most = fmax(fabs(a), fabs(b)), least = fmin(fabs(a), fabs(b));
    return least < most * (T)(sizeof(T) == 8 ? 1e-9 : 1e-5) ? most : hypot(a, b);  // also of 0 and NaN
}
CUPROUS_REAL2(hypot_, hypot_wide(a, b))
CUPROUS_REAL2(atan2_, atan2(a, b))
// Equal operands may both be infinite; the difference of unequal ones is NaN only if one is NaN.
CUPROUS_REAL2(logaddexp, a == b ? a + (T)0.69314718055994530942 : a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b)))
CUPROUS_REAL2(logaddexp2,
    a == b ? a + 1 : a > b ? a + (T)1.44269504088896340736 * log1p(exp2(b - a)) : b + (T)1.44269504088896340736 * log1p(exp2(a - b)))
#undef CUPROUS_REAL2
// In double precision, because float32's logarithm is too coarse for exponents that are large.
template <class T> DEV_FAR T powm1(T a, T b) {
    const double x = cast<double>(a), y = cast<double>(b);
    // As in SciPy, and unlike `power`, NaN also for -inf ** 0.5 and -2 ** inf.
    const double p = x < 0 && y - trunc(y) != 0 ? __longlong_as_double(0x7ff8000000000000ll) : power(x, y);
    const double exponent = y * log(fabs(x));
    return cast<T>(p > 0 && fabs(exponent) < 0.5 ? expm1(exponent) : p - 1);
}

template <class T> DEV T nextafter_(T a, T b) {
    if constexpr (half_float<T>) return nextafter_low(a, b);
    else return nextafter(a, b);
}
// Distance to the next float away from zero, with the sign of `a`; for either zero the smallest positive float.
template <class T> DEV T spacing(T a) {
    if constexpr (half_float<T>) {
        return isfinite_(a) ? narrow<T>(widen(spacing_neighbor(a)) - widen(a))
            : isnan_(a) ? a : narrow<T>(widen(a) - widen(a));
    } else {
        return !isfinite_(a) ? a - a : nextafter(a, a == 0 ? (T)1 : copysign((T)__int_as_float(0x7f800000), a)) - a;
    }
}
template <class T> DEV T ldexp_(T a, int64 e) {
    int n = (int)(e > 5000 ? 5000 : e < -5000 ? -5000 : e);
    if constexpr (half_float<T>) return narrow<T>(ldexp(widen(a), n));
    else return ldexp(a, n);
}
template <class T> DEV T frexp_mantissa(T a) {
    int e;
    if constexpr (half_float<T>) return narrow<T>(frexp(widen(a), &e));
    else return frexp(a, &e);
}
template <class T> DEV int32 frexp_exponent(T a) {
    int e = 0;
    if (!isfinite_(a)) return 0;
    if constexpr (half_float<T>) frexp(widen(a), &e);
    else frexp(a, &e);
    return e;
}
