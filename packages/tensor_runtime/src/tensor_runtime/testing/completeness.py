"""Whether every operation has a conformance case, and every spec a kernel that a case binds.

Specs are found by looking through the runtime's modules, public functions by looking through ``__all__``; so a new
operation that forgets its case is found by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from inspect import isfunction
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, Final

import tensor_runtime
from tensor_core.errors import TensorError
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.dispatch.spec import OpSpec, ViewSpec
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.transfer import upload
from tensor_runtime.testing.case import Case

Spec = OpSpec | ViewSpec

WITHOUT_CASES: Final[Mapping[str, str]] = {
    "allclose": "all() of isclose, as a Python bool; tested beside the cases",
    "array_equal": "all() of equal, as a Python bool; tested beside the cases",
    "asarray": "reads foreign memory, which only a host backend does; tested with NumPy",
    "backend": "asks the registry",
    "backends": "asks the registry",
    "checks": "computes nothing; tested with a backend that can refuse late, and by the part for devices",
    "download": "every case downloads its results",
    "explain": "computes nothing; asks the backends how they would",
    "families": "lists what is installed",
    "fold_in": "makes an int, on no device; tested beside the random operations",
    "from_dlpack": "reads foreign memory, which only a host backend does; tested with NumPy",
    "infer": "computes nothing; tested with every case of the suite",
    "load": "reads a file",
    "load_all": "reads a file",
    "load_raw": "reads a file",
    "memory": "asks the backend; tested with one that counts, and by the part for devices",
    "promote": "concerns dtypes only; belongs to tensor_core",
    "refresh_backends": "asks the registry",
    "register_backend": "asks the registry",
    "register_kernel": "asks the registry",
    "register_rule": "asks the registry",
    "save": "writes a file",
    "save_raw": "writes a file",
    "stream": "asks the backend; tested with one that has streams, and by the part for devices",
    "synchronize": "waits, computes nothing; tested with a backend that computes in the background",
    "set_threads": "asks the backends; tested with them",
    "threads": "asks the backends; tested with them",
    "to": "a download and an upload, of which every case makes some",
    "to_numpy": "lends host memory, which only a host backend has; tested with NumPy",
    "trace_transfers": "every case runs inside it",
    "typed": "gives back what it is given; a check of its dtype",
    "upload": "every case uploads its operands",
}
"""Public functions that no case calls, each with the reason."""


def declared_specs(*modules: ModuleType) -> Mapping[str, Spec]:
    """Every spec that a module of the runtime, or one of those given, holds, by where it is held.

    >>> declared_specs()["arithmetic.ADD"]
    OpSpec('add')
    """
    found: dict[int, tuple[str, Spec]] = {}
    for module in modules or _modules():
        place = module.__name__.removeprefix("tensor_runtime.").removeprefix("ops.")
        for name, value in vars(module).items():
            for key, spec in _specs_in(value):
                found.setdefault(id(spec), (f"{place}.{name}{key}", spec))
    return dict(sorted(found.values()))


def public_functions() -> frozenset[str]:
    """Names of the functions in ``tensor_runtime.__all__``, and of the strict primitives as ``primitives.NAME``.

    >>> {"add", "primitives.add"} <= public_functions()
    True
    """
    names = {name for name in tensor_runtime.__all__ if isfunction(getattr(tensor_runtime, name))}
    primitives = tensor_runtime.primitives
    for name, value in vars(primitives).items():
        if isfunction(value) and not name.startswith("_") and value.__module__.startswith(primitives.__name__):
            names.add(f"primitives.{name}")
    return frozenset(names)


def functions_without_cases(cases: Iterable[Case], /) -> list[str]:
    """Public functions that no case names, and that ``WITHOUT_CASES`` does not excuse.

    >>> "add" in functions_without_cases([])
    True
    """
    return sorted(public_functions() - {case.operation for case in cases} - WITHOUT_CASES.keys())


def specs_never_bound(cases: Iterable[Case], place: Placement, /, *modules: ModuleType) -> list[str]:
    """Specs, as ``declared_specs`` finds them, for which no case makes a backend bind a kernel; runs every case.

    >>> from tensor_runtime.placement import as_placement
    >>> "comparison.LESS" in specs_never_bound([], as_placement("cpu"))
    True
    """
    binding_cache.clear()
    waiting = declared_specs(*modules)
    for case in cases:
        try:
            operands: list[Any] = [upload(host, place) for host in case.operands]
            case.call(*operands or [place])
        except TensorError:
            continue
    return [name for name, spec in waiting.items() if not len(spec.bindings)]


def _modules() -> Iterator[ModuleType]:
    for found in walk_packages(tensor_runtime.__path__, "tensor_runtime."):
        parts = found.name.split(".")
        if not {"testing", "xp_tables", "__main__"} & set(parts):
            yield import_module(found.name)


def _specs_in(value: Any) -> Iterator[tuple[str, Spec]]:
    """Specs that are the value, or are held in it: a table of specs is one value of a module."""
    if isinstance(value, Spec):
        yield "", value
    elif isinstance(value, (tuple, list)):
        yield from ((f"[{position}]", one) for position, one in enumerate(value) if isinstance(one, Spec))
    elif isinstance(value, Mapping):
        yield from ((f"[{key!r}]", one) for key, one in value.items() if isinstance(one, Spec))
