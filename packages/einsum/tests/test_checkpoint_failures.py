"""Checkpoints that cannot be saved, or whose first line no run has written."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tensor_runtime as tr
from sliced_plans import SLICED, operands_of
from tensor_core.errors import FormatError, SaveError
from tensor_einsum import plan


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("how", ["called", "stripped", "mapped"])
def test_what_stops_a_run_is_raised_though_its_sum_cannot_be_saved(
    tmp_path: Path, stop: type[BaseException], how: str
) -> None:
    folder, operands, asked = tmp_path / "folder", operands_of(SLICED), [0]
    folder.mkdir()

    def stopping(*done: Any) -> None:
        asked[0] += 1
        if asked[0] == 12:
            shutil.rmtree(folder)
            raise stop

    def run(checkpoint: Path) -> None:
        if how == "mapped":
            with ThreadPoolExecutor(1) as threads:
                SLICED.map_slices(threads, *operands, checkpoint=checkpoint, on_slice=stopping)
        elif how == "stripped":
            SLICED(*operands, checkpoint=checkpoint, on_step=stopping, strip_exponent=True)
        else:
            SLICED(*operands, checkpoint=checkpoint, on_step=stopping)

    with pytest.raises(stop) as raised:
        run(folder / "sum")
    (note,) = raised.value.__notes__
    assert note.startswith(f"einsum: checkpoint {str(folder / 'sum')!r} cannot be written: No such file or directory")


def test_what_a_killed_process_left_of_a_checkpoint_goes_with_it(tmp_path: Path) -> None:
    (tmp_path / ".sum.tmp").write_bytes(b"of a process that was killed while it saved")
    SLICED(*operands_of(SLICED), checkpoint=tmp_path / "sum")
    assert list(tmp_path.iterdir()) == []


def test_a_sum_that_cannot_be_saved_tells_who_wanted_it(tmp_path: Path) -> None:
    folder, operands = tmp_path / "folder", operands_of(SLICED)
    folder.mkdir()

    def removing(done: int, total: int) -> None:
        if done == 12:
            shutil.rmtree(folder)

    with pytest.raises(SaveError, match=r"einsum: checkpoint '.*sum' cannot be written: No such file") as raised:
        SLICED(*operands, checkpoint=folder / "sum", checkpoint_seconds=0, on_step=removing)
    assert raised.value.errno == 2
    assert raised.value.path == str(folder / "sum")


@pytest.mark.parametrize("written", ['"{}"', "[{}]", "true"])
def test_an_exponent_that_is_no_number_of_ours_is_refused(tmp_path: Path, written: str) -> None:
    x, path = tr.full((4, 3), 1e200), tmp_path / "sum"
    found = plan("ij,ij->i", x, x).with_slices("j")

    def stopping(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(x, x, strip_exponent=True, checkpoint=path, on_step=stopping)
    line, _, elements = path.read_bytes().partition(b"\n")
    number = str(json.loads(line)["exponent"])
    damaged = line.decode().replace(f'"exponent": {number}', f'"exponent": {written.format(number)}')
    path.write_bytes(damaged.encode() + b"\n" + elements)

    with pytest.raises(FormatError, match="its first line is not what was written; remove it"):
        found(x, x, strip_exponent=True, checkpoint=path)
