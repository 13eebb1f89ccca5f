"""The catalogue in ``docs/`` is what the code does."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import tensor_runtime as tr

ROOT = Path(__file__).resolve().parent.parent
TOOL = runpy.run_path(str(ROOT / "tools" / "catalogue.py"), run_name="catalogue")
LINES = TOOL["page"]().splitlines()


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "catalogue.md").read_text(encoding="utf-8").splitlines()
    missing = [line for line in LINES if line not in written]
    stale = [line for line in written if line not in LINES]

    assert not (missing or stale), f"run python tools/catalogue.py; missing: {missing}; stale: {stale}"
    assert written == LINES


@pytest.mark.parametrize(
    "line",
    [
        "| add | all | same | add | cpu, sim |",
        "| negative | all but Bool | same | negative | cpu, sim |",
        "| less | all but C32 C64 | Bool | less | cpu, sim |",
        "| divide | all | F64 from I32 I64 Bool; else same | divide | cpu, sim |",
        "| pow | all but Bool | same | pow | cpu, sim |",
        "| sum | all | I64 from I32 Bool; else same | sum | cpu, sim |",
        "| zeros | – | as given: all | full | cpu, sim |",
        "| primitives.exp | all but I32 I64 Bool | same | exp | cpu, sim |",
    ],
)
def test_what_is_known_stands_in_it(line: str) -> None:
    assert line in LINES


def test_making_it_leaves_no_device_behind() -> None:
    assert "catalogue" not in [row.name for row in tr.backends()]


@pytest.mark.parametrize("dtype", tr.DTYPES, ids=repr)
@pytest.mark.parametrize(
    "name", ["add", "atan2", "bitwise_and", "divide", "equal", "less", "maximum", "pow", "remainder"]
)
def test_the_page_says_which_dtypes_two_tensors_may_have(name: str, dtype: tr.DType) -> None:
    row = next(line for line in LINES if line.startswith(f"| {name} |"))
    listed = row.split("|")[2].strip()
    names = set(listed.removeprefix("all but ").split())
    accepted = listed == "all" or (dtype.name in names) != listed.startswith("all but ")
    operand = tr.ones((2,), dtype=dtype)
    if accepted:
        assert getattr(tr, name)(operand, operand).shape == (2,)
    else:
        with pytest.raises(tr.TensorError, match=name):
            getattr(tr, name)(operand, operand)
