// CUDA's device functions in C++. The simulator compiles generated code behind this header, as NVRTC compiles it for a
// GPU. The threads of a block are coroutines of the executor (executor.rs), which runs one of them at a time.
#pragma once
#include <cstddef>
// Special functions are most of <cmath>, and reading them would take a third of the time of a kernel.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#define __device__
#define __host__
#define __global__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict __restrict__
// Every block runs on one thread of the system, and blocks that must run at once on a thread each.
#define __shared__ static thread_local

struct uint3 { unsigned x, y, z; };
struct int2 { int x, y; };
struct int3 { int x, y, z; };
struct alignas(16) int4 { int x, y, z, w; };
struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct float3 { float x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

namespace sim {
// What the executor gives to a module. The same fields, in this order, as `Services` in executor.rs.
struct services {
    // Waits until all lanes of the mask are here. Returns the values that they passed, by lane, and which lanes passed one.
    const uint64_t* (*exchange)(uint32_t mask, uint64_t value, uint32_t* present);
    // Waits until all threads of the block are here. Returns for how many of them the value is not zero, and their number.
    uint32_t (*barrier)(uint32_t value, uint32_t* threads);
    void (*end_thread)();
    void (*pause)();
    uint32_t (*active)();
};
// The same fields, in this order, as `Position` in executor.rs.
struct position { uint3 thread, block, block_dim, grid_dim; uint32_t lane; uint32_t dynamic_bytes; void* dynamic; };
inline thread_local position here;
inline const services* executor;

// Dynamic shared memory that is declared outside of all functions.
template <class T> struct dynamic { operator T*() const { return (T*)here.dynamic; } };

template <class T> T exchange(unsigned mask, T value, unsigned from) {
    static_assert(sizeof(T) <= 8, "a shuffle moves up to 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    uint32_t present;
    const uint64_t* all = executor->exchange(mask, bits, &present);
    T got;
    memcpy(&got, &all[present >> from & 1 ? from : here.lane], sizeof(T));
    return got;
}
// Combines the values of the lanes of a mask.
template <class T, class F> T combine(unsigned mask, T value, F f) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    uint32_t present;
    const uint64_t* all = executor->exchange(mask, bits, &present);
    T total = value;
    bool first = true;
    for (int l = 0; l < 32; l++) {
        if (!(present >> l & 1)) continue;
        T other;
        memcpy(&other, &all[l], sizeof(T));
        total = first ? other : f(total, other);
        first = false;
    }
    return total;
}

// A kernel: how to call it with the addresses of its arguments, and their sizes.
struct kernel { void (*call)(void** arguments); uint32_t count; const uint32_t* sizes; };
template <class... A> struct signature {
    static constexpr uint32_t sizes[sizeof...(A) + 1] = {(uint32_t)sizeof(A)..., 0};
    template <void (*f)(A...), size_t... I> static void call_with(void** p, std::index_sequence<I...>) {
        f(*(std::remove_reference_t<A>*)p[I]...);
    }
    template <void (*f)(A...)> static void call(void** p) { call_with<f>(p, std::index_sequence_for<A...>()); }
};
template <auto f> struct describe;
template <class... A, void (*f)(A...)> struct describe<f> {
    static constexpr kernel value = {signature<A...>::template call<f>, sizeof...(A), signature<A...>::sizes};
};
} // namespace sim

extern "C" sim::position* sim_position() { return &sim::here; }
extern "C" void sim_start(const sim::services* services) { sim::executor = services; }

#define threadIdx (sim::here.thread)
#define blockIdx (sim::here.block)
#define blockDim (sim::here.block_dim)
#define gridDim (sim::here.grid_dim)
constexpr int warpSize = 32;

// --- barriers and lanes
inline void __syncthreads() { uint32_t n; sim::executor->barrier(0, &n); }
inline int __syncthreads_count(int yes) { uint32_t n; return (int)sim::executor->barrier(yes != 0, &n); }
inline int __syncthreads_or(int yes) { return __syncthreads_count(yes) != 0; }
inline int __syncthreads_and(int yes) { uint32_t n; return sim::executor->barrier(yes != 0, &n) == n; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { uint32_t present; sim::executor->exchange(mask, 0, &present); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) { sim::executor->pause(); }
inline unsigned __activemask() { return sim::executor->active(); }
inline long long clock64() { static long long ticks; return ticks += 100; }
inline int clock() { return (int)clock64(); }
[[noreturn]] inline void __trap() { fprintf(stderr, "trap\n"); abort(); }

namespace sim {
// The lane that a shuffle of the given width reads, or the own lane if it lies outside of the segment.
inline unsigned within(int at, int width) {
    const int start = (int)here.lane & ~(width - 1);
    return at < start || at >= start + width ? here.lane : (unsigned)at;
}
} // namespace sim
template <class T> T __shfl_sync(unsigned m, T x, int from, int width = 32) {
    return sim::exchange(m, x, ((int)sim::here.lane & ~(width - 1)) + (from & (width - 1)));
}
template <class T> T __shfl_xor_sync(unsigned m, T x, int with, int width = 32) {
    const int at = (int)sim::here.lane ^ with, end = ((int)sim::here.lane & ~(width - 1)) + width;
    return sim::exchange(m, x, at >= end ? sim::here.lane : (unsigned)at);
}
template <class T> T __shfl_up_sync(unsigned m, T x, unsigned by, int width = 32) {
    return sim::exchange(m, x, sim::within((int)sim::here.lane - (int)by, width));
}
template <class T> T __shfl_down_sync(unsigned m, T x, unsigned by, int width = 32) {
    return sim::exchange(m, x, sim::within((int)sim::here.lane + (int)by, width));
}
inline unsigned __ballot_sync(unsigned m, int yes) {
    uint32_t present, votes = 0;
    const uint64_t* all = sim::executor->exchange(m, yes != 0, &present);
    for (int l = 0; l < 32; l++) votes |= (uint32_t)((present >> l & 1) && all[l]) << l;
    return votes;
}
inline int __any_sync(unsigned m, int yes) { return __ballot_sync(m, yes) != 0; }
inline int __all_sync(unsigned m, int yes) { return __ballot_sync(m, !yes) == 0; }
inline int __uni_sync(unsigned m, int yes) {
    const unsigned votes = __ballot_sync(m, yes);
    return votes == 0 || votes == m;
}
template <class T> unsigned __match_any_sync(unsigned m, T x) {
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof(T));
    uint32_t present, same = 0;
    const uint64_t* all = sim::executor->exchange(m, bits, &present);
    for (int l = 0; l < 32; l++) same |= (uint32_t)((present >> l & 1) && all[l] == bits) << l;
    return same;
}
template <class T> unsigned __match_all_sync(unsigned m, T x, int* all) {
    const unsigned same = __match_any_sync(m, x);
    *all = same == m;
    return *all ? m : 0;
}
template <class T> T __reduce_add_sync(unsigned m, T x) { return sim::combine(m, x, [](T a, T b) { return (T)(a + b); }); }
template <class T> T __reduce_min_sync(unsigned m, T x) { return sim::combine(m, x, [](T a, T b) { return a < b ? a : b; }); }
template <class T> T __reduce_max_sync(unsigned m, T x) { return sim::combine(m, x, [](T a, T b) { return a > b ? a : b; }); }
template <class T> T __reduce_and_sync(unsigned m, T x) { return sim::combine(m, x, [](T a, T b) { return a & b; }); }
template <class T> T __reduce_or_sync(unsigned m, T x) { return sim::combine(m, x, [](T a, T b) { return a | b; }); }
template <class T> T __reduce_xor_sync(unsigned m, T x) { return sim::combine(m, x, [](T a, T b) { return a ^ b; }); }

// --- atomics: of the machine, since blocks of a cooperative launch run at once
namespace sim {
template <class T, class F> T update(T* p, F f) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "an atomic operation is of 2, 4 or 8 bytes");
    T before, after;
    __atomic_load(p, &before, __ATOMIC_SEQ_CST);
    do after = f(before); while (!__atomic_compare_exchange(p, &before, &after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return before;
}
} // namespace sim
template <class T, class U> T atomicAdd(T* p, U x) { return sim::update(p, [=](T o) { return (T)(o + (T)x); }); }
template <class T, class U> T atomicSub(T* p, U x) { return sim::update(p, [=](T o) { return (T)(o - (T)x); }); }
template <class T, class U> T atomicMax(T* p, U x) { return sim::update(p, [=](T o) { return o > (T)x ? o : (T)x; }); }
template <class T, class U> T atomicMin(T* p, U x) { return sim::update(p, [=](T o) { return o < (T)x ? o : (T)x; }); }
template <class T, class U> T atomicAnd(T* p, U x) { return sim::update(p, [=](T o) { return (T)(o & (T)x); }); }
template <class T, class U> T atomicOr(T* p, U x) { return sim::update(p, [=](T o) { return (T)(o | (T)x); }); }
template <class T, class U> T atomicXor(T* p, U x) { return sim::update(p, [=](T o) { return (T)(o ^ (T)x); }); }
template <class T, class U> T atomicExch(T* p, U x) { return sim::update(p, [=](T) { return (T)x; }); }
template <class T, class U, class V> T atomicCAS(T* p, U expected, V x) {
    T old = (T)expected, value = (T)x;
    __atomic_compare_exchange(p, &old, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}
inline unsigned atomicInc(unsigned* p, unsigned most) { return sim::update(p, [=](unsigned o) { return o >= most ? 0 : o + 1; }); }
inline unsigned atomicDec(unsigned* p, unsigned most) { return sim::update(p, [=](unsigned o) { return o == 0 || o > most ? most : o - 1; }); }

// --- bits
template <class To, class From> To sim_bits(From x) { To y; memcpy(&y, &x, sizeof(To)); return y; }
inline unsigned __float_as_uint(float x) { return sim_bits<unsigned>(x); }
inline int __float_as_int(float x) { return sim_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return sim_bits<float>(x); }
inline float __int_as_float(int x) { return sim_bits<float>(x); }
inline long long __double_as_longlong(double x) { return sim_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return sim_bits<double>(x); }
inline int __double2hiint(double x) { return (int)(sim_bits<long long>(x) >> 32); }
inline int __double2loint(double x) { return (int)sim_bits<long long>(x); }
inline double __hiloint2double(int high, int low) { return sim_bits<double>((long long)high << 32 | (unsigned)low); }
inline float __double2float_rz(double x) {
    float f = (float)x;
    return std::fabs((double)f) > std::fabs(x) ? std::nextafter(f, 0.0f) : f;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
inline unsigned long long __brevll(unsigned long long x) { return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32)); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) r |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return r;
}
inline int __sad(int a, int b, unsigned c) { return (int)(c + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a)); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
inline int __hadd(int a, int b) { return (int)(((int64_t)a + b) >> 1); }
inline int __rhadd(int a, int b) { return (int)(((int64_t)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a + b + 1) >> 1); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) { return (unsigned)(((uint64_t)high << 32 | low) << (by & 31) >> 32); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) { return (unsigned)(((uint64_t)high << 32 | low) >> (by & 31)); }
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldlu(const T* p) { return *p; }
template <class T> T __ldcv(const T* p) { return *(const volatile T*)p; }
template <class T> void __stcg(T* p, T x) { *p = x; }
template <class T> void __stcs(T* p, T x) { *p = x; }
template <class T> void __stwb(T* p, T x) { *p = x; }
template <class T> void __stwt(T* p, T x) { *p = x; }

// --- arithmetic with a rounding mode; only the nearest is exact here
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __frsqrt_rn(float a) { return (float)(1 / std::sqrt((double)a)); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __drcp_rn(double a) { return 1 / a; }

// --- mathematics
template <class T> T min(T a, T b) { return a < b ? a : b; }
template <class T> T max(T a, T b) { return a > b ? a : b; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
using std::sqrt, std::exp, std::exp2, std::expm1, std::log, std::log2, std::log10, std::log1p, std::sin, std::cos;
using std::tan, std::asin, std::acos, std::atan, std::sinh, std::cosh, std::tanh, std::asinh, std::acosh, std::atanh;
using std::cbrt, std::hypot, std::atan2, std::pow, std::fmod, std::floor, std::ceil, std::trunc, std::rint, std::fabs;
using std::copysign, std::nextafter, std::ldexp, std::frexp, std::fma, std::fmax, std::fmin, std::erf, std::erfc;
using std::tgamma, std::lgamma, std::remainder, std::round, std::nearbyint, std::logb, std::ilogb, std::scalbn, std::modf;
using std::abs, std::isnan, std::isinf, std::isfinite, std::signbit, std::fdim, std::llrint, std::lrint, std::lround;
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline void __sincosf(float x, float* s, float* c) { *s = std::sin(x); *c = std::cos(x); }
inline float exp10f(float x) { return std::pow(10.0f, x); }
inline double exp10(double x, int) { return std::pow(10.0, x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1 / std::cbrt(x); }
inline double rcbrt(double x) { return 1 / std::cbrt(x); }
inline void sincos(float x, float* s, float* c) { *s = std::sin(x); *c = std::cos(x); }
inline double sinpi(double x) {
    double r = std::fmod(x, 2.0);
    return r == std::floor(r) ? 0.0 * x : std::sin(3.14159265358979323846 * r);
}
inline double cospi(double x) { return std::isfinite(x) ? sinpi(std::fmod(std::fabs(x), 2.0) + 0.5) : x - x; }
inline float sinpi(float x) { return (float)sinpi((double)x); }
inline float cospi(float x) { return (float)cospi((double)x); }
inline float sinpif(float x) { return sinpi(x); }
inline float cospif(float x) { return cospi(x); }
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
inline void sincospif(float x, float* s, float* c) { *s = sinpi(x); *c = cospi(x); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline float normcdf(float x) { return (float)normcdf((double)x); }
inline float normcdff(float x) { return normcdf(x); }
inline double erfcx(double x) { return x < 25 ? std::exp(x * x) * std::erfc(x) : 0.56418958354775628695 / x; }
inline float erfcxf(float x) { return (float)erfcx((double)x); }
namespace sim {
// The modified Bessel function of order 0 or 1 by its power series, whose terms all have one sign.
inline double bessel_i(int order, double x) {
    double term = order == 0 ? 1 : x / 2, sum = term;
    for (int k = 1; std::fabs(term) > 1e-17 * std::fabs(sum); k++) sum += term *= x * x / (4.0 * k * (k + order));
    return sum;
}
} // namespace sim
inline double cyl_bessel_i0(double x) { return std::fabs(x) < 700 ? sim::bessel_i(0, x) : std::fabs(x); }
inline float cyl_bessel_i0(float x) { return (float)cyl_bessel_i0((double)x); }
inline float cyl_bessel_i0f(float x) { return cyl_bessel_i0(x); }
inline double cyl_bessel_i1(double x) { return std::fabs(x) < 700 ? sim::bessel_i(1, x) : x; }
inline float cyl_bessel_i1f(float x) { return (float)cyl_bessel_i1((double)x); }
inline double erfinv(double y) {
    if (y == 0 || y == 1 || y == -1) return y == 0 ? y : y * INFINITY;
    if (!(std::fabs(y) < 1)) return NAN;  // as libdevice
    double x = 0;
    for (int i = 0; i < 100; i++) x -= (std::erf(x) - y) / (1.1283791670955126 * std::exp(-x * x));
    return x;
}
inline float erfinv(float y) { return (float)erfinv((double)y); }
inline float erfinvf(float y) { return erfinv(y); }
inline double erfcinv(double y) { return erfinv(1 - y); }
inline float erfcinvf(float y) { return (float)erfcinv((double)y); }
inline double normcdfinv(double y) { return -1.4142135623730951 * erfcinv(2 * y); }
inline float normcdfinvf(float y) { return (float)normcdfinv((double)y); }
