/* Threads that live as long as their tasks. */
#include "team.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { MOST_THREADS = 256 };

typedef struct {
    void (*task)(void *data, int number, int thread);
    void *data;
    int count;
    atomic_int next;
} Tasks;

typedef struct {
    Tasks *tasks;
    int thread;
} Member;

static void *work(void *argument) {
    Member *member = argument;
    Tasks *tasks = member->tasks;
    for (int i; (i = atomic_fetch_add(&tasks->next, 1)) < tasks->count;) tasks->task(tasks->data, i, member->thread);
    return NULL;
}

void team_run(int count, int threads, void (*task)(void *data, int number, int thread), void *data) {
    Tasks tasks = {.task = task, .data = data, .count = count};
    Member members[MOST_THREADS];
    pthread_t handles[MOST_THREADS];
    int started = 1;
    if (threads > count) threads = count;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    sigset_t all, before; /* signals go to threads that know what to do with them */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; started < threads; started++) {
        members[started] = (Member){&tasks, started};
        if (pthread_create(&handles[started], NULL, work, &members[started])) break; /* fewer do the same */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    members[0] = (Member){&tasks, 0};
    work(&members[0]);
    for (int i = 1; i < started; i++) pthread_join(handles[i], NULL);
}
