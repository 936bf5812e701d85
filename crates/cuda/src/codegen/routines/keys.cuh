// Unsigned keys in the order of the values: -0 equals 0, and all NaN share one key, which is the last.
template <int bytes> struct key_word { typedef uint32 type; };
template <> struct key_word<8> { typedef uint64 type; };
template <class T> using key = typename key_word<sizeof(component<T>)>::type;

// `inf` is the bit pattern of infinity.
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
// Complex numbers in NumPy's order: first those without a NaN, then NaN imaginary, then NaN real, then both; within
// each class by real part, then by imaginary part.
template <class T> DEV uint32 nan_class(T x) { return (x.im != x.im ? 1 : 0) | (x.re != x.re ? 2 : 0); }

// --- the words that a radix sort moves: their digits are in order, and the value can be restored bit by bit
template <int bytes> struct bits_word { typedef uint32 type; };
template <> struct bits_word<1> { typedef uint8 type; };
template <> struct bits_word<2> { typedef uint16 type; };
template <> struct bits_word<8> { typedef uint64 type; };
template <class T, bool complex_number> struct sort_word_type { typedef typename bits_word<sizeof(T)>::type type; };
template <class T> struct sort_word_type<T, true> { typedef T type; };
template <class T> using sort_word = typename sort_word_type<T, cplx<T>>::type;
template <class T> constexpr bool any_float = floating<T> || half_float<T>;
template <class T> constexpr uint64 infinity_bits = same<T, half> ? 0x7c00 : same<T, bf16> ? 0x7f80
    : same<T, float> ? 0x7f800000 : 0x7ffull << 52;
// NaN with a sign bit would have the smallest codes. All codes are rotated by their number, which makes them the
// largest.
template <class T> constexpr uint64 negative_nans = (1ull << (8 * sizeof(T) - 1)) - 1 - infinity_bits<T>;

template <class T> DEV sort_word<T> encode(T x) {
    if constexpr (cplx<T>) return x;
    else {
        typedef sort_word<T> W;
        constexpr W sign = (W)((W)1 << (8 * sizeof(T) - 1));
        W b = bitcast<W>(x);
        if constexpr (any_float<T>) return (W)((W)(b & sign ? ~b : b | sign) - (W)negative_nans<T>);
        else if constexpr (is_signed<T>) return b ^ sign;
        else return b;
    }
}
template <class T> DEV T decode(sort_word<T> w) {
    if constexpr (cplx<T>) return w;
    else {
        typedef sort_word<T> W;
        constexpr W sign = (W)((W)1 << (8 * sizeof(T) - 1));
        if constexpr (any_float<T>) {
            W b = (W)(w + (W)negative_nans<T>);
            return bitcast<T>((W)(b & sign ? b ^ sign : ~b));
        } else if constexpr (is_signed<T>) return bitcast<T>((W)(w ^ sign));
        else return bitcast<T>(w);
    }
}
// As `encode`, but with one code for all values that compare equal, and one for NaN. For argsorts, which do not restore
// values.
template <class T> DEV sort_word<T> encode_equal(T x) {
    if constexpr (cplx<T>) return x;
    else return (sort_word<T>)key_of(x);
}

// Number of digits, least significant first.
template <class T> constexpr int digits = cplx<T> ? 2 * (int)sizeof(component<T>) + 1 : (int)sizeof(T);
// Digit `pass` of an encoded value. The code of -0 is just before that of 0, so only the least significant digit
// differs. It is made equal, so that both keep their order.
template <class T, bool EQUAL> DEV uint32 digit(sort_word<T> w, int pass) {
    if constexpr (cplx<T>) {
        constexpr int B = sizeof(component<T>);
        if (pass == 2 * B) return nan_class(w);
        return (uint32)(key_of(pass < B ? w.im : w.re) >> (8 * (pass % B))) & 255;
    } else {
        uint32 d = (uint32)(w >> (8 * pass)) & 255;
        if constexpr (any_float<T> && !EQUAL) {
            constexpr sort_word<T> minus_zero = (sort_word<T>)infinity_bits<T>;
            if (pass == 0) d |= w == minus_zero ? 1 : 0;
        }
        return d;
    }
}
