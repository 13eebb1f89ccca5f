"""Extension modules that a package can do without: loaded unless the environment says otherwise."""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType


def load_extension(name: str, variable: str, /) -> tuple[ModuleType | None, str]:
    """The module, if it was built and is wanted; else None, and why.

    Args:
        name: of the module, with its package.
        variable: of the environment. "0" leaves the module out; a path names another build of it, such as one with
            sanitizers.

    >>> load_extension("math", "LIBRARY_FOR_THIS_EXAMPLE")  # doctest: +ELLIPSIS
    (<module 'math' ...>, '')
    >>> load_extension("tensor_runtime._nothing", "LIBRARY_FOR_THIS_EXAMPLE")
    (None, 'not built: installing the package from its sources, where there is a C compiler, builds it')
    """
    wanted = os.environ.get(variable) or "1"
    if wanted == "0":
        return None, f"switched off by {variable}=0"
    try:
        if wanted == "1":
            return importlib.import_module(name), ""
        spec = importlib.util.spec_from_file_location(name, wanted)
        if spec is None or spec.loader is None:
            return None, f"{variable} names {wanted}, which is no extension module"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            return None, "not built: installing the package from its sources, where there is a C compiler, builds it"
        return None, f"not loaded: {error}"
    return module, ""
