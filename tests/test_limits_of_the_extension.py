"""Limits and names that C and Python share are written down once, in C, and read from the extension module."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tensor_cpu import storage
from tensor_cpu.system import threads
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

PACKAGE = Path(__file__).resolve().parent.parent / "packages" / "cpu_backend"
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "csrc").rglob("*.[ch]"))}
PARTS_OF_NUMBERS = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
CONSTANTS = {
    name: number
    for text in SOURCES.values()
    for body in re.findall(r"enum \{([^}]*)\}", text)
    for name, number in re.findall(r"\b([A-Z][A-Z_]+) = (1 << \d+|\d+)\b", body)
}


ALLOWED = {
    "permute.SIDE": "of the tiles that are the fastest for NumPy",
    "numpy.NOT_FOUND": "a status that the contract of sqrtm_iterated states",
    "numpy.MOST_SPARED": "of the same method, which NumPy's rows follow without the extension",
}


def literals(source: str) -> dict[str, float]:
    """Numbers that stand in a module, by the names that it gives them, without a leading underscore."""
    found: dict[str, float] = {}
    for node in ast.parse(source).body:
        value = node.value if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else None
        if value is not None and all(isinstance(part, PARTS_OF_NUMBERS) for part in ast.walk(value)):
            number = eval(ast.unparse(value))
            if isinstance(number, (int, float)):
                found[ast.unparse(node.target).lstrip("_")] = number  # type: ignore[attr-defined]
    return found


def test_no_number_of_the_c_sources_is_written_down_in_python_again() -> None:
    stated = {
        f"{path.stem}.{name}"
        for path in sorted((PACKAGE / "src").rglob("*.py"))
        for name, number in literals(path.read_text(encoding="utf-8")).items()
        if name in CONSTANTS and number == eval(CONSTANTS[name])
    }

    assert len(CONSTANTS) > 20
    assert stated == ALLOWED.keys(), "export these from csrc/core/module.c"


def test_a_number_is_found_however_it_is_written() -> None:
    source = "_A: Final = 1 << 20  # as in C\nB: Final = 3\nC: Final = LIBRARY.C if AVAILABLE else 0\nD: str = 'd'"
    assert literals(source) == {"A": 1 << 20, "B": 3}


@pytest.mark.skipif(not AVAILABLE, reason="there is no extension module")
@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("PAIR_TABLE", "tensor_cpu.kernels.contraction.cuts.lanes"),
        ("FEWEST_LANES", "tensor_cpu.kernels.contraction.cuts.lanes"),
        ("LONGEST_TABLE", "tensor_cpu.kernels.contraction.native"),
        ("FARTHEST_NEXT", "tensor_cpu.kernels.reduction.native"),
        ("REPEATING_ROW", "tensor_cpu.kernels.contraction.loops.turned"),
        ("LONG_LANES", "tensor_cpu.kernels.contraction.loops.turned"),
    ],
)
def test_binders_read_limits_from_the_extension(name: str, module: str) -> None:
    number = getattr(LIBRARY, name)

    assert number == eval(CONSTANTS[name])
    assert number in [value for key, value in vars(import_module(module)).items() if key.startswith("_")]


def test_limits_that_hold_without_the_extension_are_those_of_the_c_sources() -> None:
    assert int(CONSTANTS["MAX_RANK"]) == storage.MOST_AXES
    assert int(CONSTANTS["MOST_THREADS"]) == threads._MOST


def test_the_routines_of_linear_algebra_are_listed_once() -> None:
    lists = re.compile(r'CHOLESKY,\s*SOLVE|"cholesky",\s*"solve"')

    assert not [path.name for path, text in SOURCES.items() if lists.search(text)]
    assert [path.name for path, text in SOURCES.items() if "LINALG_ROUTINES(X)" in text] == ["routines.h"]
