"""Conformance cases of functions of matrices, beside oracles in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, log, sqrt
from typing import Any, Final

from tensor_core.dtypes import C64, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_linalg.functions import (
    block_diag,
    cond,
    cosm,
    cross,
    det,
    diagonal,
    expm,
    funm,
    kron,
    logm,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    null_space,
    orth,
    sinm,
    slogdet,
    sqrtm,
    trace,
    vander,
    vector_norm,
)
from tensor_linalg.testing.cases.matrices import determinants, hermitian, identity, shifted
from tensor_linalg.testing.cases.rows import DTYPES, SQUARE, Row, adjoint, case, cases_of, masked, product
from tensor_runtime.errors import NotConvergedError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.ops.arithmetic import add, multiply
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, tabulated, whole_numbers

Element = Callable[[Index], Any]


def cases() -> Iterator[Case]:
    """Every case of a function of matrices."""
    yield from cases_of(ROWS)
    zeros = HostTensor.zeros((2, 2, 2), F64)
    yield case("linalg.det", "singular", (zeros,), det, None, lambda: HostTensor.zeros((2,), F64))
    yield from _logarithms()
    yield from _norms()
    yield from _ranks()
    yield from _arrangements()
    yield from _powers()
    yield from _transcendental()


def _logarithms() -> Iterator[Case]:
    def expected(a: Host) -> tuple[Host, Host]:
        found = determinants(a)
        signs = tabulated(found.shape, a.dtype, lambda index: found[index] / abs(found[index]))
        return signs, tabulated(found.shape, a.dtype.component, lambda index: log(abs(found[index])))

    for dtype in DTYPES:
        a = shifted(whole_numbers((3, 3, 2), dtype), 24)
        yield case("linalg.slogdet", str(dtype), (a,), slogdet, None, partial(expected, a))
    for shape in SQUARE:
        a = shifted(whole_numbers(shape, F64), -24)
        yield case("linalg.slogdet", f"shape {shape}", (a,), slogdet, None, partial(expected, a))
    zeros = HostTensor.zeros((2, 2), F64)
    nothing = tabulated((), F64, lambda index: 0.0), tabulated((), F64, lambda index: -inf)
    yield case("linalg.slogdet", "singular", (zeros,), slogdet, None, lambda: nothing)
    yield refused("linalg.slogdet", "not square", (whole_numbers((2, 3), F64),), slogdet, ShapeError)


def _norms() -> Iterator[Case]:
    def root(values: list[float]) -> float:
        return sqrt(sum(value * value for value in values))

    orders: dict[Any, Callable[[list[list[float]]], float]] = {
        "fro": lambda rows: root([one for row in rows for one in row]),
        1: lambda rows: max(map(sum, zip(*rows, strict=True))),
        -1: lambda rows: min(map(sum, zip(*rows, strict=True))),
        inf: lambda rows: max(map(sum, rows)),
        -inf: lambda rows: min(map(sum, rows)),
    }
    for dtype in (*DTYPES, I32):
        a = whole_numbers((3, 2, 2), dtype)
        real = F64 if dtype is I32 else dtype.component
        for order, rule in orders.items():

            def expected(a: Host = a, rule: Callable[..., float] = rule, real: DType = real) -> Host:
                return tabulated((2,), real, lambda k: rule([[abs(a[i, j, *k]) for j in range(2)] for i in range(3)]))

            call = partial(lambda order, a: matrix_norm(a, order), order)
            yield case("linalg.matrix_norm", f"{dtype} order {order}", (a,), call, None, expected)
        x = whole_numbers((3, 2), dtype)
        of_vectors = partial(
            lambda x, real: tabulated((2,), real, lambda k: root([abs(x[i, *k]) for i in range(3)])), x, real
        )
        yield case("linalg.vector_norm", str(dtype), (x,), vector_norm, None, of_vectors)
        line = whole_numbers((3,), dtype)
        of_line = partial(
            lambda x, real: tabulated((), real, lambda k: root([abs(x[i,]) for i in range(3)])), line, real
        )
        yield case("linalg.norm", str(dtype), (line,), norm, None, of_line)
    for order, value in ((2, 4.0), (-2, 3.0), ("nuc", 7.0)):
        call = partial(lambda order, a: norm(a, order), order)
        steps = tabulated((3, 2), F64, lambda index: 4 if index == (1, 0) else 3 if index == (2, 1) else 0)
        yield case("linalg.norm", f"order {order}", (steps,), call, None, partial(_number, value))
    for order in (2, 1, inf, "fro", -2, "nuc"):
        a = tabulated((2, 2, 2), F64, lambda index: (index[0] == index[1]) * (2 if index[2] else 4 * index[0]))
        value = {"fro": 2.0, "nuc": 4.0}.get(str(order), 1.0)
        found = partial(tabulated, (2,), F64, partial(_infinite_first, 0.0 if order == -2 else inf, value))
        yield case("linalg.cond", f"order {order}", (a,), partial(_condition, order), None, found)
    yield refused("linalg.cond", "integers refused", (whole_numbers((2, 2), I64),), cond, DTypeError)
    yield refused("linalg.cond", "not square", (whole_numbers((2, 3), F64),), partial(_condition, 1), ShapeError)
    a = whole_numbers((2, 2), F64)
    yield from masked("linalg.matrix_norm", lambda a: matrix_norm(a, "nuc", check="mask"))
    yield refused("linalg.matrix_norm", "no order", (a,), lambda a: matrix_norm(a, 3), ArgumentError)
    yield refused(
        "linalg.matrix_norm", "integers", (whole_numbers((2, 2), I64),), lambda a: matrix_norm(a, 2), DTypeError
    )
    yield refused("linalg.norm", "a scalar", (whole_numbers((), F64),), norm, ShapeError)
    yield refused("linalg.vector_norm", "a scalar", (whole_numbers((), F64),), vector_norm, ShapeError)


def _ranks() -> Iterator[Case]:
    for dtype in DTYPES:
        a = tabulated(
            (3, 2, 2), dtype, lambda index: (1 + index[1]) * (index[0] + 1) if index[2] == 0 else index[0] == index[1]
        )
        ranks = partial(tabulated, (2,), I64, lambda index: 1 + index[0])
        yield case("linalg.matrix_rank", str(dtype), (a,), matrix_rank, None, ranks)
        line = tabulated((3, 2), dtype, lambda index: (1 + index[1]) * (index[0] + 1))
        unit = partial(identity, (1, 1), dtype)
        yield case("linalg.orth", str(dtype), (line,), orth, lambda a, u: product(adjoint(u), u), unit)
        ones = partial(tabulated, (3, 1), dtype, lambda index: 1)
        yield case("linalg.null_space", str(dtype), (line,), null_space, lambda a, v: add(product(a, v), 1), ones)
    for function in (matrix_rank, orth, null_space):
        name = f"linalg.{function.__name__}"
        yield refused(name, "integers refused", (whole_numbers((2, 2), I64),), function, DTypeError)
        yield refused(name, "rank 1", (whole_numbers((2,), F64),), function, ShapeError)


def _arrangements() -> Iterator[Case]:
    for dtype in (F32, F64, C64, I64, Bool):
        a = whole_numbers((2, 3, 2), dtype)
        b = whole_numbers((2, 2, 1), dtype, start=-2, modulus=7)
        yield case("linalg.kron", str(dtype), (a, b), kron, None, _table((4, 6, 2), dtype, partial(_block, a, b)))
        joined = _table((4, 5, 2), dtype, partial(_on_the_diagonal, a, b))
        yield case("linalg.block_diag", str(dtype), (a, b), block_diag, None, joined)
        for offset in (0, 1, -1):
            read = partial(lambda offset, a: diagonal(a, offset), offset)
            found = _table((1 if offset < 0 else 2, 2), dtype, partial(_along, a, offset))
            yield Case("linalg.diagonal", f"{dtype} offset {offset}", (a,), read, found, shares=True)
        total = _table((2,), I64 if dtype is Bool else dtype, partial(_total, a))
        yield case("linalg.trace", str(dtype), (a,), trace, None, total)
        if dtype is not Bool:
            x, y = whole_numbers((3, 2), dtype), whole_numbers((3, 1), dtype, start=-2, modulus=7)
            yield case("linalg.cross", str(dtype), (x, y), cross, None, _table((3, 2), dtype, partial(_crossed, x, y)))
            powers = _table((3, 3, 2), dtype, partial(_raised, x, 2, -1))
            yield case("linalg.vander", str(dtype), (x,), vander, None, powers)
            rising = _table((3, 4, 2), dtype, partial(_raised, x, 0, 1))
            four = partial(vander, n=4, increasing=True)
            yield case("linalg.vander", f"{dtype} increasing", (x,), four, None, rising)
    line = whole_numbers((2,), F64)
    for function in (trace, diagonal, kron, block_diag, cross):
        operands = (line, line) if function in (kron, cross) else (line,)
        yield refused(f"linalg.{function.__name__}", "rank 1", operands, function, ShapeError)
    yield refused("linalg.vander", "a scalar", (whole_numbers((), F64),), vander, ShapeError)


def _powers() -> Iterator[Case]:
    for dtype in (*DTYPES, I64):
        a = whole_numbers((2, 2, 2), dtype)
        for n in (0, 1, 2, 5):
            call = partial(lambda n, a: matrix_power(a, n), n)
            yield case("linalg.matrix_power", f"{dtype} {n}", (a,), call, None, partial(_power, a, n))
        b, c = whole_numbers((2, 3), dtype), whole_numbers((3, 1, 2), dtype)
        joined = partial(lambda a, b, c: _product(_product(a, b), c), a, b, c)
        yield case("linalg.multi_dot", str(dtype), (a, b, c), lambda *all: multi_dot(all), None, joined)
    a = shifted(whole_numbers((3, 3), F64), 24)
    inverse = partial(lambda a: matrix_power(a, -2))
    unit = partial(identity, (3, 3), F64)
    yield case("linalg.matrix_power", "-2", (a,), inverse, lambda a, x: product(product(x, a), a), unit)
    yield refused("linalg.matrix_power", "singular", (HostTensor.zeros((2, 2), F64),), inverse, SingularMatrixError)
    yield refused("linalg.matrix_power", "not square", (whole_numbers((2, 3), F64),), inverse, ShapeError)
    yield refused("linalg.multi_dot", "do not fit", (a, whole_numbers((2, 2), F64)), _both, ShapeError)


def _transcendental() -> Iterator[Case]:
    for dtype in DTYPES:
        for shape in ((2, 2), (2, 2, 2), (0, 0), (2, 2, 0)):
            label = f"{dtype} shape {shape}"
            upper = tabulated(shape, dtype, lambda k: 2 + k[1] + sum(k[2:]) if k[0] < k[1] else 0)  # its square is 0
            risen = _table(shape, dtype, partial(_plus_unit, upper))
            yield case("linalg.expm", label, (upper,), expm, None, risen)
            yield case("linalg.cosm", label, (upper,), cosm, None, partial(identity, shape, dtype))
            yield case("linalg.sinm", label, (upper,), sinm, None, partial(_itself, upper))
            yield case("linalg.logm", label, (risen(),), logm, None, partial(_itself, upper))
            a = shifted(whole_numbers(shape, dtype), 24)
            yield case("linalg.sqrtm", label, (a,), sqrtm, lambda a, x: product(x, x), partial(_itself, a))
            b = hermitian(a)
            yield case("linalg.funm", label, (b,), _squared, None, partial(_product, b, b))
    several: tuple[Callable[[Tensor], Tensor], ...] = (expm, cosm, sinm, logm, sqrtm, _squared)
    for function in several:
        name = "linalg.funm" if function is _squared else f"linalg.{function.__name__}"
        yield refused(name, "integers refused", (whole_numbers((2, 2), I64),), function, DTypeError)
        yield refused(name, "not square", (whole_numbers((2, 3), F64),), function, ShapeError)
    zeros = HostTensor.zeros((2, 2, 2), F64)
    yield refused("linalg.sqrtm", "singular", (zeros,), sqrtm, NotConvergedError)
    yield refused("linalg.logm", "singular", (zeros,), partial(logm, hermitian=True), NotPositiveDefiniteError)


def _condition(order: Any, a: Tensor) -> Tensor:
    condition: Tensor = cond(a, order)
    return condition


def _infinite_first(first: float, value: float, index: Index) -> float:
    return value if index[0] else first


def _squared(a: Tensor) -> Tensor:
    return funm(a, lambda values: multiply(values, values))


def _plus_unit(a: Host, index: Index) -> Any:
    return a[index] + (index[0] == index[1])


def _itself(x: Host) -> Host:
    return x


def _both(a: Tensor, b: Tensor) -> Tensor:
    return multi_dot([a, b])


def _number(value: float) -> Host:
    return tabulated((), F64, lambda index: value)


def _table(shape: Index, dtype: DType, rule: Element) -> Callable[[], Host]:
    return partial(tabulated, shape, dtype, rule)


def _block(a: Host, b: Host, index: Index) -> Any:
    (i, p), (j, q) = divmod(index[0], 2), divmod(index[1], 2)
    x, y = a[i, j, index[2]], b[p, q, 0]
    return (x and y) if a.dtype is Bool else x * y


def _on_the_diagonal(a: Host, b: Host, index: Index) -> Any:
    i, j, k = index
    if i < 2 and j < 3:
        return a[i, j, k]
    return b[i - 2, j - 3, 0] if i >= 2 and j >= 3 else 0


def _along(a: Host, offset: int, index: Index) -> Any:
    return a[index[0] + max(-offset, 0), index[0] + max(offset, 0), index[1]]


def _total(a: Host, k: Index) -> Any:
    return a[0, 0, *k] + a[1, 1, *k]


def _raised(x: Host, first: int, step: int, index: Index) -> Any:
    return x[index[0], index[2]] ** (first + step * index[1])


def _crossed(x: Host, y: Host, index: Index) -> Any:
    i, j, k = (index[0] + 1) % 3, (index[0] + 2) % 3, index[1]
    return x[i, k] * y[j, 0] - x[j, k] * y[i, 0]


def _product(a: Host, b: Host) -> Host:
    batch = a.shape[2:]

    def rule(index: Index) -> Any:
        i, j, *k = index
        return sum(a[i, m, *k] * (b[m, j, *k] if len(b.shape) > 2 else b[m, j]) for m in range(a.shape[1]))

    return tabulated((a.shape[0], b.shape[1], *batch), a.dtype, rule)


def _power(a: Host, n: int) -> Host:
    found = identity(a.shape, a.dtype)
    for _ in range(n):
        found = _product(found, a)
    return found


ROWS: Final = (Row(det, lambda a: shifted(a, 24), None, determinants),)
