/* Linear algebra of small matrices, one in each lane: what the factors of well-conditioned matrices multiply to. */
#include "fuzz.h"
#include "linalg/batched_simd.h"

#include <complex.h>
#include <math.h>

typedef double _Complex Value;
typedef struct {
    Index rows, columns;
    Value at[LARGEST_SIDE * LARGEST_SIDE];
} Matrix;

static ElementType type;

/* C11's CMPLX, which Clang lacks with some C libraries. */
static Value value_of(double re, double im) {
    const double parts[2] = {re, im};
    Value value;
    memcpy(&value, parts, sizeof value);
    return value;
}

static Value value_read(const char *element) {
    float f[2] = {0, 0};
    double d[2] = {0, 0};
    if (type == F32 || type == C32) memcpy(f, element, (size_t)ELEMENT_BYTES[type]);
    else memcpy(d, element, (size_t)ELEMENT_BYTES[type]);
    return value_of((double)f[0] + d[0], (double)f[1] + d[1]);
}

static void value_write(char *element, Value value) {
    const double d[2] = {creal(value), cimag(value)};
    const float f[2] = {(float)d[0], (float)d[1]};
    memcpy(element, type == F32 || type == C32 ? (const void *)f : (const void *)d, (size_t)ELEMENT_BYTES[type]);
}

static double uniform(void) { return (double)draw(-1000000, 1000000) * 1e-6; }

static Matrix random_matrix(Index rows, Index columns) {
    Matrix matrix = {.rows = rows, .columns = columns};
    const bool has_parts = type == C32 || type == C64;
    for (Index i = 0; i < rows * columns; i++) matrix.at[i] = value_of(uniform(), has_parts ? uniform() : 0);
    return matrix;
}

static Matrix adjoint(const Matrix *x) {
    Matrix result = {.rows = x->columns, .columns = x->rows};
    for (Index i = 0; i < x->rows; i++)
        for (Index j = 0; j < x->columns; j++) result.at[i * x->columns + j] = conj(x->at[j * x->rows + i]);
    return result;
}

static Matrix product(const Matrix *x, const Matrix *y) {
    Matrix result = {.rows = x->rows, .columns = y->columns};
    for (Index j = 0; j < y->columns; j++)
        for (Index k = 0; k < x->columns; k++)
            for (Index i = 0; i < x->rows; i++)
                result.at[j * x->rows + i] += x->at[k * x->rows + i] * y->at[j * y->rows + k];
    return result;
}

static Matrix identity(Index side) {
    Matrix result = {.rows = side, .columns = side};
    for (Index i = 0; i < side; i++) result.at[i * side + i] = 1;
    return result;
}

static bool near(const Matrix *x, const Matrix *y) {
    double most = 1;
    for (Index i = 0; i < x->rows * x->columns; i++) most = fmax(most, cabs(y->at[i]));
    for (Index i = 0; i < x->rows * x->columns; i++)
        if (!(cabs(x->at[i] - y->at[i]) <= most * (type == F32 || type == C32 ? 1e-3 : 1e-9))) return false;
    return true;
}

static void matrix_write(char *place, const Matrix *matrix) {
    for (Index i = 0; i < matrix->rows * matrix->columns; i++)
        value_write(place + i * ELEMENT_BYTES[type], matrix->at[i]);
}

/* The matrix of this number in an array of them. */
static Matrix matrix_read(const char *array, Index number, Index rows, Index columns) {
    Matrix matrix = {.rows = rows, .columns = columns};
    for (Index i = 0; i < rows * columns; i++)
        matrix.at[i] = value_read(array + (number * rows * columns + i) * ELEMENT_BYTES[type]);
    return matrix;
}

/* Real numbers on a diagonal. */
static Matrix diagonal_read(const char *array, Index number, Index side) {
    const ElementType whole = type;
    Matrix matrix = {.rows = side, .columns = side};
    type = type == C32 ? F32 : type == C64 ? F64 : type;
    for (Index i = 0; i < side; i++)
        matrix.at[i * side + i] = value_read(array + (number * side + i) * ELEMENT_BYTES[type]);
    type = whole;
    return matrix;
}

/* Well conditioned: positive definite where that is asked for, or diagonally dominant. */
static Matrix operand_drawn(Routine routine, Index rows, Index columns) {
    Matrix matrix = random_matrix(rows, columns);
    if (is_rectangular(routine)) { /* of any rank: sometimes a column is the one before, or zero */
        for (Index j = 0; one_in(3) && j < columns; j++)
            for (Index i = 0; one_in(2) && i < rows; i++)
                matrix.at[j * rows + i] = j > 0 && one_in(2) ? matrix.at[(j - 1) * rows + i] : 0;
        return matrix;
    }
    if (routine == CHOLESKY || routine == EIGH || routine == EIGVALSH) {
        const Matrix other = adjoint(&matrix);
        matrix = product(&matrix, &other);
    }
    if (routine != EIGH && routine != EIGVALSH)
        for (Index i = 0; i < rows; i++) matrix.at[i * rows + i] += 2 * (double)rows;
    return matrix;
}

static Value determinant(Matrix matrix) { /* by elimination; no pivot is small */
    Value result = 1;
    const Index n = matrix.rows;
    for (Index k = 0; k < n; k++) {
        result *= matrix.at[k * n + k];
        for (Index i = k + 1; i < n; i++) {
            const Value factor = matrix.at[k * n + i] / matrix.at[k * n + k];
            for (Index j = k; j < n; j++) matrix.at[j * n + i] -= factor * matrix.at[j * n + k];
        }
    }
    return result;
}

/* Whether values alone are in order, and their squares sum up to those of the matrix, as they do for a Hermitian one. */
static bool values_hold(Routine routine, const Matrix *a, const Matrix *values) {
    double of_values = 0.0, of_matrix = 0.0;
    for (Index i = 0; i < values->rows; i++) {
        const double value = creal(values->at[i * (values->rows + 1)]);
        of_values += value * value;
        if (i == 0) continue;
        const double last = creal(values->at[(i - 1) * (values->rows + 1)]);
        if (routine == EIGVALSH ? value < last : value > last) return false;
    }
    for (Index i = 0; i < a->rows * a->columns; i++) of_matrix += creal(a->at[i] * conj(a->at[i]));
    const double bound = type == F32 || type == C32 ? 1e-3 : 1e-9;
    return fabs(of_values - of_matrix) <= bound * of_matrix;
}

/* The triangle that a substitution solves with; transposed, the other triangle by rows. */
static Matrix triangle(Routine routine, const Matrix *a) {
    const bool lower = routine == FORWARD || routine == FORWARD_TRANSPOSED;
    const bool transposed = routine == FORWARD_TRANSPOSED || routine == BACKWARD_TRANSPOSED;
    const Index n = a->rows;
    Matrix result = {.rows = n, .columns = n};
    for (Index j = 0; j < n; j++)
        for (Index i = 0; i < n; i++)
            if (lower ? i >= j : i <= j) result.at[j * n + i] = a->at[transposed ? i * n + j : j * n + i];
    return result;
}

/* Whether what x misses is orthogonal to the columns of the matrix, and as large as it says, and the values hold. */
static bool is_least(const LaneProblem *problem, char *const *operands, char *const *results, Index i) {
    const Index m = problem->rows, n = problem->columns, right = problem->right;
    const Matrix a = matrix_read(operands[0], i, m, n), b = matrix_read(operands[1], i, m, right);
    const Matrix x = matrix_read(results[0], i, n, right), flipped = adjoint(&a);
    const Matrix values = diagonal_read(results[3], i, smaller(m, n)), lost = diagonal_read(results[1], i, right);
    double largest = 1;
    for (Index j = 0; j < n * right; j++) largest = fmax(largest, cabs(x.at[j]));
    const double bound = largest * (type == F32 || type == C32 ? 1e-3 : 1e-9);
    int64_t rank;
    memcpy(&rank, results[2] + i * (Index)sizeof rank, sizeof rank);
    Matrix left = product(&a, &x);
    for (Index j = 0; j < m * right; j++) left.at[j] = b.at[j] - left.at[j];
    for (Index c = 0; c < right; c++) {
        double sum = 0.0;
        for (Index j = 0; j < m; j++) sum += creal(left.at[c * m + j] * conj(left.at[c * m + j]));
        if (!(fabs(sum - creal(lost.at[c * (right + 1)])) <= (1 + sum) * bound)) return false;
    }
    const Matrix seen = product(&flipped, &left);
    for (Index j = 0; j < n * right; j++)
        if (!(cabs(seen.at[j]) <= (double)m * bound)) return false;
    return rank >= 0 && rank <= smaller(m, n) && values_hold(SVDVALS, &a, &values);
}

/* Whether the factors, or the solution, are those of the matrix of this number. */
static bool holds(Routine routine, const LaneProblem *problem, char *const *operands, char *const *results, Index i) {
    const Index m = problem->rows, n = problem->columns, k = smaller(m, n);
    const Matrix a = matrix_read(operands[0], i, m, n), one = identity(k);
    if (routine == EIGVALSH || routine == SVDVALS) {
        const Matrix values = diagonal_read(results[0], i, k);
        return values_hold(routine, &a, &values);
    }
    if (routine == LSTSQ) return is_least(problem, operands, results, i);
    Matrix x = matrix_read(results[0], i, m, is_system(routine) ? problem->right : k), y, z;
    if (is_system(routine) && routine != SOLVE) {
        const Matrix factor = triangle(routine, &a);
        y = matrix_read(operands[1], i, m, problem->right), z = product(&factor, &x);
        return near(&z, &y);
    }
    switch (routine) {
    case CHOLESKY: y = adjoint(&x), z = product(&x, &y); return near(&z, &a);
    case SOLVE: y = matrix_read(operands[1], i, m, problem->right), z = product(&a, &x); return near(&z, &y);
    case INV: z = product(&a, &x); return near(&z, &one);
    case QR: y = matrix_read(results[1], i, k, n), z = product(&x, &y); break;
    case EIGH:
        x = matrix_read(results[1], i, m, m);
        y = diagonal_read(results[0], i, m), z = product(&x, &y), y = adjoint(&x), z = product(&z, &y);
        break;
    default:
        y = diagonal_read(results[1], i, k), z = product(&x, &y), y = matrix_read(results[2], i, k, n);
        z = product(&z, &y);
    }
    if (!near(&z, &a)) return false;
    y = adjoint(&x), z = product(&y, &x);
    return near(&z, &one);
}

/* Bytes of each result of one matrix, as far as one is computed alone. */
static void result_sizes(Routine routine, const LaneProblem *problem, Index sizes[4]) {
    const Index item = ELEMENT_BYTES[type], real = item / (type == C32 || type == C64 ? 2 : 1);
    const Index m = problem->rows, n = problem->columns, k = smaller(m, n);
    sizes[0] = item, sizes[1] = sizes[2] = sizes[3] = 0;
    switch (routine) {
    case FORWARD:
    case BACKWARD:
    case SOLVE: sizes[0] = m * problem->right * item; break;
    case CHOLESKY:
    case INV: sizes[0] = m * m * item; break;
    case QR: sizes[0] = m * k * item, sizes[1] = k * n * item; break;
    case SLOGDET: sizes[1] = real; break;
    case EIGH: sizes[0] = k * real, sizes[1] = m * m * item; break;
    case EIGVALSH:
    case SVDVALS: sizes[0] = k * real; break;
    case SVD: sizes[0] = m * k * item, sizes[1] = k * real, sizes[2] = k * n * item; break;
    case LSTSQ:
        sizes[0] = n * problem->right * item, sizes[1] = problem->right * real;
        sizes[2] = (Index)sizeof(int64_t), sizes[3] = k * real;
        break;
    default: break;
    }
}

/* One matrix at a time gives the bits that groups gave. */
static void check_singles(const LaneKernels *kernels, Routine routine, const LaneProblem *problem,
                          const char *const *operands, char *const *results, Index count) {
    if (!is_taken_alone(routine, problem, kernels->width)) return;
    Index sizes[4];
    result_sizes(routine, problem, sizes);
    char *const again[] = {room_for(count * sizes[0]), room_for(count * sizes[1]), room_for(count * sizes[2]),
                           room_for(count * sizes[3])};
    const Index groups = lane_room(routine, problem), single = single_room(problem, kernels->width);
    const Index room = is_iterating(routine) || is_substitution(routine) || groups > single ? groups : single;
    CHECK(kernels->singles[routine](problem, operands, again, count, aligned_room(room * kernels->number_bytes)));
    for (int i = 0; i < 4; i++) CHECK(memcmp(again[i], results[i], (size_t)(count * sizes[i])) == 0);
}

void fuzz_batches(void) {
    static const ElementType TYPES[] = {F32, F64, C32, C64};
    type = TYPES[draw(0, 3)];
    Routine routine;
    const LaneKernels *kernels;
    do { /* some are for loops over LAPACK alone, and factorizations have a driver of their own */
        routine = one_in(FIRST_FACTORIZATION) ? SLOGDET : (Routine)draw(0, FIRST_FACTORIZATION - 1);
        kernels = lane_kernels(routine, type == C32 || type == C64);
    } while (kernels->routines[routine] == NULL);
    /* Determinants of larger matrices leave the range of F32. */
    const Index most = one_in(8) && routine != DET && routine != SLOGDET ? LARGEST_SIDE : LARGEST_JACOBI_SIDE;
    Index m = draw(1, one_in(3) ? most : 6), right = draw(1, one_in(2) ? 2 : most);
    const Index n = !is_rectangular(routine) || one_in(3) ? m : draw(1, most);
    if (routine == LSTSQ) right = smaller(right, RIGHT_AT_ONCE);
    if (routine == LSTSQ && n > LARGEST_JACOBI_SIDE) m = smaller(m, LARGEST_JACOBI_SIDE);
    const Index side = m > n ? m : n, k = smaller(m, n);
    const bool narrow = type == F32 || type == C32;
    const LaneProblem problem = {(int)m,    (int)n,
                                 right,     narrow,
                                 one_in(2), narrow ? 1e-5 : 1e-13,
                                 one_in(2), (int)draw(LARGEST_CONSTANT_SIDE, LARGEST_JACOBI_SIDE)};
    const Index groups = draw(1, 2), count = groups * kernels->width, item = ELEMENT_BYTES[type];
    char *const operands[] = {room_for(count * m * n * item), room_for(count * m * right * item)};
    char *const results[] = {room_for(count * (side > right ? side : right) * side * item),
                             room_for(count * (side > right ? side : right) * side * item),
                             room_for(count * (k * n * item + (Index)sizeof(int64_t))), room_for(count * k * item)};
    for (Index i = 0; i < count; i++) {
        const Matrix first = operand_drawn(routine, m, n), second = random_matrix(m, right);
        matrix_write(operands[0] + i * m * n * item, &first);
        matrix_write(operands[1] + i * m * right * item, &second);
    }
    void *room = aligned_room(lane_room(routine, &problem) * kernels->number_bytes);
    const char *const inputs[] = {operands[0], operands[1]};
    CHECK(kernels->routines[routine](&problem, inputs, results, groups, room));
    if (kernels->singles[routine] != NULL) check_singles(kernels, routine, &problem, inputs, results, count);
    for (Index i = 0; i < count; i++) {
        if (routine == DET || routine == SLOGDET) {
            const Value expected = determinant(matrix_read(operands[0], i, m, m));
            Value found = value_read(results[0] + i * item);
            if (routine == SLOGDET) found *= exp(creal(diagonal_read(results[1], i, 1).at[0]));
            CHECK(cabs(found - expected) <= cabs(expected) * (problem.narrow ? 1e-3 : 1e-9));
        } else {
            CHECK(holds(routine, &problem, operands, results, i));
        }
    }
}
