"""Operations that other packages offer under ``tensor_runtime``'s name, through the entry-point group
``tensor_runtime.operations``; loaded on first use, never imported from here.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.errors import BackendUnavailableError

_PACKAGES: Final = {"einsum": "ironstride-tensor-einsum"}
_loaded: Final[dict[str, Any]] = {}


def operation(name: str, /) -> Any:
    """The operation of that name.

    Raises:
        AttributeError: no package offers the name, and none is known to.
        BackendUnavailableError: the package that offers it is not installed; the message names it.

    >>> operation("einsum").__name__
    'einsum'
    """
    if name.startswith("_"):
        raise AttributeError(f"module 'tensor_runtime' has no attribute {name!r}")
    if name not in _loaded:
        from importlib.metadata import entry_points

        found = list(entry_points(group="tensor_runtime.operations", name=name))
        if not found and name in _PACKAGES:
            raise BackendUnavailableError(
                f"tensor_runtime.{name}: comes with {_PACKAGES[name]}; pip install {_PACKAGES[name]}"
            )
        if not found:
            raise AttributeError(f"module 'tensor_runtime' has no attribute {name!r}")
        _loaded.setdefault(name, found[0].load())
    return _loaded[name]
