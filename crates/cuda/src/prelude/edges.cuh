// The element that stands at position i of an axis of n elements, by SciPy's names; -1 where the constant stands.
DEV int64 edge_modulo(int64 i, int64 n) {
    i %= n;
    return i < 0 ? i + n : i;
}
DEV int64 edge_constant(int64 i, int64 n) { return i < 0 || i >= n ? -1 : i; }
DEV int64 edge_nearest(int64 i, int64 n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
DEV int64 edge_wrap(int64 i, int64 n) { return edge_modulo(i, n); }
DEV int64 edge_reflect(int64 i, int64 n) {
    i = edge_modulo(i, 2 * n);
    return i < n ? i : 2 * n - 1 - i;
}
DEV int64 edge_mirror(int64 i, int64 n) {
    if (n == 1) return 0;
    i = edge_modulo(i, 2 * n - 2);
    return i < n ? i : 2 * n - 2 - i;
}
