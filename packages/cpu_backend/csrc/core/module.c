/* The extension module tensor_cpu._native: the functions of every topic, and the type of kernels. */
#include "core/arrays.h"
#include "core/kernel.h"
#include "core/topics.h"
#include "calls/call.h"
#include "contraction/groups.h"
#include "contraction/pair.h"
#include "contraction/stack.h"
#include "elementwise/elementwise_plan.h"
#include "reduction/reduce.h"

/* clang-format off */
static PyMethodDef *const TOPICS[] = {
    batched_simd_functions,
    blas_functions,
    convert_functions,
    copied_functions,
    scattered_functions,
    elementwise_functions,
    factorization_functions,
    gemm_functions,
    joined_functions,
    padded_functions,
    rolled_functions,
    triangle_functions,
    lapack_functions,
    lines_functions,
    loop_functions,
    memory_functions,
    order_functions,
    pair_functions,
    permute_functions,
    places_functions,
    products_functions,
    reduce_functions,
    search_functions,
    sorting_functions,
    semiring_functions,
    sequence_functions,
    stack_functions,
    substitution_functions,
    taking_functions,
    turned_functions,
    spaced_functions,
    random_functions,
    normalization_functions,
    tiny_functions,
    view_functions,
    tiny_product_functions,
};
/* clang-format on */

/* Limits that Python's binders keep to. */
static const struct {
    const char *name;
    long value;
} LIMITS[] = {
    {"CACHE_LINE", CACHE_LINE},
    {"CACHED_BYTES", CACHED_BYTES},
    {"MOST_AXES", MAX_RANK},
    {"PAIR_TABLE", PAIR_TABLE},
    {"FEWEST_LANES", FEWEST_LANES},
    {"SHORTEST_RUN", SHORTEST_RUN},
    {"FEWEST_PACKED", FEWEST_PACKED},
    {"PACKED_BYTES", PACKED_BYTES},
    {"LONGEST_TABLE", LONGEST_TABLE},
    {"MOST_OPERANDS", MOST_OPERANDS},
    {"MOST_REGISTERS", MOST_REGISTERS},
    {"MOST_INSTRUCTIONS", MOST_INSTRUCTIONS},
    {"MOST_PACKED_BYTES", MOST_PACKED_BYTES},
    {"FARTHEST_NEXT", FARTHEST_NEXT},
    {"REPEATING_ROW", REPEATING_ROW},
    {"LONG_LANES", LONG_LANES},
};

static int fill(PyObject *module) {
    if (arrays_import() < 0) return -1;
    for (size_t i = 0; i < sizeof TOPICS / sizeof *TOPICS; i++)
        if (PyModule_AddFunctions(module, TOPICS[i]) < 0) return -1;
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++)
        if (PyModule_AddIntConstant(module, LIMITS[i].name, LIMITS[i].value) < 0) return -1;
    if (calls_add_to(module) < 0) return -1;
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
