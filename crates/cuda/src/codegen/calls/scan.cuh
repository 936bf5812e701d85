// Running folds. Associations are fixed by position, never by timing, so results are the same in every run.
template <class S> DEV S shuffle_up(S x, int by, int width) {
    union { S s; uint32 w[(sizeof(S) + 3) / 4]; } u;
    u.s = x;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(S) + 3) / 4); i++) u.w[i] = __shfl_up_sync(0xffffffffu, u.w[i], by, width);
    return u.s;
}
template <class S> DEV S shuffle_from(S x, int lane, int width) {
    union { S s; uint32 w[(sizeof(S) + 3) / 4]; } u;
    u.s = x;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(S) + 3) / 4); i++) u.w[i] = __shfl_sync(0xffffffffu, u.w[i], lane, width);
    return u.s;
}
// Inclusive, over groups of G lanes.
template <class Op, int G, class A> DEV A lanes_scan(A x, int lane) {
#pragma unroll
    for (int d = 1; d < G; d *= 2) {
        A left = shuffle_up(x, d, G);
        if (lane >= d) x = Op::both(left, x);
    }
    return x;
}
template <int V, class In> DEV vec<In, V> scan_load(const In* p, int64 left) {
    if constexpr (V == 1) return vec<In, 1>{{left > 0 ? *p : In{}}};
    else return load_some<V>(p, left);
}

// --- what tiles tell each other. A tag says in which run a value was written: state is never cleared.
template <class A> union tagged { uint64 word; A value; DEV tagged() : word(0) {} };
template <class A> DEV void tell(uint64* tags, A* values, int64 at, A x, uint32 tag) {
    if constexpr (sizeof(A) <= 4) {
        // Value and tag travel in one word.
        tagged<A> t;
        t.value = x;
        *(volatile uint64*)(tags + at) = (uint64)tag << 32 | (uint32)t.word;
    } else {
        values[at] = x;
        __threadfence();
        *(volatile uint64*)(tags + at) = (uint64)tag << 32;
    }
}
template <class A> DEV A told(const A* values, int64 at, uint64 word) {
    union { A a; uint64 w[(sizeof(A) + 7) / 8]; DEV void none() {} } u;
    if constexpr (sizeof(A) <= 4) u.w[0] = (uint32)word;
    else {
#pragma unroll
        for (int i = 0; i < (int)sizeof(A) / 8; i++) u.w[i] = ((const volatile uint64*)(values + at))[i];
    }
    return u.a;
}

// What the tiles of a row before this one add up to: the aggregates of those in the same group, and what the last tile
// of the group before has published as its sum. Decoupled look-back (Merrill & Garland 2016) lets each tile add as many
// aggregates as it happens to need, which makes the rounding depend on timing; groups keep it fixed at the same cost.
constexpr int SCAN_GROUP = 128;
template <class A, class Op> DEV A sum_before(const uint64* tags, const A* values, int64 row, int64 tiles, int64 tile,
                                              int64 total, uint32 tag, int lane) {
    constexpr int EACH = SCAN_GROUP / 32;
    int64 group = tile / SCAN_GROUP, first = row * tiles + group * SCAN_GROUP;
    int count = (int)(tile % SCAN_GROUP);
    // Where the groups' sums lie: behind the tiles' aggregates.
    int64 sum_at = total + row * ((tiles + SCAN_GROUP - 1) / SCAN_GROUP) + group;
    uint64 words[EACH], sum_word = 0;
    bool ready;
    do {
        ready = true;
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            words[j] = 0;
            if (j * 32 + lane < count) words[j] = *(const volatile uint64*)(tags + first + j * 32 + lane);
        }
        if (group > 0) sum_word = *(const volatile uint64*)(tags + sum_at);
#pragma unroll
        for (int j = 0; j < EACH; j++) if (j * 32 + lane < count) ready &= (uint32)(words[j] >> 32) == tag;
        if (group > 0) ready &= (uint32)(sum_word >> 32) == tag;
    } while (!__all_sync(0xffffffffu, ready));
    if constexpr (sizeof(A) > 4) __threadfence();
    A s{};
    bool have = lane < count;
    if (have) s = told(values, first + lane, words[0]);
#pragma unroll
    for (int j = 1; j < EACH; j++)
        if (j * 32 + lane < count) s = Op::both(s, told(values, first + j * 32 + lane, words[j]));
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        A other = shuffle_from(s, lane ^ d, 32);
        bool others = __shfl_xor_sync(0xffffffffu, (int)have, d);
        if (others) s = !have ? other : lane & d ? Op::both(other, s) : Op::both(s, other);
        have |= others;
    }
    if (group > 0) {
        A sum = told(values, sum_at, sum_word);
        s = have ? Op::both(sum, s) : sum;
    }
    return s;
}

// Rows along contiguous memory, a tile of T * V * K elements a block. head: ticket, finished tiles, number of the run.
template <class In, class Out, class Op, int T, int V, int K, bool CHAINED>
DEV void scan_tiles(const In* x, Out* y, int64 n, int64 tiles, int64 total, uint32* head, uint64* tags,
                    typename Op::state* values) {
    typedef typename Op::state A;
    constexpr int WARPS = T / 32, TOTALS = K * WARPS, EACH = (TOTALS + 31) / 32;
    __shared__ A totals[TOTALS];
    __shared__ uint32 start[2];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int64 ticket = blockIdx.x;
    uint32 tag = 0;
    if constexpr (CHAINED) {
        // Tickets and not block numbers: who waits, waits for tiles that have started.
        if (threadIdx.x == 0) {
            start[0] = atomicAdd(head, 1u);
            start[1] = ((volatile uint32*)head)[2] + 1;
        }
        __syncthreads();
        ticket = start[0];
        tag = start[1];
    }
    const int64 row = tiles == 1 ? ticket : ticket / tiles, tile = ticket - row * tiles;
    const int64 at = row * n + tile * (T * V * K), left = n - tile * (T * V * K);
    A part[K][V];
    {
        vec<In, V> raw[K];
        if (left >= T * V * K) {
#pragma unroll
            for (int k = 0; k < K; k++) raw[k] = load<V>(x + at + (k * T + threadIdx.x) * V);
        } else {
#pragma unroll
            for (int k = 0; k < K; k++) {
                int64 i = (k * T + threadIdx.x) * V;
                raw[k] = scan_load<V>(x + at + i, left - i);
            }
        }
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int v = 0; v < V; v++) part[k][v] = cast<A>(cast<Out>(raw[k].v[v]));
    }
    A lanes_before[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
        for (int v = 1; v < V; v++) part[k][v] = Op::both(part[k][v - 1], part[k][v]);
        A sum = lanes_scan<Op, 32>(part[k][V - 1], lane);
        if (lane == 31) totals[k * WARPS + warp] = sum;
        lanes_before[k] = shuffle_up(sum, 1, 32);
    }
    __syncthreads();
    if (warp == 0) {
        // From here on totals[i] is what lies before part i: in the tile, then in the row.
        A own[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            own[e] = totals[min(lane * EACH + e, TOTALS - 1)];
            if (e > 0) own[e] = Op::both(own[e - 1], own[e]);
        }
        A sum = lanes_scan<Op, 32>(own[EACH - 1], lane);
        A left_sum = shuffle_up(sum, 1, 32);
        if (lane > 0) {
#pragma unroll
            for (int e = 0; e < EACH; e++) own[e] = Op::both(left_sum, own[e]);
        }
        bool some = false;
        A before{};
        if constexpr (CHAINED) {
            constexpr int LAST = TOTALS - 1;
            A all = shuffle_from(own[LAST % EACH], LAST / EACH, 32);
            if (lane == 0) tell(tags, values, ticket, all, tag);
            some = tile > 0;
            if (some) before = sum_before<A, Op>(tags, values, row, tiles, tile, total, tag, lane);
            if (lane == 0 && tile % SCAN_GROUP == SCAN_GROUP - 1 && tile + 1 < tiles) {
                int64 next = total + row * ((tiles + SCAN_GROUP - 1) / SCAN_GROUP) + tile / SCAN_GROUP + 1;
                tell(tags, values, next, Op::both(before, all), tag);
            }
        }
        if (lane == 0 && some) totals[0] = before;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            int next = lane * EACH + e + 1;
            if (next < TOTALS) totals[next] = some ? Op::both(before, own[e]) : own[e];
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; k++) {
        int i = k * WARPS + warp;
        bool some = tile > 0 || i > 0;
        A before{};
        if (some) before = totals[i];
        if (lane > 0) before = some ? Op::both(before, lanes_before[k]) : lanes_before[k];
        some |= lane > 0;
        vec<Out, V> done;
#pragma unroll
        for (int v = 0; v < V; v++) done.v[v] = cast<Out>(some ? Op::both(before, part[k][v]) : part[k][v]);
        int64 j = (k * T + threadIdx.x) * V;
        if (left >= T * V * K) store<V>(y + at + j, done);
        else store_some<V>(y + at + j, done, left - j);
    }
    if constexpr (CHAINED) {
        // Every tile has its ticket and the run's number before it counts as finished.
        if (threadIdx.x == 0 && atomicAdd(head + 1, 1u) == (uint32)total - 1) {
            head[0] = 0;
            head[1] = 0;
            head[2] = tag;
        }
    }
}

// Many short rows: G lanes a row.
template <class In, class Out, class Op, int G, int V>
DEV void scan_rows(const In* x, Out* y, int64 rows, int64 n) {
    typedef typename Op::state A;
    const int lane = threadIdx.x % G;
    const int64 row = ((int64)blockIdx.x * blockDim.x + threadIdx.x) / G;
    A carry{};
    for (int64 base = 0; base < n; base += G * V) {
        int64 j = base + lane * V, left = row < rows ? n - j : 0;
        vec<In, V> raw = scan_load<V>(x + row * n + j, left);
        A part[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            part[v] = cast<A>(cast<Out>(raw.v[v]));
            if (v > 0) part[v] = Op::both(part[v - 1], part[v]);
        }
        A sum = lanes_scan<Op, G>(part[V - 1], lane), before = shuffle_up(sum, 1, G);
        if (base > 0) before = lane > 0 ? Op::both(carry, before) : carry;
        if (base > 0 || lane > 0) {
#pragma unroll
            for (int v = 0; v < V; v++) part[v] = Op::both(before, part[v]);
        }
        carry = shuffle_from(part[V - 1], G - 1, G);
        vec<Out, V> done;
#pragma unroll
        for (int v = 0; v < V; v++) done.v[v] = cast<Out>(part[v]);
        store_some<V>(y + row * n + j, done, left);
    }
}

// Along any other axis: a thread goes down one column of one chunk, U elements in flight. FOLD: only the chunk's sum.
template <class In, class Out, class Op, bool FOLD, int U>
DEV void scan_columns(const In* x, Out* y, typename Op::state* sums, int64 outer, int64 n, int64 inner, int64 chunks,
                      int64 length) {
    typedef typename Op::state A;
    const int64 t = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= outer * chunks * inner) return;
    const int64 i = t % inner, oc = t / inner, c = oc % chunks, o = oc / chunks;
    const int64 at = (o * n + c * length) * inner + i, count = min(length, n - c * length);
    A s{};
    bool some = false;
    if (!FOLD && c > 0) {
        s = sums[t - inner];
        some = true;
    }
    for (int64 r = 0; r < count; r += U) {
        In raw[U];
#pragma unroll
        for (int u = 0; u < U; u++) if (r + u < count) raw[u] = x[at + (r + u) * inner];
#pragma unroll
        for (int u = 0; u < U; u++)
            if (r + u < count) {
                A e = cast<A>(cast<Out>(raw[u]));
                s = some ? Op::both(s, e) : e;
                some = true;
                if (!FOLD) y[at + (r + u) * inner] = cast<Out>(s);
            }
    }
    if (FOLD) sums[t] = s;
}
