"""Sizes, tables, and where results are written."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironstride.program.output_paths import OutputPathError, check_output_path, make_folder
from ironstride.program.units import power_text, scientific, table
from tensor_core.formatting import readable_bytes


@given(st.floats(-10, 10).filter(lambda x: abs(x) > 1e-3), st.integers(-300, 300))
def test_scientific_agrees_with_floats_where_they_reach(factor: float, power: int) -> None:
    assert math.isclose(float(scientific(factor, float(power))), factor * 10.0**power, rel_tol=1e-10)


def test_scientific_goes_on_where_floats_end() -> None:
    assert scientific(9.9999, 399.0, digits=2) == "1.00e+400"
    assert scientific(0.0, 399.0) == "0"


@given(st.integers(0, 2**200))
def test_sizes_take_few_characters(count: int) -> None:
    assert len(readable_bytes(count)) <= 14
    assert len(power_text(count)) <= 9


def test_a_table_aligns_its_columns() -> None:
    assert table([("a", "1"), ("bcd", "200")], "<>") == "  a      1\n  bcd  200"


def test_targets_are_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "taken.npy").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    for file, message in (
        (tmp_path / "a.txt", "-o .*a.txt: the ending must be .npy"),
        (tmp_path / "taken.npy", "a folder has that name"),
        (tmp_path / "file" / "a.npy", "cannot be written"),
    ):
        with pytest.raises(OutputPathError, match=message):
            check_output_path("-o", file, [".npy"])


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a file system that takes no files, whatever it permits")
def test_a_target_where_no_file_can_be_made_is_refused_before_any_work() -> None:
    with pytest.raises(OutputPathError, match=r"-o /proc/new/x.npy: /proc cannot be written"):
        check_output_path("-o", Path("/proc/new/x.npy"), [".npy"])


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    check_output_path("-o", tmp_path / "x.npy", [".npy"])

    assert not list(tmp_path.iterdir())


def test_folders_of_a_target_are_made_when_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "new" / "newer" / "a.npy"

    check_output_path("-o", file, [".npy"])
    assert not file.parent.exists()
    make_folder("-o", file)
    assert file.parent.is_dir()
