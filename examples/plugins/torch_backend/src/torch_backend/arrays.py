"""Arrays: a row of elements and the place of the first one. Strides are in the forms, and may be negative.

PyTorch has no negative strides, so an operand that runs backwards is turned around by ``flip`` where a function of
PyTorch must see it: a copy on the same device, and the only one that is made of an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_runtime.form import Form
from tensor_runtime.placement import Placement

DTYPES: Mapping[DType, torch.dtype] = {
    Bool: torch.bool,
    I32: torch.int32,
    I64: torch.int64,
    F32: torch.float32,
    F64: torch.float64,
    C32: torch.complex64,
    C64: torch.complex128,
}


class Array(NamedTuple):
    """Every element of an allocation, in a row, and the place of the first one that is meant."""

    row: torch.Tensor
    offset: int


Seen = Callable[[Array], torch.Tensor]


def device_of(placement: Placement, /) -> torch.device:
    """PyTorch's name of a device."""
    assert placement.device is not None
    kind = placement.device.kind.short.removeprefix("torch-")
    return torch.device("cpu") if kind == "cpu" else torch.device(kind, placement.device.ordinal)


def seen(shape: Sequence[int], strides: Sequence[int], /) -> Seen:
    """What makes a tensor of PyTorch of an array: axes as they are named here, whatever the order in memory."""
    backwards = tuple(axis for axis, stride in enumerate(strides) if stride < 0)
    if 0 in shape:
        return lambda array: array.row.new_empty(tuple(shape))
    forwards = tuple(map(abs, strides))
    back = sum((shape[axis] - 1) * forwards[axis] for axis in backwards)
    size = tuple(shape)
    if not backwards:
        return lambda array: array.row.as_strided(size, forwards, array.offset)
    return lambda array: array.row.as_strided(size, forwards, array.offset - back).flip(backwards)


def whole(form: Form, /) -> Seen:
    """An operand as a tensor of PyTorch whose axis k is axis k."""
    return seen(form.shape, form.strides)


def stretched(form: Form, shape: Sequence[int], /) -> Seen:
    """An operand with the axes that broadcasting to a shape asks for; the repeated ones have stride 0."""
    added = len(shape) - form.rank
    strides = [
        0 if axis < added or form.shape[axis - added] != extent else form.strides[axis - added]
        for axis, extent in enumerate(shape)
    ]
    return seen(shape, strides)


def stacked(form: Form, core: int = 2, /) -> Seen:
    """A batch of matrices with the batch axes in front, as PyTorch wants them."""
    order = (*range(core, form.rank), *range(core))
    return seen([form.shape[axis] for axis in order], [form.strides[axis] for axis in order])


def stored(tensor: torch.Tensor, form: Form, /) -> Array:
    """A result of PyTorch, axis k being axis k, in column-major order; shares no memory with an operand."""
    line = tensor.permute(tuple(range(tensor.ndim))[::-1]).to(DTYPES[form.dtype]).resolve_conj().resolve_neg()
    return Array(line.contiguous().view(-1), 0)


def owned(function: Callable[..., torch.Tensor], form: Form, *operands: Seen | None) -> Callable[..., Array]:
    """A kernel that computes an array of its own; None stands for an operand that is no array."""
    shape = form.shape

    def kernel(*arrays: Any) -> Array:
        rows = [one.row for one in arrays if isinstance(one, Array)]
        given = [see(one) if see else one for see, one in zip(operands, arrays, strict=True)]
        array = stored(function(*given).expand(shape), form)
        shared = any(array.row.untyped_storage().data_ptr() == row.untyped_storage().data_ptr() for row in rows)
        return Array(array.row.clone(), 0) if shared and form.size else array

    return kernel
