/* Fills the table of BLAS and LAPACK functions.
 *
 * A shared library is opened with dlopen, which for one that is loaded already only counts a reference; symbols are
 * looked up in it and in what it depends on, so the path of an extension module linked to an OpenBLAS finds that
 * OpenBLAS. Nobody else finds the symbols of a library that only we have opened. SciPy offers its functions as capsules
 * instead, whose names are their C signatures.
 */
#include "core/blas.h"
#include "core/blas_threads.h"
#include "core/topics.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "integers of 32 bits are passed as the low half of longer ones"
#endif

typedef struct {
    const char *name;
    size_t place; /* of the function in the table, in bytes */
} Function;

#define OF_TYPES(name, field)                                                                                          \
    {"s" name, offsetof(Blas, field[0])}, {"d" name, offsetof(Blas, field[1])}, {"c" name, offsetof(Blas, field[2])},  \
    {                                                                                                                  \
        "z" name, offsetof(Blas, field[3])                                                                             \
    }

/* LAPACK; the second name is that of the routine for complex matrices. */
#define OF_ALL(real, other, field)                                                                                     \
    {"s" real, offsetof(Blas, lapack.field[0])}, {"d" real, offsetof(Blas, lapack.field[1])},                          \
        {"c" other, offsetof(Blas, lapack.field[2])}, {                                                                \
        "z" other, offsetof(Blas, lapack.field[3])                                                                     \
    }
#define OF_KINDS(name)                                                                                                 \
    {"s" #name, offsetof(Blas, lapack.real_##name[0])}, {"d" #name, offsetof(Blas, lapack.real_##name[1])},            \
        {"c" #name, offsetof(Blas, lapack.complex_##name[0])}, {                                                       \
        "z" #name, offsetof(Blas, lapack.complex_##name[1])                                                            \
    }

static const Function FUNCTIONS[] = {
    OF_TYPES("gemm", gemm),
    OF_TYPES("gemv", gemv),
    OF_TYPES("syrk", syrk),
    OF_TYPES("trsm", trsm),
    OF_TYPES("trsv", trsv),
    {"sdot", offsetof(Blas, sdot)},
    {"ddot", offsetof(Blas, ddot)},
    OF_ALL("potrf", "potrf", potrf),
    OF_ALL("getrf", "getrf", getrf),
    OF_ALL("getrs", "getrs", getrs),
    OF_ALL("gesv", "gesv", gesv),
    OF_ALL("getri", "getri", getri),
    {"ssyevd", offsetof(Blas, lapack.real_syevd[0])},
    {"dsyevd", offsetof(Blas, lapack.real_syevd[1])},
    {"cheevd", offsetof(Blas, lapack.complex_heevd[0])},
    {"zheevd", offsetof(Blas, lapack.complex_heevd[1])},
    {"sstedc", offsetof(Blas, lapack.stedc[0])},
    {"dstedc", offsetof(Blas, lapack.stedc[1])},
    {"sbdsdc", offsetof(Blas, lapack.bdsdc[0])},
    {"dbdsdc", offsetof(Blas, lapack.bdsdc[1])},
    OF_KINDS(gesdd),
    OF_ALL("sytrf", "hetrf", sytrf),
    OF_ALL("geqrf", "geqrf", geqrf),
    OF_ALL("orgqr", "ungqr", orgqr),
    OF_KINDS(geqp3),
    OF_ALL("gehrd", "gehrd", gehrd),
    OF_ALL("orghr", "unghr", orghr),
    OF_KINDS(gees),
    OF_KINDS(geev),
    OF_ALL("sytrd", "hetrd", sytrd),
    OF_ALL("stemr", "stemr", stemr),
    OF_ALL("ormtr", "unmtr", ormtr),
    OF_ALL("gbsv", "gbsv", gbsv),
};
enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS, LONGEST_NAME = 128 };

static struct {
    Blas table;
    int bits; /* 0 while the table is not full */
} blas;

const Blas *blas_table(void) { return blas.bits ? &blas.table : NULL; }

BlasInt blas_integer(const BlasInt *written, Index index) {
    if (blas.bits == 64) return written[index];
    int32_t narrow;
    memcpy(&narrow, (const char *)written + sizeof narrow * (size_t)index, sizeof narrow);
    return narrow;
}

/* An OpenBLAS starts as many threads as its process may use processors, when it is loaded. One of our own shall have
 * none, so meanwhile the calling thread, and no other, may use a single one. */
static void *open_with_one_processor(const char *name) {
#if defined(__linux__)
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) == 0) {
        size_t processor = 0;
        while (processor + 1 < CPU_SETSIZE && !CPU_ISSET(processor, &all)) processor++;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0) {
            void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
            sched_setaffinity(0, sizeof all, &all);
            return library;
        }
    }
#endif
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* The library stays open: the table points into it. */
static void *open_library(PyObject *path, bool ours) {
    const char *name = PyUnicode_AsUTF8(path);
    if (name == NULL) return NULL;
    void *library = ours ? open_with_one_processor(name) : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) PyErr_Format(PyExc_OSError, "%s", dlerror());
    return library;
}

/* Makes this the table. Kernels may be reading the one there is without the GIL, so there is no second. */
static PyObject *use(const Blas *found, int bits) {
    if (blas.bits) return PyErr_Format(PyExc_RuntimeError, "a BLAS library is open already");
    blas.table = *found;
    blas.bits = bits;
    blas_control(SHARED, NULL, NULL, NULL, NULL); /* until its threads are known */
    Py_RETURN_NONE;
}

/* Finds every function as PREFIXnameSUFFIX; the name of the first one missing, or None when all are there. */
static PyObject *open_blas(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *path;
    const char *prefix, *suffix;
    int bits, ours;
    Blas found;
    if (!PyArg_ParseTuple(arguments, "Ussip:blas_open", &path, &prefix, &suffix, &bits, &ours)) return NULL;
    if (bits != 32 && bits != 64) return PyErr_Format(PyExc_ValueError, "integers of %d bits are not supported", bits);
    void *library = open_library(path, ours);
    if (library == NULL) return NULL;
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        char name[LONGEST_NAME];
        snprintf(name, sizeof name, "%s%s%s", prefix, FUNCTIONS[i].name, suffix);
        void *function = dlsym(library, name);
        if (function == NULL) return PyUnicode_FromString(name);
        memcpy((char *)&found + FUNCTIONS[i].place, &function, sizeof function);
    }
    return use(&found, bits);
}

/* Takes every function from mappings of names to capsules; integers have 32 bits. */
static PyObject *provide(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *mappings;
    Blas found;
    if (!PyArg_ParseTuple(arguments, "O!:blas_provide", &PyTuple_Type, &mappings)) return NULL;
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        PyObject *capsule = NULL;
        for (Py_ssize_t k = 0; capsule == NULL && k < PyTuple_GET_SIZE(mappings); k++) {
            capsule = PyMapping_GetItemString(PyTuple_GET_ITEM(mappings, k), FUNCTIONS[i].name);
            if (capsule == NULL && !PyErr_ExceptionMatches(PyExc_KeyError)) return NULL;
            PyErr_Clear();
        }
        if (capsule == NULL) return PyErr_Format(PyExc_KeyError, "%s", FUNCTIONS[i].name);
        const char *signature = PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : NULL;
        if (signature == NULL || strstr(signature, "int *") == NULL) {
            PyErr_Format(PyExc_ValueError, "%s: %R is no capsule of a function of int *", FUNCTIONS[i].name, capsule);
            Py_DECREF(capsule);
            return NULL;
        }
        void *function = PyCapsule_GetPointer(capsule, signature);
        Py_DECREF(capsule); /* the module that made it keeps it */
        if (function == NULL) return NULL;
        memcpy((char *)&found + FUNCTIONS[i].place, &function, sizeof function);
    }
    return use(&found, 32);
}

/* Finds the functions int get(void) and void set(int) of the library's threads and, where it is named, int here(int)
 * for those of the calling thread; the path of the library that has them, or None. */
static PyObject *control_threads(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *path;
    const char *getter, *setter, *here;
    int ours;
    Dl_info place;
    int (*get)(void), (*set_here)(int) = NULL;
    void (*set)(int);
    if (!PyArg_ParseTuple(arguments, "Usssp:blas_control_threads", &path, &getter, &setter, &here, &ours)) return NULL;
    void *library = open_library(path, false);
    if (library == NULL) return NULL;
    void *found_get = dlsym(library, getter), *found_set = dlsym(library, setter);
    void *found_here = *here ? dlsym(library, here) : NULL;
    if (found_get == NULL || found_set == NULL || (*here && found_here == NULL) || dladdr(found_set, &place) == 0)
        Py_RETURN_NONE;
    memcpy(&get, &found_get, sizeof get);
    memcpy(&set, &found_set, sizeof set);
    memcpy(&set_here, &found_here, sizeof set_here);
    void *found_place = dlsym(library, "openblas_setaffinity"); /* spelled so whatever the others' prefix is */
    SetAffinity *set_place;
    memcpy(&set_place, &found_place, sizeof set_place);
    blas_control(found_here != NULL ? PER_CALLER : ours ? OURS : SHARED, get, set, set_here, set_place);
    return PyUnicode_DecodeFSDefault(place.dli_fname);
}

/* Whether a library is loaded already, by somebody else. */
static PyObject *is_loaded(PyObject *module, PyObject *path) {
    (void)module;
    const char *name = PyUnicode_AsUTF8(path);
    if (name == NULL) return NULL;
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (library == NULL) Py_RETURN_FALSE;
    dlclose(library);
    Py_RETURN_TRUE;
}

static PyObject *get_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(blas_threads());
}

PyMethodDef blas_functions[] = {
    {"blas_open", open_blas, METH_VARARGS, "Take BLAS and LAPACK from a shared library, once."},
    {"blas_provide", provide, METH_VARARGS, "Take BLAS and LAPACK from capsules, once."},
    {"blas_control_threads", control_threads, METH_VARARGS, "Find the functions for the library's threads."},
    {"blas_is_loaded", is_loaded, METH_O, "Whether a shared library is loaded."},
    {"blas_threads", get_threads, METH_NOARGS, "Threads of the library, 0 if unknown."},
    {NULL, NULL, 0, NULL},
};
