"""One name per family: who finds an operation in a module of ``ops`` finds it under that name everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import Final

import pytest

import tensor_runtime as tr
from tensor_cpu.kernel_table import FAMILIES
from tensor_runtime.backends.xp_tables import elementwise
from tensor_runtime.testing import cases
from tensor_runtime.testing.completeness import declared_specs

ROOT: Final = Path(__file__).parents[1]
RUNTIME: Final = ROOT / "packages/tensor_runtime/src/tensor_runtime"
HELPERS: Final = frozenset({
    "advanced_indexing", "advanced_writing", "device_data", "exchange", "host_data", "in_place", "item_assignment",
    "methods", "names_elsewhere", "native_calls", "numpy_names", "operators", "orders", "philox", "slice_geometry",
    "windows",
})  # fmt: skip
"""Modules of ``ops`` that hold no operations of their own."""

_COMPOSED = "its functions call those of other families"
_PLAIN = "rows of the array namespace alone (kernels/elementwise/numpy.py)"
_WHOLE = "a whole algorithm, which lowers to nothing smaller (decision 13)"
WITHOUT: Final[Mapping[str, Mapping[str, str]]] = {
    "primitives": {
        "activations": "lowered to other primitives",
        "arrangement": _COMPOSED,
        "convolution": _WHOLE,
        "creation_like": "full makes them",
        "diagonals": "gather, scatter and select make them",
        "from_function": "a Python function makes the elements",
        "indexing": "slice and gather stand under slicing and gather_scatter",
        "normalization": "lowered to reductions",
        "pooling": _WHOLE,
        "products": "dot_general makes them",
        "random": "not pure arithmetic of operands (decision 13)",
        "ranges": "iota makes them",
        "scan": _WHOLE,
        "selecting": _COMPOSED,
        "statistics": "lowered to reductions",
    },
    "cases": {},
    "kernels": {
        "arrangement": _COMPOSED,
        "comparison": _PLAIN,
        "creation_like": "their kernel stands with those of creation",
        "from_function": _COMPOSED,
        "logic": _PLAIN,
        "products": "their kernel is that of contraction",
        "ranges": "their kernels stand with those of creation",
        "selecting": _COMPOSED,
        "trigonometry": _PLAIN,
    },
    "tests": {
        "arrangement": "tested with the other functions of NumPy's names, in test_numpy_functions.py",
        "contraction": "tested with the kernels, in packages/cpu_backend/tests",
        "creation_like": "tested with the other functions of NumPy's names, in test_numpy_functions.py",
        "indexing": "tested with views, in test_views.py",
        "normalization": "tested with the other functions of NumPy's names, in test_numpy_functions.py",
        "ranges": "tested with creation, in test_creation.py",
    },
}
"""Families of ``ops`` that a mirror lacks, each with the reason."""
BESIDE: Final[Mapping[str, frozenset[str]]] = {
    "primitives": frozenset({"conversion", "linalg", "strict"}),
    "cases": frozenset({"conversion", "fusion", "primitives"}),
    "kernels": frozenset(
        {
            "blas_costs",
            "broadcast_costs",
            "contraction",
            "conversion",
            "copy",
            "costs",
            "elementwise",
            "linalg",
            "memory_costs",
            "params",
            "processor_rates",
            "windows",
        }
    ),
}
"""Modules of a mirror that are no family of ``ops``: those of other packages and rooms, and helpers."""


def _modules(folder: Path) -> frozenset[str]:
    return frozenset(
        path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    ) - {"__init__"}


OPS: Final = _modules(RUNTIME / "ops") - HELPERS
_KERNELS: Final = ROOT / "packages/cpu_backend/src/tensor_cpu/kernels"
_MACHINERY: Final = frozenset({"blocks", "compiled", "fused", "loops", "native", "numpy", "registers", "tiny"})
MIRRORS: Final[Mapping[str, frozenset[str]]] = {
    "primitives": _modules(RUNTIME / "primitives"),
    "cases": _modules(RUNTIME / "testing/cases"),
    "kernels": _modules(_KERNELS) | (_modules(_KERNELS / "elementwise") - _MACHINERY),
}


@pytest.mark.parametrize("mirror", MIRRORS)
def test_a_family_of_ops_bears_its_name_in_every_mirror_or_a_reason_is_given(mirror: str) -> None:
    found = MIRRORS[mirror]
    assert OPS - found == WITHOUT[mirror].keys(), "modules to add, or reasons to give or to take back"
    assert found - OPS <= BESIDE[mirror]


def test_every_family_has_tests_under_its_name_or_a_reason_is_given() -> None:
    files = _modules(ROOT / "packages/tensor_runtime/tests")
    tested = {family for family in OPS if any(f"{name}_".startswith(f"test_{family}_") for name in files)}
    assert OPS - tested == WITHOUT["tests"].keys()


def _families() -> Iterator[tuple[str, str]]:
    for name in tr.__all__:
        function = getattr(tr, name)
        if isfunction(function) and function.__module__.startswith("tensor_runtime.ops."):
            yield name, function.__module__.rpartition(".")[2]


FAMILY: Final[Mapping[str, str]] = dict(_families())
PRIMITIVES: Final = {
    f"primitives.{name}": function.__module__.rpartition(".")[2]
    for name in tr.primitives.__all__
    if isfunction(function := getattr(tr.primitives, name))
}


def test_primitives_of_the_same_name_as_a_public_function_stand_in_its_family() -> None:
    reduce = {"max": "selection", "min": "selection"}  # of two tensors; the public ones reduce
    elsewhere = {**reduce, "reverse": "views"}  # a view; the public one is NumPy's flip, beside roll
    wrong = {
        name: (family, FAMILY[name])
        for full, family in PRIMITIVES.items()
        if (name := full.removeprefix("primitives.")) in FAMILY
        and FAMILY[name] != family
        and elsewhere.get(name) != family
    }
    assert not wrong


def test_cases_stand_in_the_family_of_the_operation_that_they_call() -> None:
    places = {name: (f"{cases.__name__}.{name}", FAMILY) for name in cases.MODULES if name != "primitives"}
    strict = import_module(f"{cases.__name__}.primitives")
    places |= {f"primitives.{name}": (f"{strict.__name__}.{name}", PRIMITIVES) for name in strict.MODULES}
    wrong = {
        (case.operation, place)
        for place, (module, families) in places.items()
        for case in import_module(module).cases()
        if families.get(case.operation, place.rpartition(".")[2]) != place.rpartition(".")[2]
    }
    assert not wrong


def test_kernels_stand_in_the_family_of_a_spec_that_binds_them() -> None:
    families: dict[str, set[str]] = {}
    for place, spec in declared_specs().items():
        family = place.removeprefix("primitives.").removeprefix("dispatch.").partition(".")[0]
        families.setdefault(getattr(spec, "kernel", spec.name), set()).add(family)
    wrong = {
        name: (family, families[name])
        for family, rows in FAMILIES.items()
        for name in rows
        if name in families and family not in families[name]
    }
    assert not wrong
    plain = families.keys() & {*elementwise.BINARY, *elementwise.UNARY}
    assert all(len(families[name]) == 1 for name in plain), "one family, in ops and primitives alike"


def test_no_folder_but_ops_and_its_mirrors_has_more_than_a_dozen_modules() -> None:
    mirrors = {RUNTIME / "ops", RUNTIME / "primitives", RUNTIME / "testing/cases", RUNTIME / "testing/cases/primitives"}
    mirrors |= {_KERNELS, _KERNELS / "elementwise"}
    crowded = {}
    for source in (RUNTIME, _KERNELS.parent):
        for folder in (source, *(path for path in source.rglob("*") if (path / "__init__.py").exists())):
            modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
            if folder not in mirrors and len(modules) > 12:
                crowded[str(folder.relative_to(ROOT))] = modules
    assert not crowded
