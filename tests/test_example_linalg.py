"""The examples of linear algebra: their programs' answers beside exact ones, and the pictures they draw."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from example_programs import example

dmrg, tebd, compression, kalman = map(example, ("dmrg", "tebd", "compression", "kalman"))


def test_sweeps_end_at_the_exact_energy_and_more_rank_is_nearer() -> None:
    exact = dmrg.exact_energy(10)
    assert exact == pytest.approx(-4.258035207282883, abs=1e-11)
    wide, narrow = (dmrg.dmrg(10, rank, 3)[-1] for rank in (32, 6))
    assert wide.energy == pytest.approx(exact, abs=1e-10)
    assert 1e-9 < narrow.energy - exact < 1e-2 and narrow.rank == 6 and narrow.discarded > wide.discarded
    middle = wide.entropies[4]
    assert wide.entropies == pytest.approx(wide.entropies[::-1], abs=1e-6) and 0.5 < middle < 0.9


def test_the_program_says_so_draws_and_fails_where_the_energy_is_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = tmp_path / "made" / "dmrg.svg"
    dmrg.main(["--sites", "6", "--rank", "8", "--sweeps", "2", "--picture", str(picture)])
    assert "allowed" in capsys.readouterr().out and picture.stat().st_size > 1000
    monkeypatch.setattr(dmrg, "exact_energy", lambda sites: -3.0)
    with pytest.raises(SystemExit) as stopped:
        dmrg.main(["--sites", "6", "--sweeps", "1"])
    assert stopped.value.code == 1


@pytest.mark.parametrize("program", [dmrg, tebd])
def test_chains_of_one_site_are_refused(program: ModuleType) -> None:
    with pytest.raises(SystemExit):
        program.main(["--sites", "1"])


def test_smaller_steps_of_time_come_nearer_to_the_whole_state_by_their_square(
    capsys: pytest.CaptureFixture[str],
) -> None:
    errors = []
    for steps in (10, 20):
        tebd.main(["--sites", "6", "--steps", str(steps), "--dt", str(1 / steps)])
        errors.append(float(capsys.readouterr().out.split("magnetisation: ")[1].split()[0]))
    assert 3 < errors[0] / errors[1] < 5 and errors[1] < 1e-3


def test_a_chain_without_enough_rank_says_what_it_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tebd.main(["--sites", "6", "--steps", "20", "--rank", "2", "--picture", str(tmp_path / "tebd.png")])
    lost = float(capsys.readouterr().out.split("weight lost ")[1].split()[0])
    assert lost > 1e-8 and (tmp_path / "tebd.png").stat().st_size > 1000


def test_an_image_takes_fewer_numbers_and_errs_no_more_than_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for error in ("0.2", "0.05"):
        picture = tmp_path / "compression.png"
        compression.main(["--rows", "48", "--columns", "64", "--error", error, "--picture", str(picture)])
        lines = capsys.readouterr().out.splitlines()
        assert picture.stat().st_size > 1000
        found[error] = [int(line.split(": ")[1].split()[0]) for line in lines[:2]]
        assert all(float(line.split()[-1]) <= float(error) for line in lines[:2])
    assert found["0.2"] < found["0.05"] and max(found["0.05"]) < 48 * 64 * 3 / 4
    monkeypatch.setattr(compression, "by_tucker", lambda x, error: (x * 0.5, 1))
    with pytest.raises(SystemExit) as stopped:
        compression.main(["--rows", "8", "--columns", "8"])
    assert stopped.value.code == 1


def test_filters_follow_their_targets_as_well_as_they_say_and_as_numpy_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "kalman.png"
    kalman.main(["--filters", "500", "--steps", "12", "--picture", str(picture)])
    assert "allowed" in capsys.readouterr().out and picture.stat().st_size > 1000
    mean, draw = tr.normal((6, 3), seed=1), tr.normal((6, 6, 3), seed=2)
    spread = tl.matmul(draw, tl.mT(draw)) + tr.expand_dims(tr.eye(6), 2)
    seen = tr.normal((2, 3), seed=3)
    state = kalman.step(kalman.State(mean, spread), seen)
    f, q, h, r = (one.to_numpy() for one in kalman.model())
    for k in range(3):
        m = f @ mean[:, k].to_numpy()
        p = f @ spread[..., k].to_numpy() @ f.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
        np.testing.assert_allclose(state.mean[:, k].to_numpy(), m + gain @ (seen[:, k].to_numpy() - h @ m), atol=1e-12)
        np.testing.assert_allclose(state.covariance[..., k].to_numpy(), p - gain @ h @ p, atol=1e-12)


@pytest.mark.parametrize("module", [dmrg, tebd, compression, kalman])
def test_the_examples_in_the_scripts_run(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.failed == 0 and results.attempted > 0
