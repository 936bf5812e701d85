// Splits an operand of a float32 matrix product into a high and a low part that TF32 represents.
//
// The result is an image: for each tile of 128 rows and 32 terms first the high, then the low parts, 128 bytes a row, as the
// tensor cores read them from shared memory (the 16-byte units of a row are permuted by the lowest three bits of its index).
// Rows and terms beyond the matrix are zeros. A flag for each tile says that it contains infinity or NaN, whose products
// with the parts of a number are not those with the number.
constexpr int TF32_ROWS = 128, TF32_TERMS = 32;
constexpr int TF32_TILE = TF32_ROWS * TF32_TERMS;
constexpr int TF32_BYTES = 2 * TF32_TILE * 4;

// Returns the nearest value of TF32, or with `down` the next one towards zero.
DEV float tf32_part(float x, bool down) {
    const uint32 bits = __float_as_uint(x);
    return __uint_as_float((down ? bits : bits + 0x0fffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

// Writes a tile of an image: `rows` rows of which each term is `step` elements after the one before, `rows_step` between
// rows. ALONG: terms are neighbors, and four can be read at once. DOWN: neighboring threads read neighboring rows.
template <bool ALONG, bool DOWN>
DEV void tf32_split(const float* x, float* image, int32* flags, int64 rows, int64 terms, int64 row_step, int64 term_step,
                    int64 batch_step, int64 tiles, int64 steps) {
    constexpr int UNITS = TF32_TERMS / 4, THREADS = 256;
    __shared__ float staged[DOWN ? TF32_TERMS : 1][TF32_ROWS + 1];
    int64 at = blockIdx.x;
    image += at * (2 * TF32_TILE);
    const int64 term = at % steps * TF32_TERMS, rest = at / steps;
    const int64 row = rest % tiles * TF32_ROWS;
    x += rest / tiles * batch_step + row * row_step + term * term_step;
    const int64 own_rows = rows - row, own_terms = terms - term;
    if (DOWN) {
#pragma unroll
        for (int i = threadIdx.x; i < TF32_TILE; i += THREADS) {
            const int r = i % TF32_ROWS, k = i / TF32_ROWS;
            staged[k][r] = r < own_rows && k < own_terms ? x[r * row_step + k * term_step] : 0.0f;
        }
        __syncthreads();
    }
    bool finite = true;
#pragma unroll
    for (int i = threadIdx.x; i < TF32_TILE / 4; i += THREADS) {
        const int r = i / UNITS, unit = i % UNITS;
        float values[4], high[4], low[4];
        if (ALONG) {
            const bool inside = r < own_rows && unit * 4 < own_terms;
            const float4 all = inside ? *(const float4*)(x + r * row_step + unit * 4) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            values[0] = all.x, values[1] = all.y, values[2] = all.z, values[3] = all.w;
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int k = unit * 4 + j;
            if (DOWN) values[j] = staged[k][r];
            else if (!ALONG) values[j] = r < own_rows && k < own_terms ? x[r * row_step + k * term_step] : 0.0f;
            const float value = values[j];
            const uint32 exponent = __float_as_uint(value) >> 23 & 0xffu;
            finite &= exponent != 0xffu;
            // The largest numbers would become infinite if their parts were rounded up.
            high[j] = exponent == 0xffu ? value : tf32_part(value, exponent == 0xfeu);
            low[j] = exponent == 0xffu ? 0.0f : tf32_part(value - high[j], exponent == 0xfeu);
        }
        const int to = r * TF32_TERMS + (unit ^ (r & 7)) * 4;
        *(float4*)(image + to) = make_float4(high[0], high[1], high[2], high[3]);
        *(float4*)(image + TF32_TILE + to) = make_float4(low[0], low[1], low[2], low[3]);
    }
    finite = __syncthreads_and(finite);
    if (threadIdx.x == 0) flags[at] = !finite;
}
