// test_snapshots.py, line N
extern "C" __global__ void histogram(strided<double, 1> values, array<int32, 1> bins, double low, double high) {
    // N: for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
    int64 step = (int64)blockDim.x * (int64)gridDim.x;
    for (int64 i = (int64)blockIdx.x * (int64)blockDim.x + (int64)threadIdx.x; i < values.shape[0]; i += step) {
        // N: k = int((values[i] - low) / (high - low) * bins.size)
        int64 k = (int64)((values(i) - low) / (high - low) * (double)bins.shape[0]);
        // N: if 0 <= k < bins.size:
        if (0 <= k && k < bins.shape[0]) {
            // N: cuda.atomic.add(bins, k, 1)
            atomic_add(&bins.at(k), 1);
        }
    }
}
