// launched as <<<(16384, 1, 1), (32, 8, 1), 0>>>
// tiles_add_f32
//   v0 = float32 from b0
//   v1 = float32 from b1
//   v2 = add(v0, v1): float32
//   b2 = v2
extern "C" __global__ void __launch_bounds__(256) tiles_add_f32(
    float* b0, float* b1, float* b2, int32 width, int32 height, uint32 tiles_x_n, uint32 tiles_x_magic,
    uint32 tiles_x_shift, uint32 tiles_y_n, uint32 tiles_y_magic, uint32 tiles_y_shift, int32 s0_0, int32 s1_1) {
    const divisor tiles_x = {tiles_x_n, tiles_x_magic, tiles_x_shift};
    const divisor tiles_y = {tiles_y_n, tiles_y_magic, tiles_y_shift};
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int32 block = (int32)blockIdx.x, r0 = quotient(block, tiles_x), r1 = quotient(r0, tiles_y);
    const int32 x0 = (block - r0 * extent(tiles_x)) * 32, y0 = (r0 - r1 * extent(tiles_y)) * 32;
    __shared__ float tile1[32][33];
    #pragma unroll
    for (int k = 0; k < 32; k += 8) {
        if (y0 + tx < height && x0 + ty + k < width) {
            tile1[ty + k][tx] = b1[(x0 + ty + k) * s1_1 + (y0 + tx)];
        }
    }
    __syncthreads();
    const int32 x = x0 + tx;
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        const int32 y = y0 + ty + 8 * k;
        if (x < width && y < height) {
            const float v0 = b0[x + y * s0_0];
            const float v2 = add(v0, tile1[tx][ty + 8 * k]);
            b2[x + y * s0_0] = v2;
        }
    }
}

// arguments of tiles_add_f32: [Buffer(10), Buffer(11), Buffer(12), I32(4096), I32(4096), I32(128), I32(-2147483648), I32(38), I32(128), I32(-2147483648), I32(38), I32(4096), I32(4096)]
// scratch 0 bytes, state 0 bytes
