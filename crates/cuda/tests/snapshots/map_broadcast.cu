// launched as <<<(7500, 1, 1), (256, 1, 1), 0>>>
// map_add_f16
//   v0 = float16 from b0
//   v1 = float16 from b1
//   v2 = add(v0, v1): float16
//   b0 = v2
extern "C" __global__ void __launch_bounds__(256) map_add_f16(
    half* b0, half* b1, int32 items, uint32 row_n, uint32 row_magic, uint32 row_shift, uint32 d1_n, uint32 d1_magic,
    uint32 d1_shift, int32 s0_0, int32 s0_1, int32 s1_0) {
    const divisor row = {row_n, row_magic, row_shift};
    const divisor d1 = {d1_n, d1_magic, d1_shift};
    const int32 first = (int32)blockIdx.x * 512 + (int32)threadIdx.x;
    const bool full = ((int32)blockIdx.x + 1) * 512 <= items;
    int32 a0[2];
    int32 a1[2];
    int32 left[2];
    #pragma unroll
    for (int u = 0; u < 2; u++) {
        const int32 item = first + u * 256;
        left[u] = item < items ? 8 : 0;
        const int32 r1 = quotient(item, row), j = (item - r1 * extent(row)) * 8;
        const int32 r0 = quotient(r1, d1), i1 = r1 - r0 * extent(d1);
        const int32 i0 = r0;
        a0[u] = i0 * s0_0 + i1 * s0_1 + j;
        a1[u] = i0 * s1_0 + j;
    }
    vec<half, 8> x0[2];
    vec<half, 8> x1[2];
    if (full) {
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            x0[u] = load<8>(b0 + a0[u]);
            x1[u] = load<8>(b1 + a1[u]);
        }
    }
    else {
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            x0[u] = load_partial<8>(b0 + a0[u], left[u]);
            x1[u] = load_partial<8>(b1 + a1[u], left[u]);
        }
    }
    vec<half, 8> y3[2];
    #pragma unroll
    for (int u = 0; u < 2; u++) {
        #pragma unroll
        for (int l = 0; l < 8; l++) {
            const half v2 = add(x0[u].v[l], x1[u].v[l]);
            y3[u].v[l] = v2;
        }
    }
    if (full) {
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            store<8>(b0 + a0[u], y3[u]);
        }
    }
    else {
        #pragma unroll
        for (int u = 0; u < 2; u++) {
            store_partial<8>(b0 + a0[u], y3[u], left[u]);
        }
    }
}

// arguments of map_add_f16: [Buffer(10), Buffer(11), I32(3840000), I32(128), I32(-2147483648), I32(38), I32(1000), I32(-2095944040), I32(41), I32(1024000), I32(1024), I32(1024)]
// scratch 0 bytes, state 0 bytes
