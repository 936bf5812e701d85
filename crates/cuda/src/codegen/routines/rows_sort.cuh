// Sorts short rows in shared memory by Batcher's bitonic network on (key, position). Positions differ, so the order is
// stable.
template <class T> struct pair_key { key<T> re, im; };
template <class T, bool complex_number> struct sort_key { typedef key<T> type; };
template <class T> struct sort_key<T, true> { typedef pair_key<T> type; };
template <class T> DEV typename sort_key<T, cplx<T>>::type sort_key_of(T x) {
    if constexpr (cplx<T>) return pair_key<T>{key_of(x.re), key_of(x.im)};
    else return key_of(x);
}
template <class K> DEV bool key_less(K a, K b) { return a < b; }
template <class K> DEV bool key_equal(K a, K b) { return a == b; }
template <class T> DEV uint32 nan_class(pair_key<T> k) {
    constexpr key<T> last = ~(key<T>)0;
    return (k.im == last ? 1 : 0) | (k.re == last ? 2 : 0);
}
template <class T> DEV bool key_less(pair_key<T> a, pair_key<T> b) {
    uint32 x = nan_class(a), y = nan_class(b);
    return x != y ? x < y : a.re != b.re ? a.re < b.re : a.im < b.im;
}
template <class T> DEV bool key_equal(pair_key<T> a, pair_key<T> b) { return a.re == b.re && a.im == b.im; }

// N is a power of two, at least the row's length; ROWS rows per block.
template <class T, bool INDICES, int N, int ROWS, int THREADS>
DEV void rows_sort(const T* x, T* values_out, int64* indices_out, int64 rows, int64 n) {
    typedef typename sort_key<T, cplx<T>>::type K;
    __shared__ K keys[N * ROWS];
    __shared__ uint16 positions[N * ROWS];
    const int64 first = (int64)blockIdx.x * ROWS;
    for (int i = threadIdx.x; i < N * ROWS; i += THREADS) {
        int64 row = first + i / N;
        int j = i % N;
        // Elements past the end come after all others, NaN included, because their positions are greater.
        keys[i] = K{};
        if (row < rows && j < n) keys[i] = sort_key_of(x[row * n + j]);
        positions[i] = (uint16)j;
    }
    __syncthreads();
    const uint32 length = (uint32)n;
    for (int k = 2; k <= N; k *= 2) {
        for (int d = k / 2; d > 0; d /= 2) {
            for (int t = threadIdx.x; t < N * ROWS / 2; t += THREADS) {
                int i = 2 * t - (t & (d - 1)), j = i + d;
                K a = keys[i], b = keys[j];
                uint32 p = positions[i], q = positions[j];
                bool beyond = p >= length || q >= length, equal = key_equal(a, b);
                bool swapped = beyond || equal ? q < p : key_less(b, a);
                bool up = (i & (N - 1) & k) == 0;
                if (swapped == up) {
                    keys[i] = b;
                    keys[j] = a;
                    positions[i] = (uint16)q;
                    positions[j] = (uint16)p;
                }
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < N * ROWS; i += THREADS) {
        int64 row = first + i / N;
        int j = i % N;
        if (row < rows && j < n) {
            if (INDICES) indices_out[row * n + j] = positions[i];
            else values_out[row * n + j] = x[row * n + positions[i]];
        }
    }
}
