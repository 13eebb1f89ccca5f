"""Run the suites of other libraries on our tensors, and print what passed, what failed, and for which reasons.

Usage: ``python -m clients FOLDER [NAME...]``, with the folder of the checked-out suites; ``make test-clients`` makes
the environment that it needs. The exit status is 1 where something fails for which ``reasons.txt`` has no reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from clients.suites import CLIENTS, Client

ROOT: Final = Path(__file__).resolve().parent.parent
REASONS: Final = ROOT / "clients" / "reasons.txt"


class Reason(NamedTuple):
    """Why tests of a suite whose names fit the pattern may fail."""

    suite: str
    pattern: str
    text: str


class Outcome(NamedTuple):
    """What became of one test; for one that failed, the first line of why."""

    name: str
    word: str
    why: str


class Verdict(NamedTuple):
    """What became of a suite."""

    counts: Counter[str]
    excepted: list[tuple[Outcome, Reason]]
    failed: list[Outcome]
    idle: list[Reason]  # nothing failed for it


def read_reasons(text: str) -> list[Reason]:
    r"""The lines of ``reasons.txt`` that are neither empty nor comments.

    >>> read_reasons("# a comment\n\nquimb | *svds* | no such solver")
    [Reason(suite='quimb', pattern='*svds*', text='no such solver')]
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [Reason(*(part.strip() for part in line.split("|", 2))) for line in lines]


def judged(outcomes: Iterable[Outcome], reasons: Iterable[Reason]) -> Verdict:
    """Which of the failures have a reason; a test that failed in several phases counts once."""
    by_name: dict[str, Outcome] = {}
    for one in outcomes:
        if one.name not in by_name or one.word == "failed":
            by_name[one.name] = one
    left = list(reasons)
    used, excepted, failed = set(), [], []
    for one in by_name.values():
        if one.word == "failed":
            reason = next((reason for reason in left if fnmatchcase(one.name, reason.pattern)), None)
            if reason is None:
                failed.append(one)
            else:
                used.add(reason)
                excepted.append((one, reason))
    counts = Counter(one.word for one in by_name.values())
    return Verdict(counts, excepted, failed, [reason for reason in left if reason not in used])


def run(client: Client, suites: Path, scratch: Path) -> tuple[list[Outcome], str, int]:
    """The outcomes of a suite, what it printed at the end, and its exit status."""
    file = scratch / f"{client.name}.jsonl"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",  # the suites stay as they are
        "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
        "NUMBA_CACHE_DIR": str(ROOT / "out" / "numba"),
        "CLIENTS_OUTCOMES": str(file),
        "CLIENTS_SUITES": str(suites),
        **dict(client.environment),
    }
    own = ["-c", os.devnull, "--rootdir", str(ROOT)] if client.folder is None else []
    plugin = ["-p", f"clients.plugins.{client.plugin}"] if client.plugin else []
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "clients.outcomes", "--tb=short")
    done = subprocess.run(
        [*pytest, *plugin, *own, *client.arguments],
        cwd=ROOT if client.folder is None else suites / client.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    outcomes = [Outcome(*json.loads(line)) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    return outcomes, done.stdout, done.returncode


def main() -> int:
    """Run the suites named, or all; 1 where something failed without a reason."""
    parser = argparse.ArgumentParser(prog="python -m clients", description="suites of other libraries on our tensors")
    parser.add_argument("suites", type=Path, help="the folder with the checked-out suites")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(one.name for one in CLIENTS)}; all without one")
    asked = parser.parse_args()
    unknown = set(asked.names) - {one.name for one in CLIENTS}
    if unknown:
        parser.error(f"no suite is called {', '.join(sorted(unknown))}")
    chosen = [one for one in CLIENTS if not asked.names or one.name in asked.names]
    absent = {one.folder: None for one in chosen if one.folder and not (asked.suites / one.folder).is_dir()}
    if absent:
        parser.error(f"{asked.suites} has no folder {', '.join(absent)}")
    reasons, bad = read_reasons(REASONS.read_text("utf-8")), 0
    print(f"{'suite':24}{'passed':>8}{'failed':>8}{'excepted':>10}{'skipped':>9}{'seconds':>9}  what", flush=True)
    with TemporaryDirectory() as folder:
        for client in chosen:
            start = time.perf_counter()
            outcomes, printed, status = run(client, asked.suites.resolve(), Path(folder))
            verdict = judged(outcomes, [one for one in reasons if one.suite == client.name])
            counts, failed = verdict.counts, len(verdict.failed)
            print(
                f"{client.name:24}{counts['passed']:>8}{failed:>8}{len(verdict.excepted):>10}{counts['skipped']:>9}"
                f"{time.perf_counter() - start:>9.0f}  {client.what}",
                flush=True,
            )
            for text, number in Counter(reason.text for _, reason in verdict.excepted).items():
                print(f"{'':8}{number} excepted: {text}")
            for one in verdict.failed:
                print(f"{'':8}FAILED {one.name}: {one.why}")
            for reason in verdict.idle:
                print(f"{'':8}nothing fails for the reason: {reason.pattern}: {reason.text}")
            broken = not counts["passed"] or (status not in (0, 1) and not failed)
            if broken:
                print(f"{'':8}FAILED: pytest ended with status {status}", *printed.splitlines()[-15:], sep=f"\n{'':8}")
            bad += bool(failed) + broken
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
