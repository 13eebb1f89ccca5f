/* Finds elementary functions in libmvec and libm. See vectormath.h. */
#include "elementwise/vectormath.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

typedef struct {
    const char *name; /* in C */
    int operands;
    AnyFunction single, twice; /* of float, of double */
} MathRow;

#define MATH_ROW(number, name, operands) [number] = {#name, operands, (AnyFunction)name##f, (AnyFunction)name},
static const MathRow ROWS[MATH_FUNCTIONS] = {MATH_FUNCTION_LIST(MATH_ROW)};

#define MATH_NAME(number, name, operands) [number] = #name,
const char *const MATH_NAMES[MATH_FUNCTIONS] = {MATH_FUNCTION_LIST(MATH_NAME)};

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
    if (type == C32 || type == C64) return (MathLoop){kernels->of_complex[function][type == C64], NULL};
    if (type != F32 && type != F64) return (MathLoop){NULL, NULL};
    bool is_double = type == F64;
    if (kernels->own[function][is_double] != NULL)
        return (MathLoop){kernels->own[function][is_double], is_double ? row->twice : row->single};
    void *vector = vector_version(row, is_double, kernels->bits);
    if (vector != NULL)
        return (MathLoop){kernels->vector[row->operands - 1][is_double], (AnyFunction)(uintptr_t)vector};
    AnyFunction scalar = is_double ? row->twice : row->single;
    return (MathLoop){kernels->scalar[row->operands - 1][is_double], scalar};
}
