// LU decomposition with partial pivoting of a row-major matrix, by panels of WIDTH columns. A panel is factored by one
// cluster of blocks, whose threads hold one row each in registers; a column costs one barrier of the cluster. Rows stay
// in their threads; only their positions are exchanged. Right-hand sides are further columns of the matrix and become
// L⁻¹ P B.

DEV uint32 cluster_rank() {
    uint32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
DEV void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
DEV uint32 shared_address(const void* p) {
    uint64 generic = (uint64)p, shared;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(shared) : "l"(generic));
    return (uint32)shared;
}
// Returns the same address in another block of the cluster.
DEV uint32 remote_address(uint32 address, uint32 rank) {
    uint32 remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
}
DEV void store_remote(uint32 address, float x) {
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}
DEV void store_remote(uint32 address, double x) {
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(address), "d"(x) : "memory");
}
DEV void store_remote(uint32 address, uint32 x) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}
// Keys in the order of the magnitudes, with NaN last.
DEV uint32 magnitude_key(float x) { return bitcast<uint32>(x) & 0x7fffffffu; }
DEV uint32 magnitude_key(double x) { return (uint32)(bitcast<uint64>(x) >> 32) & 0x7fffffffu; }

// The best row of a block, from the current column on, for the other blocks of the cluster.
template <class T, int WIDTH> struct alignas(16) lu_candidate {
    T row[WIDTH];
    uint32 key, position;
};

// Factors columns `column` to `column + count` from row `column` on, of n; `count` is at most WIDTH. For each column
// `pivots` gets the position, from 1, of its pivot row. `moves` gets the rows whose positions changed: their number in
// the first element, then pairs (from, to). `info` gets the number, from 1, of the first column without a pivot.
//
// The remaining elements of a thread's row move down its registers, so that every column has the same code. The row's
// part of L is kept in shared memory.
template <class T, int WIDTH, int BLOCKS, int THREADS>
DEV void lu_panel(T* a, int64* pivots, int32* moves, int32* info, int64 n, int64 stride, int64 column, int64 count) {
    extern __shared__ vec<uint32, 4> lu_room[];
    T(*lower_part)[WIDTH + 1] = (T(*)[WIDTH + 1])lu_room;
    __shared__ lu_candidate<T, WIDTH> candidates[2][BLOCKS];
    __shared__ uint32 keys[THREADS / 32];
    __shared__ int32 positions[THREADS], lengths[THREADS];
    constexpr int V = 16 / sizeof(T);
    const int rank = BLOCKS > 1 ? (int)cluster_rank() : 0, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64 row = column + threadIdx.x * BLOCKS + rank;
    for (int i = threadIdx.x; i < THREADS * WIDTH; i += THREADS) {
        const int64 r = column + i / WIDTH * BLOCKS + rank, c = i % WIDTH;
        lower_part[i / WIDTH][c] = r < n && c < count ? a[r * stride + column + c] : (T)0;
    }
    if (rank == 0 && threadIdx.x == 0) moves[0] = 0;
    if constexpr (BLOCKS > 1) cluster_barrier();
    else __syncthreads();
    T v[WIDTH];
#pragma unroll
    for (int c = 0; c < WIDTH; c++) v[c] = lower_part[threadIdx.x][c];
    int32 position = (int32)row;
    bool done = row >= n;
    int length = done ? 0 : (int)count;
    for (int j = 0; j < count; j++) {
        // The best row of the warp, of the block, of the cluster; of equal ones that of the first thread.
        const uint32 key = done ? 0 : magnitude_key(v[0]) + 1;
        const uint32 most = __reduce_max_sync(0xffffffffu, key);
        const int first = __ffs(__ballot_sync(0xffffffffu, key == most)) - 1;
        if (lane == first) keys[warp] = most;
        __syncthreads();
        const uint32 other = lane < THREADS / 32 ? keys[lane] : 0;
        const uint32 best = __reduce_max_sync(0xffffffffu, other);
        const int holder = __ffs(__ballot_sync(0xffffffffu, lane < THREADS / 32 && other == best)) - 1;
        lu_candidate<T, WIDTH>* slots = candidates[j & 1];
        if (warp == holder) {
            lu_candidate<T, WIDTH>& slot = slots[rank];
            if (lane == first) {
#pragma unroll
                for (int g = 0; g < WIDTH / V; g++) {
                    vec<T, V> part;
#pragma unroll
                    for (int l = 0; l < V; l++) part.v[l] = v[g * V + l];
                    store(slot.row + g * V, part);
                }
                slot.key = best;
                slot.position = (uint32)position;
            }
            if constexpr (BLOCKS > 1) {
                __syncwarp();
                const uint32 value = shared_address(slot.row + lane % WIDTH);
                const uint32 word = shared_address(lane == 0 ? &slot.key : &slot.position);
#pragma unroll
                for (int to = 0; to < BLOCKS; to++) {
                    if (to == rank) continue;
                    if (lane < WIDTH) store_remote(remote_address(value, to), slot.row[lane % WIDTH]);
                    if (lane < 2) store_remote(remote_address(word, to), lane == 0 ? best : slot.position);
                }
            }
        }
        if constexpr (BLOCKS > 1) cluster_barrier();
        else __syncthreads();
        int chosen = 0;
        uint32 top = slots[0].key;
#pragma unroll
        for (int b = 1; b < BLOCKS; b++)
            if (slots[b].key > top) {
                top = slots[b].key;
                chosen = b;
            }
        const lu_candidate<T, WIDTH>& pivot = slots[chosen];
        const int32 from = (int32)pivot.position, to = (int32)(column + j);
        const T divisor = pivot.row[0];
        if (rank == 0 && warp == 0) {
            if (lane < count - j) a[to * stride + to + lane] = pivot.row[lane % WIDTH];
            if (lane == 0) {
                pivots[to] = from + 1;
                if (divisor == (T)0 && *info == 0) *info = to + 1;
            }
        }
        if (done) continue;
        if (position == from) {
            position = to;
            done = true;
            length = j;
            continue;
        }
        // The row at the pivot's new position takes the pivot's old one.
        if (position == to) position = from;
        const T factor = divisor == (T)0 ? (T)0 : v[0] / divisor;
        lower_part[threadIdx.x][j] = factor;
#pragma unroll
        for (int g = 0; g < WIDTH / V; g++) {
            const vec<T, V> part = load<V>(pivot.row + g * V);
#pragma unroll
            for (int l = 0; l < V; l++)
                if (g * V + l > 0) v[g * V + l - 1] = fma(-factor, part.v[l], v[g * V + l]);
        }
        v[WIDTH - 1] = 0;
    }
    if (row < n && position != (int32)row) {
        const int at = atomicAdd(moves, 1);
        moves[2 * at + 2] = (int32)row;
        moves[2 * at + 3] = position;
    }
    positions[threadIdx.x] = position;
    lengths[threadIdx.x] = length;
    __syncthreads();
    for (int i = threadIdx.x; i < THREADS * WIDTH; i += THREADS) {
        const int t = i / WIDTH, c = i % WIDTH;
        if (c < lengths[t]) a[(int64)positions[t] * stride + column + c] = lower_part[t][c];
    }
}

// Moves rows as `moves` says, in the column `first`.
template <class T, int TILE>
DEV void lu_move_rows(T* a, const int32* moves, T (*buffer)[TILE], int64 stride, int64 first, bool inside) {
    const int x = threadIdx.x % TILE, total = moves[0];
    for (int m = threadIdx.x / TILE; m < total; m += blockDim.x / TILE)
        if (inside) buffer[m][x] = a[(int64)moves[2 * m + 2] * stride + first];
    __syncthreads();
    for (int m = threadIdx.x / TILE; m < total; m += blockDim.x / TILE)
        if (inside) a[(int64)moves[2 * m + 3] * stride + first] = buffer[m][x];
    __syncthreads();
}

// Applies the panels of columns `start` to `end` to the other columns within `from` to `to`: rows are moved, and behind
// the panels the rows `start` to `end` become those of U. `moves` has a list of `gap` numbers for each panel. A block
// has TILE columns.
template <class T, int WIDTH, int PANELS, int TILE>
DEV void lu_rows(T* a, const int32* moves, int64 stride, int64 from, int64 to, int64 start, int64 end, int64 gap) {
    extern __shared__ vec<uint32, 4> lu_room[];
    // Rows being moved, then a panel's part of L.
    constexpr int MOST = 2 * TILE > PANELS * (WIDTH + 1) ? 2 * TILE : PANELS * (WIDTH + 1);
    T(*buffer)[TILE] = (T(*)[TILE])lu_room;
    T(*lower)[WIDTH + 1] = (T(*)[WIDTH + 1])lu_room;
    T(*top)[TILE] = (T(*)[TILE])((T*)lu_room + WIDTH * MOST);
    const int x = threadIdx.x % TILE, y = threadIdx.x / TILE, height = blockDim.x / TILE;
    const int64 before = (max(start - from, (int64)0) + TILE - 1) / TILE;
    const bool behind = blockIdx.x >= before;
    const int64 c = behind ? end + (blockIdx.x - before) * TILE + x : from + (int64)blockIdx.x * TILE + x;
    const bool inside = c < (behind ? to : start);
    const int count = (int)(end - start);
    for (int p = 0; p * WIDTH < count; p++) lu_move_rows<T, TILE>(a, moves + p * gap, buffer, stride, c, inside);
    if (!behind) return;
    for (int r = y; r < PANELS * WIDTH; r += height)
        top[r][x] = inside && r < count ? a[(start + r) * stride + c] : (T)0;
    for (int p = 0; p * WIDTH < count; p++) {
        const int first = p * WIDTH;
        __syncthreads();
        for (int i = threadIdx.x; i < (PANELS - p) * WIDTH * WIDTH; i += blockDim.x) {
            const int r = i / WIDTH, k = i % WIDTH;
            lower[r][k] = first + r < count && k < r ? a[(start + first + r) * stride + start + first + k] : (T)0;
        }
        __syncthreads();
        if (y == 0) {
            T u[WIDTH];
#pragma unroll
            for (int r = 0; r < WIDTH; r++) u[r] = top[first + r][x];
#pragma unroll
            for (int k = 0; k < WIDTH; k++)
#pragma unroll
                for (int r = k + 1; r < WIDTH; r++) u[r] = fma(-lower[r][k], u[k], u[r]);
#pragma unroll
            for (int r = 1; r < WIDTH; r++) top[first + r][x] = u[r];
        }
        __syncthreads();
        for (int r = WIDTH + y; r < (PANELS - p) * WIDTH; r += height) {
            T sum = top[first + r][x];
#pragma unroll 8
            for (int k = 0; k < WIDTH; k++) sum = fma(-lower[r][k], top[first + k][x], sum);
            top[first + r][x] = sum;
        }
    }
    __syncthreads();
    for (int r = y; r < count; r += height)
        if (inside) a[(start + r) * stride + c] = top[r][x];
}

// Copies [A B] to rows `stride` apart. A block copies one of `parts` parts of a row.
template <class T> DEV void lu_init(const T* a, const T* b, T* out, int64 n, int64 k, int64 stride, int64 parts) {
    const int64 r = blockIdx.x / parts, width = n + k;
    for (int64 c = blockIdx.x % parts * blockDim.x + threadIdx.x; c < width; c += parts * blockDim.x)
        out[r * stride + c] = c < n ? a[r * n + c] : b[r * k + c - n];
}

// Computes the inverses of U's diagonal blocks of SIDE rows (the last one may be smaller), with one block of threads
// each.
template <class T, int SIDE> DEV void lu_invert_diagonal(const T* a, T* inverses, int64 n, int64 stride) {
    extern __shared__ vec<uint32, 4> lu_room[];
    T(*u)[SIDE + 1] = (T(*)[SIDE + 1])lu_room;
    T(*x)[SIDE + 1] = u + SIDE;
    const int64 first = (int64)blockIdx.x * SIDE;
    const int count = (int)min((int64)SIDE, n - first), j = threadIdx.x;
    for (int r = 0; r < SIDE; r++) {
        const bool inside = r < count && j < count && j >= r;
        u[r][j] = inside ? a[(first + r) * stride + first + j] : (T)0;
        x[r][j] = 0;
    }
    __syncthreads();
    if (j < count) {
        x[j][j] = 1 / u[j][j];
        for (int i = j - 1; i >= 0; i--) {
            T sum[4] = {};
            int p = i + 1;
            for (; p + 3 <= j; p += 4)
#pragma unroll
                for (int l = 0; l < 4; l++) sum[l] = fma(u[i][p + l], x[p + l][j], sum[l]);
            for (; p <= j; p++) sum[0] = fma(u[i][p], x[p][j], sum[0]);
            x[i][j] = -(sum[0] + sum[1] + (sum[2] + sum[3])) / u[i][i];
        }
    }
    __syncthreads();
    T* out = inverses + blockIdx.x * (int64)(SIDE * SIDE);
    for (int r = 0; r < SIDE; r++) out[r * SIDE + j] = x[r][j];
}
