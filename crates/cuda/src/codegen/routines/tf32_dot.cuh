// float32 matrix products by the tensor cores of sm_90a ("3xTF32"), of images that tf32_split.cuh describes. Three of the
// four products of the operands' parts are summed; the fourth is below the rounding of float32. The tensor cores truncate
// when they add, so the sum of each 32 terms goes to a float32 sum outside of them. Tiles with infinity or NaN are multiplied
// in float32.
// --- the tensor cores' instructions, which the 128 threads of a warpgroup execute together

// Returns how the tensor cores find a tile of an image in shared memory: rows of 128 bytes, permuted in groups of eight.
DEV uint64 tf32_tile(const float* tile) {
    return (uint64)(to_shared(tile) >> 4 & 0x3fffu) | (uint64)1 << 16 | (uint64)(8 * 128 >> 4) << 32 | (uint64)1 << 62;
}
DEV void tf32_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEV void tf32_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Returns when all but the last N groups of products are done.
template <int N> DEV void tf32_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
#define TF32_8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
    "+f"(d[i + 6]), "+f"(d[i + 7])
#define TF32_64(d) \
    TF32_8(d, 0), TF32_8(d, 8), TF32_8(d, 16), TF32_8(d, 24), TF32_8(d, 32), TF32_8(d, 40), TF32_8(d, 48), TF32_8(d, 56)
// Keeps the compiler from moving uses of these registers across this place; it does not know when products are done.
DEV void tf32_keep(float (&d)[64]) { asm volatile("" : TF32_64(d)::"memory"); }
#define TF32_PRODUCT(a, b, add) \
    "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, " #a ", " #b ", " #add ", 1, 1;\n"
// The 8 terms of a product are 32 bytes, two of the descriptor's units.
#define TF32_NEXT(tile, by) "add.s64 " #tile ", " #tile ", " #by ";\n"
#define TF32_SMALL(add) TF32_PRODUCT(a_low, b_high, add) TF32_PRODUCT(a_high, b_low, yes) \
    TF32_NEXT(a_high, 2) TF32_NEXT(a_low, 2) TF32_NEXT(b_high, 2) TF32_NEXT(b_low, 2)
#define TF32_LARGE TF32_PRODUCT(a_high, b_high, yes) TF32_NEXT(a_high, 2) TF32_NEXT(b_high, 2)
// Starts d = the product of 64 rows and 128 columns over 32 terms. The small products come first, so that few of the sums are
// truncated at the size of the result.
DEV void tf32_multiply(float (&d)[64], uint64 a_high, uint64 a_low, uint64 b_high, uint64 b_low) {
    asm volatile(
        "{\n .reg .pred no, yes;\n .reg .b32 zero;\n .reg .b64 a_high, a_low, b_high, b_low;\n"
        "mov.b32 zero, 0;\n setp.ne.b32 no, zero, 0;\n setp.eq.b32 yes, zero, 0;\n"
        "mov.b64 a_high, %64;\n mov.b64 a_low, %65;\n mov.b64 b_high, %66;\n mov.b64 b_low, %67;\n"
        TF32_SMALL(no) TF32_SMALL(yes) TF32_SMALL(yes) TF32_SMALL(yes)
        TF32_NEXT(a_high, -8) TF32_NEXT(b_high, -8)
        TF32_LARGE TF32_LARGE TF32_LARGE TF32_LARGE "}"
        : TF32_64(d)
        : "l"(a_high), "l"(a_low), "l"(b_high), "l"(b_low));
}
#undef TF32_LARGE
#undef TF32_SMALL
#undef TF32_NEXT
#undef TF32_PRODUCT
#undef TF32_64
#undef TF32_8

template <int N> struct tf32_later {
    static constexpr int value = N;
};
// The tiles of a stage in shared memory.
struct tf32_stage {
    float a[2][TF32_TILE], b[2][TF32_TILE];
};

// Adds the products of two tiles in float32. `row` and `column` are the thread's first ones in the tiles.
DEV void tf32_add_exactly(float (&total)[64], const float* a, const float* b, int row, int column) {
#pragma unroll 1
    for (int k = 0; k < TF32_TERMS; k++) {
        const auto at = [&](int r) { return r * TF32_TERMS + (k / 4 ^ (r & 7)) * 4 + k % 4; };
        const int upper = at(row), lower = at(row + 8);
        const float x = a[upper] + a[TF32_TILE + upper], y = a[lower] + a[TF32_TILE + lower];
#pragma unroll
        for (int i = 0; i < 32; i++) {
            const int to = at(column + i / 2 * 8 + i % 2);
            const float z = b[to] + b[TF32_TILE + to];
            total[i / 2 * 4 + i % 2] += x * z;
            total[i / 2 * 4 + 2 + i % 2] += y * z;
        }
    }
}

// Starts the products of a stage in `sum`.
DEV void tf32_start(float (&sum)[64], const tf32_stage& stage, int group) {
    const float* a = stage.a[0] + group * 64 * TF32_TERMS;
    tf32_keep(sum);
    tf32_begin();
    tf32_multiply(sum, tf32_tile(a), tf32_tile(a + TF32_TILE), tf32_tile(stage.b[0]), tf32_tile(stage.b[1]));
    tf32_commit();
}
// Adds the products of a stage, unless they are added otherwise, when those of N later stages have started.
template <int N> DEV void tf32_finish(float (&total)[64], float (&sum)[64], bool skip) {
    tf32_wait<N>();
    tf32_keep(sum);
#pragma unroll
    for (int i = 0; i < 64; i++) if (!skip) total[i] += sum[i];
}

// A tile of the result: its matrix of the batch, its row and column of tiles, and the steps over the terms that it sums.
struct tf32_work {
    int64 one, slice, i, j, from, to;
    DEV tf32_work(int64 tile, int64 tiles_m, int64 tiles_n, int64 steps, int64 slices) {
        // Bands of eight rows of tiles, so that tiles of one time share operands in the L2 cache.
        constexpr int64 BAND = 8;
        const int64 plane = tiles_m * tiles_n, band_size = BAND * tiles_n;
        const int64 in_plane = tile % plane, band = in_plane / band_size, in_band = in_plane % band_size;
        const int64 height = min(BAND, tiles_m - band * BAND);
        slice = tile / plane % slices;
        one = tile / plane / slices;
        i = band * BAND + in_band % height;
        j = in_band / height;
        from = steps / 2 * slice / slices * 2;
        to = steps / 2 * (slice + 1) / slices * 2;
    }
};
// The stage of a ring that is used next, and the parity of its barrier's phase.
template <int STAGES> struct tf32_ring {
    int at = 0;
    uint32 phase = 0;
    DEV void advance() {
        phase ^= at + 1 == STAGES;
        at = at + 1 == STAGES ? 0 : at + 1;
    }
};

// Computes c = alpha · a × b + beta · addend + bias for each matrix of a batch, of operands as images; a null addend or bias
// adds nothing. `steps` is even. With several `slices` each has a part of the terms and a result of its own, to which nothing
// is added. Rows of c and of the addend are `pitch` elements apart. A block has two warpgroups that multiply, 64 rows each, and one whose first thread loads; it takes one tile of the
// result after the other. PAIRS: elements of the result can be written in pairs.
template <int STAGES, bool PAIRS>
DEV void tf32_dot(const float* a, const int32* a_flags, const float* b, const int32* b_flags, float* c, float alpha,
                  float alpha_sign, float beta, float beta_sign, const float* addend, const float* bias, int64 m, int64 n,
                  int64 tiles_m, int64 tiles_n, int64 steps, int64 slices, int64 batch, int64 a_batch, int64 b_batch,
                  int64 pitch) {
    alpha *= alpha_sign;
    beta *= beta_sign;
    extern __shared__ __align__(1024) unsigned char dynamic_shared[];
    tf32_stage* const stages = (tf32_stage*)dynamic_shared;
    __shared__ barrier full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            full[s].init(1);
            empty[s].init(8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    const int64 tiles = tiles_m * tiles_n * slices * batch;
    tf32_ring<STAGES> ring;
    if (group == 2) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x != 256) return;
        for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const tf32_work work(tile, tiles_m, tiles_n, steps, slices);
            const float* from_a = a + (work.one * a_batch * tiles_m + work.i) * steps * (2 * TF32_TILE);
            const float* from_b = b + (work.one * b_batch * tiles_n + work.j) * steps * (2 * TF32_TILE);
            for (int64 k = work.from; k < work.to; k++) {
                empty[ring.at].wait(ring.phase ^ 1);
                full[ring.at].arrive_and_expect(2 * TF32_BYTES);
                bulk_load(stages[ring.at].a, from_a + k * (2 * TF32_TILE), TF32_BYTES, full[ring.at]);
                bulk_load(stages[ring.at].b, from_b + k * (2 * TF32_TILE), TF32_BYTES, full[ring.at]);
                ring.advance();
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    const int lane = threadIdx.x % 32;
    const int row = group * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4, column = lane % 4 * 2;
    tf32_ring<STAGES> oldest;
    for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const tf32_work work(tile, tiles_m, tiles_n, steps, slices);
        const int32* flags_a = a_flags + (work.one * a_batch * tiles_m + work.i) * steps;
        const int32* flags_b = b_flags + (work.one * b_batch * tiles_n + work.j) * steps;
        float total[64], even[64], odd[64];
#pragma unroll
        for (int e = 0; e < 64; e++) total[e] = 0.0f;
        int64 done = work.from;
        int32 exact = flags_a[done] | flags_b[done], any_exact = 0;
        const auto start = [&](float(&sum)[64]) {
            full[ring.at].wait(ring.phase);
            tf32_start(sum, stages[ring.at], group);
            ring.advance();
        };
        const auto finish = [&](float(&sum)[64], auto later) {
            tf32_finish<decltype(later)::value>(total, sum, exact != 0);
            any_exact |= exact;
            if (lane == 0) empty[oldest.at].arrive();
            oldest.advance();
            if (++done < work.to) exact = flags_a[done] | flags_b[done];
        };
        // The products of a stage run while those of the stage before are added. At the end of an iteration none run: the
        // compiler would put a wait after each product otherwise.
        const tf32_later<0> none{};
        const tf32_later<1> one_later{};
        int64 k = work.from;
        for (; k + 4 <= work.to; k += 4) {
            start(even);
            start(odd);
            finish(even, one_later);
            start(even);
            finish(odd, one_later);
            start(odd);
            finish(even, one_later);
            finish(odd, none);
        }
        if (k < work.to) {
            start(even);
            start(odd);
            finish(even, one_later);
            finish(odd, none);
        }
        for (int64 step = work.from; any_exact && step < work.to; step++) {
            if (!(flags_a[step] | flags_b[step])) continue;
            const int64 at_a = (work.one * a_batch * tiles_m + work.i) * steps + step;
            const int64 at_b = (work.one * b_batch * tiles_n + work.j) * steps + step;
            tf32_add_exactly(total, a + at_a * (2 * TF32_TILE), b + at_b * (2 * TF32_TILE), row, column);
        }
        const int64 to = work.j * TF32_ROWS + column;
        const int left = (int)min(n - to, (int64)TF32_ROWS);
#pragma unroll
        for (int low = 0; low < 2; low++) {
            const int64 to_row = work.i * TF32_ROWS + row + 8 * low;
            if (to_row >= m) continue;
            float* const out = c + ((work.slice * batch + work.one) * m + to_row) * pitch + to;
            const float* const more = addend ? addend + (work.one * m + to_row) * pitch + to : nullptr;
#pragma unroll
            for (int e = 0; e < 16; e++) {
                if (8 * e >= left) continue;
                const bool both = PAIRS || 8 * e + 1 < left;
                float x = alpha * total[4 * e + 2 * low], y = alpha * total[4 * e + 2 * low + 1];
                if (addend) {
                    x += beta * more[8 * e];
                    if (both) y += beta * more[8 * e + 1];
                }
                if (bias) {
                    x += bias[to + 8 * e];
                    if (both) y += bias[to + 8 * e + 1];
                }
                if (PAIRS) *(float2*)(out + 8 * e) = make_float2(x, y);
                else {
                    out[8 * e] = x;
                    if (both) out[8 * e + 1] = y;
                }
            }
        }
    }
}
