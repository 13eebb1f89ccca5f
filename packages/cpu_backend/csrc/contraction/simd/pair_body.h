/* Loops of the pair kernel for one element type (every_type.h, sums.h): rectangles of the result (pair.h), in blocks of
 * one to four rows by one to four vectors whose sums stay in registers while the contracted index runs. Addresses count
 * parts of elements: a real or an imaginary one. */

/* The first factor as it enters a product. Of Bool, true is whatever is not 0 and becomes a byte of ones, so that the
 * product with any other byte is true exactly when both factors are; truth() makes it 1 in the end. */
INLINE NAME(Vector) NAME(mask)(NAME(Vector) x) {
#if ALGEBRA == LOGICAL
    return (NAME(Vector))(x != 0);
#else
    return x;
#endif
}

#if PARTS == 2
INLINE NAME(Vector) NAME(conjugate)(NAME(Vector) x) {
    NAME(Vector) signs;
    for (int i = 0; i < 2 * NAME(LANES); i++) signs[i] = i % 2 ? -1 : 1;
    return x * signs;
}
#endif

/* The sums, or those of products with conjugates: x conj(y) has the products with the imaginary part of y with the other
 * sign, and conj(x) y is its conjugate. */
INLINE NAME(Vector) NAME(total)(const PairTile *tile, NAME(Sum) sum) {
#if PARTS == 2
    if (tile->conjugates[0] || tile->conjugates[1]) {
        sum.crossed = -sum.crossed;
        return tile->conjugates[0] ? NAME(conjugate)(NAME(value)(sum)) : NAME(value)(sum);
    }
#else
    (void)tile;
#endif
    return NAME(value)(sum);
}

/* Asks for the lines, `ahead` of these, of some vectors in each of some rows. Processors foresee the next lines of a few
 * runs, not where the next rectangle begins. */
INLINE void NAME(ask)(const NAME(Part) * from, Index ahead, Index row_step, const int rows, const int vectors) {
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < vectors; i++)
            __builtin_prefetch(from + (row * row_step + ahead + i * NAME(LANES)) * PARTS, 0, 2);
}

/* A block of `rows` by `vectors` vectors of the result, of which the last has only `part` lanes unless that is 0. All
 * numbers but part are constants where this is inlined. */
INLINE void NAME(block)(const PairTile *tile, const NAME(Part) * first, const NAME(Part) * second, NAME(Part) * result,
                        const int rows, const int vectors, const bool shared, const bool both, const Index part) {
    NAME(Sum) sums[4][4];
    const Index step = NAME(LANES) * PARTS;
#pragma GCC unroll 4
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) sums[row][i] = NAME(empty)();
    for (Index k = 0; k < tile->depth; k++) {
        const NAME(Part) *x = first + tile->along_first[k] * PARTS, *y = second + tile->along_second[k] * PARTS;
        if (tile->ahead[0] != 0) NAME(ask)(x, tile->ahead[0], tile->row_first, shared ? 1 : rows, vectors);
        if (both && tile->ahead[1] != 0) NAME(ask)(y, tile->ahead[1], tile->row_second, rows, vectors);
        NAME(Vector) factors[4];
#pragma GCC unroll 4
        for (int row = 0; row < rows; row++) {
#pragma GCC unroll 4
            for (int i = 0; i < vectors; i++) {
                if (row == 0 || !shared) {
                    const NAME(Part) *from = x + row * tile->row_first * PARTS + i * step;
                    factors[i] = NAME(mask)(part && i + 1 == vectors ? NAME(load_part)(from, part) : NAME(load)(from));
                }
                const NAME(Part) *other = y + row * tile->row_second * PARTS;
                if (both) {
                    other += i * step;
                    NAME(Vector)
                    factor = part && i + 1 == vectors ? NAME(load_part)(other, part) : NAME(load)(other);
                    sums[row][i] = NAME(add_product)(sums[row][i], factors[i], factor);
                } else {
                    sums[row][i] = NAME(add_scaled)(sums[row][i], factors[i], other);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) {
            NAME(Part) *to = result + row * tile->row_result * PARTS + i * step;
            NAME(Vector) value = NAME(truth)(NAME(total)(tile, sums[row][i]));
            if (tile->adds)
                value = NAME(plus)(part && i + 1 == vectors ? NAME(load_part)(to, part) : NAME(load)(to), value);
            if (part && i + 1 == vectors) NAME(store_part)(to, value, part);
            else if (tile->streams && (uintptr_t)to % VECTOR_BYTES == 0) stream_words(to, (Words)value);
            else NAME(store)(to, value);
        }
}

/* Some rows of the rectangle: blocks of four vectors, or of VECTORS_OF_ROWS where several rows are taken at once. */
INLINE void NAME(strip)(const PairTile *tile, const NAME(Part) * first, const NAME(Part) * second, NAME(Part) * result,
                        const int rows, const bool shared, const bool both) {
    const int vectors = rows > 1 ? VECTORS_OF_ROWS : 4;
    const Index step = NAME(LANES);
    Index lane = 0;
    for (; lane + vectors * step <= tile->lanes; lane += vectors * step)
        NAME(block)(tile, first + lane * PARTS, both ? second + lane * PARTS : second, result + lane * PARTS, rows,
                    vectors, shared, both, 0);
    if (lane == tile->lanes) return;
    const Index left = tile->lanes - lane, part = left % step;
    const NAME(Part) *x = first + lane * PARTS, *y = both ? second + lane * PARTS : second;
    NAME(Part) *to = result + lane * PARTS;
    if (vectors > 2 && left > 3 * step) NAME(block)(tile, x, y, to, rows, 4, shared, both, part);
    else if (vectors > 2 && left > 2 * step) NAME(block)(tile, x, y, to, rows, 3, shared, both, part);
    else if (left > step) NAME(block)(tile, x, y, to, rows, 2, shared, both, part);
    else NAME(block)(tile, x, y, to, rows, 1, shared, both, part);
}

/* Row by row. */
INLINE void NAME(rows)(const PairTile *tile, const char *first, const char *second, char *result, const bool both) {
    const NAME(Part) *x = (const NAME(Part) *)first, *y = (const NAME(Part) *)second;
    NAME(Part) *to = (NAME(Part) *)result;
    for (Index row = 0; row < tile->rows; row++)
        NAME(strip)(tile, x + row * tile->row_first * PARTS, y + row * tile->row_second * PARTS,
                    to + row * tile->row_result * PARTS, 1, false, both);
}

static void NAME(scaled)(const PairTile *tile, const char *first, const char *second, char *result) {
    NAME(rows)(tile, first, second, result, false);
}

static void NAME(shared)(const PairTile *tile, const char *first, const char *second, char *result) {
    const NAME(Part) *x = (const NAME(Part) *)first, *y = (const NAME(Part) *)second;
    NAME(Part) *to = (NAME(Part) *)result;
    Index row = 0;
    for (; row + 4 <= tile->rows; row += 4)
        NAME(strip)(tile, x, y + row * tile->row_second * PARTS, to + row * tile->row_result * PARTS, 4, true, false);
    y += row * tile->row_second * PARTS;
    to += row * tile->row_result * PARTS;
    if (tile->rows - row == 3) NAME(strip)(tile, x, y, to, 3, true, false);
    else if (tile->rows - row == 2) NAME(strip)(tile, x, y, to, 2, true, false);
    else if (tile->rows - row == 1) NAME(strip)(tile, x, y, to, 1, true, false);
}

/* Long sums of operands in memory go over a whole row for a few products at a time, in the order of memory, which is
 * what processors fetch ahead; the row's sums stay in the first-level cache. */
static void NAME(both)(const PairTile *tile, const char *first, const char *second, char *result) {
    if (!tile->folds) {
        NAME(rows)(tile, first, second, result, true);
        return;
    }
    PairTile few = *tile;
    few.streams = false;
    for (Index row = 0; row < tile->rows; row++) {
        const Index x = row * tile->row_first, y = row * tile->row_second, to = row * tile->row_result;
        for (Index k = 0; k < tile->depth; k += FOLDED_DEPTH) {
            few.depth = tile->depth - k < FOLDED_DEPTH ? tile->depth - k : FOLDED_DEPTH;
            few.along_first = tile->along_first + k;
            few.along_second = tile->along_second + k;
            few.adds = k > 0;
            NAME(strip)(&few, (const NAME(Part) *)first + x * PARTS, (const NAME(Part) *)second + y * PARTS,
                        (NAME(Part) *)result + to * PARTS, 1, false, true);
        }
    }
}

INLINE void NAME(gather)(NAME(Part) *restrict to, const NAME(Part) * from, const Index *offsets, Index count) {
    for (Index i = 0; i < count; i++)
        for (int part = 0; part < PARTS; part++) to[i * PARTS + part] = from[offsets[i] * PARTS + part];
}

/* The factors of all lanes are gathered first, unless they are neighbours or all the same. */
static void NAME(tables)(const PairTile *tile, const char *first, const char *second, char *result) {
    enum {
        ROOM = PAIR_TABLE_BYTES / sizeof(NAME(Part)) < PAIR_TABLE * PARTS ? PAIR_TABLE_BYTES / sizeof(NAME(Part))
                                                                          : PAIR_TABLE * PARTS
    };
    _Alignas(64) NAME(Part) of_first[ROOM], of_second[ROOM];
    for (Index row = 0; row < tile->rows; row++) {
        NAME(Part) *to = (NAME(Part) *)result + row * tile->row_result * PARTS;
        for (Index k = 0; k < tile->depth; k++) {
            const NAME(Part) *x = (const NAME(Part) *)first + (row * tile->row_first + tile->along_first[k]) * PARTS;
            const NAME(Part) *y = (const NAME(Part) *)second + (row * tile->row_second + tile->along_second[k]) * PARTS;
            if (tile->first_is_table) {
                NAME(gather)(of_first, x, tile->across_first, tile->lanes);
                x = of_first;
            }
            if (tile->second_is_table) {
                NAME(gather)(of_second, y, tile->across_second, tile->lanes);
                y = of_second;
            }
            for (Index lane = 0; lane < tile->lanes; lane += NAME(LANES)) {
                if (tile->ahead[0] != 0) NAME(ask)(x + lane * PARTS, tile->ahead[0], 0, 1, 1);
                if (tile->ahead[1] != 0) NAME(ask)(y + lane * PARTS, tile->ahead[1], 0, 1, 1);
                const Index part = tile->lanes - lane < NAME(LANES) ? tile->lanes - lane : 0, at = lane * PARTS;
                NAME(Sum) sum = NAME(empty)();
                NAME(Vector) factor = NAME(mask)(part ? NAME(load_part)(x + at, part) : NAME(load)(x + at));
                if (tile->second_is_constant) sum = NAME(add_scaled)(sum, factor, y);
                else sum = NAME(add_product)(sum, factor, part ? NAME(load_part)(y + at, part) : NAME(load)(y + at));
                NAME(Vector) value = NAME(truth)(NAME(total)(tile, sum));
                if (k > 0) {
                    value = NAME(plus)(value, part ? NAME(load_part)(to + at, part) : NAME(load)(to + at));
                }
                if (part) NAME(store_part)(to + at, value, part);
                else NAME(store)(to + at, value);
            }
        }
    }
}

typedef PART NAME(Half) __attribute__((vector_size(32), aligned(1), may_alias));
typedef PART NAME(Quarter) __attribute__((vector_size(16), aligned(1), may_alias));

/* Writes the sum of a vector's elements, halves of which are added up to half a register of 32 bytes. */
INLINE void NAME(store_total)(NAME(Part) * to, NAME(Vector) vector) {
#if ALGEBRA == LOGICAL
    uint64_t words[VECTOR_BYTES / 8], any = 0;
    memcpy(words, &vector, sizeof vector);
    for (int i = 0; i < VECTOR_BYTES / 8; i++) any |= words[i];
    *to = any != 0;
#else
    NAME(Part) parts[VECTOR_BYTES / PART_BYTES];
    memcpy(parts, &vector, sizeof vector);
#if defined(__AVX512F__)
    *(NAME(Half) *)parts += *(const NAME(Half) *)(parts + 32 / PART_BYTES);
#endif
#if defined(__AVX2__)
    *(NAME(Quarter) *)parts += *(const NAME(Quarter) *)(parts + 16 / PART_BYTES);
#endif
    for (int half = 8 / PART_BYTES; half >= PARTS; half /= 2)
        for (int i = 0; i < half; i++) parts[i] += parts[i + half];
    for (int part = 0; part < PARTS; part++) to[part] = parts[part];
#endif
}

/* One sum after the other: four vectors of products at a time, then one, then the rest. */
static void NAME(runs)(const PairTile *tile, const char *first, const char *second, char *result) {
    const Index step = NAME(LANES), rest = tile->depth % step, whole = tile->depth - rest;
    for (Index row = 0; row < tile->rows; row++)
        for (Index lane = 0; lane < tile->lanes; lane++) {
            const NAME(Part) *x =
                (const NAME(Part) *)first + (row * tile->row_first + tile->across_first[lane]) * PARTS;
            const NAME(Part) *y =
                (const NAME(Part) *)second + (row * tile->row_second + tile->across_second[lane]) * PARTS;
            NAME(Sum) sums[4] = {NAME(empty)(), NAME(empty)(), NAME(empty)(), NAME(empty)()};
            Index k = 0;
            for (; k + 4 * step <= whole; k += 4 * step)
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++) {
                    const Index at = (k + i * step) * PARTS;
                    sums[i] = NAME(add_product)(sums[i], NAME(mask)(NAME(load)(x + at)), NAME(load)(y + at));
                }
            for (; k < whole; k += step)
                sums[0] = NAME(add_product)(sums[0], NAME(mask)(NAME(load)(x + k * PARTS)), NAME(load)(y + k * PARTS));
            if (rest)
                sums[1] = NAME(add_product)(sums[1], NAME(mask)(NAME(load_part)(x + k * PARTS, rest)),
                                            NAME(load_part)(y + k * PARTS, rest));
            NAME(Vector)
            total = NAME(plus)(NAME(plus)(NAME(total)(tile, sums[0]), NAME(total)(tile, sums[1])),
                               NAME(plus)(NAME(total)(tile, sums[2]), NAME(total)(tile, sums[3])));
            NAME(store_total)((NAME(Part) *)result + (row * tile->row_result + lane) * PARTS, total);
        }
}

/* Sums of some lanes, run by run, in two rows of vectors each; several lanes have the same factors in the second operand. */
INLINE void NAME(pieces_of)(const PairTile *tile, const NAME(Part) * first, const Index *across,
                            const NAME(Part) * second, NAME(Part) * result, const int lanes) {
    const Index step = NAME(LANES), rest = tile->run % step, whole = tile->run - rest;
    NAME(Sum) sums[4][2];
#pragma GCC unroll 4
    for (int lane = 0; lane < lanes; lane++) sums[lane][0] = sums[lane][1] = NAME(empty)();
    for (Index start = 0; start < tile->depth; start += tile->run) {
        const NAME(Part) *x = first + tile->along_first[start] * PARTS;
        const NAME(Part) *y = second + (tile->second_is_run ? start : tile->along_second[start]) * PARTS;
        Index k = 0;
        for (; k + 2 * step <= whole; k += 2 * step)
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                const Index at = (k + i * step) * PARTS;
                const NAME(Vector) factor = NAME(load)(y + at);
#pragma GCC unroll 4
                for (int lane = 0; lane < lanes; lane++)
                    sums[lane][i] =
                        NAME(add_product)(sums[lane][i], NAME(mask)(NAME(load)(x + across[lane] * PARTS + at)), factor);
            }
        if (k < whole) {
            const NAME(Vector) factor = NAME(load)(y + k * PARTS);
#pragma GCC unroll 4
            for (int lane = 0; lane < lanes; lane++)
                sums[lane][0] =
                    NAME(add_product)(sums[lane][0], NAME(mask)(NAME(load)(x + (across[lane] + k) * PARTS)), factor);
        }
        if (rest) {
            const NAME(Vector) factor = NAME(load_part)(y + whole * PARTS, rest);
#pragma GCC unroll 4
            for (int lane = 0; lane < lanes; lane++)
                sums[lane][1] = NAME(add_product)(
                    sums[lane][1], NAME(mask)(NAME(load_part)(x + (across[lane] + whole) * PARTS, rest)), factor);
        }
    }
#pragma GCC unroll 4
    for (int lane = 0; lane < lanes; lane++)
        NAME(store_total)(result + lane * PARTS,
                          NAME(plus)(NAME(total)(tile, sums[lane][0]), NAME(total)(tile, sums[lane][1])));
}

static void NAME(pieces)(const PairTile *tile, const char *first, const char *second, char *result) {
    enum { TOGETHER = PARTS == 2 ? 2 : 4 };
    for (Index row = 0; row < tile->rows; row++) {
        const NAME(Part) *x = (const NAME(Part) *)first + row * tile->row_first * PARTS;
        const NAME(Part) *y = (const NAME(Part) *)second + (tile->second_is_run ? 0 : row * tile->row_second * PARTS);
        NAME(Part) *to = (NAME(Part) *)result + row * tile->row_result * PARTS;
        Index lane = 0;
        for (; tile->second_is_run && lane + TOGETHER <= tile->lanes; lane += TOGETHER)
            NAME(pieces_of)(tile, x, tile->across_first + lane, y, to + lane * PARTS, TOGETHER);
        for (; lane < tile->lanes; lane++)
            NAME(pieces_of)(tile, x, tile->across_first + lane,
                            y + (tile->second_is_run ? 0 : tile->across_second[lane] * PARTS), to + lane * PARTS, 1);
    }
}
