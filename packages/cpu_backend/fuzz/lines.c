/* Running sums, places of extremes, and folds of short lines beside a loop over elements. Functions of floats are beside
 * themselves: the same lines side by side in memory, and as columns. */
#include "fuzz.h"
#include "lines/lines.h"
#include "lines/normalization.h"

#include <math.h>

enum { MOST_LINES = 70, MOST_LENGTH = 100 };

static Number at(ElementType type, const char *elements, Index place) {
    return number_read(type, elements + place * ELEMENT_BYTES[type]);
}

/* Of running sums and products. */
static ElementType type_made(ElementType type) { return type == I32 || type == BOOL ? I64 : type; }

/* Beside one element after the other. */
static void check_line(LineOperation operation, ElementType type, Index length, const char *source, Index step,
                       const char *result, Index result_step) {
    const ElementType made = type_made(type);
    Number held = at(type, source, 0);
    Index place = 0;
    for (Index k = 0; k < length; k++) {
        const Number x = at(type, source, k * step);
        if (operation == CUMSUM && k > 0) held = number_plus(made, held, x);
        if (operation == CUMPROD && k > 0) held = number_times(made, held, x);
        if ((operation == ARGMAX && x.re > held.re) || (operation == ARGMIN && x.re < held.re)) held = x, place = k;
        if (operation >= CUMSUM) CHECK(number_equal(at(made, result, k * result_step), held));
    }
    if (operation < CUMSUM) CHECK(at(I64, result, 0).re == place);
}

static char *elements_drawn(LineOperation operation, ElementType type, Index count) {
    char *elements = room_for(count * ELEMENT_BYTES[type]);
    for (Index i = 0; i < count; i++)
        number_write(type, elements + i * ELEMENT_BYTES[type],
                     operation == CUMPROD ? unit_drawn(type) : number_drawn(type));
    return elements;
}

static void check_exactly(const LineKernels *kernels, LineOperation operation, ElementType type) {
    const bool along = one_in(2), finds = operation < CUMSUM;
    const Index length = one_in(20) ? draw(1, 5000) : draw(1, MOST_LENGTH), lines = draw(1, MOST_LINES);
    const Index stride = along ? 1 : lines + draw(0, 5), count = along ? lines * length : (length - 1) * stride + lines;
    const Index step = along ? 1 : stride, from = along ? length : 1;
    const Index item = ELEMENT_BYTES[finds ? I64 : type_made(type)], bytes = ELEMENT_BYTES[type];
    char *source = elements_drawn(operation, type, count), *result = room_for((finds ? lines : count) * item);
    void *scratch = aligned_room(LINE_SCRATCH);
    if (along) kernels->along[operation][type](lines, length, source, result, scratch);
    else kernels->across[operation][type](length, lines, stride, source, result, scratch);
    for (Index line = 0; line < lines; line++)
        check_line(operation, type, length, source + line * from * bytes, step,
                   result + (finds ? line : line * from) * item, step);
}

static double value(ElementType type, const char *element) {
    float single;
    double twice;
    if (type == F32) {
        memcpy(&single, element, sizeof single);
        return (double)single;
    }
    memcpy(&twice, element, sizeof twice);
    return twice;
}

static void check_softmax(const LineKernels *kernels, LineOperation operation, ElementType type) {
    const Index length = draw(1, MOST_LENGTH), lines = draw(1, MOST_LINES), count = lines * length;
    const Index bytes = ELEMENT_BYTES[type];
    char *source = numbers_drawn(type, count), *turned = room_for(count * bytes);
    char *along = room_for(count * bytes), *across = room_for(count * bytes);
    void *scratch = aligned_room(LINE_SCRATCH);
    for (Index line = 0; line < lines; line++)
        for (Index k = 0; k < length; k++)
            memcpy(turned + (k * lines + line) * bytes, source + (line * length + k) * bytes, (size_t)bytes);
    kernels->along[operation][type](lines, length, source, along, scratch);
    kernels->across[operation][type](length, lines, lines, turned, across, scratch);
    for (Index line = 0; line < lines; line++)
        for (Index k = 0; k < length; k++) {
            const double x = value(type, along + (line * length + k) * bytes);
            const double y = value(type, across + (k * lines + line) * bytes);
            CHECK(fabs(x - y) <= (type == F32 ? 1e-5 : 1e-13) * (1 + fabs(x)));
        }
}

/* Along and across beside sums of one element after the other. */
static void check_normalization(ElementType type) {
    const NormalizationKernels *kernels = SIMD_CHOICE(normalization_kernels);
    const Normalization operation = (Normalization)draw(0, NORMALIZATIONS - 1);
    const Index length = one_in(20) ? draw(1, 5000) : draw(1, MOST_LENGTH), lines = draw(1, MOST_LINES);
    const Index count = lines * length, bytes = ELEMENT_BYTES[type];
    char *source = numbers_drawn(type, count), *turned = room_for(count * bytes);
    char *along = room_for(count * bytes), *across = room_for(count * bytes);
    void *scratch = aligned_room(LINE_SCRATCH);
    for (Index line = 0; line < lines; line++)
        for (Index k = 0; k < length; k++)
            memcpy(turned + (k * lines + line) * bytes, source + (line * length + k) * bytes, (size_t)bytes);
    CHECK(kernels->along[operation][type](lines, length, 0.5, source, along, scratch));
    CHECK(kernels->across[operation][type](length, lines, lines, 0.5, turned, across, scratch));
    for (Index line = 0; line < lines; line++) {
        const char *a = source + line * length * bytes;
        long double sum = 0, squares = 0; /* one after the other they would err more than what is checked */
        for (Index k = 0; k < length; k++) sum += value(type, a + k * bytes);
        const double centre = operation == LAYER_NORM ? (double)(sum / (long double)length) : 0;
        for (Index k = 0; k < length; k++) squares += pow(value(type, a + k * bytes) - centre, 2);
        const double root = sqrt((double)(squares / (long double)length) + 0.5);
        for (Index k = 0; k < length; k++) {
            const double x = value(type, a + k * bytes), expected = (x - centre) / root;
            const double bound = (type == F32 ? 1e-6 : 1e-14) * (1 + (fabs(x) + fabs(centre)) / root);
            CHECK(fabs(value(type, along + (line * length + k) * bytes) - expected) <= bound);
            CHECK(fabs(value(type, across + (k * lines + line) * bytes) - expected) <= bound);
        }
    }
}

static void check_short(const LineKernels *kernels, ElementType type) {
    const ShortFold fold = (ShortFold)draw(0, LINE_SQUARES);
    const Index length = draw(1, SHORT_LINE), lines = draw(1, MOST_LINES), bytes = ELEMENT_BYTES[type];
    char *source = numbers_drawn(type, lines * length), *result = room_for(lines * bytes);
    kernels->folds[fold][type](lines, length, source, result, (double)length, false);
    for (Index line = 0; line < lines; line++) {
        const char *a = source + line * length * bytes;
        double sum = 0, squares = 0, deviations = 0, most = value(type, a), least = most;
        for (Index k = 0; k < length; k++) {
            const double x = value(type, a + k * bytes);
            sum += x, squares += x * x;
            most = x > most ? x : most, least = x < least ? x : least;
        }
        const double mean = sum / (double)length;
        for (Index k = 0; k < length; k++) deviations += pow(value(type, a + k * bytes) - mean, 2);
        const double expected[] = {sum, most, least, mean, deviations / (double)length, squares};
        const double error = fabs(value(type, result + line * bytes) - expected[fold]);
        CHECK(error <= (type == F32 ? 1e-6 : 1e-14) * (1 + squares));
    }
}

static void check_truths(const LineKernels *kernels, ElementType type) {
    const Index length = draw(1, one_in(5) ? 2000 : MOST_LENGTH), lines = draw(1, MOST_LINES);
    const Index bytes = ELEMENT_BYTES[type];
    char *source = room_for(lines * length * bytes), *any = room_for(lines), *all = room_for(lines);
    const bool mostly = one_in(2);
    const Index few = draw(1, 2 * length);
    for (Index i = 0; i < lines * length; i++)
        number_write(type, source + i * bytes, (Number){one_in(few) ? !mostly : mostly, 0});
    kernels->folds[LINE_ANY][type](lines, length, source, any, 1, false);
    kernels->folds[LINE_ALL][type](lines, length, source, all, 1, false);
    for (Index line = 0; line < lines; line++) {
        Index count = 0;
        for (Index k = 0; k < length; k++) count += at(type, source, line * length + k).re != 0;
        CHECK(any[line] == (count > 0));
        CHECK(all[line] == (count == length));
    }
}

void fuzz_lines(void) {
    const LineKernels *kernels = SIMD_CHOICE(line_kernels);
    const LineOperation operation = (LineOperation)draw(0, LINE_OPERATIONS - 1);
    const ElementType type = draw_type();
    if (one_in(3) && (type == F32 || type == F64)) check_short(kernels, type);
    if (one_in(3)) check_truths(kernels, type);
    if (one_in(3) && (type == F32 || type == F64)) check_normalization(type);
    if (kernels->along[operation][type] == NULL) return;
    if (operation >= SOFTMAX) check_softmax(kernels, operation, type);
    else check_exactly(kernels, operation, type);
}
