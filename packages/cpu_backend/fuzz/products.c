/* The scatter GEMM's packing and loops, and operands read as they lie, beside three loops. */
#include "contraction/gemm.h"
#include "fuzz.h"

/* Panels of `step` neighbours, the last one with as many whole multiples of `unit` as it needs; as in gemm.c. */
static char *packed(ElementType type, const char *source, const Index *across, const Index *along, Index count,
                    Index depth, Index step, Index unit) {
    Pack *const pack = pack_of(SIMD_CHOICE(pack_kernels), ELEMENT_BYTES[type]);
    Index bytes = 0;
    for (Index i = 0; i < count; i += step)
        bytes += rounded_up(smaller(count - i, step), unit) * depth * ELEMENT_BYTES[type];
    char *panels = aligned_room(bytes), *panel = panels;
    for (Index i = 0; i < count; i += step) {
        const Index width = smaller(count - i, step), room = rounded_up(width, unit);
        pack(panel, source, across + i, along, width, depth, room);
        panel += room * depth * ELEMENT_BYTES[type];
    }
    return panels;
}

void fuzz_products(void) {
    const ElementType type = draw_type();
    const GemmLoop *loop = &SIMD_CHOICE(gemm_kernels)->of_type[type];
    const Index item = ELEMENT_BYTES[type], depth = draw(1, 40);
    const bool may_read = type != BOOL, reads_rows = may_read && one_in(3);
    const bool reads_columns = may_read && !reads_rows && one_in(2);
    const Index columns = draw(1, one_in(4) ? 3 * loop->columns : 20);
    const Index rows = reads_rows ? draw(1, 2) * loop->rows : draw(1, one_in(4) ? 3 * loop->rows : 40);
    Tables x = tables_drawn(rows, depth);
    const Tables y = tables_drawn(columns, depth), to = tables_drawn(rows, columns);
    if (reads_rows) { /* neighbours; every product somewhere after the last */
        x.span = 0;
        for (Index k = 0; k < depth; k++, x.span += rows + draw(0, 3)) x.columns[k] = x.span;
        for (Index i = 0; i < rows; i++) x.rows[i] = i;
    }
    const char *left = numbers_drawn(type, x.span), *right = numbers_drawn(type, y.span);
    char *result = numbers_drawn(type, to.span), *expected = room_for(to.span * item);
    const GemmBlock block = {
        .rows = rows,
        .columns = columns,
        .depth = depth,
        .across = to.rows,
        .along = to.columns,
        .x_products = reads_rows ? x.columns : NULL,
        .y_columns = reads_columns ? y.rows : NULL,
        .y_products = reads_columns ? y.columns : NULL,
        .adds = one_in(2),
    };
    if (type == BOOL)
        for (Index i = 0; i < to.span; i++) result[i] = result[i] != 0; /* results of ours are 0 and 1 */
    memcpy(expected, result, (size_t)(to.span * item));
    for (Index i = 0; i < rows; i++)
        for (Index j = 0; j < columns; j++) {
            char *place = expected + (to.rows[i] + to.columns[j]) * item;
            Number sum = block.adds ? number_read(type, place) : (Number){0, 0};
            for (Index k = 0; k < depth; k++)
                sum = number_plus(type, sum,
                                  number_times(type, number_read(type, left + (x.rows[i] + x.columns[k]) * item),
                                               number_read(type, right + (y.rows[j] + y.columns[k]) * item)));
            if (type == BOOL) *place = (char)sum.re;
            else number_write(type, place, sum);
        }
    if (!reads_rows) left = packed(type, left, x.rows, x.columns, rows, depth, loop->rows, loop->lanes);
    if (!reads_columns) right = packed(type, right, y.rows, y.columns, columns, depth, loop->columns, loop->columns);
    loop->multiply(&block, left, right, result);
    for (Index i = 0; i < to.span; i++) /* gaps too */
        CHECK(number_equal(number_read(type, result + i * item), number_read(type, expected + i * item)));
}
