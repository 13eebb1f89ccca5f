"""The spec of linear algebra: floating and complex operands only, each of which may be refused for its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_core.dtypes import FLOATING, DType
from tensor_core.errors import DTypeError
from tensor_runtime.backends.kernel_facts import KernelFacts
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.form import Form
from tensor_runtime.protocols import Operand, Result


def _not_finite(kernel: str, operands: tuple[Any, ...], result: Result, params: Any, /) -> str | None:
    checks = getattr(params, "check", True)  # those that have no such parameter always do
    return f"{kernel} refuses elements that are not finite" if checks else None


def _no_result(kernel: str, operands: tuple[Any, ...], result: Result, params: Any, /) -> str:
    return _not_finite(kernel, operands, result, params) or f"{kernel} refuses matrices that have no result"


class LinalgSpec(OpSpec):
    """A spec whose operands each have a floating or complex dtype: no integer is promoted behind the caller's back.

    Args:
        total: every finite matrix has a result, which the method always finds.
        takes_all: elements that are not finite are taken as well.
        writes: the operands are given up, and their elements may change.
        options: as for ``OpSpec``; by default params and the four dtypes are accepted.
    """

    __slots__ = ()

    def __init__(
        self, name: str, *, total: bool = False, takes_all: bool = False, writes: bool = False, **options: Any
    ) -> None:
        refuses = None if takes_all else _not_finite if total else _no_result
        options = {"accepts": FLOATING, "takes_params": True, **options}
        facts = KernelFacts(effect="writes" if writes else "pure", refuses=refuses, given_up=writes)
        super().__init__(name, facts=facts, **options)

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        """Promotion of the operands, each of which must be F32, F64, C32 or C64.

        >>> from tensor_core import F32, C64
        >>> from tensor_linalg.specs.solving import SOLVE
        >>> from tensor_runtime.form import form_of
        >>> from tensor_runtime.placement import CPU
        >>> SOLVE.common_dtype((form_of(F32, (2, 2), CPU), form_of(C64, (2, 2), CPU)))
        C64
        """
        require_floating(self.name, [operand.dtype for operand in operands if isinstance(operand, Form)])
        return super().common_dtype(operands)


def require_floating(operation: str, dtypes: Sequence[DType], named: str = "", /) -> None:
    """Raise unless each operand's dtype is F32, F64, C32 or C64; ``named`` is what an error calls a single one.

    >>> from tensor_core import F64
    >>> require_floating("svd", [F64])
    """
    for position, dtype in enumerate(dtypes):
        if dtype not in FLOATING:
            which = named or ("operand" if len(dtypes) == 1 else f"operand {'abc'[position]}")
            raise DTypeError(
                f"{operation}: {which} is {dtype}; accepted: C32, C64, F32, F64; convert(x, F64) first",
                operation=operation,
                dtype=dtype,
            )
