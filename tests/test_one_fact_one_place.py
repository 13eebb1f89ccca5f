"""What is known of a kernel is stated once: no list of kernels is kept by hand beside the specs and the tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

import tensor_runtime as tr
from tensor_runtime.backends.kernel_facts import facts_of, stated
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.testing.completeness import declared_specs
from tensor_runtime.testing.kernel_contracts import all_contracts

ROOT: Final = Path(__file__).resolve().parents[1]
KERNELS: Final = tr.backend("cpu").operations()
FEWEST: Final = 5
"""Names of kernels from which a collection counts as a list of kernels."""

ALLOWED: Final = {
    "tensor_cpu.kernel_table.FAMILIES": "which modules bind each kernel, the only such table of the CPU backend",
    "tensor_cpu.kernels.activations.native.bind_softplus": "the steps of one formula",
    "tensor_cpu.kernels.elementwise.compiled._OF_PARTS": "in which instructions the operand keeps its dtype",
    "tensor_cpu.kernels.linalg.batched_simd.LARGEST": "up to which size LAPACK is slower, measured",
    "tensor_cpu.kernels.linalg.lapack.BINDERS": "which routines of LAPACK the extension calls",
    "tensor_gpu.kernels.elementwise.UNARY": "what devices compute beside the rows of array namespaces",
    "tensor_gpu.kernels.linalg.decompositions.UNSUPPORTED": "what devices leave out, with the reason",
    "tensor_gpu.kernels.views.BINDERS": "which views begin where their operand does",
    "tensor_gpu.kernels.reduction.reduction._OF_NOTHING": "what devices give where nothing is folded",
    "tensor_runtime.backends.xp_tables.elementwise.BINARY": "what computes a kernel in an array namespace",
    "tensor_runtime.backends.xp_tables.elementwise.COMPARISONS": "what computes a kernel in an array namespace",
    "tensor_runtime.backends.xp_tables.elementwise.UNARY": "what computes a kernel in an array namespace",
    "tensor_runtime.backends.xp_tables.elementwise.REDUCTIONS": "what computes a kernel in an array namespace",
    "tensor_linalg.family._KERNELS": "what the family has, told without importing it; its own test compares",
    "tensor_linalg.family._OPTIONS": "as above",
    "tensor_linalg.family._OVERWRITING": "as above",
    "tensor_runtime.primitives.comparison._COMPARISONS": "specs, made in a loop",
}
"""Where kernels may be listed, each with what the list says that no spec does."""


def lists_of_kernels(source: str, /) -> Iterator[tuple[str, set[str]]]:
    """Names of the top-level statements that hold a collection of kernel names, with those names.

    A mapping from names to what implements them (functions, objects) is no list: it is the implementation. ``__all__``
    says what a module exports.
    """
    for statement in ast.parse(source).body:
        targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
        name = getattr(targets[0], "id", getattr(statement, "name", "?"))
        if name == "__all__":
            continue
        found: set[str] = set()
        for node in ast.walk(statement):
            found |= KERNELS & set(_words(node))
        if len(found) >= FEWEST:
            yield name, found


def _words(node: ast.AST) -> list[str]:
    """The strings of a collection, or of a text that is split into words."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts: list[ast.expr] = node.elts
    elif isinstance(node, ast.Dict):
        parts = [
            key
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None and isinstance(value, ast.Constant)
        ]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.split()
        known = sum(word in KERNELS for word in words)
        return words if known > 1 and 5 * known >= 4 * len(words) else []  # no sentence
    else:
        return []
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def places() -> dict[str, set[str]]:
    """Every list of kernels in the packages by module and name, but in test suites, which state what they expect."""
    found = {}
    for folder in sorted((ROOT / "packages").glob("*/src")):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if "testing" not in parts:
                for name, kernels in lists_of_kernels(path.read_text(encoding="utf-8")):
                    found[".".join([*parts, name])] = kernels
    return found


def test_no_list_of_kernels_is_kept_by_hand() -> None:
    unexpected = {place: sorted(kernels) for place, kernels in places().items() if place not in ALLOWED}

    assert not unexpected, f"derive these from facts_of(), the specs or the kernel table: {unexpected}"


def test_every_allowed_list_is_there() -> None:
    assert not ALLOWED.keys() - places().keys()


@pytest.mark.parametrize(
    "source",
    [
        'KINDS = frozenset({"add", "exp", "sum", "sin", "cos"})',
        'KINDS = "add exp sum sin cos".split()',
        'def kind(name):\n    return name in ("add", "exp", "sum", "sin", "cos")',
        'OPTIONS = {"add": 1, "exp": 2, "sum": 3, "sin": 4, "cos": 5}',
        'FIRST = (("add", "exp", "sum"), ("sin", "cos"))',
    ],
)
def test_a_list_of_kernels_is_found_whatever_its_shape(source: str) -> None:
    assert [kernels for _, kernels in lists_of_kernels(source)] == [{"add", "exp", "sum", "sin", "cos"}]


@pytest.mark.parametrize(
    "source",
    [
        '__all__ = ["add", "exp", "sum", "sin", "cos"]',
        'BINDERS = {"add": add, "exp": exp, "sum": sum, "sin": sin, "cos": cos}',
        'KINDS = ("add", "exp", "sum", "sin")',
        'TEXT = "to sum is to add what no sin and no cos can take"',
    ],
)
def test_exports_implementations_and_sentences_are_no_lists(source: str) -> None:
    assert not list(lists_of_kernels(source))


def test_contracts_and_facts_say_the_same_of_results() -> None:
    for family in ("tensor_einsum", "tensor_linalg"):
        import_module(family)
    for contract in all_contracts().values():
        facts = facts_of(contract.kernel)
        assert ("Counted" in contract.result) == (facts.effect == "answers"), contract.kernel
        gives_nothing = facts.effect == "writes" and not contract.kernel.endswith("_overwriting")
        assert contract.result.startswith("None") == gives_nothing, contract.kernel
        assert contract.result.startswith(("a view", "the operand itself")) == facts.view, contract.kernel


def test_every_kernel_of_the_cpu_belongs_to_a_spec_or_is_stated_where_it_is_bound() -> None:
    specs = list(declared_specs().values())
    specs += [one for one in vars(import_module("tensor_linalg.specs")).values() if isinstance(one, OpSpec)]
    import_module("tensor_einsum")

    missing = KERNELS - {spec.kernel for spec in specs} - stated().keys()
    assert not missing, f"state(...) the facts of {sorted(missing)} beside what binds them"


def test_every_kernel_of_linear_algebra_has_its_spec_where_the_family_says() -> None:
    family = import_module("tensor_linalg.family").FAMILY
    specs = import_module(family["specs"])

    declared = {spec.kernel for spec in vars(specs).values() if isinstance(spec, OpSpec)}
    assert declared >= {*family["kernels"]}
    exported = {name for name, spec in vars(specs).items() if isinstance(spec, OpSpec)}
    assert exported == {*specs.__all__}
