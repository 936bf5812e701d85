// launched as <<<(1, 1, 1), (256, 1, 1), 0>>>
// bid_scatter_set_f32
//   v0 = int64 from b0
//   v1 = float32 from b1
//   b2 at [v0] set v1
extern "C" __global__ void __launch_bounds__(256) bid_scatter_set_f32(
    int64* b0, float* b1, float* b2, uint32* bids, int32 n, int64 n2) {
    const int32 first = (int32)blockIdx.x * 256 + (int32)threadIdx.x;
    const bool full = ((int32)blockIdx.x + 1) * 1024 <= n;
    int32 j;
    int32 left;
    j = first * 4;
    left = n - j;
    vec<int64, 4> x0;
    if (full) {
        x0 = load<4>(b0 + j);
    }
    else {
        x0 = load_partial<4>(b0 + j, left);
    }
    #pragma unroll
    for (int l = 0; l < 4; l++) {
        if (l < left) {
            atomicMax(bids + wrap(x0.v[l], n2), (uint32)(j + l + 1));
        }
    }
}

// launched as <<<(1, 1, 1), (256, 1, 1), 0>>>
// map_scatter_set_f32
//   v0 = int64 from b0
//   v1 = float32 from b1
//   b2 at [v0] set v1
extern "C" __global__ void __launch_bounds__(256) map_scatter_set_f32(
    int64* b0, float* b1, float* b2, uint32* bids, int32 n, int64 n2) {
    const int32 first = (int32)blockIdx.x * 256 + (int32)threadIdx.x;
    const bool full = ((int32)blockIdx.x + 1) * 1024 <= n;
    int32 j;
    int32 left;
    j = first * 4;
    left = n - j;
    vec<int64, 4> x0;
    vec<float, 4> x1;
    if (full) {
        x0 = load<4>(b0 + j);
        x1 = load<4>(b1 + j);
    }
    else {
        x0 = load_partial<4>(b0 + j, left);
        x1 = load_partial<4>(b1 + j, left);
    }
    #pragma unroll
    for (int l = 0; l < 4; l++) {
        if (l < left) {
            const int64 at = wrap(x0.v[l], n2);
            if (bids[at] == (uint32)(j + l + 1)) {
                b2[at] = x1.v[l];
                bids[at] = 0;
            }
        }
    }
}

// arguments of bid_scatter_set_f32: [Buffer(10), Buffer(11), Buffer(12), State(0), I32(1000), I64(500)]

// arguments of map_scatter_set_f32: [Buffer(10), Buffer(11), Buffer(12), State(0), I32(1000), I64(500)]
// scratch 0 bytes, state 2048 bytes
