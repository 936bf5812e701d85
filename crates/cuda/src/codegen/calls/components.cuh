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

// Which other edges say that an edge need not be looked at: `right` has for each step which one leads to the element behind,
// or -1. True where an edge follows from the edges of the element before, to which this one is joined, or from an own
// shorter step; `own` and `before` are their words.
template <class T, bool RUNS>
DEV bool follows(const T* edges, T own, T before, int b, int shorter, int64 at) {
    constexpr int BITS = 8 * sizeof(T);
    if (!RUNS || b == 0 || b >= BITS) return false;
    if ((before >> b & 1) && (edges[at] & 1)) return true;
    if (shorter < 0 || shorter >= BITS) return false;
    return (before >> shorter & 1) || ((own >> shorter & 1) && (edges[at + 1] & 1));
}

// Every element gets the first one of its component within its tile: HIGH rows of WIDE columns; `rows` and `columns` say how
// far each step goes. With RUNS bit 0 is the element before.
template <class T, class P, int COUNT, bool RUNS, int WIDE, int HIGH, int THREADS>
DEV void components_tiles(const T* edges, P* parent, const int64* steps, const int64* right, const int64* rows,
                          const int64* columns, int64 width, int64 across, int64 n) {
    constexpr int BITS = 8 * sizeof(T), EACH = WIDE * HIGH / THREADS;
    __shared__ int32 up[WIDE * HIGH];
    const int64 left = blockIdx.x % across * WIDE, top = blockIdx.x / across * HIGH;
    const int lane = threadIdx.x % 32;
    T own[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int l = k * THREADS + threadIdx.x, x = l % WIDE, y = l / WIDE;
        const int64 i = (top + y) * width + left + x;
        const bool inside = left + x < width && i < n;
        own[k] = inside ? edges[i] : (T)0;
        const bool joined = RUNS && (own[k] & 1);
        const uint32 starts = ~__ballot_sync(0xffffffffu, joined) & (0xffffffffu >> (31 - lane));
        up[l] = l - (lane - (starts == 0 ? 0 : 31 - __clz(starts)));
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int l = k * THREADS + threadIdx.x, x = l % WIDE, y = l / WIDE;
        const int64 i = (top + y) * width + left + x;
        const bool inside = left + x < width && i < n;
        if (!inside) continue;
        const T before = RUNS && (own[k] & 1) ? edges[i - 1] : (T)0;
#pragma unroll
        for (int b = 0; b < COUNT; b++) {
            const T word = b < BITS ? own[k] : edges[b / BITS * n + i];
            if (!(word >> b % BITS & 1)) continue;
            const int down = (int)rows[b], to = x - (int)columns[b];
            if (down > y || to < 0 || to >= WIDE || left + to >= width) continue;
            if (RUNS && b == 0 && lane != 0) continue;
            if (follows<T, RUNS>(edges, own[k], before, b, (int)right[b], i - steps[b])) continue;
            unite<int32>(up, l, (y - down) * WIDE + to);
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int l = k * THREADS + threadIdx.x, x = l % WIDE, y = l / WIDE;
        const int64 i = (top + y) * width + left + x;
        const bool inside = left + x < width && i < n;
        if (!inside) continue;
        const int root = root_of<int32>(up, l);
        parent[i] = (P)((top + root / WIDE) * width + left + root % WIDE);
    }
}

// The edges from one tile to another; one thread for each element.
template <class T, class P, int COUNT, bool RUNS, int WIDE, int HIGH>
DEV void components_unite(const T* edges, P* parent, const int64* steps, const int64* right, const int64* rows,
                          const int64* columns, int64 width, int64 n) {
    constexpr int BITS = 8 * sizeof(T);
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const P row = (P)i / (P)width;
    const int column = (int)((P)i - row * (P)width), x = column % WIDE, y = (int)(row % HIGH);
    const T own = edges[i];
    const T before = RUNS && (own & 1) ? edges[i - 1] : (T)0;
#pragma unroll
    for (int b = 0; b < COUNT; b++) {
        const int to = x - (int)columns[b];
        if (rows[b] <= y && to >= 0 && to < WIDE && column - x + to < width) continue;
        const T word = b < BITS ? own : edges[b / BITS * n + i];
        const int64 at = i - steps[b];
        if (!(word >> b % BITS & 1) || at < 0) continue;
        if (follows<T, RUNS>(edges, own, before, b, (int)right[b], at)) continue;
        unite<P>(parent, (P)i, (P)at);
    }
}

template <class P, class Out> DEV void components_end(P* parent, Out* out, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = root_of<P>(parent, (P)i);
}
template <class Out> DEV void components_alone(Out* out, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (Out)i;
}
