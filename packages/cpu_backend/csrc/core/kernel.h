/* The kernel object: what bind returns for one combination of forms.
 *
 * A callable of arrays (those for tiny operands take Python numbers, too) without attributes; its repr tells its name.
 * The plan behind it is a C structure made once by the topic that made the kernel, and never changed afterwards, so
 * that any number of threads may call it at once. The garbage collector does not look into kernels: a Python object in
 * a plan, such as the fallback, must not refer to the kernel, or neither is ever freed.
 *
 * A kernel is unsafe by contract: it reads the address of each array and trusts that type, extents, strides, alignment
 * and writability are those that it was bound to. What it writes is checked when it is bound: a binder refuses numbers
 * that lead outside the result. tensor_cpu.call_checks compares arrays with forms at each call, where that is wanted.
 */
#ifndef TENSOR_CPU_KERNEL_H
#define TENSOR_CPU_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    PyObject_HEAD vectorcallfunc call;
    const char *name; /* of the operation; a string that lives as long as the process */
    void *plan;
    void (*release)(void *plan);
    size_t more_bytes; /* of tables that the plan holds; sys.getsizeof tells, and the cache of bindings counts it */
} Kernel;

extern PyTypeObject Kernel_Type;

/* A new kernel, or NULL with an exception set. Owns plan from here on, also when it fails. */
PyObject *kernel_new(const char *name, vectorcallfunc call, void *plan, void (*release)(void *plan));

static inline void *kernel_plan(PyObject *self) { return ((Kernel *)self)->plan; }

/* The kernel, which may be NULL, after noting that its plan holds tables of so many entries. */
PyObject *kernel_with_tables(PyObject *kernel, long long entries);

/* Whether the call got so many positional arguments and nothing else; sets a TypeError otherwise. */
bool kernel_takes(PyObject *self, size_t flagged_count, PyObject *names, Py_ssize_t expected);

#endif
