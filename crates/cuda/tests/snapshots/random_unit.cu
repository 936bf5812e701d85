// launched as <<<(97657, 1, 1), (256, 1, 1), 0>>>
// map_random_unit32_f32
//   v0 = index
//   v1 = uint64 constant
//   v2 = uint64 constant
//   v3 = random_unit32(v0, v1, v2): float32
//   b0 = v3
extern "C" __global__ void __launch_bounds__(256) map_random_unit32_f32(
    float* b0, uint64 c1_u64, uint64 c2_u64, int32 n) {
    const int32 first = (int32)blockIdx.x * 256 + (int32)threadIdx.x;
    const bool full = ((int32)blockIdx.x + 1) * 1024 <= n;
    int32 j;
    int32 left;
    j = first * 4;
    left = n - j;
    vec<float, 4> y4;
    const words4 block_3 = block32((int64)(j), c1_u64, c2_u64);
    #pragma unroll
    for (int l = 0; l < 4; l++) {
        const float v3 = random_unit32(block_3, l);
        y4.v[l] = v3;
    }
    if (full) {
        store<4>(b0 + j, y4);
    }
    else {
        store_partial<4>(b0 + j, y4, left);
    }
}

// arguments of map_random_unit32_f32: [Buffer(10), Scalar { slot: 0, dtype: U64 }, Scalar { slot: 1, dtype: U64 }, I32(100000000)]
// scratch 0 bytes, state 0 bytes
