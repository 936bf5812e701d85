// Decompositions of matrices that fit into shared memory, each by a warp (TEAM = 32) or a block (TEAM = its threads).
// Rows are an odd number of elements apart, so that neither rows nor columns have bank conflicts.
template <class T> DEV T* team_memory() {
    extern __shared__ vec<uint32, 4> room[];
    return (T*)room;
}
template <int TEAM> DEV void team_sync() {
    if constexpr (TEAM == 32) __syncwarp();
    else __syncthreads();
}
template <int TEAM> DEV bool team_any(bool x) {
    if constexpr (TEAM == 32) return __any_sync(0xffffffffu, x);
    else return __syncthreads_or(x);
}
template <int TEAM> DEV int64 team_matrix() { return (int64)blockIdx.x * (blockDim.x / TEAM) + threadIdx.x / TEAM; }

// c - a b with fma. The order of the sums is not specified for these routines.
template <class T> DEV T neg_fma(T c, T a, T b) {
    if constexpr (cplx<T>)
        return T{fma(-a.re, b.re, fma(a.im, b.im, c.re)), fma(-a.re, b.im, fma(-a.im, b.re, c.im))};
    else return fma(-a, b, c);
}
// c + conj(a) b
template <class T> DEV T conj_fma(T c, T a, T b) {
    if constexpr (cplx<T>) return T{fma(a.re, b.re, fma(a.im, b.im, c.re)), fma(a.re, b.im, fma(-a.im, b.re, c.im))};
    else return fma(a, b, c);
}
template <class T> DEV component<T> magnitude_estimate(T x) {
    if constexpr (cplx<T>) return fabs(x.re) + fabs(x.im);
    else return fabs(x);
}
template <class T> DEV component<T> real_part(T x) {
    if constexpr (cplx<T>) return x.re;
    else return x;
}
template <class T> DEV T divide_by_real(T x, component<T> d) {
    if constexpr (cplx<T>) return T{x.re / d, x.im / d};
    else return x / d;
}
template <class T> DEV bool is_nan(T x) {
    if constexpr (cplx<T>) return x.re != x.re || x.im != x.im;
    else return x != x;
}

// Copies row-major elements from global memory to rows `ld` apart.
template <class T, int TEAM> DEV void fetch(const T* from, T* to, int rows, int columns, int ld, int lane) {
    for (int r = lane / 32; r < rows; r += TEAM / 32)
        for (int c = lane % 32; c < columns; c += 32) to[r * ld + c] = from[(int64)r * columns + c];
}

// A = L L^H, from the lower triangle or, with UPPER_TRIANGLE, from the upper one.
template <class T, int TEAM, bool UPPER_TRIANGLE>
DEV void small_cholesky(const T* a, T* out, int64 n64, int64 flag, int64 batch) {
    const int64 matrix = team_matrix<TEAM>();
    if (matrix >= batch) return;
    const int n = (int)n64, ld = n | 1, lane = threadIdx.x % TEAM;
    T* s = team_memory<T>() + threadIdx.x / TEAM * n * ld;
    a += matrix * n * n;
    bool nan = false;
    for (int r = lane / 32; r < n; r += TEAM / 32)
        for (int c = lane % 32; c < n; c += 32) {
            if (UPPER_TRIANGLE ? c < r : c > r) continue;
            const T x = a[r * n + c];
            nan |= is_nan(x);
            if constexpr (UPPER_TRIANGLE) s[c * ld + r] = conjugate(x);
            else s[r * ld + c] = x;
        }
    nan = team_any<TEAM>(nan);
    team_sync<TEAM>();
    bool succeeded = !nan;
    for (int k = 0; k < n && succeeded; k++) {
        const component<T> d = real_part(s[k * ld + k]);
        // The same in all threads.
        succeeded = d > 0;
        if (!succeeded) break;
        const component<T> root = sqrt(d);
        team_sync<TEAM>();
        for (int i = k + lane; i < n; i += TEAM)
            s[i * ld + k] = i == k ? from_real<T>(root) : divide_by_real(s[i * ld + k], root);
        team_sync<TEAM>();
        for (int j = k + 1 + lane / 32; j < n; j += TEAM / 32) {
            const T t = conjugate(s[j * ld + k]);
            for (int i = j + lane % 32; i < n; i += 32) s[i * ld + j] = neg_fma(s[i * ld + j], s[i * ld + k], t);
        }
        team_sync<TEAM>();
    }
    if (!succeeded && !nan && lane == 0) out[flag] = from_real<T>(1);
    out += matrix * n * n;
    for (int r = lane / 32; r < n; r += TEAM / 32)
        for (int c = lane % 32; c < n; c += 32) {
            T x = from_real<T>(0);
            if (UPPER_TRIANGLE ? c >= r : c <= r) x = UPPER_TRIANGLE ? conjugate(s[c * ld + r]) : s[r * ld + c];
            out[r * n + c] = succeeded ? x : from_real<T>(QUIET_NAN);
        }
}

// Elimination below the diagonal with partial pivoting, of `width` columns of which the first n are the matrix;
// `column` has room for n elements. Returns true if rows were swapped an odd number of times.
template <class T, int TEAM> DEV bool eliminate(T* s, T* column, int n, int width, int ld, int lane) {
    bool odd = false;
    for (int k = 0; k < n; k++) {
        // Every warp finds the pivot for itself.
        component<T> best = -1;
        int at = k;
        for (int i = k + lane % 32; i < n; i += 32) {
            const component<T> size = magnitude_estimate(s[i * ld + k]);
            if (size > best) best = size, at = i;
        }
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const component<T> size = __shfl_xor_sync(0xffffffffu, best, d);
            const int i = __shfl_xor_sync(0xffffffffu, at, d);
            if (size > best || (size == best && i < at)) best = size, at = i;
        }
        team_sync<TEAM>();
        if (at != k) {
            odd = !odd;
            for (int j = k + lane; j < width; j += TEAM) {
                const T x = s[k * ld + j];
                s[k * ld + j] = s[at * ld + j];
                s[at * ld + j] = x;
            }
            team_sync<TEAM>();
        }
        const T pivot = s[k * ld + k];
        for (int i = k + 1 + lane; i < n; i += TEAM)
            column[i] = best == 0 ? from_real<T>(0) : div(s[i * ld + k], pivot);
        team_sync<TEAM>();
        for (int j = k + 1 + lane % 32; j < width; j += 32) {
            const T top = s[k * ld + j];
#pragma unroll 4
            for (int i = k + 1 + lane / 32; i < n; i += TEAM / 32)
                s[i * ld + j] = neg_fma(s[i * ld + j], column[i], top);
        }
        team_sync<TEAM>();
    }
    return odd;
}

// Solves A X = B for B of `columns` columns; `across` threads, a power of two up to 32, share a row of X.
template <class T, int TEAM>
DEV void small_solve(const T* a, const T* b, T* out, int64 n64, int64 columns64, int64 across64, int64 flag,
                     int64 batch) {
    const int64 matrix = team_matrix<TEAM>();
    if (matrix >= batch) return;
    const int n = (int)n64, columns = (int)columns64, across = (int)across64, width = n + columns, ld = width | 1;
    const int lane = threadIdx.x % TEAM;
    T* s = team_memory<T>() + threadIdx.x / TEAM * (n * ld + n);
    T* column = s + n * ld;
    fetch<T, TEAM>(a + matrix * n * n, s, n, n, ld, lane);
    fetch<T, TEAM>(b + matrix * n * columns, s + n, n, columns, ld, lane);
    team_sync<TEAM>();
    eliminate<T, TEAM>(s, column, n, width, ld, lane);
    bool singular = false;
    for (int i = lane; i < n; i += TEAM) singular |= magnitude_estimate(s[i * ld + i]) == 0;
    singular = team_any<TEAM>(singular);
    T* x = s + n;
    const int first = lane & (across - 1), row = lane / across, rows = TEAM / across;
    for (int i = n - 1; i >= 0 && !singular; i--) {
        const T pivot = s[i * ld + i];
        for (int c = lane; c < columns; c += TEAM) x[i * ld + c] = div(x[i * ld + c], pivot);
        team_sync<TEAM>();
        for (int c = first; c < columns; c += across) {
            const T solved = x[i * ld + c];
#pragma unroll 4
            for (int r = row; r < i; r += rows) x[r * ld + c] = neg_fma(x[r * ld + c], s[r * ld + i], solved);
        }
        team_sync<TEAM>();
    }
    if (singular && lane == 0) out[flag] = from_real<T>(1);
    out += matrix * n * columns;
    for (int r = lane / 32; r < n; r += TEAM / 32)
        for (int c = lane % 32; c < columns; c += 32)
            out[r * columns + c] = singular ? from_real<T>(QUIET_NAN) : x[r * ld + c];
}

// The determinant's sign and logarithm.
template <class T, int TEAM> DEV void small_slogdet(const T* a, T* out, int64 n64, int64 batch) {
    const int64 matrix = team_matrix<TEAM>();
    if (matrix >= batch) return;
    const int n = (int)n64, ld = n | 1, lane = threadIdx.x % TEAM;
    T* s = team_memory<T>() + threadIdx.x / TEAM * (n * ld + n);
    fetch<T, TEAM>(a + matrix * n * n, s, n, n, ld, lane);
    team_sync<TEAM>();
    const bool odd = eliminate<T, TEAM>(s, s + n * ld, n, n, ld, lane);
    if (lane >= 32) return;
    product partial = {1, 0, 0};
    for (int i = lane; i < n; i += 32) partial = combined(partial, product_of(s[i * ld + i]));
    partial = warp_product(partial);
    if (odd) partial.re = -partial.re, partial.im = -partial.im;
    if (lane == 0) store_determinant(partial, out, matrix, batch);
}

// A = Q R by Householder reflections I - tau v v^H, where v has a 1 on the diagonal and zeros above it (LAPACK's geqrf
// and larfg). G threads share a column. `width` is the number of columns of Q and rows of R. With RAW the reflections
// themselves are returned.
template <class T, int TEAM, int G, bool WANTS_Q, bool RAW>
DEV void small_qr(const T* a, T* out, int64 m64, int64 n64, int64 width64, int64 second, int64 batch) {
    typedef component<T> F;
    const int64 matrix = team_matrix<TEAM>();
    if (matrix >= batch) return;
    const int m = (int)m64, n = (int)n64, width = (int)width64, lane = threadIdx.x % TEAM;
    const int ld = n | 1, q_ld = width | 1, short_side = m < n ? m : n;
    T* s = team_memory<T>() + threadIdx.x / TEAM * (m * ld + short_side + (WANTS_Q ? m * q_ld : 0));
    T* taus = s + m * ld;
    T* q = taus + short_side;
    fetch<T, TEAM>(a + matrix * m * n, s, m, n, ld, lane);
    team_sync<TEAM>();
    const int part = lane % G;
    // Applies the reflection to column j of `columns`. Threads without a column take part too, since warps shuffle
    // together.
    auto reflect = [&](T* x, int x_ld, int columns, int j, int k, T tau) {
        const bool active = j < columns;
        x += active ? j : 0;
        T dot = active && part == 0 ? x[k * x_ld] : from_real<T>(0);
        for (int i = k + 1 + part; i < (active ? m : 0); i += G) dot = conj_fma(dot, s[i * ld + k], x[i * x_ld]);
#pragma unroll
        for (int d = 1; d < G; d *= 2) {
            if constexpr (cplx<T>) {
                const F re = __shfl_xor_sync(0xffffffffu, dot.re, d), im = __shfl_xor_sync(0xffffffffu, dot.im, d);
                dot.re += re, dot.im += im;
            } else dot += __shfl_xor_sync(0xffffffffu, dot, d);
        }
        if (!active) return;
        dot = mul(dot, tau);
        if (part == 0) x[k * x_ld] = sub(x[k * x_ld], dot);
        for (int i = k + 1 + part; i < m; i += G) x[i * x_ld] = neg_fma(x[i * x_ld], s[i * ld + k], dot);
    };
    for (int k = 0; k < short_side; k++) {
        // Every warp computes the reflection for itself. Norms are computed after division by the largest element.
        F most = 0;
        for (int i = k + lane % 32; i < m; i += 32) most = fmax(most, magnitude_estimate(s[i * ld + k]));
#pragma unroll
        for (int d = 1; d < 32; d *= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, d));
        const F by = most == 0 ? (F)1 : most;
        F below = 0;
        for (int i = k + 1 + lane % 32; i < m; i += 32) {
            const T x = s[i * ld + k];
            if constexpr (cplx<T>) below += (x.re / by) * (x.re / by) + (x.im / by) * (x.im / by);
            else below += (x / by) * (x / by);
        }
#pragma unroll
        for (int d = 1; d < 32; d *= 2) below += __shfl_xor_sync(0xffffffffu, below, d);
        const T alpha = s[k * ld + k];
        F re, im = 0;
        if constexpr (cplx<T>) re = alpha.re / by, im = alpha.im / by;
        else re = alpha / by;
        const bool negligible = below == 0 && im == 0;
        const F norm = sqrt(re * re + im * im + below), beta = negligible ? re : re > 0 ? -norm : norm;
        // Computed from the scaled elements: the remainders of dependent columns shrink to subnormal numbers with few
        // bits, and a reflection rounded to those is not unitary.
        T tau = from_real<T>(0), pivot = from_real<T>(re - beta);
        if (!negligible) {
            if constexpr (cplx<T>) pivot.im = im, tau = T{(beta - re) / beta, -im / beta};
            else tau = (beta - re) / beta;
        }
        team_sync<TEAM>();
        for (int i = k + 1 + lane; i < m; i += TEAM)
            s[i * ld + k] = negligible ? from_real<T>(0) : div(divide_by_real(s[i * ld + k], by), pivot);
        if (lane == 0) s[k * ld + k] = negligible ? alpha : from_real<T>(beta * by), taus[k] = tau;
        team_sync<TEAM>();
        for (int j = k + 1 + lane / G; j - lane % 32 / G < n; j += TEAM / G) reflect(s, ld, n, j, k, conjugate(tau));
        team_sync<TEAM>();
    }
    if constexpr (RAW) {
        out += matrix * m * n;
        for (int c = lane / 32; c < n; c += TEAM / 32)
            for (int r = lane % 32; r < m; r += 32) out[c * m + r] = s[r * ld + c];
        out += second + matrix * (short_side - m * n);
        for (int i = lane; i < short_side; i += TEAM) out[i] = taus[i];
        return;
    }
    T* r_out = out + (WANTS_Q ? second : 0) + matrix * width * n;
    for (int r = lane / 32; r < width; r += TEAM / 32)
        for (int c = lane % 32; c < n; c += 32) r_out[r * n + c] = c < r ? from_real<T>(0) : s[r * ld + c];
    if constexpr (WANTS_Q) {
        for (int r = lane / 32; r < m; r += TEAM / 32)
            for (int c = lane % 32; c < width; c += 32) q[r * q_ld + c] = from_real<T>(r == c);
        team_sync<TEAM>();
        for (int k = short_side - 1; k >= 0; k--) {
            for (int j = k + lane / G; j - lane % 32 / G < width; j += TEAM / G)
                reflect(q, q_ld, width, j, k, taus[k]);
            team_sync<TEAM>();
        }
        out += matrix * m * width;
        for (int r = lane / 32; r < m; r += TEAM / 32)
            for (int c = lane % 32; c < width; c += 32) out[r * width + c] = q[r * q_ld + c];
    }
}
