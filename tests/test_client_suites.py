"""What `make test-clients` concludes from the suites of other libraries: a failure without a reason is one."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import clients.__main__
import pytest
from clients.__main__ import REASONS, Outcome, Reason, judged, read_reasons, run
from clients.suites import CLIENTS, Client

ROOT = Path(__file__).resolve().parents[1]


def test_a_failure_needs_a_reason_and_a_reason_a_failure() -> None:
    outcomes = [
        Outcome("a::ok", "passed", ""),
        Outcome("a::bad[1]", "failed", "no"),
        Outcome("a::known[svds]", "failed", "as ever"),
        Outcome("a::later", "passed", ""),
        Outcome("a::later", "failed", "when it was torn down"),
        Outcome("a::left", "skipped", ""),
    ]
    reasons = [Reason("a", "*known[[]sv*]", "no such solver"), Reason("a", "*mended*", "was broken")]

    found = judged(outcomes, reasons)

    assert found.failed == [outcomes[1], outcomes[4]]
    assert found.excepted == [(outcomes[2], reasons[0])]
    assert found.idle == [reasons[1]]
    assert found.counts == {"passed": 1, "failed": 3, "skipped": 1}


def test_every_reason_belongs_to_a_suite_and_says_why() -> None:
    reasons = read_reasons(REASONS.read_text("utf-8"))
    assert {one.suite for one in reasons} <= {one.name for one in CLIENTS}
    assert all(one.pattern and one.text for one in reasons)


TESTS = """
import pytest

import clients.__main__
def test_passes(): pass
def test_fails(): assert [1] == [2]
def test_skips(): pytest.skip()
@pytest.fixture
def broken(): raise ValueError("set-up")
def test_has_no_set_up(broken): pass
"""


def test_a_suite_tells_each_test_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "test_it.py").write_text(TESTS)
    (tmp_path / "theirs" / "test_broken.py").write_text("import no_such_module")
    (tmp_path / "scratch").mkdir()

    outcomes, _, status = run(Client("theirs", "", "theirs", (".",)), tmp_path, tmp_path / "scratch")

    assert status == 2, "pytest was interrupted by what it could not read"
    assert [(one.name, one.word) for one in outcomes] == [("test_broken.py", "failed")]
    (tmp_path / "theirs" / "test_broken.py").unlink()
    outcomes, _, status = run(Client("mended", "", "theirs", (".",)), tmp_path, tmp_path / "scratch")
    assert [(one.name.partition("::")[2], one.word) for one in outcomes] == [
        ("test_passes", "passed"),
        ("test_fails", "failed"),
        ("test_skips", "skipped"),
        ("test_has_no_set_up", "failed"),
    ]
    assert "[1] == [2]" in outcomes[1].why and "set-up" in outcomes[3].why
    assert status == 1
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["test_it.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{folder}"], "has no folder opt_einsum, cotengra, einops, array-api-tests"),
        (["{folder}", "other"], "called other"),
    ],
)
def test_what_is_not_there_is_named(arguments: list[str], said: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clients", *(one.format(folder=tmp_path) for one in arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr


def test_examples_in_docstrings_give_what_they_say() -> None:
    found = doctest.testmod(clients.__main__)
    assert found.attempted and not found.failed
