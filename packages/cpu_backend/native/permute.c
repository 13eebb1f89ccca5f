/* Runs the plan of a strided copy: the loops around the tile, shared among threads. */
#include "permute_plan.h"
#include "threads.h"

#include <stdlib.h>

enum { STREAM_BYTES = 4 << 20, LONG_BYTES = 1 << 17 };

typedef struct {
    const CopyPlan *plan;
    const char *source;
    char *target;
    bool stream;
} Job;

static void copy_tiles(void *context, Index begin, Index end) {
    const Job *job = context;
    const CopyPlan *plan = job->plan;
    const int rank = plan->rank;
    CopyTile tile = plan->tile;
    Index place[MAX_RANK + 2];
    const char *source = job->source;
    char *target = job->target;
    Index rest = begin;
    for (int axis = 0; axis < rank; axis++) {
        place[axis] = rest % plan->loops[axis].extent;
        rest /= plan->loops[axis].extent;
        source += place[axis] * plan->loops[axis].source;
        target += place[axis] * plan->loops[axis].target;
    }
    for (Index left = end - begin;;) {
        if (plan->cut_by_columns >= 0) {
            bool last = place[plan->cut_by_columns] == plan->loops[plan->cut_by_columns].extent - 1;
            tile.columns = last ? plan->last_columns : plan->tile.columns;
        }
        if (plan->cut_by_rows >= 0) {
            bool last = place[plan->cut_by_rows] == plan->loops[plan->cut_by_rows].extent - 1;
            tile.rows = last ? plan->last_rows : plan->tile.rows;
        }
        plan->copy(&tile, source, target, job->stream);
        if (--left == 0) break;
        for (int axis = 0; axis < rank; axis++) {
            const CopyAxis *loop = &plan->loops[axis];
            source += loop->source;
            target += loop->target;
            if (++place[axis] < loop->extent) break;
            source -= loop->extent * loop->source;
            target -= loop->extent * loop->target;
            place[axis] = 0;
        }
    }
    if (job->stream) plan->finish_stream();
}

void copy_run(const CopyPlan *plan, const void *source, void *target) {
    if (plan->method == NOTHING) return;
    Job job = {plan, (const char *)source + plan->source_start, (char *)target + plan->target_start, false};
    job.stream = plan->bytes >= STREAM_BYTES && plan->whole_lines && (uintptr_t)job.target % CACHE_LINE == 0;
    if (plan->bytes < LONG_BYTES) copy_tiles(&job, 0, plan->tiles);
    else parallel_for(plan->tiles, plan->grain, copy_tiles, &job);
}

bool copy_takes_long(const CopyPlan *plan) { return plan->bytes >= LONG_BYTES; }

const char *copy_method(const CopyPlan *plan) {
    static const char *const NAMES[] = {"nothing", "runs", "spread", "transpose", "gather", "scatter"};
    return NAMES[plan->method];
}

void copy_plan_free(CopyPlan *plan) { free(plan); }
