// Kernels around a library's Fourier transforms.

// Multiplies real numbers in place. A thread has U vectors, a block's width apart.
template <class R, int V, int U> DEV void fft_scale(R* y, int64 total, int64 factor) {
    const R by = (R)__longlong_as_double(factor);
    const int64 first = ((int64)blockIdx.x * (blockDim.x * U) + threadIdx.x) * V;
    vec<R, V> e[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        int64 i = first + u * (int64)blockDim.x * V;
        if (i < total) e[u] = load_partial<V>(y + i, total - i);
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
        int64 i = first + u * (int64)blockDim.x * V;
#pragma unroll
        for (int l = 0; l < V; l++) e[u].v[l] *= by;
        if (i < total) store_partial<V>(y + i, e[u], total - i);
    }
}

// Copies half a spectrum [above, n0, n1, m, below], times a factor. Along the last axis the first value and the one at
// `highest` are their own mirror images; of these only the part is kept that the spectrum of real points can have.
template <class C, class I, int U>
DEV void fft_half(const C* x, C* y, int64 total, int64 n0, int64 n1, int64 m, int64 below, int64 highest,
                  int64 factor) {
    const component<C> by = (component<C>)__longlong_as_double(factor);
    const int64 first = (int64)blockIdx.x * (blockDim.x * U) + threadIdx.x;
    C e[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        int64 i = first + u * (int64)blockDim.x;
        if (i < total) e[u] = x[i];
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
        int64 i = first + u * (int64)blockDim.x;
        if (i >= total) continue;
        I line = (I)i / (I)below, rest = line / (I)m, k = line - rest * (I)m;
        if (k == 0 || k == (I)highest) {
            I rows = rest / (I)n1, j1 = rest - rows * (I)n1, above = rows / (I)n0, j0 = rows - above * (I)n0;
            I row = (above * (I)n0 + (j0 ? (I)n0 - j0 : 0)) * (I)n1 + (j1 ? (I)n1 - j1 : 0);
            I mirror = (row * (I)m + k) * (I)below + ((I)i - line * (I)below);
            C other = x[mirror];
            if (mirror == (I)i) e[u].im = 0;
            else e[u] = {(e[u].re + other.re) / 2, (e[u].im - other.im) / 2};
        }
        y[i] = {e[u].re * by, e[u].im * by};
    }
}

// Completes the spectrum of real points [rows, n, below]: values 1 to m give their conjugates.
template <class C, class I> DEV void fft_mirror(C* y, int64 total, int64 n, int64 m, int64 below) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    I line = (I)i / (I)below, column = (I)i - line * (I)below, row = line / (I)m, k = line - row * (I)m + 1;
    C e = y[((int64)row * n + k) * below + column];
    y[((int64)row * n + (n - (int64)k)) * below + column] = {e.re, -e.im};
}
