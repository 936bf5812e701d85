// Order-preserving keys: unsigned integers that compare as the values do, NaN last, -0 beside 0.
template <int bytes> struct unsigned_of;
template <> struct unsigned_of<1> { typedef uint8 type; };
template <> struct unsigned_of<2> { typedef uint16 type; };
template <> struct unsigned_of<4> { typedef uint32 type; };
template <> struct unsigned_of<8> { typedef uint64 type; };
template <class T> using key_of = typename unsigned_of<sizeof(T)>::type;

template <class T> constexpr bool has_sign = is_signed<T> || floating<T> || low<T>;
template <class T> DEV key_of<T> to_key(T x) {
    typedef key_of<T> K;
    const K top = (K)((K)1 << (8 * sizeof(K) - 1));
    const K bits = bitcast<K>(x);
    if constexpr (floating<T> || low<T>) {
        if (isnan_(x)) return (K)~(K)0;
        return bits & top ? (K)~bits : (K)(bits | top);
    } else if constexpr (has_sign<T>) return (K)(bits ^ top);
    else return bits;
}
template <class T> DEV T from_key(key_of<T> k) {
    typedef key_of<T> K;
    const K top = (K)((K)1 << (8 * sizeof(K) - 1));
    if constexpr (floating<T> || low<T>) return bitcast<T>(k & top ? (K)(k ^ top) : (K)~k);
    else if constexpr (has_sign<T>) return bitcast<T>((K)(k ^ top));
    else return bitcast<T>(k);
}
// For stable order the two zeros are one.
template <class T> DEV key_of<T> to_stable_key(T x) {
    if constexpr (floating<T>) return to_key(x == 0 ? (T)0 : x);
    else if constexpr (low<T>) return to_key((x.bits & 0x7fff) == 0 ? T{0} : x);
    else return to_key(x);
}
// Of complex numbers: numbers first, then those with a NaN in the imaginary part, in the real part, in both.
template <class T> DEV uint8 nan_class(T x) { return (uint8)((x.im != x.im ? 1 : 0) + (x.re != x.re ? 2 : 0)); }
