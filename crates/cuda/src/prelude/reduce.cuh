// Reductions. `identity` is the state of no elements; `accumulate` and `accumulate_many` add elements to a state;
// `merge` joins the states of two parts, of which the first comes first in the row; `result` gives the value. Every
// reduction of a kernel is one of these over its accumulator type.
template <class T, class Op> struct value_reduction {
    typedef T state;
    static DEV void accumulate(T& s, T x, int64) { s = Op::combine(s, x); }
    template <int N> static DEV void accumulate_many(T& s, const T* x) { s = Op::combine(s, tree<Op, N>(x)); }
    static DEV T merge(T a, T b) { return Op::combine(a, b); }
    static DEV T result(T s) { return s; }
};
template <class T> struct reduce_sum : value_reduction<T, reduce_sum<T>> {
    static DEV T identity() { return T{}; }
    static DEV T combine(T a, T b) { if constexpr (same<T, bool>) return a || b; else return add(a, b); }
};
template <class T> struct reduce_prod : value_reduction<T, reduce_prod<T>> {
    static DEV T identity() { return cast<T>(1); }
    static DEV T combine(T a, T b) { if constexpr (same<T, bool>) return a && b; else return mul(a, b); }
};
template <class T> struct reduce_max : value_reduction<T, reduce_max<T>> {
    static DEV T identity() { return least<T>(); }
    static DEV T combine(T a, T b) { return maximum(a, b); }
};
template <class T> struct reduce_min : value_reduction<T, reduce_min<T>> {
    static DEV T identity() { return greatest<T>(); }
    static DEV T combine(T a, T b) { return minimum(a, b); }
};

// Index of the first extreme value; the first NaN beats every number. Elements come in ascending order.
template <class T> struct extreme { T value; int64 index; };
constexpr int64 no_index = 0x7fffffffffffffffll;
template <class T, bool greatest_wins> struct reduce_arg {
    typedef extreme<T> state;
    static DEV state identity() { return {T{}, no_index}; }
    static DEV bool beats(T a, T b) {
        return (greatest_wins ? less(b, a) : less(a, b)) || (isnan_(a) && !isnan_(b));
    }
    static DEV void accumulate(state& s, T x, int64 index) {
        if (s.index == no_index || beats(x, s.value)) s = {x, index};
    }
    static DEV state merge(state a, state b) {
        if (a.index == no_index) return b;
        if (b.index == no_index || beats(a.value, b.value)) return a;
        return beats(b.value, a.value) || b.index < a.index ? b : a;
    }
    static DEV int64 result(state s) { return s.index; }
};
template <class T> struct reduce_argmax : reduce_arg<T, true> {};
template <class T> struct reduce_argmin : reduce_arg<T, false> {};

// Count, mean and sum of |x - mean|^2. `accumulate_many` makes two passes over registers and joins the result (Chan,
// Golub, LeVeque 1979): as accurate as Welford's method, with one division for N elements.
template <class T> struct moments { component<T> n; T mean; component<T> m2; };
template <class T> struct reduce_m2 {
    typedef component<T> F;
    typedef moments<T> state;
    static DEV state identity() { return {0, T{}, 0}; }
    static DEV T times(T x, F by) { if constexpr (cplx<T>) return T{x.re * by, x.im * by}; else return x * by; }
    static DEV F square(T x) { if constexpr (cplx<T>) return x.re * x.re + x.im * x.im; else return x * x; }
    static DEV T combine(T a, T b) { return add(a, b); }
    static DEV void accumulate(state& s, T x, int64) {
        s.n += 1;
        T far = sub(x, s.mean);
        s.mean = add(s.mean, times(far, 1 / s.n));
        s.m2 += square(far) * ((s.n - 1) / s.n);
    }
    template <int N> static DEV void accumulate_many(state& s, const T* x) {
        T mean = times(tree<reduce_m2, N>(x), (F)1 / N);
        F m2 = 0;
#pragma unroll
        for (int i = 0; i < N; i++) m2 += square(sub(x[i], mean));
        F part = N / (s.n + N);
        T far = sub(mean, s.mean);
        s.mean = add(s.mean, times(far, part));
        s.m2 += m2 + square(far) * (s.n * part);
        s.n += N;
    }
    static DEV state merge(state a, state b) {
        if (b.n == 0) return a;
        if (a.n == 0) return b;
        F n = a.n + b.n, part = b.n / n;
        T far = sub(b.mean, a.mean);
        return {n, add(a.mean, times(far, part)), a.m2 + b.m2 + square(far) * (a.n * part)};
    }
    static DEV F result(state s) { return s.m2; }
};
