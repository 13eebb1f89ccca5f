"""Operations of families under ``tensor_runtime``'s own name.

They are found through the entry-point group ``tensor_runtime.families`` and loaded on first use; nothing is imported
from here. A function stands in for each, not a module ``__getattr__``, which would slow down every
``tensor_runtime.name``.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.errors import BackendUnavailableError
from tensor_runtime.backends.plugins.families import family_table
from tensor_runtime.static_types.combined import contraction_dtype

_loaded: Final = family_table.functions


@contraction_dtype
def einsum(*arguments: object, **options: object) -> object:
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
        BackendUnavailableError: no installed family offers it.
        PluginConflictError: several do.
        PluginLoadError: it did not load.

    >>> operation("einsum", "ironstride-tensor-einsum").__module__.partition(".")[0]
    'tensor_einsum'
    """
    known = _loaded.get(name)
    if known is not None:
        return known
    try:
        return family_table.function(name)
    except BackendUnavailableError:
        raise BackendUnavailableError(
            f"tensor_runtime.{name}: comes with {distribution}; pip install {distribution}", operation=name
        ) from None
