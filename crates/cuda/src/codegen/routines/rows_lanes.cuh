// Sorts rows of at most 256 elements in registers by Batcher's bitonic network, with LANES lanes per row and V elements
// per lane. Keys contain their position, so that no two are equal and the order is stable.
struct wide_key { uint64 high; uint32 low; };
DEV bool precedes(uint32 a, uint32 b) { return a < b; }
DEV bool precedes(uint64 a, uint64 b) { return a < b; }
DEV bool precedes(wide_key a, wide_key b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }
DEV uint32 from_lane(uint32 k, int mask) { return __shfl_xor_sync(0xffffffffu, k, mask); }
DEV uint64 from_lane(uint64 k, int mask) { return __shfl_xor_sync(0xffffffffu, k, mask); }
DEV wide_key from_lane(wide_key k, int mask) { return wide_key{from_lane(k.high, mask), from_lane(k.low, mask)}; }
template <int bytes> struct positioned_key {
    typedef uint64 type;
    static DEV uint64 of(uint32 k, int position) { return (uint64)k << 16 | (uint32)position; }
    static DEV uint64 last() { return ~0ull; }
    static DEV uint32 position(uint64 k) { return (uint32)k & 0xffff; }
};
struct narrow_key {
    typedef uint32 type;
    static DEV uint32 of(uint32 k, int position) { return k << 16 | (uint32)position; }
    static DEV uint32 last() { return ~0u; }
    static DEV uint32 position(uint32 k) { return k & 0xffff; }
};
template <> struct positioned_key<1> : narrow_key {};
template <> struct positioned_key<2> : narrow_key {};
template <> struct positioned_key<8> {
    typedef wide_key type;
    static DEV wide_key of(uint64 k, int position) { return wide_key{k, (uint32)position}; }
    static DEV wide_key last() { return wide_key{~0ull, ~0u}; }
    static DEV uint32 position(wide_key k) { return k.low; }
};

template <class T, bool INDICES, int LANES, int V, int THREADS>
DEV void rows_lanes(const T* x, T* values_out, int64* indices_out, int64 rows, int64 n) {
    typedef positioned_key<sizeof(T)> Key;
    typedef typename Key::type K;
    constexpr int N = LANES * V;
    __shared__ uint8 positions[THREADS * V];
    const int lane = threadIdx.x % LANES, count = (int)n;
    const int64 row = (int64)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    const bool in_range = row < rows;
    x += row * n;
    uint8* row_positions = positions + threadIdx.x / LANES * N;
    K k[V];
#pragma unroll
    for (int v = 0; v < V; v++) {
        const int j = v * LANES + lane;
        k[v] = Key::last();
        if (in_range && j < count) k[v] = Key::of(key_of(x[j]), j);
    }
    // Element i of the network is number i % V of lane i / V.
#pragma unroll
    for (int part = 2; part <= N; part *= 2) {
#pragma unroll
        for (int d = part / 2; d > 0; d /= 2) {
            if (d >= V) {
                const bool low_side = (lane * V & d) == 0;
#pragma unroll
                for (int v = 0; v < V; v++) {
                    const bool up = ((lane * V + v) & part) == 0;
                    const K other = from_lane(k[v], d / V);
                    if (precedes(other, k[v]) == (low_side == up)) k[v] = other;
                }
            } else {
#pragma unroll
                for (int v = 0; v < V; v++)
                    if ((v & d) == 0) {
                        const bool up = ((lane * V + v) & part) == 0;
                        const K a = k[v], b = k[v + d < V ? v + d : v];
                        if (precedes(b, a) == up) {
                            k[v] = b;
                            k[v + d < V ? v + d : v] = a;
                        }
                    }
            }
        }
    }
#pragma unroll
    for (int v = 0; v < V; v++) row_positions[lane * V + v] = (uint8)Key::position(k[v]);
    __syncwarp();
#pragma unroll
    for (int v = 0; v < V; v++) {
        const int j = v * LANES + lane;
        if (in_range && j < count) {
            if constexpr (INDICES) indices_out[row * n + j] = row_positions[j];
            else values_out[row * n + j] = x[row_positions[j]];
        }
    }
}
