/* Words of Philox4x64-10, and the numbers that tensor_runtime.ops.random makes of them: J. K. Salmon, M. A. Moraes,
 * R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 *
 * Word k of a distribution is word k mod 4 of the block whose counter is (k / 4, 0, domain, 0), so every thread starts
 * where it likes.
 */
#include "core/arguments.h"
#include "core/kernel.h"
#include "core/threads.h"
#include "core/topics.h"
#include "random/draws.h"
#include "random/normal.h"

enum { ROUNDS = 10, BLOCK_WORDS = 4 }; /* words */

__extension__ typedef unsigned __int128 Wide;

typedef struct {
    uint64_t words[BLOCK_WORDS];
} Block;

static inline Block block_of(const Draw *draw, uint64_t place) {
    const uint64_t multipliers[] = {0xD2E7470EE14C6C93, 0xCA5A826395121157};
    uint64_t a = place, b = 0, c = draw->domain, d = 0, seed = draw->seed, stream = draw->stream;
    for (int round = 0; round < ROUNDS; round++) {
        const Wide low = (Wide)multipliers[0] * a, high = (Wide)multipliers[1] * c;
        a = (uint64_t)(high >> 64) ^ b ^ seed;
        b = (uint64_t)high;
        c = (uint64_t)(low >> 64) ^ d ^ stream;
        d = (uint64_t)low;
        seed += 0x9E3779B97F4A7C15;
        stream += 0xBB67AE8584CAA73B;
    }
    return (Block){{a, b, c, d}};
}

/* The numbers of the blocks begin to end: TO of each word. */
#define DRAWN(name, T, TO)                                                                                             \
    static void name(void *context, Index begin, Index end) {                                                          \
        const Draw draw = *(const Draw *)context;                                                                      \
        T *d = (T *)draw.result + begin * BLOCK_WORDS;                                                                 \
        for (Index place = begin; place < end; place++, d += BLOCK_WORDS) {                                            \
            const Block block = block_of(&draw, (uint64_t)place);                                                      \
            const Index left = smaller(draw.count - place * BLOCK_WORDS, BLOCK_WORDS);                                 \
            for (Index k = 0; k < left; k++) {                                                                         \
                const uint64_t word = block.words[k];                                                                  \
                d[k] = (T)(TO);                                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }

/* The shifted word has one bit less than the significand, so adding a half and scaling are exact. */
DRAWN(uniform_f32, float, ((float)(word >> 41) + 0.5f) * 0x1p-23f)
DRAWN(uniform_f64, double, ((double)(word >> 12) + 0.5) * 0x1p-52)
DRAWN(integers_i32, uint32_t, draw.low + (draw.number ? (uint64_t)((Wide)word * draw.number >> 64) : word))
DRAWN(integers_i64, uint64_t, draw.low + (draw.number ? (uint64_t)((Wide)word * draw.number >> 64) : word))

/* The numbers of the groups begin to end, each of NORMALS words; the last one may be wanted in part. */
#define NORMAL_NUMBERS(name, T)                                                                                        \
    static void name(void *context, Index begin, Index end) {                                                          \
        const Draw draw = *(const Draw *)context;                                                                      \
        for (Index group = begin; group < end; group++) {                                                              \
            Block blocks[NORMALS / BLOCK_WORDS];                                                                       \
            double numbers[NORMALS];                                                                                   \
            for (int k = 0; k < NORMALS / BLOCK_WORDS; k++)                                                            \
                blocks[k] = block_of(&draw, (uint64_t)(group * (NORMALS / BLOCK_WORDS) + k));                          \
            SIMD_CHOICE(normal_kernels)->normals((const uint64_t *)blocks, numbers);                                   \
            const Index left = smaller(draw.count - group * NORMALS, NORMALS);                                         \
            T *d = (T *)draw.result + group * NORMALS;                                                                 \
            for (Index k = 0; k < left; k++) d[k] = (T)numbers[k];                                                     \
        }                                                                                                              \
    }

NORMAL_NUMBERS(normal_f32, float)
NORMAL_NUMBERS(normal_f64, double)

/* What fills elements of a type; NULL where the domain does not give such elements. */
static ParallelBody body_of(uint64_t domain, ElementType type) {
    const bool single = type == F32 || type == C32, twice = type == F64 || type == C64;
    if (domain == INTEGERS) return type == I32 ? integers_i32 : type == I64 ? integers_i64 : NULL;
    if (domain == UNIFORM) return single ? uniform_f32 : twice ? uniform_f64 : NULL;
    return single ? normal_f32 : twice ? normal_f64 : NULL;
}

static int piece_of(uint64_t domain) { return domain == NORMAL ? NORMALS : BLOCK_WORDS; }

bool draw_here(Draw *draw, ElementType type) {
    const ParallelBody body = body_of(draw->domain, type);
    if (body == NULL) return false;
    body(draw, 0, pieces(draw->count, piece_of(draw->domain)));
    return true;
}

static PyObject *drawn(Draw *draw, ElementType type, const char *refusal) {
    const ParallelBody body = body_of(draw->domain, type);
    if (body == NULL) return PyErr_Format(PyExc_ValueError, "%s", refusal);
    const int piece = piece_of(draw->domain);
    const Index blocks = pieces(draw->count, piece), grain = DRAWN_AT_ONCE / piece;
    if (draw->count <= DRAWN_AT_ONCE) {
        parallel_for(blocks, grain, body, draw);
    } else {
        Py_BEGIN_ALLOW_THREADS parallel_for(blocks, grain, body, draw);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* The array to be written, seed and stream; -1 with an exception set, else the type of the elements. */
static int begin(Draw *draw, const char *name, PyObject *const *arguments) {
    if (!is_array(arguments[0]) || !array_is_writable(arguments[0]) || !array_is_gapless(arguments[0])) {
        PyErr_Format(PyExc_TypeError, "%s: an array without gaps, which is written", name);
        return -1;
    }
    draw->seed = PyLong_AsUnsignedLongLong(arguments[1]);
    if (PyErr_Occurred()) return -1;
    draw->stream = PyLong_AsUnsignedLongLong(arguments[2]);
    if (PyErr_Occurred()) return -1;
    draw->count = array_size(arguments[0]);
    draw->result = array_data(arguments[0]);
    return array_element_type(arguments[0]);
}

/* Floats, each part of a complex one by itself. */
static PyObject *floats_drawn(const char *name, const char *refusal, PyObject *const *arguments, Py_ssize_t count,
                              uint64_t domain) {
    if (!arguments_count(name, count, 3, "an array, seed and stream")) return NULL;
    Draw draw = {.domain = domain};
    const int type = begin(&draw, name, arguments);
    if (PyErr_Occurred()) return NULL;
    if (type == C32 || type == C64) draw.count *= 2;
    return drawn(&draw, (ElementType)type, refusal);
}

/* fill_uniform(array, seed, stream): numbers on (0, 1) */
static PyObject *fill_uniform(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    return floats_drawn("fill_uniform", "fill_uniform: an array of floats", arguments, count, UNIFORM);
}

/* fill_normal(array, seed, stream): numbers of the standard normal distribution */
static PyObject *fill_normal(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    return floats_drawn("fill_normal", "fill_normal: an array of floats", arguments, count, NORMAL);
}

/* fill_integers(array, seed, stream, low, number): from low on, so many of them; 0 stands for 2 to the power of 64 */
static PyObject *fill_integers(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (!arguments_count("fill_integers", count, 5, "an array, seed, stream, the lowest and how many")) return NULL;
    Draw draw = {.domain = INTEGERS};
    const int type = begin(&draw, "fill_integers", arguments);
    if (PyErr_Occurred()) return NULL;
    draw.low = PyLong_AsUnsignedLongLongMask(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    draw.number = PyLong_AsUnsignedLongLong(arguments[4]);
    if (PyErr_Occurred()) return NULL;
    return drawn(&draw, (ElementType)type, "fill_integers: an array of integers");
}

PyMethodDef random_functions[] = {
    {"fill_uniform", (PyCFunction)(void (*)(void))fill_uniform, METH_FASTCALL, "Numbers on (0, 1)."},
    {"fill_integers", (PyCFunction)(void (*)(void))fill_integers, METH_FASTCALL, "Integers from a range."},
    {"fill_normal", (PyCFunction)(void (*)(void))fill_normal, METH_FASTCALL, "Numbers of the normal distribution."},
    {NULL, NULL, 0, NULL},
};
