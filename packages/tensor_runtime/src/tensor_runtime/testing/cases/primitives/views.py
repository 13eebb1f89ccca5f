"""Cases of strict rearrangements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import (
    DTYPES,
    F64,
)
from tensor_core.errors import (
    ArgumentError,
    AxisError,
    ShapeError,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Host,
    Index,
    tabulated,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        yield from _of(whole_numbers((2, 3), dtype))
    x = whole_numbers((2, 3), F64)
    for call, label, error in (
        (partial(primitives.transpose, permutation=(0,)), "few axes", AxisError),
        (partial(primitives.reshape, shape=(-1,)), "extent left open", ShapeError),
        (partial(primitives.reshape, shape=(5,)), "other size", ShapeError),
        (partial(primitives.broadcast_in_dim, shape=(2, 4), axes=(0, 1)), "other extent", ShapeError),
        (partial(primitives.broadcast_in_dim, shape=(3, 2, 3), axes=(1,)), "few axes", ArgumentError),
        (partial(primitives.reverse, axes=(0, 0)), "twice", AxisError),
    ):
        yield refused(f"primitives.{call.func.__name__}", label, (x,), call, error)


def _of(x: Host) -> Iterator[Case]:
    def case(call: Any, shape: Index, rule: Any) -> Case:
        expected = partial(tabulated, shape, x.dtype, lambda at: x[rule(*at)])
        return Case(f"primitives.{call.func.__name__}", str(x.dtype), (x,), call, expected, shares=True)

    yield case(partial(primitives.transpose, permutation=(1, 0)), (3, 2), lambda i, j: (j, i))
    yield case(partial(primitives.reshape, shape=(6,)), (6,), lambda i: (i % 2, i // 2))
    yield case(partial(primitives.broadcast_in_dim, shape=(3, 4, 2), axes=(2, 0)), (3, 4, 2), lambda i, j, k: (k, i))
    yield case(partial(primitives.reverse, axes=(1,)), (2, 3), lambda i, j: (i, 2 - j))
