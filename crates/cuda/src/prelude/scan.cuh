// Running folds in one pass (Merrill and Garland 2016): a tile publishes its own fold, looks back over its predecessors
// until it meets one that knows all before it, then publishes that much itself.
//
// What a tile publishes carries the number of the launch, so nothing is cleared between launches.
struct scan_control { uint32 epoch, ticket, finished; };

// Tiles are numbered as they start, so whatever a tile waits for is already running.
DEV uint32 take_ticket(scan_control* control, uint32* shared) {
    if (threadIdx.x == 0) *shared = atomicAdd(&control->ticket, 1u);
    __syncthreads();
    return *shared;
}
DEV uint32 current_epoch(scan_control* control) { return *(volatile uint32*)&control->epoch; }
// The last tile leaves the control as it was, under the next number.
DEV void end_tile(scan_control* control, uint32 tiles) {
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&control->finished, 1u) == tiles - 1) {
        control->ticket = 0;
        control->finished = 0;
        control->epoch++;
    }
}

constexpr uint32 own_fold = 1, whole_prefix = 2;

// Up to 4 bytes: flag and value in one word. More: values first, then the flag.
template <class T, bool fits> struct published;
template <class T> struct published<T, true> {
    uint64* words;
    uint32 epoch;
    DEV void put(int64 tile, T x, uint32 kind) {
        union { T value; uint32 bits; } u;
        u.bits = 0;
        u.value = x;
        *(volatile uint64*)(words + tile) = (uint64)(epoch * 4 + kind) << 32 | u.bits;
    }
    DEV uint32 get(int64 tile, T* x) {
        const uint64 word = *(volatile uint64*)(words + tile);
        union { T value; uint32 bits; } u;
        u.bits = (uint32)word;
        *x = u.value;
        const uint32 flag = (uint32)(word >> 32);
        return flag / 4 == epoch ? flag % 4 : 0;
    }
};
template <class T> struct published<T, false> {
    uint64* words;
    uint32 epoch;
    uint64* values; // for each tile its own fold, then the prefix
    static constexpr int n = sizeof(T) / 8;
    DEV void put(int64 tile, T x, uint32 kind) {
        union { T value; uint64 bits[n]; } u;
        u.value = x;
        for (int i = 0; i < n; i++) *(volatile uint64*)(values + (tile * 2 + kind - 1) * n + i) = u.bits[i];
        __threadfence();
        *(volatile uint64*)(words + tile) = (uint64)(epoch * 4 + kind);
    }
    DEV uint32 get(int64 tile, T* x) {
        const uint32 flag = (uint32)*(volatile uint64*)(words + tile);
        const uint32 kind = flag / 4 == epoch ? flag % 4 : 0;
        if (kind == 0) return 0;
        __threadfence();
        union { T value; uint64 bits[n]; } u;
        for (int i = 0; i < n; i++) u.bits[i] = *(volatile uint64*)(values + (tile * 2 + kind - 1) * n + i);
        *x = u.value;
        return kind;
    }
};
template <class S> DEV S shuffle_from(S x, int lane) {
    union { S s; uint32 w[(sizeof(S) + 3) / 4]; } u;
    u.s = x;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(S) + 3) / 4); i++) u.w[i] = __shfl_sync(0xffffffffu, u.w[i], lane);
    return u.s;
}
template <class S> DEV S shuffle_up(S x, int by) {
    union { S s; uint32 w[(sizeof(S) + 3) / 4]; } u;
    u.s = x;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(S) + 3) / 4); i++) u.w[i] = __shfl_up_sync(0xffffffffu, u.w[i], by);
    return u.s;
}
// Each lane's fold with all lanes before it.
template <class Op, class T> DEV T warp_scan(T x) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        T before = shuffle_up(x, d);
        if ((int)(threadIdx.x % 32) >= d) x = Op::both(before, x);
    }
    return x;
}
// The fold of tiles first .. tile - 1, by the first warp.
template <class Op, class T, class P> DEV T look_back(P p, int64 tile, int64 first) {
    T prefix = Op::empty();
    const int lane = threadIdx.x % 32;
    for (int64 end = tile;; end -= 32) {
        const int64 at = end - 32 + lane;
        T x = Op::empty();
        uint32 kind = at < first ? whole_prefix : p.get(at, &x);
        while (__any_sync(0xffffffffu, kind == 0)) if (kind == 0) kind = p.get(at, &x);
        const uint32 whole = __ballot_sync(0xffffffffu, kind == whole_prefix);
        if (whole != 0 && lane < 31 - __clz(whole)) x = Op::empty();
        prefix = Op::both(group_fold<Op, 32>(x), prefix);
        if (whole != 0) return prefix;
    }
}
// Scans a tile: thread holds R vectors of V, vector r of a warp following vector r - 1 of its last lane.
template <class Op, int T, int R, int V, class E, class P>
DEV void scan_tile(E (&x)[R][V], P p, int64 tile, int64 first, E* shared) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    E carry = Op::empty();
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
        for (int l = 1; l < V; l++) x[r][l] = Op::both(x[r][l - 1], x[r][l]);
        const E sum = warp_scan<Op>(x[r][V - 1]);
        E before = shuffle_up(sum, 1);
        before = lane == 0 ? carry : Op::both(carry, before);
#pragma unroll
        for (int l = 0; l < V; l++) x[r][l] = Op::both(before, x[r][l]);
        carry = Op::both(carry, shuffle_from(sum, 31));
    }
    if (lane == 0) shared[warp] = carry;
    __syncthreads();
    E before = Op::empty(), all = Op::empty();
#pragma unroll
    for (int w = 0; w < T / 32; w++) {
        if (w == warp) before = all;
        all = Op::both(all, shared[w]);
    }
    if (warp == 0) {
        E prefix = Op::empty();
        if (tile != first) {
            if (lane == 0) p.put(tile, all, own_fold);
            prefix = look_back<Op, E>(p, tile, first);
        }
        if (lane == 0) {
            p.put(tile, tile == first ? all : Op::both(prefix, all), whole_prefix);
            shared[T / 32] = prefix;
        }
    }
    __syncthreads();
    if (tile != first) before = Op::both(shared[T / 32], before);
    if (tile != first || warp != 0)
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int l = 0; l < V; l++) x[r][l] = Op::both(before, x[r][l]);
}
