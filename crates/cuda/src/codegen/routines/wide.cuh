// The type in which sums of floats of type T are computed: float for half precision.
template <class T, bool half> struct wide_float_of { typedef T type; };
template <class T> struct wide_float_of<T, true> { typedef float type; };
template <class T> using wide_float = typename wide_float_of<T, half_float<T>>::type;
template <class T> DEV wide_float<T> to_wide(T x) {
    if constexpr (half_float<T>) return widen(x);
    else return x;
}
