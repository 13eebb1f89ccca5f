/* What the kernels do with one matrix: LAPACK's routine, and the little around it.
 *
 * Each factors a copy of the operand in place, which lies in the memory of a result wherever the shapes allow.
 */
#include "linalg/lapack.h"
#include "linalg/careful.h"
#include "copy/matrix_copy.h"

#include <math.h>
#include <string.h>

static const double LARGE = 0x1p200, SMALL = 0x1p-200; /* products of two in between are far from the limits */

/* A pivot beyond such a number, or its reciprocal, is doubtful; squares of the roots of Cholesky are pivots. */
#define EXTREME_FLOAT 0x1p90
#define EXTREME_DOUBLE 0x1p900
#define EXTREME_ROOT 0x1p50

/* Beyond such an element, or its reciprocal, LAPACK scales a matrix before it reduces it. */
#define SCALED_FLOAT 0x1p45
#define SCALED_DOUBLE 0x1p400

/* The shorter side, and the matrix, that are reduced here: those of larger ones LAPACK shares among threads. */
enum { LEAST_REDUCED = 17, MOST_REDUCED_BYTES = 3 << 20 };
enum { MOST_ITERATED = 96 };
#define WORK_OF_DIAGONALS(n) (3 * (n) * ((n) + 4))
#define REDUCED 0x1p300      /* the largest element is below that, and above its reciprocal */
enum { LEAST_BY_REAL = 33 }; /* rows of complex matrices whose eigenvectors are turned from real ones */

/* Scales two parts towards 1 when the larger lies beyond those limits; returns the power of two that was taken out. */
static Index normalise(double *parts) {
    double real = fabs(parts[0]), imaginary = fabs(parts[1]), size = real > imaginary ? real : imaginary;
    int exponent = 0;
    if ((size > SMALL && size < LARGE) || size == 0.0 || !isfinite(size)) return 0;
    frexp(size, &exponent);
    parts[0] = ldexp(parts[0], -exponent);
    parts[1] = ldexp(parts[1], -exponent);
    return exponent;
}

#define REAL float
#define WIDTH 1
#define KIND 0
#define NAME(f) f##_f32
#include "linalg/lapack_body.h"

#define REAL double
#define WIDTH 1
#define KIND 1
#define NAME(f) f##_f64
#include "linalg/lapack_body.h"

#define REAL float
#define WIDTH 2
#define KIND 2
#define NAME(f) f##_c32
#include "linalg/lapack_body.h"

#define REAL double
#define WIDTH 2
#define KIND 3
#define NAME(f) f##_c64
#include "linalg/lapack_body.h"

/* The function for the kind of numbers that a plan computes in. */
#define OF_KIND(plan, function, ...)                                                                                   \
    ((plan)->computed == F32   ? function##_f32(__VA_ARGS__)                                                           \
     : (plan)->computed == F64 ? function##_f64(__VA_ARGS__)                                                           \
     : (plan)->computed == C32 ? function##_c32(__VA_ARGS__)                                                           \
                               : function##_c64(__VA_ARGS__))

void routine_query(LapackPlan *plan) { OF_KIND(plan, query, plan); }

void *routine_input(const LapackPlan *plan, const Scratch *scratch) {
    switch (plan->routine) {
    case CHOLESKY:
    case INV: return scratch->out[0];
    case QR: return scratch->out[plan->rows >= plan->columns ? 0 : 1];
    case EIGH: return scratch->out[1];
    default: return scratch->a;
    }
}

int routine_overwrites(Routine routine) {
    switch (routine) {
    case EIGH: return 1;
    case CHOLESKY:
    case INV:
    case QR:
    case SOLVE: return 0;
    default: return -1;
    }
}

bool routine_run(const LapackPlan *plan, const Scratch *scratch) { return OF_KIND(plan, run, plan, scratch); }

bool routine_factor(const LapackPlan *plan, const Scratch *scratch) {
    return OF_KIND(plan, factor, plan, scratch, scratch->a);
}

bool routine_substitute(const LapackPlan *plan, const Scratch *scratch, BlasInt columns, void *b) {
    return OF_KIND(plan, substitute, plan, scratch, columns, b);
}

bool routine_is_doubtful(const LapackPlan *plan, const Scratch *scratch, bool succeeded) {
    const double extreme_pivot = lapack_in_floats(plan) ? EXTREME_FLOAT : EXTREME_DOUBLE;
    switch (plan->routine) {
    case CHOLESKY:
        return lapack_in_floats(plan) && OF_KIND(plan, has_extreme_pivot, scratch->out[0], plan->rows, EXTREME_ROOT);
    case INV:
        if (succeeded) return false; /* the inverse stands where the factors were */
        return OF_KIND(plan, has_extreme_pivot, scratch->out[0], plan->rows, extreme_pivot);
    case SOLVE:
    case DET: return OF_KIND(plan, has_extreme_pivot, scratch->a, plan->rows, extreme_pivot);
    default: return false;
    }
}

bool routine_run_carefully(const LapackPlan *plan, const Scratch *scratch, double *a, int64_t *exchanges) {
    return plan->pairs ? run_carefully_c64(plan, scratch, a, exchanges)
                       : run_carefully_f64(plan, scratch, a, exchanges);
}
