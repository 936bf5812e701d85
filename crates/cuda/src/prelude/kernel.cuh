// Arrays, indices, lanes and bits of user kernels.
// A row-major array without gaps.
template <class T, int N> struct array {
    T* data;
    int64 shape[N > 0 ? N : 1];
    template <class... I> DEV T& operator()(I... at) const {
        int64 offset = 0;
        int axis = 0;
        ((offset = (axis == 0 ? 0 : offset * shape[axis]) + (int64)at, axis++), ...);
        return data[offset];
    }
    // Negative indices count from the end.
    template <class... I> DEV T& at(I... index) const {
        int axis = 0;
        int64 offset = 0;
        ((offset = (axis == 0 ? 0 : offset * shape[axis])
            + ((int64)index < 0 ? (int64)index + shape[axis] : (int64)index), axis++), ...);
        return data[offset];
    }
    DEV int64 stride(int axis) const {
        int64 bytes = sizeof(T);
        for (int k = N - 1; k > axis; k--) bytes *= shape[k];
        return bytes;
    }
};
// An array with strides in bytes.
template <class T, int N> struct strided {
    T* data;
    int64 shape[N > 0 ? N : 1];
    int64 strides[N > 0 ? N : 1];
    template <class... I> DEV T& operator()(I... at) const {
        char* address = (char*)data;
        int axis = 0;
        ((address += (int64)at * strides[axis], axis++), ...);
        return *(T*)address;
    }
    template <class... I> DEV T& at(I... index) const {
        char* address = (char*)data;
        int axis = 0;
        ((address += ((int64)index < 0 ? (int64)index + shape[axis] : (int64)index) * strides[axis], axis++), ...);
        return *(T*)address;
    }
    DEV int64 stride(int axis) const { return strides[axis]; }
};

template <class T, int N> DEV strided<T, N> as_strided(const array<T, N>& a) {
    strided<T, N> r = {a.data, {}, {}};
    for (int k = 0; k < N; k++) r.shape[k] = a.shape[k], r.strides[k] = a.stride(k);
    return r;
}
template <class T, int N> DEV strided<T, N> as_strided(const strided<T, N>& a) { return a; }
template <class T, int N> DEV array<T, N> as_contiguous(const strided<T, N>& a) {
    array<T, N> r = {a.data, {}};
    for (int k = 0; k < N; k++) r.shape[k] = a.shape[k];
    return r;
}
template <class A> DEV auto transposed(const A& of) {
    auto a = as_strided(of), r = a;
    const int n = sizeof(a.shape) / sizeof(a.shape[0]);
    for (int k = 0; k < n; k++) r.shape[k] = a.shape[n - 1 - k], r.strides[k] = a.strides[n - 1 - k];
    return r;
}

// --- views: one entry per axis
struct index_entry { int64 index; };
struct slice_entry { int64 start, stop, step; };
struct new_axis {};
constexpr int64 MISSING = (int64)0x8000000000000000ull;
constexpr slice_entry whole_axis = {MISSING, MISSING, 1};

struct view_cursor { char* data; int from, to; };
template <class A, class R> DEV void apply_entry(const A& a, R&, view_cursor& c, index_entry p) {
    const int64 n = a.shape[c.from];
    c.data += (p.index < 0 ? p.index + n : p.index) * a.strides[c.from];
    c.from++;
}
DEV int64 bound(int64 i, int64 n, int64 lowest, int64 highest) {
    if (i < 0) i += n;
    return i < lowest ? lowest : i > highest ? highest : i;
}
template <class A, class R> DEV void apply_entry(const A& a, R& r, view_cursor& c, slice_entry p) {
    const int64 n = a.shape[c.from], stride = a.strides[c.from];
    const bool up = p.step > 0;
    const int64 lowest = up ? 0 : -1, highest = up ? n : n - 1;
    const int64 start = p.start == MISSING ? (up ? 0 : n - 1) : bound(p.start, n, lowest, highest);
    const int64 stop = p.stop == MISSING ? (up ? n : -1) : bound(p.stop, n, lowest, highest);
    const int64 length = up ? (stop - start + p.step - 1) / p.step : (start - stop - p.step - 1) / -p.step;
    if (length > 0) c.data += start * stride;
    r.shape[c.to] = length > 0 ? length : 0;
    r.strides[c.to] = stride * p.step;
    c.from++;
    c.to++;
}
template <class A, class R> DEV void apply_entry(const A&, R& r, view_cursor& c, new_axis) {
    r.shape[c.to] = 1;
    r.strides[c.to] = 0;
    c.to++;
}
template <int M, class T, int N, class... I> DEV strided<T, M> view(const strided<T, N>& a, I... entries) {
    strided<T, M> r = {};
    view_cursor c = {(char*)a.data, 0, 0};
    (apply_entry(a, r, c, entries), ...);
    r.data = (T*)c.data;
    return r;
}
template <int M, class T, int N, class... I> DEV strided<T, M> view(const array<T, N>& a, I... entries) {
    return view<M>(as_strided(a), entries...);
}

// A field of an array of records, at its byte offset. The field's own axes come last.
template <class F, int M, class A, class... E> DEV strided<F, M> field_of(const A& of, int64 offset, E... extents) {
    const auto a = as_strided(of);
    const int64 own[sizeof...(E) + 1] = {(int64)extents...};
    const int k = sizeof...(E), n = M - k;
    strided<F, M> r = {(F*)((char*)a.data + offset), {}, {}};
    for (int i = 0; i < n; i++) r.shape[i] = a.shape[i], r.strides[i] = a.strides[i];
    int64 bytes = sizeof(F);
    for (int i = k - 1; i >= 0; i--) r.shape[n + i] = own[i], r.strides[n + i] = bytes, bytes *= own[i];
    return r;
}

// Complex elements of record fields may be aligned only as their parts are.
template <class C> DEV C load_parts(const C& at) {
    typedef decltype(C::re) F;
    const volatile F* parts = (const volatile F*)&at;
    return {parts[0], parts[1]};
}
template <class C> DEV void store_parts(C& at, C value) {
    typedef decltype(C::re) F;
    volatile F* parts = (volatile F*)&at;
    parts[0] = value.re, parts[1] = value.im;
}

// --- lanes and bits
struct none {};
#ifdef __CUDA_ARCH__
DEV uint32 lane_id() {
    uint32 lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
DEV int64 dynamic_shared_bytes() {
    uint32 bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}
// Ends the thread; may be called from any function.
DEV void end_thread() { asm volatile("exit;"); }
#elif defined(CUPROUS_HIP)
DEV uint32 lane_id() { return hip_lane(); }
DEV int64 dynamic_shared_bytes() {
    // The dispatch packet has the bytes of the whole block at this offset.
    const unsigned* packet = (const unsigned*)__builtin_amdgcn_dispatch_ptr();
    return (int64)packet[28 / 4] - (int64)__builtin_amdgcn_groupstaticsize();
}
// Ends the whole wave, whose other threads may have been about to continue.
DEV void end_thread() { __builtin_amdgcn_endpgm(); }
#else
DEV uint32 lane_id() { return sim::here.lane; }
DEV int64 dynamic_shared_bytes() { return sim::here.dynamic_bytes; }
DEV void end_thread() { sim::executor->end_thread(); }
#endif
template <class T> DEV T popc(T x) {
    if constexpr (sizeof(T) == 8) return (T)__popcll((uint64)x);
    else return (T)__popc((uint32)x & (sizeof(T) == 4 ? ~0u : (1u << 8 * sizeof(T)) - 1));
}
template <class T> DEV T brev(T x) {
    if constexpr (sizeof(T) == 8) return (T)__brevll((uint64)x);
    else return (T)__brev((uint32)x);
}
template <class T> DEV T clz(T x) {
    if constexpr (sizeof(T) == 8) return (T)__clzll((int64)x);
    else return (T)(__clz((int32)((uint32)x & (sizeof(T) == 4 ? ~0u : (1u << 8 * sizeof(T)) - 1))) - (32 - 8 * (int)sizeof(T)));
}
template <class T> DEV uint32 ffs(T x) {
    if constexpr (sizeof(T) == 8) return (uint32)__ffsll((int64)x);
    else return (uint32)__ffs((int32)((uint32)x & (sizeof(T) == 4 ? ~0u : (1u << 8 * sizeof(T)) - 1)));
}
