"""What execution and the printed table read of a plan.

``tensor_einsum.plan.Plan`` fits it; the two modules that serve a plan stand below it by knowing this only.
"""

from __future__ import annotations

from typing import Protocol

from tensor_core.dtypes import DType
from tensor_einsum.extents import Labels, Shape
from tensor_einsum.steps import Step


class Planned(Protocol):
    """A contraction, decided; hashable, so that it can be part of a key."""

    @property
    def notation(self) -> str:
        """As the user wrote it."""
        ...

    @property
    def inputs(self) -> tuple[Labels, ...]:
        """Labels of each operand."""
        ...

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Shapes of the operands."""
        ...

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """Element types of the operands."""
        ...

    @property
    def output_dtype(self) -> DType:
        """Element type of the result."""
        ...

    @property
    def output_shape(self) -> Shape:
        """Shape of the result."""
        ...

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is executed, in order."""
        ...

    @property
    def flops(self) -> int:
        """Additions and multiplications of all steps."""
        ...

    @property
    def largest_intermediate(self) -> int:
        """Elements of the largest step's result."""
        ...

    @property
    def peak_bytes(self) -> int:
        """The most bytes of intermediates and result alive at once."""
        ...

    def __hash__(self) -> int: ...
