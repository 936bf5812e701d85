// The first exception of a launch: fault + 1, thread index, block index, the number of values, the values.
__device__ int64 fault_record[32];
template <class... V> DEV_FAR void raise(int64 fault, V... values) {
    if (atomicCAS((unsigned long long*)fault_record, 0ull, (unsigned long long)fault + 1) == 0) {
        int64* to = fault_record + 1;
        *to++ = threadIdx.x, *to++ = threadIdx.y, *to++ = threadIdx.z;
        *to++ = blockIdx.x, *to++ = blockIdx.y, *to++ = blockIdx.z;
        *to++ = sizeof...(V);
        ((*to++ = values), ...);
        __threadfence_system();
    }
    end_thread();
}
