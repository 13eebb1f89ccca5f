/* How the elementwise machine walks over its operands: every element once, and each with the operands' own. */
#include "elementwise/blocks.h"
#include "fuzz.h"

typedef struct {
    int rank, count;
    Index extents[MAX_RANK], size;
    Layout layouts[MOST_OPERANDS];
    char *memory[MOST_OPERANDS];
    char *expected[MOST_OPERANDS], *found[MOST_OPERANDS]; /* in the result's order */
} Example;

static void read_block(const Example *example, const BlockPlan *plan, const BlockWalk *walk, int k) {
    const BlockOperand *operand = &plan->operands[k];
    const Index item = operand->item_bytes;
    const char *first = example->memory[k] + example->layouts[k].first * item;
    const char *from = first + walk->offsets[k] * item;
    Index row_step = operand->access == IN_PLACE && plan->row_axis >= 0 ? operand->strides[plan->row_axis] * item : 0;
    if (operand->access == COPIED) {
        char *aside = room_for(walk->rows * walk->columns * item);
        blocks_copy(SIMD_CHOICE(block_kernels), plan, walk, k, aside, first);
        from = aside;
        row_step = walk->columns * item;
    }
    for (Index row = 0; row < walk->rows; row++) {
        Index place = walk->result_offset + (plan->row_axis < 0 ? 0 : row * plan->result_strides[plan->row_axis]);
        CHECK(place >= 0 && place + walk->columns <= example->size);
        char *to = example->found[k] + place * item;
        for (Index column = 0; column < walk->columns; column++)
            memcpy(to + column * item, from + row * row_step + (operand->access == ONE_NUMBER ? 0 : column * item),
                   (size_t)item);
    }
}

void fuzz_blocks(void) {
    Example example = {.rank = (int)draw(1, 5), .count = (int)draw(1, 3), .size = 1};
    BlockPlan plan = {.rank = example.rank, .operand_count = example.count};
    for (int axis = 0; axis < example.rank; axis++) {
        example.extents[axis] = plan.shape[axis] = draw(1, one_in(4) ? 60 : 12);
        if (example.size * plan.shape[axis] > 1 << 14) example.extents[axis] = plan.shape[axis] = 1;
        example.size *= plan.shape[axis];
    }
    for (int k = 0; k < example.count; k++) {
        static const int ITEMS[] = {1, 4, 8, 16};
        const int item = plan.operands[k].item_bytes = ITEMS[draw(0, 3)];
        example.layouts[k] = layout_drawn(example.rank, example.extents, true);
        memcpy(plan.operands[k].strides, example.layouts[k].strides, sizeof example.layouts[k].strides);
        example.memory[k] = bytes_drawn(example.layouts[k].span * item);
        example.expected[k] = room_for(example.size * item);
        example.found[k] = bytes_drawn(example.size * item);
        Index index[MAX_RANK] = {0}, place = 0;
        do {
            const Layout *layout = &example.layouts[k];
            const Index from = layout->first + place_of(example.rank, layout->strides, index);
            memcpy(example.expected[k] + place++ * item, example.memory[k] + from * item, (size_t)item);
        } while (next_index(example.rank, example.extents, index));
    }
    const Index longest = draw(1, 8) * 128;
    blocks_plan(&plan, longest, draw(1, 20), longest);
    BlockWalk walk;
    Index visited = 0;
    for (Index block = 0; block < plan.block_count; block++) {
        if (block == 0 || one_in(4)) blocks_start(&plan, &walk, block);
        else blocks_advance(&plan, &walk);
        CHECK(walk.rows * walk.columns <= plan.block_elements);
        visited += walk.rows * walk.columns;
        if (plan.block_count < 60)
            for (int k = 0; k < example.count; k++) read_block(&example, &plan, &walk, k);
    }
    CHECK(visited == example.size);
    for (int k = 0; k < example.count && plan.block_count < 60; k++)
        CHECK(memcmp(example.found[k], example.expected[k], (size_t)(example.size * plan.operands[k].item_bytes)) == 0);
}
