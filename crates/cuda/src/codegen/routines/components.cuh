// Connected components as trees, in which a parent never comes after its child. Roots are hooked by atomics, and a
// search for a root shortens the paths of others (J. Jaiganesh and M. Burtscher, HPDC 2018). P is the index type.
//
// Parents are read, shortened and hooked by many threads at once. All three are relaxed atomic operations of one size,
// of scopes that contain all these threads, so they do not race. A value read may be out of date: an element's
// ancestors stay its ancestors, so an old parent still leads to the root. Only the parent of an element that is no
// longer a root is shortened, and a hook succeeds only on a root, so no hook is lost.
#ifdef __CUDA_ARCH__
DEV int32 load_relaxed(const int32* p) {
    int32 x;
    asm volatile("{ .reg .u64 g; cvta.to.global.u64 g, %1; ld.relaxed.gpu.global.s32 %0, [g]; }"
                 : "=r"(x) : "l"(p) : "memory");
    return x;
}
DEV int64 load_relaxed(const int64* p) {
    int64 x;
    asm volatile("{ .reg .u64 g; cvta.to.global.u64 g, %1; ld.relaxed.gpu.global.s64 %0, [g]; }"
                 : "=l"(x) : "l"(p) : "memory");
    return x;
}
DEV void store_relaxed(int32* p, int32 x) {
    asm volatile("{ .reg .u64 g; cvta.to.global.u64 g, %0; st.relaxed.gpu.global.s32 [g], %1; }"
                 ::"l"(p), "r"(x) : "memory");
}
DEV void store_relaxed(int64* p, int64 x) {
    asm volatile("{ .reg .u64 g; cvta.to.global.u64 g, %0; st.relaxed.gpu.global.s64 [g], %1; }"
                 ::"l"(p), "l"(x) : "memory");
}
#elif defined(CUPROUS_HIP)
template <class P> DEV P load_relaxed(const P* p) {
    return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class P> DEV void store_relaxed(P* p, P x) {
    __hip_atomic_store(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#else
// On the host, where one thread runs at a time.
template <class P> DEV P load_relaxed(const P* p) { return *p; }
template <class P> DEV void store_relaxed(P* p, P x) { *p = x; }
#endif

// The parents of all elements, in global memory.
template <class P> struct grid_parents {
    P* at;
    DEV P get(P i) const { return load_relaxed(at + i); }
    DEV void set(P i, P up) const { store_relaxed(at + i, up); }
    DEV P hook(P from, P to) const {
        if constexpr (sizeof(P) == 4) return atomicCAS(at + from, from, to);
        else return (P)atomicCAS((uint64*)at + from, (uint64)from, (uint64)to);
    }
};
// The parents of a tile's elements, in shared memory.
struct block_parents {
    int32* at;
#ifdef __CUDA_ARCH__
    uint32 start;
    DEV explicit block_parents(int32* at) : at(at) {
        asm("{ .reg .u64 s; cvta.to.shared.u64 s, %1; cvt.u32.u64 %0, s; }" : "=r"(start) : "l"(at));
    }
    DEV int32 get(int32 i) const {
        int32 x;
        asm volatile("ld.relaxed.cta.shared.s32 %0, [%1];" : "=r"(x) : "r"(start + 4 * i) : "memory");
        return x;
    }
    DEV void set(int32 i, int32 up) const {
        asm volatile("st.relaxed.cta.shared.s32 [%0], %1;" ::"r"(start + 4 * i), "r"(up) : "memory");
    }
#elif defined(CUPROUS_HIP)
    DEV explicit block_parents(int32* at) : at(at) {}
    DEV int32 get(int32 i) const {
        return __hip_atomic_load(at + i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
    DEV void set(int32 i, int32 up) const {
        __hip_atomic_store(at + i, up, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
#else
    DEV explicit block_parents(int32* at) : at(at) {}
    DEV int32 get(int32 i) const { return at[i]; }
    DEV void set(int32 i, int32 up) const { at[i] = up; }
#endif
    DEV int32 hook(int32 from, int32 to) const { return atomicCAS(at + from, from, to); }
};

template <class A, class P> DEV P root_of(const A& parent, P i) {
    P up = parent.get(i);
    if (up == i) return i;
    for (P below = i, next = parent.get(up); next < up; next = parent.get(up)) {
        parent.set(below, next);
        below = up;
        up = next;
    }
    return up;
}
template <class A, class P> DEV void unite(const A& parent, P a, P b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    while (a != b) {
        if (a < b) {
            const P swapped = a;
            a = b;
            b = swapped;
        }
        if (parent.hook(a, b) == a) return;
        // Another thread hooked the root first.
        a = root_of(parent, a);
    }
}

// Returns true if an edge can be skipped, because other edges connect the same elements: edges of the previous element,
// to which this one is joined, or a shorter step of this element. `right` has, for each step, the step that leads to
// the element after its target, or -1. `own` and `before` are the edge words of this and of the previous element.
template <class T, bool RUNS>
DEV bool is_redundant(const T* edges, T own, T before, int b, int shorter, int64 at) {
    constexpr int BITS = 8 * sizeof(T);
    if (!RUNS || b == 0 || b >= BITS) return false;
    if ((before >> b & 1) && (edges[at] & 1)) return true;
    if (shorter < 0 || shorter >= BITS) return false;
    return (before >> shorter & 1) || ((own >> shorter & 1) && (edges[at + 1] & 1));
}

// Joins a warp's row `y` of a tile to earlier elements of the tile. Each lane has a column.
template <class T, int COUNT, bool RUNS>
DEV void join_row(const T* edges, const block_parents& up, const int64* steps, const int64* right, const int64* rows,
                  const int64* columns, int64 left, int64 top, int y, int64 width, int64 n) {
    constexpr int BITS = 8 * sizeof(T);
    const int x = threadIdx.x % 32;
    const int64 i = (top + y) * width + left + x;
    if (left + x >= width || i >= n) return;
    const T own = edges[i], before = RUNS && (own & 1) ? edges[i - 1] : (T)0;
#pragma unroll
    for (int b = RUNS ? 1 : 0; b < COUNT; b++) {
        const T word = b < BITS ? own : edges[b / BITS * n + i];
        if (!(word >> b % BITS & 1)) continue;
        const int down = (int)rows[b], to = x - (int)columns[b];
        if (down > y || to < 0 || to >= 32 || left + to >= width) continue;
        if (is_redundant<T, RUNS>(edges, own, before, b, (int)right[b], i - steps[b])) continue;
        unite(up, y * 32 + x, (y - down) * 32 + to);
    }
}

// Gives every element the first element of its component within its tile of HIGH rows and 32 columns; `rows` and
// `columns` are the distances of each step. With RUNS bit 0 is the edge to the previous element. A warp joins its own
// EACH rows, then strips of rows are joined in pairs, so that few threads compete for a root.
template <class T, class P, int COUNT, bool RUNS, int HIGH, int EACH>
DEV void components_tiles(const T* edges, P* parent, const int64* steps, const int64* right, const int64* rows,
                          const int64* columns, int64 width, int64 across, int64 n) {
    __shared__ int32 up[32 * HIGH];
    const int64 left = blockIdx.x % across * 32, top = blockIdx.x / across * HIGH;
    const int x = threadIdx.x % 32, first = threadIdx.x / 32 * EACH;
    for (int y = first; y < first + EACH; y++) {
        const int64 i = (top + y) * width + left + x;
        const bool joined = RUNS && left + x < width && i < n && (edges[i] & 1);
        const uint32 starts = ~__ballot_sync(0xffffffffu, joined) & (0xffffffffu >> (31 - x));
        up[y * 32 + x] = y * 32 + (starts == 0 ? 0 : 31 - __clz(starts));
    }
    // An edge of the warp's own rows may lead to any earlier row.
    __syncthreads();
    const block_parents tile(up);
    const auto join = [&](int y) {
        join_row<T, COUNT, RUNS>(edges, tile, steps, right, rows, columns, left, top, y, width, n);
        __syncwarp();
    };
    if (first == 0) join(0);
    for (int y = first + 1; y < first + EACH; y++) join(y);
    for (int span = EACH; span < HIGH; span *= 2) {
        __syncthreads();
        if (first % (2 * span) == span) join(first);
    }
    __syncthreads();
    for (int y = first; y < first + EACH; y++) {
        const int64 i = (top + y) * width + left + x;
        if (left + x >= width || i >= n) continue;
        const int root = root_of(tile, y * 32 + x);
        parent[i] = (P)((top + root / 32) * width + left + root % 32);
    }
}

// Follows the edges from one tile to another. One thread per element.
template <class T, class P, int COUNT, bool RUNS, int HIGH>
DEV void components_unite(const T* edges, P* parent, const int64* steps, const int64* right, const int64* rows,
                          const int64* columns, int64 width, int64 n) {
    constexpr int BITS = 8 * sizeof(T);
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const P row = (P)i / (P)width;
    const int column = (int)((P)i - row * (P)width), x = column % 32, y = (int)(row % HIGH);
    const T own = edges[i];
    const T before = RUNS && (own & 1) ? edges[i - 1] : (T)0;
#pragma unroll
    for (int b = 0; b < COUNT; b++) {
        const int to = x - (int)columns[b];
        if (rows[b] <= y && to >= 0 && to < 32 && column - x + to < width) continue;
        const T word = b < BITS ? own : edges[b / BITS * n + i];
        const int64 at = i - steps[b];
        if (!(word >> b % BITS & 1) || at < 0) continue;
        if (is_redundant<T, RUNS>(edges, own, before, b, (int)right[b], at)) continue;
        unite(grid_parents<P>{parent}, (P)i, (P)at);
    }
}

template <class P, class Out> DEV void components_finish(P* parent, Out* out, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = root_of(grid_parents<P>{parent}, (P)i);
}
template <class Out> DEV void components_singletons(Out* out, int64 n) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (Out)i;
}
