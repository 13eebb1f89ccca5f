/* Finds elementary functions in libmvec and libm. See vectormath.h. */
#include "elementwise/vectormath.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

typedef void (*AnyFunction)(void);

typedef struct {
    const char *kernel, *name; /* of our kernel, and in C */
    int operands;
    AnyFunction single, twice; /* of float, of double */
} MathRow;

static const MathRow ROWS[MATH_FUNCTIONS] = {
    [EXP] = {"exp", "exp", 1, (AnyFunction)expf, (AnyFunction)exp},
    [EXPM1] = {"expm1", "expm1", 1, (AnyFunction)expm1f, (AnyFunction)expm1},
    [LOG] = {"log", "log", 1, (AnyFunction)logf, (AnyFunction)log},
    [LOG1P] = {"log1p", "log1p", 1, (AnyFunction)log1pf, (AnyFunction)log1p},
    [SIN] = {"sin", "sin", 1, (AnyFunction)sinf, (AnyFunction)sin},
    [COS] = {"cos", "cos", 1, (AnyFunction)cosf, (AnyFunction)cos},
    [TAN] = {"tan", "tan", 1, (AnyFunction)tanf, (AnyFunction)tan},
    [ASIN] = {"asin", "asin", 1, (AnyFunction)asinf, (AnyFunction)asin},
    [ACOS] = {"acos", "acos", 1, (AnyFunction)acosf, (AnyFunction)acos},
    [ATAN] = {"atan", "atan", 1, (AnyFunction)atanf, (AnyFunction)atan},
    [SINH] = {"sinh", "sinh", 1, (AnyFunction)sinhf, (AnyFunction)sinh},
    [COSH] = {"cosh", "cosh", 1, (AnyFunction)coshf, (AnyFunction)cosh},
    [TANH] = {"tanh", "tanh", 1, (AnyFunction)tanhf, (AnyFunction)tanh},
    [ERF] = {"erf", "erf", 1, (AnyFunction)erff, (AnyFunction)erf},
    [ERFC] = {"erfc", "erfc", 1, (AnyFunction)erfcf, (AnyFunction)erfc},
    [POW] = {"pow", "pow", 2, (AnyFunction)powf, (AnyFunction)pow},
    [ATAN2] = {"atan2", "atan2", 2, (AnyFunction)atan2f, (AnyFunction)atan2},
};

const char *math_name(MathFunction function) { return ROWS[function].kernel; }
int math_operands(MathFunction function) { return ROWS[function].operands; }

static void *library;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

static void look(void) {
#if defined(__x86_64__) && defined(__linux__)
    library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
}

static void *vector_version(const MathRow *row, bool is_double, int bits) {
    char name[64];
    pthread_once(&looked, look);
    if (library == NULL || bits == 0) return NULL;
    snprintf(name, sizeof name, "_ZGV%cN%d%s_%s%s", bits == 512 ? 'e' : 'd', bits / (is_double ? 64 : 32),
             row->operands == 2 ? "vv" : "v", row->name, is_double ? "" : "f");
    return dlsym(library, name);
}

MathLoop math_loop(MathFunction function, ElementType type) {
    const MathKernels *kernels = SIMD_CHOICE(math_kernels);
    const MathRow *row = &ROWS[function];
    if (type != F32 && type != F64) return (MathLoop){NULL, NULL};
    bool is_double = type == F64;
    void *vector = vector_version(row, is_double, kernels->bits);
    if (vector != NULL) return (MathLoop){kernels->vector[row->operands - 1][is_double], vector};
    AnyFunction scalar = is_double ? row->twice : row->single;
    return (MathLoop){kernels->scalar[row->operands - 1][is_double], (const void *)scalar};
}
