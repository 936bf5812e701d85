// Functions of complex numbers. Infinities and NaN follow annex G of C99.
template <class F> DEV F infinity_of() { return (F)__int_as_float(0x7f800000); }

template <class F> DEV_FAR complex<F> complex_exp(complex<F> z) {
    if (z.im == 0) return {exp(z.re), z.im};
    F s, c;
    sincos(z.im, &s, &c);
    if (isinf_(z.re)) {
        if (z.re < 0) return isfinite_(z.im) ? complex<F>{0 * c, 0 * s} : complex<F>{0, 0};
        if (!isfinite_(z.im)) return {z.re, z.im - z.im};
    }
    // Beyond the range of exp, exp(re / 2) is multiplied in twice.
    const F most = sizeof(F) == 4 ? (F)88 : (F)709;
    if (z.re > most && isfinite_(z.re)) {
        F half_way = exp(z.re / 2);
        return {half_way * c * half_way, half_way * s * half_way};
    }
    F r = exp(z.re);
    return {r * c, r * s};
}
template <class F> DEV_FAR complex<F> complex_log(complex<F> z) {
    F x = fabs(z.re), y = fabs(z.im), big = fmax(x, y), small = fmin(x, y);
    F magnitude;
    if (big > (F)0.5 && big < 2 && isfinite_(x) && isfinite_(y)) {
        // Near the unit circle: log1p of (|z|^2 - 1), whose first term is exact.
        magnitude = log1p(fma(small, small, (big - 1) * (big + 1))) / 2;
    } else magnitude = log(hypot(x, y));
    if (hypot(x, y) == 0) magnitude = -infinity_of<F>();
    return {magnitude, atan2(z.im, z.re)};
}
template <class F> DEV_FAR complex<F> complex_sqrt(complex<F> z) {
    if (z.re == 0 && z.im == 0) return {0, z.im};
    if (isinf_(z.im)) return {infinity_of<F>(), z.im};
    if (isnan_(z.re)) return {z.re, z.re};
    if (isinf_(z.re)) {
        if (z.re < 0) return {fabs(z.im - z.im), copysign(z.re, z.im)};
        return {z.re, copysign(z.im - z.im, z.im)};
    }
    // Scaled by a power of four, so that the square root does not overflow.
    F scale = 1, back = 1;
    const F big = sizeof(F) == 4 ? (F)1e37 : (F)1e307, tiny = sizeof(F) == 4 ? (F)1e-36 : (F)1e-290;
    if (fabs(z.re) > big || fabs(z.im) > big) scale = (F)0.0625, back = 4;
    else if (fabs(z.re) < tiny && fabs(z.im) < tiny) {
        scale = sizeof(F) == 4 ? (F)1.8014398509481984e16 : (F)3.2451855365842673e32;
        back = sizeof(F) == 4 ? (F)7.450580596923828e-9 : (F)5.551115123125783e-17;
    }
    F re = z.re * scale, im = z.im * scale;
    if (re >= 0) {
        F t = sqrt((re + hypot(re, im)) / 2);
        return {t * back, im / (2 * t) * back};
    }
    F t = sqrt((-re + hypot(re, im)) / 2);
    return {fabs(im) / (2 * t) * back, copysign(t, z.im) * back};
}
template <class F> DEV_FAR complex<F> power_of(complex<F> a, complex<F> b) {
    if (b.re == 0 && b.im == 0) return {1, 0};
    if (a.re == 0 && a.im == 0) {
        if (b.re > 0) return {0, 0};
        F nan = infinity_of<F>() - infinity_of<F>();
        return {nan, nan};
    }
    // Small integer exponents by repeated squaring, as in NumPy.
    if (b.im == 0 && b.re == floor(b.re) && fabs(b.re) < 100) {
        int n = (int)fabs(b.re);
        // Multiplying by 1 would turn infinite parts into NaN.
        if (b.re == 1) return a;
        if (b.re == 2) return mul(a, a);
        if (b.re == 3) return mul(a, mul(a, a));
        complex<F> y = {1, 0}, square = a;
        for (; n > 0; n >>= 1) {
            if (n & 1) y = mul(y, square);
            if (n > 1) square = mul(square, square);
        }
        return b.re < 0 ? quotient_of(complex<F>{1, 0}, y) : y;
    }
    return complex_exp(mul(b, complex_log(a)));
}
template <class F> DEV_FAR complex<F> complex_sinh(complex<F> z) {
    if (z.im == 0) return {sinh(z.re), z.im};
    F s, c;
    sincos(z.im, &s, &c);
    if (z.re == 0) return {copysign((F)0, z.re * fabs(c)), s};
    if (isinf_(z.re) && !isfinite_(z.im)) return {z.re, z.im - z.im};
    const F most = sizeof(F) == 4 ? (F)88 : (F)709;
    if (fabs(z.re) > most && isfinite_(z.re)) {
        F half_way = exp(fabs(z.re) / 2), r = half_way / 2 * half_way;
        return {copysign(r, z.re) * c, r * s};
    }
    return {sinh(z.re) * c, cosh(z.re) * s};
}
template <class F> DEV_FAR complex<F> complex_cosh(complex<F> z) {
    if (z.im == 0) return {cosh(z.re), copysign((F)1, z.re) * z.im};
    F s, c;
    sincos(z.im, &s, &c);
    if (z.re == 0) return {c, isfinite_(z.im) ? z.re * s : z.re};
    if (isinf_(z.re) && !isfinite_(z.im)) return {fabs(z.re), z.im - z.im};
    const F most = sizeof(F) == 4 ? (F)88 : (F)709;
    if (fabs(z.re) > most && isfinite_(z.re)) {
        F half_way = exp(fabs(z.re) / 2), r = half_way / 2 * half_way;
        return {r * c, copysign(r, z.re) * s};
    }
    return {cosh(z.re) * c, sinh(z.re) * s};
}
// Kahan's formula: tan from one exponential of twice the real part.
template <class F> DEV_FAR complex<F> complex_tanh(complex<F> z) {
    const F far = sizeof(F) == 4 ? (F)11 : (F)22;
    if (!isfinite_(z.re)) {
        if (isnan_(z.re)) return {z.re, z.im == 0 ? z.im : z.re};
        return {copysign((F)1, z.re), copysign((F)0, isfinite_(z.im) ? sin(2 * z.im) : z.im)};
    }
    if (!isfinite_(z.im)) return {z.re == 0 ? z.re : z.im - z.im, z.im - z.im};
    if (fabs(z.re) >= far) {
        F e = exp(-fabs(z.re));
        return {copysign((F)1, z.re), 4 * sin(z.im) * cos(z.im) * e * e};
    }
    F t = tan(z.im), beta = 1 + t * t, s = sinh(z.re), rho = sqrt(1 + s * s);
    if (isinf_(t)) return {rho / s, 1 / t};
    F denominator = 1 + beta * s * s;
    return {beta * rho * s / denominator, t / denominator};
}
// Inverse functions by the formulas of Hull, Fairgrieve and Tang for asin, as stable products.
template <class F> DEV_FAR void asin_parts(F x, F y, F* real_part, F* imaginary_part, F* cosine_part) {
    // x, y >= 0
    F r = hypot(x + 1, y), s = hypot(x - 1, y), a = (r + s) / 2, b = x / a;
    F xp = x + 1, xm = x - 1, apx = a + x;
    if (b <= (F)0.6417) {
        *real_part = asin(b);
        *cosine_part = acos(b);
    } else {
        F d;
        if (x <= 1) d = (F)0.5 * apx * (y == 0 ? 1 - x + (1 - x) : y * y / (r + xp) + (s - xm));
        else d = (F)0.5 * (y * y) * (apx / (r + xp) + apx / (s + xm));
        F root = sqrt(d);
        if (x <= 1 && y == 0) root = sqrt((1 - x) * (1 + x));
        *real_part = atan2(x, root);
        *cosine_part = atan2(root, x);
    }
    if (a <= (F)1.5) {
        F am1;
        if (x < 1) am1 = (F)0.5 * (y * y / (r + xp) + y * y / (s + (1 - x)));
        else am1 = (F)0.5 * (y * y / (r + xp) + (s + xm));
        *imaginary_part = log1p(am1 + sqrt(am1 * (a + 1)));
    } else *imaginary_part = log(a + sqrt(a * a - 1));
}
template <class F> DEV bool asin_far(complex<F> z) {
    const F far = sizeof(F) == 4 ? (F)1e15 : (F)1e120;
    return !(fabs(z.re) < far && fabs(z.im) < far);
}
template <class F> DEV F log_2abs(complex<F> z) {
    F big = fmax(fabs(z.re), fabs(z.im)), small = fmin(fabs(z.re), fabs(z.im));
    if (isinf_(big)) return big;
    F q = small / big;
    return log(big) + (F)0.6931471805599453094 + log1p(q * q) / 2;
}
template <class F> DEV_FAR complex<F> complex_asin(complex<F> z) {
    F re, im, c;
    if (isnan_(z.re) || isnan_(z.im)) {
        if (z.re == 0) return z;
        if (isinf_(z.re)) return {z.im, z.re};
        if (isinf_(z.im)) return {z.re, z.im};
        return {z.re + z.im, z.re + z.im};
    }
    if (asin_far(z)) {
        re = isinf_(z.re) || isinf_(z.im)
            ? (isinf_(z.re) ? (isinf_(z.im) ? (F)0.78539816339744830962 : (F)1.57079632679489661923) : (F)0)
            : atan2(fabs(z.re), fabs(z.im));
        im = log_2abs(z);
    } else asin_parts(fabs(z.re), fabs(z.im), &re, &im, &c);
    return {copysign(re, z.re), copysign(im, z.im)};
}
template <class F> DEV_FAR complex<F> complex_acos(complex<F> z) {
    F re, im, c;
    const F pi = (F)3.14159265358979323846;
    if (isnan_(z.re) || isnan_(z.im)) {
        if (isinf_(z.re)) return {z.im, -z.re};
        if (isinf_(z.im)) return {z.re, -z.im};
        if (z.re == 0) return {pi / 2, z.im};
        return {z.re + z.im, z.re + z.im};
    }
    if (asin_far(z)) {
        c = isinf_(z.re) && isinf_(z.im) ? pi / 4 : atan2(fabs(z.im), fabs(z.re));
        im = log_2abs(z);
    } else asin_parts(fabs(z.re), fabs(z.im), &re, &im, &c);
    return {signbit_(z.re) ? pi - c : c, copysign(im, -z.im)};
}
template <class F> DEV_FAR complex<F> complex_atanh(complex<F> z) {
    const F half_pi = (F)1.57079632679489661923, far = sizeof(F) == 4 ? (F)1e18 : (F)1e150;
    F x = fabs(z.re), y = fabs(z.im);
    if (isnan_(x) || isnan_(y)) {
        if (isinf_(x)) return {copysign((F)0, z.re), z.im};
        if (isinf_(y)) return {copysign((F)0, z.re), copysign(half_pi, z.im)};
        if (x == 0) return z;
        return {z.re + z.im, z.re + z.im};
    }
    if (x > far || y > far) {
        // Re = x / |z|^2, computed without squaring large numbers.
        F re = isinf_(x) || isinf_(y) ? (F)0 : x > y ? 1 / (x + y * (y / x)) : x / y / (y + x * (x / y));
        return {copysign(re, z.re), copysign(half_pi, z.im)};
    }
    F d = (1 - x) * (1 - x) + y * y;
    F re = d == 0 ? infinity_of<F>() : log1p(4 * x / d) / 4;
    F im = x == 1 && y == 0 ? (F)0 : atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2;
    return {copysign(re, z.re), copysign(im, z.im)};
}
// sin, tan, asinh and atan follow from sinh, tanh, asin and atanh by i f(-i z) and similar identities.
template <class F> DEV complex<F> times_i(complex<F> z) { return {-z.im, z.re}; }
template <class F> DEV complex<F> times_minus_i(complex<F> z) { return {z.im, -z.re}; }
template <class F> DEV complex<F> complex_sin(complex<F> z) { return times_minus_i(complex_sinh(times_i(z))); }
template <class F> DEV complex<F> complex_cos(complex<F> z) { return complex_cosh(times_i(z)); }
template <class F> DEV complex<F> complex_tan(complex<F> z) { return times_minus_i(complex_tanh(times_i(z))); }
template <class F> DEV complex<F> complex_asinh(complex<F> z) { return times_minus_i(complex_asin(times_i(z))); }
template <class F> DEV complex<F> complex_atan(complex<F> z) { return times_minus_i(complex_atanh(times_i(z))); }
template <class F> DEV complex<F> complex_acosh(complex<F> z) {
    complex<F> w = complex_acos(z);
    // Selects the half plane with a real part >= 0; the sign of zero decides on the axis.
    if (isnan_(w.re) || isnan_(w.im)) return {fabs(w.im), w.re};
    return {fabs(w.im), copysign(w.re, z.im)};
}
template <class F> DEV complex<F> complex_expm1(complex<F> z) {
    F s = sin(z.im / 2);
    return {expm1(z.re) * cos(z.im) - 2 * s * s, exp(z.re) * sin(z.im)};
}
template <class F> DEV complex<F> complex_log1p(complex<F> z) {
    if (fabs(z.re) < (F)0.5 && fabs(z.im) < (F)0.5)
        return {log1p(z.re * (2 + z.re) + z.im * z.im) / 2, atan2(z.im, z.re + 1)};
    return complex_log(complex<F>{z.re + 1, z.im});
}
template <class F> DEV complex<F> scaled(complex<F> z, double by) { return {(F)(z.re * (F)by), (F)(z.im * (F)by)}; }
