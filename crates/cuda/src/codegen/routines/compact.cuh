// Gathers the elements that a mask selects, in order. A block handles MASK_TILE elements of the mask.
constexpr int MASK_TILE = 4096, MASK_WORDS = MASK_TILE / 64;
// Packs the mask into bits, 16 per lane at a time, and counts the bits of each tile. A warp handles a tile.
DEV void pack_mask(const uint8* mask, int64* counts, int64 n, int64 tiles) {
    const int lane = threadIdx.x % 32;
    const int64 tile = (int64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (tile >= tiles) return;
    const int64 first = tile * MASK_TILE;
    vec<uint8, 16> m[8];
    if (n - first >= MASK_TILE) {
#pragma unroll
        for (int k = 0; k < 8; k++) m[k] = load<16>(mask + first + (k * 32 + lane) * 16);
    } else {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const int64 at = first + (k * 32 + lane) * 16;
            m[k] = load_partial<16>(mask + at, n - at);
        }
    }
    uint32 sum = 0;
    uint16* bits_out = (uint16*)(counts + tiles + tile * MASK_WORDS);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        union { vec<uint8, 16> bytes; uint32 words[4]; } u;
        u.bytes = m[k];
        uint32 bits = 0;
#pragma unroll
        for (int w = 0; w < 4; w++) {
            // Bytes are 0 or 1: the product brings their bits next to each other.
            bits |= (u.words[w] * 0x01020408u >> 24 & 15) << (4 * w);
        }
        sum += __popc(bits);
        bits_out[k * 32 + lane] = (uint16)bits;
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0) counts[tile] = sum;
}
// `packed` holds the count up to the end of each tile, then the bits. With INDICES the result is the indices instead of
// values. 256 threads.
template <class T, bool INDICES>
DEV void compact(const int64* packed, const T* values, T* out, int64* indices_out, int64 tiles, int64 size) {
    __shared__ uint16 offsets[MASK_TILE];
    __shared__ uint32 sums[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64 tile = blockIdx.x, first = tile * MASK_TILE;
    const int64 base = tile > 0 ? packed[tile - 1] : 0;
    uint32 bits = ((const uint16*)(packed + tiles + tile * MASK_WORDS))[threadIdx.x];
    const uint32 own = __popc(bits);
    uint32 sum = own;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        uint32 left = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += left;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    uint32 position = sum - own, all = 0;
#pragma unroll
    for (int w = 0; w < 8; w++) {
        if (w < warp) position += sums[w];
        all += sums[w];
    }
    for (; bits != 0; bits &= bits - 1) offsets[position++] = (uint16)(threadIdx.x * 16 + __ffs(bits) - 1);
    __syncthreads();
    const int count = (int)min((int64)all, size - base);
    for (int j = threadIdx.x; j < count; j += 256) {
        if constexpr (INDICES) indices_out[base + j] = first + offsets[j];
        else out[base + j] = values[first + offsets[j]];
    }
}
