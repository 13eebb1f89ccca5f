"""Conformance cases of solvers: the product of matrix and solution is the right-hand side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan
from typing import Final

from tensor_core.dtypes import C64, F32, F64, I64
from tensor_core.errors import DTypeError, ShapeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_linalg.solving import inv, solve
from tensor_linalg.testing.cases.matrices import identity, shifted
from tensor_linalg.testing.cases.rows import DTYPES, SQUARE, Row, applied, case, cases_of, product
from tensor_runtime.errors import NonFiniteError, SingularMatrixError
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of a solver."""
    yield from cases_of(ROWS)
    yield from _systems()
    yield refused("linalg.inv", "singular", (HostTensor.zeros((2, 2, 2), F64),), inv, SingularMatrixError)


def _systems() -> Iterator[Case]:
    def system(label: str, a: Host, b: Host, product: Callable[..., Tensor] = product) -> Case:
        return case("linalg.solve", label, (a, b), solve, lambda a, b, x: product(a, x), lambda: b)

    def system_refused(label: str, a: Host, b: Host, error: type[TensorError]) -> Case:
        return refused("linalg.solve", label, (a, b), solve, error)

    for dtype in DTYPES:
        yield system(str(dtype), shifted(whole_numbers((3, 3), dtype), 24), whole_numbers((3, 2), dtype))
    for shape in SQUARE[1:]:
        right = whole_numbers((shape[0], 2, *shape[2:]), F64)
        yield system(f"shape {shape}", shifted(whole_numbers(shape, F64), 24), right)
    a = shifted(whole_numbers((3, 3), F64), 24)
    yield system("a vector", a, whole_numbers((3,), F64), applied)
    yield system("one matrix for a batch", a, whole_numbers((3, 2, 4), F64), applied)
    yield system("no columns", a, whole_numbers((3, 0), F64))
    yield system("F32 and C64", shifted(whole_numbers((3, 3), F32), 24), whole_numbers((3, 2), C64))
    zeros = HostTensor.zeros((3, 3, 2), F64)
    yield system_refused("singular", zeros, zeros, SingularMatrixError)
    yield system_refused("unequal extents", a, whole_numbers((2, 2), F64), ShapeError)
    yield system_refused("a batch of vectors", zeros, whole_numbers((3,), F64), ShapeError)
    yield system_refused("unequal batches", zeros, whole_numbers((3, 1, 3), F64), ShapeError)
    yield system_refused("integers refused", a, whole_numbers((3, 1), I64), DTypeError)
    bad = tabulated((3, 1), F64, lambda index: nan if index[0] == 1 else 1.0)
    yield system_refused("NaN", a, bad, NonFiniteError)


ROWS: Final = (Row(inv, lambda a: shifted(a, 24), product, lambda a: identity(a.shape, a.dtype)),)
