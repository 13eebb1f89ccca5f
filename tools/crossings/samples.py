"""What is sent: tensors of every dtype and layout, beside the NumPy arrays that they show; and what a way is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from tensor_core.dtypes import DTYPES, DType

Array = np.ndarray[Any, Any]
LAYOUTS: Final = ("rank 0", "empty", "owned", "reversed", "offset")
_SHAPE: Final = (3, 4, 2)
_FLOATS: Final = (0.0, -0.0, 1.5, -7.25, float("inf"), float("-inf"), float("nan"), 5e-324, 1e-45, 3e38, 1 / 3)


class Sample(NamedTuple):
    """An array with its layout, before a tensor is made of it."""

    dtype: DType
    layout: str
    array: Array

    def tensor(self) -> tr.Tensor:
        """A tensor of this layout: what is cut or turned over is a view of a whole one, as users have it."""
        whole = tr.asarray(np.asfortranarray(_elements(_shape(self.layout), self.dtype)), copy=True)
        made: tr.Tensor = _cut(whole, self.layout)
        return made


class Way(NamedTuple):
    """One format or protocol, and who is on the other side."""

    name: str
    partner: str
    give: Callable[[Sample, tr.Tensor], Array]
    """The array that the partner reads of what we give it."""
    take: Callable[[Sample], tuple[tr.Tensor, Array | None]]
    """The tensor that we read of what the partner gives, and the partner's memory where it lives on."""
    again: Callable[[Sample, tr.Tensor], tr.Tensor] | None = None
    """What we read of what we wrote; None where that is the two others in turn."""
    becomes: Callable[[Array], Array] = lambda array: array
    """What the format makes of an array by its own rules."""


class Folder(NamedTuple):
    """Where files are written, each under a name of its own."""

    path: Path

    def new(self, ending: str) -> Path:
        """A name that is free."""
        return self.path / f"{sum(1 for _ in self.path.iterdir())}{ending}"


def samples(dtypes: tuple[DType, ...] = DTYPES) -> Iterator[Sample]:
    """Every dtype in every layout.

    >>> [(one.layout, one.array.shape, one.array.strides) for one in samples(DTYPES[3:4])][3:]
    [('reversed', (3, 4, 2), (-8, 24, -96)), ('offset', (2, 2, 2), (8, 24, 96))]
    """
    for dtype in dtypes:
        for layout in LAYOUTS:
            whole = np.asfortranarray(_elements(_shape(layout), dtype))
            yield Sample(dtype, layout, _cut(whole, layout))


def _shape(layout: str) -> tuple[int, ...]:
    return {"rank 0": (), "empty": (2, 0, 3)}.get(layout, _SHAPE)


def _cut(whole: Any, layout: str) -> Any:
    if layout == "reversed":
        return whole[::-1, :, ::-1]
    return whole[1:, 1:3] if layout == "offset" else whole


def _elements(shape: tuple[int, ...], dtype: DType) -> Array:
    """Elements that only a copy of their bits keeps: signed zeros, NaN, subnormal and largest numbers."""
    count = int(np.prod(shape))
    name = dtype.numpy_name
    if dtype.kind == "bool":
        return np.resize(np.array([True, False, False]), count).reshape(shape)
    if dtype.kind == "int":
        ends = np.iinfo(name)
        values = np.resize(np.array([ends.max, 0, ends.min, -1, 7], name), count)
        return values.reshape(shape)
    with np.errstate(all="ignore"):
        parts = np.resize(np.array(_FLOATS, dtype.component.numpy_name), 2 * count)
    made = parts.view(name) if dtype.kind == "complex" else parts[1 : count + 1]
    elements: Array = np.array(made.reshape(shape))
    return elements
