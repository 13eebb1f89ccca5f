"""The extension module ``tensor_einsum._search``, if it was built and is wanted.

``TENSOR_EINSUM_NATIVE=0`` in the environment leaves it out; a path there names another build of it, such as one with
sanitizers. Everything works without it, by ``tensor_einsum.search.python_search``.
"""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tensor_einsum import _search

_NAME: Final = "tensor_einsum._search"


def _load() -> tuple[ModuleType | None, str]:
    wanted = os.environ.get("TENSOR_EINSUM_NATIVE") or "1"
    if wanted == "0":
        return None, "switched off by TENSOR_EINSUM_NATIVE=0"
    try:
        if wanted == "1":
            return importlib.import_module(_NAME), ""
        spec = importlib.util.spec_from_file_location(_NAME, wanted)
        if spec is None or spec.loader is None:
            return None, f"TENSOR_EINSUM_NATIVE names {wanted}, which is no extension module"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        return None, f"not loaded: {error}"
    return module, ""


_loaded, WHY_NOT = _load()
"""Why the extension is not in use; empty when it is."""

if TYPE_CHECKING:
    LIBRARY = _search
else:
    LIBRARY = _loaded

AVAILABLE: Final = _loaded is not None
"""Whether :data:`LIBRARY` may be called."""
