// Waits for all threads of the grid. The launch must be cooperative, so that all blocks run at once. The first threads
// of the blocks count up to the top bit, which the last one flips, so the counter needs no reset.
__device__ unsigned int grid_arrived;
DEV void grid_sync() {
    __syncthreads();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
        const bool first = blockIdx.x + blockIdx.y + blockIdx.z == 0;
        __threadfence();
        const unsigned int before = atomicAdd(&grid_arrived, first ? 0x80000000u - (blocks - 1) : 1u);
        while (((before ^ *(volatile unsigned int*)&grid_arrived) & 0x80000000u) == 0) {}
        __threadfence();
    }
    __syncthreads();
}
