"""What notebooks show of results: every field under its name, as tables, for every named tuple of tensors."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import tensor_linalg as tl
import tensor_runtime as tr

SOURCES = Path(tl.__file__).parent
RESULTS = sorted(
    {
        value
        for file in SOURCES.glob("**/*.py")
        for value in vars(
            import_module(".".join(["tensor_linalg", *file.relative_to(SOURCES).with_suffix("").parts]))
            if file.name != "__init__.py"
            else tl
        ).values()
        if isinstance(value, type) and issubclass(value, tuple) and "fields_text" in value.__repr__.__code__.co_names
    },
    key=lambda value: value.__name__,
)


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_every_result_is_a_page_with_its_fields(kind: Any) -> None:
    values = [tr.tensor([[1.0, float(k)]]) for k in range(len(kind._fields))]
    found = ElementTree.fromstring(kind(*values)._repr_html_())

    assert found.findtext("code") == kind.__name__
    assert [one.text for one in found.iter("summary")] == list(kind._fields)
    shown = [[cell.text for cell in table.iter("td")] for table in found.iter("table")]
    assert shown == [["1.0", f"{float(k)}"] for k in range(len(kind._fields))]


def test_all_named_results_are_looked_at() -> None:
    assert {tl.SVDResult, tl.QRResult, tl.EighResult, tl.SplitResult, tl.MaskedResult} <= set(RESULTS)


def test_what_is_no_tensor_is_escaped() -> None:
    found = ElementTree.fromstring(tl.SVDResult("<b>", 3, tr.ones(1))._repr_html_())  # type: ignore[arg-type]

    assert [one.text for one in found.iter("pre")] == ["'<b>'", "3"]
