// Returns the element that stands for index i of an axis of n elements; -1 stands for the constant.
enum edge { edge_reflect, edge_constant, edge_nearest, edge_mirror, edge_wrap };
template <edge E> DEV int64 at_edge(int64 i, int64 n) {
    if ((uint64)i < (uint64)n) return i;
    if constexpr (E == edge_constant) return -1;
    else if constexpr (E == edge_nearest) return i < 0 ? 0 : n - 1;
    else {
        // Reduced to one period first, so that indices far outside are handled as well.
        int64 period = E == edge_wrap ? n : E == edge_reflect ? 2 * n : max(2 * n - 2, (int64)1);
        i %= period;
        if (i < 0) i += period;
        if (i < n) return i;
        return E == edge_reflect ? period - 1 - i : period - i;
    }
}
