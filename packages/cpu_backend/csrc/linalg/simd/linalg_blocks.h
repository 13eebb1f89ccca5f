/* One matrix with its columns in the lanes, so many of them in a block, where linalg_qr.h and linalg_cholesky.h have a
 * matrix in each lane. For the last few matrices of a batch, or the only one.
 *
 * Each element goes through the same operations in the same order as there, so results are the same to the bit. Row i of
 * block b is number b m + i; lanes behind the last column hold zeros.
 */

INLINE int blocks_of(int columns) { return (columns + LANES - 1) / LANES; }

/* Between a matrix in memory and its blocks; the room is that of one block. Loading answers which columns are not
 * finite. */
INLINE Mask load_blocks(const LaneProblem *problem, const char *from, Number *blocks, int m, int n, char *room) {
    const Index bytes = matrix_bytes(problem, m, 1);
    Mask bad = no_lane();
    for (int first = 0; first < n; first += LANES) {
        const char *columns = from + first * bytes;
        if (n - first < LANES) {
            memset(room, 0, (size_t)(LANES * bytes));
            columns = memcpy(room, columns, (size_t)((n - first) * bytes));
        }
        bad |= load_numbers(problem, columns, bytes, blocks + first / LANES * m, m);
    }
    return bad;
}

INLINE void store_blocks(const LaneProblem *problem, char *to, const Number *blocks, int m, int n, char *room) {
    const Index bytes = matrix_bytes(problem, m, 1);
    for (int first = 0; first < n; first += LANES) {
        const bool whole = n - first >= LANES;
        store_numbers(problem, whole ? to + first * bytes : room, bytes, blocks + first / LANES * m, m);
        if (!whole) memcpy(to + first * bytes, room, (size_t)((n - first) * bytes));
    }
}

/* So many rows of one column, each in every lane. */
INLINE void spread_column(Number *to, const Number *block, int lane, int count) {
    for (int i = 0; i < count; i++)
        for (int part = 0; part < PARTS; part++)
            ((Lane *)(to + i))[part] = broadcast(((const Lane *)(block + i))[part][lane]);
}

INLINE void place_column(Number *block, int lane, const Number *from, int count) {
    for (int i = 0; i < count; i++)
        for (int part = 0; part < PARTS; part++)
            ((double *)(block + i))[part * LANES + lane] = ((const double *)(from + i))[part * LANES];
}

/* The column in each lane of a block. */
INLINE Lane columns_of(int block) {
    Lane columns;
    for (int lane = 0; lane < LANES; lane++) columns[lane] = (double)(block * LANES + lane);
    return columns;
}

static bool qr_single(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                      void *room) {
    const int m = problem->rows, n = problem->columns, k = m < n ? m : n, blocks = blocks_of(n);
    const Index bytes = matrix_bytes(problem, m, n), q_bytes = matrix_bytes(problem, m, k);
    const Index r_bytes = matrix_bytes(problem, k, n);
    Number *const a = room, *const q = a + blocks * m, *const v = q + blocks_of(k) * m, *const kept = v + m;
    Number *const tau = kept + m, *const spare = tau + k;
    Lane *const scales = (Lane *)(spare + m), *const diagonal = scales + blocks;
    Mask bad = no_lane();
    for (Index matrix = 0; matrix < count; matrix++) {
        bad |= load_blocks(problem, operands[0] + matrix * bytes, a, m, n, (char *)spare);
        for (int b = 0; b < blocks; b++) scales[b] = qr_scale_column(a + b * m, m);
        for (int j = 0; j < k; j++) {
            const int own = j / LANES, rows = m - j;
            const Mask coming = greater(columns_of(own), broadcast(j));
            Number *const block = a + own * m + j;
            spread_column(v, block, j % LANES, rows);
            diagonal[j] = reflection(v, rows, tau + j);
            memcpy(kept, block, (size_t)rows * sizeof *kept);
            place_column(kept, j % LANES, v, rows);
            reflect_columns(v, conjugate(tau[j]), block, m, rows, blocks - own);
            for (int i = 0; i < rows; i++) block[i] = choose(coming, block[i], kept[i]);
        }
        for (int b = 0; b < blocks_of(k); b++)
            for (int i = 0; i < m; i++)
                q[b * m + i] = number(pick(equal(columns_of(b), broadcast(i)), broadcast(1.0), broadcast(0.0)));
        for (int j = k - 1; j >= 0; j--) {
            const int own = j / LANES;
            spread_column(v, a + own * m + j, j % LANES, m - j);
            reflect_columns(v, tau[j], q + own * m + j, m, m - j, blocks_of(k) - own);
        }
        store_blocks(problem, results[0] + matrix * q_bytes, q, m, k, (char *)spare);
        for (int b = 0; b < blocks; b++) {
            const Lane back = inverse_power(scales[b]), columns = columns_of(b);
            for (int i = 0; i < k; i++) { /* into the place of what was read before */
                const Number above = scaled(a[b * m + i], back), nothing = number(broadcast(0.0));
                const Number upper = choose(greater(columns, broadcast(i)), above, nothing);
                a[b * k + i] = choose(equal(columns, broadcast(i)), number(diagonal[i] * back), upper);
            }
        }
        store_blocks(problem, results[1] + matrix * r_bytes, a, k, n, (char *)spare);
    }
    return !any(bad);
}

static bool cholesky_single(const LaneProblem *problem, const char *const *operands, char *const *results, Index count,
                            void *room) {
    const int n = problem->rows, blocks = blocks_of(n);
    const Index bytes = matrix_bytes(problem, n, n);
    Number *const a = room, *const v = a + blocks * n, *const spare = v + n;
    Mask bad = no_lane();
    for (Index matrix = 0; matrix < count; matrix++) {
        bad |= load_blocks(problem, operands[0] + matrix * bytes, a, n, n, (char *)spare);
        for (int j = 0; j < n; j++) {
            const int own = j / LANES;
            spread_column(v + j, a + own * n + j, j % LANES, n - j);
            const Lane pivot = real_part(v[j]), side = root(pivot);
            const Quotient by_side = quotient_by(side);
            bad |= complement(greater(pivot, broadcast(0.0)));
            for (int i = 0; i < j; i++) v[i] = number(broadcast(0.0));
            v[j] = number(side);
            for (int i = j + 1; i < n; i++) v[i] = divide_by(v[i], by_side);
            for (int b = own; b < blocks; b++) {
                Number factor = number(broadcast(0.0));
                for (int lane = 0; lane < LANES && b * LANES + lane < n; lane++)
                    for (int part = 0; part < PARTS; part++)
                        ((Lane *)&factor)[part][lane] = ((const Lane *)(v + b * LANES + lane))[part][0];
                factor = conjugate(factor);
                const Mask coming = greater(columns_of(b), broadcast(j));
                Number *const block = a + b * n;
                for (int i = j + 1; i < n; i++) /* -0 is another number less 0 */
                    block[i] = choose(coming, subtract_product(block[i], v[i], factor), block[i]);
            }
            place_column(a + own * n, j % LANES, v, n);
        }
        store_blocks(problem, results[0] + matrix * bytes, a, n, n, (char *)spare);
    }
    return !any(bad);
}
