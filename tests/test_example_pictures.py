"""The pictures of examples: where none can be written, their programs say so in one line, and end with status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from example_programs import EXAMPLES, example

SMALL = {
    "circuit": [str(EXAMPLES / "circuits" / "grid_4x5.qasm")],
    "compression": ["--rows", "8", "--columns", "8"],
    "dmrg": ["--sites", "4", "--rank", "2", "--sweeps", "1"],
    "kalman": ["--filters", "2", "--steps", "1"],
    "quantics": ["--qubits", "4"],
    "spin_glass": ["--rows", "2", "--columns", "2"],
    "tebd": ["--sites", "4", "--steps", "1"],
}


def test_every_program_that_draws_is_tried() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py") if "--picture" in file.read_text(encoding="utf-8")} == {*SMALL}


@pytest.mark.parametrize("name", SMALL)
def test_a_picture_that_cannot_be_written_is_said_so(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")

    for picture in (tmp_path / "taken" / "x.svg", tmp_path / "x.none"):
        with pytest.raises(SystemExit) as stopped:
            example(name).main([*SMALL[name], "--picture", str(picture)])
        assert stopped.value.code == 2
        assert f"error: --picture {picture}: " in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]
