// Binary search for the positions at which values would be inserted into a sorted array. NaN comes after every number.
template <class T> DEV bool sorts_before(T a, T b) {
    if constexpr (half_float<T>) return sorts_before(widen(a), widen(b));
    else if constexpr (cplx<T>) {
        // NumPy's order: see nan_class in keys.cuh.
        int x = (a.im != a.im ? 1 : 0) | (a.re != a.re ? 2 : 0), y = (b.im != b.im ? 1 : 0) | (b.re != b.re ? 2 : 0);
        if (x != y) return x < y;
        return a.re < b.re || ((a.re == b.re || x >= 2) && a.im < b.im);
    } else if constexpr (floating<T>) return a < b || (b != b && a == a);
    else return a < b;
}
// With PIVOTS (a power of two) the last of every `step` elements is kept in shared memory, where the search begins.
template <class T, bool RIGHT, int PIVOTS>
DEV void search_sorted(const T* sorted, const T* values, int64* out, int64 length, int64 stride, int64 count,
                       int64 step) {
    typedef typename wide_unsigned<PIVOTS == 1>::type W;
    __shared__ T pivots[PIVOTS];
    if constexpr (PIVOTS > 1) {
        for (int i = threadIdx.x; i < PIVOTS; i += blockDim.x)
            pivots[i] = sorted[(min((i + 1) * step, length) - 1) * stride];
        __syncthreads();
    }
    for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (int64)gridDim.x * blockDim.x) {
        const T v = values[i];
        auto lies_before = [&](T e) { return RIGHT ? !sorts_before(v, e) : sorts_before(e, v); };
        int64 start = 0;
        W n = (W)length;
        if constexpr (PIVOTS > 1) {
            int passed = 0;
#pragma unroll
            for (int h = PIVOTS / 2; h > 0; h /= 2) if (lies_before(pivots[passed + h - 1])) passed += h;
            if (lies_before(pivots[passed])) passed++;
            start = min(passed * step, length);
            n = (W)min(step, length - start);
        }
        const T* part = sorted + start * stride;
        W first = 0;
        while (n > 0) {
            const W half_way = n / 2;
            if (lies_before(part[(first + half_way) * stride])) {
                first += half_way + 1;
                n -= half_way + 1;
            } else n = half_way;
        }
        out[i] = start + (int64)first;
    }
}
