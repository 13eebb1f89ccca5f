"""Selection between operands, element by element: by a condition, by size, between bounds.

Operands broadcast and are promoted as in ``tensor_runtime.ops.arithmetic``. Complex numbers have no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensor_core.dtypes import REAL, Bool, DType, as_dtype
from tensor_core.errors import DTypeError
from tensor_core.promotion import promote
from tensor_runtime.dispatch.call import execute_binary, execute_ternary
from tensor_runtime.dispatch.dtype_rules import broadcast
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.dispatch.spec import ElementwiseSpec, OpSpec
from tensor_runtime.form import Form
from tensor_runtime.ops.views import copy
from tensor_runtime.protocols import Operand
from tensor_runtime.static_types.combined import selection_dtype
from tensor_runtime.static_types.results import common_dtype
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap


class _WhereSpec(ElementwiseSpec):
    """The first operand is Bool; the other two are promoted, also when both are Python numbers."""

    __slots__ = ()

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        condition, *chosen = operands
        found = condition.dtype if isinstance(condition, Form) else as_dtype(condition)
        if found is not Bool:
            raise DTypeError(
                f"{self.name}: the condition is {found}; accepted: Bool (compare it, such as with not_equal(x, 0))",
                operation=self.name,
            )
        if any(isinstance(operand, Form) for operand in chosen):
            return super().common_dtype(chosen)
        return promote(*map(as_dtype, chosen))


_MISSING: Final[Any] = ...  # what must be given, and is refused by an error of ours where it is not
_ORDERED: Final = REAL | {Bool}

WHERE: Final = _WhereSpec("where", 3)
MAXIMUM: Final = ElementwiseSpec("maximum", 2, accepts=_ORDERED)
MINIMUM: Final = ElementwiseSpec("minimum", 2, accepts=_ORDERED)
CLIP: Final = ElementwiseSpec("clip", 3, accepts=_ORDERED)
_FROM_BELOW: Final = OpSpec("clip", binary=True, accepts=_ORDERED, result_shape=broadcast, kernel="maximum")
_FROM_ABOVE: Final = OpSpec("clip", binary=True, accepts=_ORDERED, result_shape=broadcast, kernel="minimum")


@selection_dtype
def where(
    condition: Tensor | bool, a: Tensor | Number = _MISSING, b: Tensor | Number = _MISSING, /, out: Out = None
) -> Tensor:
    """Elements of ``a`` where the condition holds, of ``b`` elsewhere.

    Nothing is computed with the elements left out, so a NaN among them does not matter; but whoever made ``a`` has
    computed all of it.

    Args:
        condition: Bool; other dtypes are refused, where NumPy asks whether they differ from 0. Or a Python bool.
        a: any dtype and shape, or a Python number.
        b: broadcasts with the condition and ``a``.

    Returns:
        Common dtype of ``a`` and ``b``, broadcast shape of all three. Two Python numbers give Bool, I64, F64 or C64.

    Raises:
        DTypeError: the condition is not Bool, an operand is no tensor and no Python number, or there is no third one:
            what NumPy makes of a condition alone is ``nonzero``.
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> where(tensor([True, False]), tensor([1.0, 2.0]), 0)
    Tensor(F64, (2,), column-major, cpu)
     1.0  0.0
    """
    if b is _MISSING:
        raise DTypeError(
            "where: found "
            + (
                "a condition alone; write nonzero(condition) for the places where it holds"
                if a is _MISSING
                else "one choice"
            )
            + "; accepted: where(condition, a, b)",
            operation="where",
        )
    return execute_ternary(WHERE, condition, a, b, out)


@common_dtype
def maximum(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """The greater of two elements; NaN if either is. Of zeros with different signs, either (the CPU gives the second).

    Args:
        a: real or Bool of any shape, or a Python number.
        b: broadcasts with ``a``.

    Returns:
        Their common dtype and broadcast shape.

    Raises:
        DTypeError: an operand is complex.
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> maximum(tensor([1, 5]), 3)
    Tensor(I64, (2,), column-major, cpu)
     3  5
    """
    return execute_binary(MAXIMUM, a, b, out)


@common_dtype
def minimum(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """The lesser of two elements; NaN if either is. Arguments and errors as for :func:`maximum`.

    >>> minimum(tensor([1, 5]), 3)
    Tensor(I64, (2,), column-major, cpu)
     1  3
    """
    return execute_binary(MINIMUM, a, b, out)


def clip(
    x: Tensor | Number, /, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *, out: Out = None
) -> Tensor:
    """The nearest value between two bounds: minimum(maximum(x, min), max).

    Where the bounds cross, ``max`` wins; a NaN in any of the three gives NaN.

    Args:
        x: real or Bool of any shape.
        min: lower bound, broadcasts with ``x``; None for no bound.
        max: upper bound likewise. With neither bound the result is a copy.

    Returns:
        The common dtype and broadcast shape of what was given: I64 between F64 bounds gives F64, as in NumPy.

    Raises:
        DTypeError: an operand is complex.
        CastRangeError: a bound that is a Python int does not fit the common dtype.
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> clip(tensor([-5, 2, 9]), 0, 3)
    Tensor(I64, (3,), column-major, cpu)
     0  2  3
    """
    if min is not None and max is not None:
        return execute_ternary(CLIP, x, min, max, out)
    if min is not None:
        return execute_binary(_FROM_BELOW, x, min, out)
    if max is not None:
        return execute_binary(_FROM_ABOVE, x, max, out)
    CLIP.common_dtype((unwrap("clip", x)[0],))  # type: ignore[arg-type]
    found: Tensor = copy(x)  # type: ignore[arg-type]
    return found if out is None else written("clip", out, found, x)
