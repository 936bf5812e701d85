// launched as <<<(10000, 1, 1), (512, 1, 1), 0>>>
// row_max_subtract_exp_sum_divide_f32
//   v0 = float32 from b0
//   v1 = max of v0: float32   once a row
//   v2 = subtract(v0, v1): float32
//   v3 = exp(v2): float32
//   v4 = sum of v3: float32   once a row
//   v5 = divide(v3, v4): float32
//   b1 = v5
extern "C" __global__ void __launch_bounds__(512, 3) row_max_subtract_exp_sum_divide_f32(
    float* b0, float* b1, int32 n, int32 s0_0) {
    const int32 row = blockIdx.x;
    const int lane = threadIdx.x;
    const int32 i0 = row;
    const int32 row0 = i0 * s0_0;
    // pass 0
    vec<float, 4> x0[5];
    #pragma unroll
    for (int u = 0; u < 5; u++) {
        const int32 j = (lane + u * 512) * 4;
        x0[u] = j < n ? load<4>(b0 + (row0 + j)) : vec<float, 4>{};
    }
    reduce_max<float>::state s1 = reduce_max<float>::identity();
    #pragma unroll
    for (int u = 0; u < 5; u++) {
        const int32 j = (lane + u * 512) * 4;
        float r1[4];
        #pragma unroll
        for (int l = 0; l < 4; l++) {
            r1[l] = x0[u].v[l];
        }
        if (j < n) {
            reduce_max<float>::accumulate_many<4>(s1, r1);
        }
    }
    __shared__ reduce_max<float>::state shared1[16];
    s1 = block_reduce<reduce_max<float>, 512>(s1, shared1);
    const float v1 = reduce_max<float>::result(s1);
    // pass 1
    vec<float, 4> x3[5];
    reduce_sum<float>::state s4 = reduce_sum<float>::identity();
    #pragma unroll
    for (int u = 0; u < 5; u++) {
        const int32 j = (lane + u * 512) * 4;
        float r4[4];
        #pragma unroll
        for (int l = 0; l < 4; l++) {
            const float v2 = sub(x0[u].v[l], v1);
            const float v3 = exp_(v2);
            x3[u].v[l] = v3;
            r4[l] = v3;
        }
        if (j < n) {
            reduce_sum<float>::accumulate_many<4>(s4, r4);
        }
    }
    __shared__ reduce_sum<float>::state shared4[16];
    s4 = block_reduce<reduce_sum<float>, 512>(s4, shared4);
    const float v4 = reduce_sum<float>::result(s4);
    // pass 2
    #pragma unroll
    for (int u = 0; u < 5; u++) {
        const int32 j = (lane + u * 512) * 4;
        vec<float, 4> y6;
        #pragma unroll
        for (int l = 0; l < 4; l++) {
            const float v5 = div(x3[u].v[l], v4);
            y6.v[l] = v5;
        }
        if (j < n) {
            store<4>(b1 + (row0 + j), y6);
        }
    }
}

// arguments of row_max_subtract_exp_sum_divide_f32: [Buffer(10), Buffer(11), I32(10000), I32(10000)]
// scratch 0 bytes, state 0 bytes
