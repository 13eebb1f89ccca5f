/* Tasks done by threads. */
#ifndef SEARCH_TEAM_H
#define SEARCH_TEAM_H

#include "common.h"

/* Does tasks 0 to count-1, each once, on at most so many threads; thread 0 is the caller. */
void team_run(int count, int threads, void (*task)(void *data, int number, int thread), void *data);

#endif
