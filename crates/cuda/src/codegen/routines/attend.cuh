// Attention without its matrix of scores: softmax(scale q kᵀ) v for R queries of a head at a time. Groups of G lanes read U
// keys and values each, and keep a largest score, a sum of powers and a weighted sum of values of those that they have
// read (Milakov and Gimelshein 2018). What the groups of a block have is joined at the end. The keys of a head may be
// divided among blocks, whose parts a second kernel joins (Dao et al. 2023, "Flash-Decoding").
template <class T, int N, int G, int V> struct attend_row {
    typedef wide_float<T> A;
    static constexpr int VECTORS = (N + G * V - 1) / (G * V);
    A x[VECTORS * V];
    // Returns the first feature of a vector of this lane.
    static DEV int feature(int vector, int lane) { return (vector * G + lane) * V; }
    DEV void clear() {
#pragma unroll
        for (int i = 0; i < VECTORS * V; i++) x[i] = 0;
    }
    // Loads the features of this lane. V > 1 needs features that are contiguous, aligned and divisible by V.
    DEV void read(const T* row, int64 step, int lane, bool valid) {
#pragma unroll
        for (int c = 0; c < VECTORS; c++) {
            const int f = feature(c, lane);
            vec<T, V> e = {};
            if (valid && f < N) {
                if constexpr (V == 1) e.v[0] = row[f * step];
                else e = load<V>(row + f);
            }
#pragma unroll
            for (int l = 0; l < V; l++) x[c * V + l] = to_wide(e.v[l]);
        }
    }
    // The same for a row in any layout.
    DEV void read_scaled(const T* row, int64 step, int lane, A scale) {
#pragma unroll
        for (int i = 0; i < VECTORS * V; i++) {
            const int f = feature(i / V, lane) + i % V;
            x[i] = f < N ? to_wide(row[f * step]) * scale : 0;
        }
    }
    DEV A dot(const attend_row& y) const {
        A s = 0;
#pragma unroll
        for (int i = 0; i < VECTORS * V; i++) s += x[i] * y.x[i];
        return s;
    }
    DEV void scale(A by) {
#pragma unroll
        for (int i = 0; i < VECTORS * V; i++) x[i] *= by;
    }
    DEV void add(A factor, const attend_row& y) {
#pragma unroll
        for (int i = 0; i < VECTORS * V; i++) x[i] += factor * y.x[i];
    }
};
// Returns the number that is subtracted from scores whose largest is `top`: no score above -infinity has the powers 0.
template <class A> DEV A attend_base(A top) { return top == least<A>() ? (A)0 : top; }

template <class T, int W, int D, int G, int VK, int VV, int R, int U, int THREADS>
DEV void attend(const T* q, const T* k, const T* v, T* out, wide_float<T>* parts, int64 heads, int64 queries, int64 keys,
                int64 splits, int64 each, int64 causal, int64 scale, const int64 (&q_steps)[4], const int64 (&k_steps)[4],
                const int64 (&v_steps)[4]) {
    typedef wide_float<T> A;
    typedef attend_row<T, W, G, VK> key_row;
    typedef attend_row<T, D, G, VV> value_row;
    constexpr int GROUPS = THREADS / G, WARPS = THREADS / 32, CHUNK = G * VV;
    __shared__ A tops[WARPS][R], sums[WARPS][R], weighted[WARPS][R][CHUNK];
    const int group = threadIdx.x / G, lane = threadIdx.x % G, warp = threadIdx.x / 32;
    // The grid has less than 2^31 blocks, so none of these numbers is greater.
    const uint32 tiles = (uint32)((queries + R - 1) / R), rest = blockIdx.x / (uint32)splits;
    const uint32 heads_before = rest / tiles;
    const int64 split = blockIdx.x % (uint32)splits, query = (int64)(rest % tiles) * R;
    const int64 head = heads_before % (uint32)heads, batch = heads_before / (uint32)heads;
    q += batch * q_steps[0] + head * q_steps[1];
    k += batch * k_steps[0] + head * k_steps[1];
    v += batch * v_steps[0] + head * v_steps[1];

    key_row asked[R];
    value_row have[R];
    A top[R], sum[R];
#pragma unroll
    for (int r = 0; r < R; r++) {
        const int64 row = query + r < queries ? query + r : queries - 1;
        asked[r].read_scaled(q + row * q_steps[2], q_steps[3], lane, (A)__longlong_as_double(scale));
        have[r].clear();
        top[r] = least<A>();
        sum[r] = 0;
    }
    int64 last = (split + 1) * each < keys ? (split + 1) * each : keys;
    if (causal && last > query + R) last = query + R;
    for (int64 at = split * each; at < last; at += GROUPS * U) {
        key_row key[U];
        value_row value[U];
        A score[U][R];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const int64 j = at + u * GROUPS + group;
            key[u].read(k + j * k_steps[2], k_steps[3], lane, j < last);
            value[u].read(v + j * v_steps[2], v_steps[3], lane, j < last);
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
            const int64 j = at + u * GROUPS + group;
#pragma unroll
            for (int r = 0; r < R; r++) {
                A s = asked[r].dot(key[u]);
#pragma unroll
                for (int d = 1; d < G; d *= 2) s += shuffle_xor(s, d);
                score[u][r] = j < last && (!causal || j <= query + r) ? s : least<A>();
            }
        }
#pragma unroll
        for (int r = 0; r < R; r++) {
            A largest = top[r];
#pragma unroll
            for (int u = 0; u < U; u++) largest = score[u][r] > largest ? score[u][r] : largest;
            const A base = attend_base(largest), factor = exp(top[r] - base);
            top[r] = largest;
            sum[r] *= factor;
            have[r].scale(factor);
#pragma unroll
            for (int u = 0; u < U; u++) {
                const A power = exp(score[u][r] - base);
                sum[r] += power;
                have[r].add(power, value[u]);
            }
        }
    }
    // Joins the groups of a warp, then the warps.
#pragma unroll
    for (int d = G; d < 32; d *= 2) {
#pragma unroll
        for (int r = 0; r < R; r++) {
            const A other = shuffle_xor(top[r], d), largest = other > top[r] ? other : top[r];
            const A base = attend_base(largest), mine = exp(top[r] - base), theirs = exp(other - base);
            top[r] = largest;
            sum[r] = mine * sum[r] + theirs * shuffle_xor(sum[r], d);
            value_row from = have[r];
#pragma unroll
            for (int i = 0; i < value_row::VECTORS * VV; i++) from.x[i] = shuffle_xor(from.x[i], d);
            have[r].scale(mine);
            have[r].add(theirs, from);
        }
    }
    const bool first = threadIdx.x % 32 < G;
#pragma unroll
    for (int r = 0; r < R; r++) {
        if (threadIdx.x % 32 == 0) {
            tops[warp][r] = top[r];
            sums[warp][r] = sum[r];
        }
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < value_row::VECTORS; c++) {
        if (first) {
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int l = 0; l < VV; l++) weighted[warp][r][lane * VV + l] = have[r].x[c * VV + l];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < R * CHUNK; i += THREADS) {
            const int r = i / CHUNK, f = c * CHUNK + i % CHUNK;
            if (query + r >= queries || f >= D) continue;
            A largest = tops[0][r];
#pragma unroll
            for (int w = 1; w < WARPS; w++) largest = tops[w][r] > largest ? tops[w][r] : largest;
            const A base = attend_base(largest);
            A total = 0, result = 0;
#pragma unroll
            for (int w = 0; w < WARPS; w++) {
                const A factor = exp(tops[w][r] - base);
                total += factor * sums[w][r];
                result += factor * weighted[w][r][i % CHUNK];
            }
            const int64 row = (batch * queries + query + r) * heads + head;
            if (splits == 1) out[row * D + f] = cast<T>(result / total);
            else {
                A* part = parts + (row * splits + split) * (D + 2);
                part[f] = result;
                if (f == 0) {
                    part[D] = largest;
                    part[D + 1] = total;
                }
            }
        }
        __syncthreads();
    }
}
// Joins the parts of a row: a block for each.
template <class T, class A> DEV void attend_join(const A* parts, T* out, int64 splits, int64 depth) {
    parts += (int64)blockIdx.x * splits * (depth + 2);
    A largest = least<A>(), total = 0;
    for (int64 s = 0; s < splits; s++) {
        const A top = parts[s * (depth + 2) + depth];
        largest = top > largest ? top : largest;
    }
    const A base = attend_base(largest);
    for (int64 s = 0; s < splits; s++) {
        const A* part = parts + s * (depth + 2) + depth;
        total += exp(part[0] - base) * part[1];
    }
    for (int64 f = threadIdx.x; f < depth; f += blockDim.x) {
        A result = 0;
        for (int64 s = 0; s < splits; s++) {
            const A* part = parts + s * (depth + 2);
            result += exp(part[depth] - base) * part[f];
        }
        out[blockIdx.x * depth + f] = cast<T>(result / total);
    }
}
