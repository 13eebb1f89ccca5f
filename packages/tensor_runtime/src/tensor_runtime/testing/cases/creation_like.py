"""Cases of ``tensor_runtime.ops.creation_like``: tensors like another one, and those that are written first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, DType
from tensor_core.errors import DTypeError
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import Shape
from tensor_runtime.ops.creation_like import empty, empty_like, full_like, ones_like, zeros_like
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Index, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x = whole_numbers((2, 3), dtype)
        for call, value in ((zeros_like, 0), (ones_like, 1)):
            wanted = tabulated((2, 3), dtype, partial(_always, value))
            yield Case(call.__name__, str(dtype), (x,), call, partial(_given, wanted))
        ones = tabulated((2, 3), dtype, partial(_always, 1))
        yield Case("full_like", f"True in {dtype}", (x,), lambda t: full_like(t, True), partial(_given, ones))
        yield Case(
            "empty_like",
            str(dtype),
            (x,),
            lambda t: _written(empty_like(t)),
            partial(HostTensor.zeros, (2, 3), dtype),
        )
    halves = tabulated((2, 3), F64, lambda at: 0.5)
    x = whole_numbers((2, 3), F64)
    yield Case("full_like", "F64", (x,), lambda t: full_like(t, 0.5), lambda: halves)
    yield Case(
        "full_like", "I32", (x,), lambda t: full_like(t, 7, dtype=I32), lambda: tabulated((2, 3), I32, lambda at: 7)
    )
    yield refused("full_like", "a float in I32", (whole_numbers((2,), I32),), lambda t: full_like(t, 0.5), DTypeError)
    for shape in ((), (0, 2), (3, 2)):
        for dtype in DTYPES:
            yield Case(
                "empty",
                f"{shape} {dtype}",
                (),
                partial(_emptied, shape, dtype),
                partial(HostTensor.zeros, shape, dtype),
            )


def _written(x: Any) -> Any:
    mutable_view(x)[...] = False
    return x


def _emptied(shape: Shape, dtype: DType, placement: Any) -> Any:
    return _written(empty(shape, dtype=dtype, placement=placement))


def _always(value: int, at: Index) -> int:
    return value


def _given(wanted: Any) -> Any:
    return wanted
