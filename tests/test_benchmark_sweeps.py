"""The sweeps that are timed give what they should, with either library."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.rows import OURS
from benchmarks.sweeps import NUMPY, PROGRAMS, Dmrg, Numpy, Ours, measure


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_sweep_gives_the_same_with_either_library(name: str) -> None:
    ours, theirs = (PROGRAMS[name](kit, 8, 6)() for kit in (Ours(), Numpy()))

    assert np.isclose(ours, theirs, rtol=1e-10)


def test_sweeps_of_dmrg_find_the_ground_state_of_a_chain_of_four() -> None:
    program = Dmrg(Ours(), 4, 4)

    assert np.isclose(program(), -1.6160254037844384, atol=0.05)  # (-3 - 2 √3) / 4


def test_every_part_of_a_sweep_is_timed_for_both() -> None:
    outcomes = list(measure(1, "TEBD, 16"))

    assert [outcome.row.name.split(": ")[1] for outcome in outcomes] == ["whole", "contractions", "decompositions"]
    assert all({*outcome.samples} == {OURS, NUMPY} and not outcome.missing for outcome in outcomes)
