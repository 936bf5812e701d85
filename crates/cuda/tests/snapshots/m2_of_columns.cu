// launched as <<<(474, 1, 1), (32, 8, 1), 0>>>
// columns_m2_f32
//   v0 = float32 from b0
//   v1 = m2 of v0: float32   once a row
//   b1 = v1   once a row
extern "C" __global__ void __launch_bounds__(256) columns_m2_f32(
    float* b0, float* b1, int32 width, uint32 tiles_n, uint32 tiles_magic, uint32 tiles_shift, int32 n,
    uint32 parts_n, uint32 parts_magic, uint32 parts_shift, int32 share, int32 s0_1, uint32* counters,
    reduce_m2<float>::state* parts1) {
    const divisor tiles = {tiles_n, tiles_magic, tiles_shift};
    const divisor parts = {parts_n, parts_magic, parts_shift};
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int32 block = (int32)blockIdx.x, above = quotient(block, tiles), tile = block - above * extent(tiles);
    const int32 i0 = (tile * 32 + tx) * 4;
    const bool inside = i0 < width;
    const int32 others = quotient(above, parts), part = above - others * extent(parts);
    const int32 begin = part * share;
    const int32 stop = !inside ? begin : begin + share < n ? begin + share : n;
    reduce_m2<float>::state s1[4];
    #pragma unroll
    for (int l = 0; l < 4; l++) s1[l] = reduce_m2<float>::identity();
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
            for (int l = 0; l < 4; l++) reduce_m2<float>::accumulate_many<8>(s1[l], r1[l]);
        }
        else {
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                #pragma unroll
                for (int u = 0; u < 8; u++) if (at + u * 8 < stop) reduce_m2<float>::accumulate(s1[l], r1[l][u], at + u * 8);
            }
        }
    }
    __shared__ vec<uint8, 16> pool[768];
    {
        typedef reduce_m2<float>::state state;
        state* all = (state*)pool;
        __syncthreads();
        #pragma unroll
        for (int l = 0; l < 4; l++) all[(ty * 4 + l) * 32 + tx] = s1[l];
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (ty < half) {
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    s1[l] = reduce_m2<float>::merge(s1[l], all[((ty + half) * 4 + l) * 32 + tx]);
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
    for (int l = 0; l < 4; l++) s1[l] = reduce_m2<float>::identity();
    #pragma unroll 8
    for (int32 k = ty; k < extent(parts); k += 8) {
        #pragma unroll
        for (int l = 0; l < 4; l++) s1[l] = reduce_m2<float>::merge(s1[l], parts1[(others * extent(parts) + k) * columns + column + l * 32]);
    }
    {
        typedef reduce_m2<float>::state state;
        state* all = (state*)pool;
        __syncthreads();
        #pragma unroll
        for (int l = 0; l < 4; l++) all[(ty * 4 + l) * 32 + tx] = s1[l];
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (ty < half) {
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    s1[l] = reduce_m2<float>::merge(s1[l], all[((ty + half) * 4 + l) * 32 + tx]);
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
            const float v1 = reduce_m2<float>::result(s1[l]);
            y2.v[l] = v1;
        }
        store<4>(b1 + i0, y2);
    }
}

// arguments of columns_m2_f32: [Buffer(10), Buffer(11), I32(10000), I32(79), I32(-815500119), I32(38), I32(10000), I32(6), I32(-1431655765), I32(34), I32(1667), I32(10000), State(0), Scratch(0)]
// scratch 728064 bytes, state 512 bytes
