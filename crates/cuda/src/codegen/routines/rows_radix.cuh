// Sorts rows that fit into shared memory, one per block, by the passes of the radix sort.
template <class T, bool INDICES, int THREADS, int ITEMS>
DEV void rows_radix(const T* x, T* values_out, int64* indices_out, int64 n) {
    typedef sort_word<T> W;
    constexpr int TILE = THREADS * ITEMS, WARPS = THREADS / 32, P = digits<T>;
    extern __shared__ vec<uint32, 4> rows_room[];
    __shared__ uint32 counts[WARPS][RADIX];
    __shared__ uint32 scratch[8];
    __shared__ uint64 differing;
    W* keys = (W*)rows_room;
    uint16* positions = (uint16*)(keys + TILE);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = warp * (32 * ITEMS) + lane, count = (int)n;
    const T* from = x + blockIdx.x * n;
    W e[ITEMS];
    uint16 position[INDICES ? ITEMS : 1];
    auto word = [](T v) { return INDICES ? encode_equal(v) : encode(v); };
    if (threadIdx.x == 0) differing = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int j = first + 32 * i;
        if (j < count) e[i] = word(from[j]);
        if constexpr (INDICES) position[i] = (uint16)j;
    }
    __syncthreads();
    // The pass of a digit that is the same everywhere is skipped.
    if constexpr (!cplx<T>) {
        const W one = word(from[0]);
        W differs = 0;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) if (first + 32 * i < count) differs |= e[i] ^ one;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) differs |= (W)__shfl_xor_sync(0xffffffffu, differs, d);
        if (lane == 0) atomicOr(&differing, (uint64)differs);
    } else if (threadIdx.x == 0) differing = ~0ull;
    __syncthreads();
    const uint64 differs = differing;
    const uint32 lower = (1u << lane) - 1;
    for (int pass = 0; pass < P; pass++) {
        if (!cplx<T> && (differs >> (8 * pass) & 255) == 0) continue;
        auto digit_of = [&](int i) {
            return first + 32 * i < count ? digit<T, INDICES>(e[i], pass) : (uint32)(RADIX - 1);
        };
#pragma unroll
        for (int i = lane; i < RADIX; i += 32) counts[warp][i] = 0;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) atomicAdd(counts[warp] + digit_of(i), 1u);
        __syncthreads();
        uint32 total = 0;
        if (threadIdx.x < RADIX) {
#pragma unroll
            for (int w = 0; w < WARPS; w++) total += counts[w][threadIdx.x];
        }
        uint32 at = exclusive_scan_bins<uint32>(total, scratch);
        if (threadIdx.x < RADIX) {
#pragma unroll
            for (int w = 0; w < WARPS; w++) {
                uint32 counted = counts[w][threadIdx.x];
                counts[w][threadIdx.x] = at;
                at += counted;
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            uint32 to = next_position<0>(counts[warp], digit_of(i), lower);
            keys[to] = e[i];
            if constexpr (INDICES) positions[to] = position[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            e[i] = keys[first + 32 * i];
            if constexpr (INDICES) position[i] = positions[first + 32 * i];
        }
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int j = first + 32 * i;
        if (j < count) {
            if constexpr (INDICES) indices_out[blockIdx.x * n + j] = position[i];
            else values_out[blockIdx.x * n + j] = decode<T>(e[i]);
        }
    }
}
