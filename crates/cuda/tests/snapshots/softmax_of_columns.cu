// launched as <<<(512, 1, 1), (32, 8, 1), 0>>>
// columns_max_f32
//   v0 = float32 from b0
//   v1 = max of v0: float32   once a row
//   b2 = v1   once a row
extern "C" __global__ void __launch_bounds__(256) columns_max_f32(
    float* b0, float* b2, int32 width, uint32 tiles_n, uint32 tiles_magic, uint32 tiles_shift, int32 n,
    uint32 parts_n, uint32 parts_magic, uint32 parts_shift, int32 share, int32 s0_1, uint32* counters,
    reduce_max<float>::state* parts1) {
    const divisor tiles = {tiles_n, tiles_magic, tiles_shift};
    const divisor parts = {parts_n, parts_magic, parts_shift};
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int32 block = (int32)blockIdx.x, above = quotient(block, tiles), tile = block - above * extent(tiles);
    const int32 i0 = (tile * 32 + tx) * 4;
    const bool inside = i0 < width;
    const int32 others = quotient(above, parts), part = above - others * extent(parts);
    const int32 begin = part * share;
    const int32 stop = !inside ? begin : begin + share < n ? begin + share : n;
    reduce_max<float>::state s1[4];
    #pragma unroll
    for (int l = 0; l < 4; l++) s1[l] = reduce_max<float>::identity();
    const int32 column0 = i0;
    for (int32 at = begin + ty; at < stop; at += 64) {
        const bool full = at + 56 < stop;
        vec<float, 4> x0[8];
        if (full) {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const int32 e = at + u * 8;
                x0[u] = load<4>(b0 + (column0 + e * s0_1));
            }
        }
        else {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const int32 e = at + u * 8;
                x0[u] = e < stop ? load<4>(b0 + (column0 + e * s0_1)) : vec<float, 4>{};
            }
        }
        float r1[4][8];
        #pragma unroll
        for (int u = 0; u < 8; u++) {
            const int32 e = at + u * 8;
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                r1[l][u] = x0[u].v[l];
            }
        }
        if (full) {
            #pragma unroll
            for (int l = 0; l < 4; l++) reduce_max<float>::accumulate_many<8>(s1[l], r1[l]);
        }
        else {
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                #pragma unroll
                for (int u = 0; u < 8; u++) if (at + u * 8 < stop) reduce_max<float>::accumulate(s1[l], r1[l][u], at + u * 8);
            }
        }
    }
    __shared__ vec<uint8, 16> pool[256];
    {
        typedef reduce_max<float>::state state;
        state* all = (state*)pool;
        __syncthreads();
        #pragma unroll
        for (int l = 0; l < 4; l++) all[(ty * 4 + l) * 32 + tx] = s1[l];
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (ty < half) {
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    s1[l] = reduce_max<float>::merge(s1[l], all[((ty + half) * 4 + l) * 32 + tx]);
                    all[(ty * 4 + l) * 32 + tx] = s1[l];
                }
            }
            __syncthreads();
        }
    }
    const int32 columns = extent(tiles) * 128, column = tile * 128 + tx;
    #pragma unroll
    for (int l = 0; l < 4; l++) if (ty == 0) parts1[above * columns + column + l * 32] = s1[l];
    if (!is_last_block(counters + others * extent(tiles) + tile, (uint32)extent(parts))) return;
    #pragma unroll
    for (int l = 0; l < 4; l++) s1[l] = reduce_max<float>::identity();
    #pragma unroll 8
    for (int32 k = ty; k < extent(parts); k += 8) {
        #pragma unroll
        for (int l = 0; l < 4; l++) s1[l] = reduce_max<float>::merge(s1[l], parts1[(others * extent(parts) + k) * columns + column + l * 32]);
    }
    {
        typedef reduce_max<float>::state state;
        state* all = (state*)pool;
        __syncthreads();
        #pragma unroll
        for (int l = 0; l < 4; l++) all[(ty * 4 + l) * 32 + tx] = s1[l];
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (ty < half) {
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    s1[l] = reduce_max<float>::merge(s1[l], all[((ty + half) * 4 + l) * 32 + tx]);
                    all[(ty * 4 + l) * 32 + tx] = s1[l];
                }
            }
            __syncthreads();
        }
    }
    if (ty == 0 && inside) {
        vec<float, 4> y2;
        #pragma unroll
        for (int l = 0; l < 4; l++) {
            const float v1 = reduce_max<float>::result(s1[l]);
            y2.v[l] = v1;
        }
        store<4>(b2 + i0, y2);
    }
}

// launched as <<<(512, 1, 1), (32, 8, 1), 0>>>
// columns_subtract_exp_sum_f32
//   v0 = float32 from b2   once a row
//   v1 = float32 from b0
//   v2 = subtract(v1, v0): float32
//   v3 = exp(v2): float32
//   v4 = sum of v3: float32   once a row
//   b3 = v4   once a row
extern "C" __global__ void __launch_bounds__(256) columns_subtract_exp_sum_f32(
    float* b0, float* b2, float* b3, int32 width, uint32 tiles_n, uint32 tiles_magic, uint32 tiles_shift, int32 n,
    uint32 parts_n, uint32 parts_magic, uint32 parts_shift, int32 share, int32 s1_1, uint32* counters,
    reduce_sum<float>::state* parts4) {
    const divisor tiles = {tiles_n, tiles_magic, tiles_shift};
    const divisor parts = {parts_n, parts_magic, parts_shift};
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int32 block = (int32)blockIdx.x, above = quotient(block, tiles), tile = block - above * extent(tiles);
    const int32 i0 = (tile * 32 + tx) * 4;
    const bool inside = i0 < width;
    const int32 others = quotient(above, parts), part = above - others * extent(parts);
    const int32 begin = part * share;
    const int32 stop = !inside ? begin : begin + share < n ? begin + share : n;
    const vec<float, 4> x0 = inside ? load<4>(b2 + i0) : vec<float, 4>{};
    reduce_sum<float>::state s4[4];
    #pragma unroll
    for (int l = 0; l < 4; l++) s4[l] = reduce_sum<float>::identity();
    const int32 column1 = i0;
    for (int32 at = begin + ty; at < stop; at += 64) {
        const bool full = at + 56 < stop;
        vec<float, 4> x1[8];
        if (full) {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const int32 e = at + u * 8;
                x1[u] = load<4>(b0 + (column1 + e * s1_1));
            }
        }
        else {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const int32 e = at + u * 8;
                x1[u] = e < stop ? load<4>(b0 + (column1 + e * s1_1)) : vec<float, 4>{};
            }
        }
        float r4[4][8];
        #pragma unroll
        for (int u = 0; u < 8; u++) {
            const int32 e = at + u * 8;
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                const float v2 = sub(x1[u].v[l], x0.v[l]);
                const float v3 = exp_(v2);
                r4[l][u] = v3;
            }
        }
        if (full) {
            #pragma unroll
            for (int l = 0; l < 4; l++) reduce_sum<float>::accumulate_many<8>(s4[l], r4[l]);
        }
        else {
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                #pragma unroll
                for (int u = 0; u < 8; u++) if (at + u * 8 < stop) reduce_sum<float>::accumulate(s4[l], r4[l][u], at + u * 8);
            }
        }
    }
    __shared__ vec<uint8, 16> pool[256];
    {
        typedef reduce_sum<float>::state state;
        state* all = (state*)pool;
        __syncthreads();
        #pragma unroll
        for (int l = 0; l < 4; l++) all[(ty * 4 + l) * 32 + tx] = s4[l];
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (ty < half) {
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    s4[l] = reduce_sum<float>::merge(s4[l], all[((ty + half) * 4 + l) * 32 + tx]);
                    all[(ty * 4 + l) * 32 + tx] = s4[l];
                }
            }
            __syncthreads();
        }
    }
    const int32 columns = extent(tiles) * 128, column = tile * 128 + tx;
    #pragma unroll
    for (int l = 0; l < 4; l++) if (ty == 0) parts4[above * columns + column + l * 32] = s4[l];
    if (!is_last_block(counters + others * extent(tiles) + tile, (uint32)extent(parts))) return;
    #pragma unroll
    for (int l = 0; l < 4; l++) s4[l] = reduce_sum<float>::identity();
    #pragma unroll 8
    for (int32 k = ty; k < extent(parts); k += 8) {
        #pragma unroll
        for (int l = 0; l < 4; l++) s4[l] = reduce_sum<float>::merge(s4[l], parts4[(others * extent(parts) + k) * columns + column + l * 32]);
    }
    {
        typedef reduce_sum<float>::state state;
        state* all = (state*)pool;
        __syncthreads();
        #pragma unroll
        for (int l = 0; l < 4; l++) all[(ty * 4 + l) * 32 + tx] = s4[l];
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (ty < half) {
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    s4[l] = reduce_sum<float>::merge(s4[l], all[((ty + half) * 4 + l) * 32 + tx]);
                    all[(ty * 4 + l) * 32 + tx] = s4[l];
                }
            }
            __syncthreads();
        }
    }
    if (ty == 0 && inside) {
        vec<float, 4> y5;
        #pragma unroll
        for (int l = 0; l < 4; l++) {
            const float v4 = reduce_sum<float>::result(s4[l]);
            y5.v[l] = v4;
        }
        store<4>(b3 + i0, y5);
    }
}

// launched as <<<(16384, 1, 1), (256, 1, 1), 0>>>
// map_subtract_exp_divide_f32
//   v0 = float32 from b2
//   v1 = float32 from b3
//   v2 = float32 from b0
//   v3 = subtract(v2, v0): float32
//   v4 = exp(v3): float32
//   v5 = divide(v4, v1): float32
//   b1 = v5
extern "C" __global__ void __launch_bounds__(256) map_subtract_exp_divide_f32(
    float* b0, float* b1, float* b2, float* b3, int32 items, uint32 row_n, uint32 row_magic, uint32 row_shift,
    int32 s1_1) {
    const divisor row = {row_n, row_magic, row_shift};
    const int32 first = (int32)blockIdx.x * 1024 + (int32)threadIdx.x;
    const bool full = ((int32)blockIdx.x + 1) * 1024 <= items;
    int32 a0[4];
    int32 a1[4];
    int32 left[4];
    #pragma unroll
    for (int u = 0; u < 4; u++) {
        const int32 item = first + u * 256;
        left[u] = item < items ? 1 : 0;
        const int32 r0 = quotient(item, row), j = (item - r0 * extent(row));
        const int32 i0 = r0;
        a0[u] = i0;
        a1[u] = i0 + j * s1_1;
    }
    float x0[4];
    float x1[4];
    float x2[4];
    if (full) {
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            x0[u] = b2[a0[u]];
            x1[u] = b3[a0[u]];
            x2[u] = b0[a1[u]];
        }
    }
    else {
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            x0[u] = load_guarded(b2 + a0[u], left[u]);
            x1[u] = load_guarded(b3 + a0[u], left[u]);
            x2[u] = load_guarded(b0 + a1[u], left[u]);
        }
    }
    float y6[4];
    #pragma unroll
    for (int u = 0; u < 4; u++) {
        const float v3 = sub(x2[u], x0[u]);
        const float v4 = exp_(v3);
        const float v5 = div(v4, x1[u]);
        y6[u] = v5;
    }
    if (full) {
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            b1[a1[u]] = y6[u];
        }
    }
    else {
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            if (left[u] > 0) b1[a1[u]] = y6[u];
        }
    }
}

// arguments of columns_max_f32: [Buffer(10), Scratch(0), I32(4096), I32(32), I32(-2147483648), I32(36), I32(4096), I32(16), I32(-2147483648), I32(35), I32(256), I32(4096), State(0), Scratch(32768)]

// arguments of columns_subtract_exp_sum_f32: [Buffer(10), Scratch(0), Scratch(16384), I32(4096), I32(32), I32(-2147483648), I32(36), I32(4096), I32(16), I32(-2147483648), I32(35), I32(256), I32(4096), State(256), Scratch(294912)]

// arguments of map_subtract_exp_divide_f32: [Buffer(10), Buffer(11), Scratch(0), Scratch(16384), I32(16777216), I32(4096), I32(-2147483648), I32(43), I32(4096)]
// scratch 557056 bytes, state 512 bytes
