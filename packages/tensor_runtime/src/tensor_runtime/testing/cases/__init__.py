"""Cases of the conformance suite, one module per family of operations; each has a function ``cases``.

A new family of the runtime adds its module to ``MODULES``, and nothing else. A family of another package names its
module in its entry of the group ``tensor_runtime.families``.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from tensor_core.errors import PluginLoadError
from tensor_runtime.backends.discovery import in_one_line
from tensor_runtime.backends.plugins.families import Family, families
from tensor_runtime.testing.case import Case

MODULES: Final = (
    "activations",
    "arithmetic",
    "arrangement",
    "comparison",
    "complex_parts",
    "contraction",
    "conversion",
    "convolution",
    "creation",
    "creation_like",
    "diagonals",
    "division",
    "exponential",
    "from_function",
    "fusion",
    "gather_scatter",
    "indexing",
    "joining",
    "logic",
    "normalization",
    "padding",
    "pooling",
    "primitives",
    "products",
    "random",
    "ranges",
    "reduction",
    "rounding",
    "scan",
    "selecting",
    "selection",
    "slicing",
    "sort",
    "statistics",
    "trigonometry",
    "views",
)
"""Modules of this package, in the order in which their cases run."""


def all_cases() -> Iterator[Case]:
    """Every case of every module.

    >>> "add" in {case.operation for case in all_cases()}
    True
    """
    for name in MODULES:
        yield from import_module(f"{__name__}.{name}").cases()


def family_cases() -> Iterator[Case]:
    """Every case that an installed family brings; one whose cases do not load has a case that fails and says why.

    Operations are named ``FAMILY.OPERATION``, unless ``tensor_runtime`` has them under their own name.

    >>> {"einsum", "linalg.svd"} <= {case.operation for case in family_cases()}
    True
    """
    for family in families():
        if family.cases or family.trouble:
            yield from _cases_of(family)


def _cases_of(family: Family) -> list[Case]:
    try:
        if family.trouble:
            raise PluginLoadError(family.trouble)
        found = list(import_module(family.cases).cases())
        if not all(isinstance(case, Case) for case in found):
            raise PluginLoadError(f"{family.cases}.cases() gives something else than cases")
        return found
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # a plug-in may fail in any way, and the others are still to be tested
        message = f"the cases of {family.name}, of {family.distribution}, cannot be had: {in_one_line(failure)}"

        def fails(*arguments: Any) -> Any:
            raise PluginLoadError(message)

        return [Case(family.name, "cases", (), fails, lambda: None)]
