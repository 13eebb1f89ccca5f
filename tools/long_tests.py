"""Properties at the counts that take hours, resumable: ``make test-long``.

Each property runs block after block of seeds; after each block the next seed stands in a state file, so that the next
run goes on where this one ended, by budget, by Ctrl-C or by a crash. A failure is recorded with its seed, does not stop
the run, and makes the exit status 1 in every run until it is repeated without failing:

    python tools/long_tests.py view-chains --seed 1234
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from properties import Property, PropertyError
from properties.catalogue import PROPERTIES

STATE: Final = Path(__file__).resolve().parents[1] / "out" / "test-long.json"
_SAVE_EVERY: Final = 5.0  # seconds
_ENOUGH: Final = 5  # failed seeds after which a property is left alone until they are repeated without failing

State = dict[str, dict[str, Any]]


def read_state(path: Path) -> State:
    """What earlier runs reached; every property is in it.

    >>> read_state(Path("no such file"))["view-chains"]
    {'next_seed': 0, 'examples': 0, 'seconds': 0.0, 'failed_seeds': []}
    """
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        name: {"next_seed": 0, "examples": 0, "seconds": 0.0, "failed_seeds": [], **found.get(name, {})}
        for name in PROPERTIES
    }


def write_state(path: Path, state: State) -> None:
    """Replace the state file in one step, so that it is whole whenever the run ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
    os.replace(fresh, path)


def next_property(chosen: Sequence[Property], state: State) -> Property | None:
    """The one that is farthest from its count; None when all have reached theirs, or failed too often.

    >>> a, b = (Property(name, "", lambda rng: None, 1, 10) for name in "ab")
    >>> next_property([a, b], {name: {"examples": k, "failed_seeds": []} for name, k in (("a", 10), ("b", 9))}).name
    'b'
    """
    open_ones = [
        each
        for each in chosen
        if state[each.name]["examples"] < each.long and len(state[each.name]["failed_seeds"]) < _ENOUGH
    ]
    return min(open_ones, key=lambda each: state[each.name]["examples"] / each.long, default=None)


def run(chosen: Sequence[Property], path: Path, budget: float) -> State:
    """Run blocks until every count is reached or the budget, in seconds, is spent."""
    state, saved = read_state(path), time.monotonic()
    deadline = saved + budget
    try:
        while time.monotonic() < deadline:
            each = next_property(chosen, state)
            if each is None:
                break
            row, start = state[each.name], time.perf_counter()
            try:
                row["examples"] += each.run_block(row["next_seed"])
            except PropertyError as failure:
                print(failure, file=sys.stderr, flush=True)
                row["failed_seeds"].append(row["next_seed"])
            row["next_seed"] += 1
            row["seconds"] += time.perf_counter() - start
            if time.monotonic() - saved > _SAVE_EVERY:
                write_state(path, state)
                saved = time.monotonic()
    finally:  # Ctrl-C too; an interrupted block is repeated
        write_state(path, state)
    return state


def as_table(chosen: Sequence[Property], state: State) -> str:
    """What was reached, as Markdown."""
    lines = ["| | property | examples | of | failures | µs each |", "|---|---|--:|--:|--:|--:|"]
    for each in chosen:
        row = state[each.name]
        pace = f"{row['seconds'] / row['examples'] * 1e6:.0f}" if row["examples"] else ""
        reached = f"{row['examples']:,} | {each.long:,} | {len(row['failed_seeds'])} | {pace}"
        lines.append(f"| {each.name} | {each.sentence} | {reached} |")
    return "\n".join(lines)


def repeat(each: Property, seed: int, path: Path) -> int:
    """One block again, with the failure in full; a success takes the seed off the list of failures."""
    try:
        each.run_block(seed)
    except PropertyError:
        traceback.print_exc()
        return 1
    state = read_state(path)
    if seed in state[each.name]["failed_seeds"]:
        state[each.name]["failed_seeds"].remove(seed)
        write_state(path, state)
    print(f"{each.name} holds for the {each.block} examples of seed {seed}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, report, and say by the exit status whether every property held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {' '.join(PROPERTIES)}")
    parser.add_argument(
        "--budget", type=float, default=float("inf"), help="seconds; default: until all counts are reached"
    )
    parser.add_argument("--seed", type=int, default=None, help="repeat the examples of this seed only")
    parser.add_argument("--state", type=Path, default=STATE, help="file with the next seeds")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in PROPERTIES]
    if unknown or (options.seed is not None and len(options.names) != 1):
        parser.error(f"accepted: {' '.join(PROPERTIES)}; one of them with --seed")
    chosen = [PROPERTIES[name] for name in options.names or PROPERTIES]
    if options.seed is not None:
        return repeat(chosen[0], options.seed, options.state)
    state = run(chosen, options.state, options.budget)
    print(as_table(chosen, state))
    return 1 if any(state[each.name]["failed_seeds"] for each in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
