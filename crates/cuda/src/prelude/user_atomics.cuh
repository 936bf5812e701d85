// Atomic operations of user kernels: each gives the old value.
template <class T> struct as_word { typedef uint32 type; };
template <> struct as_word<int64> { typedef uint64 type; };
template <> struct as_word<uint64> { typedef uint64 type; };
template <> struct as_word<double> { typedef uint64 type; };
template <class T> using word_of = typename as_word<T>::type;

template <class T> DEV T atomic_cas(T* p, T old, T value) {
    return bitcast<T>(atomicCAS((word_of<T>*)p, bitcast<word_of<T>>(old), bitcast<word_of<T>>(value)));
}
template <class T> DEV T atomic_exch(T* p, T value) {
    return bitcast<T>(atomicExch((word_of<T>*)p, bitcast<word_of<T>>(value)));
}
// `next` gives the new value of an old one, and says whether there is one.
template <class T, class F> DEV T atomic_by_swap(T* p, F next) {
    T old = *(volatile T*)p;
    for (;;) {
        T value = old;
        if (!next(value)) return old;
        const T seen = atomic_cas(p, old, value);
        if (bitcast<word_of<T>>(seen) == bitcast<word_of<T>>(old)) return old;
        old = seen;
    }
}
template <class T> DEV T atomic_add(T* p, T value) {
    if constexpr (cplx<T>) return T{atomicAdd(&p->re, value.re), atomicAdd(&p->im, value.im)};
    else if constexpr (integral<T>) return (T)atomicAdd((wrapped<T>*)p, (wrapped<T>)value);
    else return atomicAdd(p, value);
}
template <class T> DEV T atomic_sub(T* p, T value) { return atomic_add(p, neg(value)); }
template <class T> DEV T atomic_and(T* p, T value) { return (T)atomicAnd((wrapped<T>*)p, (wrapped<T>)value); }
template <class T> DEV T atomic_or(T* p, T value) { return (T)atomicOr((wrapped<T>*)p, (wrapped<T>)value); }
template <class T> DEV T atomic_xor(T* p, T value) { return (T)atomicXor((wrapped<T>*)p, (wrapped<T>)value); }
template <class T> DEV T atomic_inc(T* p, T most) {
    if constexpr (sizeof(T) == 4) return atomicInc(p, most);
    else return atomic_by_swap(p, [=](T& x) { return x = x >= most ? (T)0 : x + 1, true; });
}
template <class T> DEV T atomic_dec(T* p, T most) {
    if constexpr (sizeof(T) == 4) return atomicDec(p, most);
    else return atomic_by_swap(p, [=](T& x) { return x = x == 0 || x > most ? most : x - 1, true; });
}
// A NaN in memory stays, one that comes is left out; of `nan…` one in memory is left out too.
template <class T> DEV T atomic_max(T* p, T value) {
    if constexpr (integral<T>) return atomicMax(p, value);
    else return atomic_by_swap(p, [=](T& x) { return value > x ? (x = value, true) : false; });
}
template <class T> DEV T atomic_min(T* p, T value) {
    if constexpr (integral<T>) return atomicMin(p, value);
    else return atomic_by_swap(p, [=](T& x) { return value < x ? (x = value, true) : false; });
}
template <class T> DEV T atomic_nanmax(T* p, T value) {
    if constexpr (integral<T>) return atomicMax(p, value);
    else return atomic_by_swap(p, [=](T& x) { return value > x || (x != x && value == value) ? (x = value, true) : false; });
}
template <class T> DEV T atomic_nanmin(T* p, T value) {
    if constexpr (integral<T>) return atomicMin(p, value);
    else return atomic_by_swap(p, [=](T& x) { return value < x || (x != x && value == value) ? (x = value, true) : false; });
}
