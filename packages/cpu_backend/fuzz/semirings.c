/* Products in other algebras beside three loops; infinities and NaN among the elements. */
#include "contraction/pack.h"
#include "contraction/semiring.h"
#include "fuzz.h"

#include <math.h>

static void value_write(ElementType type, char *element, double value) {
    const float narrow = (float)value;
    if (type == BOOL) *element = (char)(value != 0 ? draw(1, 127) : 0);
    else memcpy(element, type == F32 ? (const void *)&narrow : (const void *)&value, (size_t)ELEMENT_BYTES[type]);
}

static double value_read(ElementType type, const char *element) {
    float narrow;
    double wide;
    if (type == BOOL) return *element != 0;
    if (type == F64) memcpy(&wide, element, sizeof wide);
    else {
        memcpy(&narrow, element, sizeof narrow);
        wide = (double)narrow;
    }
    return wide;
}

static char *values_drawn(ElementType type, Index count, bool special) {
    static const double SPECIAL[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0};
    char *elements = room_for(count * ELEMENT_BYTES[type]);
    for (Index i = 0; i < count; i++)
        value_write(type, elements + i * ELEMENT_BYTES[type],
                    type == BOOL           ? (double)draw(0, 1)
                    : special && one_in(8) ? SPECIAL[draw(0, 3)]
                                           : (double)draw(-9, 9));
    return elements;
}

static double start_of(Semiring semiring) {
    return semiring == OR_AND ? 0 : semiring == MIN_PLUS ? (double)INFINITY : -(double)INFINITY;
}

/* One term more; NaN stays. */
static double added(Semiring semiring, double sum, double x, double y) {
    if (semiring == OR_AND) return sum != 0 || (x != 0 && y != 0);
    const double term = semiring == MAX_TIMES ? x * y : x + y;
    if (isnan(sum) || isnan(term)) return (double)NAN;
    return (semiring == MIN_PLUS ? term < sum : term > sum) ? term : sum;
}

static bool equal(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static char *panels_of(const SemiringLoops *loops, ElementType type, const char *source, const Tables *tables,
                       Index count, Index depth, Index width, unsigned char *marks) {
    const Index item = ELEMENT_BYTES[type];
    Pack *const pack = pack_of(SIMD_CHOICE(pack_kernels), (int)item);
    char *panels = aligned_room(rounded_up(count, width) * depth * item), *panel = panels;
    for (Index i = 0; i < count; i += width, panel += width * depth * item) {
        pack(panel, source, tables->rows + i, tables->columns, smaller(count - i, width), depth, width);
        *marks++ = loops->marks(panel, width * depth);
    }
    return panels;
}

void fuzz_semirings(void) {
    static const ElementType TYPES[] = {F32, F64, BOOL};
    const Semiring semiring = (Semiring)draw(0, SEMIRINGS - 1);
    const ElementType type = TYPES[draw(0, 2)];
    const SemiringLoops *loops = &SIMD_CHOICE(semiring_kernels)->loops[semiring][type];
    if (loops->right_width == 0) return;
    const bool is_line = one_in(2);
    const Index item = ELEMENT_BYTES[type], depth = draw(1, 50), width = loops->right_width;
    const Index rows = is_line ? 1 : draw(1, 20), columns = draw(1, one_in(4) ? 4 * width : 20);
    Tables x = tables_drawn(rows, depth), y = tables_drawn(columns, depth);
    const Tables to = tables_drawn(rows, columns);
    const bool across = one_in(2);
    if (is_line) { /* one of the matrix's axes is consecutive, and the vector is packed */
        for (Index k = 0; k < depth; k++) x.columns[k] = k, y.columns[k] = across ? k * (columns + 2) : k;
        for (Index j = 0; j < columns; j++) y.rows[j] = across ? j : j * (depth + 3);
        x.rows[0] = 0;
        x.span = depth;
        y.span = y.rows[columns - 1] + y.columns[depth - 1] + 1;
    }
    const bool special = one_in(2), continues = one_in(2);
    const char *left = values_drawn(type, x.span, special), *right = values_drawn(type, y.span, special);
    char *result = values_drawn(type, to.span, special);
    if (type == BOOL)
        for (Index i = 0; i < to.span; i++) result[i] = result[i] != 0; /* results of ours are 0 and 1 */
    double *expected = room_for(to.span * (Index)sizeof(double));
    for (Index i = 0; i < to.span; i++) expected[i] = value_read(type, result + i * item);
    for (Index i = 0; i < rows; i++)
        for (Index j = 0; j < columns; j++) {
            double *sum = expected + to.rows[i] + to.columns[j];
            if (!continues) *sum = start_of(semiring);
            for (Index k = 0; k < depth; k++)
                *sum = added(semiring, *sum, value_read(type, left + (x.rows[i] + x.columns[k]) * item),
                             value_read(type, right + (y.rows[j] + y.columns[k]) * item));
        }
    if (is_line) {
        char *vector = room_for(depth * item);
        for (Index k = 0; k < depth * item; k++) vector[k] = type == BOOL ? left[k] != 0 : left[k];
        Index *places = room_for(columns * (Index)sizeof(Index));
        for (Index j = 0; j < columns; j++) places[j] = to.rows[0] + to.columns[j];
        loops->multiply_line(
            &(Line){vector, right, y.columns, y.rows, across, depth, columns, result, places, continues});
    } else {
        unsigned char *left_marks = room_for(pieces(rows, LEFT_WIDTH)), *right_marks = room_for(pieces(columns, width));
        const char *rows_packed = panels_of(loops, type, left, &x, rows, depth, LEFT_WIDTH, left_marks);
        const char *columns_packed = panels_of(loops, type, right, &y, columns, depth, width, right_marks);
        loops->multiply(&(Block){rows_packed, columns_packed, left_marks, right_marks, depth, result, to.rows,
                                 to.columns, rows, columns, continues});
    }
    for (Index i = 0; i < to.span; i++) CHECK(equal(value_read(type, result + i * item), expected[i]));
}
