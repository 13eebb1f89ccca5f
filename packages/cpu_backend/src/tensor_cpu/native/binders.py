"""Which operations have native kernels.

A native binder answers None for forms that it has nothing for; the backend then binds NumPy's kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tensor_cpu.native import small
from tensor_cpu.native.library import AVAILABLE
from tensor_runtime.protocols import Kernel, Operand, Result

NativeBinder = Callable[[tuple[Operand, ...], Result, Any], Kernel | None]

_TOPICS: Final[tuple[Mapping[str, NativeBinder], ...]] = (small.BINDERS,)

BINDERS: Final[Mapping[str, NativeBinder]] = (
    {name: binder for topic in _TOPICS for name, binder in topic.items()} if AVAILABLE else {}
)
"""Native binders by operation; none without the extension."""
