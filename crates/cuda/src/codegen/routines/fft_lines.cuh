// Fourier transforms of N points (a power of two) that lie `below` elements apart: [above, N, below]; may run in place.
// A block has all points of COLUMNS neighboring lines. A thread has SLOTS points of one line, N / SLOTS apart. Each
// pass (Stockham's) combines R of them and exchanges the results through shared memory; the last pass leaves them in
// order.
template <class C> DEV C plus(C a, C b) { return {a.re + b.re, a.im + b.im}; }
template <class C> DEV C minus(C a, C b) { return {a.re - b.re, a.im - b.im}; }
template <class C> DEV C times_minus_i(C a) { return {a.im, -a.re}; }  // times -i
template <class C> DEV C rotated(C a, C w) {
    return {fma(a.re, w.re, -(a.im * w.im)), fma(a.re, w.im, a.im * w.re)};
}
DEV void unit_root(float revolutions, complex64& w) { sincospif(-2 * revolutions, &w.im, &w.re); }
DEV void unit_root(double revolutions, complex128& w) { sincospi(-2 * revolutions, &w.im, &w.re); }

template <class C> DEV void fft_of_2(C& a, C& b) {
    const C d = minus(a, b);
    a = plus(a, b);
    b = d;
}
template <class C> DEV void fft_of_4(C& a, C& b, C& c, C& d) {
    const C s = plus(a, c), t = minus(a, c), u = plus(b, d), v = times_minus_i(minus(b, d));
    a = plus(s, u);
    b = plus(t, v);
    c = minus(s, u);
    d = minus(t, v);
}
// Transforms v[first + q * step]. Value r of the result is v[first + output_slot<R>(r) * step].
template <int R> constexpr int output_slot(int r) {
    return R == 8 ? r % 4 * 2 + r / 4 : R == 16 ? r % 4 * 4 + r / 4 : r;
}
template <int R, int STEP, class C> DEV void fft_of(C* v) {
    typedef component<C> F;
    const F half = (F)0.70710678118654752440;
    if constexpr (R == 2) fft_of_2(v[0], v[STEP]);
    else if constexpr (R == 4) fft_of_4(v[0], v[STEP], v[2 * STEP], v[3 * STEP]);
    else if constexpr (R == 8) {
#pragma unroll
        for (int i = 0; i < 2; i++) fft_of_4(v[i * STEP], v[(i + 2) * STEP], v[(i + 4) * STEP], v[(i + 6) * STEP]);
        C &b = v[3 * STEP], &c = v[5 * STEP], &d = v[7 * STEP];
        b = C{(b.re + b.im) * half, (b.im - b.re) * half};
        c = times_minus_i(c);
        d = C{(d.im - d.re) * half, -(d.re + d.im) * half};
#pragma unroll
        for (int k = 0; k < 4; k++) fft_of_2(v[2 * k * STEP], v[(2 * k + 1) * STEP]);
    } else {
        const F wide = (F)0.92387953251128675613, low = (F)0.38268343236508977173;
#pragma unroll
        for (int i = 0; i < 4; i++) fft_of_4(v[i * STEP], v[(i + 4) * STEP], v[(i + 8) * STEP], v[(i + 12) * STEP]);
        v[5 * STEP] = rotated(v[5 * STEP], C{wide, -low});
        v[6 * STEP] = rotated(v[6 * STEP], C{half, -half});
        v[7 * STEP] = rotated(v[7 * STEP], C{low, -wide});
        v[9 * STEP] = rotated(v[9 * STEP], C{half, -half});
        v[10 * STEP] = times_minus_i(v[10 * STEP]);
        v[11 * STEP] = rotated(v[11 * STEP], C{-half, -half});
        v[13 * STEP] = rotated(v[13 * STEP], C{low, -wide});
        v[14 * STEP] = rotated(v[14 * STEP], C{-half, -half});
        v[15 * STEP] = rotated(v[15 * STEP], C{-wide, low});
#pragma unroll
        for (int k = 0; k < 4; k++)
            fft_of_4(v[4 * k * STEP], v[(4 * k + 1) * STEP], v[(4 * k + 2) * STEP], v[(4 * k + 3) * STEP]);
    }
}
// Multiplies the values v[q * STEP] by the powers of w.
template <int R, int STEP, class C> DEV void twiddle(C* v, C w) {
    C power[R];
    power[1] = w;
#pragma unroll
    for (int q = 2; q < R; q++) power[q] = rotated(power[q / 2], power[q - q / 2]);
#pragma unroll
    for (int q = 1; q < R; q++) v[q * STEP] = rotated(v[q * STEP], power[q]);
}
// A pass over groups of R, after passes that did transforms of BEFORE points; `line` is the thread's column of the
// exchange.
template <int N, int SLOTS, int COLUMNS, int R, int BEFORE, class C> DEV void fft_pass(C* v, C* line, int j) {
    constexpr int STEP = SLOTS / R, STRIDE = N / SLOTS;
#pragma unroll
    for (int b = 0; b < STEP; b++) {
        const int at = j + b * STRIDE;
        if constexpr (BEFORE > 1) {
            C w;
            unit_root((component<C>)(at % BEFORE) / (BEFORE * R), w);
            twiddle<R, STEP>(v + b, w);
        }
        fft_of<R, STEP>(v + b);
    }
    if constexpr (BEFORE * R == N) {
        // Value r of a group belongs where its operand r was.
        C w[SLOTS];
#pragma unroll
        for (int b = 0; b < STEP; b++)
#pragma unroll
            for (int r = 0; r < R; r++) w[b + r * STEP] = v[b + output_slot<R>(r) * STEP];
#pragma unroll
        for (int q = 0; q < SLOTS; q++) v[q] = w[q];
        return;
    }
    if constexpr (BEFORE > 1) __syncthreads();
#pragma unroll
    for (int b = 0; b < STEP; b++) {
        const int at = j + b * STRIDE, to = at / BEFORE * BEFORE * R + at % BEFORE;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int position = to + r * BEFORE;
            line[(position + position / 16) * COLUMNS] = v[b + output_slot<R>(r) * STEP];
        }
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < SLOTS; q++) {
        const int position = j + q * STRIDE;
        v[q] = line[(position + position / 16) * COLUMNS];
    }
}
template <int N, int SLOTS, int COLUMNS, int BEFORE, class C> DEV void fft_passes(C* v, C* line, int j) {
    if constexpr (BEFORE < N) {
        constexpr int R = N / BEFORE < SLOTS ? N / BEFORE : SLOTS;
        fft_pass<N, SLOTS, COLUMNS, R, BEFORE>(v, line, j);
        fft_passes<N, SLOTS, COLUMNS, BEFORE * R>(v, line, j);
    }
}
// INVERSE swaps real and imaginary parts before and after. The block has N / SLOTS * COLUMNS threads.
template <class C, int N, int SLOTS, int COLUMNS, bool INVERSE>
DEV void fft_lines(const C* x, C* y, int64 below, int64 tiles, int64 factor) {
    extern __shared__ vec<uint32, 4> exchange[];
    const component<C> by = (component<C>)__longlong_as_double(factor);
    const int c = threadIdx.x % COLUMNS, j = threadIdx.x / COLUMNS;
    const int64 above = blockIdx.x / tiles, column = blockIdx.x % tiles * COLUMNS + c;
    const int64 start = (above * N + j) * below + column, step = N / SLOTS * below;
    const bool inside = column < below;
    C v[SLOTS];
#pragma unroll
    for (int q = 0; q < SLOTS; q++) {
        C e = {0, 0};
        if (inside) e = x[start + q * step];
        v[q] = INVERSE ? C{e.im, e.re} : e;
    }
    fft_passes<N, SLOTS, COLUMNS, 1>(v, (C*)exchange + c, j);
#pragma unroll
    for (int q = 0; q < SLOTS; q++) {
        const C e = INVERSE ? C{v[q].im, v[q].re} : v[q];
        if (inside) y[start + q * step] = C{e.re * by, e.im * by};
    }
}
