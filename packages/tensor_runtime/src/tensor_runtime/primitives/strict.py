"""The specs of strict primitives."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_core.dtypes import DType
from tensor_core.errors import DTypeError
from tensor_runtime.dispatch.index_checked import IndexedSpec
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.form import Form
from tensor_runtime.protocols import Operand


class StrictSpec(OpSpec):
    """A spec that promotes nothing and takes tensors only.

    >>> from tensor_runtime.dispatch.dtype_rules import equal_shapes
    >>> spec = StrictSpec("add", result_shape=equal_shapes)
    >>> spec.infer((ones(2)._form, ones(2)._form))
    Form(F64, (2,), cpu)
    """

    __slots__ = ()

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        """The one dtype of all operands."""
        names = [_name(operand) for operand in operands]
        if len(set(names)) > 1 or not all(isinstance(operand, Form) for operand in operands):
            raise DTypeError(
                f"primitives.{self.name}: operands are {', '.join(names)}; "
                "accepted: tensors of one dtype (convert() first)",
                operation=self.name,
            )
        return super().common_dtype(operands)


class StrictIndexedSpec(IndexedSpec):
    """A spec of index values whose written operands have the dtype of the first operand.

    >>> from tensor_runtime.ops.slicing import updated
    >>> spec = StrictIndexedSpec("dynamic_update_slice", result_shape=updated, indices=2)
    >>> spec.infer((ones(3)._form, ones(2)._form, tensor([1])._form), None)
    Form(F64, (3,), cpu)
    """

    __slots__ = ()

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        """Dtype of the first operand, and of those that are written."""
        names = [_name(operand) for position, operand in enumerate(operands) if position != self.indices]
        if len(set(names)) > 1:
            raise DTypeError(
                f"primitives.{self.name}: operands are {', '.join(names)}; "
                "accepted: tensors of one dtype (convert() first)",
                operation=self.name,
            )
        return super().common_dtype(operands)


def _name(operand: Operand) -> str:
    return operand.dtype.name if isinstance(operand, Form) else f"Python {operand.__name__}"
