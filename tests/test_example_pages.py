"""Pages that are examples from top to bottom are true: what they print is what comes."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize(("page", "least"), [("batches.md", 10), ("clients.md", 10), ("exchange.md", 7)])
def test_every_example_gives_what_the_page_says(page: str, least: int) -> None:
    found = doctest.testfile(str(DOCS / page), module_relative=False)
    assert found.attempted >= least
    assert found.failed == 0
