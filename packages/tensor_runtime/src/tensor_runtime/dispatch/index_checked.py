"""Specs of operations that index values choose elements for.

The result has the dtype of the first operand; the operands that hold indices are I32 or I64 whatever that is. Indices
are values, so the kernel checks their range, and they are never part of a binding's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_core.dtypes import ALL, INTEGER, DType
from tensor_core.errors import DTypeError, IndexingError
from tensor_runtime.backends.kernel_facts import Effect, KernelFacts
from tensor_runtime.dispatch.conversion import check_convertible
from tensor_runtime.dispatch.spec import OpSpec, ShapeRule
from tensor_runtime.form import Form
from tensor_runtime.protocols import Operand


class IndexedSpec(OpSpec):
    """An operation on a tensor, indices into it, and perhaps tensors that are written.

    Args:
        name: what the user calls.
        result_shape: from the operands' shapes and the params.
        indices: position of the operand that holds indices.
        accepts: dtypes of the first operand. Operands other than the first and the indices are those written: their
            dtype has to be convertible to the first one's.
        effect: what a call does, see ``KernelFacts``.

    >>> from tensor_runtime.ops.gather_scatter import TAKE
    >>> TAKE.infer((zeros((2, 3))._form, tensor([0, 0])._form), 1)
    Form(F64, (2, 2), cpu)
    """

    __slots__ = ("indices",)

    def __init__(
        self,
        name: str,
        *,
        result_shape: ShapeRule,
        indices: int = 1,
        accepts: frozenset[DType] = ALL,
        effect: Effect = "pure",
    ) -> None:
        facts = KernelFacts(effect=effect, refuses=_any_index)
        super().__init__(name, accepts=accepts, result_shape=result_shape, takes_params=True, facts=facts)
        self.indices = indices

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        """Dtype of the first operand, after a look at the others."""
        data = operands[0]
        assert isinstance(data, Form)
        if data.dtype not in self.accepts:
            accepted = ", ".join(sorted(dtype.name for dtype in self.accepts))
            raise DTypeError(f"{self.name}: operand is {data.dtype}; accepted: {accepted}", operation=self.name)
        for position, operand in enumerate(operands[1:], 1):
            if position != self.indices:
                check_convertible(self.name, operand, data.dtype)
            elif isinstance(operand, Form) and operand.dtype not in INTEGER:
                raise DTypeError(
                    f"{self.name}: the indices are {operand.dtype}; accepted: I32, I64 (cast() makes them)",
                    operation=self.name,
                )
        return data.dtype


def _any_index(kernel: str, operands: tuple[Any, ...], result: Any, params: Any) -> str:
    return f"{kernel} refuses an index out of range"


def out_of_range(
    operation: str, place: str, value: int, axis: str, low: int, high: int, /, **fields: object
) -> IndexingError:
    """The error of an index value outside ``low`` to ``high``, for kernels that have found one.

    Args:
        operation: what the user called.
        place: where the value stands, such as "indices[0, 2]".
        value: the first such value in column-major order of the indices.
        axis: what it indexes, such as "axis 1 of extent 3".
        low: smallest value accepted.
        high: largest; below ``low`` if none is.
        fields: of the error.

    >>> print(out_of_range("take", "indices[0, 2]", 7, "axis 1 of extent 3", -3, 2))
    take: indices[0, 2] is 7, out of range for axis 1 of extent 3; accepted: -3 to 2
    """
    accepted = f"{low} to {high}" if low <= high else "none"
    return IndexingError(
        f"{operation}: {place} is {value}, out of range for {axis}; accepted: {accepted}",
        operation=operation,
        value=value,
        **fields,
    )
