"""How far a first call goes: the Python functions that it calls, and the files that they stand in.

A call is cold when its shapes are new, while the modules it needs are imported and its notation was read before. Counts
do not depend on the machine, so a test holds them; ``python -m benchmarks.cold_calls`` prints them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import PurePath
from types import FrameType
from typing import Any, Final, NamedTuple

import tensor_linalg
import tensor_runtime as tr
from tensor_einsum import einsum, plan_cache

PACKAGES: Final = ("tensor_core", "tensor_runtime", "tensor_cpu", "tensor_einsum", "tensor_linalg")


class Way(NamedTuple):
    """What one call went through."""

    calls: int  # of Python functions, whatever package they belong to, comprehensions included
    files: Counter[str]  # of this project's packages: calls by file
    others: Counter[str]  # of the standard library and NumPy, and what they generate
    switches: int  # how often a call went to another file than the call before it


def way_of(call: Callable[[], Any]) -> Way:
    """Count what a call goes through.

    >>> way_of(lambda: len("")).calls
    1
    """
    seen: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_filename)

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(former)
    files: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for name in seen:
        short = _inside(name)
        if short:
            files[short] += 1
        else:
            others[PurePath(name).name] += 1
    switches = sum(one != other for one, other in pairwise(seen))
    return Way(len(seen), files, others, switches)


def _inside(file: str) -> str:
    """The path from the package's folder on; empty for a file of no package."""
    parts = PurePath(file).parts
    places = [
        place for place, part in enumerate(parts) if part in PACKAGES and parts[place - 1] in ("src", "site-packages")
    ]
    return "/".join(parts[places[-1] :]) if places else ""


def cold(function: Callable[..., Any], former: Sequence[tuple[int, ...]], shapes: Sequence[tuple[int, ...]]) -> Way:
    """What a call with operands of new shapes goes through, after one with operands of the former shapes.

    The caches are cleared before the first of the two, so that the count does not depend on what ran before.
    """
    tr.binding_cache.clear()
    plan_cache.clear()
    before, operands = ([tr.ones(shape) for shape in many] for many in (former, shapes))
    function(*before)
    return way_of(partial(function, *operands))


def ways() -> dict[str, Way]:
    """First calls, by what they compute."""
    two, three = partial(einsum, "ij,jk->ik"), partial(einsum, "ij,jk,kl->il")
    return {
        "einsum of two, 5×6 and 6×7": cold(two, [(2, 3), (3, 4)], [(5, 6), (6, 7)]),
        "einsum of two, 64×65 and 65×66": cold(two, [(80, 81), (81, 82)], [(64, 65), (65, 66)]),
        "einsum of three, 5×6, 6×7 and 7×8": cold(three, [(2, 3), (3, 4), (4, 5)], [(5, 6), (6, 7), (7, 8)]),
        "add, 5×6": cold(tr.add, [(2, 3), (2, 3)], [(5, 6), (5, 6)]),
        "svd, 5×6": cold(tensor_linalg.svd, [(2, 3)], [(5, 6)]),
    }


def as_markdown(found: dict[str, Way]) -> str:
    """The table of a run."""
    lines = ["| first call with new shapes | Python calls | files | switches |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {way.calls} | {len(way.files)} | {way.switches} |" for name, way in found.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    table = ways()
    print(as_markdown(table))
    for title, counted in table.items():
        print(f"\n{title}: {', '.join(f'{file} {calls}' for file, calls in counted.files.most_common())}")
        print(f"  besides: {', '.join(f'{file} {calls}' for file, calls in counted.others.most_common()) or 'nothing'}")
