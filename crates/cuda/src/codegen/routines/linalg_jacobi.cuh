// Singular values and eigenvalues of matrices that fit into shared memory, by Jacobi rotations (one-sided for singular
// values: Hestenes 1958). Pairs are ordered as in a round-robin tournament, so that all pairs of a round are rotated at
// once. LANES threads share a pair. Columns lie an odd number of elements apart.

// Returns the players i and j of match k in a round of `even` players; false if one of them does not exist.
DEV bool tournament(int round, int k, int even, int players, int& i, int& j) {
    const int others = even - 1;
    i = round + k;
    i -= i >= others ? others : 0;
    j = round + others - k;
    j = k == 0 ? others : j - (j >= others ? others : 0);
    const bool active = k < even / 2 && i < players && j < players;
    if (!active) i = j = 0;
    return active;
}
// The rotation by the smaller angle that makes [[x, size], [size, y]] diagonal.
template <class F> DEV void jacobi_rotation(F x, F y, F size, F& c, F& s) {
    const F zeta = (y - x) / (2 * size);
    const F t = (zeta < 0 ? (F)-1 : (F)1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    c = 1 / sqrt(1 + t * t);
    s = c * t;
}
template <class T> DEV void rotate(T& x, T& y, component<T> c, component<T> s, T phase) {
    const T a = x, b = mul(phase, y);
    x = sub(times(a, c), times(b, s));
    y = add(times(a, s), times(b, c));
}
template <class F> DEV F epsilon_of() { return sizeof(F) == 4 ? (F)1.1920929e-7 : (F)2.220446049250313e-16; }
// Returns half of the largest exponent among a warp's numbers.
DEV int common_half_exponent(uint64 most) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const uint64 other = __shfl_xor_sync(0xffffffffu, most, d);
        most = other > most ? other : most;
    }
    return most == 0 ? 0 : ((int)(most >> 52) - 1023) / 2;
}

// Turns column `at`, which is zero, into the unit vector that is orthogonal to all others, some of which may be zero
// too. `dots` has room for as many elements as there are rows or columns.
template <class T, int TEAM> DEV void complete_basis(T* g, T* dots, int rows, int width, int ld, int at, int lane) {
    typedef component<T> F;
    // Starts from the axis that the other columns cover least.
    F least_covered = 2;
    int axis = 0;
    for (int r = lane % 32; r < rows; r += 32) {
        F covered = 0;
        for (int c = 0; c < width; c++) covered += real_part(conj_fma(from_real<T>(0), g[c * ld + r], g[c * ld + r]));
        if (covered < least_covered) least_covered = covered, axis = r;
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const F covered = __shfl_xor_sync(0xffffffffu, least_covered, d);
        const int r = __shfl_xor_sync(0xffffffffu, axis, d);
        if (covered < least_covered || (covered == least_covered && r < axis)) least_covered = covered, axis = r;
    }
    T* x = g + at * ld;
    team_sync<TEAM>();
    if (lane == 0) x[axis] = from_real<T>(1);
    team_sync<TEAM>();
    // Two passes of Gram-Schmidt are enough.
    for (int pass = 0; pass < 2; pass++) {
        for (int c = lane; c < width; c += TEAM) {
            T dot = from_real<T>(0);
            if (c != at)
                for (int r = 0; r < rows; r++) dot = conj_fma(dot, g[c * ld + r], x[r]);
            dots[c] = dot;
        }
        team_sync<TEAM>();
        for (int r = lane; r < rows; r += TEAM) {
            T rest = x[r];
            for (int c = 0; c < width; c++) rest = neg_fma(rest, g[c * ld + r], dots[c]);
            x[r] = rest;
        }
        team_sync<TEAM>();
    }
    F square = 0;
    for (int r = lane % 32; r < rows; r += 32) square += real_part(conj_fma(from_real<T>(0), x[r], x[r]));
#pragma unroll
    for (int d = 1; d < 32; d *= 2) square += __shfl_xor_sync(0xffffffffu, square, d);
    const F norm = sqrt(square);
    team_sync<TEAM>();
    for (int r = lane; r < rows; r += TEAM) x[r] = divide_by_real(x[r], norm);
    team_sync<TEAM>();
}

// One sweep over all pairs of columns. Returns true if this thread's pairs were rotated.
template <class T, int TEAM, int LANES, bool VECTORS>
DEV bool jacobi_sweep(T* g, T* v, int rows, int columns, int ld, int v_ld, component<T> small, int lane) {
    typedef component<T> F;
    const int even = columns + columns % 2, part = lane % LANES, slots = TEAM / LANES;
    // The remainder of a dependent column shrinks with each sweep, until its square underflows to zero and the test
    // for orthogonality can never succeed. Elements are near 1, so columns of this size count as zeros in the end.
    const F negligible = epsilon_of<F>() * epsilon_of<F>() / 4;
    bool rotated = false;
    for (int round = 0; round < even - 1; round++) {
        for (int first = 0; first < even / 2; first += slots) {
            const int k = first + lane / LANES;
            int i, j;
            const bool active = tournament(round, k, even, columns, i, j);
            T* x = g + i * ld;
            T* y = g + j * ld;
            F xx = 0, yy = 0;
            T xy = from_real<T>(0);
            // A thread without a pair reads nothing, because another thread may be changing that column.
            for (int r = part; r < (active ? rows : 0); r += LANES) {
                const T a = x[r], b = y[r];
                xx += real_part(conj_fma(from_real<T>(0), a, a));
                yy += real_part(conj_fma(from_real<T>(0), b, b));
                xy = conj_fma(xy, a, b);
            }
#pragma unroll
            for (int d = 1; d < LANES; d *= 2) {
                xx += __shfl_xor_sync(0xffffffffu, xx, d);
                yy += __shfl_xor_sync(0xffffffffu, yy, d);
                if constexpr (cplx<T>) {
                    const F re = __shfl_xor_sync(0xffffffffu, xy.re, d), im = __shfl_xor_sync(0xffffffffu, xy.im, d);
                    xy.re += re, xy.im += im;
                } else xy += __shfl_xor_sync(0xffffffffu, xy, d);
            }
            F size;
            if constexpr (cplx<T>) size = hypot(xy.re, xy.im);
            else size = fabs(xy);
            if (active && size > small * sqrt(xx) * sqrt(yy) && (xx < yy ? xx : yy) > negligible * negligible) {
                rotated = true;
                const T phase = conjugate(divide_by_real(xy, size));
                F c, s;
                jacobi_rotation(xx, yy, size, c, s);
                for (int r = part; r < rows; r += LANES) rotate(x[r], y[r], c, s, phase);
                if constexpr (VECTORS)
                    for (int r = part; r < columns; r += LANES) rotate(v[i * v_ld + r], v[j * v_ld + r], c, s, phase);
            }
        }
        team_sync<TEAM>();
    }
    return rotated;
}

// A = U S V^H; U has `width` columns. A wide A is decomposed as A^T = conj(V) S U^T.
template <class T, int TEAM, int LANES, bool VECTORS>
DEV void small_svd(const T* a, T* out, int64 m64, int64 n64, int64 width64, int64 u_at, int64 v_at, int64 flag,
                   int64 batch) {
    typedef component<T> F;
    const int64 matrix = team_matrix<TEAM>();
    if (matrix >= batch) return;
    const int m = (int)m64, n = (int)n64, width = (int)width64, lane = threadIdx.x % TEAM;
    const bool tall = m >= n;
    const int rows = tall ? m : n, columns = tall ? n : m, ld = rows | 1, v_ld = columns | 1;
    T* g = team_memory<T>() + threadIdx.x / TEAM * (width * ld + rows + 2 * columns + (VECTORS ? columns * v_ld : 0));
    T* dots = g + width * ld;
    T* values = dots + rows;
    int* order = (int*)(values + columns);
    T* v = values + 2 * columns;
    a += matrix * m * n;
    for (int r = lane / 32; r < m; r += TEAM / 32)
        for (int c = lane % 32; c < n; c += 32) g[tall ? c * ld + r : r * ld + c] = a[r * n + c];
    for (int i = columns * ld + lane; i < width * ld; i += TEAM) g[i] = from_real<T>(0);
    if constexpr (VECTORS)
        for (int i = lane; i < columns * v_ld; i += TEAM) v[i] = from_real<T>(i % v_ld == i / v_ld);
    team_sync<TEAM>();
    // Every warp finds the largest element for itself. Elements near 1 have squares far from the ends of the range.
    uint64 most = 0;
    for (int c = 0; c < columns; c++)
        for (int r = lane % 32; r < rows; r += 32) {
            const uint64 bits = largest_bits(g[c * ld + r]);
            most = bits > most ? bits : most;
        }
    bool succeeded = !team_any<TEAM>(most >= INFINITE);
    const int e = succeeded ? common_half_exponent(most) : 0;
    team_sync<TEAM>();
    for (int i = lane; i < columns * ld; i += TEAM) g[i] = scaled_by(g[i], -e);
    team_sync<TEAM>();
    const F epsilon = epsilon_of<F>();
    bool unconverged = succeeded;
    for (int sweep = 0; sweep < 40 && unconverged; sweep++)
        unconverged = team_any<TEAM>(
            jacobi_sweep<T, TEAM, LANES, VECTORS>(g, v, rows, columns, ld, v_ld, epsilon * sqrt((F)rows), lane));
    succeeded = succeeded && !unconverged;
    for (int c = lane; c < columns; c += TEAM) {
        F square = 0;
        for (int r = 0; r < rows; r++) square += real_part(conj_fma(from_real<T>(0), g[c * ld + r], g[c * ld + r]));
        values[c] = from_real<T>(sqrt(square));
    }
    team_sync<TEAM>();
    for (int c = lane; c < columns; c += TEAM) {
        int rank = 0;
        const F value = real_part(values[c]);
        for (int o = 0; o < columns; o++) {
            const F other = real_part(values[o]);
            rank += other > value || (other == value && o < c);
        }
        // Without convergence the order has no meaning, but indices must stay in bounds.
        if (succeeded) order[rank] = c;
        else order[c] = c;
    }
    team_sync<TEAM>();
    for (int k = lane; k < columns; k += TEAM)
        out[matrix * columns + k] = succeeded ? scaled_by(values[order[k]], e) : from_real<T>(QUIET_NAN);
    if (!succeeded && lane == 0) out[flag] = from_real<T>(1);
    if constexpr (VECTORS) {
        const F negligible = succeeded ? real_part(values[order[0]]) * epsilon * epsilon : (F)0;
        for (int c = lane / 32; c < columns; c += TEAM / 32) {
            const F s = real_part(values[c]);
            for (int r = lane % 32; r < rows; r += 32)
                g[c * ld + r] = s > negligible ? divide_by_real(g[c * ld + r], s) : from_real<T>(0);
        }
        team_sync<TEAM>();
        for (int c = 0; c < width && succeeded; c++)
            if (c >= columns || !(real_part(values[c]) > negligible))
                complete_basis<T, TEAM>(g, dots, rows, width, ld, c, lane);
        const int wide_u = tall ? width : columns, wide_v = tall ? columns : width;
        T* u_out = out + u_at + matrix * m * wide_u;
        T* v_out = out + v_at + matrix * wide_v * n;
        for (int r = lane / 32; r < m; r += TEAM / 32)
            for (int c = lane % 32; c < wide_u; c += 32) {
                const int from = c < columns ? order[c] : c;
                const T x = tall ? g[from * ld + r] : conjugate(v[from * v_ld + r]);
                u_out[r * wide_u + c] = succeeded ? x : from_real<T>(QUIET_NAN);
            }
        for (int r = lane / 32; r < wide_v; r += TEAM / 32)
            for (int c = lane % 32; c < n; c += 32) {
                const int from = r < columns ? order[r] : r;
                const T x = tall ? conjugate(v[from * v_ld + c]) : g[from * ld + c];
                v_out[r * n + c] = succeeded ? x : from_real<T>(QUIET_NAN);
            }
    }
}

// A = V diag(w) V^H for a Hermitian A, of which the lower triangle (or the upper one) is read. Infinity and NaN give
// NaN.
template <class T, int TEAM, int LANES, bool VECTORS>
DEV void small_eigh(const T* a, T* out, int64 n64, int64 upper, int64 v_at, int64 flag, int64 batch) {
    typedef component<T> F;
    const int64 matrix = team_matrix<TEAM>();
    if (matrix >= batch) return;
    // An odd number of columns is completed by a column of zeros.
    const int n = (int)n64, lane = threadIdx.x % TEAM, even = n + n % 2, ld = even | 1, pairs = even / 2;
    T* g = team_memory<T>() + threadIdx.x / TEAM * (even * ld * (VECTORS ? 2 : 1) + 5 * even);
    T* phases = g + even * ld;
    T* cosines = phases + even;
    T* sines = cosines + even;
    T* values = sines + even;
    int* order = (int*)(values + even);
    T* v = values + 2 * even;
    a += matrix * n * n;
    uint64 most = 0;
    for (int r = lane / 32; r < n; r += TEAM / 32)
        for (int c = lane % 32; c < n; c += 32) {
            if (upper ? c < r : c > r) continue;
            T x = a[r * n + c];
            if (r == c) x = from_real<T>(real_part(x));
            const uint64 bits = largest_bits(x);
            most = bits > most ? bits : most;
            g[c * ld + r] = x;
            g[r * ld + c] = conjugate(x);
        }
    if (n < even)
        for (int i = lane; i < even; i += TEAM) g[n * ld + i] = g[i * ld + n] = from_real<T>(0);
    if constexpr (VECTORS)
        for (int i = lane; i < even * ld; i += TEAM) v[i] = from_real<T>(i % ld == i / ld);
    const bool finite = !team_any<TEAM>(most >= INFINITE);
    team_sync<TEAM>();
    if constexpr (TEAM > 32)
        for (int c = 0; c < n; c++)
            for (int r = lane % 32; r < n; r += 32) {
                const uint64 bits = largest_bits(g[c * ld + r]);
                most = bits > most ? bits : most;
            }
    const int e = finite ? common_half_exponent(most) : 0;
    team_sync<TEAM>();
    for (int c = lane / 32; c < n; c += TEAM / 32)
        for (int r = lane % 32; r < n; r += 32) g[c * ld + r] = scaled_by(g[c * ld + r], -e);
    team_sync<TEAM>();
    // The largest element is between 1 and 4 now.
    const F small = epsilon_of<F>() / 4;
    const int each = (n + LANES - 1) / LANES, first = lane % LANES * each, last = min(first + each, n);
    // A thread has the same second pair in all of its blocks.
    int span = 1;
    while (span < pairs) span *= 2;
    const int own = lane & (span - 1);
    bool unconverged = finite && n > 1;
    for (int sweep = 0; sweep < 40 && unconverged; sweep++) {
        bool rotated = false;
        for (int round = 0; round < even - 1; round++) {
            for (int k = lane; k < pairs; k += TEAM) {
                int i, j;
                tournament(round, k, even, even, i, j);
                const T x = g[j * ld + i];
                F size, c = 1, s = 0;
                if constexpr (cplx<T>) size = hypot(x.re, x.im);
                else size = fabs(x);
                T phase = from_real<T>(1);
                if (size > small) {
                    rotated = true;
                    phase = conjugate(divide_by_real(x, size));
                    jacobi_rotation(real_part(g[i * ld + i]), real_part(g[j * ld + j]), size, c, s);
                }
                phases[k] = phase;
                cosines[k] = from_real<T>(c);
                sines[k] = from_real<T>(s);
            }
            team_sync<TEAM>();
            if constexpr (VECTORS)
                for (int k = lane / LANES; k < pairs; k += TEAM / LANES) {
                    int i, j;
                    const F c = real_part(cosines[k]), s = real_part(sines[k]);
                    if (s == 0) continue;
                    tournament(round, k, even, even, i, j);
                    const T phase = phases[k];
                    for (int r = first; r < last; r++) rotate(v[i * ld + r], v[j * ld + r], c, s, phase);
                }
            // Where two pairs cross, four elements are rotated from both sides.
            if (own < pairs) {
                int p, q;
                tournament(round, own, even, even, p, q);
                const F own_c = real_part(cosines[own]), own_s = real_part(sines[own]);
                const T own_phase = conjugate(phases[own]);
                for (int k = lane / span; k < pairs; k += TEAM / span) {
                    int i, j;
                    const F c = real_part(cosines[k]), s = real_part(sines[k]);
                    if (s == 0 && own_s == 0) continue;
                    tournament(round, k, even, even, i, j);
                    const T phase = phases[k];
                    T* x = g + i * ld;
                    T* y = g + j * ld;
                    T xp = x[p], xq = x[q], yp = y[p], yq = y[q];
                    rotate(xp, yp, c, s, phase);
                    rotate(xq, yq, c, s, phase);
                    rotate(xp, xq, own_c, own_s, own_phase);
                    rotate(yp, yq, own_c, own_s, own_phase);
                    // Rounding errors remain where the result must be zero.
                    const bool same_pair = k == own;
                    x[p] = same_pair ? from_real<T>(real_part(xp)) : xp;
                    x[q] = same_pair ? from_real<T>(0) : xq;
                    y[p] = same_pair ? from_real<T>(0) : yp;
                    y[q] = same_pair ? from_real<T>(real_part(yq)) : yq;
                }
            }
            team_sync<TEAM>();
        }
        unconverged = team_any<TEAM>(rotated);
    }
    const bool succeeded = finite && !unconverged;
    for (int c = lane; c < n; c += TEAM) values[c] = from_real<T>(real_part(g[c * ld + c]));
    team_sync<TEAM>();
    for (int c = lane; c < n; c += TEAM) {
        int rank = 0;
        const F value = real_part(values[c]);
        for (int o = 0; o < n; o++) {
            const F other = real_part(values[o]);
            rank += other < value || (other == value && o < c);
        }
        if (succeeded) order[rank] = c;
        else order[c] = c;
    }
    team_sync<TEAM>();
    for (int k = lane; k < n; k += TEAM)
        out[matrix * n + k] = succeeded ? scaled_by(values[order[k]], e) : from_real<T>(QUIET_NAN);
    if (finite && !succeeded && lane == 0) out[flag] = from_real<T>(1);
    if constexpr (VECTORS) {
        out += v_at + matrix * n * n;
        for (int r = lane / 32; r < n; r += TEAM / 32)
            for (int c = lane % 32; c < n; c += 32)
                out[r * n + c] = succeeded ? v[order[c] * ld + r] : from_real<T>(QUIET_NAN);
    }
}
