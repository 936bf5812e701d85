// Connected components: trees of elements whose parents are never behind them. Roots are hooked by atomics, and who climbs
// shortens the way for others (J. Jaiganesh and M. Burtscher, HPDC 2018). What is read may be old, which is an ancestor
// still; only the atomic's answer decides. P counts the elements.
template <class P> DEV P root_of(volatile P* parent, P i) {
    P up = parent[i];
    if (up == i) return i;
    for (P below = i, next = parent[up]; next < up; next = parent[up]) {
        parent[below] = next;
        below = up;
        up = next;
    }
    return up;
}
DEV int32 hook(int32* parent, int32 from, int32 to) { return atomicCAS(parent + from, from, to); }
DEV int64 hook(int64* parent, int64 from, int64 to) {
    return (int64)atomicCAS((uint64*)parent + from, (uint64)from, (uint64)to);
}
template <class P> DEV void unite(P* parent, P a, P b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    while (a != b) {
        if (a < b) {
            const P least = a;
            a = b;
            b = least;
        }
        if (hook(parent, a, b) == a) return;
        // Another thread was first.
        a = root_of(parent, a);
    }
}

// Every element is its own root; with RUNS (bit 0 is the element before) that of the run within its 32 elements.
template <class T, class P, bool RUNS> DEV void components_begin(const T* edges, P* parent, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;
    int first = lane;
    if constexpr (RUNS) {
        const bool joined = i < n && (edges[i] & 1);
        const uint32 starts = ~__ballot_sync(0xffffffffu, joined) & (0xffffffffu >> (31 - lane));
        first = starts == 0 ? 0 : 31 - __clz(starts);
    }
    if (i < n) parent[i] = (P)(i - (lane - first));
}

// `right` has for each step which one leads to the element behind, or -1.
template <class T, class P, int COUNT, bool RUNS>
DEV void components_unite(const T* edges, P* parent, const int64* steps, const int64* right, int64 n) {
    constexpr int BITS = 8 * sizeof(T);
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const T own = edges[i];
    const T before = RUNS && (own & 1) && i > 0 ? edges[i - 1] : (T)0;
#pragma unroll
    for (int b = 0; b < COUNT; b++) {
        const int64 at = i - steps[b];
        const T word = b < BITS ? own : edges[b / BITS * n + i];
        if (!(word >> b % BITS & 1) || at < 0) continue;
        if (RUNS && b == 0 && i % 32 != 0) continue;
        // What follows from the edges of the element before, to which this one is joined, or from an own shorter step.
        if (RUNS && b > 0 && b < BITS) {
            if ((before >> b & 1) && (edges[at] & 1)) continue;
            const int shorter = (int)right[b];
            if (shorter >= 0 && shorter < BITS) {
                if (before >> shorter & 1) continue;
                if ((own >> shorter & 1) && (edges[at + 1] & 1)) continue;
            }
        }
        unite<P>(parent, (P)i, (P)at);
    }
}

template <class P> DEV void components_end(P* parent, int64* out, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = root_of<P>(parent, (P)i);
}
