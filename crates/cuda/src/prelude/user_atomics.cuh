// Atomic operations of user kernels. Each returns the old value. 16-bit types are supported through compare-and-swap
// only.
template <int bytes> struct word_of_size { typedef uint32 type; };
template <> struct word_of_size<2> { typedef uint16 type; };
template <> struct word_of_size<8> { typedef uint64 type; };
template <class T> using word_of = typename word_of_size<sizeof(T)>::type;
template <class T> constexpr bool has_atomics = integral<T> && sizeof(T) > 2;

template <class T> DEV T atomic_cas(T* p, T old, T value) {
    return bitcast<T>(atomicCAS((word_of<T>*)p, bitcast<word_of<T>>(old), bitcast<word_of<T>>(value)));
}
// `next` replaces its argument by the new value and returns false if memory is to stay as it is.
template <class T, class F> DEV T atomic_by_cas(T* p, F next) {
    T old = bitcast<T>(*(volatile word_of<T>*)p);
    for (;;) {
        T value = old;
        if (!next(value)) return old;
        const T current = atomic_cas(p, old, value);
        if (bitcast<word_of<T>>(current) == bitcast<word_of<T>>(old)) return old;
        old = current;
    }
}
template <class T> DEV T atomic_exch(T* p, T value) {
    if constexpr (sizeof(T) == 2) return atomic_by_cas(p, [=](T& x) { return x = value, true; });
    else return bitcast<T>(atomicExch((word_of<T>*)p, bitcast<word_of<T>>(value)));
}
template <class T> DEV T atomic_add(T* p, T value) {
    if constexpr (sizeof(T) == 2) return atomic_by_cas(p, [=](T& x) { return x = add(x, value), true; });
    else if constexpr (cplx<T>) return T{atomicAdd(&p->re, value.re), atomicAdd(&p->im, value.im)};
    else if constexpr (integral<T>) return (T)atomicAdd((wrapped<T>*)p, (wrapped<T>)value);
    else return atomicAdd(p, value);
}
template <class T> DEV T atomic_sub(T* p, T value) { return atomic_add(p, neg(value)); }
template <class T> DEV T atomic_and(T* p, T value) {
    if constexpr (sizeof(T) == 2) return atomic_by_cas(p, [=](T& x) { return x = (T)(x & value), true; });
    else return (T)atomicAnd((wrapped<T>*)p, (wrapped<T>)value);
}
template <class T> DEV T atomic_or(T* p, T value) {
    if constexpr (sizeof(T) == 2) return atomic_by_cas(p, [=](T& x) { return x = (T)(x | value), true; });
    else return (T)atomicOr((wrapped<T>*)p, (wrapped<T>)value);
}
template <class T> DEV T atomic_xor(T* p, T value) {
    if constexpr (sizeof(T) == 2) return atomic_by_cas(p, [=](T& x) { return x = (T)(x ^ value), true; });
    else return (T)atomicXor((wrapped<T>*)p, (wrapped<T>)value);
}
template <class T> DEV T atomic_inc(T* p, T most) {
    if constexpr (sizeof(T) == 4) return atomicInc(p, most);
    else return atomic_by_cas(p, [=](T& x) { return x = x >= most ? (T)0 : x + 1, true; });
}
template <class T> DEV T atomic_dec(T* p, T most) {
    if constexpr (sizeof(T) == 4) return atomicDec(p, most);
    else return atomic_by_cas(p, [=](T& x) { return x = x == 0 || x > most ? most : x - 1, true; });
}
template <class T> DEV bool above(T a, T b) {
    if constexpr (half_float<T>) return widen(a) > widen(b);
    else return a > b;
}
template <class T> DEV bool is_nan_value(T x) {
    if constexpr (half_float<T>) return widen(x) != widen(x);
    else return x != x;
}
// A NaN in memory stays, and a NaN operand is ignored. The `nan` variants also replace a NaN in memory.
template <class T> DEV T atomic_max(T* p, T value) {
    if constexpr (has_atomics<T>) return atomicMax(p, value);
    else return atomic_by_cas(p, [=](T& x) { return above(value, x) ? (x = value, true) : false; });
}
template <class T> DEV T atomic_min(T* p, T value) {
    if constexpr (has_atomics<T>) return atomicMin(p, value);
    else return atomic_by_cas(p, [=](T& x) { return above(x, value) ? (x = value, true) : false; });
}
template <class T> DEV T atomic_nanmax(T* p, T value) {
    if constexpr (has_atomics<T>) return atomicMax(p, value);
    else return atomic_by_cas(p, [=](T& x) {
        return above(value, x) || (is_nan_value(x) && !is_nan_value(value)) ? (x = value, true) : false;
    });
}
template <class T> DEV T atomic_nanmin(T* p, T value) {
    if constexpr (has_atomics<T>) return atomicMin(p, value);
    else return atomic_by_cas(p, [=](T& x) {
        return above(x, value) || (is_nan_value(x) && !is_nan_value(value)) ? (x = value, true) : false;
    });
}
