"""What the namespace tells of itself: capabilities, devices and element types."""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import C64, F64, I64, DType
from tensor_runtime.array_api.data_types import dtypes_of_kind
from tensor_runtime.placement import CPU, Placement

MOST_AXES: Final = 64


class NamespaceInfo:
    """The standard's ``__array_namespace_info__()``.

    Source: the array API standard 2024.12.

    >>> NamespaceInfo().default_dtypes()["real floating"]
    F64
    """

    def capabilities(self) -> dict[str, Any]:
        """What is supported: masks as indices, shapes that follow from values, and so many axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MOST_AXES}

    def default_device(self) -> Placement:
        """Where tensors are made."""
        return CPU

    def default_dtypes(self, *, device: object = None) -> dict[str, DType]:
        """Element types of what is made without one."""
        return {"real floating": F64, "complex floating": C64, "integral": I64, "indexing": I64}

    def devices(self) -> list[Placement]:
        """Placements that this machine has for certain."""
        return [CPU]

    def dtypes(self, *, device: object = None, kind: Any = None) -> dict[str, DType]:
        """Element types by name; ``kind`` as for ``isdtype``."""
        return dtypes_of_kind(kind)
