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
"""

from __future__ import annotations

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


class ForeignOperandError(DTypeError):
    """An operand is neither a tensor nor a Python number; operators turn this into ``NotImplemented``."""
