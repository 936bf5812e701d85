// Connected components: trees of elements whose parents are never behind them, joined by atomic minima of their roots
// (D. Playne and K. Hawick, IEEE Trans. Parallel Distrib. Syst. 29 (2018)). What is read may be old, which is an ancestor
// still; only the atomic's answer decides.
DEV int64 root_of(const volatile int64* parent, int64 i) {
    for (int64 up = parent[i]; up != i; up = parent[i]) i = up;
    return i;
}
DEV void unite(int64* parent, int64 a, int64 b) {
    for (;;) {
        a = root_of(parent, a);
        b = root_of(parent, b);
        if (a == b) return;
        if (a < b) {
            const int64 least = a;
            a = b;
            b = least;
        }
        const int64 old = atomicMin(parent + a, b);
        if (old == a) return;
        // Another thread was first: what it made a's parent and b are still to be joined.
        a = old;
    }
}

// Every element is its own root; with RUNS (bit 0 is the element before) that of the run within its 32 elements.
template <class T, bool RUNS> DEV void components_begin(const T* edges, int64* parent, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;
    int first = lane;
    if constexpr (RUNS) {
        const bool joined = i < n && (edges[i] & 1);
        const uint32 starts = ~__ballot_sync(0xffffffffu, joined) & (0xffffffffu >> (31 - lane));
        first = starts == 0 ? 0 : 31 - __clz(starts);
    }
    if (i < n) parent[i] = i - (lane - first);
}

template <class T, int COUNT, bool RUNS>
DEV void components_unite(const T* edges, int64* parent, const int64* steps, int64 n) {
    constexpr int BITS = 8 * sizeof(T);
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const T own = edges[i];
    // Where this element and its neighbour are joined to those before them, and those with each other, all are.
    const T before = RUNS && (own & 1) && i > 0 ? edges[i - 1] : (T)0;
#pragma unroll
    for (int b = 0; b < COUNT; b++) {
        const int64 at = i - steps[b];
        const T word = b < BITS ? own : edges[b / BITS * n + i];
        if (!(word >> b % BITS & 1) || at < 0) continue;
        if (RUNS && b == 0 && i % 32 != 0) continue;
        if (RUNS && b > 0 && b < BITS && (before >> b & 1) && (edges[at] & 1)) continue;
        unite(parent, i, at);
    }
}

DEV void components_end(int64* parent, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) parent[i] = root_of(parent, i);
}
