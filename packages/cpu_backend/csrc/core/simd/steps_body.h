/* Elements equally far apart, put side by side, for elements that are a T, unaligned; strides in elements.
 *
 * Where the stride is a constant of these, the compiler makes loads and shuffles of vectors of the loop. It does not for a
 * stride that is negative and no neighbour's: those elements are put side by side forwards, then turned.
 */

INLINE void NAME(take_steps)(char *restrict target, const char *restrict source, Index count, Index stride) {
    const Index size = (Index)sizeof(T);
    for (Index i = 0; i < count; i++) memcpy(target + i * size, source + i * stride * size, sizeof(T));
}

static inline void NAME(copy_steps_forwards)(char *restrict target, const char *restrict source, Index count,
                                             Index stride) {
    switch (stride) {
    case 2: NAME(take_steps)(target, source, count, 2); return;
    case 3: NAME(take_steps)(target, source, count, 3); return;
    case 4: NAME(take_steps)(target, source, count, 4); return;
    default: NAME(take_steps)(target, source, count, stride); return;
    }
}

static void NAME(copy_steps)(char *restrict target, const char *restrict source, Index count, Index stride) {
    enum { PIECE = 4096 / sizeof(T) };
    const Index size = (Index)sizeof(T);
    if (stride == -1) {
        NAME(take_steps)(target, source, count, -1);
    } else if (stride >= 0 || stride < -4 || size == 16) {
        NAME(copy_steps_forwards)(target, source, count, stride);
    } else {
        char forwards[PIECE * sizeof(T)];
        for (Index done = 0; done < count; done += PIECE) {
            const Index part = smaller(count - done, PIECE);
            NAME(copy_steps_forwards)(forwards, source + (done + part - 1) * stride * size, part, -stride);
            NAME(take_steps)(target + done * size, forwards + (part - 1) * size, part, -1);
        }
    }
}
