"""Strict choices between elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_core.dtypes import ALL, REAL, Bool, DType
from tensor_core.errors import DTypeError
from tensor_runtime.dispatch.call import execute_binary, execute_ternary
from tensor_runtime.dispatch.dtype_rules import equal_shapes, three_equal_shapes
from tensor_runtime.form import Form
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.protocols import Operand
from tensor_runtime.tensors.tensor import Tensor


class _SelectSpec(StrictSpec):
    """The first operand is a Bool tensor, and the other two have one dtype."""

    __slots__ = ()

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        predicate, *chosen = operands
        if not isinstance(predicate, Form) or predicate.dtype is not Bool:
            found = predicate.dtype if isinstance(predicate, Form) else f"Python {predicate.__name__}"
            raise DTypeError(
                f"primitives.select: the predicate is {found}; accepted: a Bool tensor", operation=self.name
            )
        return super().common_dtype(chosen)


_ORDERED: Final = REAL | {Bool}
_SELECT: Final = _SelectSpec("select", accepts=ALL, result_shape=three_equal_shapes, kernel="where")
_MAX: Final = StrictSpec("max", binary=True, accepts=_ORDERED, result_shape=equal_shapes, kernel="maximum")
_MIN: Final = StrictSpec("min", binary=True, accepts=_ORDERED, result_shape=equal_shapes, kernel="minimum")
_CLAMP: Final = StrictSpec("clamp", accepts=_ORDERED, result_shape=three_equal_shapes, kernel="clip")


def max(a: Tensor, b: Tensor, /) -> Tensor:
    """The greater of two; NaN if either is. Complex numbers have no order. Errors as for ``primitives.add``.

    >>> max(tensor([1, 5]), tensor([3, 4])).to_numpy().tolist()
    [3, 5]
    """
    return execute_binary(_MAX, a, b)


def min(a: Tensor, b: Tensor, /) -> Tensor:
    """The lesser of two; NaN if either is. Complex numbers have no order. Errors as for ``primitives.add``.

    >>> min(tensor([1, 5]), tensor([3, 4])).to_numpy().tolist()
    [1, 4]
    """
    return execute_binary(_MIN, a, b)


def clamp(low: Tensor, x: Tensor, high: Tensor, /) -> Tensor:
    """The nearest value between two bounds, min(max(x, low), high): ``high`` where the bounds cross, NaN for any NaN.

    All three have one shape and dtype. Errors as for ``primitives.add``.

    >>> clamp(tensor([0, 0]), tensor([-5, 2]), tensor([3, 3])).to_numpy().tolist()
    [0, 2]
    """
    return execute_ternary(_CLAMP, x, low, high)


def select(predicate: Tensor, on_true: Tensor, on_false: Tensor, /) -> Tensor:
    """Elements of one tensor where a Bool tensor holds, of another elsewhere; all three have one shape.

    >>> select(tensor([True, False]), tensor([1, 2]), tensor([3, 4])).to_numpy().tolist()
    [1, 4]
    """
    return execute_ternary(_SELECT, predicate, on_true, on_false)
