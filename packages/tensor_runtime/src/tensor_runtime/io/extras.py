"""Libraries that some formats need. Each is imported when a file asks for it, and named when it is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tensor_runtime.errors import MissingExtraError


def extra(module: str, name: str, what: str, /) -> Any:
    """A module of a library that comes with an extra of this package.

    Args:
        module: to import.
        name: of the extra.
        what: needs it.

    Raises:
        MissingExtraError: it is not installed; the message says how to install it.

    >>> extra("json", "none", "nothing").loads("1")
    1
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{what} needs {library}, which cannot be imported ({error}); "
            f"install it with: pip install 'ironstride-tensor-runtime[{name}]'",
            extra=name,
        ) from error
