"""Contractions of a real and a complex operand as contractions of real ones: the larger, real one is not converted.

The complex operand is read as a real one with an innermost axis of two, its parts, which needs no copy where it has no
gaps; so is the result written. A vector beside a matrix that stays in a cache is multiplied part by part instead, by
two products of a real matrix and a real vector.

Parts are multiplied apart: an infinite part leaves the other one as it is, where a product with a converted operand has
NaN, as infinity times 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_runtime.backends.shared.axes import Operand, row_major
from tensor_runtime.backends.workspaces import with_workspace, workspace_of

Kernel = Callable[[Any, Any], Any]

_PARTS: Final = {"complex64": "float32", "complex128": "float64"}
_FEWEST: Final = 1 << 10  # elements of a real operand whose conversion is worth two calls
_READ_TWICE: Final = 10 << 20  # bytes of a real operand, up to which two products beat one of two columns


class RealProduct(NamedTuple):
    """The operands and the result of the real contraction, which operand is complex, and how its parts are read."""

    operands: tuple[Operand, Operand, Operand]
    second: bool
    part_by_part: bool


def in_real_parts(x: Operand, y: Operand, result: Operand) -> RealProduct | None:
    """The same contraction of parts; None where both operands are complex or real, none is summed, or it is small.

    >>> x, y = row_major((0, 1), (90, 80), "float64"), row_major((1, 2), (80, 5), "complex128")
    >>> found = in_real_parts(x, y, row_major((0, 2), (90, 5), "complex128"))
    >>> found and [operand.shape for operand in found.operands]
    [(90, 80), (80, 5, 2), (90, 5, 2)]
    """
    part = _PARTS.get(result.dtype)
    if part is None or {x.dtype, y.dtype} != {part, result.dtype}:
        return None
    second = y.dtype == result.dtype
    real, other = (x, y) if second else (y, x)
    if real.size < max(_FEWEST, other.size) or set(result.labels).issuperset((*x.labels, *y.labels)):
        return None
    by_parts = set(real.labels).issuperset(other.labels) and real.size * np.dtype(part).itemsize <= _READ_TWICE
    if by_parts:
        parts = other._replace(strides=tuple([2 * step for step in other.strides]), dtype=part)
        made = result._replace(dtype=part)
    else:
        label = 1 + max(*x.labels, *y.labels)
        parts, made = (row_major((*one.labels, label), (*one.shape, 2), part) for one in (other, result))
    return RealProduct((x, parts, made) if second else (parts, y, made), second, by_parts)


def bind_real_parts(kernel: Kernel, product: RealProduct, other: Operand, result: Operand) -> Kernel:
    """The kernel of the complex result, by that of the real contraction; ``other`` is the complex operand.

    >>> x, y = row_major((0, 1), (1024, 2), "float64"), row_major((1,), (2,), "complex128")
    >>> result = row_major((0,), (1024,), "complex128")
    >>> product = in_real_parts(x, y, result)
    >>> kernel = product and bind_real_parts(lambda x, y: x @ y, product, y, result)
    >>> kernel and kernel(np.ones((1024, 2)), np.array([1 + 2j, 3 - 1j]))[0].item()
    (4+1j)
    """
    part, dtype, parts_shape, shape = _PARTS[result.dtype], np.dtype(result.dtype), (*other.shape, 2), result.shape
    second, itemsize = product.second, np.dtype(result.dtype).itemsize

    def part_by_part(x: Any, y: Any) -> Any:
        out = np.empty(shape, dtype)
        out.real = kernel(x, y.real) if second else kernel(x.real, y)
        out.imag = kernel(x, y.imag) if second else kernel(x.imag, y)
        return out

    def together(x: Any, y: Any) -> Any:
        made = kernel(x, parts(y)) if second else kernel(parts(x), y)
        return made.reshape(-1).view(dtype).reshape(shape)

    def parts(array: Any) -> Any:
        return np.ascontiguousarray(array).reshape(-1).view(part).reshape(parts_shape)  # a copy, if there are gaps

    if product.part_by_part:
        return with_workspace(part_by_part, workspace_of(kernel) + result.size * itemsize // 2)
    compact = other.strides == row_major(other.labels, other.shape, other.dtype).strides
    return with_workspace(together, workspace_of(kernel) + (0 if compact else other.size * itemsize))
