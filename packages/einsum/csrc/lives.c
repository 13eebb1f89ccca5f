/* What tensor_einsum.slices.model is asked hundreds of times for each label that it cuts: bytes alive in every step of a path,
 * for results and extents as cuts leave them, and how far they are above a limit when one more label is cut. The same
 * numbers as the Python there; what does not fit 64 bits is left to that. */
#include "lives.h"
#include "guard.h"

typedef struct {
    int first, second; /* operands of the network, then results of steps; the second is -1 for none */
} Reads;

/* A path, as slices share results along it or not. */
typedef struct {
    int operands, steps, labels;
    const Reads *reads;
    Ints *terms;           /* labels of the operands, two for each step */
    Ints *written;         /* by label: the steps whose result has it */
    const uint8_t **under; /* by label: of every step, whether anything below it has the label */
    int64_t itemsize, result;
    bool shared;
} Path;

/* What cuts leave of it. */
typedef struct {
    int64_t *sizes;   /* of the results, in bytes */
    int64_t *extents; /* of the labels */
    uint8_t *varies;  /* of every step, whether each slice has its own */
    double *shares;   /* of every step, the workspace of its kernel in what it reads and writes */
} Cut;

typedef struct {
    Memory *memory;
    Path path;
    Cut cut;
    int64_t *alive; /* by operand and result */
    uint8_t *read;  /* of the same, whether slices read it */
    int64_t *lives; /* of the shared steps, then of those of a slice */
    bool overflows;
} Work;

/* What Python asks for. */
typedef struct {
    PyObject *path, *sizes, *varies, *extents, *shares, *labels;
    long long limit;
    int cuts;
} Asked;

static bool add(int64_t *sum, int64_t more) { return __builtin_add_overflow(*sum, more, sum); }

static int64_t workspace(Work *work, int step, const Cut *cut) {
    int64_t total = cut->sizes[step];
    for (int operand = 0; operand < 2; operand++) {
        const Ints *term = &work->path.terms[2 * step + operand];
        if (operand && work->path.reads[step].second < 0) break;
        int64_t bytes = work->path.itemsize;
        for (int i = 0; i < term->count; i++)
            work->overflows |= __builtin_mul_overflow(bytes, cut->extents[term->items[i]], &bytes);
        work->overflows |= add(&total, bytes);
    }
    const double share = cut->shares[step] * (double)total;
    if (share >= 0x1p62) work->overflows = true;
    return work->overflows ? 0 : (int64_t)share;
}

static void forget(Work *work, int operand, int64_t *now) {
    if (operand < 0) return;
    work->overflows |= __builtin_sub_overflow(*now, work->alive[operand], now);
    work->alive[operand] = 0;
}

/* Fills in the lives; `cuts` says whether there are slices, which add up a result. */
static void find_lives(Work *work, const Cut *cut, bool cuts) {
    const Path *path = &work->path;
    const int slots = path->operands + path->steps;
    memset(work->read, 0, (size_t)slots);
    for (int step = 0; step < path->steps; step++) {
        if (!cut->varies[step]) continue;
        work->read[path->reads[step].first] = 1;
        if (path->reads[step].second >= 0) work->read[path->reads[step].second] = 1;
    }
    int64_t held = 0, now = 0, *live = work->lives;
    for (int phase = 0; phase < 2; phase++) {
        memset(work->alive, 0, (size_t)slots * sizeof *work->alive);
        if (phase) {
            now = held;
            if (cuts) work->overflows |= add(&now, path->result);
        }
        for (int step = 0; step < path->steps; step++) {
            if ((cut->varies[step] != 0) != phase) continue;
            const int64_t size = cut->sizes[step];
            work->overflows |= add(&now, size);
            *live = now;
            if (cut->shares[step] != 0) work->overflows |= add(live, workspace(work, step, cut));
            live++;
            if (!phase && work->read[path->operands + step]) work->overflows |= add(&held, size);
            else work->alive[path->operands + step] = size;
            forget(work, path->reads[step].first, &now);
            forget(work, path->reads[step].second, &now);
        }
    }
}

static int64_t excess(Work *work, int64_t limit) {
    int64_t sum = 0;
    for (int step = 0; step < work->path.steps; step++)
        if (work->lives[step] > limit) work->overflows |= add(&sum, work->lives[step] - limit);
    return sum;
}

/* Numbers below a bound; false with an error set. */
static bool read_ints(Memory *memory, PyObject *numbers, int bound, Ints *found) {
    if (!PyList_Check(numbers) && !PyTuple_Check(numbers)) {
        PyErr_SetString(PyExc_TypeError, "labels and steps are lists or tuples of numbers");
        return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(numbers);
    *found = (Ints){.items = TAKE(memory, int, count + 1), .count = 0, .room = (int)count};
    for (Py_ssize_t i = 0; i < count; i++) {
        const long number = PyLong_AsLong(PySequence_Fast_GET_ITEM(numbers, i));
        if (number < 0 || number >= bound) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "number %ld of %d", number, bound);
            break;
        }
        found->items[found->count++] = (int)number;
    }
    return !PyErr_Occurred();
}

static bool read_step(Work *work, PyObject *operands, PyObject *inputs, int step, Reads *reads) {
    Path *path = &work->path;
    Ints found;
    if (!read_ints(work->memory, operands, path->operands + step, &found)) return false;
    if (found.count < 1 || found.count > 2 || !PyTuple_Check(inputs) || PyTuple_GET_SIZE(inputs) != found.count) {
        PyErr_SetString(PyExc_ValueError, "a step has one or two operands");
        return false;
    }
    *reads = (Reads){found.items[0], found.count > 1 ? found.items[1] : -1};
    for (int i = 0; i < found.count; i++)
        if (!read_ints(work->memory, PyTuple_GET_ITEM(inputs, i), path->labels, &path->terms[2 * step + i]))
            return false;
    return true;
}

static bool read_path(Work *work, PyObject *tuple) {
    PyObject *operands, *inputs, *written, *under, *result;
    Path *path = &work->path;
    long long itemsize;
    int shared, overflow;
    if (!PyArg_ParseTuple(tuple, "iO!O!O!O!LOp", &path->operands, &PyTuple_Type, &operands, &PyTuple_Type, &inputs,
                          &PyTuple_Type, &written, &PyTuple_Type, &under, &itemsize, &result, &shared))
        return false;
    path->result = PyLong_AsLongLongAndOverflow(result, &overflow);
    if (path->result == -1 && PyErr_Occurred()) return false;
    work->overflows |= overflow != 0;
    path->steps = (int)PyTuple_GET_SIZE(operands), path->labels = (int)PyTuple_GET_SIZE(written);
    path->itemsize = itemsize, path->shared = shared;
    if (path->operands < 0 || PyTuple_GET_SIZE(inputs) != path->steps || PyTuple_GET_SIZE(under) != path->labels) {
        PyErr_SetString(PyExc_ValueError, "parts of a path that do not belong together");
        return false;
    }
    Reads *reads = TAKE(work->memory, Reads, path->steps + 1);
    path->reads = reads;
    path->terms = ZEROS(work->memory, Ints, 2 * path->steps + 1);
    path->written = TAKE(work->memory, Ints, path->labels + 1);
    path->under = TAKE(work->memory, const uint8_t *, path->labels + 1);
    for (int step = 0; step < path->steps; step++)
        if (!read_step(work, PyTuple_GET_ITEM(operands, step), PyTuple_GET_ITEM(inputs, step), step, &reads[step]))
            return false;
    for (int label = 0; label < path->labels; label++) {
        char *bytes;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(under, label), &bytes, &length) < 0) return false;
        if (length != path->steps) {
            PyErr_SetString(PyExc_ValueError, "a byte is asked for of every step");
            return false;
        }
        path->under[label] = (const uint8_t *)bytes;
        if (!read_ints(work->memory, PyTuple_GET_ITEM(written, label), path->steps, &path->written[label]))
            return false;
    }
    return true;
}

/* Whole numbers of 64 bits from a list of so many; false where there are others, with an error set but for larger ones. */
static bool read_wide(Work *work, PyObject *list, int count, int64_t *numbers) {
    if (PyList_GET_SIZE(list) != count) {
        PyErr_SetString(PyExc_ValueError, "a number is asked for of every step and label");
        return false;
    }
    for (int i = 0; i < count; i++) {
        int overflow;
        numbers[i] = PyLong_AsLongLongAndOverflow(PyList_GET_ITEM(list, i), &overflow);
        if (numbers[i] == -1 && PyErr_Occurred()) return false;
        if (overflow) work->overflows = true;
    }
    return true;
}

static bool read_cut(Work *work, const Asked *asked) {
    const int steps = work->path.steps, labels = work->path.labels, slots = work->path.operands + steps;
    Cut *cut = &work->cut;
    cut->sizes = TAKE(work->memory, int64_t, steps + 1);
    cut->extents = TAKE(work->memory, int64_t, labels + 1);
    cut->shares = TAKE(work->memory, double, steps + 1);
    work->alive = TAKE(work->memory, int64_t, slots + 1);
    work->read = TAKE(work->memory, uint8_t, slots + 1);
    work->lives = TAKE(work->memory, int64_t, steps + 1);
    if (PyBytes_GET_SIZE(asked->varies) != steps || PyList_GET_SIZE(asked->shares) != steps) {
        PyErr_SetString(PyExc_ValueError, "a number is asked for of every step");
        return false;
    }
    cut->varies = (uint8_t *)PyBytes_AS_STRING(asked->varies);
    for (int step = 0; step < steps; step++) {
        cut->shares[step] = PyFloat_AsDouble(PyList_GET_ITEM(asked->shares, step));
        if (PyErr_Occurred()) return false;
    }
    return read_wide(work, asked->sizes, steps, cut->sizes) && read_wide(work, asked->extents, labels, cut->extents);
}

static PyObject *list_of_lives(const Work *work) {
    PyObject *list = PyList_New(work->path.steps);
    for (int step = 0; list && step < work->path.steps; step++) {
        PyObject *live = PyLong_FromLongLong(work->lives[step]);
        if (!live) Py_CLEAR(list);
        else PyList_SET_ITEM(list, step, live);
    }
    return list;
}

static PyObject *lives_in(Memory *memory, void *data) {
    const Asked *asked = data;
    Work work = {.memory = memory};
    if (!read_path(&work, asked->path) || !read_cut(&work, asked)) return NULL;
    if (!work.overflows) find_lives(&work, &work.cut, asked->cuts);
    if (work.overflows) Py_RETURN_NONE;
    return list_of_lives(&work);
}

PyObject *lives(PyObject *module, PyObject *args) {
    Asked asked = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!SO!O!p", &PyTuple_Type, &asked.path, &PyList_Type, &asked.sizes, &asked.varies,
                          &PyList_Type, &asked.extents, &PyList_Type, &asked.shares, &asked.cuts))
        return NULL;
    return with_memory(lives_in, &asked);
}

/* Another cut: of a label into parts of one; whether that makes a result smaller. */
static bool cut_label(const Work *work, int label, Cut *tried) {
    const Path *path = &work->path;
    const int64_t extent = work->cut.extents[label];
    memcpy(tried->sizes, work->cut.sizes, (size_t)path->steps * sizeof *tried->sizes);
    bool smaller = false;
    for (int i = 0; i < path->written[label].count; i++) {
        int64_t *size = &tried->sizes[path->written[label].items[i]];
        smaller |= *size / extent != *size;
        *size /= extent;
    }
    for (int step = 0; path->shared && step < path->steps; step++)
        tried->varies[step] = work->cut.varies[step] | path->under[label][step];
    tried->extents[label] = 1;
    return smaller;
}

static PyObject *list_of_excesses(Work *work, int64_t limit, const Ints *labels) {
    Cut tried = work->cut;
    tried.sizes = TAKE(work->memory, int64_t, work->path.steps + 1);
    tried.varies = TAKE(work->memory, uint8_t, work->path.steps + 1);
    memset(tried.varies, 1, (size_t)work->path.steps);
    PyObject *list = PyList_New(labels->count);
    for (int i = 0; list && i < labels->count; i++) {
        const int label = labels->items[i];
        const int64_t extent = work->cut.extents[label];
        const bool smaller = extent > 0 && cut_label(work, label, &tried);
        if (smaller) find_lives(work, &tried, true);
        PyObject *found = smaller ? PyLong_FromLongLong(excess(work, limit)) : Py_NewRef(Py_None);
        work->cut.extents[label] = extent; /* both cuts have the same extents */
        if (!found) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, found);
    }
    return list;
}

static PyObject *excesses_in(Memory *memory, void *data) {
    const Asked *asked = data;
    Work work = {.memory = memory};
    Ints labels;
    if (!read_path(&work, asked->path) || !read_cut(&work, asked)) return NULL;
    if (!read_ints(memory, asked->labels, work.path.labels, &labels)) return NULL;
    PyObject *found = work.overflows ? NULL : list_of_excesses(&work, asked->limit, &labels);
    if (!work.overflows || PyErr_Occurred()) return found;
    Py_XDECREF(found);
    Py_RETURN_NONE;
}

PyObject *excesses(PyObject *module, PyObject *args) {
    Asked asked = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!SO!O!LO", &PyTuple_Type, &asked.path, &PyList_Type, &asked.sizes, &asked.varies,
                          &PyList_Type, &asked.extents, &PyList_Type, &asked.shares, &asked.limit, &asked.labels))
        return NULL;
    return with_memory(excesses_in, &asked);
}
