"""Specs of operations that index values choose elements for.

The result has the dtype of the first operand; the operands that hold indices are I32 or I64 whatever that is. Indices
are values, so the kernel checks their range, and they are never part of a binding's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_core.dtypes import ALL, INTEGER, DType
from tensor_core.errors import DTypeError
from tensor_runtime.backends.kernel_facts import Effect, KernelFacts
from tensor_runtime.dispatch.spec import OpSpec, ShapeRule, check_convertible
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
