"""The page on kernels in ``docs/`` is what the contracts say, and names every kernel of the CPU backend."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import tensor_runtime as tr
from tensor_runtime.testing import REQUIRED_KERNELS

ROOT = Path(__file__).resolve().parent.parent
TOOL = runpy.run_path(str(ROOT / "tools" / "kernels.py"), run_name="kernels")
LINES = TOOL["page"]().splitlines()


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8").splitlines()
    missing = [line for line in LINES if line not in written]
    stale = [line for line in written if line not in LINES]

    assert not (missing or stale), f"run python tools/kernels.py; missing: {missing}; stale: {stale}"
    assert written == LINES


@pytest.mark.parametrize("name", sorted(tr.backend("cpu").operations()))
def test_every_kernel_of_the_cpu_stands_in_it_once(name: str) -> None:
    named = [line for line in LINES if line == f"### `{name}`"]
    listed = [line for line in LINES if f"`{name}`" in line.rstrip(".").split(" ") and line.endswith("`.")]

    assert len(named) + len([line for line in listed if "_view" not in line]) == 1


def test_it_says_which_kernels_the_suite_needs() -> None:
    assert " ".join(f"`{name}`" for name in sorted(REQUIRED_KERNELS)) + "." in LINES


@pytest.mark.parametrize(
    "line",
    [
        "* argument `starts`: a tuple of ints, one for each axis of the operand, each from 0 to its extent",
        "* parameters: `SliceParams(entries)`",
        "* operand `target`: any layout that names no element twice; bound as the result, too",
        "* operand `value?`: rank 0, of the dtype of x",
        "* `keepdims: bool`: Whether the result keeps them, with extent 1.",
    ],
)
def test_what_could_only_be_found_by_crashing_stands_in_it(line: str) -> None:
    assert line in LINES
