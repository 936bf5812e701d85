// launched as <<<(1000, 1, 1), (512, 1, 1), 0>>>
// long_row_max_subtract_exp_sum_divide_f32
//   v0 = float32 from b0
//   v1 = max of v0: float32   once a row
//   v2 = subtract(v0, v1): float32
//   v3 = exp(v2): float32
//   v4 = sum of v3: float32   once a row
//   v5 = divide(v3, v4): float32
//   b1 = v5
extern "C" __global__ void __launch_bounds__(512, 2) long_row_max_subtract_exp_sum_divide_f32(
    float* b0, float* b1, int32 n, int32 s0_0) {
    const int32 row = (int32)blockIdx.x, begin = 0, stop = n;
    const int32 i0 = row;
    const int32 row0 = i0 * s0_0;
    // pass 0
    reduce_max<float>::state s1 = reduce_max<float>::identity();
    for (int32 at = begin; at < stop; at += 8192) {
        const bool full = at + 8192 <= stop;
        vec<float, 4> x0[4];
        if (full) {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load<4>(b0 + (row0 + j));
            }
        }
        else {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load_partial<4>(b0 + (row0 + j), stop - j);
            }
        }
        float r1[16];
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                r1[u * 4 + l] = x0[u].v[l];
            }
        }
        if (!full) {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    if (j + l >= stop) r1[u * 4 + l] = reduce_max<float>::identity();
                }
            }
        }
        reduce_max<float>::accumulate_many<16>(s1, r1);
    }
    __shared__ reduce_max<float>::state shared1[16];
    s1 = block_reduce<reduce_max<float>, 512>(s1, shared1);
    const float v1 = reduce_max<float>::result(s1);
    // pass 1
    reduce_sum<float>::state s4 = reduce_sum<float>::identity();
    for (int32 at = begin; at < stop; at += 8192) {
        const bool full = at + 8192 <= stop;
        vec<float, 4> x0[4];
        if (full) {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load<4>(b0 + (row0 + j));
            }
        }
        else {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load_partial<4>(b0 + (row0 + j), stop - j);
            }
        }
        float r4[16];
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                const float v2 = sub(x0[u].v[l], v1);
                const float v3 = exp_(v2);
                r4[u * 4 + l] = v3;
            }
        }
        if (!full) {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    if (j + l >= stop) r4[u * 4 + l] = reduce_sum<float>::identity();
                }
            }
        }
        reduce_sum<float>::accumulate_many<16>(s4, r4);
    }
    __shared__ reduce_sum<float>::state shared4[16];
    s4 = block_reduce<reduce_sum<float>, 512>(s4, shared4);
    const float v4 = reduce_sum<float>::result(s4);
    // pass 2
    for (int32 at = begin; at < stop; at += 8192) {
        const bool full = at + 8192 <= stop;
        vec<float, 4> x0[4];
        if (full) {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load<4>(b0 + (row0 + j));
            }
        }
        else {
            #pragma unroll
            for (int u = 0; u < 4; u++) {
                const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
                x0[u] = load_partial<4>(b0 + (row0 + j), stop - j);
            }
        }
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            const int32 j = at + ((int32)threadIdx.x + u * 512) * 4;
            vec<float, 4> y6;
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                const float v2 = sub(x0[u].v[l], v1);
                const float v3 = exp_(v2);
                const float v5 = div(v3, v4);
                y6.v[l] = v5;
            }
            store_partial<4>(b1 + (row0 + j), y6, stop - j);
        }
    }
}

// arguments of long_row_max_subtract_exp_sum_divide_f32: [Buffer(10), Buffer(11), I32(1000000), I32(1000000)]
// scratch 0 bytes, state 0 bytes
