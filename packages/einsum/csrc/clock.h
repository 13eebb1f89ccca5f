/* How long a search may go on: by count, by the clock, and until it is interrupted. */
#ifndef SEARCH_CLOCK_H
#define SEARCH_CLOCK_H

#include "common.h"
#include <stdatomic.h>

typedef struct {
    double begun, deadline;          /* INFINITY where only work counts */
    bool (*interrupted)(void *data); /* asked by the calling thread now and then */
    void *data;
    double asked;
    atomic_bool stopped;
} Clock;

/* What one task may take. */
typedef struct {
    Clock *clock;
    int64_t work, allowed; /* done, and to be done; INT64_MAX where only time counts */
    double begun, until;
    bool asks; /* whether it runs in the calling thread */
} Leash;

/* The part of the task that is done: 1 or more, it is over. */
static inline double leash_progress(Leash *leash) {
    Clock *clock = leash->clock;
    double now = seconds_now();
    if (leash->asks && now > clock->asked + 0.02) {
        clock->asked = now;
        if (clock->interrupted(clock->data)) atomic_store(&clock->stopped, true);
    }
    if (now > clock->deadline || atomic_load_explicit(&clock->stopped, memory_order_relaxed)) return 1;
    double by_work = leash->allowed > 0 ? (double)leash->work / (double)leash->allowed : 1;
    double by_time = leash->until < INFINITY ? (now - leash->begun) / fmax(leash->until - leash->begun, 1e-9) : 0;
    return fmax(by_work, by_time);
}

static inline bool clock_over(Clock *clock) {
    return atomic_load(&clock->stopped) || (clock->deadline < INFINITY && seconds_now() > clock->deadline);
}

/* A part of what is left of a leash. */
static inline Leash leash_part(const Leash *leash, double part) {
    double now = leash->until < INFINITY ? seconds_now() : 0;
    int64_t left = leash->allowed == INT64_MAX ? INT64_MAX : leash->allowed - leash->work;
    return (Leash){
        .clock = leash->clock,
        .allowed = left == INT64_MAX ? left : (int64_t)((double)left * part),
        .begun = now,
        .until = leash->until < INFINITY ? now + (leash->until - now) * part : INFINITY,
        .asks = leash->asks,
    };
}

#endif
