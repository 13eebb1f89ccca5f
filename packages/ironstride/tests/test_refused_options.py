"""Arguments of the program that are empty, or that another command has: one line says what is wanted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ironstride.program.main import main

PRODUCT = ["ij,jk->ik", "2x3", "3x4"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(6.0).reshape(2, 3))
    Path("folder").mkdir()
    Path("huge.json").write_bytes(b"\xff")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", *PRODUCT, "--load-plan", "folder"], "--load-plan folder: it is a directory; give the plan itself"),
        (["plan", *PRODUCT, "--load-plan", "huge.json"], "(byte 0); a plan is JSON"),
        (["plan", *PRODUCT, "--slices", "j=1,j=3"], "--slices j=1,j=3: found 'j' twice; accepted: each label once"),
        (["plan", "folder"], "it is a directory; give the network file itself"),
        (["plan", *PRODUCT, "-o", "y.npy"], "unrecognized arguments: -o y.npy (see ironstride plan --help)"),
        (["svd", "x.npy", "--steps"], "unrecognized arguments: --steps (see ironstride svd --help)"),
        (["plan", *PRODUCT, "--optimize", ""], "optimize='' is no search; accepted: auto"),
        (["contract", *PRODUCT, "--optimize", ""], "optimize='' is no search; accepted: auto"),
        (["contract", ""], "a SOURCE is empty; accepted: the name of a file, or an equation with shapes"),
        (["plan", "folder", ""], "a SOURCE is empty"),
        (["contract", *PRODUCT, "-o", ""], "argument -o/--output: it is empty; accepted: the name of a file"),
        (["plan", *PRODUCT, "--calibration", ""], "argument --calibration: it is empty"),
        (["info", ""], "argument FILE: it is empty"),
        (["convert", "x.npy", ""], "argument B: it is empty"),
        (["svd", "x.npy", "--rows", "0,"], "argument --rows: found 0,; accepted: numbers of axes"),
    ],
)
def test_one_line_says_what_is_wanted(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    try:
        status: object = main(arguments)
    except SystemExit as end:
        status = end.code
    error = capsys.readouterr().err
    assert status == 2 and error.count("\n") == 1
    assert said in error


def test_rows_of_no_axis_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["svd", "x.npy", "--rows", "", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["matrix"] == [1, 6]
    assert found["singular_values"] == pytest.approx([np.linalg.norm(np.arange(6.0))])
