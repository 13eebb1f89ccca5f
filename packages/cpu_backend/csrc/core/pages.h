/* Ranges of pages that can be moved between addresses without a copy, for the large buffers of the caching allocator.
 *
 * A system may take as long to give a process a new page as to fill several, so pages are worth keeping; and large
 * buffers come in few sizes that repeat, so one kept in one size is of no use in another. Moving the pages of some
 * into the address range of one takes microseconds.
 *
 * Where pages cannot be moved (other systems than Linux, and builds whose checker watches addresses) there are none of
 * these functions, and PAGES_MOVE is 0.
 */
#ifndef TENSOR_CPU_PAGES_H
#define TENSOR_CPU_PAGES_H

#include "core/common.h"

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PAGES_MOVE 1
#else
#define PAGES_MOVE 0
#endif

enum { HUGE_PAGE = 1 << 21 }; /* bytes; every range is a multiple, and aligned to it */

#if PAGES_MOVE
/* A range of so many bytes with no pages yet, which come as they are touched; NULL when memory is short. */
char *pages_map(size_t bytes);

void pages_unmap(char *range, size_t bytes);

/* Moves pages from one range into a part of another, whose own are given back. How
 * many bytes went over: fewer than asked for when the system has no more mappings. Then the huge page in the other range
 * that was next may be anybody's, and must be left alone; nothing should be moved any more. */
size_t pages_move(char *from, char *into, size_t bytes);
#endif

#endif
