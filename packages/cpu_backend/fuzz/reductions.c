/* Folds of rows and lines beside a loop over elements. */
#include "fuzz.h"
#include "reduction/reduce.h"

#include <math.h>

/* The type in which an element of this type is folded: sums and products of integers and truths are I64. */
static ElementType fold_type(Fold fold, ElementType type) {
    const bool widens = (fold == SUM || fold == PRODUCT) && (type == I32 || type == BOOL);
    return widens ? I64 : type;
}

static Number folded(Fold fold, ElementType type, Number x, Number y) {
    switch (fold) {
    case SUM: return number_plus(type, x, y);
    case PRODUCT: return number_times(type, x, y);
    case LARGEST: return x.re > y.re ? x : y;
    default: return x.re < y.re ? x : y;
    }
}

static Number drawn(Fold fold, ElementType type) {
    const bool wraps = type == I32 || type == I64 || type == BOOL;
    return fold == PRODUCT && !wraps ? unit_drawn(type) : number_drawn(type);
}

static void fold_numbers(void) {
    const Fold fold = (Fold)draw(0, FOLDS - 1);
    const ElementType type = draw_type(), wide = fold_type(fold, type);
    const FoldLoops *loops = &SIMD_CHOICE(reduce_kernels)->loops[fold][type];
    if (loops->rows == NULL) return;
    const bool is_line = one_in(3);
    const Index rows = is_line ? draw(1, one_in(3) ? MOST_IN_LINE : 100) : draw(1, ROWS_AT_ONCE);
    const Index columns = is_line ? 1 : one_in(4) ? WIDE_ROW : draw(1, 80);
    const Index gap = is_line || one_in(3) ? 0 : one_in(10) ? DISTANT : draw(0, 9);
    const Index apart = is_line && loops->line_apart != NULL && one_in(2) ? draw(1, 9) : 1;
    const Index stride = is_line ? apart : columns + gap, item = ELEMENT_BYTES[type], fold_item = ELEMENT_BYTES[wide];
    char *source = room_for(((rows - 1) * stride + columns) * item), *folds = room_for(columns * fold_item);
    const bool begun = !is_line && one_in(2);
    for (Index row = 0; row < rows; row++)
        for (Index i = 0; i < columns; i++) number_write(type, source + (row * stride + i) * item, drawn(fold, type));
    Number *expected = room_for(columns * (Index)sizeof(Number));
    for (Index i = 0; i < columns; i++) {
        Number held = drawn(fold, type);
        const char *column = source + i * item;
        if (!begun) held = number_read(type, column);
        else if (type == BOOL && wide == BOOL) folds[i] = (char)held.re;
        else number_write(wide, folds + i * fold_item, held);
        for (Index row = begun ? 0 : 1; row < rows; row++)
            held = folded(fold, wide, held, number_read(type, column + row * stride * item));
        expected[i] = held;
    }
    if (apart > 1) loops->line_apart(rows, source, apart, folds);
    else if (is_line) loops->line(rows, source, folds);
    else loops->rows(rows, columns, stride, source, folds, begun);
    for (Index i = 0; i < columns; i++) CHECK(number_equal(number_read(wide, folds + i * fold_item), expected[i]));
    if (is_line) return;
    char *other = room_for(columns * fold_item);
    memcpy(other, folds, (size_t)(columns * fold_item));
    loops->join(columns, folds, other);
    for (Index i = 0; i < columns; i++)
        CHECK(number_equal(number_read(wide, folds + i * fold_item), folded(fold, wide, expected[i], expected[i])));
    loops->parts(columns, 1, other);
    Number all = expected[0];
    for (Index i = 1; i < columns; i++) all = folded(fold, wide, all, expected[i]);
    CHECK(number_equal(number_read(wide, other), all));
}

static double term(WideFold fold, double x, double centre) {
    switch (fold) {
    case TOTAL: return x;
    case SQUARES: return x * x;
    case DEVIATIONS: return (x - centre) * (x - centre);
    default: return fabs(x);
    }
}

static void fold_wide(void) {
    const WideFold fold = (WideFold)draw(0, WIDE_FOLDS - 1);
    const ElementType type = one_in(2) ? F32 : F64;
    const WideLoops *loops = &SIMD_CHOICE(wide_kernels)->loops[fold][type];
    if (loops->rows == NULL) return;
    const bool is_line = one_in(3);
    const Index rows = is_line ? draw(1, one_in(3) ? MOST_IN_LINE : 100) : draw(1, ROWS_AT_ONCE);
    const Index columns = is_line ? 1 : one_in(4) ? WIDE_ROW : draw(1, 80);
    const Index stride = columns + (is_line || one_in(3) ? 0 : one_in(10) ? DISTANT : draw(0, 9));
    const Index item = ELEMENT_BYTES[type];
    char *source = room_for(((rows - 1) * stride + columns) * item);
    double *folds = room_for(columns * 8), *centres = room_for(columns * 8), *expected = room_for(columns * 8);
    for (Index row = 0; row < rows; row++)
        for (Index i = 0; i < columns; i++) number_write(type, source + (row * stride + i) * item, number_drawn(type));
    const bool begun = !is_line && one_in(2);
    for (Index i = 0; i < columns; i++) {
        centres[i] = (double)draw(-2, 2);
        double held = begun ? (double)draw(0, 5) : 0;
        if (begun) folds[i] = held;
        for (Index row = 0; row < rows; row++) {
            const double x = (double)number_read(type, source + (row * stride + i) * item).re;
            const double value = term(fold, x, centres[i]);
            held = fold == LARGEST_SIZE ? fmax(held, value) : held + value;
        }
        expected[i] = held;
    }
    if (is_line) loops->line(rows, source, centres, folds);
    else loops->rows(rows, columns, stride, source, centres, folds, begun);
    for (Index i = 0; i < columns; i++) CHECK(folds[i] == expected[i]);
}

void fuzz_reductions(void) {
    if (one_in(2)) fold_numbers();
    else fold_wide();
}
