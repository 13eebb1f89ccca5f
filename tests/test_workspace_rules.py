"""Our own rules bite: each broken one is found, and the sources keep them all."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

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
