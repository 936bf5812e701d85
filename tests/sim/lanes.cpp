// Runs the functions by which HIP has CUDA's names (crates/cuda/src/prelude/hip.cuh) in a wave of 64 threads, whose halves
// are two warps, and compares them with what CUDA defines. Prints each difference.
//
// Each lane is a thread, and all lanes take each step together. HIP's own functions are those of its headers.
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#define __device__
#define __HIP__
#define __HIP_MEMORY_SCOPE_AGENT 0
#define __hip_atomic_fetch_max(p, x, order, scope) (*(p))
#define __hip_atomic_fetch_min(p, x, order, scope) (*(p))

namespace hip {
constexpr int WAVE = 64;
thread_local int lane;
std::barrier together(WAVE);
int words[WAVE];

int __lane_id() { return lane; }
// Reads the word of another lane, whose number counts in the whole wave.
int permute(int word, int from) {
    words[lane] = word;
    together.arrive_and_wait();
    const int got = words[from & (WAVE - 1)];
    together.arrive_and_wait();
    return got;
}
int __shfl(int x, int from, int width) { return permute(x, from + (lane & ~(width - 1))); }
int __shfl_xor(int x, int with, int width) {
    const int at = lane ^ with;
    return permute(x, at >= ((lane + width) & ~(width - 1)) ? lane : at);
}
int __shfl_up(int x, unsigned by, int width) {
    const int at = lane - (int)by;
    return permute(x, at < (lane & ~(width - 1)) ? lane : at);
}
int __shfl_down(int x, unsigned by, int width) {
    return permute(x, (int)((lane & (width - 1)) + by) >= width ? lane : lane + (int)by);
}
unsigned long long __ballot(int yes) {
    words[lane] = yes;
    together.arrive_and_wait();
    unsigned long long votes = 0;
    for (int k = 0; k < WAVE; k++) votes |= (unsigned long long)(words[k] != 0) << k;
    together.arrive_and_wait();
    return votes;
}
int __ffs(int x) { return __builtin_ffs(x); }
void __builtin_amdgcn_fence(int, const char*) {}
void __builtin_amdgcn_wave_barrier() { together.arrive_and_wait(); }
unsigned atomicCAS(unsigned* p, unsigned expected, unsigned x) {
    __atomic_compare_exchange_n(p, &expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
void sincosf(float, float*, float*) {}
#include HEADER

std::atomic<int> failures;
template <class T> bool same(T a, T b) { return memcmp(&a, &b, sizeof(T)) == 0; }
template <class T> void check(const char* what, T got, T expected) {
    if (same(got, expected)) return;
    failures++;
    printf("lane %d: %s\n", lane, what);
}

// A value of any type that differs between lanes, also between the two warps.
template <class T> T value(int at) {
    T x;
    unsigned char bytes[sizeof(T)];
    for (size_t k = 0; k < sizeof(T); k++) bytes[k] = (unsigned char)(at * 3 + 7 * k + 1);
    memcpy(&x, bytes, sizeof(T));
    return x;
}

struct triple { int a, b, c; };

template <class T> void shuffles(const char* name) {
    const int warp = lane & 32, own = lane & 31;
    const T x = value<T>(lane);
    for (int width : {32, 8}) {
        const int start = own & ~(width - 1), end = start + width;
        auto at = [&](int k) { return value<T>(warp + k); };
        for (int k = 0; k < 70; k += 11) {
            check(name, __shfl_sync(~0u, x, k, width), at(start + (k & (width - 1))));
            const int with = own ^ (k & 31);
            check(name, __shfl_xor_sync(~0u, x, k, width), at(with >= end ? own : with));
        }
        for (int k = 0; k < 32; k += 5) {
            check(name, __shfl_up_sync(~0u, x, k, width), at(own - k < start ? own : own - k));
            check(name, __shfl_down_sync(~0u, x, k, width), at(own + k >= end ? own : own + k));
        }
    }
}

template <class T> void matches(const char* name) {
    const int own = lane & 31;
    for (unsigned mask : {~0u, lane < 32 ? 0x0ff00f0fu : 0xf0f00ff0u}) {
        unsigned equal = 0;
        const auto group = [](int k) { return k * k % 5 + (k >= 32); };
        for (int k = 0; k < 32; k++)
            if (group((lane & 32) + k) == group(lane)) equal |= 1u << k;
        const unsigned got = __match_any_sync(mask, value<T>(group(lane)));
        if (mask >> own & 1) check(name, got, equal & mask);
        int all = 2;
        check(name, __match_all_sync(mask, value<T>(lane >> 5), &all), mask);
        check(name, all, 1);
        check(name, __match_all_sync(mask, value<T>(lane), &all), 0u);
        check(name, all, 0);
    }
}

void votes_and_sums() {
    const int own = lane & 31, warp = lane & 32;
    check("lane_id", hip_lane(), (unsigned)own);
    for (unsigned mask : {~0u, lane < 32 ? 0x0000f0f1u : 0x8f0f0000u}) {
        unsigned yes = 0, sum = 0, low = ~0u, high = 0, both = ~0u, either = 0, odd = 0;
        const auto vote = [](int k) { return k % 3 == k / 32; };
        const auto number = [](int k) { return (unsigned)(k * 2654435761u >> 7); };
        for (int k = 0; k < 32; k++) {
            yes |= (unsigned)vote(warp + k) << k;
            if (!(mask >> k & 1)) continue;
            const unsigned x = number(warp + k);
            sum += x, both &= x, either |= x, odd ^= x;
            low = x < low ? x : low, high = x > high ? x : high;
        }
        check("ballot", __ballot_sync(mask, vote(lane)), yes & mask);
        check("any", __any_sync(mask, vote(lane)), (yes & mask) != 0);
        check("any of none", __any_sync(mask, false), false);
        check("all", __all_sync(mask, vote(lane)), (yes & mask) == mask);
        check("all of all", __all_sync(mask, lane >= 0), true);
        check("uni", __uni_sync(mask, vote(lane)), (yes & mask) == mask || (yes & mask) == 0);
        check("uni of all", __uni_sync(mask, lane >= 0), true);
        check("uni of none", __uni_sync(mask, false), true);
        const unsigned x = number(lane);
        check("reduce_add", __reduce_add_sync(mask, x), sum);
        check("reduce_min", __reduce_min_sync(mask, x), low);
        check("reduce_max", __reduce_max_sync(mask, x), high);
        check("reduce_and", __reduce_and_sync(mask, x), both);
        check("reduce_or", __reduce_or_sync(mask, x), either);
        check("reduce_xor", __reduce_xor_sync(mask, x), odd);
    }
    check("activemask", __activemask(), ~0u);
    __syncwarp();
}

// Pairs of 16-bit counters in one word, to which all lanes add.
alignas(4) unsigned short counters[4];
void counters_of_16_bits() {
    for (int turn = 0; turn < 20; turn++) {
        unsigned short* p = &counters[lane % 4];
        for (unsigned short seen = *(volatile unsigned short*)p;;) {
            const unsigned short old = atomicCAS(p, seen, (unsigned short)(seen + 1));
            if (old == seen) break;
            seen = old;
        }
    }
    together.arrive_and_wait();
    check("atomicCAS of 16 bits", (int)counters[lane % 4], 20 * WAVE / 4);
}

void run(int number) {
    lane = number;
    shuffles<int>("shuffle of 4 bytes");
    shuffles<double>("shuffle of 8 bytes");
    shuffles<unsigned char>("shuffle of 1 byte");
    shuffles<triple>("shuffle of 12 bytes");
    matches<int>("match of 4 bytes");
    matches<long long>("match of 8 bytes");
    votes_and_sums();
    counters_of_16_bits();
}
} // namespace hip

int main() {
    std::vector<std::thread> lanes;
    for (int k = 0; k < hip::WAVE; k++) lanes.emplace_back(hip::run, k);
    for (std::thread& one : lanes) one.join();
    return hip::failures != 0;
}
