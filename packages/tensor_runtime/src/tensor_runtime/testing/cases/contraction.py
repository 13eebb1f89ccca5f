"""Cases of ``tensor_runtime.ops.contraction``: sums of products of small whole numbers, exact in every dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, nan
from typing import Any, Final

from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import ArgumentError, AxisError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, PLUS_TIMES, Semiring
from tensor_runtime.ops.contraction import dot_general, matmul, tensordot
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, contracted, whole_numbers

Labels = tuple[Sequence[int], Sequence[int], Sequence[int]]

_PRODUCTS: Final[tuple[tuple[tuple[int, ...], tuple[int, ...], Labels], ...]] = (
    ((2, 3), (3, 4), ((0, 1), (1, 2), (0, 2))),
    ((3,), (3, 4), ((1,), (1, 2), (2,))),
    ((2, 3), (3,), ((0, 1), (1,), (0,))),
    ((3,), (3,), ((1,), (1,), ())),
    ((5, 2, 3), (5, 3, 4), ((3, 0, 1), (3, 1, 2), (3, 0, 2))),
    ((5, 1, 2, 3), (6, 3, 1), ((4, 3, 0, 1), (3, 1, 2), (4, 3, 0, 2))),
    ((2, 3), (5, 3, 4), ((0, 1), (3, 1, 2), (3, 0, 2))),
    ((2, 0), (0, 4), ((0, 1), (1, 2), (0, 2))),
    ((0, 3), (3, 4), ((0, 1), (1, 2), (0, 2))),
    ((1, 1), (1, 1), ((0, 1), (1, 2), (0, 2))),
    ((17, 19), (19, 18), ((0, 1), (1, 2), (0, 2))),
)
_GENERAL: Final[tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], Labels], ...]] = (
    ((2, 3, 7), (3, 5, 7), {"contracting": ([1], [0]), "batch": ([2], [2])}, ((0, 1, 3), (1, 2, 3), (0, 2, 3))),
    ((7, 2, 3), (5, 3, 7), {"contracting": ([-1], [1]), "batch": ([0], [2])}, ((3, 0, 1), (2, 1, 3), (0, 2, 3))),
    ((2, 3), (4, 2), {}, ((0, 1), (2, 3), (0, 1, 2, 3))),
    ((2, 3), (2, 3), {"batch": ([0, 1], [0, 1])}, ((0, 1), (0, 1), (0, 1))),
    ((2, 3, 4), (4, 2, 3), {"contracting": ([0, 1, 2], [1, 2, 0])}, ((0, 1, 2), (2, 0, 1), ())),
)
_MIXED: Final = ((I32, F32), (F32, C64), (Bool, I64), (F64, F32), (C32, F64))


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for shape_a, shape_b, labels in _PRODUCTS:
        yield _case(matmul, f"{shape_a} @ {shape_b}", shape_a, shape_b, F64, F64, labels)
    for dtype in DTYPES:
        yield _case(matmul, str(dtype), (4, 3), (3, 5), dtype, dtype, _PRODUCTS[0][2])
        yield _case(
            lambda a, b: tensordot(a, b, axes=1),
            str(dtype),
            (2, 3),
            (3, 2, 2),
            dtype,
            dtype,
            ((0, 1), (1, 2, 3), (0, 2, 3)),
            "tensordot",
        )
        shape_a, shape_b, options, labels = _GENERAL[0]
        yield _general(str(dtype), shape_a, shape_b, dtype, options, labels)
    for first, second in _MIXED:
        yield _case(matmul, f"{first} with {second}", (4, 3), (3, 5), first, second, _PRODUCTS[0][2])
    for shape_a, shape_b, options, labels in _GENERAL:
        yield _general(f"{shape_a} {shape_b} {options}", shape_a, shape_b, F64, options, labels)
    for axes, shape_a, shape_b, labels in (
        (0, (2,), (3,), ((0,), (1,), (0, 1))),
        (2, (4, 2, 3), (2, 3), ((0, 1, 2), (1, 2), (0,))),
        (((0, 2), (1, 0)), (2, 4, 3), (3, 2, 5), ((0, 1, 2), (2, 0, 3), (1, 3))),
    ):
        call = _with_axes(axes)
        yield _case(call, f"axes {axes}", shape_a, shape_b, F64, F64, labels, "tensordot")
    yield from _in_algebras()
    yield from _refusals()


def _in_algebras() -> Iterator[Case]:
    for algebra, dtype in ((PLUS_TIMES, I64), (OR_AND, Bool)):
        yield _in_algebra(algebra, str(dtype), *_operands((2, 3, 7), (3, 5, 7), dtype, dtype), *_GENERAL[0][2:])
    for algebra in (MAX_PLUS, MIN_PLUS, MAX_TIMES):
        for first, second in ((F32, F32), (F64, F64), (F32, F64), (I32, F32)):
            pair = _operands((2, 3, 7), (3, 5, 7), first, second)
            yield _in_algebra(algebra, f"{first} {second}", *pair, *_GENERAL[0][2:])
        for shape_a, shape_b, options, labels in (*_GENERAL[1:], *_SHAPES_IN_ALGEBRAS):
            pair = _operands(shape_a, shape_b, F64, F64)
            yield _in_algebra(algebra, f"{shape_a} {shape_b} {options}", *pair, options, labels)
        values = HostTensor.from_nested([[1.0, -2.0, inf, -inf, nan, 3.0]] * 2, F64)
        options, labels = {"batch": ([0], [0])}, ((2, 0), (2, 1), (0, 1, 2))
        yield _in_algebra(algebra, "inf and nan, outer", values, values, options, labels)
        options, labels = {"contracting": ([1], [1])}, ((0, 2), (1, 2), (0, 1))
        yield _in_algebra(algebra, "inf and nan, inner", values, values, options, labels)


_SHAPES_IN_ALGEBRAS: Final[tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], Labels], ...]] = (
    ((17, 70), (70, 18), {"contracting": ([1], [0])}, ((0, 1), (1, 2), (0, 2))),
    ((2, 0), (0, 4), {"contracting": ([1], [0])}, ((0, 1), (1, 2), (0, 2))),
    ((0, 3), (3, 4), {"contracting": ([1], [0])}, ((0, 1), (1, 2), (0, 2))),
    ((), (), {}, ((), (), ())),
)


def _in_algebra(algebra: Semiring, label: str, a: Host, b: Host, options: dict[str, Any], labels: Labels) -> Case:
    dtype = promote(a.dtype, b.dtype)
    return Case(
        "dot_general",
        f"{algebra.name} {label}",
        (a, b),
        lambda a, b: dot_general(a, b, **options, algebra=algebra),
        lambda: contracted(dtype, a, b, labels, algebra),
    )


def _operands(shape_a: tuple[int, ...], shape_b: tuple[int, ...], first: DType, second: DType) -> tuple[Host, Host]:
    """Without zeros, whose sign is free."""
    return whole_numbers(shape_a, first, 1), whole_numbers(shape_b, second, -7, 7)


def _with_axes(axes: Any) -> Callable[..., Any]:
    return lambda a, b: tensordot(a, b, axes=axes)


def _general(
    label: str,
    shape_a: tuple[int, ...],
    shape_b: tuple[int, ...],
    dtype: DType,
    options: dict[str, Any],
    labels: Labels,
) -> Case:
    return _case(
        lambda a, b: dot_general(a, b, **options), label, shape_a, shape_b, dtype, dtype, labels, "dot_general"
    )


def _case(
    call: Callable[..., Any],
    label: str,
    shape_a: tuple[int, ...],
    shape_b: tuple[int, ...],
    dtype_a: DType,
    dtype_b: DType,
    labels: Labels,
    operation: str = "matmul",
) -> Case:
    a, b = _operands(shape_a, shape_b, dtype_a, dtype_b)
    return Case(operation, label, (a, b), call, lambda: contracted(promote(dtype_a, dtype_b), a, b, labels))


def _refusals() -> Iterator[Case]:
    def pair(shape_a: tuple[int, ...], shape_b: tuple[int, ...]) -> tuple[Host, Host]:
        return whole_numbers(shape_a, F64), whole_numbers(shape_b, F64)

    yield refused("matmul", "inner extents", pair((2, 3), (2, 3)), matmul, ShapeError)
    yield refused("matmul", "rank 0", pair((), (3,)), matmul, ShapeError)
    yield refused("matmul", "batch extents", pair((2, 2, 2), (3, 2, 2)), matmul, ShapeError)
    yield refused("tensordot", "too many axes", pair((2,), (2,)), _with_axes(2), ArgumentError)
    yield refused("tensordot", "extents", pair((2, 3), (2, 3)), _with_axes(1), ShapeError)
    yield refused(
        "dot_general",
        "an axis in two roles",
        pair((2, 2), (2, 2)),
        lambda a, b: dot_general(a, b, contracting=([0], [0]), batch=([0], [1])),
        ArgumentError,
    )
    yield refused(
        "dot_general",
        "axis out of range",
        pair((2, 2), (2, 2)),
        lambda a, b: dot_general(a, b, contracting=([2], [0])),
        AxisError,
    )
    for algebra, label, dtype in ((MAX_PLUS, "integers", I64), (OR_AND, "floats", F64), (MIN_PLUS, "complex", C64)):
        operands = whole_numbers((2, 2), dtype), whole_numbers((2, 2), dtype)
        call = _in(algebra)
        yield refused("dot_general", f"{algebra.name} of {label}", operands, call, DTypeError)
    yield refused("dot_general", "no algebra", pair((2, 2), (2, 2)), _in("max_plus"), ArgumentError)


def _in(algebra: Any) -> Callable[..., Any]:
    return lambda a, b: dot_general(a, b, contracting=([1], [0]), algebra=algebra)
