// Radix sort, least digit first, eight bits a pass, one read and one write a pass (Adinets and Merrill 2022): blocks rank
// their tile in shared memory and learn by look-back how many equal digits stand before it.
constexpr uint32 digit_count = 256, count_bits = 0x3fffffff, count_own = 1u << 30, count_whole = 2u << 30;

DEV uint32 digit_at(uint64 key, int shift) { return (uint32)(key >> shift) & 255; }
// The lanes whose digit is mine.
DEV uint32 peers_of(uint32 digit, bool valid) {
    uint32 peers = __ballot_sync(0xffffffffu, valid);
    if (!valid) peers = ~peers;
#pragma unroll
    for (int b = 0; b < 8; b++) {
        const uint32 ones = __ballot_sync(0xffffffffu, digit >> b & 1);
        peers &= digit >> b & 1 ? ones : ~ones;
    }
    return peers;
}
// Exclusive prefix sum over the first 256 threads.
DEV uint32 prefix_256(uint32 x, uint32* shared) {
    const int t = threadIdx.x, lane = t % 32;
    uint32 sum = x;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const uint32 before = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += before;
    }
    if (t < 256 && lane == 31) shared[t / 32] = sum;
    __syncthreads();
    uint32 before = 0;
    for (int w = 0; w < t / 32 && w < 8; w++) before += shared[w];
    __syncthreads();
    return before + sum - x;
}

// One pass over a row of n keys. `load(i, payload)` gives key i; `put_key(at, key)` and `put_payload(at, payload)` write.
// `status` holds 256 words a tile, zero at the start; `next_status` is cleared for the pass that follows.
template <class K, int ITEMS, int T, bool PAYLOAD, class Load, class PutKey, class PutPayload>
DEV void radix_pass(int32 n, int shift, const uint32* offsets, uint32* ticket, uint32* status, uint32* next_status,
                    Load load, PutKey put_key, PutPayload put_payload) {
    constexpr int W = T / 32, TILE = T * ITEMS;
    union pool { K keys[TILE]; uint32 payloads[PAYLOAD ? TILE : 1]; };
    __shared__ pool exchange;
    __shared__ uint16 counts[W][digit_count];
    __shared__ uint32 local[digit_count], global[digit_count], scratch[8], tile_of_block;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) tile_of_block = atomicAdd(ticket, 1u);
    for (int i = t; i < W * (int)digit_count; i += T) ((uint16*)counts)[i] = 0;
    __syncthreads();
    const int32 tile = (int32)tile_of_block, first = tile * TILE, here = n - first < TILE ? n - first : TILE;

    // Keys, warp by warp in order.
    K key[ITEMS];
    uint32 payload[PAYLOAD ? ITEMS : 1];
    uint16 rank[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int at = warp * 32 * ITEMS + i * 32 + lane;
        key[i] = 0;
        if (at < here) key[i] = load(first + at, payload[PAYLOAD ? i : 0]);
    }
    // Rank among equal digits of the warp.
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const bool valid = warp * 32 * ITEMS + i * 32 + lane < here;
        const uint32 digit = digit_at(key[i], shift), peers = peers_of(digit, valid);
        const uint32 below = __popc(peers & ((1u << lane) - 1));
        const uint32 before = counts[warp][digit];
        __syncwarp();
        if (valid && below == 0) counts[warp][digit] = (uint16)(before + __popc(peers));
        __syncwarp();
        rank[i] = (uint16)(before + below);
    }
    __syncthreads();
    // Per digit: over warps, over digits, over tiles.
    uint32 total = 0;
    if (t < (int)digit_count) {
        for (int w = 0; w < W; w++) {
            const uint32 count = counts[w][t];
            counts[w][t] = (uint16)total;
            total += count;
        }
        *(volatile uint32*)(status + (int64)tile * digit_count + t) = total | (tile == 0 ? count_whole : count_own);
        next_status[(int64)tile * digit_count + t] = 0;
    }
    const uint32 start = prefix_256(total, scratch);
    if (t < (int)digit_count) {
        local[t] = start;
        uint32 before = 0;
        for (int32 k = tile - 1; k >= 0;) {
            const uint32 word = *(volatile uint32*)(status + (int64)k * digit_count + t);
            if (word == 0) continue;
            before += word & count_bits;
            if (word & count_whole) break;
            k--;
        }
        if (tile > 0) *(volatile uint32*)(status + (int64)tile * digit_count + t) = (before + total) | count_whole;
        global[t] = offsets[t] + before - start;
    }
    __syncthreads();
    // Into order within the tile, then out in runs.
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const uint32 digit = digit_at(key[i], shift);
        rank[i] = (uint16)(local[digit] + counts[warp][digit] + rank[i]);
        if (warp * 32 * ITEMS + i * 32 + lane < here) exchange.keys[rank[i]] = key[i];
    }
    __syncthreads();
    uint32 to[PAYLOAD ? ITEMS : 1];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int at = t + i * T;
        if (at < here) {
            const K k = exchange.keys[at];
            const uint32 where = global[digit_at(k, shift)] + at;
            put_key(where, k);
            to[PAYLOAD ? i : 0] = where;
        }
    }
    if constexpr (PAYLOAD) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            if (warp * 32 * ITEMS + i * 32 + lane < here) exchange.payloads[rank[i]] = payload[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) if (t + i * T < here) put_payload(to[i], exchange.payloads[t + i * T]);
    }
}
