"""What `make test` runs: every test file, two suites at a time, shown in order; a failure or Ctrl-C is never lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import all_checks
import all_suites
import native_suites
from suite_queue import Job, Suite, run_all

ROOT = Path(__file__).resolve().parents[1]


def program(what: str, code: str) -> Job:
    return lambda: Suite(what, [], {"SUITE": what}, [sys.executable, "-c", code])


def test_suites_are_shown_in_order_and_without_dots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = "import os; print('......s.. [100%]'); print('5 passed in', os.environ['SUITE'])"
    slow = program("slow", f"import time; time.sleep(0.5); {talk}")

    assert run_all([slow, lambda: "nothing to run", program("fast", talk)], tmp_path) == 0

    said = [line for line in capsys.readouterr().out.splitlines() if line]
    assert [line.partition(" (")[0] for line in said] == [
        "slow", "5 passed in slow", "nothing to run", "fast", "5 passed in fast",
    ]  # fmt: skip


def test_two_suites_run_at_once(tmp_path: Path) -> None:
    met = (
        "import sys, time, pathlib; a, b = map(pathlib.Path, sys.argv[1:]); a.touch()\n"
        "for _ in range(300):\n"
        "    if b.exists(): break\n"
        "    time.sleep(0.1)\n"
        "else: sys.exit(1)"
    )
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    jobs: list[Job] = [
        lambda: Suite("here", [], {}, [sys.executable, "-c", met, here, there]),
        lambda: Suite("there", [], {}, [sys.executable, "-c", met, there, here]),
    ]

    assert run_all(jobs, tmp_path / "logs") == 0


def test_a_failure_stops_no_other_suite_and_is_named_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unbuilt(name: str) -> Suite:
        raise OSError(f"the compiler of {name} is gone")

    jobs: list[Job] = [
        program("good", "print('fine')"),
        program("bad", "raise SystemExit(3)"),
        partial(unbuilt, "kernels"),
        program("late", "print(7)"),
    ]

    assert run_all(jobs, tmp_path) == 3

    said = capsys.readouterr().out
    assert "the compiler of kernels is gone" in said and "\n7\n" in said
    assert said.splitlines()[-2:] == ["FAILED with status 3: bad", "FAILED with status 1: unbuilt"]


def test_whatever_a_check_finds_makes_the_status_and_all_others_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ruff")
    wrong = tmp_path / "wrong.py"
    wrong.write_text('"""Nothing."""\n\nimport os\n', encoding="utf-8")
    jobs = {
        suite.what: suite for suite in (job() for job in all_checks.checks([str(wrong)])) if isinstance(suite, Suite)
    }
    assert jobs.keys() >= {"types", "C sources", "import contracts", "docstrings", "format", "lint"}
    assert all(Path(suite.command[0]).exists() for suite in jobs.values())

    assert run_all([partial(Suite, *jobs[name]) for name in ("lint", "format")], tmp_path / "logs") == 1

    said = capsys.readouterr().out
    assert "F401" in said and "1 file already formatted" in said and said.endswith("FAILED with status 1: lint\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_suite_and_what_it_started(tmp_path: Path, number: signal.Signals) -> None:
    suite = (
        "import os, pathlib, subprocess, sys, time; child = subprocess.Popen(['sleep', '600']);"
        f"pathlib.Path({str(tmp_path / 'ids')!r}).write_text(f'{{os.getpid()}} {{child.pid}} ready'); time.sleep(600)"
    )
    runner = (
        "import pathlib, signal, sys; from suite_queue import Suite, run_all\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"job = lambda: Suite('long', [], {{}}, [sys.executable, '-c', {suite!r}])\n"
        f"sys.exit(run_all([job, job.__call__], pathlib.Path({str(tmp_path)!r}), 1))"
    )
    running = subprocess.Popen([sys.executable, "-c", runner], cwd=ROOT / "tools", stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "ids").exists() or not (tmp_path / "ids").read_text().endswith("ready"):
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(number)
    said, _ = running.communicate(timeout=60)

    assert running.returncode == 130
    assert said == "\ninterrupted; every suite was ended, and what is being built is waited for\n"
    for process in map(int, (tmp_path / "ids").read_text().split()[:2]):
        assert is_gone(process)


def is_gone(process: int) -> bool:
    """Whether it ended soon, or waits for whoever adopts orphans to notice."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{process}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_every_folder_of_tests_is_in_exactly_one_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(all_suites, "native_jobs", lambda folder: [native_suites.left_out])
    suites = [made for made in (job() for job in all_suites.jobs(tmp_path)) if isinstance(made, Suite)]
    named = [Path(one) for suite in suites for one in suite.arguments if not one.startswith("-")]
    files = sorted([*ROOT.glob("packages/*/tests/test_*.py"), *ROOT.glob("tests/test_*.py"), *ROOT.glob("tools/*.py")])

    assert len(files) > 200
    for file in files:
        holding = [one for one in named if file == one or one in file.parents]
        # Those of tests/ that are named one by one are passed over in the suite of the folder.
        assert len(holding) == 1 or holding == [file, ROOT / "tests"], file
    (ignoring,) = [suite for suite in suites if str(ROOT / "tests") in suite.arguments]
    assert f"--ignore-glob=*/{all_suites.BUILDS}" in ignoring.arguments


def test_sanitizers_watch_every_test_file_of_kernels_but_those_with_a_reason() -> None:
    names = {path.stem.removeprefix("test_") for path in native_suites.TESTS.glob("test_*.py")}
    watched = {Path(path).stem.removeprefix("test_") for path in native_suites.WATCHED_TESTS}

    assert native_suites.UNWATCHED.keys() < names
    assert names - native_suites.UNWATCHED.keys() == watched - {"fusion", "fused_calls"}
    assert all(Path(path).is_file() for path in (*native_suites.WATCHED_TESTS, *native_suites.CALL_TESTS))
    assert set(native_suites.CALL_TESTS) < set(native_suites.WATCHED_TESTS)  # in a suite where calls are not checked
    assert names >= set(native_suites.STRICT_TESTS)


def test_threads_are_not_tested_twice_with_as_many_as_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("TENSOR_CPU_THREADS", raising=False)

    skipped, run = native_suites.threaded(2), native_suites.threaded(4)

    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # which all others then run with
    assert isinstance(native_suites.threaded(2), Suite)
    assert isinstance(skipped, str) and "all other suites ran so" in skipped
    assert isinstance(run, Suite) and run.environment["TENSOR_CPU_THREADS"] == "4"


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize(("target", "flags"), [("test", "-O2 -Werror"), ("check", "-O2 -Werror"), ("setup", "-O2")])
def test_what_is_tested_was_compiled_without_a_warning(tmp_path: Path, target: str, flags: str) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\ncase "$*" in *--no-build-isolation*) echo "built with $CFLAGS";; esac\n')
    python.chmod(0o755)
    (tmp_path / "requirements").mkdir()
    for name in ("build", "run", "test", "dev", "dist"):
        (tmp_path / "requirements" / f"{name}.txt").touch()
    (tmp_path / ".venv" / ".made").touch()
    # Run by another make, this one would take its flags.
    mine = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}

    made = subprocess.run(
        ["make", "-s", "-k", "-f", str(ROOT / "Makefile"), target],
        cwd=tmp_path,
        env=mine | {"CFLAGS": "-O2"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert made.stdout.splitlines() == [f"built with {flags}"]
