// Stable radix sort by 8-bit digits, least significant first: one histogram of all digits, then one pass per digit that
// reads and writes every element once (Adinets & Merrill 2022, "Onesweep"). The pass of a digit that is the same
// everywhere is skipped. Rows are sorted independently.
struct no_positions {};

// Zeroes 32-bit words.
DEV void radix_clear(uint32* words, int64 n) {
    int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = 0;
}

// Counts the digits of all passes. Several copies of the counters reduce conflicts of equal digits in a warp.
template <class T, bool EQUAL, class O, int THREADS, int COPIES>
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
                const sort_word<T> w = EQUAL ? encode_equal(e[u]) : encode(e[u]);
#pragma unroll
                for (int p = 0; p < P; p++) atomicAdd(counts + (p * RADIX + digit<T, EQUAL>(w, p)) * COPIES + copy, 1u);
            }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < P * RADIX; i += THREADS) {
        uint32 sum = 0;
#pragma unroll
        for (int c = 0; c < COPIES; c++) sum += counts[i * COPIES + (c + i) % COPIES];
        if (sum != 0) atomicAdd(bins + row * P * RADIX + i, (O)sum);
    }
}

// Turns counts into the start of each digit. A block handles a row and pass. Bit p of `active` is set if digit p needs
// its pass.
template <class O> DEV void radix_starts(O* bins, uint32* active, int64 n, int64 passes) {
    __shared__ O scratch[8];
    O* bin = bins + (int64)blockIdx.x * RADIX + threadIdx.x;
    const O count = *bin;
    if (__any_sync(0xffffffffu, count != 0 && count != (O)n) && threadIdx.x % 32 == 0)
        atomicOr(active, 1u << (uint32)(blockIdx.x % (uint32)passes));
    *bin = exclusive_scan_bins<O>(count, scratch);
}

// Prefetches the elements of later blocks into the L2 cache.
template <class T> DEV void prefetch(const T* p, int bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint64 at = (uint64)p & ~15ull;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(at), "r"(bytes) : "memory");
#endif
}

// One pass. Elements move between `even` and `odd` such that the last pass writes to `even`. With an index type I the
// positions in the row are moved too: the last pass writes them to `indices_out` and writes no elements.
template <class T, class I, class O, int THREADS, int ITEMS, int LOOKBACK, int MATCH>
DEV void radix_pass(const T* x, T* even, T* odd, I* even_positions, I* odd_positions, int64* indices_out,
                    const O* starts, const uint32* active, O* even_status, O* odd_status, uint32* tickets, int64 n,
                    int64 tiles, int64 pass, int64 prefetch_tiles) {
    typedef sort_word<T> W;
    constexpr int TILE = THREADS * ITEMS, WARPS = THREADS / 32, P = digits<T>;
    constexpr bool PAIRS = !same<I, no_positions>;
    constexpr int FLAG = sizeof(O) * 8 - 2;
    constexpr O MASK = ((O)1 << FLAG) - 1;
    constexpr int BYTES = TILE * (sizeof(T) > sizeof(I) ? sizeof(T) : sizeof(I));
    static_assert(THREADS >= RADIX && THREADS % 32 == 0, "a thread a digit");
    __shared__ vec<uint32, 4> room[(BYTES + 15) / 16];
    __shared__ uint32 counts[WARPS][RADIX];
    __shared__ O base_of[RADIX];
    __shared__ uint32 scratch[8];
    __shared__ uint32 block_ticket;
    W* keys = (W*)room;
    const uint32 mask = max(*active, 1u);
    if ((mask >> pass & 1) == 0) return;
    const int pass_rank = __popc(mask & ((1u << pass) - 1)), passes_left = __popc(mask >> pass) - 1;
    const bool first_pass = pass_rank == 0, last_pass = passes_left == 0, to_odd = passes_left % 2 != 0;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) block_ticket = atomicAdd(tickets + pass, 1u);
#pragma unroll
    for (int i = lane; i < RADIX; i += 32) counts[warp][i] = 0;
    __syncthreads();
    const uint32 ticket = block_ticket;
    const int64 row = ticket / (uint32)tiles;
    const int64 tile = ticket - row * tiles, left = n - tile * TILE;
    const int count = (int)min(left, (int64)TILE);
    const W* from = (const W*)(to_odd ? even : odd) + row * n + tile * TILE;
    W* to = (W*)(to_odd ? odd : even) + row * n;
    O* status = pass_rank % 2 == 0 ? even_status : odd_status;
    O* next_status = pass_rank % 2 == 0 ? odd_status : even_status;
    if (threadIdx.x == 0 && prefetch_tiles > 0 && left >= (prefetch_tiles + 1) * TILE) {
        if (first_pass) prefetch(x + row * n + (tile + prefetch_tiles) * TILE, TILE * (int)sizeof(T));
        else prefetch(from + prefetch_tiles * TILE, TILE * (int)sizeof(T));
    }

    // Warps take consecutive parts, lanes neighboring elements: the position in the tile is (warp, item, lane).
    const int first = warp * (32 * ITEMS) + lane;
    W e[ITEMS];
    auto read = [&](auto* p, auto as_word) {
        if (count == TILE) {
#pragma unroll
            for (int i = 0; i < ITEMS; i++) e[i] = as_word(p[first + 32 * i]);
        } else {
#pragma unroll
            for (int i = 0; i < ITEMS; i++) if (first + 32 * i < count) e[i] = as_word(p[first + 32 * i]);
        }
    };
    if (first_pass) read(x + row * n + tile * TILE, [](T v) { return PAIRS ? encode_equal(v) : encode(v); });
    else read(from, [](W w) { return w; });
    // Elements past the row's end get the last digit and are not written.
    auto digit_of = [&](int i) {
        return first + 32 * i < count ? digit<T, PAIRS>(e[i], (int)pass) : (uint32)(RADIX - 1);
    };
#pragma unroll
    for (int i = 0; i < ITEMS; i++) atomicAdd(counts[warp] + digit_of(i), 1u);
    __syncthreads();

    // One thread per digit. The tile's count is published before anything else, so that other tiles do not wait for it.
    O* status_word = status + (int64)ticket * RADIX + threadIdx.x;
    uint32 total = 0;
    if (threadIdx.x < RADIX) {
#pragma unroll
        for (int w = 0; w < WARPS; w++) total += counts[w][threadIdx.x];
        *(volatile O*)status_word = (tile == 0 ? (O)2 : (O)1) << FLAG | total;
        next_status[(int64)ticket * RADIX + threadIdx.x] = 0;
    }
    const uint32 start = exclusive_scan_bins<uint32>(total, scratch);
    if (threadIdx.x < RADIX) {
        uint32 at = start;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            uint32 counted = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = at;
            at += counted;
        }
    }
    __syncthreads();
    // The positions of pairs in the tile, two per register, for the positions that follow.
    constexpr int POSITION_WORDS = PAIRS ? (ITEMS + 1) / 2 : 1;
    uint32 tile_positions[POSITION_WORDS];
    const uint32 lower = (1u << lane) - 1;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        uint32 at = next_position<MATCH>(counts[warp], digit_of(i), lower);
        keys[at] = e[i];
        if constexpr (PAIRS) tile_positions[i / 2] = i % 2 == 0 ? at : tile_positions[i / 2] | at << 16;
    }
    if (threadIdx.x < RADIX) {
        O sum = 0;
        if (tile > 0) {
            // Several tiles at a time, since each step back costs the latency of the L2 cache.
            int64 back = tile;
            for (bool continues = true; continues;) {
                O status_words[LOOKBACK];
#pragma unroll
                for (int k = 0; k < LOOKBACK; k++)
                    status_words[k] =
                        k < back ? *(const volatile O*)(status_word - (int64)(tile - back + k + 1) * RADIX) : 0;
#pragma unroll
                for (int k = 0; k < LOOKBACK; k++) {
                    // The first tile that has not published yet is polled again.
                    continues &= status_words[k] >> FLAG != 0;
                    if (continues) {
                        sum += status_words[k] & MASK;
                        back--;
                        continues = status_words[k] >> FLAG != 2;
                        if (!continues) back = 0;
                    }
                }
                continues = back > 0;
            }
            *(volatile O*)status_word = (O)2 << FLAG | (sum + total);
        }
        base_of[threadIdx.x] = starts[(row * P + pass) * RADIX + threadIdx.x] + sum - start;
    }
    __syncthreads();

    O target[PAIRS ? ITEMS : 1];
    auto write = [&](auto put) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            int j = i * THREADS + threadIdx.x;
            if (j < count) {
                W w = keys[j];
                O at = base_of[digit<T, PAIRS>(w, (int)pass)] + (O)j;
                if constexpr (PAIRS) target[i] = at;
                put(at, w);
            }
        }
    };
    if (!last_pass) write([&](O at, W w) { to[at] = w; });
    else if constexpr (PAIRS) write([](O, W) {});
    else write([&](O at, W w) { ((T*)to)[at] = decode<T>(w); });
    if constexpr (PAIRS) {
        I* positions = (I*)room;
        const I* from_positions = (to_odd ? even_positions : odd_positions) + row * n;
        I* to_positions = (to_odd ? odd_positions : even_positions) + row * n;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            int j = first + 32 * i;
            if (j < count) {
                int64 in_row = tile * TILE + j;
                positions[tile_positions[i / 2] >> 16 * (i % 2) & 0xffff] =
                    first_pass ? (I)in_row : from_positions[in_row];
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            int j = i * THREADS + threadIdx.x;
            if (j < count) {
                if (last_pass) indices_out[row * n + target[i]] = (int64)positions[j];
                else to_positions[target[i]] = positions[j];
            }
        }
    }
}
