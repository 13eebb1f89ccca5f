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

#define WIDTH 1
#define KIND 0
#define NAME(f) f##_real
#define CAREFUL(f) careful_##f##_f64
#include "linalg/lapack_body.h"
#undef WIDTH
#undef KIND
#undef NAME
#undef CAREFUL

#define WIDTH 2
#define KIND 1
#define NAME(f) f##_complex
#define CAREFUL(f) careful_##f##_c64
#include "linalg/lapack_body.h"
#undef WIDTH
#undef KIND
#undef NAME
#undef CAREFUL

void routine_query(LapackPlan *plan) {
    if (plan->pairs) query_complex(plan);
    else query_real(plan);
}

double *routine_input(const LapackPlan *plan, const Scratch *scratch) {
    switch (plan->routine) {
    case CHOLESKY:
    case INV: return scratch->out[0];
    case QR: return scratch->out[plan->rows >= plan->columns ? 0 : 1];
    case EIGH: return scratch->out[1];
    default: return scratch->a;
    }
}

bool routine_run(const LapackPlan *plan, const Scratch *scratch) {
    return plan->pairs ? run_complex(plan, scratch) : run_real(plan, scratch);
}

bool routine_factor(const LapackPlan *plan, const Scratch *scratch) {
    return plan->pairs ? factor_complex(plan, scratch, scratch->a) : factor_real(plan, scratch, scratch->a);
}

bool routine_substitute(const LapackPlan *plan, const Scratch *scratch, BlasInt columns, double *b) {
    return plan->pairs ? substitute_complex(plan, scratch, columns, b) : substitute_real(plan, scratch, columns, b);
}

bool routine_is_doubtful(const LapackPlan *plan, const Scratch *scratch, bool succeeded) {
    if (plan->routine == INV && succeeded) return false; /* the inverse stands where the factors were */
    if (plan->routine != SOLVE && plan->routine != INV && plan->routine != DET) return false;
    const double *factors = plan->routine == INV ? scratch->out[0] : scratch->a;
    return plan->pairs ? has_extreme_pivot_complex(factors, plan->rows) : has_extreme_pivot_real(factors, plan->rows);
}

bool routine_run_carefully(const LapackPlan *plan, const Scratch *scratch, double *a, int64_t *exchanges) {
    return plan->pairs ? run_carefully_complex(plan, scratch, a, exchanges)
                       : run_carefully_real(plan, scratch, a, exchanges);
}
