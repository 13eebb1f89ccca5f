/* Places for large results: offsets in one region of memory, chosen when the sequence is bound.
 *
 * Which buffers a call takes, and when it gives each of them back, is known beforehand. Taken as they come, they leave
 * gaps that the next large one does not fit, so that memory is mapped anew in every call; with places chosen for all of
 * them, the largest first, each in the smallest gap that lasts as long as it does, a call needs hardly more than lies
 * there at one time, and finds the same memory as the call before. It is not held: between two buffers their place is
 * free for workspaces, and for everybody (allocator_reserve() in core/caching_allocator.h).
 *
 * A result that the caller gets would break the region for as long as he keeps it. So it has a place only where leaving
 * it out would take more memory than the allocator may keep beside what is in use. While he keeps the one before, calls
 * take what is left of two regions as it comes, rather than a third one.
 */
#include "sequence/sequence_draft.h"

#include "core/caching_allocator.h"
#include "core/spans.h"

#include <limits.h>
#include <stdlib.h>

enum { MOST_TENANTS = 4096 };

typedef struct {
    int step, begin, end; /* there from one step to another, both included; INT_MAX for results of the sequence */
    Index bytes, place;   /* whole grains; -1 for no place yet */
} Tenant;

static Index larger(Index a, Index b) { return a > b ? a : b; }

static int by_size(const void *a, const void *b) {
    const Tenant *first = a, *second = b;
    if (first->bytes != second->bytes) return first->bytes > second->bytes ? -1 : 1;
    return first->step - second->step;
}

/* Every buffer and large array, largest first. Where two branches run side by side, all that is there during a part of
 * them is there during all of them. `tenant_of` has room for all owners. */
static int find_tenants(const Sequence *sequence, Tenant *tenants, int *tenant_of) {
    int count = 0;
    for (int owner = 0; owner < sequence->owner_count; owner++) tenant_of[owner] = -1;
    for (int s = 0; s < sequence->stretch_count; s++) {
        const Stretch *stretch = sequence->stretches + s;
        const bool is_fork = stretch->middle < stretch->end;
        for (int i = stretch->begin; i < stretch->end; i++) {
            const Step *step = sequence->steps + i;
            const Index bytes = step->compute != NULL ? (Index)step->form->bytes : 0;
            const Index least = step->home == IN_BUFFER ? ALLOCATOR_SMALLEST : ALLOCATOR_LARGE;
            if ((step->home != IN_BUFFER && step->home != IN_ARRAY) || bytes < least) continue;
            const Index grains = (Index)spans_rounded((size_t)bytes);
            tenant_of[step->owner] = count;
            tenants[count++] = (Tenant){i, is_fork ? stretch->begin : i, INT_MAX, grains, -1};
        }
        for (int i = stretch->begin; i < stretch->end; i++)
            for (int k = 0; k < sequence->steps[i].dropped_count; k++) {
                const int tenant = tenant_of[sequence->steps[i].dropped[k]];
                if (tenant >= 0) tenants[tenant].end = is_fork ? stretch->end - 1 : i;
            }
    }
    qsort(tenants, (size_t)count, sizeof *tenants, by_size);
    return count;
}

/* Gives places to all that are dropped, and to results of so many bytes; answers the bytes of the region. `order` has
 * room for all tenants: those with a place, by place. */
static Index pack(Tenant *tenants, int count, Index result_bytes, int *order) {
    Index most = 0;
    int placed = 0;
    for (int t = 0; t < count; t++) {
        Tenant *tenant = tenants + t;
        tenant->place = -1;
        if (tenant->end == INT_MAX && tenant->bytes < result_bytes) continue;
        Index cursor = 0, best = -1, best_bytes = 0;
        for (int k = 0; k < placed; k++) {
            const Tenant *other = tenants + order[k];
            if (other->end < tenant->begin || tenant->end < other->begin) continue;
            const Index gap = other->place - cursor;
            if (gap >= tenant->bytes && (best < 0 || gap < best_bytes)) {
                best = cursor;
                best_bytes = gap;
            }
            cursor = larger(cursor, other->place + other->bytes);
        }
        tenant->place = best < 0 ? cursor : best;
        most = larger(most, tenant->place + tenant->bytes);
        int k = placed++;
        for (; k > 0 && tenants[order[k - 1]].place > tenant->place; k--) order[k] = order[k - 1];
        order[k] = t;
    }
    return most;
}

bool sequence_place(Sequence *sequence) {
    const size_t room = (size_t)sequence->kept_count + 1;
    Tenant *tenants = calloc(room, sizeof *tenants);
    int *order = calloc(room, sizeof *order); /* at first: by owner */
    const bool good = tenants != NULL && order != NULL;
    const int count = good ? find_tenants(sequence, tenants, order) : 0;
    if (!good) PyErr_NoMemory();
    if (count > 1 && count <= MOST_TENANTS) {
        const Index without = pack(tenants, count, INT64_MAX, order);
        const Index bytes = pack(tenants, count, ALLOCATOR_SPARE / 2 + without / ALLOCATOR_SPARE_SHARE, order);
        if (bytes >= ALLOCATOR_LARGE) {
            sequence->region_bytes = (size_t)bytes;
            sequence->largest_bytes = (size_t)tenants[0].bytes;
            for (int t = 0; t < count; t++) sequence->steps[tenants[t].step].place = tenants[t].place;
        }
    }
    free(tenants);
    free(order);
    return good;
}
