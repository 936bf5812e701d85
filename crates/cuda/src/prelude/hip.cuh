// CUDA's names by HIP's, for code that HIP's compilers compile for GPUs of AMD. It comes before all other code.
//
// A warp has 32 threads here too: a wave of 32, or one half of a wave of 64. No shuffle leaves its half, and votes are
// those of the own half. The halves of a wave may be at different places; within a warp the hardware keeps the threads
// together between branches.
#ifdef __HIP__
#define CUPROUS_HIP
#define __grid_constant__
// HIP's second bound counts waves, not blocks.
#undef __launch_bounds__
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))

// --- lanes
#define HIP_DEV __device__ inline __attribute__((always_inline))
HIP_DEV unsigned hip_lane() { return __lane_id() & 31; }
HIP_DEV unsigned hip_votes(bool yes) { return (unsigned)(__ballot(yes) >> (__lane_id() & 32)); }
// Words of four bytes, whatever the type. HIP does not reduce a lane's number to the warp, so that is done here.
template <class T, class F> HIP_DEV T hip_by_words(T x, F move) {
    union words { T value; int word[(sizeof(T) + 3) / 4]; HIP_DEV words() {} } u;
    u.value = x;
#pragma unroll
    for (int& word : u.word) word = move(word);
    return u.value;
}
template <class T> HIP_DEV T hip_shfl(T x, int from, int width = 32) {
    return hip_by_words(x, [=](int word) { return __shfl(word, from & (width - 1), width); });
}
template <class T> HIP_DEV T hip_shfl_xor(T x, int with, int width = 32) {
    return hip_by_words(x, [=](int word) { return __shfl_xor(word, with & 31, width); });
}
template <class T> HIP_DEV T hip_shfl_up(T x, unsigned by, int width = 32) {
    return hip_by_words(x, [=](int word) { return __shfl_up(word, by, width); });
}
template <class T> HIP_DEV T hip_shfl_down(T x, unsigned by, int width = 32) {
    return hip_by_words(x, [=](int word) { return __shfl_down(word, by, width); });
}
HIP_DEV void hip_syncwarp(unsigned = ~0u) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
HIP_DEV bool hip_uniform(unsigned mask, bool yes) {
    const unsigned votes = hip_votes(yes) & mask;
    return votes == 0 || votes == mask;
}
// The lanes whose values have the same bits: a vote for each bit.
template <class T> HIP_DEV unsigned hip_match_any(unsigned mask, T x) {
    union words { T value; unsigned word[(sizeof(T) + 3) / 4]; HIP_DEV words() : word() {} } u;
    u.value = x;
    unsigned same = mask;
#pragma unroll
    for (int b = 0; b < 8 * (int)sizeof(T); b++) {
        const bool one = u.word[b / 32] >> b % 32 & 1;
        const unsigned votes = hip_votes(one);
        same &= one ? votes : ~votes;
    }
    return same;
}
template <class T> HIP_DEV unsigned hip_match_all(unsigned mask, T x, int* all) {
    *all = hip_match_any(mask, x) == mask;
    return *all ? mask : 0;
}
// Combines the values of the lanes of a mask in an order that is the same for all of them.
template <class T, class F> HIP_DEV T hip_combine(unsigned mask, T x, F combine) {
    if (mask == ~0u) {
#pragma unroll
        for (int d = 1; d < 32; d *= 2) x = combine(x, hip_shfl_xor(x, d));
        return x;
    }
    T total = hip_shfl(x, __ffs((int)mask) - 1);
    for (unsigned rest = mask & (mask - 1); rest; rest &= rest - 1) total = combine(total, hip_shfl(x, __ffs((int)rest) - 1));
    return total;
}
// Later versions of HIP have some of these names, for masks of 64 bits.
#define __shfl_sync(mask, ...) hip_shfl(__VA_ARGS__)
#define __shfl_xor_sync(mask, ...) hip_shfl_xor(__VA_ARGS__)
#define __shfl_up_sync(mask, ...) hip_shfl_up(__VA_ARGS__)
#define __shfl_down_sync(mask, ...) hip_shfl_down(__VA_ARGS__)
#define __ballot_sync(mask, yes) (hip_votes(yes) & (mask))
#define __any_sync(mask, yes) ((hip_votes(yes) & (mask)) != 0)
#define __all_sync(mask, yes) ((hip_votes(!(yes)) & (mask)) == 0)
#define __uni_sync(mask, yes) hip_uniform(mask, yes)
#define __activemask() hip_votes(true)
#define __syncwarp hip_syncwarp
#define __match_any_sync hip_match_any
#define __match_all_sync hip_match_all
#define __reduce_add_sync(mask, x) hip_combine(mask, x, [](auto a, auto b) { return a + b; })
#define __reduce_min_sync(mask, x) hip_combine(mask, x, [](auto a, auto b) { return a < b ? a : b; })
#define __reduce_max_sync(mask, x) hip_combine(mask, x, [](auto a, auto b) { return a > b ? a : b; })
#define __reduce_and_sync(mask, x) hip_combine(mask, x, [](auto a, auto b) { return a & b; })
#define __reduce_or_sync(mask, x) hip_combine(mask, x, [](auto a, auto b) { return a | b; })
#define __reduce_xor_sync(mask, x) hip_combine(mask, x, [](auto a, auto b) { return a ^ b; })
#define __nanosleep(ns) __builtin_amdgcn_s_sleep(1)
#define __trap() __builtin_trap()
#undef warpSize
#define warpSize 32

// --- what HIP lacks for some types
HIP_DEV void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
HIP_DEV long long atomicMax(long long* p, long long x) {
    return __hip_atomic_fetch_max(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
HIP_DEV long long atomicMin(long long* p, long long x) {
    return __hip_atomic_fetch_min(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Of two bytes, within the word that holds them.
HIP_DEV unsigned short atomicCAS(unsigned short* p, unsigned short expected, unsigned short x) {
    const unsigned long long address = (unsigned long long)p;
    unsigned* const word = (unsigned*)(address & ~3ull);
    const unsigned shift = 8 * (unsigned)(address & 2);
    unsigned current = *(volatile unsigned*)word;
    for (;;) {
        const unsigned short old = (unsigned short)(current >> shift);
        if (old != expected) return old;
        const unsigned seen = atomicCAS(word, current, (current & ~(0xffffu << shift)) | (unsigned)x << shift);
        if (seen == current) return old;
        current = seen;
    }
}

// --- names that HIP lacks
#define HIP_LOADS(name) template <class T> HIP_DEV T name(const T* p) { return *p; }
HIP_LOADS(__ldca) HIP_LOADS(__ldcg) HIP_LOADS(__ldcs) HIP_LOADS(__ldlu)
template <class T> HIP_DEV T __ldcv(const T* p) { return *(const volatile T*)p; }
#define HIP_STORES(name) template <class T> HIP_DEV void name(T* p, T x) { *p = x; }
HIP_STORES(__stcg) HIP_STORES(__stcs) HIP_STORES(__stwb)
template <class T> HIP_DEV void __stwt(T* p, T x) { *(volatile T*)p = x; }
HIP_DEV int finitef(float x) { return __builtin_isfinite(x); }
HIP_DEV int isfinited(double x) { return __builtin_isfinite(x); }
HIP_DEV int isinff(float x) { return __builtin_isinf(x); }
HIP_DEV int isinfd(double x) { return __builtin_isinf(x); }
HIP_DEV int isnanf(float x) { return x != x; }
HIP_DEV int isnand(double x) { return x != x; }
HIP_DEV int signbitf(float x) { return __builtin_signbitf(x); }
HIP_DEV int signbitd(double x) { return __builtin_signbit(x); }
HIP_DEV unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
HIP_DEV unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
HIP_DEV long long llmax(long long a, long long b) { return a > b ? a : b; }
HIP_DEV long long llmin(long long a, long long b) { return a < b ? a : b; }
HIP_DEV unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
HIP_DEV unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
#define __float2half_rn hip_half_bits
#define __half2float hip_from_half_bits
HIP_DEV short hip_half_bits(float x) { return __builtin_bit_cast(short, (_Float16)x); }
HIP_DEV float hip_from_half_bits(short x) { return (float)__builtin_bit_cast(_Float16, x); }

// A rounding that HIP cannot compute is an error where it is used.
#define HIP_LACKS(name) \
    template <class... A> __device__ double name(A...) __attribute__((unavailable("HIP rounds to nearest only")));
#define HIP_NEAREST(name) HIP_LACKS(name##_rd) HIP_LACKS(name##_ru) HIP_LACKS(name##_rz)
HIP_NEAREST(__fadd) HIP_NEAREST(__fsub) HIP_NEAREST(__fmul) HIP_NEAREST(__fdiv) HIP_NEAREST(__fmaf)
HIP_NEAREST(__fsqrt) HIP_NEAREST(__frcp) HIP_NEAREST(__dadd) HIP_NEAREST(__dmul) HIP_NEAREST(__ddiv)
HIP_NEAREST(__fma) HIP_NEAREST(__dsqrt) HIP_NEAREST(__drcp)
#endif
