// Counts 8-bit digits in a block, for radix sorts.
constexpr int RADIX = 256;

// Returns the lanes of the warp with the same digit. MATCH = 0 uses ballots, 1 the match instruction.
template <int MATCH> DEV uint32 peers_of(uint32 d) {
    if constexpr (MATCH == 1) return __match_any_sync(0xffffffffu, d);
    uint32 peers = 0xffffffffu;
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
        bool set = d >> bit & 1;
        uint32 with = __ballot_sync(0xffffffffu, set);
        peers &= set ? with : ~with;
    }
    return peers;
}
// Returns the position of an element of digit `d` and advances the warp's counter. Lanes keep their order.
template <int MATCH> DEV uint32 next_position(uint32* counters, uint32 d, uint32 lower) {
    uint32 peers = peers_of<MATCH>(d), at = counters[d];
    __syncwarp();
    if ((peers & lower) == 0) counters[d] = at + __popc(peers);
    __syncwarp();
    return at + __popc(peers & lower);
}
// Exclusive scan of 256 values, one per thread; `scratch` holds 8. All threads of the block must call it.
template <class O> DEV O exclusive_scan_bins(O x, O* scratch) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    O sum = x;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        O left = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += left;
    }
    if (lane == 31 && warp < 8) scratch[warp] = sum;
    __syncthreads();
    O before = sum - x;
#pragma unroll
    for (int w = 0; w < 8; w++) if (w < warp) before += scratch[w];
    return before;
}
