// test_snapshots.py, line N
extern "C" __global__ void matmul(array<float, 2> a, array<float, 2> b, array<float, 2> c) {
    __shared__ float shared_0_data[256];
    const array<float, 2> shared_0 = {shared_0_data, {16, 16}};
    __shared__ float shared_1_data[256];
    const array<float, 2> shared_1 = {shared_1_data, {16, 16}};
    // N: sa = cuda.shared.array((TPB, TPB), float32)
    array<float, 2> sa = shared_0;
    // N: sb = cuda.shared.array((TPB, TPB), float32)
    array<float, 2> sb = shared_1;
    // N: x, y = cuda.grid(2)
    int64 x = (int64)blockIdx.x * (int64)blockDim.x + (int64)threadIdx.x;
    int64 y = (int64)blockIdx.y * (int64)blockDim.y + (int64)threadIdx.y;
    // N: tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    int32 tx = (int)threadIdx.x;
    int32 ty = (int)threadIdx.y;
    // N: total = float32(0)
    float total = 0.0f;
    // N: for k in range(cuda.gridDim.x):
    for (int32 k = 0; k < (int)gridDim.x; k++) {
        // N: sa[ty, tx] = a[y, tx + k * TPB]
        sa((int64)ty, (int64)tx) = a(y, (int64)tx + (int64)k * 16);
        // N: sb[ty, tx] = b[ty + k * TPB, x]
        sb((int64)ty, (int64)tx) = b((int64)ty + (int64)k * 16, x);
        // N: cuda.syncthreads()
        __syncthreads();
        // N: for j in range(TPB):
        for (int64 j = 0; j < 16; j++) {
            // N: total += sa[ty, j] * sb[j, tx]
            total = total + sa((int64)ty, j) * sb(j, (int64)tx);
        }
        // N: cuda.syncthreads()
        __syncthreads();
    }
    // N: c[y, x] = total
    c(y, x) = total;
}
