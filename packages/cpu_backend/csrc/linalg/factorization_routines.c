/* What kernels of factorizations do with one matrix, in each of four kinds of numbers. */
#include "linalg/factorization.h"
#include "linalg/careful.h"
#include "copy/matrix_copy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REAL float
#define BITS uint32_t
#define WIDTH 1
#define KIND 0
#define NAME(f) f##_f32
#include "linalg/factorization_kind.h"

#define REAL double
#define BITS uint64_t
#define WIDTH 1
#define KIND 1
#define NAME(f) f##_f64
#include "linalg/factorization_kind.h"

#define REAL float
#define BITS uint32_t
#define WIDTH 2
#define KIND 2
#define NAME(f) f##_c32
#include "linalg/factorization_kind.h"

#define REAL double
#define BITS uint64_t
#define WIDTH 2
#define KIND 3
#define NAME(f) f##_c64
#include "linalg/factorization_kind.h"

void factorization_query(FactorizationPlan *plan) {
    switch (plan->computed) {
    case F32: query_f32(plan); break;
    case F64: query_f64(plan); break;
    case C32: query_c32(plan); break;
    default: query_c64(plan);
    }
}

bool factorization_run(const FactorizationPlan *plan, const FactorizationScratch *scratch) {
    switch (plan->computed) {
    case F32: return run_f32(plan, scratch);
    case F64: return run_f64(plan, scratch);
    case C32: return run_c32(plan, scratch);
    default: return run_c64(plan, scratch);
    }
}
