"""Native copies of arrays to where they lie in one that joins or repeats them (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.shapes import normalize_axes, row_major_strides
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.joining.numpy import bind_repeat as numpys_repeat
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import MOST_AXES, Array
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.workspaces import with_workspace
from tensor_runtime.form import Form
from tensor_runtime.ops.joining import Repeats, tile_shape
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "parts of the result's dtype"
_FEW_ROLLED: Final = 1 << 12  # elements
_LARGEST_BLOCK: Final = 1 << 18  # bytes that are read again from the second-level cache


def bind_concatenate(operands: tuple[Operand, ...], result: Result, axis: int, /) -> Kernel | None:
    """One after the other along an axis; None where an operand has another dtype than the result, or for very many.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b, c = (form_of(I64, (extent,), CPU) for extent in (1, 2, 3))
    >>> bind_concatenate((a, b), c, 0)(np.array([1]), np.array([2, 3])).tolist()
    [1, 2, 3]
    """
    assert isinstance(result, Form)
    place = result.rank - 1 - axis % result.rank
    parts = []
    for form in operands:
        part = _transposed(form, result)
        if part is None:
            return None
        parts.append(part)
    return LIBRARY.bind_joined(result.shape[::-1], result.dtype.name, place, tuple(parts))


def bind_stack(operands: tuple[Operand, ...], result: Result, axis: int, /) -> Kernel | None:
    """Side by side along a new axis; None as for :func:`bind_concatenate`.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(I64, (2,), CPU), form_of(I64, (2, 2), CPU)
    >>> bind_stack((a, a), b, 1)(np.array([1, 2]), np.array([3, 4])).tolist()
    [[1, 2], [3, 4]]
    """
    assert isinstance(result, Form)
    place = result.rank - 1 - axis % result.rank
    parts: list[Any] = []
    for form in operands:
        found = _transposed(form, result)
        if found is None:
            return None
        extents, strides = found
        parts.append(((*extents[:place], 1, *extents[place:]), (*strides[:place], 0, *strides[place:])))
    return LIBRARY.bind_joined(result.shape[::-1], result.dtype.name, place, tuple(parts))


def bind_repeat(operands: tuple[Operand, ...], result: Result, params: Repeats, /) -> Kernel | None:
    """A copy along an axis more, of stride 0, where all elements are repeated as often; None for an empty result.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_repeat((form_of(I64, (2,), CPU),), form_of(I64, (4,), CPU), (0, 4))
    >>> kernel(np.array([5, 6]), (2,)).tolist(), kernel(np.array([5, 6]), (1, 3)).tolist()
    ([5, 5, 6, 6], [5, 6, 6, 6])
    """
    (form,) = operands
    assert isinstance(form, Form) and isinstance(result, Form)
    axis, total = params
    if result.size == 0 or total % form.shape[axis] or form.rank == MOST_AXES:
        return None
    place, times = form.rank - axis, total // form.shape[axis]
    extents, strides = form.shape[::-1], form.strides[::-1]
    all_alike = LIBRARY.bind_copy(
        (*extents[:place], times, *extents[place:]),
        (*strides[:place], 0, *strides[place:]),
        result.dtype.name,
        result.shape[::-1],
    )
    one_by_one = numpys_repeat((form,), result, params)

    def repeat(x: Array, numbers: tuple[int, ...]) -> Array:
        repeated: Array = all_alike(x) if len(numbers) == 1 else one_by_one(x, numbers)
        return repeated

    return repeat


def bind_tile(operands: tuple[Operand, ...], result: Result, repetitions: tuple[int, ...], /) -> Kernel | None:
    """A copy with an axis of stride 0 before each that is repeated; None for an empty result, or very many axes.

    What is repeated along the last axis is made once, where a cache holds it, and then copied in one piece.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_tile((form_of(I64, (2,), CPU),), form_of(I64, (4,), CPU), (2,))(np.array([1, 2])).tolist()
    [1, 2, 1, 2]
    """
    (form,) = operands
    assert isinstance(form, Form) and isinstance(result, Form)
    extents, times = tile_shape(form.shape, repetitions)
    strides = (0,) * (len(extents) - form.rank) + form.strides
    walked = [
        axis
        for number, extent, stride in zip(times[::-1], extents[::-1], strides[::-1], strict=True)
        for axis in ((number, 0), (extent, stride))
        if axis[0] != 1
    ]
    if result.size == 0 or len(walked) > MOST_AXES:
        return None
    dtype, shape = result.dtype.name, result.shape[::-1]
    if len(walked) > 2 and walked[0] == (times[-1], 0) and result.nbytes <= times[-1] * _LARGEST_BLOCK:
        first = _walking(walked[1:], dtype, (result.size // times[-1],))
        again = _walking([(times[-1], 0), (result.size // times[-1], 1)], dtype, shape)
        return with_workspace(lambda x: again(first(x)), result.nbytes // times[-1])
    return _walking(walked, dtype, shape)


def _walking(axes: list[tuple[int, int]], dtype: str, shape: tuple[int, ...]) -> Kernel:
    """A copy of what extents and strides visit, the fastest last."""
    return LIBRARY.bind_copy(tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes), dtype, shape)


def bind_roll(operands: tuple[Operand, ...], result: Result, axes: tuple[int, ...] | None, /) -> Kernel | None:
    """Lines moved in two parts; None for an empty result, where the first axis has gaps, and for matrices as one line.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (3,), CPU)
    >>> kernel = bind_roll((form,), form, (0,))
    >>> kernel(np.array([1, 2, 3]), (1,)).tolist(), kernel(np.array([1, 2, 3]), (-1,)).tolist()
    ([3, 1, 2], [2, 3, 1])
    """
    (form,) = operands
    assert isinstance(form, Form) and isinstance(result, Form)
    if axes is None:
        axes = (0,)
        if form.rank != 1:
            return _rolled_line(form, result)
    if result.size == 0 or (form.rank and form.shape[0] > 1 and form.strides[0] != 1):
        return None
    places = tuple(form.rank - 1 - axis for axis in normalize_axes(axes, form.rank, "roll"))
    return LIBRARY.bind_rolled(result.shape[::-1], result.dtype.name, form.strides[::-1], places)


def _rolled_line(form: Form, result: Form) -> Kernel | None:
    """All elements as one line in row-major order: few of them, in three copies; None of none or many."""
    if not 0 < form.size <= _FEW_ROLLED:
        return None
    dtype, size, extents = result.dtype.name, (form.size,), form.shape
    there = LIBRARY.bind_copy(extents, form.strides, dtype, size)
    rolled = LIBRARY.bind_rolled(size, dtype, (1,), (0,))
    strides = row_major_strides(extents)[::-1]
    back = LIBRARY.bind_copy(extents[::-1], strides, dtype, extents[::-1])
    return with_workspace(lambda x, shifts: back(rolled(there(x), shifts)), 2 * result.nbytes)


def _transposed(form: Operand, result: Form) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    assert isinstance(form, Form)
    return (form.shape[::-1], form.strides[::-1]) if form.dtype is result.dtype else None


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "concatenate": taking_fields(bind_concatenate),
    "stack": taking_fields(bind_stack),
    "repeat": bind_repeat,
    "tile": taking_fields(bind_tile),
    "roll": taking_fields(bind_roll),
}
