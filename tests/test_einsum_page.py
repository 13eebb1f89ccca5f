"""The page about einsum is true: its examples run, and it names every option."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tensor_einsum.options import EinsumOptions

PAGE = Path(__file__).resolve().parents[1] / "docs" / "einsum.md"


def test_every_example_gives_what_the_page_says() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.attempted > 10
    assert found.failed == 0


@pytest.mark.parametrize(
    "option",
    ["algebra", "conj", "progress", "out", "alpha", "beta", "strip_exponent", "memory_limit", "force", "checkpoint"],
)
def test_every_option_of_contracting_is_on_the_page(option: str) -> None:
    assert option in {*EinsumOptions.__annotations__, "out", "alpha", "beta", "strip_exponent"}
    assert f"`{option}" in PAGE.read_text(encoding="utf-8")
