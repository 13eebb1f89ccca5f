/* The kernel object: what bind returns for one combination of forms.
 *
 * A callable of arrays (those for tiny operands take Python numbers, too) with one attribute, workspace_bytes; its repr tells its name.
 * The plan behind it is a C structure made once by the topic that made the kernel, and never changed afterwards, so
 * that any number of threads may call it at once. The garbage collector does not look into kernels: a Python object in
 * a plan, such as the fallback, must not refer to the kernel, or neither is ever freed.
 *
 * A kernel is unsafe by contract: it reads the address of each array and trusts that type, extents, strides, alignment
 * and writability are those that it was bound to. What it writes is checked when it is bound: a binder refuses numbers
 * that lead outside the result. Where that is wanted, each call compares its arrays with what the kernel was bound to:
 * kernel_check_calls(), and tensor_cpu.call_checks with the forms of operands.
 *
 * Many kernels are a function of addresses that makes one array: kernel_computes(). Such a kernel is called with arrays
 * by kernel_call(), or with addresses, as one of a sequence (sequence/sequence.h).
 */
#ifndef TENSOR_CPU_KERNEL_H
#define TENSOR_CPU_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#include "core/arrays.h"
#include "core/strided_layout.h"

enum { MOST_READ = 2 };                     /* operands of a kernel that computes from addresses */
static const double SHARED_FROM = 80000.0;  /* nanoseconds, from which most kernels are shared among threads */
static const double WORTH_NO_GIL = 20000.0; /* nanoseconds that a kernel is thought to take, from which it lets go */

/* Reads the operands, which are where its arguments would be, and writes all of the result. False where memory is
 * short. Runs without the GIL if it is thought to take long, or else perhaps; in any number of threads at once. */
typedef bool Compute(const void *plan, const char *const *operands, char *result);

/* What a kernel trusts an argument to be: an array of this type whose elements lie at least so far around the first
 * logical one. */
typedef struct {
    ElementType type;
    Reach reach; /* elements */
    bool written;
} Operand;

typedef struct {
    PyObject_HEAD vectorcallfunc call;
    const char *name; /* of the operation; a string that lives as long as the process */
    void *plan;
    void (*release)(void *plan);
    Operand *operands; /* kernel_with_operands(); NULL for none */
    int operand_count;
    size_t more_bytes; /* of tables that the plan holds; sys.getsizeof tells, and the cache of bindings counts it */
    Compute *compute;  /* kernel_computes(); NULL for none */
    const ArrayForm *result; /* with which array_new() makes it, once in a call; NULL where that is otherwise */
    bool pointwise; /* each element of the result is written after what it depends on, its own place, was read */
    double nanoseconds, shared_from; /* that a call takes in one thread; from which it is shared among threads */
    size_t workspace_bytes;          /* that a call takes besides its result, where it tells; Python reads it */
} Kernel;

extern PyTypeObject Kernel_Type;

/* A new kernel, or NULL with an exception set. Owns plan from here on, also when it fails. */
PyObject *kernel_new(const char *name, vectorcallfunc call, void *plan, void (*release)(void *plan));

static inline void *kernel_plan(PyObject *self) { return ((Kernel *)self)->plan; }

/* The kernel, which may be NULL, after noting what computes its result from addresses, of which form that is (a part of
 * the plan), and how long it takes, within a factor of a few. */
PyObject *kernel_computes(PyObject *kernel, Compute *compute, const ArrayForm *result, double nanoseconds);

/* The kernel, which may be NULL, after noting with which form it makes its result, before it reads an element, and whether
 * the result may lie where an operand of the same form does. */
PyObject *kernel_makes(PyObject *kernel, const ArrayForm *result, bool pointwise);

/* The same, after noting from which time on such a kernel shares its work among threads, if that is not SHARED_FROM. */
PyObject *kernel_shared_from(PyObject *kernel, double nanoseconds);

/* The kernel, which may be NULL, after noting what a call takes besides its result. */
PyObject *kernel_with_workspace(PyObject *kernel, size_t bytes);

/* The call of a kernel that is a view (core/views.c). */
PyObject *kernel_call_view(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names);

/* The call of a kernel that computes from addresses; kernel_with_operands() tells how many there are. */
PyObject *kernel_call(PyObject *self, PyObject *const *arguments, size_t flagged_count, PyObject *names);

/* The kernel, which may be NULL, after noting that its plan holds tables of so many entries. */
PyObject *kernel_with_tables(PyObject *kernel, long long entries);

/* The kernel, which may be NULL, after noting what its arguments are; NULL with an exception set when memory is
 * short. */
PyObject *kernel_with_operands(PyObject *kernel, const Operand *operands, int count);

/* Whether the call got so many positional arguments and nothing else; sets a TypeError otherwise. */
bool kernel_takes(PyObject *self, size_t flagged_count, PyObject *names, Py_ssize_t expected);

/* The same, and every one of them is an array; while calls are checked, one that fits what the kernel was bound to. */
bool kernel_takes_arrays(PyObject *self, size_t flagged_count, PyObject *names, PyObject *const *arguments,
                         Py_ssize_t expected);

/* Whether one argument, the one at this place, may be read, and where it is noted so, written; sets an exception. */
bool kernel_takes_array(PyObject *self, PyObject *argument, int place);

/* Whether kernels compare what they are called with against what they were bound to, from now on, in all threads. */
void kernel_check_calls(bool on);

#endif
