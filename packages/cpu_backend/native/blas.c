/* Fills the table of LAPACK functions, and holds the library's own threads back where ours call it.
 *
 * A shared library is opened with dlopen, which for one that is loaded already only counts a reference; symbols are
 * looked up in it and in what it depends on, so the path of an extension module linked to an OpenBLAS finds that
 * OpenBLAS. SciPy offers its functions as capsules instead, whose names are their C signatures.
 */
#include "blas.h"
#include "topics.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "integers of 32 bits are passed as the low half of longer ones"
#endif

typedef struct {
    const char *name;
    size_t place; /* of the function in the table, in bytes */
} Function;

static const Function FUNCTIONS[] = {
    {"dpotrf", offsetof(Blas, potrf[0])},  {"zpotrf", offsetof(Blas, potrf[1])},
    {"dgetrf", offsetof(Blas, getrf[0])},  {"zgetrf", offsetof(Blas, getrf[1])},
    {"dgetrs", offsetof(Blas, getrs[0])},  {"zgetrs", offsetof(Blas, getrs[1])},
    {"dgesv", offsetof(Blas, gesv[0])},    {"zgesv", offsetof(Blas, gesv[1])},
    {"dgetri", offsetof(Blas, getri[0])},  {"zgetri", offsetof(Blas, getri[1])},
    {"dgeqrf", offsetof(Blas, geqrf[0])},  {"zgeqrf", offsetof(Blas, geqrf[1])},
    {"dorgqr", offsetof(Blas, orgqr[0])},  {"zungqr", offsetof(Blas, orgqr[1])},
    {"dsyevd", offsetof(Blas, syevd)},     {"zheevd", offsetof(Blas, heevd)},
    {"dgesdd", offsetof(Blas, dgesdd)},    {"zgesdd", offsetof(Blas, zgesdd)},
};
enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS, LONGEST_NAME = 128 };

static struct {
    Blas table;
    int bits; /* 0 while the table is not full */
    int (*get_threads)(void);
    void (*set_threads)(int);
    pthread_mutex_t lock; /* guards what follows */
    int alone;            /* calls of blas_alone_begin that have not ended */
    int former_threads;   /* of the library, for when they have */
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) { pthread_mutex_lock(&blas.lock); }
static void unlock(void) { pthread_mutex_unlock(&blas.lock); }

const Blas *blas_table(void) { return blas.bits ? &blas.table : NULL; }

BlasInt blas_integer(const BlasInt *written, Index index) {
    if (blas.bits == 64) return written[index];
    int32_t narrow;
    memcpy(&narrow, (const char *)written + sizeof narrow * (size_t)index, sizeof narrow);
    return narrow;
}

bool blas_alone_begin(void) {
    if (blas.set_threads == NULL) return false;
    lock();
    if (blas.alone++ == 0) {
        blas.former_threads = blas.get_threads();
        if (blas.former_threads != 1) blas.set_threads(1);
    }
    unlock();
    return true;
}

void blas_alone_end(void) {
    lock();
    if (--blas.alone == 0 && blas.former_threads != 1) blas.set_threads(blas.former_threads);
    unlock();
}

/* In the child of a fork only the forking thread lives on: calls of other threads never end. */
static void start_anew(void) {
    pthread_mutex_init(&blas.lock, NULL);
    if (blas.alone && blas.former_threads != 1) blas.set_threads(blas.former_threads);
    blas.alone = 0;
}

__attribute__((constructor)) static void survive_forks(void) { pthread_atfork(lock, unlock, start_anew); }

static void *open_library(PyObject *path) {
    const char *name = PyUnicode_AsUTF8(path);
    void *library = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL; /* stays open: the table points into it */
    if (name && library == NULL) PyErr_Format(PyExc_OSError, "%s", dlerror());
    return library;
}

/* Makes this the table. Kernels may be reading the one there is without the GIL, so there is no second. */
static PyObject *use(const Blas *found, int bits) {
    if (blas.bits) return PyErr_Format(PyExc_RuntimeError, "a LAPACK library is open already");
    blas.table = *found;
    blas.bits = bits;
    Py_RETURN_NONE;
}

/* Finds every function as PREFIXnameSUFFIX; the name of the first one missing, or None when all are there. */
static PyObject *open_blas(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *path;
    const char *prefix, *suffix;
    int bits;
    Blas found;
    if (!PyArg_ParseTuple(arguments, "Ussi:blas_open", &path, &prefix, &suffix, &bits)) return NULL;
    if (bits != 32 && bits != 64) return PyErr_Format(PyExc_ValueError, "integers of %d bits are not supported", bits);
    void *library = open_library(path);
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

/* Finds the functions int get(void) and void set(int) of the library's threads; the path of the library that has them,
 * or None. */
static PyObject *control_threads(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *path;
    const char *getter, *setter;
    Dl_info place;
    if (!PyArg_ParseTuple(arguments, "Uss:blas_control_threads", &path, &getter, &setter)) return NULL;
    void *library = open_library(path);
    if (library == NULL) return NULL;
    void *get = dlsym(library, getter), *set = dlsym(library, setter);
    if (get == NULL || set == NULL || dladdr(set, &place) == 0) Py_RETURN_NONE;
    lock();
    memcpy(&blas.get_threads, &get, sizeof get);
    memcpy(&blas.set_threads, &set, sizeof set);
    unlock();
    return PyUnicode_DecodeFSDefault(place.dli_fname);
}

/* Threads of the library, 0 if it does not tell. */
static PyObject *get_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    lock();
    int count = blas.get_threads == NULL ? 0 : blas.alone ? blas.former_threads : blas.get_threads();
    unlock();
    return PyLong_FromLong(count);
}

static PyObject *set_threads(PyObject *module, PyObject *count) {
    (void)module;
    const long given = PyLong_AsLong(count);
    if (given == -1 && PyErr_Occurred()) return NULL;
    const int wanted = given < 1 ? 1 : given > INT_MAX ? INT_MAX : (int)given;
    lock();
    if (blas.alone) blas.former_threads = wanted;
    else if (blas.set_threads != NULL) blas.set_threads(wanted);
    unlock();
    Py_RETURN_NONE;
}

PyMethodDef blas_functions[] = {
    {"blas_open", open_blas, METH_VARARGS, "Take LAPACK from a shared library, once."},
    {"blas_provide", provide, METH_VARARGS, "Take LAPACK from capsules, once."},
    {"blas_control_threads", control_threads, METH_VARARGS, "Find the functions for the library's threads."},
    {"blas_threads", get_threads, METH_NOARGS, "Threads of the library, 0 if unknown."},
    {"blas_set_threads", set_threads, METH_O, "Let the library use so many threads."},
    {NULL, NULL, 0, NULL},
};
