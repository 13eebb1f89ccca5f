"""The extension module ``tensor_einsum._native``, if it was built and is wanted.

``TENSOR_EINSUM_NATIVE=0`` in the environment leaves it out; a path there names another build of it, such as one with
sanitizers. Everything works without it: ``tensor_einsum.search.python_search`` searches, and calls are made in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tensor_runtime.backends.extension_modules import load_extension

if TYPE_CHECKING:
    from tensor_einsum import _native

_loaded, WHY_NOT = load_extension("tensor_einsum._native", "TENSOR_EINSUM_NATIVE")
"""Why the extension is not in use; empty when it is."""

if TYPE_CHECKING:
    LIBRARY = _native
else:
    LIBRARY = _loaded

AVAILABLE: Final = _loaded is not None
"""Whether :data:`LIBRARY` may be called."""
