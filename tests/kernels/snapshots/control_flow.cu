struct tuple_i64_bool { int64 v0; bool v1; };
static __device__ tuple_i64_bool weight(int32 x, int64 y);
// test_snapshots.py, line N: weight
static __device__ tuple_i64_bool weight(int32 x, int64 y) {
    // N: return x * y, x > y
    return tuple_i64_bool{mul((int64)x, y), (int64)x > y};
}
// test_snapshots.py, line N
extern "C" __global__ void control_flow(strided<int32, 2> a, int64 add_, array<double, 1> out) {
    // N: for row in a[1:, ::-1]:
    strided<int32, 2> items = view<2>(a, slice_entry{1, MISSING, 1}, slice_entry{MISSING, MISSING, -1});
    int64 count = view<2>(a, slice_entry{1, MISSING, 1}, slice_entry{MISSING, MISSING, -1}).shape[0];
    bool completed = true;
    for (int64 k = 0; k < count; k++) {
        strided<int32, 1> row = view<1>(items, index_entry{k}, whole_axis);
        // N: value, larger = weight(row[-1])
        tuple_i64_bool t = weight(row.at(-1), 2ll);
        int64 value = t.v0;
        bool larger = t.v1;
        // N: if larger and value != add:
        if (larger && value != add_) {
            // N: out[0] = value**0.5 + (add // 3 if add > 4 else add % -7)
            out(0) = power((double)value, 0.5) + (double)(add_ > 4 ? floor_divide(add_, 3ll) : remainder_(add_, -7ll));
            // N: break
            completed = false;
            break;
        }
    }
    // N: print("none of", len(a), "rows")
    if (completed) {
        printf("none of %lld rows\n", (int64)(a.shape[0]));
    }
}
