"""Our own rules bite: each broken one is found, and the sources keep them all."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"workspace_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


rules = load_tool("check_docstrings")

WELL = '''"""Module."""


def double(x):
    """Twice.

    >>> double(1)
    2
    """
    x = x + x
    return x


def forward(x):
    """As double."""
    return double(x)


class Pair:
    """Two.

    >>> Pair().total(1)
    2
    """

    def total(self, x):
        """Sum."""
        y = x + x
        return y
'''


def messages(tmp_path: Path, text: str, name: str = "package/module.py") -> list[str]:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return [finding.message for finding in rules.findings(tmp_path)]


def test_a_module_that_keeps_the_rules_has_no_findings(tmp_path: Path) -> None:
    assert messages(tmp_path, WELL) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"""Module."""', "", "module has no docstring"),
        ('    """As double."""\n', "", "function forward has no docstring"),
        ('        """Sum."""\n', "", "method Pair.total has no docstring"),
        ("    >>> double(1)\n    2\n", "", "function double computes and has no example that runs"),
        (">>> double(1)", ">>> double(1)  # doctest: +SKIP", "function double computes and has no example that runs"),
        (">>> Pair()", "Pair()", "class Pair computes, and neither it nor a method has an example"),
        ("def forward", "def more(x):\n    return x\n\ndef forward", "function more has no docstring"),
    ],
)
def test_a_broken_rule_is_found(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WELL
    assert messages(tmp_path, WELL.replace(old, new, 1)) == [message]


def test_private_names_are_free(tmp_path: Path) -> None:
    bare = "def f(x):\n    x += 1\n    return x\n"
    assert messages(tmp_path, '"""Module."""\n' + bare.replace("f(", "_f(")) == []
    assert messages(tmp_path, bare, "package/_module.py") == []


def test_only_conformance_cases_need_no_examples(tmp_path: Path) -> None:
    bare = '"""Module."""\n\ndef f(x):\n    """One."""\n    x += 1\n    return x\n'
    found = ["function f computes and has no example that runs"]
    assert messages(tmp_path / "cases", bare, "package/cases/module.py") == []
    assert messages(tmp_path / "backend", bare, "tensor_cpu/module.py") == found
    assert messages(tmp_path / "program", bare, "ironstride/module.py") == found


def test_long_files_and_utils_are_found(tmp_path: Path) -> None:
    found = messages(tmp_path, '"""Module."""\n' + "\n" * 400, "package/utils.py")
    assert found[0] == "401 lines; split it, 400 is the most"
    assert "utils" in found[1]


def test_the_exit_status_says_whether_there_are_findings(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("x = 1\n")
    assert rules.main([str(tmp_path)]) == 1
    (tmp_path / "module.py").write_text('"""Module."""\n')
    assert rules.main([str(tmp_path)]) == 0


def test_the_suites_of_the_native_kernels_name_files_that_are_there() -> None:
    text = (ROOT / "tools" / "native_suites.py").read_text(encoding="utf-8")
    tests = ROOT / "packages" / "cpu_backend" / "tests"
    folders = tests, ROOT / "packages" / "tensor_runtime" / "tests"
    named = [name for names in re.findall(r'for name in \(("[a-z_", ]+)\)', text) for name in re.findall(r"\w+", names)]

    assert len(named) >= 6
    assert [name for name in named if not any((one / f"test_{name}.py").is_file() for one in folders)] == []
    patterns = re.search(r'for pattern in \(("[a-z_*", ]+)\)', text)
    assert patterns is not None
    assert [one for one in re.findall(r"[a-z_*]+", patterns[1]) if not list(tests.glob(f"test_{one}.py"))] == []
