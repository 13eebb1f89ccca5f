/* Strided copies beside a loop over elements. */
#include "fuzz.h"

#include "copy/permute.h"

static void draw_extents(int rank, Index *extents) {
    Index left = one_in(300) ? 1 << 20 : 1 << draw(2, 13);
    for (int axis = 0; axis < rank; axis++) {
        extents[axis] = one_in(40) ? 0 : draw(1, left < 70 ? left : one_in(3) ? left : 70);
        if (extents[axis] > 1) left = left / extents[axis] + 1;
    }
}

void fuzz_copies(void) {
    const int rank = (int)draw(0, 6), bytes = 1 << draw(0, 4);
    Index extents[MAX_RANK], index[MAX_RANK] = {0}, size = 1;
    draw_extents(rank, extents);
    for (int axis = 0; axis < rank; axis++) size *= extents[axis];
    const Layout from = layout_drawn(rank, extents, true), to = layout_drawn(rank, extents, false);
    const char *source = bytes_drawn(from.span * bytes);
    char *target = bytes_drawn(to.span * bytes), *expected = room_for(to.span * bytes);
    memcpy(expected, target, (size_t)(to.span * bytes));
    if (size > 0) do
            memcpy(expected + (to.first + place_of(rank, to.strides, index)) * bytes,
                   source + (from.first + place_of(rank, from.strides, index)) * bytes, (size_t)bytes);
        while (next_index(rank, extents, index));
    StridedLayout lies, goes;
    CHECK(strided_layout(&lies, rank, extents, from.strides, bytes));
    CHECK(strided_layout(&goes, rank, extents, to.strides, bytes));
    CHECK(from.first * bytes + layout_low(&lies) >= 0 && from.first * bytes + layout_end(&lies) <= from.span * bytes);
    CopyPlan *plan = copy_plan(&lies, &goes);
    CHECK(plan != NULL);
    copy_run(plan, source + from.first * bytes, target + to.first * bytes);
    copy_plan_free(plan);
    CHECK(memcmp(target, expected, (size_t)(to.span * bytes)) == 0);
}
