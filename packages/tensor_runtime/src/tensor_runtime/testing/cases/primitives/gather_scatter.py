"""Cases of the strict ``gather`` and ``scatter``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import (
    C64,
    DTYPES,
    F32,
    F64,
    I32,
)
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    IndexingError,
    ShapeError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Host,
    tabulated,
    whole_numbers,
)

_ALONG: Final[Any] = {"offset_axes": (1,), "collapsed_axes": (0,), "start_axes": (0,), "vector_axis": 1}
_gather: Final[Any] = partial(primitives.gather, **_ALONG, slice_sizes=(1, 2))
_add: Final[Any] = partial(primitives.scatter, **_ALONG, mode="add")


def cases() -> Iterator[Case]:
    """Every case of the family."""
    where = HostTensor.from_nested([2, 0, 2], I32)
    for dtype in DTYPES:
        x, updates = whole_numbers((3, 2), dtype), whole_numbers((3, 2), dtype, -2, 5)
        gathered = partial(_gathered, x, where)
        yield Case("primitives.gather", str(dtype), (x, where), _gather, gathered)
        replaced = partial(_replaced, x, where, updates)
        call = partial(primitives.scatter, **_ALONG, mode="replace")
        yield Case("primitives.scatter", str(dtype), (x, where, updates), call, replaced)
    x, outside = whole_numbers((3, 2), F64), HostTensor.from_nested([0, 3, 1])
    yield refused("primitives.gather", "outside", (x, outside), _gather, IndexingError)
    yield refused("primitives.gather", "float indices", (x, whole_numbers((3,), F64)), _gather, DTypeError)
    yield refused("primitives.scatter", "outside", (x, outside, x), _add, IndexingError)
    yield refused("primitives.scatter", "unequal dtypes", (x, where, whole_numbers((3, 2), F32)), _add, DTypeError)
    yield refused("primitives.scatter", "unequal shapes", (x, where, whole_numbers((2, 2), F64)), _add, ShapeError)
    least = partial(primitives.scatter, **_ALONG, mode="min")
    z = whole_numbers((3, 2), C64)
    yield refused("primitives.scatter", "least of complex", (z, where, z), least, DTypeError)
    other = partial(primitives.scatter, **_ALONG, mode="average")
    yield refused("primitives.scatter", "another mode", (x, where, x), other, ArgumentError)


def _gathered(x: Host, where: Host) -> Host:
    return tabulated((3, 2), x.dtype, lambda at: x[where[at[0]], at[1]])


def _replaced(x: Host, where: Host, updates: Host) -> Host:
    last = {where[row]: row for row in range(3)}
    return tabulated((3, 2), x.dtype, lambda at: updates[last[at[0]], at[1]] if at[0] in last else x[at])
