// launched as <<<(792, 1, 1), (512, 1, 1), 0>>>
// split_row_sum_f32
//   v0 = float32 from b0
//   v1 = sum of v0: float32   once a row
//   b1 = v1   once a row
extern "C" __global__ void __launch_bounds__(512, 2) split_row_sum_f32(
    float* b0, float* b1, int32 n, uint32 parts_n, uint32 parts_magic, uint32 parts_shift, uint32* counters,
    reduce_sum<float>::state* parts1) {
    const divisor parts = {parts_n, parts_magic, parts_shift};
    const int32 row = quotient((int32)blockIdx.x, parts), part = (int32)blockIdx.x - row * extent(parts);
    const int32 begin = part * 16384, stop = n;
    const int32 row0 = 0;
    // pass 0
    reduce_sum<float>::state s1 = reduce_sum<float>::identity();
    for (int32 at = begin; at < stop; at += 16384 * extent(parts)) {
        const bool full = at + 16384 <= stop;
        vec<float, 4> x0[8];
        if (full) {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load<4>(b0 + (row0 + j));
            }
        }
        else {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load_partial<4>(b0 + (row0 + j), stop - j);
            }
        }
        float r1[32];
        #pragma unroll
        for (int u = 0; u < 8; u++) {
            const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                r1[u * 4 + l] = x0[u].v[l];
            }
        }
        if (!full) {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    if (j + l >= stop) r1[u * 4 + l] = reduce_sum<float>::identity();
                }
            }
        }
        reduce_sum<float>::accumulate_many<32>(s1, r1);
    }
    __shared__ reduce_sum<float>::state shared1[16];
    s1 = block_reduce<reduce_sum<float>, 512>(s1, shared1);
    if (threadIdx.x == 0) parts1[blockIdx.x] = s1;
    if (!is_last_block(counters + row, (uint32)extent(parts))) return;
    s1 = reduce_sum<float>::identity();
    for (int32 k = threadIdx.x; k < extent(parts); k += 512) {
        s1 = reduce_sum<float>::merge(s1, parts1[row * extent(parts) + k]);
    }
    s1 = block_reduce<reduce_sum<float>, 512>(s1, shared1);
    const float v1 = reduce_sum<float>::result(s1);
    if (threadIdx.x == 0) b1[0] = v1;
}

// arguments of split_row_sum_f32: [Buffer(10), Buffer(11), I32(100000000), I32(792), I32(-1518422781), I32(41), State(0), Scratch(0)]
// scratch 3328 bytes, state 256 bytes
