/* Single matrices of 5 to 8 columns: a lane for every column, so that a register holds a row. For linalg_eigh_packed.h and
 * linalg_svd_packed.h.
 *
 * Columns stand at places as linalg_places.h has them, the first ones of the pairs in the lower four lanes, the second
 * ones in the upper four, and move after each round in the same way. Each element goes through the same operations in the
 * same order as there, so results are the same to the bit.
 */
#if LANES == 8

enum { PACKED_SIDE = 8, LOWER_LANES = 0x0f, UPPER_LANES = 0xf0, MOST_PACKED_ROUNDS = 7 };

/* Whether a matrix of so many columns is packed. */
INLINE bool is_packed(int n) { return n > LARGEST_CONSTANT_SIDE && n <= PACKED_SIDE; }

INLINE int lane_of(int place, int half) { return place < half ? place : 4 + place - half; }

/* Where lanes come from when columns move after a round; the same when those of each pair have changed places before, or
 * do afterwards; and of the first, or the second, column of each new pair, in the lanes of both. */
typedef struct {
    Bits moved, crossed, other, first, second;
} Moves;

INLINE Moves moves_of(int half) {
    uint64_t from[LANES];
    for (int lane = 0; lane < LANES; lane++) from[lane] = (uint64_t)lane;
#pragma GCC unroll 8
    for (int place = 0; place < 2 * half; place++)
        from[lane_of(next_place(place, half), half)] = (uint64_t)lane_of(place, half);
    Moves moves;
#pragma GCC unroll 8
    for (int lane = 0; lane < LANES; lane++) {
        moves.moved[lane] = from[lane];
        moves.crossed[lane] = from[lane] ^ 4;
        moves.other[lane] = from[lane ^ 4];
        moves.first[lane] = from[lane & 3];
        moves.second[lane] = from[4 | (lane & 3)];
    }
    return moves;
}

INLINE Lane permuted_lane(Lane x, Bits from) { return _mm512_permutexvar_pd((__m512i)from, x); }

INLINE Number permuted(Number x, Bits from) {
    Number result;
    for (int part = 0; part < PARTS; part++) ((Lane *)&result)[part] = permuted_lane(((const Lane *)&x)[part], from);
    return result;
}

/* One lane, in all of them. */
INLINE Number spread(Number x, int lane) { return permuted(x, (Bits){0} + (uint64_t)lane); }

static const Bits SWAPPED = {4, 5, 6, 7, 0, 1, 2, 3};

INLINE Lane lower_negated_lane(Lane x) {
    const uint64_t sign = SIGN_BIT;
    return (Lane)((Bits)x ^ (Bits){sign, sign, sign, sign, 0, 0, 0, 0});
}

INLINE Number lower_negated(Number x) {
    Number result;
    for (int part = 0; part < PARTS; part++) ((Lane *)&result)[part] = lower_negated_lane(((const Lane *)&x)[part]);
    return result;
}

/* The rotations of a round, by pair in the lanes of both columns, from what stands there: values [p | q], their weights,
 * and the element, conjugated in the upper lanes. A row x becomes x + turn times the same row with the columns of each
 * pair exchanged. */
typedef struct {
    Number turn;
    Lane weight, rest, shift; /* of Rotation; the shift is what each value gets */
    Mask matters;
} PackedRotation;

INLINE PackedRotation packed_rotation(const Corner *of, Mask active, bool narrow) {
    Rotation r;
    find_rotations(of, &active, narrow, 1, &r);
    return (PackedRotation){lower_negated(r.first), r.weight, r.rest, lower_negated_lane(r.shift), r.matters};
}

/* Values and weights of columns, in the lanes of places; those of the pairs that meet, in the lanes of both columns: the
 * first values, the second ones, and the weights of the others; and whether a rotation mattered. */
typedef struct {
    Lane values, weights, p, q, other_weights;
    Mask going;
} PackedPairs;

/* At the start of a sweep. */
INLINE void pair_columns(PackedPairs *pairs) {
    const Bits firsts = {0, 1, 2, 3, 0, 1, 2, 3}, seconds = {4, 5, 6, 7, 4, 5, 6, 7};
    pairs->going = no_lane();
    pairs->other_weights = permuted_lane(pairs->weights, SWAPPED);
    pairs->p = permuted_lane(pairs->values, firsts);
    pairs->q = permuted_lane(pairs->values, seconds);
}

/* What is to be rotated away, of pairs whose products are g. */
INLINE Corner corner_of_pairs(const PackedPairs *pairs, Number g) {
    const Lane square = pairs->weights * pairs->other_weights * add_square(broadcast(0.0), g);
    return (Corner){pairs->p, pairs->q, pairs->weights, pairs->other_weights, g, square};
}

/* After a round. */
INLINE void move_columns(PackedPairs *pairs, const PackedRotation *r, const Moves *moves) {
    const Lane shifted = pairs->values + r->shift, weighed = pairs->weights * r->weight;
    pairs->values = permuted_lane(shifted, moves->moved);
    pairs->p = permuted_lane(shifted, moves->first);
    pairs->q = permuted_lane(shifted, moves->second);
    pairs->weights = permuted_lane(weighed, moves->moved);
    pairs->other_weights = permuted_lane(weighed, moves->other);
    pairs->going |= r->matters;
}

/* A row of columns that are turned, and move; the turn has moved already. */
INLINE Number turned_and_moved(Number row, Number turn, const Moves *moves) {
    return add_product(permuted(row, moves->moved), turn, permuted(row, moves->crossed));
}

/* So many numbers of a matrix one after the other, and zeros; and back. */
INLINE Number load_packed(const char *from, int count, bool narrow) {
    const int doubles = count * PARTS, few = doubles < LANES ? doubles : LANES;
    Lane parts[2] = {load_some(from, few, narrow)};
    if (PARTS == 2) {
        const Lane rest = load_some(from + few * (int)(narrow ? sizeof(float) : sizeof(double)), doubles - few, narrow);
        part_pairs(parts[0], rest, &parts[0], &parts[1]);
    }
    Number result;
    memcpy(&result, parts, sizeof result);
    return result;
}

INLINE void store_packed(char *to, Number x, int count, bool narrow) {
    const int doubles = count * PARTS, few = doubles < LANES ? doubles : LANES;
    Lane parts[2];
    memcpy(parts, &x, sizeof x);
    if (PARTS == 2) {
        join_pairs(parts[0], parts[1], &parts[0], &parts[1]);
        store_some(to + few * (int)(narrow ? sizeof(float) : sizeof(double)), parts[1], doubles - few, narrow);
    }
    store_some(to, parts[0], few, narrow);
}

INLINE void transpose_packed(Number *x) {
#pragma GCC unroll 2
    for (int part = 0; part < PARTS; part++) {
        Lane lanes[LANES];
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++) lanes[i] = ((const Lane *)(x + i))[part];
        transpose_lanes(lanes);
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++) ((Lane *)(x + i))[part] = lanes[i];
    }
}

/* The column at each lane, and at lanes without a place one of zeros. */
INLINE Bits columns_at_lanes(int half) {
    Bits columns = {7, 7, 7, 7, 7, 7, 7, 7};
    for (int place = 0; place < 2 * half; place++) columns[lane_of(place, half)] = (uint64_t)column_at(place, half);
    return columns;
}

/* The rows of a unit matrix of n columns, and zeros. */
INLINE void unit_rows(Number *v, int n, int half) {
    for (int i = 0; i < PACKED_SIDE; i++) v[i] = number(broadcast(0.0));
    for (int place = 0; place < 2 * half; place++) {
        const Mask here = (Mask)(1u << lane_of(place, half));
        const int column = column_at(place, half);
        if (column < n) v[column] = number(pick(here, broadcast(1.0), broadcast(0.0)));
    }
}

/* Where values, in the lanes of places, go in ascending order, by column: as exchanges of neighbours in that order would
 * put them, which matters for equal ones. */
INLINE void packed_order(Lane values, int n, int half, int *rank) {
    Bits smaller = {0};
    uint64_t counts[LANES];
    int seen = 0;
    for (int place = 0; place < 2 * half; place++) {
        if (column_at(place, half) >= n) continue;
        const Bits from = (Bits){0} + (uint64_t)lane_of(place, half);
        const Mask above = greater(values, permuted_lane(values, from));
        smaller = (Bits)_mm512_mask_add_epi64((__m512i)smaller, above, (__m512i)smaller, _mm512_set1_epi64(1));
    }
    memcpy(counts, &smaller, sizeof counts);
    for (int place = 0; place < 2 * half; place++) {
        const int column = column_at(place, half);
        if (column >= n) continue;
        rank[column] = (int)counts[lane_of(place, half)];
        seen |= 1 << rank[column];
    }
    if (seen == (1 << n) - 1) return;
    double sorted[PACKED_SIDE];
    int from[PACKED_SIDE];
    for (int place = 0; place < 2 * half; place++) {
        const int column = column_at(place, half);
        if (column < n) sorted[column] = values[lane_of(place, half)];
    }
    for (int i = 0; i < n; i++) from[i] = i;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            if (!(sorted[i] > sorted[j])) continue;
            const double value = sorted[i];
            const int column = from[i];
            sorted[i] = sorted[j], from[i] = from[j];
            sorted[j] = value, from[j] = column;
        }
    for (int i = 0; i < n; i++) rank[from[i]] = i;
}
#endif
