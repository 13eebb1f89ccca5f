"""Families of operations: which packages bring some, and what each says of itself before it is loaded.

An entry point of the group ``tensor_runtime.families`` bears the family's name and names a mapping in a module that
imports nothing heavy:

    [project.entry-points."tensor_runtime.families"]
    linalg = "tensor_linalg.family:FAMILY"

``id``          the family and the version of its meaning, such as "ironstride.linalg/1", for what is stored;
``operations``  for each public operation the function, as "module:name";
``kernels``     names that backends bind for it (optional; else those of the operations);
``specs``       the module that holds its specs (optional);
``cases``       the module whose function ``cases()`` gives conformance cases, which every backend runs (optional);
``autoray``     functions by the names under which autoray asks for them, a mapping as "module:name" (optional).

The module of the mapping is read alone: the package that holds it is not imported. A broken entry is reported by
:func:`families` and breaks nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tensor_core.errors import BackendContractError, BackendUnavailableError, PluginConflictError, PluginLoadError
from tensor_runtime.backends.discovery import check_entry, distribution_of, in_one_line

_ACCEPTED: Final = (
    "a mapping with 'id', 'operations' ({name: 'module:function'}), and 'kernels', 'specs', 'cases', 'autoray'"
)


class Family(NamedTuple):
    """What is known of a family while it is not loaded."""

    name: str
    distribution: str
    id: str = ""
    operations: Mapping[str, str] = {}
    kernels: tuple[str, ...] = ()
    specs: str = ""
    cases: str = ""
    autoray: str = ""
    trouble: str = ""  # why it cannot be used


class FamilyRows(tuple[Family, ...]):
    """Families found; prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        head = ("name", "id", "distribution", "operations")
        rows = [
            (one.name, one.id or "?", one.distribution, one.trouble or ", ".join(sorted(one.operations)))
            for one in self
        ]
        widths = [max(len(row[column]) for row in (head, *rows)) for column in range(3)]
        return "\n".join(
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
            for row in (head, *rows)
        )


class FamilyTable:
    """The families that are installed, read when first asked for.

    >>> table = FamilyTable(lambda: [Family("waves", "waves 1.0", "waves/1", {"sine": "math:sin"}, ("sine",))])
    >>> table.families()
    name   id       distribution  operations
    waves  waves/1  waves 1.0     sine
    >>> table.of_kernel("sine"), table.of_kernel("cosine"), table.function("sine")(0.0)
    ('waves', '', 0.0)
    """

    def __init__(self, discover: Callable[[], Iterable[Family]] | None = None) -> None:
        self._discover = discover or installed_families
        self._found: FamilyRows | None = None
        self.functions: dict[str, Callable[..., Any]] = {}  # loaded so far; hot paths look here first

    def families(self) -> FamilyRows:
        """Every family found; what two of them claim, a name or an operation, is the trouble of both."""
        if self._found is None:
            found = sorted(self._discover(), key=lambda one: one[:2])
            self._found = FamilyRows(one._replace(trouble=one.trouble or _conflict(one, found)) for one in found)
        return self._found

    def of_kernel(self, operation: str, /) -> str:
        """Name of the family whose kernel it is; empty where no family names it."""
        return next((one.name for one in self.families() if operation in one.kernels), "")

    def function(self, operation: str, /) -> Callable[..., Any]:
        """The public function of an operation, loaded on first use.

        Raises:
            BackendUnavailableError: no family has it.
            PluginConflictError: several families have it, or two distributions the family.
            PluginLoadError: it did not load.
        """
        known = self.functions.get(operation)
        if known is not None:
            return known
        having = [one for one in self.families() if operation in one.operations]
        if not having:
            raise BackendUnavailableError(f"{operation}: no installed family has it", operation=operation)
        if having[0].trouble:
            raise PluginConflictError(f"{operation}: {having[0].name}: {having[0].trouble}", operation=operation)
        return self.functions.setdefault(operation, _loaded(operation, having[0].operations[operation], having[0]))

    def functions_for_autoray(self) -> dict[str, Callable[..., Any]]:
        """What the families answer when autoray asks for a name; a family in trouble answers nothing.

        Raises:
            PluginLoadError: a family's mapping did not load.
        """
        found: dict[str, Callable[..., Any]] = {}
        for one in self.families():
            if one.autoray and not one.trouble:
                found.update(_loaded("autoray", one.autoray, one, Mapping, "a mapping"))
        return found

    def refresh(self) -> None:
        """Read the entry points again when asked next."""
        self._found = None
        self.functions.clear()


def installed_families() -> Iterator[Family]:
    """Families of the installed distributions. Reads the module of each entry, and imports no package.

    >>> "einsum" in [family.name for family in installed_families()]
    True
    """
    from importlib.metadata import entry_points  # costs as much as NumPy to import: never at import time

    for entry in entry_points(group="tensor_runtime.families"):
        try:
            check_entry(entry)
            yield _as_family(entry.name, distribution_of(entry), getattr(read_alone(entry.module), entry.attr))
        except KeyboardInterrupt:
            raise
        except BaseException as failure:  # reported by families(), fatal to nobody
            yield Family(entry.name, distribution_of(entry), trouble=f"broken: {in_one_line(failure)}")


def read_alone(name: str, /) -> Any:
    """A module, run without importing the packages that hold it; the one that is imported already, if it is.

    Raises:
        PluginLoadError: there is no such module. Whatever running it raises passes.

    >>> "json" in vars(read_alone("json.tool"))
    True
    """
    from importlib.machinery import PathFinder
    from importlib.util import find_spec, module_from_spec

    if name in sys.modules:
        return sys.modules[name]
    top, *parts = name.split(".")
    spec, known = find_spec(top), top
    for part in parts:
        places = None if spec is None else spec.submodule_search_locations
        known = f"{known}.{part}"
        spec = None if places is None else PathFinder.find_spec(known, places)
    if spec is None or spec.loader is None:
        raise PluginLoadError(f"there is no module {name!r}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _as_family(name: str, distribution: str, said: Any) -> Family:
    if not isinstance(said, Mapping) or not _fits(said):
        raise BackendContractError(f"the family {name!r} says {said!r}; accepted: {_ACCEPTED}")
    operations = dict(said["operations"])
    kernels = tuple(said.get("kernels", operations))
    rest = (said.get(key, "") for key in ("specs", "cases", "autoray"))
    return Family(name, distribution, said["id"], operations, kernels, *rest)


def _fits(said: Mapping[Any, Any]) -> bool:
    operations, kernels = said.get("operations"), said.get("kernels", ())
    texts = [said.get("id"), said.get("specs", ""), said.get("cases", ""), said.get("autoray", "")]
    if isinstance(operations, Mapping) and isinstance(kernels, (tuple, list)):
        texts += [*operations, *operations.values(), *kernels]
        return all(type(text) is str for text in texts)
    return False


def _loaded(asked: str, place: str, family: Family, wanted: Any = Callable, what: str = "a function") -> Any:
    try:
        return _imported(place, wanted, what)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # a plug-in may even call sys.exit()
        raise PluginLoadError(
            f"{asked}: {place} of {family.distribution} did not load: {in_one_line(failure)}; mend or uninstall it",
            operation=asked,
        ) from failure


def _imported(place: str, wanted: Any, what: str) -> Any:
    from importlib import import_module  # not at import time, where each module counts

    module, colon, name = place.partition(":")
    if not (module and colon and name.isidentifier()):
        raise PluginLoadError(f"the place reads {place!r}; accepted: 'module:name'")
    thing = getattr(import_module(module), name)
    if not isinstance(thing, wanted):
        raise PluginLoadError(f"{place} is a {type(thing).__name__}; accepted: {what}")
    return thing


def _conflict(one: Family, found: list[Family]) -> str:
    """What several families claim, in the same words for each of them; empty where one does."""
    named = [other.distribution for other in found if other.name == one.name]
    if len(named) > 1:
        return f"conflict: the name {one.name!r} is taken by {' and '.join(named)}; uninstall one"
    for operation in sorted(one.operations):
        having = [other.distribution for other in found if operation in other.operations]
        if len(having) > 1:
            return f"conflict: {operation!r} is an operation of {' and '.join(having)}; uninstall one"
    return ""


family_table: Final = FamilyTable()
"""The families of this process."""


def families() -> FamilyRows:
    """Every family of operations that is installed, with its id, distribution and operations; loads none.

    >>> "linalg" in [family.name for family in families()]
    True
    """
    return family_table.families()
