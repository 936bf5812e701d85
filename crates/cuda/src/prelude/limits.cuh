// The smallest and the largest value of a type; infinities where the type has them.
template <class T> DEV T least() {
    if constexpr (same<T, bool>) return false;
    else if constexpr (cplx<T>) return T{least<component<T>>(), least<component<T>>()};
    else if constexpr (half_float<T>) return narrow<T>(__int_as_float(0xff800000));
    else if constexpr (floating<T>) return (T)__int_as_float(0xff800000);
    else if constexpr (is_signed<T>) return (T)((wrapped<T>)1 << (8 * sizeof(T) - 1));
    else return 0;
}
template <class T> DEV T greatest() {
    if constexpr (same<T, bool>) return true;
    else if constexpr (cplx<T>) return T{greatest<component<T>>(), greatest<component<T>>()};
    else if constexpr (half_float<T>) return narrow<T>(__int_as_float(0x7f800000));
    else if constexpr (floating<T>) return (T)__int_as_float(0x7f800000);
    else if constexpr (is_signed<T>) return (T)~((wrapped<T>)1 << (8 * sizeof(T) - 1));
    else return (T)-1;
}
// Reduces N elements as a tree: short dependency chains and small rounding errors.
template <class Op, int N, class T> DEV T tree(const T* x) {
    if constexpr (N == 1) return x[0];
    else return Op::combine(tree<Op, N / 2>(x), tree<Op, N - N / 2>(x + N / 2));
}
