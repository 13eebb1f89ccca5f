"""Cases of strict creation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import (
    DTYPES,
    I64,
    Bool,
    DType,
)
from tensor_core.errors import (
    AxisError,
    DTypeError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Index,
    tabulated,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        ones = partial(tabulated, (2, 3), dtype, lambda at: 1)
        yield Case("primitives.full", str(dtype), (), partial(_full, dtype), ones)
        if dtype is not Bool:
            along = partial(tabulated, (2, 3), dtype, lambda at: at[1])
            yield Case("primitives.iota", str(dtype), (), partial(_iota, (2, 3), 1, dtype), along)
    line = partial(HostTensor.from_nested, [0, 1, 2, 3])
    yield Case("primitives.iota", "a line", (), partial(_iota, (4,), -1, I64), line)
    yield Case("primitives.iota", "nothing", (), partial(_iota, (0, 3), 0, I64), partial(HostTensor.zeros, (0, 3), I64))
    yield refused("primitives.iota", "Bool", (), partial(_iota, (2,), 0, Bool), DTypeError)
    yield refused("primitives.iota", "rank 0", (), partial(_iota, (), 0, I64), AxisError)
    yield refused("primitives.full", "no number", (), _full_of_text, DTypeError)


def _full_of_text(place: Any) -> Any:
    return primitives.full((2,), "1", dtype=I64, placement=place)  # type: ignore[arg-type]


def _full(dtype: DType, place: Any) -> Any:
    return primitives.full((2, 3), True if dtype is Bool else 1, dtype=dtype, placement=place)


def _iota(shape: Index, axis: int, dtype: DType, place: Any) -> Any:
    return primitives.iota(shape, axis, dtype=dtype, placement=place)
