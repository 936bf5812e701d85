// launched as <<<(3, 1, 1), (256, 1, 1), 0>>>
// map_multiply_f32
//   v0 = float32 from b0
//   v1 = float32 constant
//   v2 = multiply(v0, v1): float32
//   b1 = v2
__device__ __noinline__ void part0(uint32 block, float* b0, float* b1, float c1_f32, int32 n) {
    const int32 first = (int32)block * 256 + (int32)threadIdx.x;
    const bool full = ((int32)block + 1) * 1024 <= n;
    int32 j;
    int32 left;
    j = first * 4;
    left = n - j;
    vec<float, 4> x0;
    if (full) {
        x0 = load<4>(b0 + j);
    }
    else {
        x0 = load_partial<4>(b0 + j, left);
    }
    vec<float, 4> y3;
    #pragma unroll
    for (int l = 0; l < 4; l++) {
        const float v2 = mul(x0.v[l], c1_f32);
        y3.v[l] = v2;
    }
    if (full) {
        store<4>(b1 + j, y3);
    }
    else {
        store_partial<4>(b1 + j, y3, left);
    }
}

// map_add_f64
//   v0 = float64 from b0
//   v1 = float64 from b1
//   v2 = add(v0, v1): float64
//   b2 = v2
__device__ __forceinline__ void part1(
    uint32 block, double* b0, double* b1, double* b2, int32 items, uint32 row_n, uint32 row_magic, uint32 row_shift,
    int32 s0_0) {
    const divisor row = {row_n, row_magic, row_shift};
    const int32 first = (int32)block * 256 + (int32)threadIdx.x;
    const bool full = ((int32)block + 1) * 256 <= items;
    int32 a0;
    int32 a1;
    int32 left;
    const int32 item = first;
    left = item < items ? 1 : 0;
    const int32 r0 = quotient(item, row), j = (item - r0 * extent(row));
    const int32 i0 = r0;
    a0 = i0 * s0_0 + j;
    a1 = j;
    double x0;
    double x1;
    if (full) {
        x0 = b0[a0];
        x1 = b1[a1];
    }
    else {
        x0 = load_guarded(b0 + a0, left);
        x1 = load_guarded(b1 + a1, left);
    }
    double y3;
    const double v2 = add(x0, x1);
    y3 = v2;
    if (full) {
        b2[a0] = y3;
    }
    else {
        if (left > 0) b2[a0] = y3;
    }
}

extern "C" __global__ void __launch_bounds__(256) pack_of_3_map_multiply_f32(
    float* p0_b0, float* p0_b1, float p0_c1_f32, int32 p0_n, uint32 end0, float* p1_b0, float* p1_b1, float p1_c1_f32,
    int32 p1_n, uint32 end1, double* p2_b0, double* p2_b1, double* p2_b2, int32 p2_items, uint32 p2_row_n,
    uint32 p2_row_magic, uint32 p2_row_shift, int32 p2_s0_0, uint32 end2) {
    if (blockIdx.x < end0) return part0(blockIdx.x, p0_b0, p0_b1, p0_c1_f32, p0_n);
    if (blockIdx.x < end1) return part0(blockIdx.x - end0, p1_b0, p1_b1, p1_c1_f32, p1_n);
    if (blockIdx.x < end2) return part1(blockIdx.x - end1, p2_b0, p2_b1, p2_b2, p2_items, p2_row_n, p2_row_magic, p2_row_shift, p2_s0_0);
}

// arguments of pack_of_3_map_multiply_f32: [Buffer(10), Buffer(11), Scalar { slot: 1000, dtype: F32 }, I32(1000), I32(1), Buffer(10), Buffer(11), Scalar { slot: 77, dtype: F32 }, I32(77), I32(2), Buffer(10), Buffer(11), Buffer(12), I32(240), I32(8), I32(-2147483648), I32(34), I32(8), I32(3)]
// scratch 0 bytes, state 0 bytes
