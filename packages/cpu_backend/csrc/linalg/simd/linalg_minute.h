/* Matrices so small that products of their elements vanish, or lose digits: eliminations in lanes leave them alone. */

/* Whether all numbers of one of so many matrices are below 2^-900, and not all of them zero. */
static __attribute__((noinline)) bool one_is_minute(const LaneProblem *problem, const char *from, Index bytes,
                                                    int count, int matrices) {
    if (problem->narrow) return false; /* every float is larger */
    for (int lane = 0; lane < matrices; lane++) {
        const double *numbers = (const double *)(from + lane * bytes);
        double most = 0.0;
        for (int i = 0; i < count * PARTS; i++) most = fabs(numbers[i]) > most ? fabs(numbers[i]) : most;
        if (most > 0.0 && most < 0x1p-900) return true;
    }
    return false;
}

/* Whether one of a group is, given the first pivot of each: that is among the largest of its column. */
INLINE bool are_minute(const LaneProblem *problem, const char *from, Index bytes, Number first_pivot, int count) {
    return any(greater(broadcast(0x1p-900), largest_part(first_pivot))) &&
           one_is_minute(problem, from, bytes, count, LANES);
}
