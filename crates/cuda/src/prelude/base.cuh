// Types, traits, index helpers and vectors. No part of the prelude includes a header.
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;

// The constraint of assembly for 64 bits in a register.
#ifdef CUPROUS_HIP
#define IN_REGISTER "+v"
#else
#define IN_REGISTER "+l"
#endif
#define DEV __device__ __forceinline__
// Not forced inline: for functions too long to repeat for every lane.
#define DEV_FAR __device__ inline

template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
template <class T> constexpr bool floating = same<T, float> || same<T, double>;
// half and bf16: computed in float, rounded after every operation.
template <class T> constexpr bool half_float = false;
// complex64 and complex128.
template <class T> constexpr bool cplx = false;
template <class T> constexpr bool integral = !floating<T> && !half_float<T> && !cplx<T> && !same<T, bool>;
template <class T> constexpr bool is_signed = integral<T> && (T)-1 < (T)1;

// Integers wrap. They are computed as unsigned numbers of at least 32 bits, for which overflow is defined.
template <bool wide> struct wide_unsigned { typedef uint32 type; };
template <> struct wide_unsigned<true> { typedef uint64 type; };
template <class T> using wrapped = typename wide_unsigned<sizeof(T) == 8>::type;

template <class T> struct component_of { typedef T type; };
template <class T> using component = typename component_of<T>::type;

template <class T> struct narrow_to;
template <class T> DEV T narrow(float x);

// Converts floats to integers as C casts do on x86-64, and so as NumPy does there: out-of-range values become the
// smallest integer.
template <class F> DEV int32 to_int32(F x) {
    return x > (F)-2147483649.0 && x < (F)2147483648.0 ? (int32)x : (int32)0x80000000;
}
template <class F> DEV int64 to_int64(F x) {
    return x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0 ? (int64)x : (int64)0x8000000000000000ull;
}
template <class To, class F> DEV To to_integer(F x) {
    if constexpr (same<To, int64>) return to_int64(x);
    else if constexpr (same<To, uint64>) {
        const F half_way = (F)9223372036854775808.0;
        return x >= half_way ? (uint64)to_int64(x - half_way) ^ 0x8000000000000000ull : (uint64)to_int64(x);
    } else if constexpr (same<To, uint32>) return (uint32)to_int64(x);
    else return (To)to_int32(x);
}

// Converts a scalar as a C cast does. Complex numbers lose their imaginary part, except in a conversion to bool.
template <class To, class From> DEV To cast(From x) {
    if constexpr (same<To, From>) return x;
    else if constexpr (cplx<From>) {
        if constexpr (same<To, bool>) return x.re != 0 || x.im != 0;
        else if constexpr (cplx<To>) return To{(component<To>)x.re, (component<To>)x.im};
        else return cast<To>(x.re);
    } else if constexpr (cplx<To>) return To{cast<component<To>>(x), (component<To>)0};
    else if constexpr (half_float<From>) return cast<To>(widen(x));
    else if constexpr (half_float<To>) return narrow_to<To>::from(x);
    else if constexpr (same<To, bool>) return x != 0;
    else if constexpr (floating<From> && integral<To>) return to_integer<To>(x);
    else return (To)x;
}
// Reinterprets the bits as another type of the same size.
template <class To, class From> DEV To bitcast(From x) {
    union { From from; To to; } u;
    u.from = x;
    return u.to;
}

// --- vectors: N elements, loaded and stored in accesses of up to 16 bytes
constexpr int vec_align(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}
template <class T, int N> struct alignas(vec_align(sizeof(T) * N)) vec { T v[N]; };

template <int N, class T> DEV vec<T, N> load(const T* p) { return *(const vec<T, N>*)p; }
template <int N, class T> DEV vec<T, N> load_partial(const T* p, int64 left) {
    if (left >= N) return load<N>(p);
    vec<T, N> x = {};
#pragma unroll
    for (int l = 0; l < N; l++) if (l < left) x.v[l] = p[l];
    return x;
}
template <int N, class T> DEV vec<T, N> load_strided(const T* p, int64 stride) {
    vec<T, N> x;
#pragma unroll
    for (int l = 0; l < N; l++) x.v[l] = p[l * stride];
    return x;
}
template <int N, class T> DEV vec<T, N> load_strided_partial(const T* p, int64 stride, int64 left) {
    vec<T, N> x = {};
#pragma unroll
    for (int l = 0; l < N; l++) if (l < left) x.v[l] = p[l * stride];
    return x;
}
template <class T> DEV T load_guarded(const T* p, int64 left) { return left > 0 ? *p : T{}; }
template <int N, class T> DEV void store(T* p, const vec<T, N>& x) { *(vec<T, N>*)p = x; }
template <int N, class T> DEV void store_partial(T* p, const vec<T, N>& x, int64 left) {
    if (left >= N) return store<N>(p, x);
#pragma unroll
    for (int l = 0; l < N; l++) if (l < left) p[l] = x.v[l];
}
template <int N, class T> DEV void store_strided_partial(T* p, const vec<T, N>& x, int64 stride, int64 left) {
#pragma unroll
    for (int l = 0; l < N; l++) if (l < left) p[l * stride] = x.v[l];
}

// --- division of 0 <= n < 2^31 by a constant known to the host only: magic = ceil(2^shift / d), 31 <= shift < 64
struct divisor { uint32 d, magic, shift; };
DEV int32 quotient(int32 n, divisor d) { return (int32)(((uint64)(uint32)n * d.magic) >> d.shift); }
DEV int64 quotient(int64 n, int64 d) { return (int64)((uint64)n / (uint64)d); }
DEV int32 extent(divisor d) { return (int32)d.d; }
DEV int64 extent(int64 d) { return d; }

// Wraps any index into 0..n, so that memory is never accessed out of bounds.
DEV int64 wrap(int64 i, int64 n) {
    if ((uint64)i < (uint64)n) return i;
    i %= n;
    return i < 0 ? i + n : i;
}
