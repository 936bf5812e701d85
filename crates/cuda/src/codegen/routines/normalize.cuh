// Layer normalization: a block for each row of n elements. The row is read three times, mostly from the L1 cache.
template <class T, int V, class F> DEV wide_float<T> normalize_sum(const T* x, int64 n, F f) {
    wide_float<T> sum = 0;
    for (int64 i = threadIdx.x * V; i < n; i += blockDim.x * V) {
        const vec<T, V> e = load<V>(x + i);
#pragma unroll
        for (int l = 0; l < V; l++) sum += f(to_wide(e.v[l]));
    }
    return sum;
}
template <class T, int V>
DEV void normalize(const T* x, const T* weight, const T* bias, T* y, int64 n, int64 eps) {
    typedef wide_float<T> A;
    __shared__ A shared[2][32];
    x += (int64)blockIdx.x * n;
    y += (int64)blockIdx.x * n;
    const A sum = normalize_sum<T, V>(x, n, [](A e) { return e; });
    const A mean = any_block_reduce<reduce_sum<A>>(sum, shared[0]) / (A)n;
    const A squares = normalize_sum<T, V>(x, n, [mean](A e) { return (e - mean) * (e - mean); });
    const A variance = any_block_reduce<reduce_sum<A>>(squares, shared[1]) / (A)n;
    const A scale = (A)1 / sqrt(variance + (A)__longlong_as_double(eps));
    for (int64 i = threadIdx.x * V; i < n; i += blockDim.x * V) {
        const vec<T, V> e = load<V>(x + i), w = load<V>(weight + i), b = load<V>(bias + i);
        vec<T, V> result;
#pragma unroll
        for (int l = 0; l < V; l++)
            result.v[l] = cast<T>((to_wide(e.v[l]) - mean) * scale * to_wide(w.v[l]) + to_wide(b.v[l]));
        store(y + i, result);
    }
}
