// Matrix products: a block computes 64 x 64 elements, a thread 4 x 4, in steps of 16 terms.
template <class T> struct dot_sum {
    typedef wrapped<T> type;
    static DEV type multiply_add(type s, T a, T b) { return s + (type)a * (type)b; }
};
template <> struct dot_sum<bool> {
    typedef uint32 type;
    static DEV type multiply_add(type s, bool a, bool b) { return s | (uint32)(a & b); }
};
// Stores a sum.
struct dot_store {
    DEV void skip(int64) {}
    template <class T, class S> DEV void operator()(T* c, int64 at, int64, S sum) const { c[at] = (T)sum; }
};
template <class T, int N, class E = dot_store>
DEV void dot(const T* a, const T* b, T* c, int64 m, int64 n, int64 depth, int64 tiles_m, int64 tiles_n,
             const int64 (&a_steps)[2], const int64 (&b_steps)[2], const int64 (&batch)[N], const int64 (&a_batch)[N],
             const int64 (&b_batch)[N], E store = {}) {
    constexpr int TILE = 64, DEPTH = 16, EACH = 4, THREADS = 256;
    typedef typename dot_sum<T>::type S;
    __shared__ T as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    int64 rest = blockIdx.x;
    const int64 tile_n = rest % tiles_n;
    rest /= tiles_n;
    const int64 tile_m = rest % tiles_m;
    rest /= tiles_m;
    c += rest * m * n;
    store.skip(rest * m * n);
#pragma unroll
    for (int k = N - 1; k >= 0; k--) {
        int64 i = rest % batch[k];
        rest /= batch[k];
        a += i * a_batch[k];
        b += i * b_batch[k];
    }
    const int64 row = tile_m * TILE, column = tile_n * TILE;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    // Neighboring threads read along the contiguous axis.
    const bool a_down = a_steps[0] == 1, b_down = b_steps[0] == 1;
    S sum[EACH][EACH] = {};
    for (int64 k = 0; k < depth; k += DEPTH) {
#pragma unroll
        for (int i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
            int r = a_down ? i % TILE : i / DEPTH, s = a_down ? i / TILE : i % DEPTH;
            as[s][r] = row + r < m && k + s < depth ? a[(row + r) * a_steps[0] + (k + s) * a_steps[1]] : T{};
            int t = b_down ? i % DEPTH : i / TILE, q = b_down ? i / DEPTH : i % TILE;
            bs[t][q] = column + q < n && k + t < depth ? b[(k + t) * b_steps[0] + (column + q) * b_steps[1]] : T{};
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < DEPTH; s++) {
            T x[EACH], y[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                x[i] = as[s][ty + 16 * i];
                y[i] = bs[s][tx + 16 * i];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) sum[i][j] = dot_sum<T>::multiply_add(sum[i][j], x[i], y[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            int64 r = row + ty + 16 * i, q = column + tx + 16 * j;
            if (r < m && q < n) store(c, r * n + q, q, sum[i][j]);
        }
}
