// Sums of products of floats, and what is added to them: scale * sum + factor * addend + bias.
template <> struct dot_sum<float> {
    typedef float type;
    static DEV type multiply_add(type s, float a, float b) { return __fmaf_rn(a, b, s); }
};
template <> struct dot_sum<double> {
    typedef double type;
    static DEV type multiply_add(type s, double a, double b) { return __fma_rn(a, b, s); }
};
template <class T> struct dot_sum_half {
    typedef float type;
    static DEV type multiply_add(type s, T a, T b) { return __fmaf_rn(widen(a), widen(b), s); }
};
template <class T> struct dot_sum_complex {
    typedef T type;
    static DEV type multiply_add(type s, T a, T b) { return add(s, mul(a, b)); }
};
template <class T> DEV typename dot_sum<T>::type dot_wide(T x) {
    if constexpr (half_float<T>) return widen(x);
    else return x;
}
template <class T> struct dot_epilogue {
    typedef typename dot_sum<T>::type S;
    S scale, factor;
    const T *addend, *bias;
    // Moves to the elements of a matrix.
    DEV void skip(int64 elements) {
        if (addend) addend += elements;
    }
    DEV void operator()(T* c, int64 at, int64 column, S sum) const {
        sum = mul(scale, sum);
        if (addend) sum = add(sum, mul(factor, dot_wide(addend[at])));
        if (bias) sum = add(sum, dot_wide(bias[column]));
        c[at] = cast<T>(sum);
    }
};
