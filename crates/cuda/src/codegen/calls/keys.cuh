// Unsigned keys in the order of the values: -0 equals 0, every NaN is one key and the last.
template <int bytes> struct key_word { typedef uint32 type; };
template <> struct key_word<8> { typedef uint64 type; };
template <class T> using key = typename key_word<sizeof(component<T>)>::type;

// `inf`: the bits of infinity.
template <class W> DEV W float_key(W bits, W sign, W inf) {
    W all = sign | (sign - 1);
    if ((bits & ~sign & all) > inf) return all;
    if (bits == sign) bits = 0;
    return bits & sign ? ~bits & all : bits | sign;
}
template <class T> DEV key<T> key_of(T x) {
    if constexpr (same<T, bool>) return x;
    else if constexpr (same<T, half>) return float_key<uint32>(x.bits, 0x8000, 0x7c00);
    else if constexpr (same<T, bf16>) return float_key<uint32>(x.bits, 0x8000, 0x7f80);
    else if constexpr (same<T, float>) return float_key<uint32>(__float_as_uint(x), 0x80000000u, 0x7f800000u);
    else if constexpr (same<T, double>)
        return float_key<uint64>((uint64)__double_as_longlong(x), 1ull << 63, 0x7ffull << 52);
    else if constexpr (is_signed<T>) {
        constexpr key<T> sign = (key<T>)1 << (8 * sizeof(T) - 1);
        return ((key<T>)x & (sign | (sign - 1))) ^ sign;
    } else return x;
}
// Complex numbers: first those without a NaN, then NaN imaginary, then NaN real, then both (NumPy's order); in each
// group by real part, then by imaginary part.
template <class T> DEV uint32 nan_class(T x) { return (x.im != x.im ? 1 : 0) | (x.re != x.re ? 2 : 0); }

// Digit `pass` of a value, least significant first.
template <class T> constexpr int digits = cplx<T> ? 2 * (int)sizeof(component<T>) + 1 : (int)sizeof(T);
template <class T> DEV uint32 digit(T x, int pass) {
    if constexpr (cplx<T>) {
        constexpr int B = sizeof(component<T>);
        if (pass == 2 * B) return nan_class(x);
        return (uint32)(key_of(pass < B ? x.im : x.re) >> (8 * (pass % B))) & 255;
    } else return (uint32)(key_of(x) >> (8 * pass)) & 255;
}
