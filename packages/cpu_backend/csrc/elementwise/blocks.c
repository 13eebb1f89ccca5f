/* Cuts results into blocks; see blocks.h for the two ways. */
#include "elementwise/blocks.h"
#include "core/strided_walk.h"

enum { TILE_LINE_BYTES = 128, SHORTEST_TILE_ROW = 16, LONGEST_TILE_ROW = 256 };

/* Whether stepping along axis is, for every operand, the same as running through all of the next one. */
static bool fusible(const BlockPlan *plan, int axis, int next) {
    for (int k = 0; k < plan->operand_count; k++) {
        const Index *strides = plan->operands[k].strides;
        if (strides[axis] != strides[next] * plan->shape[next]) return false;
    }
    return true;
}

static void move_axis(BlockPlan *plan, int to, int from, Index extent) {
    plan->shape[to] = extent;
    for (int k = 0; k < plan->operand_count; k++) plan->operands[k].strides[to] = plan->operands[k].strides[from];
}

/* Leaves out axes of extent 1 and fuses neighbours; one axis at least remains. */
static void fuse(BlockPlan *plan) {
    int kept = 0;
    for (int axis = 0; axis < plan->rank; axis++) {
        if (plan->shape[axis] == 1) continue;
        if (kept > 0 && fusible(plan, kept - 1, axis))
            move_axis(plan, kept - 1, axis, plan->shape[kept - 1] * plan->shape[axis]);
        else move_axis(plan, kept++, axis, plan->shape[axis]);
    }
    if (kept == 0) {
        plan->shape[0] = 1;
        for (int k = 0; k < plan->operand_count; k++) plan->operands[k].strides[0] = 0;
        kept = 1;
    }
    plan->rank = kept;
    plan->result_strides[kept - 1] = 1;
    for (int axis = kept - 2; axis >= 0; axis--)
        plan->result_strides[axis] = plan->result_strides[axis + 1] * plan->shape[axis + 1];
}

/* The axis along which a permuted operand is fastest, where tiles pay; -1 where there is none. */
static int tile_axis(const BlockPlan *plan) {
    int inner = plan->rank - 1;
    if (plan->shape[inner] < SHORTEST_TILE_ROW) return -1;
    for (int k = 0; k < plan->operand_count; k++) {
        const Index *strides = plan->operands[k].strides;
        if (magnitude(strides[inner]) <= 1) continue;
        for (int axis = 0; axis < inner; axis++)
            if (magnitude(strides[axis]) == 1 && plan->shape[axis] > 1) return axis;
    }
    return -1;
}

/* Cuts an extent into pieces of about equal size that are at most so long, and whole cache lines where possible. */
static Index even_piece(Index extent, Index most) {
    if (most < 1) most = 1;
    Index count = pieces(extent, most);
    Index piece = count > 0 ? pieces(extent, count) : 1;
    Index lines = (piece + 15) / 16 * 16;
    return lines <= most ? lines : piece;
}

static int smallest_item(const BlockPlan *plan) {
    int bytes = 16;
    for (int k = 0; k < plan->operand_count; k++)
        if (plan->operands[k].item_bytes < bytes) bytes = plan->operands[k].item_bytes;
    return bytes;
}

static void cut_into_tiles(BlockPlan *plan, Index most_elements) {
    int inner = plan->rank - 1, across = plan->row_axis, place = 0;
    Index rows = smaller(TILE_LINE_BYTES / smallest_item(plan), most_elements / SHORTEST_TILE_ROW);
    for (int axis = 0; axis < plan->rank; axis++) {
        plan->steps[axis] = 1;
        if (axis != across) plan->order[place++] = axis;
    }
    plan->order[place] = across;
    plan->steps[across] = smaller(plan->shape[across], rows);
    Index columns = smaller(most_elements / plan->steps[across], LONGEST_TILE_ROW);
    plan->steps[inner] = columns >= plan->shape[inner] ? plan->shape[inner] : columns / 16 * 16;
    plan->block_elements = plan->steps[across] * plan->steps[inner];
}

void blocks_cut_tiles(BlockPlan *plan, Index rows, Index columns) {
    const int inner = plan->rank - 1, across = plan->row_axis;
    plan->block_count = 1;
    for (int axis = 0; axis < plan->rank; axis++) {
        plan->order[axis] = axis;
        plan->steps[axis] = axis == across  ? smaller(plan->shape[axis], rows)
                            : axis == inner ? smaller(plan->shape[axis], columns)
                                            : 1;
        plan->counts[axis] = pieces(plan->shape[axis], plan->steps[axis]);
        plan->block_count *= plan->counts[axis];
    }
    plan->block_elements = plan->steps[across] * plan->steps[inner];
}

static void cut_into_runs(BlockPlan *plan, Index most_elements, Index alone) {
    int axis = plan->rank - 1;
    Index inside = 1;
    /* a longer axis ends the block; a short one is taken whole, and the next one too */
    while (axis > 0 && plan->shape[axis] < alone && inside * plan->shape[axis] * 2 <= most_elements)
        inside *= plan->shape[axis--];
    for (int k = 0; k < plan->rank; k++) {
        plan->order[k] = k;
        plan->steps[k] = k < axis ? 1 : plan->shape[k];
    }
    Index most = most_elements / inside;
    plan->steps[axis] = plan->rank == 1 ? smaller(plan->shape[0], most) : even_piece(plan->shape[axis], most);
    plan->first_axis = axis;
    plan->block_elements = inside * plan->steps[axis];
}

static Access access_of(const BlockPlan *plan, const BlockOperand *operand) {
    bool constant = true, side_by_side = true;
    for (int axis = 0; axis < plan->rank; axis++) constant = constant && operand->strides[axis] == 0;
    if (constant) return ONE_NUMBER;
    for (int axis = plan->row_axis >= 0 ? plan->rank - 1 : plan->first_axis; axis < plan->rank; axis++)
        side_by_side = side_by_side && operand->strides[axis] == plan->result_strides[axis];
    return side_by_side ? IN_PLACE : COPIED;
}

void blocks_plan(BlockPlan *plan, Index longest_run, Index alone, Index largest_tile) {
    plan->block_count = 0;
    plan->block_elements = 1;
    plan->first_axis = 0;
    plan->row_axis = -1;
    for (int axis = 0; axis < plan->rank; axis++)
        if (plan->shape[axis] == 0) return;
    fuse(plan);
    plan->row_axis = tile_axis(plan);
    if (plan->row_axis >= 0) cut_into_tiles(plan, largest_tile);
    else cut_into_runs(plan, longest_run, alone);
    plan->block_count = 1;
    for (int place = 0; place < plan->rank; place++) {
        plan->counts[place] = pieces(plan->shape[plan->order[place]], plan->steps[plan->order[place]]);
        plan->block_count *= plan->counts[place];
    }
    for (int k = 0; k < plan->operand_count; k++) plan->operands[k].access = access_of(plan, &plan->operands[k]);
}

Index blocks_extent(const BlockPlan *plan, const BlockWalk *walk, int axis) {
    return smaller(plan->steps[axis], plan->shape[axis] - walk->index[axis]);
}

static void measure(const BlockPlan *plan, BlockWalk *walk) {
    int inner = plan->rank - 1;
    if (plan->row_axis >= 0) {
        walk->rows = blocks_extent(plan, walk, plan->row_axis);
        walk->columns = blocks_extent(plan, walk, inner);
        return;
    }
    walk->rows = 1;
    walk->columns = blocks_extent(plan, walk, plan->first_axis) * plan->result_strides[plan->first_axis];
}

static void move(const BlockPlan *plan, BlockWalk *walk, int axis, Index by) {
    walk->index[axis] += by;
    walk->result_offset += by * plan->result_strides[axis];
    for (int k = 0; k < plan->operand_count; k++) walk->offsets[k] += by * plan->operands[k].strides[axis];
}

void blocks_start(const BlockPlan *plan, BlockWalk *walk, Index block) {
    walk->result_offset = 0;
    for (int k = 0; k < plan->operand_count; k++) walk->offsets[k] = 0;
    odometer_start(walk->block, plan->rank, plan->counts, 1, block);
    for (int place = 0; place < plan->rank; place++) {
        const int axis = plan->order[place];
        walk->index[axis] = 0;
        move(plan, walk, axis, walk->block[place] * plan->steps[axis]);
    }
    measure(plan, walk);
}

void blocks_advance(const BlockPlan *plan, BlockWalk *walk) {
    const int grown = odometer_step(walk->block, plan->rank, plan->counts, 1);
    for (int place = plan->rank - 1; place > grown; place--)
        move(plan, walk, plan->order[place], -walk->index[plan->order[place]]);
    if (grown >= 0) move(plan, walk, plan->order[grown], plan->steps[plan->order[grown]]);
    measure(plan, walk);
}

void blocks_copy(const BlockKernels *kernels, const BlockPlan *plan, const BlockWalk *walk, int which, void *target,
                 const char *first) {
    const BlockOperand *operand = &plan->operands[which];
    const Index *strides = operand->strides;
    int item = operand->item_bytes, inner = plan->rank - 1;
    CopyPlane copy = kernels->copy[__builtin_ctz((unsigned)item)];
    const char *source = first + walk->offsets[which] * item;
    int outer = plan->row_axis;
    if (outer < 0 && plan->first_axis < inner) outer = inner - 1;
    if (outer < 0) {
        copy(target, source, 1, walk->columns, 0, strides[inner]);
        return;
    }
    Index rows = blocks_extent(plan, walk, outer), columns = blocks_extent(plan, walk, inner);
    if (plan->row_axis >= 0 || plan->first_axis == outer) {
        copy(target, source, rows, columns, strides[outer], strides[inner]);
        return;
    }
    /* more than two axes: one plane after the other */
    Index axes[2 * MAX_RANK], planes = 1;
    const int rank = outer - plan->first_axis;
    for (int place = 0; place < rank; place++) {
        axes[2 * place] = blocks_extent(plan, walk, plan->first_axis + place);
        axes[2 * place + 1] = strides[plan->first_axis + place] * item;
        planes *= axes[2 * place];
    }
    StridedWalk plane;
    strided_walk_start(&plane, rank, axes, 1, 0);
    for (char *to = target; planes > 0; planes--, to += rows * columns * item) {
        copy(to, source + plane.offset[0], rows, columns, strides[outer], strides[inner]);
        strided_walk_step(&plane, rank, axes, 1);
    }
}
