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

#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
    const CopyPlan *plan;
    const char *source;
    char *target;   /* its first logical element */
    CopyTaker take; /* gets the elements in its place; or NULL */
    CopyGiver give; /* writes the elements in the place of the source; or NULL */
    void *context;  /* of either */
    bool stream, staged;
    atomic_bool *out_of_memory;
} Job;

/* One group of rows of a tile, from a buffer to where it belongs. */
static void put_group(const Job *job, const char *elements, Index place, Index bytes) {
    if (job->take != NULL) job->take(job->context, elements, place, bytes);
    else job->plan->kernels->stream_run(elements, job->target + place, bytes);
}

static void copy_staged(const Job *job, const CopyTile *tile, const char *source, Index place, char *buffer) {
    const CopyPlan *plan = job->plan;
    const Index row_bytes = tile->columns << plan->width;
    for (Index row = 0; plan->method == RUNS && row < tile->rows; row++)
        put_group(job, source + tile->row_source[row], place + tile->row_target[row], row_bytes);
    if (plan->method == RUNS) return; /* where they lie */
    CopyTile inside = *tile;
    inside.row_target = plan->row_buffer;
    plan->copy(&inside, source, buffer, false);
    for (Index row = 0, from = 0; row < tile->rows; row += plan->group, from += plan->group_pitch) {
        Index rows = tile->rows - row < plan->group ? tile->rows - row : plan->group;
        put_group(job, buffer + from, place + tile->row_target[row], rows * row_bytes);
    }
}

/* A tile of which each column's elements, which lie side by side in the source, are written to a buffer first. */
static void copy_given(const Job *job, const CopyTile *tile, Index from, char *target, char *buffer) {
    const CopyPlan *plan = job->plan;
    const Index run = tile->rows << plan->width;
    Index *columns = (Index *)(void *)buffer;
    char *elements = buffer + rounded_up(plan->tile.columns * (Index)sizeof *columns, CACHE_LINE);
    for (Index column = 0; column < tile->columns; column++) {
        columns[column] = column * plan->column_pitch;
        job->give(job->context, from + tile->column_source[column], elements + columns[column], run);
    }
    CopyTile inside = *tile;
    inside.column_source = columns;
    plan->copy(&inside, elements, target, job->stream);
}

static void copy_tiles(void *context, Index begin, Index end) {
    const Job *job = context;
    const CopyPlan *plan = job->plan;
    const Index *axes = (const Index *)plan->loops;
    CopyTile tile = plan->tile;
    StridedWalk walk;
    char *buffer = job->staged ? block_scratch_acquire((size_t)plan->buffer_bytes) : NULL;
    if (job->out_of_memory != NULL && buffer == NULL) {
        atomic_store(job->out_of_memory, true);
        return;
    }
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
        const Index from = plan->source_start + walk.offset[0], place = plan->target_start + walk.offset[1];
        if (job->give != NULL) copy_given(job, &tile, from, job->target + place, buffer);
        else if (buffer != NULL) copy_staged(job, &tile, job->source + from, place, buffer);
        else plan->copy(&tile, job->source + from, job->target + place, job->stream);
        if (--left == 0) break;
        strided_walk_step(&walk, plan->rank, axes, 2);
    }
    if (job->stream || buffer != NULL) plan->kernels->finish_stream();
    if (buffer != NULL) block_scratch_release(buffer, (size_t)plan->buffer_bytes);
}

static bool run_tiles(Job *job) {
    if (job->plan->bytes < LONG_COPY) copy_tiles(job, 0, job->plan->tiles);
    else parallel_for(job->plan->tiles, job->plan->grain, copy_tiles, job);
    return job->out_of_memory == NULL || !atomic_load(job->out_of_memory);
}

void copy_run(const CopyPlan *plan, const void *source, void *target) {
    if (plan->method == NOTHING) return;
    Job job = {.plan = plan, .source = source, .target = target};
    bool by_lines = plan->whole_lines && (uintptr_t)(job.target + plan->target_start) % CACHE_LINE == 0;
    job.stream = plan->large && (by_lines || plan->long_runs);
    job.staged = plan->row_buffer != NULL && !job.stream;
    (void)run_tiles(&job);
}

bool copy_hand_over(const CopyPlan *plan, const void *source, CopyTaker take, void *context) {
    if (plan->method == NOTHING) return true;
    atomic_bool out_of_memory = false;
    Job job = {.plan = plan, .source = source, .take = take, .context = context, .staged = true};
    job.out_of_memory = &out_of_memory;
    return run_tiles(&job);
}

bool copy_given_elements(const CopyPlan *plan, CopyGiver give, void *context, void *target, bool stream) {
    if (plan->method == NOTHING) return true;
    atomic_bool out_of_memory = false;
    Job job = {.plan = plan, .target = target, .give = give, .context = context, .staged = true};
    job.stream = stream && plan->whole_lines && (uintptr_t)(job.target + plan->target_start) % CACHE_LINE == 0;
    job.out_of_memory = &out_of_memory;
    return run_tiles(&job);
}

bool copy_takes_long(const CopyPlan *plan) { return plan->bytes >= LONG_COPY; }

const char *copy_method(const CopyPlan *plan) {
    static const char *const NAMES[] = {"nothing",    "runs",         "spread", "steps",  "transpose",
                                        "interleave", "deinterleave", "gather", "scatter"};
    return NAMES[plan->method];
}

void copy_plan_free(CopyPlan *plan) { free(plan); }
