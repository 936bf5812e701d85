// complex64 and complex128.
template <class F> struct alignas(2 * sizeof(F)) complex { F re, im; };
typedef complex<float> complex64;
typedef complex<double> complex128;
template <> constexpr bool cplx<complex64> = true;
template <> constexpr bool cplx<complex128> = true;
template <class F> struct component_of<complex<F>> { typedef F type; };

// Smith's method, as in NumPy.
template <class F> DEV_FAR complex<F> quotient_of(complex<F> a, complex<F> b) {
    F re = fabs(b.re), im = fabs(b.im);
    if (re >= im) {
        if (re == 0 && im == 0) return {a.re / re, a.im / re};
        F ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
        return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    F ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
template <class F> DEV complex<F> unit_of(complex<F> a) {
    F r = hypot(a.re, a.im);
    if (r == 0) return {0, 0};
    if (isinf_(r)) {
        // With one infinite part the direction is defined, with two it is not.
        F nan = r - r;
        if (isinf_(a.re) && isinf_(a.im)) return {nan, nan};
        return isinf_(a.re) ? complex<F>{copysign((F)1, a.re), 0} : complex<F>{0, copysign((F)1, a.im)};
    }
    return {a.re / r, a.im / r};
}
