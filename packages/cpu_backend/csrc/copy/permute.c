/* Runs the plan of a strided copy: the loops around the tile, shared among threads.
 *
 * A large target is written past the cache (streamed), since its lines would otherwise be read before they are
 * written. Only whole lines can be: where tiles do not end at lines, each is copied to a small staging buffer, and from
 * there its rows, or groups of neighbouring ones, are streamed, all but the lines in part at their ends.
 */
#include "copy/permute_plan.h"
#include "core/caching_allocator.h"
#include "core/strided_walk.h"
#include "core/threads.h"

#include <stdlib.h>

typedef struct {
    const CopyPlan *plan;
    const char *source;
    char *target;
    bool stream, staged;
} Job;

static void copy_staged(const CopyPlan *plan, const CopyTile *tile, const char *source, char *target, char *buffer) {
    CopyTile inside = *tile;
    inside.row_target = plan->row_buffer;
    plan->copy(&inside, source, buffer, false);
    const Index row_bytes = tile->columns << plan->width;
    for (Index row = 0, place = 0; row < tile->rows; row += plan->group, place += plan->group_pitch) {
        Index rows = tile->rows - row < plan->group ? tile->rows - row : plan->group;
        plan->kernels->stream_run(buffer + place, target + tile->row_target[row], rows * row_bytes);
    }
}

static void copy_tiles(void *context, Index begin, Index end) {
    const Job *job = context;
    const CopyPlan *plan = job->plan;
    const Index *axes = (const Index *)plan->loops;
    CopyTile tile = plan->tile;
    StridedWalk walk;
    char *buffer = job->staged ? scratch_acquire((size_t)plan->buffer_bytes) : NULL;
    strided_walk_start(&walk, plan->rank, axes, 2, begin);
    for (Index left = end - begin;;) {
        if (plan->cut_by_columns >= 0) {
            bool last = walk.index[plan->cut_by_columns] == plan->loops[plan->cut_by_columns].extent - 1;
            tile.columns = last ? plan->last_columns : plan->tile.columns;
        }
        if (plan->cut_by_rows >= 0) {
            bool last = walk.index[plan->cut_by_rows] == plan->loops[plan->cut_by_rows].extent - 1;
            tile.rows = last ? plan->last_rows : plan->tile.rows;
        }
        const char *source = job->source + walk.offset[0];
        char *target = job->target + walk.offset[1];
        if (buffer != NULL) copy_staged(plan, &tile, source, target, buffer);
        else plan->copy(&tile, source, target, job->stream);
        if (--left == 0) break;
        strided_walk_step(&walk, plan->rank, axes, 2);
    }
    if (job->stream || buffer != NULL) plan->kernels->finish_stream();
    if (buffer != NULL) scratch_release(buffer, (size_t)plan->buffer_bytes);
}

void copy_run(const CopyPlan *plan, const void *source, void *target) {
    if (plan->method == NOTHING) return;
    Job job = {plan, (const char *)source + plan->source_start, (char *)target + plan->target_start, false, false};
    bool by_lines = plan->whole_lines && (uintptr_t)job.target % CACHE_LINE == 0;
    job.stream = plan->large && (by_lines || plan->long_runs);
    job.staged = plan->row_buffer != NULL && !job.stream;
    if (plan->bytes < LONG_COPY) copy_tiles(&job, 0, plan->tiles);
    else parallel_for(plan->tiles, plan->grain, copy_tiles, &job);
}

bool copy_takes_long(const CopyPlan *plan) { return plan->bytes >= LONG_COPY; }

const char *copy_method(const CopyPlan *plan) {
    static const char *const NAMES[] = {"nothing",    "runs",         "spread", "steps",  "transpose",
                                        "interleave", "deinterleave", "gather", "scatter"};
    return NAMES[plan->method];
}

void copy_plan_free(CopyPlan *plan) { free(plan); }
