"""Tensors in autoray, and so in quimb and cotengra: which function it finds for each name that it asks for."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any, Final

from tensor_core.errors import BackendUnavailableError
from tensor_runtime.backends.plugins.families import family_table
from tensor_runtime.tensors.tensor import Tensor

BACKEND: Final = "tensor_runtime"
"""What autoray calls the library of a tensor: the first part of the module of its class."""


def use_with_autoray() -> None:
    """Make autoray find our functions for tensors, with NumPy's meaning; quimb and cotengra compute with them then.

    Names that need linear algebra come from the families that are installed. What is not found stays an error that
    says so; nothing is computed by NumPy instead. A second call changes nothing.

    ``autoray.reshape`` asks an array for its own method before it asks for a function, and the method ``x.reshape``
    counts in column-major order. This one function is replaced by one that takes the row-major ``reshape`` for tensors,
    in autoray and in modules that have imported it.

    Raises:
        BackendUnavailableError: autoray is not installed.

    Source: J. Gray, autoray, its functions ``register_function`` and ``do``.

    >>> use_with_autoray()
    >>> import autoray
    >>> import tensor_runtime as tr
    >>> autoray.do("reshape", tr.tensor([[1, 2], [3, 4]]), (4,)).tolist()
    [1, 2, 3, 4]
    >>> autoray.do("linalg.qr", tr.ones((5, 3, 2)))[0].shape  # batch axes lead, as in NumPy
    (5, 3, 2)
    """
    try:
        import autoray
    except ImportError:
        raise BackendUnavailableError("use_with_autoray: needs autoray; pip install autoray") from None
    from tensor_runtime.interop.numpy_shaped import NUMPY_SHAPED  # imports the whole runtime

    for name, function in {**NUMPY_SHAPED, **family_table.functions_for_autoray()}.items():
        autoray.register_function(BACKEND, name, function)
    _reshape_row_major(autoray)


def _reshape_row_major(autoray: Any) -> None:
    theirs = autoray.reshape
    if getattr(theirs, "asks_tensor_runtime", False):
        return

    @wraps(theirs)
    def reshape(x: Any, shape: Any) -> Any:
        return autoray.do("reshape", x, shape) if isinstance(x, Tensor) else theirs(x, shape)

    reshape.asks_tensor_runtime = True  # type: ignore[attr-defined]
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("reshape") is theirs:
            module.reshape = reshape  # type: ignore[attr-defined]
