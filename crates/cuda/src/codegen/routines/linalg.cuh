// Kernels around a library's decompositions: they bring matrices into the layout that the library reads, and its
// results into the layout of the output.
//
// `largest` holds the bits of each matrix's largest magnitude as float64; NaN is above infinity, and infinity above
// every number. `info` is the library's status of each matrix, 0 for success.
constexpr uint64 INFINITE = 0x7ff0000000000000ull;
#define QUIET_NAN bitcast<double>(0x7ff8000000000000ull)
// Flags of linalg_copy.
enum { CONJUGATE = 1, SCALE = 2, NAN_ON_FAILURE = 4, UPPER = 8, LOWER = 16 };
// The part of the matrix that linalg_scan reads.
enum { ALL = 0, LOWER_HALF = 1, UPPER_HALF = 2 };

template <class T> DEV T from_real(double x) {
    if constexpr (cplx<T>) return T{(component<T>)x, 0};
    else return (T)x;
}
template <class T> DEV T conjugate(T x) {
    if constexpr (cplx<T>) return T{x.re, -x.im};
    else return x;
}
template <class T> DEV T times(T x, component<T> factor) {
    if constexpr (cplx<T>) return T{x.re * factor, x.im * factor};
    else return x * factor;
}
DEV uint64 magnitude_bits(double x) { return bitcast<uint64>(x) & 0x7fffffffffffffffull; }
template <class T> DEV uint64 largest_bits(T x) {
    if constexpr (cplx<T>) {
        const uint64 re = magnitude_bits((double)x.re), im = magnitude_bits((double)x.im);
        return re > im ? re : im;
    } else return magnitude_bits((double)x);
}
// Returns half the exponent of a matrix whose squares may overflow or vanish, else 0. Scaling by powers of two does not
// round. It is done in two steps, since the factor itself may overflow, and so may its inverse.
template <class F> DEV int half_exponent(uint64 largest) {
    const int e = (int)(largest >> 52) - 1023, safe = sizeof(F) == 4 ? 40 : 398;
    return largest == 0 || (e >= -safe && e <= safe) ? 0 : e / 2;
}
template <class F> DEV F power_of_two(int e) { return (F)bitcast<double>((uint64)(1023 + e) << 52); }
template <class T> DEV T scaled_by(T x, int e) {
    const component<T> factor = power_of_two<component<T>>(e);
    return e == 0 ? x : times(times(x, factor), factor);
}

template <class T> DEV void linalg_init(uint64* largest, int32* info, T* out, int64 flag, int64 batch) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) out[flag] = from_real<T>(0);
    if (i >= batch) return;
    info[i] = 0;
    largest[i] = 0;
}

template <class T, int WHAT, bool NAN_ONLY>
DEV void linalg_scan(const T* a, uint64* largest, int64 rows, int64 columns, int64 parts) {
    const int64 matrix = blockIdx.x / parts, part = blockIdx.x % parts, size = rows * columns;
    uint64 most = 0;
    for (int64 i = part * blockDim.x + threadIdx.x; i < size; i += parts * blockDim.x) {
        uint64 bits = largest_bits(a[matrix * size + i]);
        if constexpr (WHAT != ALL) {
            const int64 r = i / columns, c = i - r * columns;
            if (WHAT == LOWER_HALF ? c > r : c < r) bits = 0;
        }
        if (NAN_ONLY && bits <= INFINITE) bits = 0;
        most = bits > most ? bits : most;
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const uint64 other = __shfl_xor_sync(0xffffffffu, most, d);
        most = other > most ? other : most;
    }
    if (threadIdx.x % 32 == 0 && most) atomicMax(largest + matrix, most);
}

// Copies rows x columns elements of each matrix. The destination is row-major, without gaps in a row.
template <class T, int FLAGS>
DEV void linalg_copy(const T* from, T* to, const uint64* largest, const int32* info, int64 to_at, int64 rows,
                     int64 columns, int64 row_step, int64 column_step, int64 from_batch, int64 to_batch,
                     int64 tiles_down, int64 tiles_across) {
    __shared__ T tile[32][33];
    int64 rest = blockIdx.x;
    const int64 across = rest % tiles_across * 32;
    rest /= tiles_across;
    const int64 down = rest % tiles_down * 32, matrix = rest / tiles_down;
    from += matrix * from_batch;
    to += to_at + matrix * to_batch;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    const bool transposed = row_step == 1 && column_step != 1;
    if (transposed) {
#pragma unroll
        for (int i = y; i < 32; i += 8)
            if (down + x < rows && across + i < columns) tile[x][i] = from[down + x + (across + i) * column_step];
        __syncthreads();
    }
    const uint64 most = (FLAGS & (SCALE | NAN_ON_FAILURE)) ? largest[matrix] : 0;
    const bool invalid = (FLAGS & NAN_ON_FAILURE) && (most >= INFINITE || info[matrix] != 0);
    const int e = (FLAGS & SCALE) && most < INFINITE ? half_exponent<component<T>>(most) : 0;
#pragma unroll
    for (int i = y; i < 32; i += 8) {
        const int64 r = down + i, c = across + x;
        if (r >= rows || c >= columns) continue;
        T value = transposed ? tile[i][x] : from[r * row_step + c * column_step];
        if constexpr (FLAGS & CONJUGATE) value = conjugate(value);
        // The library's iterations may not end for infinity or NaN.
        if constexpr (FLAGS & SCALE) value = most < INFINITE ? scaled_by(value, -e) : from_real<T>(0);
        if ((FLAGS & UPPER && c < r) || (FLAGS & LOWER && c > r)) value = from_real<T>(0);
        if (invalid) value = from_real<T>(QUIET_NAN);
        to[r * columns + c] = value;
    }
}

// Copies real values (or complex ones, if the output is complex) of matrices that linalg_copy scaled.
template <class T, class From>
DEV void linalg_values(const From* from, T* to, const uint64* largest, const int32* info, int64 to_at, int64 each,
                       int64 count) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int64 matrix = i / each;
    const uint64 most = largest[matrix];
    T value = from_real<T>(QUIET_NAN);
    if (most < INFINITE && info[matrix] == 0) {
        const From x = scaled_by(from[i], half_exponent<component<T>>(most));
        if constexpr (cplx<From>) value = x;
        else value = from_real<T>(x);
    }
    to[to_at + i] = value;
}

// Sets the flag, the output's last element. With STRICT, infinity and NaN count as failures; otherwise such matrices
// never fail.
template <class T, bool STRICT>
DEV void linalg_status(const uint64* largest, const int32* info, T* out, int64 flag, int64 batch) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch) return;
    const bool finite = largest[i] < INFINITE;
    if (STRICT ? !finite || info[i] != 0 : finite && info[i] != 0) out[flag] = from_real<T>(1);
}

// A product of many numbers, as its phase and the logarithm of its magnitude.
struct product { double re, im, logarithm; };
DEV product combined(product a, product b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, a.logarithm + b.logarithm};
}
template <class T> DEV product product_of(T x) {
    double re, im = 0;
    if constexpr (cplx<T>) re = x.re, im = x.im;
    else re = x;
    const double size = hypot(re, im);
    return {size == 0 ? 0 : re / size, size == 0 ? 0 : im / size, log(size)};
}
DEV product warp_product(product x) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
        x = combined(x, {__shfl_xor_sync(0xffffffffu, x.re, d), __shfl_xor_sync(0xffffffffu, x.im, d),
                       __shfl_xor_sync(0xffffffffu, x.logarithm, d)});
    return x;
}
// Writes the sign and the logarithm of a matrix's determinant.
template <class T> DEV void store_determinant(product x, T* out, int64 matrix, int64 batch) {
    if constexpr (cplx<T>) out[matrix] = T{(component<T>)x.re, (component<T>)x.im};
    else out[matrix] = (T)x.re;
    out[batch + matrix] = from_real<T>(x.logarithm);
}

// Computes the determinant from factors and pivots (from 1). One block per matrix.
template <class T>
DEV void linalg_determinant(const T* factors, const int64* pivots, T* out, int64 batch, int64 n) {
    __shared__ product parts[8];
    const int64 matrix = blockIdx.x;
    product partial = {1, 0, 0};
    for (int64 i = threadIdx.x; i < n; i += blockDim.x) {
        partial = combined(partial, product_of(factors[matrix * n * n + i * n + i]));
        if (pivots[matrix * n + i] != i + 1) partial.re = -partial.re, partial.im = -partial.im;
    }
    partial = warp_product(partial);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = partial;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int w = 1; w < blockDim.x / 32; w++) partial = combined(partial, parts[w]);
    store_determinant(partial, out, matrix, batch);
}

// Eigenvectors of real matrices. Those of a conjugate pair are given as a column of real parts and one of imaginary
// parts.
template <class T>
DEV void linalg_eigenvectors(const component<T>* vectors, const T* values, T* out, const uint64* largest,
                             const int32* info, int64 to_at, int64 n, int64 count) {
    const int64 at = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const int64 matrix = at / (n * n), i = at / n % n, j = at % n;
    vectors += matrix * n * n;
    const component<T> im = values[matrix * n + j].im, x = vectors[(im < 0 ? j - 1 : j) * n + i];
    T value = {x, im == 0 ? 0 : im > 0 ? vectors[(j + 1) * n + i] : -vectors[j * n + i]};
    if (largest[matrix] >= INFINITE || info[matrix] != 0) value = from_real<T>(QUIET_NAN);
    out[to_at + at] = value;
}
