"""How binders take the parameters of a kernel: as one object, or field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def taking_fields(bind: Callable[..., Any]) -> Callable[[tuple[Any, ...], Any, Any], Any]:
    """The binder that gives a function, after operands and result, each field of the parameters.

    >>> from tensor_runtime.contracts.reduction import ScanParams
    >>> taking_fields(lambda operands, result, axis: axis)((), None, ScanParams(-1))
    -1
    """
    return lambda operands, result, params: bind(operands, result, *params)
