"""Cases of ``triangular_solve``: small whole numbers, exact in every dtype."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any, Final

from tensor_core.dtypes import (
    DTYPES,
    F32,
    F64,
    FLOATING,
    DType,
)
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Index,
    tabulated,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        if dtype not in FLOATING:
            x = whole_numbers((2, 2), dtype)
            yield refused(_NAME, f"{dtype} refused", (x, x), _solver((True, False, False, False)), DTypeError)
            continue
        for choices in product((False, True), repeat=4):
            yield _solved(f"{dtype} {choices}", dtype, (3, 2), choices)
    for shape in ((1, 1), (0, 2), (3, 0), (3, 2, 2, 3), (2, 1, 0)):
        yield _solved(f"shape {shape}", F64, shape, (True, False, False, False))
    solve = _solver((True, False, False, False))
    a = whole_numbers((2, 2), F64)
    infinite = HostTensor.from_nested([[math.inf]])
    yield Case(
        _NAME,
        "zero on the diagonal",
        (HostTensor.zeros((1, 1), F64), HostTensor.from_nested([[1.0]])),
        solve,
        lambda: infinite,
    )
    for label, first, second in (
        ("not square", (2, 3), (2, 1)),
        ("other rows", (2, 2), (3, 1)),
        ("vector", (2, 2), (2,)),
        ("unequal batches", (2, 2, 3), (2, 1, 1)),
        ("batch of one alone", (2, 2), (2, 1, 3)),
    ):
        yield refused(_NAME, label, (whole_numbers(first, F64), whole_numbers(second, F64)), solve, ShapeError)
    yield refused(_NAME, "unequal dtypes", (a, whole_numbers((2, 1), F32)), solve, DTypeError)
    wrong = _solver(("L", False, False, False))
    yield refused(_NAME, "no flag", (a, a), wrong, ArgumentError)


_NAME: Final = "primitives.triangular_solve"
Choices = tuple[Any, ...]


def _solver(choices: Choices) -> Any:
    names = ("lower", "transpose", "conjugate", "unit_diagonal")
    return partial(primitives.triangular_solve, **dict(zip(names, choices, strict=True)))


def _solved(label: str, dtype: DType, shape: Index, choices: Choices) -> Case:
    """A system whose sides are made from its solution; on the diagonal of A are ones, or NaN where it is not read."""
    lower, transpose, conjugate, unit = choices
    rows, _, *batch = shape
    numbers, x = whole_numbers((rows, rows, *batch), dtype, -2, 5), whole_numbers(shape, dtype)

    def element(at: Index) -> Any:
        if at[0] == at[1]:
            return math.nan if unit else 1
        return numbers[at] if (at[0] > at[1]) is lower else math.nan

    def read(i: int, k: int, rest: Index) -> Any:
        if i == k:
            return 1
        i, k = (k, i) if transpose else (i, k)
        value = numbers[(i, k, *rest)] if (i > k) is lower else 0
        return value.conjugate() if conjugate else value

    a = tabulated(numbers.shape, dtype, element)
    b = tabulated(shape, dtype, lambda at: sum(read(at[0], k, at[2:]) * x[(k, *at[1:])] for k in range(rows)))
    return Case(_NAME, label, (a, b), _solver(choices), lambda: x, ulps=1)  # the sign of a zero is free
