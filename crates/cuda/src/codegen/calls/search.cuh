// Where each value would be inserted in a sorted array: binary search, NaN after every number.
template <class T> DEV bool sorts_before(T a, T b) {
    if constexpr (low<T>) return sorts_before(widen(a), widen(b));
    else if constexpr (cplx<T>) {
        // NumPy's order: see nan_class in keys.cuh.
        int x = (a.im != a.im ? 1 : 0) | (a.re != a.re ? 2 : 0), y = (b.im != b.im ? 1 : 0) | (b.re != b.re ? 2 : 0);
        if (x != y) return x < y;
        return a.re < b.re || ((a.re == b.re || x >= 2) && a.im < b.im);
    } else if constexpr (floating<T>) return a < b || (b != b && a == a);
    else return a < b;
}
template <class T, bool RIGHT>
DEV void search_sorted(const T* sorted, const T* values, int64* out, int64 length, int64 stride, int64 count) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const T v = values[i];
    int64 first = 0, n = length;
    while (n > 0) {
        int64 half_way = n / 2;
        T e = sorted[(first + half_way) * stride];
        if (RIGHT ? !sorts_before(v, e) : sorts_before(e, v)) {
            first += half_way + 1;
            n -= half_way + 1;
        } else n = half_way;
    }
    out[i] = first;
}
