/* The extension module tensor_cpu._native: the functions of every topic, and the type of kernels. */
#include "core/arrays.h"
#include "core/kernel.h"
#include "core/topics.h"
#include "contraction/groups.h"
#include "contraction/pair.h"
#include "elementwise/elementwise_plan.h"

static PyMethodDef *const TOPICS[] = {
    blas_functions,     batched_simd_functions, lapack_functions,  memory_functions,   tiny_functions,
    semiring_functions, permute_functions,      convert_functions, gemm_functions,     pair_functions,
    products_functions, elementwise_functions,  reduce_functions,  sequence_functions, tiny_product_functions,
    copied_functions,   lines_functions,        taking_functions,
};

/* Limits that Python's binders keep to. */
static const struct {
    const char *name;
    long value;
} LIMITS[] = {
    {"CACHE_LINE", CACHE_LINE},       {"CACHED_BYTES", CACHED_BYTES},     {"MOST_AXES", MAX_RANK},
    {"PAIR_TABLE", PAIR_TABLE},       {"FEWEST_LANES", FEWEST_LANES},     {"LONGEST_TABLE", LONGEST_TABLE},
    {"MOST_OPERANDS", MOST_OPERANDS}, {"MOST_REGISTERS", MOST_REGISTERS}, {"MOST_INSTRUCTIONS", MOST_INSTRUCTIONS},
};

static int fill(PyObject *module) {
    if (arrays_import() < 0) return -1;
    for (size_t i = 0; i < sizeof TOPICS / sizeof *TOPICS; i++)
        if (PyModule_AddFunctions(module, TOPICS[i]) < 0) return -1;
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++)
        if (PyModule_AddIntConstant(module, LIMITS[i].name, LIMITS[i].value) < 0) return -1;
    return PyModule_AddType(module, &Kernel_Type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, /* there is one array_type */
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tensor_cpu._native",
    .m_doc = "Native kernels of the CPU backend; tensor_cpu.kernels binds them.",
    .m_size = 0,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void); /* found by its name */
PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
