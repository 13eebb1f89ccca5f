/* Vectors and sums of one element type; see sums.h. Addresses count parts. */

enum { NAME(LANES) = VECTOR_BYTES / (PART_BYTES * PARTS) };

typedef PART NAME(Part) __attribute__((may_alias));
typedef PART NAME(Vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef PART NAME(LooseVector) __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));

INLINE NAME(Vector) NAME(load)(const NAME(Part) * from) { return *(const NAME(LooseVector) *)from; }
INLINE void NAME(store)(NAME(Part) * to, NAME(Vector) vector) { *(NAME(LooseVector) *)to = vector; }

/* The first few lanes of a vector. */
INLINE NAME(Vector) NAME(load_part)(const NAME(Part) * from, Index lanes) {
    return (NAME(Vector))load_bytes(from, lanes * PARTS * PART_BYTES);
}
INLINE void NAME(store_part)(NAME(Part) * to, NAME(Vector) vector, Index lanes) {
    store_bytes(to, (Words)vector, lanes * PARTS * PART_BYTES);
}

INLINE NAME(Vector) NAME(same)(PART part) { return part - (NAME(Vector)){0}; } /* x - 0 is x, also when it is -0.0 */

/* What the elements of an operand count for: true is whatever is not 0. */
INLINE NAME(Vector) NAME(truth)(NAME(Vector) x) {
#if ALGEBRA == LOGICAL
    return (NAME(Vector))(x != 0) & 1;
#else
    return x;
#endif
}

INLINE NAME(Vector) NAME(plus)(NAME(Vector) x, NAME(Vector) y) {
#if ALGEBRA == LOGICAL
    return x | y;
#else
    return x + y;
#endif
}

/* sum + x * y; Bool factors are 0 or 1 */
INLINE NAME(Vector) NAME(multiply_add)(NAME(Vector) x, NAME(Vector) y, NAME(Vector) sum) {
#if ALGEBRA == LOGICAL
    return sum | (x & y);
#elif ALGEBRA == FLOATING && PART_BYTES == 8 && defined(__AVX512F__)
    return _mm512_fmadd_pd(x, y, sum);
#elif ALGEBRA == FLOATING && PART_BYTES == 4 && defined(__AVX512F__)
    return _mm512_fmadd_ps(x, y, sum);
#elif ALGEBRA == FLOATING && PART_BYTES == 8 && defined(__FMA__)
    return _mm256_fmadd_pd(x, y, sum);
#elif ALGEBRA == FLOATING && PART_BYTES == 4 && defined(__FMA__)
    return _mm256_fmadd_ps(x, y, sum);
#else
    return sum + x * y;
#endif
}

#if PARTS == 2
/* The real parts twice, the imaginary parts twice, and x + i y for the sums of products with both. */
#if defined(__AVX512F__) && PART_BYTES == 8
INLINE NAME(Vector) NAME(real)(NAME(Vector) x) { return _mm512_movedup_pd(x); }
INLINE NAME(Vector) NAME(imaginary)(NAME(Vector) x) { return _mm512_permute_pd(x, 0xFF); }
INLINE NAME(Vector) NAME(cross)(NAME(Vector) x, NAME(Vector) y) {
    return _mm512_fmaddsub_pd(x, _mm512_set1_pd(1), _mm512_permute_pd(y, 0x55));
}
#elif defined(__AVX512F__)
INLINE NAME(Vector) NAME(real)(NAME(Vector) x) { return _mm512_moveldup_ps(x); }
INLINE NAME(Vector) NAME(imaginary)(NAME(Vector) x) { return _mm512_movehdup_ps(x); }
INLINE NAME(Vector) NAME(cross)(NAME(Vector) x, NAME(Vector) y) {
    return _mm512_fmaddsub_ps(x, _mm512_set1_ps(1), _mm512_permute_ps(y, 0xB1));
}
#elif defined(__AVX2__) && PART_BYTES == 8
INLINE NAME(Vector) NAME(real)(NAME(Vector) x) { return _mm256_movedup_pd(x); }
INLINE NAME(Vector) NAME(imaginary)(NAME(Vector) x) { return _mm256_permute_pd(x, 0xF); }
INLINE NAME(Vector) NAME(cross)(NAME(Vector) x, NAME(Vector) y) {
    return _mm256_addsub_pd(x, _mm256_permute_pd(y, 0x5));
}
#elif defined(__AVX2__)
INLINE NAME(Vector) NAME(real)(NAME(Vector) x) { return _mm256_moveldup_ps(x); }
INLINE NAME(Vector) NAME(imaginary)(NAME(Vector) x) { return _mm256_movehdup_ps(x); }
INLINE NAME(Vector) NAME(cross)(NAME(Vector) x, NAME(Vector) y) {
    return _mm256_addsub_ps(x, _mm256_permute_ps(y, 0xB1));
}
#else
INLINE NAME(Vector) NAME(real)(NAME(Vector) x) {
    for (int i = 0; i < 2 * NAME(LANES); i += 2) x[i + 1] = x[i];
    return x;
}
INLINE NAME(Vector) NAME(imaginary)(NAME(Vector) x) {
    for (int i = 0; i < 2 * NAME(LANES); i += 2) x[i] = x[i + 1];
    return x;
}
INLINE NAME(Vector) NAME(cross)(NAME(Vector) x, NAME(Vector) y) {
    for (int i = 0; i < 2 * NAME(LANES); i += 2) x[i] -= y[i + 1], x[i + 1] += y[i];
    return x;
}
#endif
#endif

typedef struct {
    NAME(Vector) straight;
#if PARTS == 2
    NAME(Vector) crossed;
#endif
} NAME(Sum);

INLINE NAME(Sum) NAME(empty)(void) {
    NAME(Sum) sum;
#if ALGEBRA == FLOATING
    sum.straight = -(NAME(Vector)){0};
#else
    sum.straight = (NAME(Vector)){0};
#endif
#if PARTS == 2
    sum.crossed = sum.straight;
#endif
    return sum;
}

/* sum + x * the element at y */
INLINE NAME(Sum) NAME(add_scaled)(NAME(Sum) sum, NAME(Vector) x, const NAME(Part) * y) {
    sum.straight = NAME(multiply_add)(x, NAME(same)(y[0]), sum.straight);
#if PARTS == 2
    sum.crossed = NAME(multiply_add)(x, NAME(same)(y[1]), sum.crossed);
#endif
    return sum;
}

/* sum + x * y, lane by lane */
INLINE NAME(Sum) NAME(add_product)(NAME(Sum) sum, NAME(Vector) x, NAME(Vector) y) {
#if PARTS == 1
    sum.straight = NAME(multiply_add)(x, y, sum.straight);
#else
    sum.straight = NAME(multiply_add)(x, NAME(real)(y), sum.straight);
    sum.crossed = NAME(multiply_add)(x, NAME(imaginary)(y), sum.crossed);
#endif
    return sum;
}

INLINE NAME(Vector) NAME(value)(NAME(Sum) sum) {
#if PARTS == 1
    return sum.straight;
#else
    return NAME(cross)(sum.straight, sum.crossed);
#endif
}
