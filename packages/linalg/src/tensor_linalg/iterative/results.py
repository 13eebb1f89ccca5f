"""What iterations return and tell their callers: results, progress, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, shortened
from tensor_linalg.operands import number, plain, unit_of
from tensor_linalg.results import fields_html, fields_text
from tensor_runtime.dispatch.arguments import whole


class Progress(NamedTuple):
    """What a callback is told: products so far, the residuals as they are, and eigenvalues where they are sought."""

    iterations: int
    residuals: tr.Tensor
    values: tr.Tensor | None = None

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class SolverResult(NamedTuple):
    """The best solution found, and how good it is."""

    x: tr.Tensor
    converged: bool
    iterations: int
    residuals: tr.Tensor
    interrupted: bool

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class EigenSearchResult(NamedTuple):
    """Eigenvalues and eigenvectors, the best found, and how good they are."""

    eigenvalues: tr.Tensor
    eigenvectors: tr.Tensor
    converged: bool
    iterations: int
    residuals: tr.Tensor
    interrupted: bool

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


Callback = Callable[[Progress], Any]
"""What it answers: True to stop; None or False to go on."""


class Stop:
    """When to stop: a tolerance, a number of products, a callback that answers True.

    >>> stop = Stop("demo", None, 10, None, tr.F64, 0.5)
    >>> stop.tol == 2.0**-26, stop.asked(10, lambda: Progress(10, tr.ones(())))
    (True, True)
    """

    __slots__ = ("_callback", "_operation", "maxiter", "tol")

    def __init__(
        self, operation: str, tol: Any, maxiter: Any, callback: Callback | None, dtype: tr.DType, power: float, /
    ) -> None:
        self.tol = unit_of(dtype) ** power if tol is None else number(operation, "tol", tol)
        self.maxiter = whole(operation, "maxiter", maxiter)
        if self.maxiter < 1:
            raise ArgumentError(f"{operation}: maxiter is {maxiter}; accepted: at least 1", operation=operation)
        if callback is not None and not callable(callback):
            raise ArgumentError(
                f"{operation}: callback is no function; accepted: a function of Progress", operation=operation
            )
        self._operation, self._callback = operation, callback

    def asked(self, products: int, progress: Callable[[], Progress], /) -> bool:
        """Whether somebody wants no more: the callback, which is called, or the limit.

        Raises:
            ArgumentError: the callback answers something but None, True and False, or what equals one of them.
        """
        if self._callback is None:
            return products >= self.maxiter
        answer = self._callback(progress())
        told = False if answer is None else plain(answer)
        if not isinstance(told, bool):
            raise ArgumentError(
                f"{self._operation}: the callback answered {shortened(answer)}; accepted: None, False, or True to "
                "stop, as Python's, NumPy's or a Bool tensor of rank 0",
                operation=self._operation,
            )
        return told or products >= self.maxiter

    def reached(
        self,
        products: int,
        residuals: tr.Tensor,
        batch: tuple[int, ...],
        scale: tr.Tensor | float = 1.0,
        kept: int = 0,
        /,
    ) -> bool:
        """The same, with one residual for each column; nothing is made where nobody looks.

        So many products are kept for the time after the end.

        >>> Stop("demo", None, 10, None, tr.F64, 0.5).reached(9, tr.ones(()), ())
        False
        """
        told = self.asked(products, lambda: Progress(products, tr.multiply(residuals, scale).reshape(batch)))
        return told or products + kept >= self.maxiter
