/* The caching allocator, the threads and the instruction set, as Python functions; tensor_cpu.system.memory and
 * tensor_cpu.system.threads document them for users. Besides, two ways to get arrays in cached buffers: empty() makes
 * one, and after use_caching_allocator() NumPy's own functions do, in the same context. */
#include "core/arguments.h"
#include "core/cpu.h"
#include "core/kept_arrays.h"
#include "core/kernel.h"
#include "core/caching_allocator.h"
#include "core/threads.h"
#include "core/topics.h"

static PyObject *stats(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    AllocatorStats now = allocator_stats();
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "used_bytes", (long long)now.used_bytes,
                         "used_buffers", (long long)now.used_buffers, "kept_bytes", (long long)now.kept_bytes,
                         "kept_buffers", (long long)now.kept_buffers, "limit_bytes", (long long)now.limit_bytes, "hits",
                         (long long)now.hits, "misses", (long long)now.misses, "evictions", (long long)now.evictions,
                         "peak_bytes", (long long)now.peak_bytes, "thread_peak_bytes",
                         (long long)now.thread_peak_bytes);
}

static PyObject *clear(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    kept_clear();
    Py_BEGIN_ALLOW_THREADS /* unmapping gigabytes takes long */
    allocator_clear();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *set_limit(PyObject *module, PyObject *bytes) {
    (void)module;
    long long limit = PyLong_AsLongLong(bytes);
    if (limit == -1 && PyErr_Occurred()) return NULL;
    if (limit < 0) return PyErr_Format(PyExc_ValueError, "the caching allocator cannot keep %lld bytes", limit);
    Py_BEGIN_ALLOW_THREADS allocator_set_limit(limit);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *switched(void (*set)(bool on), PyObject *on) {
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0) return NULL;
    set(wanted);
    Py_RETURN_NONE;
}

static PyObject *set_poisoning(PyObject *module, PyObject *on) {
    (void)module;
    return switched(allocator_set_poisoning, on);
}

static PyObject *use_caching_allocator(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    if (arrays_use_caching_allocator() < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *empty(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    ArrayForm form;
    if (!arguments_count("empty", count, 2, "a shape and the name of an element type") ||
        array_form_read(&form, arguments[0], arguments[1]) < 0)
        return NULL;
    return array_new(&form);
}

/* restride(array, shape, strides): a view of an array; strides in bytes. Where it leads, the caller has found out. */
static PyObject *restride(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("restride", count, 3, "an array, a shape and strides")) return NULL;
    if (!is_array(arguments[0])) return PyErr_Format(PyExc_TypeError, "restride takes an array");
    Index shape[MAX_RANK], strides[MAX_RANK];
    const int rank = indices_read(shape, MAX_RANK, arguments[1]);
    if (rank < 0 || indices_read(strides, MAX_RANK, arguments[2]) < 0) return NULL;
    if (PyTuple_GET_SIZE(arguments[2]) != rank)
        return PyErr_Format(PyExc_ValueError, "restride: as many strides as axes are accepted");
    npy_intp extents[MAX_RANK], steps[MAX_RANK];
    for (int axis = 0; axis < rank; axis++) extents[axis] = shape[axis], steps[axis] = strides[axis];
    return array_view(arguments[0], rank, extents, steps, 0);
}

/* address(array): of its first element, as NumPy's __array_interface__ has it */
static PyObject *address(PyObject *module, PyObject *array) {
    (void)module;
    if (!is_array(array)) return PyErr_Format(PyExc_TypeError, "address takes an array");
    return PyLong_FromVoidPtr(array_data(array));
}

static PyObject *get_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(threads_get());
}

static PyObject *share_among(PyObject *count, bool chosen) {
    long wanted = PyLong_AsLong(count);
    if (wanted == -1 && PyErr_Occurred()) return NULL;
    if (wanted < 1 || wanted > MOST_THREADS)
        return PyErr_Format(PyExc_ValueError, "%ld threads; accepted: 1 to %d", wanted, MOST_THREADS);
    threads_set((int)wanted, chosen);
    Py_RETURN_NONE;
}

static PyObject *set_threads(PyObject *module, PyObject *count) {
    (void)module;
    return share_among(count, true);
}

static PyObject *set_most_threads(PyObject *module, PyObject *count) {
    (void)module;
    return share_among(count, false);
}

static PyObject *set_call_checks(PyObject *module, PyObject *on) {
    (void)module;
    return switched(kernel_check_calls, on);
}

static PyObject *instruction_set(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyUnicode_FromString(INSTRUCTION_SET_NAMES[cpu_instruction_set()]);
}

static PyObject *set_instruction_set(PyObject *module, PyObject *name) {
    (void)module;
    int set = name_read(name, INSTRUCTION_SET_NAMES, AVX512 + 1);
    if (set >= 0 && cpu_choose((InstructionSet)set) == 0) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "this processor has no instruction set %R", name);
}

static PyObject *is_amd(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyBool_FromLong(cpu_is_amd());
}

static PyObject *streamed_bytes(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromSize_t(cpu_streamed_bytes());
}

static PyObject *set_streamed_bytes(PyObject *module, PyObject *count) {
    (void)module;
    const size_t bytes = PyLong_AsSize_t(count);
    if (bytes == (size_t)-1 && PyErr_Occurred()) return NULL;
    cpu_stream_from(bytes);
    Py_RETURN_NONE;
}

static PyObject *far_bytes(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromSize_t(cpu_far_bytes());
}

PyMethodDef memory_functions[] = {
    {"allocator_stats", stats, METH_NOARGS, "What the allocator holds, by name."},
    {"allocator_clear", clear, METH_NOARGS, "Give every kept buffer back to the operating system."},
    {"allocator_set_limit", set_limit, METH_O, "Keep at most so many bytes."},
    {"allocator_set_poisoning", set_poisoning, METH_O, "Whether to overwrite what is given back, and to check it."},
    {"use_caching_allocator", use_caching_allocator, METH_NOARGS, "Make NumPy use the allocator in this context."},
    {"empty", (PyCFunction)(void (*)(void))empty, METH_FASTCALL, "An uninitialised array without gaps."},
    {"restride", (PyCFunction)(void (*)(void))restride, METH_FASTCALL, "A view with other axes."},
    {"address", address, METH_O, "Where the first element is."},
    {"threads", get_threads, METH_NOARGS, "Threads that share the work of a kernel."},
    {"set_threads", set_threads, METH_O, "Share the work of a kernel among so many threads."},
    {"set_most_threads", set_most_threads, METH_O, "Among at most so many, no more than the caller has processors."},
    {"set_call_checks", set_call_checks, METH_O, "Whether kernels compare arrays with what they were bound to."},
    {"instruction_set", instruction_set, METH_NOARGS, "plain, avx2 or avx512."},
    {"set_instruction_set", set_instruction_set, METH_O, "Make kernels of another version from now on."},
    {"is_amd", is_amd, METH_NOARGS, "Whether AMD made the processor."},
    {"streamed_bytes", streamed_bytes, METH_NOARGS, "Bytes of a contraction's result that is written past the caches."},
    {"set_streamed_bytes", set_streamed_bytes, METH_O, "Write results from so many bytes on past the caches."},
    {"far_bytes", far_bytes, METH_NOARGS, "Bytes of all operands and the result from which main memory has them."},
    {NULL, NULL, 0, NULL},
};
