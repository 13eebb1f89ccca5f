"""Strict contraction: ``dot_general``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.ops.contraction import ContractionSpec, axis_pairs, general_labels
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor


class _StrictContractionSpec(StrictSpec, ContractionSpec):
    """A contraction of operands of one dtype."""

    __slots__ = ()


_DOT_GENERAL: Final = _StrictContractionSpec("dot_general", general_labels, takes_params=True)


def dot_general(
    a: Tensor, b: Tensor, /, *, contracting: Sequence[Sequence[int] | int], batch: Sequence[Sequence[int] | int]
) -> Tensor:
    """Sum of products over pairs of axes, with batch axes trailing, of two tensors of one dtype.

    ``tensor_runtime.dot_general`` promotes, and takes other algebras.

    Args:
        a: any shape.
        b: any shape, the dtype of ``a``.
        contracting: (axes of a, axes of b), paired in order and summed; ``((), ())`` for none.
        batch: (axes of a, axes of b), paired in order and kept; ``((), ())`` for none.

    Returns:
        Shape [free axes of a, free axes of b, batch axes]. Integers wrap; of Bool, the or of ands.

    Raises:
        ShapeError: paired axes of different extents.
        ArgumentError: an axis in two roles, or unpaired.
        AxisError: an axis out of range or named twice.
        DTypeError: the dtypes differ.

    >>> dot_general(tensor([[1, 2]]), tensor([[3, 4]]), contracting=([1], [1]), batch=([0], [0])).to_numpy().tolist()
    [11]
    """
    axes = (axis_pairs("dot_general", contracting), axis_pairs("dot_general", batch))
    return execute_pair(_DOT_GENERAL, a, b, axes)
