"""Native copies within other kernels, for arrays as expected (csrc/copy)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import DTYPES
from tensor_core.shapes import Shape
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.protocols import Kernel

_NAMES: Final = {np.dtype(dtype.numpy_name): dtype.name for dtype in DTYPES}


def fill_kernel(extents: Shape, strides: Shape, fallback: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Kernel of ``target[...] = source`` for a target without gaps; ``fallback`` takes all other arrays.

    Args:
        extents: the shape of both.
        strides: of the source, in elements.
        fallback: what writes where the dtypes differ, or the target has gaps.

    >>> target = np.empty((2, 3))
    >>> fill_kernel((2, 3), (1, 2), np.copyto)(target, np.arange(6.0).reshape(3, 2).T)
    >>> target.tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    compact = [1]
    for extent in reversed(extents[1:]):
        compact.append(compact[-1] * extent)
    target_strides = tuple(reversed(compact[: len(extents)]))

    @cache
    def writer(dtype: np.dtype[Any]) -> tuple[Shape, Kernel]:
        write = LIBRARY.bind_copy_into(extents, target_strides, strides, _NAMES[dtype])
        return tuple(stride * dtype.itemsize for stride in strides), write

    def fill(target: Any, source: Any) -> None:
        dtype = target.dtype
        if source.dtype is dtype and target.flags.c_contiguous and dtype in _NAMES:
            expected, write = writer(dtype)
            if source.strides == expected:
                write(target, source)
                return
        fallback(target, source)

    return fill


def copy_kernel(
    extents: Shape, strides: Shape, dtype: np.dtype[Any], fallback: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Kernel that copies a source of this shape to a new compact array; ``fallback`` is called for other sources.

    >>> copy_kernel((2, 3), (1, 2), np.dtype("float64"), np.copy)(np.arange(6.0).reshape(3, 2).T).tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    native_copy = LIBRARY.bind_copy(extents, strides, _NAMES[dtype])
    expected = tuple(stride * dtype.itemsize for stride in strides)

    def copy(source: Any) -> Any:
        return native_copy(source) if source.dtype is dtype and source.strides == expected else fallback(source)

    return copy
