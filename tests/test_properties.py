"""Every property at the count of an everyday run; ``make test-long`` has the large counts, and repeats a seed."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

import long_tests
from properties import Property, PropertyError
from properties.catalogue import PROPERTIES
from properties.elements import assert_all_specials


@pytest.mark.parametrize("each", PROPERTIES.values(), ids=lambda each: each.name)
def test_a_property_holds(each: Property) -> None:
    tried, seed = 0, 0
    while tried < each.short:
        tried += each.run_block(seed)
        seed += 1


def test_casting_every_edge_case_equals_the_definition() -> None:
    assert_all_specials()


def _holds_not_for_sevens(rng: Random) -> None:
    assert rng.randrange(8) != 7, "a seven"


def test_a_long_run_goes_on_where_it_ended_and_remembers_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = Property("good", "nothing is asked", lambda rng: None, 1, 40, 10)
    bad = Property("bad", "no sevens", _holds_not_for_sevens, 1, 100, 10)
    for one in (good, bad):
        monkeypatch.setitem(PROPERTIES, one.name, one)
    state = tmp_path / "out" / "state.json"
    arguments = ["good", "bad", "--state", str(state)]
    assert long_tests.main([*arguments, "--budget", "0"]) == 0
    assert json.loads(state.read_text())["good"]["next_seed"] == 0
    assert long_tests.main(arguments) == 1
    reached = json.loads(state.read_text())
    failed = reached["bad"]["failed_seeds"]
    assert reached["good"] | {"seconds": 0} == {"next_seed": 4, "examples": 40, "seconds": 0, "failed_seeds": []}
    assert len(failed) == 5, "five failures are enough"
    assert reached["bad"]["examples"] == 10 * (reached["bad"]["next_seed"] - 5)
    assert f"bad, no sevens: seed {failed[0]}, example " in capsys.readouterr().err
    assert long_tests.main(arguments) == 1, "a failure is not forgotten"
    assert json.loads(state.read_text()) | {"good": 0} == reached | {"good": 0}, "what is reached is not repeated"
    assert long_tests.main(["bad", "--seed", str(failed[0]), "--state", str(state)]) == 1
    monkeypatch.setitem(PROPERTIES, "bad", bad._replace(example=lambda rng: None))
    for seed in failed:
        assert long_tests.main(["bad", "--seed", str(seed), "--state", str(state)]) == 0
    assert long_tests.main(arguments) == 0
    assert json.loads(state.read_text())["bad"]["examples"] == 100


def test_a_seed_repeats_its_examples() -> None:
    drawn: list[int] = []
    each = Property("p", "s", lambda rng: drawn.append(rng.getrandbits(64)), 1, 1, 5)
    each.run_block(3)
    each.run_block(3)
    assert drawn[:5] == drawn[5:]
    with pytest.raises(PropertyError, match=r"p, s: seed 0, example 0: ZeroDivisionError") as caught:
        each._replace(example=lambda rng: 1 // 0).run_block(0)  # type: ignore[arg-type]
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_unknown_property_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        long_tests.main(["unheard-of"])
    assert "accepted: view-chains reach" in capsys.readouterr().err
