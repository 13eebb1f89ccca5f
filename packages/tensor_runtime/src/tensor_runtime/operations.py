"""Operations of other packages under ``tensor_runtime``'s name.

They are found through the entry-point group ``tensor_runtime.operations`` and loaded on first use; nothing is
imported from here. A function stands in for each, not a module ``__getattr__``, which would slow down every
``tensor_runtime.name``.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.errors import BackendUnavailableError, PluginConflictError, PluginLoadError
from tensor_runtime.backends.discovery import distribution_of, in_one_line, load_entry

_loaded: Final[dict[str, Any]] = {}


def einsum(*arguments: Any, **options: Any) -> Any:
    """Sum of products over labelled axes; the function ``tensor_einsum.einsum``, which documents it.

    Raises:
        BackendUnavailableError: the package is not installed; the message names it.

    >>> einsum("ij,jk->ik", ones((2, 3)), ones((3, 4))).shape
    (2, 4)
    """
    return operation("einsum", "ironstride-tensor-einsum")(*arguments, **options)


def operation(name: str, distribution: str, /) -> Any:
    """The operation of that name, which ``distribution`` offers.

    Raises:
        BackendUnavailableError: no installed package offers it.
        PluginConflictError: several do.
        PluginLoadError: it did not load.

    >>> operation("einsum", "ironstride-tensor-einsum").__module__.partition(".")[0]
    'tensor_einsum'
    """
    known = _loaded.get(name)
    if known is not None:
        return known
    from importlib.metadata import entry_points  # costs as much as NumPy to import: never at import time

    found = list(entry_points(group="tensor_runtime.operations", name=name))
    if not found:
        raise BackendUnavailableError(
            f"tensor_runtime.{name}: comes with {distribution}; pip install {distribution}", operation=name
        )
    if len(found) > 1:
        listed = " and ".join(f"{entry.value} of {distribution_of(entry)}" for entry in found)
        raise PluginConflictError(f"tensor_runtime.{name}: offered by {listed}; uninstall one", operation=name)
    try:
        return _loaded.setdefault(name, load_entry(found[0]))
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # a plug-in may even call sys.exit()
        raise PluginLoadError(
            f"tensor_runtime.{name}: {found[0].value} of {distribution_of(found[0])} did not load: "
            f"{in_one_line(failure)}; mend or uninstall it",
            operation=name,
        ) from failure
