"""Cases of ``dynamic_slice`` and ``dynamic_update_slice``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, I64
from tensor_core.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.ops.slicing import dynamic_slice, dynamic_update_slice
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, stored, tabulated, whole_numbers

PLACES: tuple[tuple[Index, Index, Index], ...] = (
    ((), (), ()),
    ((5,), (2,), (3,)),
    ((5,), (5,), (0,)),
    ((4, 3), (2, 3), (1, 0)),
    ((4, 3), (0, 2), (4, 1)),
    ((4, 0), (2, 0), (2, 0)),
    ((3, 1, 4), (1, 1, 2), (2, 0, 1)),
)
"""Shape, sizes, starts."""


def cases() -> Iterator[Case]:
    """Every dtype, starts as ints and as tensors, and what is refused."""
    for dtype in DTYPES:
        for shape, sizes, starts in PLACES if dtype in (F64, I64) else PLACES[::3]:
            yield from _of(dtype, shape, sizes, starts)
    yield from _refusals()


def _of(dtype: Any, shape: Index, sizes: Index, starts: Index) -> Iterator[Case]:
    x, update = whole_numbers(shape, dtype), whole_numbers(sizes, dtype, start=-5, modulus=11)
    label = f"{dtype}-{shape}-{sizes}-at-{starts}"

    def sliced() -> Host:
        return tabulated(sizes, dtype, lambda at: x[tuple(i + j for i, j in zip(at, starts, strict=True))])

    def updated() -> Host:
        def rule(at: Index) -> Any:
            inner = tuple(i - j for i, j in zip(at, starts, strict=True))
            inside = all(0 <= i < size for i, size in zip(inner, sizes, strict=True))
            return update[inner] if inside else x[at]

        return tabulated(shape, dtype, rule)

    yield Case("dynamic_slice", label, (x,), lambda x: dynamic_slice(x, starts, sizes), sliced)
    yield Case(
        "dynamic_update_slice", label, (x, update), lambda x, update: dynamic_update_slice(x, update, starts), updated
    )
    for of_starts in (I32, I64):
        where = HostTensor.from_flat(starts, (len(starts),), of_starts)
        name = f"{label}-{of_starts}"
        yield Case("dynamic_slice", name, (x, where), lambda x, starts: dynamic_slice(x, starts, sizes), sliced)
        yield Case("dynamic_update_slice", name, (x, update, where), dynamic_update_slice, updated)


def _refusals() -> Iterator[Case]:
    wide = whole_numbers((4, 4), F64)
    x, one, where = whole_numbers((4, 3), F64), whole_numbers((1, 1), I64), HostTensor.from_nested([4, 0])
    yield Case(
        "dynamic_update_slice",
        "converts",
        (x, one),
        lambda x, one: dynamic_update_slice(x, one, (3, 2)),
        lambda: tabulated((4, 3), F64, lambda at: stored(one[0, 0], F64) if at == (3, 2) else x[at]),
    )
    for place in ((3, 0), (-1, 0), (0, 3)):
        yield refused(
            "dynamic_slice", f"at-{place}", (x,), lambda x, at=place: dynamic_slice(x, at, (2, 1)), IndexingError
        )
    yield refused(
        "dynamic_slice", "tensor-outside", (x, where), lambda x, at: dynamic_slice(x, at, (1, 1)), IndexingError
    )
    yield refused("dynamic_slice", "too-large", (x,), lambda x: dynamic_slice(x, (0, 0), (5, 1)), ArgumentError)
    yield refused("dynamic_slice", "few-starts", (x,), lambda x: dynamic_slice(x, (0,), (1, 1)), ArgumentError)
    yield refused(
        "dynamic_slice",
        "float-starts",
        (x, whole_numbers((2,), F64)),
        lambda x, at: dynamic_slice(x, at, (1, 1)),
        DTypeError,
    )
    yield refused(
        "dynamic_update_slice", "outside", (x, one), lambda x, one: dynamic_update_slice(x, one, (4, 0)), IndexingError
    )
    yield refused(
        "dynamic_update_slice", "larger", (x, wide), lambda x, y: dynamic_update_slice(x, y, (0, 0)), ShapeError
    )
    yield refused(
        "dynamic_update_slice",
        "lossy",
        (one, whole_numbers((1, 1), F64)),
        lambda x, y: dynamic_update_slice(x, y, (0, 0)),
        DTypeError,
    )
