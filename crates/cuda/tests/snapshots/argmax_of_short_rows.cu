// launched as <<<(157, 1, 1), (256, 1, 1), 0>>>
// rows_argmax_i64
//   v0 = float32 from b0
//   v1 = argmax of v0: int64   once a row
//   b1 = v1   once a row
extern "C" __global__ void __launch_bounds__(256, 8) rows_argmax_i64(
    float* b0, int64* b1, int32 n, int32 rows, int32 s0_0) {
    const int lane = threadIdx.x % 4;
    const int32 own = (int32)blockIdx.x * 64 + threadIdx.x / 4;
    const bool alive = own < rows;
    const int32 row = alive ? own : rows - 1;
    const int32 i0 = row;
    const int32 row0 = i0 * s0_0;
    // pass 0
    vec<float, 4> x0;
    {
        const int32 j = lane * 4;
        x0 = j < n ? load<4>(b0 + (row0 + j)) : vec<float, 4>{};
    }
    reduce_argmax<float>::state s1 = reduce_argmax<float>::identity();
    {
        const int32 j = lane * 4;
        float r1[4];
        #pragma unroll
        for (int l = 0; l < 4; l++) {
            r1[l] = x0.v[l];
        }
        if (j < n) {
            #pragma unroll
            for (int l = 0; l < 4; l++) {
                reduce_argmax<float>::accumulate(s1, r1[l], j + l);
            }
        }
    }
    s1 = group_reduce<reduce_argmax<float>, 4>(s1);
    const int64 v1 = reduce_argmax<float>::result(s1);
    if (alive && lane == 0) b1[i0] = v1;
}

// arguments of rows_argmax_i64: [Buffer(10), Buffer(11), I32(12), I32(10000), I32(12)]
// scratch 0 bytes, state 0 bytes
