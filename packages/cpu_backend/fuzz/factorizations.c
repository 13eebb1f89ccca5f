/* Eliminations of single matrices: what their factors multiply to, and what banded systems leave. */
#include "fuzz.h"
#include "core/blas.h"

#include <float.h>
#include <math.h>

#define REAL float
#define BITS uint32_t
#define WIDTH 1
#define NAME(f) f##_f32
#include "linalg/number_body.h"

#include "linalg/elimination_body.h"

#include "linalg/band_body.h"

#include "factorizations.h"

#define REAL double
#define BITS uint64_t
#define WIDTH 1
#define NAME(f) f##_f64
#include "linalg/number_body.h"

#include "linalg/elimination_body.h"

#include "linalg/band_body.h"

#include "factorizations.h"

#define REAL float
#define BITS uint32_t
#define WIDTH 2
#define NAME(f) f##_c32
#include "linalg/number_body.h"

#include "linalg/elimination_body.h"

#include "linalg/band_body.h"

#include "factorizations.h"

#define REAL double
#define BITS uint64_t
#define WIDTH 2
#define NAME(f) f##_c64
#include "linalg/number_body.h"

#include "linalg/elimination_body.h"

#include "linalg/band_body.h"

#include "factorizations.h"

void fuzz_factorizations(void) {
    static void (*const EXAMPLES[])(void) = {example_f32, example_f64, example_c32, example_c64};
    EXAMPLES[draw(0, 3)]();
}
