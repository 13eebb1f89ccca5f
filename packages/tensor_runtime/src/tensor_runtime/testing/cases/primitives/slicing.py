"""Cases of strict slices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import (
    DTYPES,
    F32,
    F64,
    I32,
)
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    IndexingError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Host,
    tabulated,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        yield from _of(whole_numbers((4, 5), dtype), whole_numbers((2, 1), dtype, 9))
    x, starts = whole_numbers((4, 5), F64), HostTensor.from_nested([1, 2])
    for label, numbers in (
        ("beyond", ((0, 0), (5, 5), (1, 1))),
        ("negative", ((-1, 0), (4, 5), (1, 1))),
        ("crossed", ((3, 0), (2, 5), (1, 1))),
        ("backwards", ((0, 0), (4, 5), (1, -1))),
        ("few", ((0,), (4, 5), (1, 1))),
    ):
        start, limit, strides = numbers
        cut = partial(primitives.slice, start=start, limit=limit, strides=strides)
        yield refused("primitives.slice", label, (x,), cut, ArgumentError)
    outside = HostTensor.from_nested([3, 0])
    yield refused("primitives.dynamic_slice", "outside", (x, outside), _dynamic, IndexingError)
    yield refused("primitives.dynamic_slice", "starts no tensor", (x,), lambda x: _dynamic(x, (0, 0)), DTypeError)
    name, update = "primitives.dynamic_update_slice", primitives.dynamic_update_slice
    yield refused(name, "unequal dtypes", (x, whole_numbers((2, 1), F32), starts), update, DTypeError)
    yield refused(name, "outside", (x, whole_numbers((2, 1), F64), outside), update, IndexingError)
    yield refused(name, "starts no tensor", (x, x), lambda x, y: update(x, y, (0, 0)), DTypeError)  # type: ignore[arg-type]


_dynamic: Final[Any] = partial(primitives.dynamic_slice, sizes=(2, 1))


def _of(x: Host, y: Host) -> Iterator[Case]:
    def cut() -> Host:
        return tabulated((2, 2), x.dtype, lambda at: x[1 + 2 * at[0], 3 * at[1]])

    def dynamic() -> Host:
        return tabulated((2, 1), x.dtype, lambda at: x[1 + at[0], 2 + at[1]])

    def updated() -> Host:
        return tabulated((4, 5), x.dtype, lambda at: y[at[0] - 1, 0] if at[0] in (1, 2) and at[1] == 2 else x[at])

    strided = partial(primitives.slice, start=(1, 0), limit=(4, 5), strides=(2, 3))
    starts = HostTensor.from_nested([1, 2], I32)
    yield Case("primitives.slice", str(x.dtype), (x,), strided, cut, shares=True)
    yield Case("primitives.dynamic_slice", str(x.dtype), (x, starts), _dynamic, dynamic)
    update = primitives.dynamic_update_slice
    yield Case("primitives.dynamic_update_slice", str(x.dtype), (x, y, starts), update, updated)
