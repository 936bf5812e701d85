// CUDA's execution model on the CPU, for tests: every thread of a block is a fiber, and blocks run one after the other.
// A thread at a barrier (or at a shuffle, which is a barrier of its warp) waits for the others.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)

struct dim { unsigned x, y, z; };
static dim threadIdx, blockIdx, blockDim, gridDim;

namespace host {
enum Wait { none, block, warp, done };
struct Thread { ucontext_t context; Wait wait; std::vector<char> stack; dim index; };
inline std::vector<Thread> threads;
inline ucontext_t scheduler;
inline unsigned now;
inline uint64_t slots[1024];
inline void (*entry)();

inline void pause(Wait wait) {
    unsigned self = now;
    threads[self].wait = wait;
    swapcontext(&threads[self].context, &scheduler);
    now = self;
}
inline void start() {
    entry();
    threads[now].wait = done;
}
// A group is released when all its live threads wait for the same thing.
inline bool release(unsigned begin, unsigned end, Wait wait) {
    bool some = false;
    for (unsigned t = begin; t < end; t++) {
        if (threads[t].wait != done && threads[t].wait != wait) return false;
        some |= threads[t].wait == wait;
    }
    for (unsigned t = begin; t < end; t++) if (threads[t].wait == wait) threads[t].wait = none;
    return some;
}
inline void run_block(unsigned count) {
    if (threads.size() < count) threads.resize(count);
    for (unsigned t = 0; t < count; t++) {
        Thread& thread = threads[t];
        thread.stack.resize(256 << 10);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        thread.context.uc_link = &scheduler;
        thread.wait = none;
        thread.index = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
        makecontext(&thread.context, start, 0);
    }
    // Each warp runs as far as it can, starting with the first one or with the last one. Code must not depend on the
    // order.
    static const bool backwards = getenv("CUPROUS_HOST_BACKWARDS") != nullptr;
    const unsigned warps = (count + 31) / 32;
    do {
        for (unsigned k = 0; k < warps; k++) {
            const unsigned begin = 32 * (backwards ? warps - 1 - k : k), end = begin + 32 < count ? begin + 32 : count;
            do {
                for (unsigned t = begin; t < end; t++) {
                    if (threads[t].wait != none) continue;
                    now = t;
                    threadIdx = threads[t].index;
                    swapcontext(&scheduler, &threads[t].context);
                }
            } while (release(begin, end, warp));
        }
    } while (release(0, count, block));
    for (unsigned t = 0; t < count; t++) {
        if (threads[t].wait != done) { fprintf(stderr, "deadlock: thread %u waits\n", t); exit(3); }
    }
}
template <class F> void launch(dim grid, dim size, F kernel) {
    static F* current;
    current = &kernel;
    entry = [] { (*current)(); };
    gridDim = grid;
    blockDim = size;
    for (unsigned z = 0; z < grid.z; z++) for (unsigned y = 0; y < grid.y; y++) for (unsigned x = 0; x < grid.x; x++) {
        blockIdx = {x, y, z};
        run_block(size.x * size.y * size.z);
    }
}
inline unsigned lane() { return now % 32; }
inline unsigned warp_base() { return now - now % 32; }
template <class T> T exchange(T value, unsigned from) {
    static_assert(sizeof(T) <= 8, "a shuffle moves up to 8 bytes");
    unsigned self = now;
    slots[self] = 0;
    memcpy(&slots[self], &value, sizeof(T));
    pause(warp);
    threadIdx = threads[now].index;
    T got;
    memcpy(&got, &slots[self - self % 32 + from % 32], sizeof(T));
    pause(warp);
    threadIdx = threads[now].index;
    return got;
}
struct Pointer {
    void* p;
    template <class T> operator T*() const { return (T*)p; }
};
struct Value {
    const void* p;
    template <class T> operator T() const { T x; memcpy(&x, p, sizeof(T)); return x; }
};
inline std::vector<char> read(const char* name) {
    FILE* f = fopen(name, "rb");
    if (!f) { fprintf(stderr, "no %s\n", name); exit(2); }
    fseek(f, 0, SEEK_END);
    std::vector<char> bytes(ftell(f));
    rewind(f);
    if (!bytes.empty() && fread(bytes.data(), 1, bytes.size(), f) != bytes.size()) exit(2);
    fclose(f);
    return bytes;
}
inline void write(const char* name, const std::vector<char>& bytes) {
    FILE* f = fopen(name, "wb");
    fwrite(bytes.data(), 1, bytes.size(), f);
    fclose(f);
}
} // namespace host

inline void __syncthreads() { host::pause(host::block); threadIdx = host::threads[host::now].index; }
inline void __syncwarp(unsigned = 0) { host::pause(host::warp); threadIdx = host::threads[host::now].index; }
inline void __threadfence() {}
inline void __threadfence_block() {}
template <class T> T __shfl_sync(unsigned, T x, int from, int = 32) { return host::exchange(x, from); }
template <class T> T __shfl_xor_sync(unsigned, T x, int mask, int = 32) { return host::exchange(x, host::lane() ^ mask); }
template <class T> T __shfl_up_sync(unsigned, T x, int by, int = 32) {
    int from = (int)host::lane() - by;
    return host::exchange(x, from < 0 ? host::lane() : from);
}
template <class T> T __shfl_down_sync(unsigned, T x, int by, int = 32) {
    unsigned from = host::lane() + by;
    return host::exchange(x, from > 31 ? host::lane() : from);
}
// Every lane's bit at once, with a barrier of the warp before and after the bits are read.
inline unsigned __ballot_sync(unsigned, bool yes) {
    unsigned self = host::now, all = 0;
    host::slots[self] = yes;
    host::pause(host::warp);
    for (int l = 0; l < 32; l++) if (host::slots[self - self % 32 + l]) all |= 1u << l;
    host::pause(host::warp);
    threadIdx = host::threads[host::now].index;
    return all;
}
inline int __any_sync(unsigned m, bool yes) { return __ballot_sync(m, yes) != 0; }
inline int __all_sync(unsigned m, bool yes) { return __ballot_sync(m, yes) == m; }
template <class T> unsigned __match_any_sync(unsigned, T x) {
    unsigned same = 0;
    for (int l = 0; l < 32; l++) if (host::exchange(x, l) == x) same |= 1u << l;
    return same;
}
inline unsigned __reduce_max_sync(unsigned, unsigned x) {
    unsigned most = 0;
    for (int l = 0; l < 32; l++) {
        const unsigned other = host::exchange(x, l);
        most = other > most ? other : most;
    }
    return most;
}
inline unsigned __activemask() { return 0xffffffffu; }

template <class T> T min(T a, T b) { return a < b ? a : b; }
template <class T> T max(T a, T b) { return a > b ? a : b; }
template <class T, class U> T atomicAdd(T* p, U x) { T old = *p; *p = old + (T)x; return old; }
template <class T> T atomicMax(T* p, T x) { T old = *p; if (x > old) *p = x; return old; }
template <class T> T atomicMin(T* p, T x) { T old = *p; if (x < old) *p = x; return old; }
template <class T> T atomicOr(T* p, T x) { T old = *p; *p = old | x; return old; }
template <class T> T atomicExch(T* p, T x) { T old = *p; *p = x; return old; }
template <class T> T atomicCAS(T* p, T expected, T x) { T old = *p; if (old == expected) *p = x; return old; }
inline unsigned atomicInc(unsigned* p, unsigned most) { unsigned old = *p; *p = old >= most ? 0 : old + 1; return old; }

template <class To, class From> To same_bits(From x) { To y; memcpy(&y, &x, sizeof(To)); return y; }
inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
inline int __float_as_int(float x) { return same_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline float __int_as_float(int x) { return same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
inline float __double2float_rz(double x) {
    float f = (float)x;
    return std::fabs((double)f) > std::fabs(x) ? std::nextafter(f, 0.0f) : f;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }

// Functions of CUDA's math library that C's does not have.
using std::sqrt, std::exp, std::exp2, std::expm1, std::log, std::log2, std::log10, std::log1p, std::sin, std::cos;
using std::tan, std::asin, std::acos, std::atan, std::sinh, std::cosh, std::tanh, std::asinh, std::acosh, std::atanh;
using std::cbrt, std::hypot, std::atan2, std::pow, std::fmod, std::floor, std::ceil, std::trunc, std::rint, std::fabs;
using std::copysign, std::nextafter, std::ldexp, std::frexp, std::fma, std::fmax, std::fmin, std::erf, std::erfc;
using std::tgamma, std::lgamma;
inline void sincos(float x, float* s, float* c) { *s = sin(x); *c = cos(x); }
inline double sinpi(double x) {
    double r = std::fmod(x, 2.0);
    return r == std::floor(r) ? 0.0 * x : std::sin(3.14159265358979323846 * r);
}
inline float sinpi(float x) { return (float)sinpi((double)x); }
inline void sincospi(double x, double* s, double* c) {
    *s = sinpi(x);
    *c = sinpi(x + 0.5);
}
inline void sincospif(float x, float* s, float* c) {
    double a, b;
    sincospi((double)x, &a, &b);
    *s = (float)a;
    *c = (float)b;
}
inline double normcdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline float normcdf(float x) { return (float)normcdf((double)x); }
inline double cyl_bessel_i0(double x) {
    if (!(std::fabs(x) < 700)) return std::fabs(x);  // infinity and NaN; no test uses other values beyond 700
    return std::cyl_bessel_i(0.0, std::fabs(x));
}
inline float cyl_bessel_i0(float x) { return (float)cyl_bessel_i0((double)x); }
inline double erfinv(double y) {
    if (y == 1 || y == -1) return y * INFINITY;
    double x = 0;
    for (int i = 0; i < 100; i++) x -= (std::erf(x) - y) / (1.1283791670955126 * std::exp(-x * x));
    return x;
}
inline float erfinv(float y) { return (float)erfinv((double)y); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
