"""Kernels of slices whose place is a value, on transposed arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.shapes import Shape
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.value_errors import start_out_of_range
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_dynamic_slice(operands: tuple[Form, ...], result: Form, sizes: Shape, /) -> Kernel:
    """The slice of given sizes; starts come as Python ints or as an array.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_dynamic_slice((form_of(I64, (5,), CPU),), form_of(I64, (2,), CPU), (2,))
    >>> kernel(np.arange(5), (3,)).tolist()
    [3, 4]
    >>> kernel(np.arange(5), (4,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.IndexingError: dynamic_slice: starts[0] is 4, ...
    """
    shape = operands[0].shape

    def sliced(x: Array, starts: Any) -> Array:
        part: Array = x[_slices("dynamic_slice", shape, sizes, starts)]
        return part.copy(order="C")

    return sliced


def bind_dynamic_update_slice(operands: tuple[Form, ...], result: Form, params: None, /) -> Kernel:
    """A copy with a slice replaced; starts come as Python ints or as an array.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, update = form_of(I64, (4,), CPU), form_of(I64, (2,), CPU)
    >>> bind_dynamic_update_slice((x, update), x, None)(np.zeros(4, int), np.array([7, 8]), (1,)).tolist()
    [0, 7, 8, 0]
    """
    shape, sizes = operands[0].shape, operands[1].shape

    def updated(x: Array, update: Array, starts: Any) -> Array:
        index = _slices("dynamic_update_slice", shape, sizes, starts)
        out = x.copy(order="C")
        out[index] = update
        return out

    return ignoring_fp_errors(updated)


def _slices(operation: str, shape: Shape, sizes: Shape, starts: Any) -> tuple[Any, ...]:
    index = []
    for axis, (extent, size, given) in enumerate(zip(shape, sizes, starts, strict=True)):
        start = int(given)
        if not 0 <= start <= extent - size:
            raise start_out_of_range(operation, axis, start, extent, size)
        index.append(slice(start, start + size))
    return (..., *reversed(index))


BINDERS: Final[Mapping[str, Binder]] = {
    "dynamic_slice": taking_fields(bind_dynamic_slice),
    "dynamic_update_slice": bind_dynamic_update_slice,
}
