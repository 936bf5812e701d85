// Scans (running reductions). The association is fixed by position and never depends on timing, so results are the same
// in every run.
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
// Inclusive scan over groups of G lanes.
template <class Op, int G, class A> DEV A warp_scan(A x, int lane) {
#pragma unroll
    for (int d = 1; d < G; d *= 2) {
        A left = shuffle_up(x, d, G);
        if (lane >= d) x = Op::combine(left, x);
    }
    return x;
}
template <int V, class In> DEV vec<In, V> scan_load(const In* p, int64 left) {
    if constexpr (V == 1) return vec<In, 1>{{left > 0 ? *p : In{}}};
    else return load_partial<V>(p, left);
}

// --- values that tiles publish for each other. A tag says in which run a value was written, so state is never cleared.
template <class A> union tagged { uint64 word; A value; DEV tagged() : word(0) {} };
template <class A> DEV void publish(uint64* tags, A* values, int64 at, A x, uint32 tag) {
    if constexpr (sizeof(A) <= 4) {
        // Value and tag are written in one word.
        tagged<A> t;
        t.value = x;
        *(volatile uint64*)(tags + at) = (uint64)tag << 32 | (uint32)t.word;
    } else {
        values[at] = x;
        __threadfence();
        *(volatile uint64*)(tags + at) = (uint64)tag << 32;
    }
}
template <class A> DEV A read_published(const A* values, int64 at, uint64 word) {
    union { A a; uint64 w[(sizeof(A) + 7) / 8]; DEV void none() {} } u;
    if constexpr (sizeof(A) <= 4) u.w[0] = (uint32)word;
    else {
#pragma unroll
        for (int i = 0; i < (int)sizeof(A) / 8; i++) u.w[i] = ((const volatile uint64*)(values + at))[i];
    }
    return u.a;
}

// The published words that a warp waits for: EACH neighboring words per lane, the first `count` of 32 * EACH.
template <int EACH> struct lookback {
    const uint64* tags;
    int64 base;
    int count;
    uint64 words[EACH];
    DEV lookback(const uint64* tags, int64 base, int count) : tags(tags), base(base), count(count) {
#pragma unroll
        for (int j = 0; j < EACH; j++) words[j] = 0;
    }
    DEV void poll(uint32 tag, int lane) {
#pragma unroll
        for (int j = 0; j < EACH; j++)
            if (lane * EACH + j < count && (uint32)(words[j] >> 32) != tag)
                words[j] = *(const volatile uint64*)(tags + base + lane * EACH + j);
    }
    DEV bool is_ready(uint32 tag, int lane) const {
        bool ready = true;
#pragma unroll
        for (int j = 0; j < EACH; j++) ready &= lane * EACH + j >= count || (uint32)(words[j] >> 32) == tag;
        return __all_sync(0xffffffffu, ready);
    }
    DEV void wait(uint32 tag, int lane) {
        while (!is_ready(tag, lane)) poll(tag, lane);
    }
    // Returns the sum of this lane's words, which is meaningful only if the lane has any.
    template <class A, class Op> DEV A part(const A* values, int lane) const {
        A s{};
        if (lane * EACH < count) s = read_published(values, base + lane * EACH, words[0]);
#pragma unroll
        for (int j = 1; j < EACH; j++)
            if (lane * EACH + j < count) s = Op::combine(s, read_published(values, base + lane * EACH + j, words[j]));
        return s;
    }
    // Returns the sum of all words; there must be at least one.
    template <class A, class Op> DEV A sum(const A* values, int lane) const {
        if constexpr (sizeof(A) > 4) __threadfence();
        A s = part<A, Op>(values, lane);
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            A other = shuffle_from(s, lane + d, 32);
            if ((lane + d) * EACH < count) s = Op::combine(s, other);
        }
        return shuffle_from(s, 0, 32);
    }
};
// Returns the sum of the tiles of a row before this one. Decoupled look-back (Merrill & Garland 2016) lets each tile
// add as many aggregates as it happens to need, which makes the rounding depend on timing. Here the association is
// fixed: aggregates of tiles within a group of 128, sums of groups within a span of 64, and a running sum over spans.
// Only the last one is a chain, with a link every 8192 tiles.
constexpr int SCAN_GROUP = 128, SCAN_SPAN = 64;
template <class A, class Op> DEV A exclusive_prefix(uint64* tags, A* values, A own, int64 row, int64 rows, int64 tile,
                                                    int64 tiles, uint32 tag, int lane) {
    const int64 groups = (tiles + SCAN_GROUP - 1) / SCAN_GROUP, group = tile / SCAN_GROUP;
    const int64 spans = (groups + SCAN_SPAN - 1) / SCAN_SPAN, span = group / SCAN_SPAN;
    const int in_group = (int)(tile % SCAN_GROUP), in_span = (int)(group % SCAN_SPAN);
    const int64 group_at = rows * tiles + row * groups + group, span_at = rows * (tiles + groups) + row * spans + span;
    lookback<SCAN_GROUP / 32> near(tags, row * tiles + tile - in_group, in_group);
    lookback<SCAN_SPAN / 32> far(tags, group_at - in_span, in_span);
    lookback<1> farthest(tags, span_at, span > 0 ? 1 : 0);
    // All are polled at once, since an answer takes most of a microsecond.
    far.poll(tag, lane);
    near.poll(tag, lane);
    farthest.poll(tag, lane);
    near.wait(tag, lane);
    A before{};
    if (in_group > 0) before = near.template sum<A, Op>(values, lane);
    const bool closes = in_group == SCAN_GROUP - 1 && tile + 1 < tiles;
    if (closes && in_span < SCAN_SPAN - 1) {
        A total = Op::combine(before, own);
        if (lane == 0) publish(tags, values, group_at, total, tag);
    }
    far.wait(tag, lane);
    if (in_span > 0) {
        A sum = far.template sum<A, Op>(values, lane);
        before = in_group > 0 ? Op::combine(sum, before) : sum;
    }
    if (span > 0) {
        farthest.wait(tag, lane);
        A sum = farthest.template sum<A, Op>(values, lane);
        before = in_group > 0 || in_span > 0 ? Op::combine(sum, before) : sum;
    }
    if (closes && in_span == SCAN_SPAN - 1) {
        A total = Op::combine(before, own);
        if (lane == 0) publish(tags, values, span_at + 1, total, tag);
    }
    return before;
}

// Scans rows of contiguous memory in tiles of T * V * K elements. With CHAINED each block has a tile; `control` holds
// the next ticket, the number of finished tiles and the number of the last run. Otherwise each block goes through a
// row.
template <class In, class Out, class Op, int T, int V, int K, bool CHAINED>
DEV void scan_tiles(const In* x, Out* y, int64 rows, int64 n, int64 tiles, uint32* control, uint64* tags,
                    typename Op::state* values) {
    typedef typename Op::state A;
    constexpr int WARPS = T / 32, TOTALS = K * WARPS, EACH = (TOTALS + 31) / 32, TILE = T * V * K;
    __shared__ A totals[TOTALS];
    __shared__ uint32 start[2];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int64 row = blockIdx.x, tile = 0;
    uint32 tag = 0;
    if constexpr (CHAINED) {
        // Tickets instead of block numbers, so that a tile waits only for tiles that have started.
        if (threadIdx.x == 0) {
            start[0] = atomicAdd(control, 1u);
            start[1] = ((volatile uint32*)control)[2] + 1;
        }
        __syncthreads();
        row = rows == 1 ? 0 : start[0] / (uint32)tiles;
        tile = start[0] - row * tiles;
        tag = start[1];
    }
    A carry{};
    for (;;) {
        const int64 at = row * n + tile * TILE, left = n - tile * TILE;
        A part[K][V];
        {
            vec<In, V> raw[K];
            if (left >= TILE) {
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
            for (int v = 1; v < V; v++) part[k][v] = Op::combine(part[k][v - 1], part[k][v]);
            A sum = warp_scan<Op, 32>(part[k][V - 1], lane);
            if (lane == 31) totals[k * WARPS + warp] = sum;
            lanes_before[k] = shuffle_up(sum, 1, 32);
        }
        __syncthreads();
        if (warp == 0) {
            // From here on totals[i] is the sum before part i: first within the tile, then in the row.
            A own[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                own[e] = totals[min(lane * EACH + e, TOTALS - 1)];
                if (e > 0) own[e] = Op::combine(own[e - 1], own[e]);
            }
            // All lanes must have read before one writes.
            __syncwarp();
            A sum = warp_scan<Op, 32>(own[EACH - 1], lane);
            A left_sum = shuffle_up(sum, 1, 32);
            if (lane > 0) {
#pragma unroll
                for (int e = 0; e < EACH; e++) own[e] = Op::combine(left_sum, own[e]);
            }
            constexpr int LAST = TOTALS - 1;
            A all = shuffle_from(own[LAST % EACH], LAST / EACH, 32);
            if constexpr (CHAINED) {
                if (lane == 0) publish(tags, values, row * tiles + tile, all, tag);
                if (tile > 0) carry = exclusive_prefix<A, Op>(tags, values, all, row, rows, tile, tiles, tag, lane);
            }
            if (lane == 0 && tile > 0) totals[0] = carry;
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                int next = lane * EACH + e + 1;
                if (next < TOTALS) totals[next] = tile > 0 ? Op::combine(carry, own[e]) : own[e];
            }
            carry = tile > 0 ? Op::combine(carry, all) : all;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = k * WARPS + warp;
            bool some = tile > 0 || i > 0;
            A before{};
            if (some) before = totals[i];
            if (lane > 0) before = some ? Op::combine(before, lanes_before[k]) : lanes_before[k];
            some |= lane > 0;
            vec<Out, V> done;
#pragma unroll
            for (int v = 0; v < V; v++) done.v[v] = cast<Out>(some ? Op::combine(before, part[k][v]) : part[k][v]);
            int64 j = (k * T + threadIdx.x) * V;
            if (left >= TILE) store<V>(y + at + j, done);
            else store_partial<V>(y + at + j, done, left - j);
        }
        if (CHAINED || ++tile == tiles) break;
        __syncthreads();
    }
    if constexpr (CHAINED) {
        // Every tile has read its ticket and the run's number before it counts as finished.
        if (threadIdx.x == 0 && atomicAdd(control + 1, 1u) == gridDim.x - 1) {
            control[0] = 0;
            control[1] = 0;
            control[2] = tag;
        }
    }
}

// Scans many short rows, with G lanes per row.
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
            if (v > 0) part[v] = Op::combine(part[v - 1], part[v]);
        }
        A sum = warp_scan<Op, G>(part[V - 1], lane), before = shuffle_up(sum, 1, G);
        if (base > 0) before = lane > 0 ? Op::combine(carry, before) : carry;
        if (base > 0 || lane > 0) {
#pragma unroll
            for (int v = 0; v < V; v++) part[v] = Op::combine(before, part[v]);
        }
        carry = shuffle_from(part[V - 1], G - 1, G);
        vec<Out, V> done;
#pragma unroll
        for (int v = 0; v < V; v++) done.v[v] = cast<Out>(part[v]);
        store_partial<V>(y + row * n + j, done, left);
    }
}

// Scans along any other axis: a thread goes down one column of one chunk, with U elements in flight. With REDUCE it
// computes only the chunk's sum.
template <class In, class Out, class Op, bool REDUCE, int U>
DEV void scan_columns(const In* x, Out* y, typename Op::state* sums, int64 outer, int64 n, int64 inner, int64 chunks,
                      int64 length) {
    typedef typename Op::state A;
    const int64 t = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= outer * chunks * inner) return;
    const int64 i = t % inner, oc = t / inner, c = oc % chunks, o = oc / chunks;
    const int64 at = (o * n + c * length) * inner + i, count = min(length, n - c * length);
    A s{};
    bool some = false;
    if (!REDUCE && c > 0) {
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
                s = some ? Op::combine(s, e) : e;
                some = true;
                if (!REDUCE) y[at + (r + u) * inner] = cast<Out>(s);
            }
    }
    if (REDUCE) sums[t] = s;
}
