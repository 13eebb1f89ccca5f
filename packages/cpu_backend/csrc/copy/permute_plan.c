/* Plans a strided copy: which axes make the tile, and in which order the others are looped over.
 *
 * First the shortest description of the copy: axes of extent 1 dropped, target strides made positive, axes sorted by
 * target stride, neighbours on both sides fused into one axis, and a short run that both sides share made a wider
 * element. Then the method. Where source and target have the same fastest axis, runs of it are copied; where the source
 * has it backwards or in small steps, so are its steps. Where they differ, columns are made from the leading axes of the
 * target and rows from those of the source, until both reach
 * several cache lines, so that each line is fetched once however the axes are permuted: for two long axes this is the
 * classic blocked transposition, and for many axes of extents 2 and 3 the same with offset tables. (The method of
 * HPTT: Springer, Su, Bientinesi, "HPTT: a high-performance tensor transposition C++ library", 2017; tables instead of
 * its fixed axes.) Each loop has a stride in the source and one in the target; the innermost loop is the one with the
 * smallest of all these strides, and so on outwards.
 */
#include "copy/permute_plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY_TILES = 4 << 20,    /* bytes of a target; see past_cache_from() */
    MOST_PARTS = 1024,       /* of an axis that are tried */
    LONG_RUN = 64,           /* bytes that are neighbours on both sides: worth copying as a run */
    RUN_PIECE = 1 << 18,     /* bytes of a long run that are one tile */
    RUN_TILE = 1 << 14,      /* bytes of a tile of short runs */
    LEAST_STEPS = 16,        /* elements equally far apart in the source: worth a loop of their own */
    LONGEST_STEP = 8,        /* elements from one to the next, while a line of the source holds several */
    STEPS_PIECE = 1 << 13,   /* bytes of them in the target that are one tile */
    SIDE = 64,               /* elements of one side of a tile that is no transposition */
    LEAST_PACKED = 16,       /* elements along the long axis, to interleave around it */
    PACKED_TILE = 6144,      /* bytes of a tile of few columns or few rows; a larger one falls out of the cache */
    LEAST_GROUP = 512,       /* bytes that are written together, for a buffer to be worth it */
    WORTH_A_THREAD = 1 << 18 /* bytes */
};

/* Bytes of the sides of a transposed tile. Measured on a processor with 32 KiB of first-level cache: past the cache,
 * two neighbouring lines of the target at a time beside long runs of the source are best; through a buffer, the longer
 * runs are those of the target. */
typedef struct {
    Index columns, rows;
} Sides;
static const Sides IN_CACHE = {512, 512}, PAST_CACHE = {128, 8192}, THROUGH_BUFFER = {1024, 512};
static const Sides HANDED = {1024, 512}, GIVEN = {256, 2048};

/* The axes that a tile takes, of one kind; the last of them may be taken in part. */
typedef struct {
    int count;
    CopyAxis axes[MAX_RANK];
    Index elements;
} Side;

typedef struct {
    int rank;
    CopyAxis axes[MAX_RANK];
    Index element, source_start, target_start; /* bytes */
    Index cut_remainder[2];                    /* extent of what remains at the end of the axis that a side cuts */
    int cut[2];                                /* that axis; -1 when there is none */
} Draft;

enum { COLUMNS, ROWS };

static void turn(Draft *draft, CopyAxis *axis) {
    draft->source_start += (axis->extent - 1) * axis->source;
    draft->target_start += (axis->extent - 1) * axis->target;
    axis->source = -axis->source;
    axis->target = -axis->target;
}

static void remove_axis(Draft *draft, int axis) {
    draft->rank--;
    memmove(&draft->axes[axis], &draft->axes[axis + 1], (size_t)(draft->rank - axis) * sizeof *draft->axes);
}

static void simplify(Draft *draft) {
    for (int axis = draft->rank - 1; axis >= 0; axis--)
        if (draft->axes[axis].target < 0) turn(draft, &draft->axes[axis]);
    for (int axis = 1; axis < draft->rank; axis++) /* insertion sort: few axes */
        for (int k = axis; k > 0 && draft->axes[k].target < draft->axes[k - 1].target; k--) {
            CopyAxis slower = draft->axes[k - 1];
            draft->axes[k - 1] = draft->axes[k];
            draft->axes[k] = slower;
        }
    for (int axis = draft->rank - 1; axis > 0; axis--) {
        CopyAxis *fast = &draft->axes[axis - 1], *slow = &draft->axes[axis];
        if (slow->source == fast->extent * fast->source && slow->target == fast->extent * fast->target) {
            fast->extent *= slow->extent;
            remove_axis(draft, axis);
        }
    }
}

/* A run shared by both sides that is too short to be copied as one: several of its elements become one element. */
static void widen(Draft *draft) {
    CopyAxis *run = &draft->axes[0];
    if (draft->rank == 0 || run->source != draft->element || run->target != draft->element) return;
    if (run->extent * draft->element >= LONG_RUN) return;
    while (run->extent % 2 == 0 && draft->element < 16) {
        run->extent /= 2;
        draft->element *= 2;
    }
    run->source = run->target = draft->element;
    if (run->extent == 1) remove_axis(draft, 0);
}

/* A part of an axis for a tile: about `wanted` of its extent, without a remainder where that keeps vectors whole. */
static Index part_of(Index extent, Index wanted) {
    if (extent < 2 * wanted) return extent;
    Index step = wanted % 8 == 0 ? 8 : 1;
    for (Index part = wanted; part <= 2 * wanted && part <= MOST_PARTS; part += step)
        if (extent % part == 0) return part;
    return wanted;
}

/* Moves an axis, or a part of it, from the loops to a side of the tile. */
static void take(Draft *draft, Side *side, int kind, int axis, Index wanted) {
    CopyAxis *whole = &draft->axes[axis];
    Index part = part_of(whole->extent, wanted);
    side->axes[side->count++] = (CopyAxis){part, whole->source, whole->target};
    side->elements *= part;
    if (part == whole->extent) {
        remove_axis(draft, axis);
        for (int other = 0; other < 2; other++)
            if (draft->cut[other] > axis) draft->cut[other]--;
        return;
    }
    draft->cut[kind] = axis;
    draft->cut_remainder[kind] = whole->extent % part;
    *whole = (CopyAxis){pieces(whole->extent, part), whole->source * part, whole->target * part};
}

/* The axis of the loops with this stride; -1 when there is none, or when a side has cut it. */
static int axis_with(const Draft *draft, Index stride, int kind) {
    for (int axis = 0; axis < draft->rank; axis++)
        if ((kind == COLUMNS ? draft->axes[axis].target : draft->axes[axis].source) == stride &&
            axis != draft->cut[COLUMNS] && axis != draft->cut[ROWS])
            return axis;
    return -1;
}

/* The axis of the loops with the smallest stride on one side that no side of the tile has cut; -1 without one. */
static int fastest(const Draft *draft, int kind) {
    int best = -1;
    Index least = 0;
    for (int axis = 0; axis < draft->rank; axis++) {
        Index stride = magnitude(kind == COLUMNS ? draft->axes[axis].target : draft->axes[axis].source);
        if (axis == draft->cut[COLUMNS] || axis == draft->cut[ROWS] || stride == 0) continue;
        if (best < 0 || stride < least) best = axis, least = stride;
    }
    return best;
}

static void take_fastest(Draft *draft, Side *side, int kind, Index wanted) {
    while (side->elements < wanted && draft->cut[kind] < 0) {
        int axis = fastest(draft, kind);
        if (axis < 0) return;
        take(draft, side, kind, axis, pieces(wanted, side->elements));
    }
}

/* Both sides of a transposition: columns contiguous in the target, rows contiguous in the source, grown in turns. */
static bool take_both(Draft *draft, Side *columns, Side *rows, Sides bytes) {
    const Index wanted[] = {bytes.columns / draft->element, bytes.rows / draft->element};
    int first_row = -1;
    for (int axis = 1; axis < draft->rank; axis++)
        if (magnitude(draft->axes[axis].source) == draft->element) first_row = axis;
    if (first_row < 0 || draft->axes[0].target != draft->element || magnitude(draft->axes[0].source) == draft->element)
        return false;
    if (draft->axes[first_row].source < 0) turn(draft, &draft->axes[first_row]);
    take(draft, rows, ROWS, first_row, wanted[ROWS]);
    take(draft, columns, COLUMNS, 0, wanted[COLUMNS]);
    for (bool grown = true; grown;) {
        grown = false;
        Side *sides[] = {columns, rows};
        for (int kind = COLUMNS; kind <= ROWS; kind++) {
            if (sides[kind]->elements >= wanted[kind] || draft->cut[kind] >= 0) continue;
            int axis = axis_with(draft, sides[kind]->elements * draft->element, kind);
            if (axis < 0) continue;
            take(draft, sides[kind], kind, axis, pieces(wanted[kind], sides[kind]->elements));
            grown = true;
        }
    }
    return true;
}

/* Few elements that are neighbours on one side and far apart on the other, and one long axis that is packed around them
 * on the first side: (n, 3) to (3, n), or back. NOTHING when it is not so. */
static CopyMethod take_packed(Draft *draft, Side *columns, Side *rows) {
    const CopyAxis first = draft->axes[0];
    for (int axis = 1; axis < draft->rank; axis++) {
        const CopyAxis other = draft->axes[axis];
        if (first.target != draft->element || other.source != draft->element) continue;
        const bool few_rows = other.extent <= MOST_INTERLEAVED && first.source == other.extent * draft->element;
        const bool few_columns = first.extent <= MOST_INTERLEAVED && other.target == first.extent * draft->element;
        if (few_rows == few_columns || (few_rows ? first : other).extent < LEAST_PACKED) continue;
        const Index elements = PACKED_TILE / draft->element;
        take(draft, rows, ROWS, axis, few_rows ? other.extent : elements / first.extent);
        take(draft, columns, COLUMNS, 0, few_columns ? first.extent : elements / other.extent);
        return few_rows ? DEINTERLEAVE : INTERLEAVE;
    }
    return NOTHING;
}

static CopyMethod choose(Draft *draft, Side *columns, Side *rows, Sides bytes) {
    const CopyAxis *first = &draft->axes[0];
    if (draft->rank > 0 && first->target == draft->element && (first->source == 0 || first->source == first->target) &&
        (first->extent * draft->element >= LONG_RUN || draft->rank == 1)) {
        CopyMethod method = first->source == 0 ? SPREAD : RUNS;
        take(draft, columns, COLUMNS, 0, RUN_PIECE / draft->element);
        take_fastest(draft, rows, ROWS, RUN_TILE / (columns->elements * draft->element));
        return method;
    }
    CopyMethod packed = take_packed(draft, columns, rows);
    if (packed != NOTHING) return packed;
    Draft before = *draft;
    if (draft->rank > 1 && take_both(draft, columns, rows, bytes)) {
        if (columns->elements * draft->element >= CACHE_LINE / 2 && rows->elements * draft->element >= CACHE_LINE / 2)
            return TRANSPOSE;
        *draft = before;
        *columns = *rows = (Side){.elements = 1};
    }
    if (draft->rank > 0 && first->target == draft->element && first->extent >= LEAST_STEPS &&
        magnitude(first->source) <= LONGEST_STEP * draft->element &&
        first->source % draft->element == 0) { /* of elements made wider it may be no multiple */
        take(draft, columns, COLUMNS, 0, STEPS_PIECE / draft->element);
        take_fastest(draft, rows, ROWS, RUN_TILE / (columns->elements * draft->element));
        return STEPS;
    }
    CopyMethod method = draft->rank == 0 || first->target == draft->element ? GATHER : SCATTER;
    if (draft->rank > 0) take(draft, columns, COLUMNS, 0, 4 * SIDE);
    while (method == GATHER && columns->elements < SIDE / 4 && draft->cut[COLUMNS] < 0) {
        int axis = axis_with(draft, columns->elements * draft->element, COLUMNS);
        if (axis < 0) break;
        take(draft, columns, COLUMNS, axis, SIDE / columns->elements);
    }
    take_fastest(draft, rows, ROWS, SIDE);
    return method;
}

static Index smaller_stride(const CopyAxis *axis) {
    Index source = magnitude(axis->source), target = magnitude(axis->target); /* a turned row has a negative one */
    return source < target ? source : target;
}

/* The loop with the smallest stride becomes the innermost, the last one. */
static void sort_loops(CopyPlan *plan) {
    for (int axis = plan->rank - 2; axis >= 0; axis--)
        for (int k = axis; k < plan->rank - 1; k++) {
            CopyAxis *slow = &plan->loops[k], *fast = &plan->loops[k + 1];
            if (smaller_stride(fast) <= smaller_stride(slow)) break;
            CopyAxis slower = *fast;
            *fast = *slow;
            *slow = slower;
            int *cuts[] = {&plan->cut_by_columns, &plan->cut_by_rows};
            for (int which = 0; which < 2; which++)
                if (*cuts[which] == k) *cuts[which] = k + 1;
                else if (*cuts[which] == k + 1) *cuts[which] = k;
        }
}

static Index *write_tables(Index *place, const Side *side, const Index **source, const Index **target) {
    Index *tables[] = {place, place + side->elements};
    *source = tables[0];
    *target = tables[1];
    Index filled = 1;
    tables[0][0] = tables[1][0] = 0;
    for (int axis = 0; axis < side->count; axis++) {
        for (Index k = filled; k < filled * side->axes[axis].extent; k++) {
            tables[0][k] = tables[0][k - filled] + side->axes[axis].source;
            tables[1][k] = tables[1][k - filled] + side->axes[axis].target;
        }
        filled *= side->axes[axis].extent;
    }
    return place + 2 * side->elements;
}

/* Elements of the last tile along the axis that a side cuts. */
static Index last_elements(const Draft *draft, const Side *side, int kind) {
    Index part = side->count ? side->axes[side->count - 1].extent : 1, remainder = draft->cut_remainder[kind];
    return draft->cut[kind] >= 0 && remainder > 0 ? side->elements / part * remainder : side->elements;
}

static bool has_whole_lines(const CopyPlan *plan, Index element) {
    Index together = plan->tile.columns * element | plan->last_columns * element;
    for (int axis = 0; axis < plan->rank; axis++) together |= plan->loops[axis].target;
    for (Index row = 0; row < plan->tile.rows; row++) together |= plan->tile.row_target[row];
    bool by_lines = plan->method == RUNS || plan->method == SPREAD || (plan->method == TRANSPOSE && element >= 4);
    return by_lines && together % CACHE_LINE == 0;
}

static CopyTileFunction function_for(CopyMethod method, int width) {
    const CopyKernels *kernels = SIMD_CHOICE(copy_kernels);
    const CopyTileFunction *functions[] = {
        NULL,
        kernels->runs,
        kernels->spread,
        kernels->steps,
        kernels->transpose,
        kernels->interleave,
        kernels->deinterleave,
        kernels->gather,
        kernels->scatter,
    };
    return functions[method][width];
}

/* Bytes of a target that is written past the cache. Lines of the target that are written once and in order find room in a
 * cache of one's own; tiles that come back to them do better without it from 4 MiB on (8 MiB: 0.5 to 0.8 of the time). */
static Index past_cache_from(CopyMethod method) {
    if (method == SPREAD) return (Index)cpu_streamed_spread_bytes();
    const bool in_order = method == RUNS || method == STEPS;
    return in_order ? (Index)cpu_streamed_copy_bytes() : MANY_TILES;
}

static CopyPlan *finish(const Draft *draft, CopyMethod method, const Side *columns, const Side *rows, Index size,
                        bool handed) {
    bool tabled = method > STEPS; /* of long runs and steps, no column is ever looked up */
    Side none = {.elements = 1};
    size_t entries = (size_t)(2 * (tabled ? columns->elements : 1) + 3 * rows->elements);
    CopyPlan *plan = malloc(sizeof *plan + entries * sizeof(Index));
    if (plan == NULL) return NULL;
    plan->method = method;
    plan->width = __builtin_ctzll((unsigned long long)draft->element);
    plan->bytes = size;
    plan->large = size >= past_cache_from(method);
    plan->source_start = draft->source_start;
    plan->target_start = draft->target_start;
    Index *place =
        write_tables(plan->tables, tabled ? columns : &none, &plan->tile.column_source, &plan->tile.column_target);
    place = write_tables(place, rows, &plan->tile.row_source, &plan->tile.row_target);
    plan->tile.columns = columns->elements;
    plan->tile.column_step = columns->count > 0 ? columns->axes[0].source / draft->element : 0;
    plan->tile.rows = rows->elements;
    plan->last_columns = last_elements(draft, columns, COLUMNS);
    plan->last_rows = last_elements(draft, rows, ROWS);
    plan->rank = draft->rank;
    plan->cut_by_columns = draft->cut[COLUMNS] < 0 ? -1 : plan->rank - 1 - draft->cut[COLUMNS];
    plan->cut_by_rows = draft->cut[ROWS] < 0 ? -1 : plan->rank - 1 - draft->cut[ROWS];
    plan->tiles = 1;
    for (int axis = 0; axis < plan->rank; axis++) { /* a draft has the innermost one first */
        plan->loops[plan->rank - 1 - axis] = draft->axes[axis];
        plan->tiles *= draft->axes[axis].extent;
    }
    sort_loops(plan);
    Index tile_bytes = columns->elements * rows->elements * draft->element;
    plan->grain = WORTH_A_THREAD / tile_bytes + 1;
    plan->whole_lines = has_whole_lines(plan, draft->element);
    plan->long_runs = method == RUNS && columns->elements * draft->element >= 2 * LEAST_GROUP;
    plan->copy = function_for(method, plan->width);
    plan->kernels = SIMD_CHOICE(copy_kernels);
    plan->row_buffer = NULL;
    const bool staged = plan->large && method != SPREAD && method != SCATTER;
    if (handed || staged) copy_plan_buffer(plan, place, handed ? 0 : LEAST_GROUP);
    return plan;
}

static CopyPlan *plan_with(Draft draft, Sides bytes, Index size, bool handed) {
    Side columns = {.elements = 1}, rows = {.elements = 1};
    CopyMethod method = choose(&draft, &columns, &rows, bytes);
    return finish(&draft, method, &columns, &rows, size, handed);
}

static CopyPlan *planned(const StridedLayout *source, const StridedLayout *target, const Sides *handed) {
    Draft draft = {.element = source->item_bytes, .cut = {-1, -1}};
    if (source->reach.size == 0) return calloc(1, sizeof(CopyPlan)); /* its method is NOTHING */
    const Index element = source->item_bytes, size = source->reach.size * element;
    for (int axis = 0; axis < source->rank; axis++) {
        if (source->extents[axis] == 1) continue;
        draft.axes[draft.rank++] =
            (CopyAxis){source->extents[axis], source->strides[axis] * element, target->strides[axis] * element};
    }
    simplify(&draft);
    widen(&draft);
    if (handed != NULL) return plan_with(draft, *handed, size, true);
    if (size < MANY_TILES) return plan_with(draft, IN_CACHE, size, false);
    CopyPlan *plan = plan_with(draft, PAST_CACHE, size, false);
    if (plan == NULL || (plan->large && (plan->method != TRANSPOSE || plan->whole_lines))) return plan;
    const Sides sides = plan->large ? THROUGH_BUFFER : IN_CACHE;
    copy_plan_free(plan);
    return plan_with(draft, sides, size, false);
}

CopyPlan *copy_plan(const StridedLayout *source, const StridedLayout *target) { return planned(source, target, NULL); }

CopyPlan *copy_plan_handed(const StridedLayout *source, const StridedLayout *target) {
    return planned(source, target, &HANDED);
}

CopyPlan *copy_plan_given(const StridedLayout *source, const StridedLayout *target) {
    CopyPlan *plan = planned(source, target, &GIVEN);
    if (plan == NULL) return NULL;
    if (plan->method != TRANSPOSE && plan->method != INTERLEAVE) {
        copy_plan_free(plan);
        return NULL;
    }
    plan->column_pitch = ((plan->tile.rows << plan->width) / CACHE_LINE + 2) * CACHE_LINE; /* not a power of two */
    plan->buffer_bytes = plan->tile.columns * (plan->column_pitch + (Index)sizeof(Index)) + CACHE_LINE;
    return plan;
}
