// Stable radix sort by 8-bit digits, least significant first: one histogram of all digits, then one pass a digit that
// reads and writes every element once (Adinets & Merrill 2022, "Onesweep"). Rows are sorted side by side.
struct nothing {};
constexpr int RADIX = 256;

// Zeroes 32-bit words.
DEV void radix_clear(uint32* words, int64 n) {
    int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = 0;
}

// Counts every digit of every pass. COPIES of the counters keep equal digits of a warp apart.
template <class T, class O, int THREADS, int COPIES>
DEV void radix_histogram(const T* x, O* bins, int64 n, int64 chunks, int64 length) {
    constexpr int P = digits<T>, U = 8;
    extern __shared__ uint32 counts[];
    for (int i = threadIdx.x; i < P * RADIX * COPIES; i += THREADS) counts[i] = 0;
    __syncthreads();
    const int64 row = blockIdx.x / chunks, first = (blockIdx.x - row * chunks) * length;
    const int count = (int)min(length, n - first);
    const T* from = x + row * n + first;
    const int copy = threadIdx.x % COPIES;
    for (int base = threadIdx.x; base < count; base += THREADS * U) {
        T e[U];
#pragma unroll
        for (int u = 0; u < U; u++) if (base + u * THREADS < count) e[u] = from[base + u * THREADS];
#pragma unroll
        for (int u = 0; u < U; u++)
            if (base + u * THREADS < count) {
#pragma unroll
                for (int p = 0; p < P; p++) atomicAdd(counts + (p * RADIX + digit(e[u], p)) * COPIES + copy, 1u);
            }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < P * RADIX; i += THREADS) {
        uint32 sum = 0;
#pragma unroll
        for (int c = 0; c < COPIES; c++) sum += counts[i * COPIES + c];
        if (sum != 0) atomicAdd(bins + row * P * RADIX + i, (O)sum);
    }
}

// Exclusive over 256 values, one a thread; `spare` holds 8. All threads of the block come here.
template <class O> DEV O bins_before(O x, O* spare) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    O sum = x;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        O left = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += left;
    }
    if (lane == 31 && warp < 8) spare[warp] = sum;
    __syncthreads();
    O before = sum - x;
#pragma unroll
    for (int w = 0; w < 8; w++) if (w < warp) before += spare[w];
    return before;
}
// From counts to where each digit starts: a block a row and pass.
template <class O> DEV void radix_starts(O* bins) {
    __shared__ O spare[8];
    O* mine = bins + (int64)blockIdx.x * RADIX + threadIdx.x;
    *mine = bins_before<O>(*mine, spare);
}

// The lanes of the warp that have the same digit.
DEV uint32 peers_of(uint32 d) {
    uint32 peers = 0xffffffffu;
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
        bool set = d >> bit & 1;
        uint32 with = __ballot_sync(0xffffffffu, set);
        peers &= set ? with : ~with;
    }
    return peers;
}

// One pass. With an index type I the positions in the row travel along; `indices_out` then gets them in the last pass.
template <class T, class I, class O, int THREADS, int ITEMS, int BACK>
DEV void radix_pass(const T* from, T* to, const I* with_from, I* with_to, int64* indices_out, const O* starts, O* status,
                    O* next_status, uint32* tickets, int64 n, int64 tiles, int64 pass) {
    constexpr int TILE = THREADS * ITEMS, WARPS = THREADS / 32, P = digits<T>;
    constexpr bool PAIRS = !same<I, nothing>;
    constexpr int FLAG = sizeof(O) * 8 - 2;
    constexpr O MASK = ((O)1 << FLAG) - 1;
    constexpr int BYTES = TILE * (sizeof(T) > sizeof(I) ? sizeof(T) : sizeof(I));
    static_assert(THREADS >= RADIX && THREADS % 32 == 0, "a thread a digit");
    __shared__ vec<uint32, 4> room[(BYTES + 15) / 16];
    __shared__ uint32 counts[WARPS][RADIX];
    __shared__ O base_of[RADIX];
    __shared__ uint32 spare[8];
    __shared__ uint32 my_ticket;
    T* keys = (T*)room;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) my_ticket = atomicAdd(tickets + pass, 1u);
#pragma unroll
    for (int i = lane; i < RADIX; i += 32) counts[warp][i] = 0;
    __syncthreads();
    const uint32 ticket = my_ticket;
    const int64 row = ticket / (uint32)tiles;
    const int64 tile = ticket - row * tiles, left = n - tile * TILE;
    const int count = (int)min(left, (int64)TILE);
    from += row * n + tile * TILE;
    to += row * n;

    // Warps take consecutive parts, lanes neighbours: position in the tile is (warp, item, lane).
    const int first = warp * (32 * ITEMS) + lane;
    T e[ITEMS];
    // Ranks beside their digits; for pairs two ranks a register, where registers are short.
    constexpr int RANKS = PAIRS ? (ITEMS + 1) / 2 : ITEMS;
    uint32 ranks[RANKS];
    if (count == TILE) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) e[i] = from[first + 32 * i];
    } else {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) if (first + 32 * i < count) e[i] = from[first + 32 * i];
    }
    const uint32 lower = (1u << lane) - 1;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        // What lies beyond the row's end comes last of all and is not written.
        uint32 d = first + 32 * i < count ? digit(e[i], (int)pass) : RADIX - 1;
        uint32 peers = peers_of(d), before = counts[warp][d];
        __syncwarp();
        if ((peers & lower) == 0) counts[warp][d] = before + __popc(peers);
        __syncwarp();
        uint32 rank = before + __popc(peers & lower);
        if (!PAIRS) ranks[i % RANKS] = d << 16 | rank;
        else ranks[i / 2] = i % 2 == 0 ? rank : ranks[i / 2] | rank << 16;
    }
    __syncthreads();

    // A thread a digit: the tile's count is told at once, so that others need not wait.
    O* mine = status + (int64)ticket * RADIX + threadIdx.x;
    uint32 total = 0, counted[WARPS];
    if (threadIdx.x < RADIX) {
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            counted[w] = counts[w][threadIdx.x];
            total += counted[w];
        }
        *(volatile O*)mine = (tile == 0 ? (O)2 : (O)1) << FLAG | total;
        next_status[(int64)ticket * RADIX + threadIdx.x] = 0;
    }
    uint32 start = bins_before<uint32>(total, spare);
    if (threadIdx.x < RADIX) {
        uint32 at = start;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            counts[w][threadIdx.x] = at;
            at += counted[w];
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        if (!PAIRS) {
            uint32 rank = ranks[i % RANKS];
            keys[counts[warp][rank >> 16] + (rank & 0xffff)] = e[i];
        } else {
            uint32 d = first + 32 * i < count ? digit(e[i], (int)pass) : RADIX - 1;
            uint32 at = counts[warp][d] + (ranks[i / 2] >> 16 * (i % 2) & 0xffff);
            keys[at] = e[i];
            ranks[i / 2] = i % 2 == 0 ? (ranks[i / 2] & 0xffff0000u) | at : (ranks[i / 2] & 0xffff) | at << 16;
        }
    }
    if (threadIdx.x < RADIX) {
        O sum = 0;
        if (tile > 0) {
            // Several tiles at a time: a step back costs the latency of the second-level cache.
            int64 back = tile;
            for (bool going = true; going;) {
                O seen[BACK];
#pragma unroll
                for (int k = 0; k < BACK; k++)
                    seen[k] = k < back ? *(const volatile O*)(mine - (int64)(tile - back + k + 1) * RADIX) : 0;
#pragma unroll
                for (int k = 0; k < BACK; k++) {
                    // The first that has told nothing yet is asked again.
                    going &= seen[k] >> FLAG != 0;
                    if (going) {
                        sum += seen[k] & MASK;
                        back--;
                        going = seen[k] >> FLAG != 2;
                        if (!going) back = 0;
                    }
                }
                going = back > 0;
            }
            *(volatile O*)mine = (O)2 << FLAG | (sum + total);
        }
        base_of[threadIdx.x] = starts[(row * P + pass) * RADIX + threadIdx.x] + sum - start;
    }
    __syncthreads();

    const bool write_keys = !PAIRS || pass + 1 < P;
    O target[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int j = i * THREADS + threadIdx.x;
        if (j < count) {
            T x = keys[j];
            target[i] = base_of[digit(x, (int)pass)] + (O)j;
            if (write_keys) to[target[i]] = x;
        }
    }
    if constexpr (PAIRS) {
        I* positions = (I*)room;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            int j = first + 32 * i;
            if (j < count) {
                int64 in_row = tile * TILE + j;
                positions[ranks[i / 2] >> 16 * (i % 2) & 0xffff] = pass == 0 ? (I)in_row : with_from[row * n + in_row];
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            int j = i * THREADS + threadIdx.x;
            if (j < count) {
                if (pass + 1 == P) indices_out[row * n + target[i]] = (int64)positions[j];
                else with_to[row * n + target[i]] = positions[j];
            }
        }
    }
}
