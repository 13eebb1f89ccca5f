/* Kernels around the loops of NumPy's ufuncs: what NumPy computes, without what its calls cost.
 *
 * A ufunc spends some 200 nanoseconds on types, errors and broadcasting, all of which is known when a kernel is bound,
 * and keeps to one thread. Its table of loops is part of NumPy's C API: a loop takes addresses, a count and steps. Bits are
 * NumPy's, whatever block of elements a thread computes. A loop of integers tells of zero divisors by the processor's flag
 * for those; the fallback, NumPy's own kernel in Python, makes the error then, and reads numbers that are no plain elements.
 */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "elementwise/numbers.h"

#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The flag of the processor that a loop raises at a zero divisor. The C library of GNU raises it in the register of vectors,
 * which is read in a fraction of the time. */
#if defined(__GLIBC__) && defined(__SSE2__)
#include <xmmintrin.h>
static inline void forget_division(void) { _mm_setcsr(_mm_getcsr() & ~(unsigned)_MM_EXCEPT_DIV_ZERO); }
static inline bool divided_by_zero(void) { return _mm_getcsr() & _MM_EXCEPT_DIV_ZERO; }
#else
#include <fenv.h>
static inline void forget_division(void) { feclearexcept(FE_DIVBYZERO); }
static inline bool divided_by_zero(void) { return fetestexcept(FE_DIVBYZERO); }
#endif

enum { MOST_TAKEN = 2, BLOCK = 1 << 11 /* elements */ };
static const double LONG_FOR_THE_GIL = 5000.0, LONG_FOR_A_THREAD = 20000.0; /* nanoseconds */

typedef struct {
    ArrayForm result;
    int operands;
    ElementType types[MOST_TAKEN];
    npy_intp steps[MOST_TAKEN + 1]; /* bytes; the last one is the result's */
    bool is_number[MOST_TAKEN];
    bool divides; /* and refuses zero divisors */
    double nanoseconds;
    PyUFuncGenericFunction loop;
    void *data;
    PyObject *ufunc, *fallback;
} LoopPlan;

typedef struct {
    const LoopPlan *plan;
    char *places[MOST_TAKEN + 1];
    atomic_bool divided_by_zero;
} Job;

static void release(void *object) {
    LoopPlan *plan = object;
    Py_XDECREF(plan->ufunc);
    Py_XDECREF(plan->fallback);
    free(plan);
}

HOT static void run_blocks(void *context, Index begin, Index end) {
    Job *job = context;
    const LoopPlan *plan = job->plan;
    const Index first = begin * BLOCK;
    npy_intp count = smaller(end * BLOCK, plan->result.size) - first;
    char *places[MOST_TAKEN + 1];
    for (int i = 0; i < plan->operands; i++) places[i] = job->places[i] + first * plan->steps[i];
    places[plan->operands] = job->places[plan->operands] + first * plan->steps[plan->operands];
    if (plan->divides) forget_division();
    plan->loop(places, &count, plan->steps, plan->data);
    if (plan->divides && divided_by_zero()) atomic_store(&job->divided_by_zero, true);
}

HOT static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names) {
    const LoopPlan *plan = kernel_plan(self);
    if (!kernel_takes(self, flagged_count, names, plan->operands)) return NULL;
    Element numbers[MOST_TAKEN];
    Job job = {.plan = plan, .divided_by_zero = false};
    for (int i = 0; i < plan->operands; i++) {
        if (!plan->is_number[i]) {
            if (!kernel_takes_array(self, arguments[i], i)) return NULL;
            job.places[i] = array_data(arguments[i]);
        } else if (element_from_number(arguments[i], plan->types[i], &numbers[i])) {
            job.places[i] = (char *)&numbers[i];
        } else {
            return PyObject_Vectorcall(plan->fallback, arguments, (size_t)plan->operands, NULL);
        }
    }
    PyObject *result = array_new(&plan->result);
    if (result == NULL) return NULL;
    job.places[plan->operands] = array_data(result);
    const Index blocks = pieces(plan->result.size, BLOCK);
    if (plan->nanoseconds * (double)plan->result.size < LONG_FOR_THE_GIL) {
        run_blocks(&job, 0, blocks);
    } else {
        const Index grain = 1 + (Index)(LONG_FOR_A_THREAD / (plan->nanoseconds * BLOCK));
        Py_BEGIN_ALLOW_THREADS parallel_for(blocks, grain, run_blocks, &job);
        Py_END_ALLOW_THREADS
    }
    if (!atomic_load(&job.divided_by_zero)) return result;
    Py_DECREF(result);
    return PyObject_Vectorcall(plan->fallback, arguments, (size_t)plan->operands, NULL);
}

/* Whether NumPy's number of a type is that of ours. */
static bool is_type(char number, ElementType type) {
    switch (number) {
    case NPY_FLOAT: return type == F32;
    case NPY_DOUBLE: return type == F64;
    case NPY_CFLOAT: return type == C32;
    case NPY_CDOUBLE: return type == C64;
    case NPY_BOOL: return type == BOOL;
    case NPY_INT: return type == I32;
    case NPY_LONG: return type == I64 && sizeof(long) == 8;
    case NPY_LONGLONG: return type == I64;
    default: return false;
    }
}

/* The first loop of these types, which is the one that NumPy takes; false where there is none. */
static bool find_loop(LoopPlan *plan) {
    const PyUFuncObject *ufunc = (PyUFuncObject *)plan->ufunc;
    if (ufunc->nin != plan->operands || ufunc->nout != 1 || ufunc->core_enabled) return false;
    for (int row = 0; row < ufunc->ntypes; row++) {
        const char *types = ufunc->types + row * ufunc->nargs;
        bool fits = ufunc->functions[row] != NULL && is_type(types[plan->operands], plan->result.type);
        for (int i = 0; fits && i < plan->operands; i++) fits = is_type(types[i], plan->types[i]);
        if (!fits) continue;
        plan->loop = ufunc->functions[row];
        plan->data = ufunc->data ? (void *)(uintptr_t)ufunc->data[row] : NULL;
        return true;
    }
    return false;
}

/* One of the operands: (element type, elements from one to the next, whether it is a number) */
static bool read_operand(LoopPlan *plan, int i, PyObject *described, Operand *operand) {
    PyObject *type_name;
    Py_ssize_t step;
    int is_number;
    if (!PyTuple_Check(described)) {
        PyErr_SetString(PyExc_TypeError, "bind_loop: an operand is no tuple");
        return false;
    }
    if (!PyArg_ParseTuple(described, "Onp:bind_loop", &type_name, &step, &is_number)) return false;
    const int type = element_type_read(type_name);
    Reach reach = NO_AXES;
    if (type < 0 || !reach_read(&reach, plan->result.size, is_number ? 0 : step)) return false;
    plan->types[i] = (ElementType)type;
    plan->steps[i] = is_number ? 0 : step * ELEMENT_BYTES[type];
    plan->is_number[i] = is_number;
    *operand = (Operand){(ElementType)type, reach, false};
    return true;
}

/* bind_loop(ufunc, shape, result's dtype, operands, nanoseconds of an element, divides, fallback); None without a loop */
static PyObject *bind_loop(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *ufunc, *shape, *type, *operands, *fallback;
    double nanoseconds;
    int divides;
    if (!PyArg_ParseTuple(arguments, "OOOO!dpO:bind_loop", &ufunc, &shape, &type, &PyTuple_Type, &operands,
                          &nanoseconds, &divides, &fallback))
        return NULL;
    if (strcmp(Py_TYPE(ufunc)->tp_name, "numpy.ufunc") != 0)
        return PyErr_Format(PyExc_TypeError, "bind_loop: %R is no ufunc of NumPy", ufunc);
    LoopPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return PyErr_NoMemory();
    plan->ufunc = Py_NewRef(ufunc);
    plan->fallback = Py_NewRef(fallback);
    plan->nanoseconds = nanoseconds;
    plan->divides = divides;
    plan->operands = tuple_length(operands, MOST_TAKEN, "operands");
    Operand described[MOST_TAKEN];
    bool good = plan->operands > 0 && array_form_read(&plan->result, shape, type) == 0;
    for (int i = 0; good && i < plan->operands; i++)
        good = read_operand(plan, i, PyTuple_GET_ITEM(operands, i), &described[i]);
    if (!good && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "bind_loop: no operands");
    if (!good || !find_loop(plan)) {
        release(plan);
        return good ? Py_NewRef(Py_None) : NULL;
    }
    plan->steps[plan->operands] = ELEMENT_BYTES[plan->result.type];
    const ArrayForm *result = &plan->result;
    const int count = plan->operands;
    PyObject *kernel = kernel_new(((PyUFuncObject *)ufunc)->name, call, plan, release);
    if (!divides)
        kernel = kernel_makes(kernel, result, true); /* else nothing is written before all is known to be good */
    return kernel_with_operands(kernel, described, count);
}

PyMethodDef loop_functions[] = {
    {"bind_loop", bind_loop, METH_VARARGS, "Kernel around the loop of one of NumPy's ufuncs, or None."},
    {NULL, NULL, 0, NULL},
};
