// Deviates by rejection, as in the CPU's math/reject.rs. Each element has a random stream of its own, so it may draw
// any number of times. Logarithms and powers come from the device's library, so a decision within their rounding error
// may differ from the CPU's.
struct draws {
    uint64 index, seed;
    uint32 draw;
};
DEV words4 next_words(draws& d) { return philox(d.index, d.draw++, 0x47414d41u, d.seed); }
// A uniform deviate in (0, 1).
DEV double open_unit(uint64 bits) { return ((double)(bits >> 12) + 0.5) * 2.220446049250313e-16; }

DEV_FAR double random_gamma(int64 index, uint64 seed, double shape) {
    if (!(shape > 0) || !(shape - shape == 0)) return shape == 0 ? 0.0 : __longlong_as_double(0x7ff8000000000000ll);
    draws d = {(uint64)index, seed, 0};
    double boost = 1;
    if (shape < 1) boost = pow(open_unit(pick64(next_words(d), 0)), 1 / shape);
    const double e = (shape < 1 ? shape + 1 : shape) - 1.0 / 3.0, c = 1 / sqrt(9 * e);
    for (;;) {
        const double n = random_normal64(next_words(d), 0);
        const double u = open_unit(pick64(next_words(d), 0));
        double v = 1 + c * n;
        if (v <= 0) continue;
        v = v * v * v;
        if (u < 1 - 0.0331 * (n * n) * (n * n) || log(u) < 0.5 * n * n + e * (1 - v + log(v))) return e * v * boost;
    }
}
DEV_FAR int64 random_poisson(int64 index, uint64 seed, double lam) {
    if (!(lam > 0) || lam > 9.2e18) return 0;
    draws d = {(uint64)index, seed, 0};
    if (lam < 10) {
        const double limit = exp(-lam);
        double product = 1;
        for (int64 k = 0;;) {
            const words4 w = next_words(d);
            for (int pair = 0; pair < 2; pair++) {
                product *= open_unit(pick64(w, pair));
                if (product <= limit) return k;
                k++;
            }
        }
    }
    const double root = sqrt(lam), log_lam = log(lam), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    const double inv_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const words4 w = next_words(d);
        const double u = open_unit(pick64(w, 0)) - 0.5, v = open_unit(pick64(w, 1)), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + lam + 0.43);
        if (us >= 0.07 && v <= vr) return (int64)k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inv_alpha) - log(a / (us * us) + b) <= -lam + k * log_lam - lgamma(k + 1)) return (int64)k;
    }
}
// `parameter` is (n, p) as a complex number.
template <class C> DEV_FAR int64 random_binomial(int64 index, uint64 seed, C parameter) {
    const double n = parameter.re;
    double p = parameter.im;
    if (!(n >= 1) || !(p > 0) || n > 9.2e18) return 0;
    if (p >= 1) return (int64)n;
    const bool mirrored = p > 0.5;
    if (mirrored) p = 1 - p;
    draws d = {(uint64)index, seed, 0};
    const double q = 1 - p;
    if (n * p < 10) {
        const double log_q = log1p(-p);
        double sum = 0;
        for (int64 k = 0;;) {
            const words4 w = next_words(d);
            for (int pair = 0; pair < 2; pair++) {
                sum += floor(log(open_unit(pick64(w, pair))) / log_q) + 1;
                if (sum > n) return mirrored ? (int64)n - k : k;
                k++;
            }
        }
    }
    const double spq = sqrt(n * p * q), b = 1.15 + 2.53 * spq, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
    const double vr = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spq, lpq = log(p / q), m = floor((n + 1) * p);
    const double h = lgamma(m + 1) + lgamma(n - m + 1);
    for (;;) {
        const words4 w = next_words(d);
        const double u = open_unit(pick64(w, 0)) - 0.5, us = 0.5 - fabs(u);
        double v = open_unit(pick64(w, 1));
        const double k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > n) continue;
        bool accept = us >= 0.07 && v <= vr;
        if (!accept) {
            v = log(v * alpha / (a / (us * us) + b));
            accept = v <= h - lgamma(k + 1) - lgamma(n - k + 1) + (k - m) * lpq;
        }
        if (accept) return mirrored ? (int64)n - (int64)k : (int64)k;
    }
}
