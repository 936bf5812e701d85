// Special functions.
#define CUPROUS_REAL(name, expression)                                                \
    template <class T> DEV T name(T a) {                                              \
        if constexpr (half_float<T>) return narrow<T>(name(widen(a)));                \
        else return expression;                                                       \
    }
CUPROUS_REAL(erf_, erf(a))
CUPROUS_REAL(erfc_, erfc(a))
CUPROUS_REAL(erfinv_, erfinv(a))
CUPROUS_REAL(ndtr, normcdf(a))
CUPROUS_REAL(bessel_i0, cyl_bessel_i0(a)) // not `i0`, which generated code uses for the first index
// e^-|a| cannot overflow.
CUPROUS_REAL(expit, a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a)))
// As in SciPy: NaN at the negative integers.
CUPROUS_REAL(gamma_, a < 0 && a == floor(a) ? a - a == 0 ? (T)__int_as_float(0x7fffffff) : a - a : tgamma(a))
CUPROUS_REAL(gammaln_, isinf_(a) && a < 0 ? a : lgamma(a))

// Recurrence up to 10, then the asymptotic series; reflection below zero.
template <class F> DEV_FAR F digamma_real(F x) {
    const F pi = (F)3.14159265358979323846, nan = (F)__int_as_float(0x7fffffff);
    if (x == 0) return copysign((F)__int_as_float(0x7f800000), -x);
    F sum = 0;
    if (x < 0) {
        if (x == floor(x)) return nan;
        F s, c;
        sincospi(x - rint(x), &s, &c);  // exact, also near zero
        sum = -pi * c / s;
        x = 1 - x;
    }
    if (x == 1) return sum - (F)0.57721566490153286061;
    if (!(x - x == 0)) return x;
    while (x < 10) {
        sum -= 1 / x;
        x += 1;
    }
    F z = 1 / (x * x);
    F series = z * ((F)(1.0 / 12) - z * ((F)(1.0 / 120) - z * ((F)(1.0 / 252) - z * ((F)(1.0 / 240)
        - z * ((F)(1.0 / 132) - z * ((F)(691.0 / 32760) - z * (F)(1.0 / 12)))))));
    return sum + (log(x) - (F)0.5 / x - series);
}
// Computed in double, because the sum cancels near the root at 1.46.
CUPROUS_REAL(digamma_, (T)digamma_real((double)a))

DEV double sinc_real(double x) {
    double t = 3.14159265358979323846 * x;
    return t == 0 ? 1 : sin(t) / t;
}
// Computed in double, because pi times a large float is not accurate enough as an angle.
CUPROUS_REAL(sinc, (T)sinc_real((double)a))
#undef CUPROUS_REAL
