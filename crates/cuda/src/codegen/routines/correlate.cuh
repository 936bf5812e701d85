// Direct correlation. Every output adds its products in the order of the weights with one rounding each (fma), so
// results do not depend on how the work is split. With ACCUMULATE a kernel adds to the sums that an earlier one left in
// y.
DEV float multiply_add(float s, float w, float x) { return __fmaf_rn(w, x, s); }
DEV double multiply_add(double s, double w, double x) { return __fma_rn(w, x, s); }
template <class T> DEV T multiply_add(T s, T w, T x) { return (T)((uint64)s + (uint64)w * (uint64)x); } // integers wrap
template <int n> struct number { static constexpr int value = n; };
template <class T, edge E> DEV T element(const T* x, int64 i, int64 n, T constant) {
    int64 j = at_edge<E>(i, n);
    return E == edge_constant && j < 0 ? constant : x[j];
}

// Weights over the last two axes, KH x KW. A lane computes RY rows of V neighboring columns in each of the two halves
// of the tile. The tile and the weights are in shared memory, a window of a row in registers.
template <class T, edge E, int KH, int KW, int RY, int WARPS>
DEV void correlate_tile(const T* x, const T* weights, T* y, int64 x_height, int64 x_width, int64 height, int64 width,
                        int64 tiles_y, int64 tiles_x, int64 origin_y, int64 origin_x, int64 constant_bits) {
    constexpr int V = 16 / sizeof(T), TX = 64 * V, TY = RY * WARPS, STEP = 16;
    constexpr int FULL = KW > 2 * STEP ? KW / STEP : 0, REST = KW - FULL * STEP;
    // Rows of the tile, and rows of weights, start on 16 bytes and have room for whole vectors.
    constexpr int ROW = (TX + KW - 1 + V - 1) / V * V + V, KROW = (KW + V - 1) / V * V;
    constexpr int ROWS = TY + KH - 1, THREADS = 32 * WARPS;
    extern __shared__ vec<uint32, 4> room[];
    T* tile = (T*)room;
    T* w = tile + ROWS * ROW;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T constant = (T)__longlong_as_double(constant_bits);
    int64 rest = blockIdx.x;
    const int64 x0 = rest % tiles_x * TX;
    rest /= tiles_x;
    const int64 y0 = rest % tiles_y * TY;
    rest /= tiles_y;
    x += rest * x_height * x_width;
    y += rest * height * width;

    for (int i = threadIdx.x; i < KH * KW; i += THREADS) w[i / KW * KROW + i % KW] = weights[i];
    const int64 left = x0 - origin_x, top = y0 - origin_y;
    constexpr int COLUMNS = TX + KW - 1, EACH = (COLUMNS + 31) / 32;
    if (left >= 0 && top >= 0 && left + COLUMNS <= x_width && top + ROWS <= x_height) {
        const T* from = x + top * x_width + left + lane;
#pragma unroll 2
        for (int r = warp; r < ROWS; r += WARPS) {
            T e[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) if (i * 32 + lane < COLUMNS) e[i] = from[r * x_width + i * 32];
#pragma unroll
            for (int i = 0; i < EACH; i++) if (i * 32 + lane < COLUMNS) tile[r * ROW + i * 32 + lane] = e[i];
        }
    } else {
        for (int r = warp; r < ROWS; r += WARPS) {
            // Rows that no output needs are not read.
            int64 at = y0 + r - (KH - 1) < height ? at_edge<E>(top + r, x_height) : 0;
            for (int c = lane; c < COLUMNS; c += 32) {
                T e = constant;
                if (E != edge_constant || at >= 0) e = element<T, E>(x + at * x_width, left + c, x_width, constant);
                tile[r * ROW + c] = e;
            }
        }
    }
    __syncthreads();

    T sum[RY][2][V] = {};
    const T* window_start = tile + warp * RY * ROW + lane * V;
    // Adds columns first..first + COUNT of the weights, at row r of the thread's window.
    auto add_columns = [&](auto count, int r, int first) {
        constexpr int COUNT = decltype(count)::value, VECTORS = (V + COUNT - 1 + V - 1) / V;
        T window[2][VECTORS * V];
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int i = 0; i < VECTORS; i++) {
                vec<T, V> e = load<V>(window_start + r * ROW + h * 32 * V + first + i * V);
#pragma unroll
                for (int v = 0; v < V; v++) window[h][i * V + v] = e.v[v];
            }
#pragma unroll
        for (int o = 0; o < RY; o++) {
            if ((uint32)(r - o) >= (uint32)KH) continue;
            const T* row = w + (r - o) * KROW + first;
            T wide[(COUNT + V - 1) / V * V];
#pragma unroll
            for (int i = 0; i < (COUNT + V - 1) / V; i++) {
                vec<T, V> e = load<V>(row + i * V);
#pragma unroll
                for (int v = 0; v < V; v++) wide[i * V + v] = e.v[v];
            }
#pragma unroll
            for (int k = 0; k < COUNT; k++)
#pragma unroll
                for (int h = 0; h < 2; h++)
#pragma unroll
                    for (int v = 0; v < V; v++) sum[o][h][v] = multiply_add(sum[o][h][v], wide[k], window[h][k + v]);
        }
    };
#pragma unroll 1
    for (int r = 0; r < RY + KH - 1; r++) {
        if constexpr (FULL > 0) {
#pragma unroll 1
            for (int f = 0; f < FULL; f++) add_columns(number<STEP>{}, r, f * STEP);
        }
        if constexpr (REST > 0) add_columns(number<REST>{}, r, FULL * STEP);
    }
#pragma unroll
    for (int o = 0; o < RY; o++) {
        int64 row = y0 + warp * RY + o;
        if (row >= height) break;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int64 column = x0 + h * 32 * V + lane * V;
            if (width % V == 0) {
                vec<T, V> e;
#pragma unroll
                for (int v = 0; v < V; v++) e.v[v] = sum[o][h][v];
                if (column < width) store<V>(y + row * width + column, e);
            } else {
#pragma unroll
                for (int v = 0; v < V; v++) if (column + v < width) y[row * width + column + v] = sum[o][h][v];
            }
        }
    }
}

// Weights along the last axis: each warp slides its own windows over RY rows, without waiting for other warps.
template <class T, edge E, int KW, int RY, int WARPS, bool ACCUMULATE>
DEV void correlate_row(const T* x, const T* weights, T* y, int64 x_width, int64 height, int64 width, int64 tiles_x,
                       int64 origin, int64 constant_bits) {
    constexpr int V = 16 / sizeof(T), TX = 64 * V, COLUMNS = TX + KW - 1, EACH = (COLUMNS + 31) / 32;
    constexpr int ROW = (COLUMNS + V - 1) / V * V + V, WINDOW = (V + KW - 1 + V - 1) / V;
    __shared__ vec<T, V> room[WARPS][ROW / V];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T* line = (T*)room[warp];
    const T constant = (T)__longlong_as_double(constant_bits);
    const int64 part = (int64)blockIdx.x / tiles_x, x0 = (blockIdx.x - part * tiles_x) * TX;
    const int64 left = x0 - origin, y0 = (part * WARPS + warp) * RY;
    const bool inside = left >= 0 && left + COLUMNS <= x_width;
    T w[KW], e[EACH];
#pragma unroll
    for (int k = 0; k < KW; k++) w[k] = weights[k];
    auto fetch = [&](int64 row) {
        const T* from = x + row * x_width;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int c = i * 32 + lane;
            if (inside) {
                if (c < COLUMNS) e[i] = from[left + c];
            } else if (c < COLUMNS) e[i] = element<T, E>(from, left + c, x_width, constant);
        }
    };
    if (y0 < height) fetch(y0);
#pragma unroll 1
    for (int o = 0; o < RY && y0 + o < height; o++) {
#pragma unroll
        for (int i = 0; i < EACH; i++) if (i * 32 + lane < COLUMNS) line[i * 32 + lane] = e[i];
        __syncwarp();
        // The next row is loaded while this one is computed.
        if (o + 1 < RY && y0 + o + 1 < height) fetch(y0 + o + 1);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int64 column = x0 + h * 32 * V + lane * V;
            T* to = y + (y0 + o) * width + column;
            T window[WINDOW * V], sum[V] = {};
            if constexpr (ACCUMULATE) {
#pragma unroll
                for (int v = 0; v < V; v++) if (column + v < width) sum[v] = to[v];
            }
#pragma unroll
            for (int i = 0; i < WINDOW; i++) {
                vec<T, V> q = load<V>(line + h * 32 * V + lane * V + i * V);
#pragma unroll
                for (int v = 0; v < V; v++) window[i * V + v] = q.v[v];
            }
#pragma unroll
            for (int k = 0; k < KW; k++)
#pragma unroll
                for (int v = 0; v < V; v++) sum[v] = multiply_add(sum[v], w[k], window[k + v]);
            if (width % V == 0) {
                vec<T, V> q;
#pragma unroll
                for (int v = 0; v < V; v++) q.v[v] = sum[v];
                if (column < width) store<V>(to, q);
            } else {
#pragma unroll
                for (int v = 0; v < V; v++) if (column + v < width) to[v] = sum[v];
            }
        }
        __syncwarp();
    }
}

// Weights along one axis that is not the last: a thread slides down a column with R sums in registers.
template <class T, edge E, int K, int R, bool ACCUMULATE>
DEV void correlate_column(const T* x, const T* weights, T* y, int64 outer, int64 x_n, int64 n, int64 inner,
                          int64 parts, int64 blocks_inner, int64 origin, int64 constant_bits) {
    const T constant = (T)__longlong_as_double(constant_bits);
    int64 rest = blockIdx.x;
    const int64 i = rest % blocks_inner * blockDim.x + threadIdx.x;
    rest /= blocks_inner;
    const int64 first = rest % parts * R, o = rest / parts;
    if (i >= inner) return;
    x += o * x_n * inner + i;
    y += o * n * inner + i;
    T w[K], sum[R] = {};
#pragma unroll
    for (int k = 0; k < K; k++) w[k] = weights[k];
    if constexpr (ACCUMULATE) {
#pragma unroll
        for (int q = 0; q < R; q++) if (first + q < n) sum[q] = y[(first + q) * inner];
    }
    const int64 top = first - origin;
    // With a part of the weights, all inputs can be inside although the last outputs are not.
    if (top >= 0 && top + R + K - 1 <= x_n && first + R <= n) {
        const T* from = x + top * inner;
#pragma unroll
        for (int r = 0; r < R + K - 1; r++) {
            T e = from[r * inner];
#pragma unroll
            for (int q = 0; q < R; q++) if (r - q >= 0 && r - q < K) sum[q] = multiply_add(sum[q], w[r - q], e);
        }
#pragma unroll
        for (int q = 0; q < R; q++) y[(first + q) * inner] = sum[q];
    } else {
#pragma unroll
        for (int r = 0; r < R + K - 1; r++) {
            int64 at = first + r - (K - 1) < n ? at_edge<E>(top + r, x_n) : 0;
            T e = E == edge_constant && at < 0 ? constant : x[at * inner];
#pragma unroll
            for (int q = 0; q < R; q++) if (r - q >= 0 && r - q < K) sum[q] = multiply_add(sum[q], w[r - q], e);
        }
#pragma unroll
        for (int q = 0; q < R; q++) if (first + q < n) y[(first + q) * inner] = sum[q];
    }
}

// Any number of axes, any weights: one output per thread.
template <class T, edge E, int N>
DEV void correlate_any(const T* x, const T* weights, T* y, int64 total, int64 constant_bits, const int64 (&x_shape)[N],
                       const int64 (&shape)[N], const int64 (&window)[N], const int64 (&origin)[N]) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const T constant = (T)__longlong_as_double(constant_bits);
    int64 start[N], j[N], rest = i;
#pragma unroll
    for (int k = N - 1; k >= 0; k--) {
        start[k] = rest % shape[k] - origin[k];
        rest /= shape[k];
        j[k] = 0;
    }
    T sum = 0;
    const T* w = weights;
    for (bool running = true; running;) {
        int64 row = 0;
        bool beyond = false;
#pragma unroll
        for (int k = 0; k < N - 1; k++) {
            int64 at = at_edge<E>(start[k] + j[k], x_shape[k]);
            if (E == edge_constant) beyond |= at < 0;
            row = row * x_shape[k] + at;
        }
        row *= x_shape[N - 1];
        for (int64 c = 0; c < window[N - 1]; c++) {
            T e = constant;
            if (!beyond) e = element<T, E>(x + row, start[N - 1] + c, x_shape[N - 1], constant);
            sum = multiply_add(sum, *w++, e);
        }
        running = false;
#pragma unroll
        for (int k = N - 2; k >= 0; k--)
            if (!running) {
                if (++j[k] < window[k]) running = true;
                else j[k] = 0;
            }
    }
    y[i] = sum;
}
