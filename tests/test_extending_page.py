"""The page on extending: its family works as printed."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import DTypeError, PluginConflictError, ShapeError, UnsupportedOperationError
from tensor_runtime.protocols import PROTOCOL_VERSION
from tensor_runtime.registry import registry

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def family() -> Iterator[dict[str, Any]]:
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    yield names
    registry.unregister_kernel("cpu", "hypot")


def test_the_family_gives_what_the_page_prints(family: dict[str, Any]) -> None:
    example = doctest.DocTestParser().get_doctest(BLOCKS[1], family, "extending", None, 0)
    runner = doctest.DocTestRunner(verbose=False)

    assert runner.run(example).failed == 0


def test_the_family_has_every_check_and_every_layout(family: dict[str, Any]) -> None:
    hypot = family["hypot"]
    x = tr.tensor([[3.0, 5.0], [8.0, 7.0]])
    y = tr.tensor([[4.0, 12.0], [15.0, 24.0]])

    assert hypot(x.T, y.T).to_numpy().tolist() == [[5.0, 17.0], [13.0, 25.0]]
    assert hypot(x.T, y.T).is_compact
    assert hypot(x[0], tr.tensor(4.0)).shape == (2,)
    with pytest.raises(DTypeError, match="hypot: operands are C64, F64"):
        hypot(tr.tensor(1j), y)
    with pytest.raises(ShapeError, match="hypot: shapes"):
        hypot(x, tr.ones(3))


def test_without_its_kernel_the_family_is_refused_by_name(family: dict[str, Any]) -> None:
    x = tr.ones(2)
    family["hypot"](x, x)
    registry.unregister_kernel("cpu", "hypot")

    with pytest.raises(UnsupportedOperationError, match="hypot: the cpu backend has no such operation"):
        family["hypot"](x, x)
    tr.register_kernel("cpu", "hypot", family["bind_hypot"])
    assert family["hypot"](x, x).shape == (2,)


def test_a_kernel_is_brought_once(family: dict[str, Any]) -> None:
    with pytest.raises(PluginConflictError, match="cpu has a kernel 'hypot' already, from this process"):
        tr.register_kernel("cpu", "hypot", family["bind_hypot"])


def test_the_page_names_the_version_that_the_runtime_speaks() -> None:
    assert f"`PROTOCOL_VERSION` is {PROTOCOL_VERSION}." in PAGE
