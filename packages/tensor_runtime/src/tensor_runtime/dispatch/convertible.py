"""Whether a dtype becomes another without a word: decided from dtypes alone, with the error that says what does it."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import DType
from tensor_core.errors import LossyConversionError
from tensor_core.promotion import can_convert, promote_scalar
from tensor_runtime.dispatch.spec import PYTHON_NUMBERS
from tensor_runtime.form import Form

_EXPLICIT: Final = {"bool": "bool(x)", "int": "int(x)", "float": "x.real", "complex": "complex(x)"}


def check_convertible(operation: str, source: Form | type, target: DType, /) -> None:
    """Refuse a conversion that is not in the promotion lattice; a Python number adopts ``target`` when its kind can.

    >>> from tensor_core import F64, I64
    >>> check_convertible("copy_into", float, I64)
    Traceback (most recent call last):
        ...
    tensor_core.errors.LossyConversionError: copy_into: float to I64 can lose values; write int(x) for a number
    """
    if isinstance(source, Form):
        allowed, name = can_convert(source.dtype, target), str(source.dtype)
    else:
        allowed, name = source in PYTHON_NUMBERS and promote_scalar(target, source) is target, source.__name__
    if not allowed:
        explicit = f"cast(x, {target.name}) does it all the same"
        if not isinstance(source, Form):  # cast takes tensors; a Python number has Python's own
            explicit = f"write {_EXPLICIT[target.kind]} for a number"
            if source is complex and target.kind == "int":
                explicit = "write int(x.real) for a number"
        raise LossyConversionError(
            f"{operation}: {name} to {target} can lose values; {explicit}",
            operation=operation,
            target=target,
        )
