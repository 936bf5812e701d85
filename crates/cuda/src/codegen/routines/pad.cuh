// Pads an array at its edges. A thread writes U elements, a block's width apart.
template <class T, edge E, class I, int U, int N>
DEV void pad(const T* x, T* y, int64 total, int64 constant, const int64 (&extents)[N], const int64 (&from)[N],
             const int64 (&strides)[N], const int64 (&before)[N]) {
    const int64 first = (int64)blockIdx.x * (blockDim.x * U) + threadIdx.x;
    T e[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        int64 i = first + u * (int64)blockDim.x;
        if (i < total) {
            I rest = (I)i;
            int64 at = 0;
            bool beyond = false;
#pragma unroll
            for (int k = N - 1; k >= 0; k--) {
                I up = k > 0 ? rest / (I)extents[k] : 0;
                int64 j = at_edge<E>((int64)(rest - up * (I)extents[k]) - before[k], from[k]);
                if (E == edge_constant) beyond |= j < 0;
                at += j * strides[k];
                rest = up;
            }
            if (beyond) e[u] = cast<T>(__longlong_as_double(constant));
            else e[u] = x[at];
        }
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
        int64 i = first + u * (int64)blockDim.x;
        if (i < total) y[i] = e[u];
    }
}
