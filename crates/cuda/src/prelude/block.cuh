// Reductions over the threads of a group, a block and a grid, in an order that does not depend on timing.
template <class S> DEV S shuffle_xor(S x, int mask) {
    union { S s; uint32 w[(sizeof(S) + 3) / 4]; } u;
    u.s = x;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(S) + 3) / 4); i++) u.w[i] = __shfl_xor_sync(0xffffffffu, u.w[i], mask);
    return u.s;
}
// Reduces over G neighboring lanes, where G is a power of two up to 32. All of them get the result, bit for bit the
// same.
template <class Op, int G, class S> DEV S group_reduce(S s) {
#pragma unroll
    for (int d = 1; d < G; d *= 2) {
        S other = shuffle_xor(s, d);
        s = (threadIdx.x & d) ? Op::merge(other, s) : Op::merge(s, other);
    }
    return s;
}
// Reduces over a one-dimensional block of T threads; all get the result. `shared` holds T / 32 states and is used once.
template <class Op, int T, class S> DEV S block_reduce(S s, S* shared) {
    s = group_reduce<Op, 32>(s);
    if constexpr (T > 32) {
        if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = s;
        __syncthreads();
        s = threadIdx.x % 32 < T / 32 ? shared[threadIdx.x % 32] : Op::identity();
        s = group_reduce<Op, 32>(s);
    }
    return s;
}
// The same over all threads of a one-dimensional block, any multiple of 32.
template <class Op, class S> DEV S any_block_reduce(S s, S* shared) {
    s = group_reduce<Op, 32>(s);
    const int warps = blockDim.x / 32;
    if (warps > 1) {
        if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = s;
        __syncthreads();
        s = threadIdx.x % 32 < warps ? shared[threadIdx.x % 32] : Op::identity();
        s = group_reduce<Op, 32>(s);
    }
    return s;
}
// Returns true in the last of `blocks` blocks to arrive, which then sees what the others wrote. The counter is zero
// before the first launch and after every launch.
DEV bool is_last_block(uint32* counter, uint32 blocks) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) last = atomicInc(counter, blocks - 1) == blocks - 1;
    __syncthreads();
    if (last) __threadfence();
    return last;
}
