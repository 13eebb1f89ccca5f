"""Conformance cases, exact on whole numbers; the oracle follows the definitions, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from hadamard_family import khatri_rao, walsh_hadamard
from tensor_core.dtypes import C32, C64, F32, F64, I64, Bool
from tensor_core.errors import AxisError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import tabulated, whole_numbers

Host = HostTensor[Any]


def cases() -> Iterator[Case]:
    """Every dtype, promotion, extents of 0 and 1, each axis, and what is refused."""
    columns = [((2,), (3,)), ((2, 2), (3, 2)), ((1, 3, 2), (2, 3, 2)), ((0, 2), (3, 2)), ((2, 0), (3, 0))]
    pairs = [(dtype, dtype) for dtype in (I64, F32, F64, C32, C64)] + [(I64, F32), (C32, F64)]
    for first, second in pairs:
        for a_shape, b_shape in columns:
            a, b = whole_numbers(a_shape, first), whole_numbers(b_shape, second, start=-2)
            label = f"{first}-{second}-{a_shape}-{b_shape}"
            yield Case("hadamard.khatri_rao", label, (a, b), khatri_rao, partial(_products, a, b))
    for dtype in (I64, F32, F64, C32, C64):
        for shape, axis in (((1,), 0), ((8,), 0), ((3, 4), 1), ((4, 3, 2), 0), ((4, 3, 2), -1), ((2, 0), 0)):
            x = whole_numbers(shape, dtype)
            call, expected = partial(walsh_hadamard, axis=axis), partial(_transform, x, axis % len(shape))
            yield Case("hadamard.walsh_hadamard", f"{dtype}-{shape}-{axis}", (x,), call, expected)
    x = whole_numbers((2, 3), F64)
    yield refused("hadamard.khatri_rao", "columns", (x, whole_numbers((2, 2), F64)), khatri_rao, ShapeError)
    yield refused("hadamard.khatri_rao", "rank 0", (whole_numbers((), F64), x), khatri_rao, ShapeError)
    yield refused("hadamard.walsh_hadamard", "three", (x,), partial(walsh_hadamard, axis=1), ShapeError)
    yield refused("hadamard.walsh_hadamard", "axis", (x,), partial(walsh_hadamard, axis=2), AxisError)
    yield refused("hadamard.walsh_hadamard", "Bool", (whole_numbers((2,), Bool),), walsh_hadamard, DTypeError)


def _products(a: Host, b: Host) -> Host:
    rows = b.shape[0]
    shape = (a.shape[0] * rows, *a.shape[1:])
    return tabulated(
        shape, promote(a.dtype, b.dtype), lambda at: a[(at[0] // rows, *at[1:])] * b[(at[0] % rows, *at[1:])]
    )


def _transform(x: Host, axis: int) -> Host:
    def element(at: tuple[int, ...]) -> Any:
        signed = (
            (-1) ** (at[axis] & n).bit_count() * x[(*at[:axis], n, *at[axis + 1 :])] for n in range(x.shape[axis])
        )
        return sum(signed)

    return tabulated(x.shape, x.dtype, element)
