/* One matrix with its rows in the lanes: so many blocks of rows in each column, zeros behind the last row. */

/* The row in each lane. */
INLINE Lane rows_of_block(int block) {
    Lane rows;
    for (int lane = 0; lane < LANES; lane++) rows[lane] = lane;
    return rows + (double)(block * LANES);
}

/* One row of a column, in every lane. */
INLINE Number row_number(const Number *column, int row) {
    const Lane *const parts = (const Lane *)(column + row / LANES);
    Number result;
    for (int part = 0; part < PARTS; part++) ((Lane *)&result)[part] = broadcast(parts[part][row % LANES]);
    return result;
}

/* Between a column in memory and its blocks; loading adds zeros times all numbers, NaN where one is not finite. */
INLINE void load_rows(Number *blocks, const char *from, int n, bool narrow, Lane *spoilt) {
    const Index size = narrow ? sizeof(float) : sizeof(double);
    for (int at = 0; at < n; at += LANES) {
        Lane parts[PARTS];
        for (int part = 0; part < PARTS; part++) {
            const int left = (n - at) * PARTS - part * LANES;
            parts[part] =
                left <= 0 ? broadcast(0.0)
                          : load_some(from + (at * PARTS + part * LANES) * size, left < LANES ? left : LANES, narrow);
            *spoilt += parts[part] * 0.0;
        }
        Lane *const block = (Lane *)(blocks + at / LANES);
        if (PARTS == 1) block[0] = parts[0];
        else part_pairs(parts[0], parts[PARTS - 1], block, block + PARTS - 1);
    }
}

INLINE void store_rows(char *to, const Number *blocks, int n, bool narrow) {
    const Index size = narrow ? sizeof(float) : sizeof(double);
    for (int at = 0; at < n; at += LANES) {
        const Lane *const block = (const Lane *)(blocks + at / LANES);
        Lane parts[PARTS];
        if (PARTS == 1) parts[0] = block[0];
        else join_pairs(block[0], block[PARTS - 1], parts, parts + PARTS - 1);
        for (int part = 0; part < PARTS; part++) {
            const int left = (n - at) * PARTS - part * LANES;
            if (left > 0)
                store_some(to + (at * PARTS + part * LANES) * size, parts[part], left < LANES ? left : LANES, narrow);
        }
    }
}
