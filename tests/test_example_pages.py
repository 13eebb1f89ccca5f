"""Pages that are examples from top to bottom are true: what they print is what comes."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize(("page", "least"), [("batches.md", 10), ("exchange.md", 7), ("files.md", 28)])
def test_every_example_gives_what_the_page_says(
    page: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some pages write files
    found = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= least
    assert found.failed == 0
