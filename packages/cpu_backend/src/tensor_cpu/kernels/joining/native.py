"""Native copies of arrays to where they lie in one that joins them (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "parts of the result's dtype"


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


def _transposed(form: Operand, result: Form) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    assert isinstance(form, Form)
    return (form.shape[::-1], form.strides[::-1]) if form.dtype is result.dtype else None


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "concatenate": taking_fields(bind_concatenate),
    "stack": taking_fields(bind_stack),
}
