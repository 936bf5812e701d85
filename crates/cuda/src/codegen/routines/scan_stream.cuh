// Scans rows of contiguous memory as a stream through shared memory: while some tiles are loaded, others are reduced,
// wait for the sum before them, or are written back. A block holds STAGES tiles of T * E vectors. Its warps are
// specialized: T / 32 reduce tiles, T / 32 finish them, one loads and one looks back. Tiles are taken by tickets in
// order, so a tile waits only for tiles that are being loaded or already are. Elements and results have one size, and
// rows start on 16 bytes. Barriers count every thread that reads or writes the guarded data. One lane's arrival per
// warp would be enough, but racecheck does not follow that, and arrivals of all lanes were measured to cost nothing.
template <class In, class Out, class Op, int T, int E, int STAGES>
DEV void scan_stream(const In* x, Out* y, int64 rows, int64 n, int64 tiles, uint32* control, uint64* tags,
                     typename Op::state* values) {
    typedef typename Op::state A;
    constexpr int V = 16 / sizeof(In), WARPS = T / 32, TILE = T * E * V;
    // Tiles whose results may still be written back while the next are finished.
    constexpr int LAG = 1;
    constexpr uint32 NONE = 0xffffffffu;
    static_assert(sizeof(In) == sizeof(Out) && E % 2 == 1, "tiles are overwritten; odd strides have no bank conflicts");
    extern __shared__ vec<uint32, 4> room[];
    // Per stage: the prefix of each lane in its warp and of each warp in the tile, the tile's sum, and the sum before
    // the tile.
    __shared__ A lane_prefix[STAGES][T], warp_prefix[STAGES][WARPS], tile_total[STAGES], tile_prefix[STAGES];
    __shared__ barrier loaded[STAGES], reduced[STAGES], prefix_ready[STAGES], drained[STAGES];
    __shared__ uint32 tickets[STAGES], run;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, t = threadIdx.x % T;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            loaded[s].init(1);
            reduced[s].init(T);
            prefix_ready[s].init(1);
            drained[s].init(T);
        }
        fence_for_bulk();
        run = ((volatile uint32*)control)[2] + 1;
    }
    __syncthreads();
    const uint32 tag = run;
    int s = 0;
    uint32 parity = 0;
    auto next_stage = [&] {
        if (++s == STAGES) {
            s = 0;
            parity ^= 1;
        }
    };
    auto tile_of = [&](uint32 ticket) { return rows == 1 ? (int64)ticket : (int64)(ticket % (uint32)tiles); };
    auto row_of = [&](uint32 ticket) { return rows == 1 ? 0 : (int64)(ticket / (uint32)tiles); };
    auto start_of = [&](uint32 ticket) { return row_of(ticket) * n + tile_of(ticket) * TILE; };
    auto length_of = [&](uint32 ticket) { return (int)min((int64)TILE, n - tile_of(ticket) * TILE); };
    if (warp < WARPS) {
        for (int used = 0;; next_stage()) {
            // Already true once the tile is loaded, but racecheck does not follow that either.
            if (used++ >= STAGES) drained[s].wait(parity ^ 1);
            loaded[s].wait(parity);
            const uint32 ticket = tickets[s];
            if (ticket == NONE) {
                reduced[s].arrive();
                break;
            }
            const vec<In, V>* mine = (const vec<In, V>*)(room + s * T * E) + t * E;
            A sum{};
#pragma unroll
            for (int e = 0; e < E; e++) {
                vec<In, V> raw = mine[e];
#pragma unroll
                for (int v = 0; v < V; v++) {
                    A z = cast<A>(cast<Out>(raw.v[v]));
                    sum = e + v > 0 ? Op::combine(sum, z) : z;
                }
            }
            sum = warp_scan<Op, 32>(sum, lane);
            lane_prefix[s][t] = shuffle_up(sum, 1, 32);
            if (lane == 31) warp_prefix[s][warp] = sum;
            named_barrier(1, T);
            if (warp == 0) {
                A part = warp_scan<Op, 32>(warp_prefix[s][min(lane, WARPS - 1)], lane);
                A left = shuffle_up(part, 1, 32), all = shuffle_from(part, WARPS - 1, 32);
                __syncwarp();
                if (lane < WARPS) warp_prefix[s][lane] = left;
                if (lane == 0) {
                    tile_total[s] = all;
                    publish(tags, values, ticket, all, tag);
                }
                __syncwarp();
            }
            // Every thread signals that it has written what others will read.
            reduced[s].arrive();
        }
    } else if (warp < 2 * WARPS) {
        int done_tiles = 0;
        for (;; next_stage()) {
            reduced[s].wait(parity);
            prefix_ready[s].wait(parity);
            const uint32 ticket = tickets[s];
            if (ticket == NONE) break;
            vec<In, V>* mine = (vec<In, V>*)(room + s * T * E) + t * E;
            bool some = tile_of(ticket) > 0;
            A sum{};
            if (some) sum = tile_prefix[s];
            if (t >= 32) {
                A before = warp_prefix[s][t / 32];
                sum = some ? Op::combine(sum, before) : before;
                some = true;
            }
            if (lane > 0) {
                A before = lane_prefix[s][t];
                sum = some ? Op::combine(sum, before) : before;
                some = true;
            }
#pragma unroll
            for (int e = 0; e < E; e++) {
                vec<In, V> raw = mine[e];
                vec<Out, V> done;
#pragma unroll
                for (int v = 0; v < V; v++) {
                    A z = cast<A>(cast<Out>(raw.v[v]));
                    sum = e + v > 0 || some ? Op::combine(sum, z) : z;
                    done.v[v] = cast<Out>(sum);
                }
                *(vec<Out, V>*)(mine + e) = done;
            }
            fence_for_bulk();
            __syncwarp();
            if (lane == 0) {
                // The warp's own part of the tile.
                constexpr int PART = 32 * E * V;
                const int first = t * E * V, length = min(length_of(ticket) - first, PART), even = length / V * V;
                const Out* from = (const Out*)(room + s * T * E) + first;
                Out* to = y + start_of(ticket) + first;
                for (int i = even; i < length; i++) to[i] = from[i];
                if (even > 0) bulk_store(to, from, even * (int)sizeof(Out));
                bulk_commit();
                // Now an earlier part has left its stage.
                bulk_wait_read<LAG>();
            }
            __syncwarp();
            if (done_tiles++ >= LAG) drained[(s + STAGES - LAG) % STAGES].arrive();
        }
        if (lane == 0) bulk_wait_read<0>();
    } else if (warp == 2 * WARPS) {
        if (lane == 0) {
            uint32 used = 0;
            for (;; next_stage()) {
                if (used++ >= STAGES) drained[s].wait(parity ^ 1);
                const uint32 ticket = atomicAdd(control, 1u);
                if (ticket >= rows * tiles) {
                    tickets[s] = NONE;
                    loaded[s].arrive();
                    break;
                }
                tickets[s] = ticket;
                const int length = length_of(ticket), even = length / V * V;
                const In* from = x + start_of(ticket);
                In* to = (In*)(room + s * T * E);
                for (int i = even; i < length; i++) to[i] = from[i];
                loaded[s].arrive_and_expect(even * (int)sizeof(In));
                if (even > 0) bulk_load(to, from, even * (int)sizeof(In), loaded[s]);
            }
            // Every block has had its last ticket before it counts as finished.
            if (atomicAdd(control + 1, 1u) == gridDim.x - 1) {
                control[0] = 0;
                control[1] = 0;
                control[2] = tag;
            }
        }
    } else {
        for (;; next_stage()) {
            reduced[s].wait(parity);
            const uint32 ticket = tickets[s];
            if (ticket != NONE && tile_of(ticket) > 0) {
                const int64 row = row_of(ticket);
                A sum = exclusive_prefix<A, Op>(
                    tags, values, tile_total[s], row, rows, tile_of(ticket), tiles, tag, lane);
                if (lane == 0) tile_prefix[s] = sum;
            }
            __syncwarp();
            if (lane == 0) prefix_ready[s].arrive();
            if (ticket == NONE) break;
        }
    }
}
