/* A function of its own for setjmp: what it has itself does not change between that and longjmp, so nothing is lost. */
#include "guard.h"

static PyObject *guarded(Memory *memory, PyObject *(*make)(Memory *memory, void *data), void *data) {
    jmp_buf out;
    memory->out = &out;
    if (setjmp(out)) return PyErr_NoMemory();
    return make(memory, data);
}

PyObject *with_memory(PyObject *(*make)(Memory *memory, void *data), void *data) {
    Memory memory = {0};
    PyObject *result = guarded(&memory, make, data);
    memory_free(&memory);
    return result;
}
