"""Errors that operation families and backends share.

The tree has one root, ``tensor_core.TensorError``. Most classes live in ``tensor_core.errors``; here are those that a
backend raises on behalf of a family, because a backend may not import the family.

```
TensorError
├── MissingExtraError (ImportError)  a file format needs a library that is not installed
└── LinalgError (ValueError)
    ├── NonFiniteError           an input holds NaN or an infinity
    ├── SingularMatrixError      a matrix that must be invertible is not
    ├── NotPositiveDefiniteError a matrix that must be positive definite is not
    └── NotConvergedError        LAPACK's iteration did not converge
```

Each carries ``operation``, ``batch_index`` (a tuple, empty without batch axes) and, where it makes sense,
``element_index`` (the full index of the offending element).

Refusals of values may come late: what kernels read of that when they are called is here, and public in ``protocols``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from tensor_core.errors import DTypeError, TensorError


class MissingExtraError(TensorError, ImportError):
    """A file format needs a library that is not installed; the field ``extra`` names what to install."""


class LinalgError(TensorError, ValueError):
    """A decomposition or a solve could not be carried out on the values given."""


class NonFiniteError(LinalgError):
    """The input holds NaN or an infinity; LAPACK would hang or lie."""


class SingularMatrixError(LinalgError):
    """A matrix that must be invertible is exactly singular."""


class NotPositiveDefiniteError(LinalgError):
    """A matrix that must be positive definite is not."""


class NotConvergedError(LinalgError):
    """An iterative LAPACK routine did not converge."""


def matrix_at(batch: tuple[int, ...], /) -> str:
    """What errors call a matrix of a batch; without batch axes it is the only one.

    >>> matrix_at((17, 0)), matrix_at(())
    ('the matrix at batch index (17, 0)', 'the matrix')
    """
    return f"the matrix at batch index {batch}" if batch else "the matrix"


def of_matrix(batch: tuple[int, ...], /) -> str:
    """The same as the tail of a noun phrase; empty without batch axes.

    >>> of_matrix((17, 0)), of_matrix(())
    (' of the matrix at batch index (17, 0)', '')
    """
    return f" of {matrix_at(batch)}" if batch else ""


def non_finite(
    operation: str, operand: str, element: tuple[int, ...], batch: tuple[int, ...], found: str = "NaN or an infinity", /
) -> NonFiniteError:
    """The error about an element that is not finite, of every family and backend.

    Args:
        operation: the name that the error bears.
        operand: the parameter that it is passed as.
        element: the index of the element in its matrix.
        batch: that of the matrix.
        found: the element, where it is known.

    >>> print(non_finite("svd", "a", (0, 1), (3,), "nan"))  # doctest: +ELLIPSIS
    svd: operand a holds nan at element (0, 1) of the matrix at batch index (3,); accepted: finite values only ...
    """
    return NonFiniteError(
        f"{operation}: operand {operand} holds {found} at element {element}{of_matrix(batch)}; accepted: finite values "
        "only (check=False skips this check; the call may then hang, or answer nonsense)",
        operation=operation,
        operand=operand,
        batch_index=batch,
        element_index=element,
    )


class ForeignOperandError(DTypeError):
    """An operand is neither a tensor nor a Python number; operators turn this into ``NotImplemented``."""


DEFERRED: Final[ContextVar[bool]] = ContextVar("tensor_runtime_checks_deferred", default=False)
"""Whether refusals of values may come late: True inside ``tensor_runtime.checks("deferred")``.

A kernel whose facts state that it refuses values may read this whenever it is called. Where it is True, the kernel may
note operation and index on its device instead of raising, at the least its stream's first such note, and return at
once: with a result of any elements, and with no operand changed. ``synchronize``, ``wait_for``, ``download``,
``Underway.result`` and ``DeviceStream.synchronize``, each for what it waits for, then raise the first note as the error
that the call would have raised, with its fields, and forget it and what was noted after it. Whatever else a kernel
raises it raises at once, and a backend that computes at once need not read this.
"""

RETOLD: Final[ContextVar[Callable[[TensorError], TensorError]]] = ContextVar(
    "tensor_runtime_refusals_retold", default=lambda error: error
)
"""From a refusal to what is raised in its place: an operation that calls another one says here what the user called.

A kernel that notes a refusal reads this when it does, and gives it the error when that is raised.
"""
