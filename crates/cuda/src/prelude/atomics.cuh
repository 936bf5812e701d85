// Combines a value with an element of memory of any type. Floating-point sums depend on the order of arrival.
struct combine_add {
    template <class T> static DEV T combine(T a, T b) {
        if constexpr (same<T, bool>) return a || b;
        else return add(a, b);
    }
};
struct combine_multiply {
    template <class T> static DEV T combine(T a, T b) {
        if constexpr (same<T, bool>) return a && b;
        else return mul(a, b);
    }
};
struct combine_maximum { template <class T> static DEV T combine(T a, T b) { return maximum(a, b); } };
struct combine_minimum { template <class T> static DEV T combine(T a, T b) { return minimum(a, b); } };

template <class T, class W> union bits_of { T value; W word; DEV bits_of() {} };

// Uses compare-and-swap on the 4- or 8-byte word that holds the element.
template <class Op, class T> DEV void combine_by_cas(T* p, T x) {
    if constexpr (sizeof(T) == 8 || sizeof(T) == 4) {
        typedef wrapped<T> W;
        W current = *(volatile W*)p, expected;
        do {
            bits_of<T, W> old, next;
            expected = old.word = current;
            next.value = Op::combine(old.value, x);
            if (next.word == expected) return;
            current = atomicCAS((W*)p, expected, next.word);
        } while (current != expected);
    } else {
        static_assert(sizeof(T) < 4, "wider elements are combined under a lock");
        uint64 address = (uint64)p;
        uint32* word = (uint32*)(address & ~3ull);
        uint32 shift = 8 * (uint32)(address & 3), mask = ((1u << 8 * sizeof(T)) - 1) << shift;
        typedef typename wide_unsigned<false>::type W;
        W current = *(volatile W*)word, expected;
        do {
            expected = current;
            bits_of<T, W> old, next;
            old.word = (expected & mask) >> shift;
            next.word = 0;
            next.value = Op::combine(old.value, x);
            W updated = (expected & ~mask) | (next.word << shift & mask);
            if (updated == expected) return;
            current = atomicCAS(word, expected, updated);
        } while (current != expected);
    }
}
// 16-byte elements are combined under one of 1024 locks, which are all zero between kernels.
template <class Op, class T> DEV void combine_locked(T* p, T x, uint32* locks) {
    uint32* lock = locks + ((uint64)p / sizeof(T)) % 1024;
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0u, 1u) == 0) {
            __threadfence();
            volatile uint64* words = (volatile uint64*)p;
            union { T value; uint64 w[2]; DEV void nothing() {} } u;
            u.w[0] = words[0];
            u.w[1] = words[1];
            u.value = Op::combine(u.value, x);
            words[0] = u.w[0];
            words[1] = u.w[1];
            __threadfence();
            atomicExch(lock, 0u);
            done = true;
        }
    }
}
template <class Op, class T> DEV void combine(T* p, T x) {
    if constexpr (same<Op, combine_add> && (same<T, float> || same<T, double>)) atomicAdd(p, x);
    else if constexpr (same<Op, combine_add> && integral<T> && sizeof(T) >= 4) atomicAdd((wrapped<T>*)p, (wrapped<T>)x);
    else if constexpr (same<Op, combine_add> && cplx<T>) {
        atomicAdd(&p->re, x.re);
        atomicAdd(&p->im, x.im);
    } else if constexpr (same<Op, combine_maximum> && integral<T> && sizeof(T) >= 4) atomicMax(p, x);
    else if constexpr (same<Op, combine_minimum> && integral<T> && sizeof(T) >= 4) atomicMin(p, x);
    else combine_by_cas<Op>(p, x);
}
