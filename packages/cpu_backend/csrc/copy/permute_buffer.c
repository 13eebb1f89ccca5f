/* The buffer through which the rows of a tile pass, in groups of those that are neighbours in the target: so that they are
 * written past the cache in whole lines, or given to a function run by run. */
#include "copy/permute_plan.h"

/* Rows of the tile that follow each other in the target without a gap. */
static Index rows_together(const CopyPlan *plan) {
    if (plan->cut_by_columns >= 0) return 1;
    Index together = 1, row_bytes = plan->tile.columns << plan->width;
    while (together < plan->tile.rows && plan->tile.row_target[together] == together * row_bytes) together++;
    return plan->tile.rows % together == 0 ? together : 1;
}

void copy_plan_buffer(CopyPlan *plan, Index *table, Index least) {
    Index row_bytes = plan->tile.columns << plan->width;
    plan->group = rows_together(plan);
    if (plan->group * row_bytes < least) return;
    plan->group_pitch = (plan->group * row_bytes / CACHE_LINE + 2) * CACHE_LINE; /* not a power of two */
    for (Index row = 0; row < plan->tile.rows; row++)
        table[row] = row / plan->group * plan->group_pitch + row % plan->group * row_bytes;
    plan->row_buffer = table;
    plan->buffer_bytes = (plan->tile.rows / plan->group + 1) * plan->group_pitch;
}
