// Selection by digits, most significant first. A pass counts the next digit of the candidates: the keys whose digits so
// far are those of the wanted element. Then that digit of the element is known (Alabi et al. 2012).
constexpr int SELECT_BITS = 11, SELECT_BINS = 1 << SELECT_BITS;

// Keys in the order of the selection; with LARGEST the largest value comes first.
template <class T, bool LARGEST> DEV key<T> select_key(T x) {
    constexpr key<T> all = (key<T>)(~0ull >> (64 - 8 * sizeof(T)));
    return LARGEST ? key_of(x) ^ all : key_of(x);
}
// Returns the value of a key. -0 comes back as 0, and every NaN as the same one.
template <class T> DEV T value_of_key(key<T> k) {
    constexpr key<T> sign = (key<T>)1 << (8 * sizeof(T) - 1);
    if constexpr (any_float<T>) k = k & sign ? k ^ sign : ~k;
    else if constexpr (is_signed<T>) k ^= sign;
    return bitcast<T>((typename bits_word<sizeof(T)>::type)k);
}
template <class T> constexpr int select_passes = (8 * (int)sizeof(T) + SELECT_BITS - 1) / SELECT_BITS;
// Lowest bit of a pass's digit.
template <class T> DEV int select_shift(int pass) { return max(8 * (int)sizeof(T) - SELECT_BITS * (pass + 1), 0); }
// The last pass may have fewer bits.
template <class T> DEV uint32 select_digit(key<T> k, int pass) {
    constexpr int LAST = 8 * (int)sizeof(T) - SELECT_BITS * (select_passes<T> - 1);
    const uint32 most = pass + 1 == select_passes<T> ? (1u << LAST) - 1 : SELECT_BINS - 1;
    return (uint32)(k >> select_shift<T>(pass)) & most;
}

// The state of a row's selection: the element's digits so far, and its rank among the keys with these digits.
struct selection { uint64 digits; int64 rank; };

DEV void select_begin(selection* state, uint32* bins, int64 rows, int64 rank) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) state[i] = selection{0, rank};
    if (i < rows * SELECT_BINS) bins[i] = 0;
}

template <class T, bool LARGEST, int THREADS, int COPIES>
DEV void select_count(const T* x, uint32* bins, const selection* state, int64 n, int64 chunks, int64 length,
                      int64 pass) {
    constexpr int U = 8;
    __shared__ uint32 counts[SELECT_BINS * COPIES];
    for (int i = threadIdx.x; i < SELECT_BINS * COPIES; i += THREADS) counts[i] = 0;
    __syncthreads();
    const int64 row = blockIdx.x / chunks, first = (blockIdx.x - row * chunks) * length;
    const int count = (int)min(length, n - first), shift = select_shift<T>((int)pass - 1), copy = threadIdx.x % COPIES;
    const key<T> wanted = (key<T>)state[row].digits;
    const T* from = x + row * n + first;
    for (int base = threadIdx.x; base < count; base += THREADS * U) {
        T e[U];
#pragma unroll
        for (int u = 0; u < U; u++) if (base + u * THREADS < count) e[u] = from[base + u * THREADS];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const key<T> k = select_key<T, LARGEST>(e[u]);
            if (base + u * THREADS < count && (pass == 0 || k >> shift == wanted))
                atomicAdd(counts + select_digit<T>(k, (int)pass) * COPIES + copy, 1u);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SELECT_BINS; i += THREADS) {
        uint32 sum = 0;
#pragma unroll
        for (int c = 0; c < COPIES; c++) sum += counts[i * COPIES + (c + i) % COPIES];
        if (sum != 0) atomicAdd(bins + row * SELECT_BINS + i, sum);
    }
}

// Exclusive scan of the values of the threads; `scratch` holds one value per warp.
template <int THREADS> DEV uint32 exclusive_scan_threads(uint32 x, uint32* scratch) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32 sum = x;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        uint32 left = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += left;
    }
    if (lane == 31) scratch[warp] = sum;
    __syncthreads();
    uint32 before = sum - x;
#pragma unroll
    for (int w = 0; w < THREADS / 32; w++) if (w < warp) before += scratch[w];
    __syncthreads();
    return before;
}
// Finds the digit in whose bin the element of that rank is; one thread calls `found`.
template <int THREADS, class Found> DEV void find_digit(const uint32* bins, int64 rank, uint32* scratch, Found found) {
    constexpr int EACH = SELECT_BINS / THREADS;
    uint32 own[EACH], sum = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        own[i] = bins[threadIdx.x * EACH + i];
        sum += own[i];
    }
    int64 before = exclusive_scan_threads<THREADS>(sum, scratch);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (before <= rank && rank < before + own[i]) found(threadIdx.x * EACH + i, rank - before);
        before += own[i];
    }
}
// Adds the digit to a row's selection; with VALUES the last pass writes the element itself.
template <class T, bool VALUES> DEV void select_digit_of_rows(uint32* bins, selection* state, T* values, int64 pass) {
    __shared__ uint32 scratch[8];
    uint32* mine = bins + (int64)blockIdx.x * SELECT_BINS;
    const selection known_selection = state[blockIdx.x];
    constexpr int LAST = 8 * (int)sizeof(T) - SELECT_BITS * (select_passes<T> - 1);
    const bool last = pass + 1 == select_passes<T>;
    find_digit<256>(mine, known_selection.rank, scratch, [&](uint32 digit, int64 rank) {
        const uint64 digits = known_selection.digits << (last ? LAST : SELECT_BITS) | digit;
        state[blockIdx.x] = selection{digits, rank};
        if (VALUES && last) values[blockIdx.x] = value_of_key<T>((key<T>)digits);
    });
    __syncthreads();
    for (int i = threadIdx.x; i < SELECT_BINS; i += 256) mine[i] = 0;
}

// The selected keys are those before the element of rank k - 1, the element itself, and as many equal ones as fit, in
// the order of their positions. A block counts the keys of a tile, or gathers them. An entry of `counts` has equal keys
// above 31 bits of smaller keys, first of each tile, then of all tiles before it. 256 threads; warps take consecutive
// parts, lanes neighboring elements.
template <class T, bool LARGEST, int ITEMS, bool GATHER>
DEV void select_tile(const T* x, const selection* state, key<T>* keys_out, uint32* positions_out, uint64* counts,
                     int64 n, int64 k, int64 tiles) {
    constexpr int TILE = 256 * ITEMS;
    constexpr uint64 FIELD = (1ull << 31) - 1;
    __shared__ uint64 sums[8];
    const int64 row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles, first = tile * TILE;
    uint64 before = 0;
    if (GATHER) {
        before = counts[blockIdx.x];
        // If few elements are selected, most tiles have none.
        if (tile + 1 < tiles && counts[blockIdx.x + 1] == before) return;
    }
    const key<T> bound = (key<T>)state[row].digits;
    // The number of equal keys to take: the rank among them is known.
    const int64 equals = state[row].rank + 1;
    x += row * n + first;
    const int count = (int)min((int64)TILE, n - first), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int start = warp * (32 * ITEMS) + lane;
    key<T> own[ITEMS];
    if (count == TILE) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = select_key<T, LARGEST>(x[start + 32 * i]);
    } else {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = start + 32 * i < count ? select_key<T, LARGEST>(x[start + 32 * i]) : 0;
    }
    auto is_less = [&](int i) { return start + 32 * i < count && own[i] < bound; };
    auto is_equal = [&](int i) { return start + 32 * i < count && own[i] == bound; };
    uint32 less = 0, equal = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        less += __popc(__ballot_sync(0xffffffffu, is_less(i)));
        equal += __popc(__ballot_sync(0xffffffffu, is_equal(i)));
    }
    if (lane == 0) sums[warp] = (uint64)equal << 31 | less;
    __syncthreads();
    uint64 all = 0;
#pragma unroll
    for (int w = 0; w < 8; w++) {
        if (w < warp) before += sums[w];
        all += sums[w];
    }
    if constexpr (!GATHER) {
        if (threadIdx.x == 0) counts[blockIdx.x] = all;
    } else {
        int64 less_at = (int64)(before & FIELD), equal_at = (int64)(before >> 31);
        const uint32 lower = (1u << lane) - 1;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const uint32 are_less = __ballot_sync(0xffffffffu, is_less(i));
            const uint32 are_equal = __ballot_sync(0xffffffffu, is_equal(i));
            const int64 nth = equal_at + __popc(are_equal & lower);
            if (is_less(i) || (is_equal(i) && nth < equals)) {
                const int64 at = row * k + less_at + __popc(are_less & lower) + min(nth, equals);
                keys_out[at] = own[i];
                positions_out[at] = (uint32)(first + start + 32 * i);
            }
            less_at += __popc(are_less);
            equal_at += __popc(are_equal);
        }
    }
}
// Turns the counts of tiles into those of all tiles before. A block per row, 1024 threads.
DEV void select_tiles_before(uint64* counts, int64 tiles) {
    __shared__ uint64 sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64 each = (tiles + 1023) / 1024, from = min(threadIdx.x * each, tiles), to = min(from + each, tiles);
    counts += blockIdx.x * tiles;
    uint64 own = 0;
#pragma unroll 8
    for (int64 t = from; t < to; t++) own += counts[t];
    uint64 sum = own;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const uint64 left = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += left;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    uint64 before = sum - own;
    for (int w = 0; w < warp; w++) before += sums[w];
#pragma unroll 8
    for (int64 t = from; t < to; t++) {
        const uint64 count = counts[t];
        counts[t] = before;
        before += count;
    }
}

// Rows that fit into shared memory, one per block. Digits are counted there until few enough keys (at most MOST) are in
// the bins up to that of the wanted element. These keys are gathered in order and sorted by a network on (key,
// position).
template <class T, bool LARGEST, int THREADS, int MOST>
DEV void select_rows(const T* x, int64* out, int64 n, int64 k) {
    constexpr int WARPS = THREADS / 32;
    extern __shared__ vec<uint32, 4> select_room[];
    __shared__ uint32 bins[SELECT_BINS];
    __shared__ uint32 scratch[WARPS];
    __shared__ key<T> chosen[MOST];
    __shared__ uint32 positions[MOST];
    __shared__ selection state;
    key<T>* keys = (key<T>*)select_room;
    const int count = (int)n, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x += blockIdx.x * n;
    for (int i = threadIdx.x; i < SELECT_BINS; i += THREADS) bins[i] = 0;
    __syncthreads();
    for (int base = threadIdx.x; base < count; base += THREADS * 8) {
        T e[8];
#pragma unroll
        for (int u = 0; u < 8; u++) if (base + u * THREADS < count) e[u] = x[base + u * THREADS];
#pragma unroll
        for (int u = 0; u < 8; u++)
            if (base + u * THREADS < count) {
                const key<T> word = select_key<T, LARGEST>(e[u]);
                keys[base + u * THREADS] = word;
                atomicAdd(bins + select_digit<T>(word, 0), 1u);
            }
    }
    // Selected keys have leading digits below `digits`, or equal to it and a rank among these of at most `rank`.
    uint64 digits = 0;
    int64 rank = k - 1, less = 0;
    int shift = 0;
    for (int pass = 0; pass < select_passes<T>; pass++) {
        shift = select_shift<T>(pass);
        if (pass > 0) {
            for (int i = threadIdx.x; i < SELECT_BINS; i += THREADS) bins[i] = 0;
            __syncthreads();
            const int above = select_shift<T>(pass - 1);
            for (int i = threadIdx.x; i < count; i += THREADS)
                if ((uint64)(keys[i] >> above) == digits) atomicAdd(bins + select_digit<T>(keys[i], pass), 1u);
        }
        __syncthreads();
        constexpr int LAST = 8 * (int)sizeof(T) - SELECT_BITS * (select_passes<T> - 1);
        const int bits = pass + 1 == select_passes<T> ? LAST : SELECT_BITS;
        find_digit<THREADS>(bins, rank, scratch, [&](uint32 digit, int64 left) {
            state = selection{digits << bits | digit, left};
        });
        __syncthreads();
        less += rank - state.rank;
        rank = state.rank;
        digits = state.digits;
        const uint32 in_bin = bins[(uint32)digits & ((1u << bits) - 1)];
        __syncthreads();
        if (less + in_bin <= MOST) {
            rank = in_bin - 1;
            break;
        }
    }
    // Warps take consecutive parts, so that positions are in order. First they count.
    const int each = (count + THREADS - 1) / THREADS * 32, from = min(warp * each, count), to = min(from + each, count);
    const int equals = (int)rank + 1;
    uint32 own_less = 0, own_equal = 0;
    for (int i = from + lane; i < to; i += 32) {
        const uint64 head = keys[i] >> shift;
        own_less += head < digits;
        own_equal += head == digits;
    }
    uint32 counted = own_equal << 16 | own_less;
#pragma unroll
    for (int d = 16; d > 0; d /= 2) counted += __shfl_xor_sync(0xffffffffu, counted, d);
    if (lane == 0) scratch[warp] = counted;
    __syncthreads();
    uint32 before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) before += scratch[w];
        all += scratch[w];
    }
    int less_at = before & 0xffff, equal_at = before >> 16;
    const uint32 lower = (1u << lane) - 1;
    for (int base = from; base < to && counted != 0; base += 32) {
        const int i = base + lane;
        const uint64 head = i < to ? (uint64)(keys[i] >> shift) : ~0ull;
        const bool is_less = i < to && head < digits, is_equal = i < to && head == digits;
        const uint32 are_less = __ballot_sync(0xffffffffu, is_less), are_equal = __ballot_sync(0xffffffffu, is_equal);
        const int nth = equal_at + __popc(are_equal & lower);
        if (is_less || (is_equal && nth < equals)) {
            const int at = less_at + __popc(are_less & lower) + min(nth, equals);
            chosen[at] = keys[i];
            positions[at] = (uint32)i;
        }
        less_at += __popc(are_less);
        equal_at += __popc(are_equal);
    }
    const int found = (int)(all & 0xffff) + min((int)(all >> 16), equals);
    int length = 2;
    while (length < found) length *= 2;
    for (int i = found + threadIdx.x; i < length; i += THREADS) {
        chosen[i] = ~(key<T>)0;
        positions[i] = ~0u;
    }
    __syncthreads();
    for (int part = 2; part <= length; part *= 2) {
        for (int d = part / 2; d > 0; d /= 2) {
            for (int t = threadIdx.x; t < length / 2; t += THREADS) {
                const int i = 2 * t - (t & (d - 1)), j = i + d;
                const key<T> a = chosen[i], b = chosen[j];
                const uint32 p = positions[i], q = positions[j];
                const bool swapped = b < a || (a == b && q < p);
                if (swapped == ((i & part) == 0)) {
                    chosen[i] = b;
                    chosen[j] = a;
                    positions[i] = q;
                    positions[j] = p;
                }
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < k; i += THREADS) out[blockIdx.x * k + i] = positions[i];
}
