// Products of up to R rows with a matrix whose columns are contiguous in memory. 32 * WARPS lanes read C columns, each once, in
// vectors of V terms.
template <class T, int R, int C, int V, bool ROWS_IN_VECTORS, int WARPS, class E>
DEV void matvec(const T* a, const T* b, T* c, int64 rows, int64 columns, int64 depth, int64 a_step, int64 a_term, int64 b_step,
                int64 c_row, int64 c_column, int64 bias_row, int64 bias_column, E store) {
    typedef wide_float<T> A;
    constexpr int LANES = 32 * WARPS, GROUPS = 4 / WARPS;
    const int part = threadIdx.x % LANES, group = threadIdx.x / LANES;
    const int64 column = ((int64)blockIdx.x * GROUPS + group) * C;
    const T *row_at[R], *column_at[C];
#pragma unroll
    for (int r = 0; r < R; r++) row_at[r] = a + (r < rows ? r : rows - 1) * a_step;
#pragma unroll
    for (int j = 0; j < C; j++) column_at[j] = b + (column + j < columns ? column + j : columns - 1) * b_step;
    A sum[R][C] = {};
#pragma unroll 4
    for (int64 k = part * V; k < depth; k += LANES * V) {
        vec<T, V> y[C];
#pragma unroll
        for (int j = 0; j < C; j++) y[j] = load<V>(column_at[j] + k);
#pragma unroll
        for (int r = 0; r < R; r++) {
            vec<T, V> x;
            if constexpr (ROWS_IN_VECTORS) x = load<V>(row_at[r] + k);
            else x = load_strided<V>(row_at[r] + k * a_term, a_term);
#pragma unroll
            for (int j = 0; j < C; j++)
#pragma unroll
                for (int l = 0; l < V; l++) sum[r][j] += to_wide(x.v[l]) * to_wide(y[j].v[l]);
        }
    }
    __shared__ A shared[GROUPS][WARPS][R][C];
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int j = 0; j < C; j++) {
#pragma unroll
            for (int d = 1; d < 32; d *= 2) sum[r][j] += shuffle_xor(sum[r][j], d);
            if (WARPS > 1 && part % 32 == 0) shared[group][part / 32][r][j] = sum[r][j];
        }
    if constexpr (WARPS > 1) __syncthreads();
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int j = 0; j < C; j++) {
            if (part != r * C + j || r >= rows || column + j >= columns) continue;
            A total = sum[r][j];
            if constexpr (WARPS > 1) {
                total = 0;
#pragma unroll
                for (int w = 0; w < WARPS; w++) total += shared[group][w][r][j];
            }
            store(c, r * c_row + (column + j) * c_column, r * bias_row + (column + j) * bias_column, total);
        }
}
