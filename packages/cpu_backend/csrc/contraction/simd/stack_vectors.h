/* Vectors of some bytes, and sums of products of one with one element, as in sums.h, which has those of the longest
 * vectors alone. Here BYTES and PREFIX name a length and the intrinsics of it, PART and SUFFIX the type of a real or
 * imaginary part, PARTS how many make an element. Addresses and lengths count parts. */

typedef PART NAME(Vector) __attribute__((vector_size(BYTES)));
typedef PART NAME(Loose) __attribute__((vector_size(BYTES), aligned(1), may_alias));
typedef PART NAME(Part) __attribute__((may_alias));
enum { NAME(WIDTH) = BYTES / (int)sizeof(PART) };

#define JOIN_INTRINSIC(prefix, name, suffix) prefix##name##suffix
#define OF_INTRINSIC(prefix, name, suffix) JOIN_INTRINSIC(prefix, name, suffix)
#define INTRINSIC(name) OF_INTRINSIC(PREFIX, name, SUFFIX)

INLINE NAME(Vector) NAME(load)(const NAME(Part) * from) { return *(const NAME(Loose) *)from; }
INLINE void NAME(store)(NAME(Part) * to, NAME(Vector) vector) { *(NAME(Loose) *)to = vector; }

/* The first parts of a vector, all at most, and zeros behind them, where nothing is read. store_part() writes nothing
 * there. */
#if defined(__AVX512VL__)
#if BYTES / PART_BYTES > 8
#define FIRST_PARTS(count) ((__mmask16)((1u << (count)) - 1))
#else
#define FIRST_PARTS(count) ((__mmask8)((1u << (count)) - 1))
#endif
INLINE NAME(Vector) NAME(load_part)(const NAME(Part) * from, Index parts) {
    return INTRINSIC(maskz_loadu_)(FIRST_PARTS(parts), from);
}
INLINE void NAME(store_part)(NAME(Part) * to, NAME(Vector) vector, Index parts) {
    INTRINSIC(mask_storeu_)(to, FIRST_PARTS(parts), vector);
}
#undef FIRST_PARTS
#elif defined(__AVX2__)
INLINE WORDS_OF_VECTOR NAME(first_parts)(Index parts) {
    typedef MASK_PART Mask __attribute__((vector_size(BYTES)));
    Mask places;
    for (int i = 0; i < NAME(WIDTH); i++) places[i] = i;
    return (WORDS_OF_VECTOR)(places < (MASK_PART)parts);
}
INLINE NAME(Vector) NAME(load_part)(const NAME(Part) * from, Index parts) {
    return INTRINSIC(maskload_)((const PART *)from, NAME(first_parts)(parts));
}
INLINE void NAME(store_part)(NAME(Part) * to, NAME(Vector) vector, Index parts) {
    INTRINSIC(maskstore_)((PART *)to, NAME(first_parts)(parts), vector);
}
#else
INLINE NAME(Vector) NAME(load_part)(const NAME(Part) * from, Index parts) {
    NAME(Vector) vector = {0};
    for (int i = 0; i < NAME(WIDTH); i++)
        if (i < parts) vector[i] = from[i];
    return vector;
}
INLINE void NAME(store_part)(NAME(Part) * to, NAME(Vector) vector, Index parts) {
    for (int i = 0; i < NAME(WIDTH); i++)
        if (i < parts) to[i] = vector[i];
}
#endif

/* sum + x * y */
INLINE NAME(Vector) NAME(multiply_add)(NAME(Vector) x, NAME(Vector) y, NAME(Vector) sum) {
#if defined(__FMA__)
    return INTRINSIC(fmadd_)(x, y, sum);
#else
    return sum + x * y;
#endif
}

typedef struct {
    NAME(Vector) part[PARTS]; /* of products with real parts, and with imaginary ones */
} NAME(Sum);

INLINE NAME(Sum) NAME(empty)(void) {
    NAME(Sum) sum;
    for (int i = 0; i < PARTS; i++) sum.part[i] = -(NAME(Vector)){0};
    return sum;
}

INLINE NAME(Sum) NAME(add_product)(NAME(Sum) sum, NAME(Vector) x, const NAME(Part) * y) {
    for (int i = 0; i < PARTS; i++) sum.part[i] = NAME(multiply_add)(x, y[i] - (NAME(Vector)){0}, sum.part[i]);
    return sum;
}

/* x + i y for the sums of products with both parts. */
INLINE NAME(Vector) NAME(value)(NAME(Sum) sum) {
#if PARTS == 1
    return sum.part[0];
#elif defined(__AVX512VL__) && BYTES == 64
    return INTRINSIC(fmaddsub_)(sum.part[0], INTRINSIC(set1_)(1), INTRINSIC(permute_)(sum.part[1], CROSSED));
#elif defined(__AVX2__)
    return INTRINSIC(addsub_)(sum.part[0], INTRINSIC(permute_)(sum.part[1], CROSSED));
#else
    for (int i = 0; i < NAME(WIDTH); i += 2) {
        sum.part[0][i] -= sum.part[1][i + 1];
        sum.part[0][i + 1] += sum.part[1][i];
    }
    return sum.part[0];
#endif
}

#undef INTRINSIC
#undef OF_INTRINSIC
#undef JOIN_INTRINSIC
