"""Send tensors of every dtype and layout by every format and protocol, and print what arrives as a page in Markdown.

What arrives must have the dtype, the shape and every bit of what was sent; the other side is always another library.
For what is refused or arrives as something else, the page has the reason.

Usage: ``python tools/round_trips.py``; ``--memory`` leaves out the files. PyTorch and JAX take part if installed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from platform import machine, python_version, python_version_tuple
from typing import Final, Literal, NamedTuple

import numpy as np

from crossings import file_formats, protocols
from crossings.samples import LAYOUTS, Array, Folder, Sample, Way, samples
from tensor_core.dtypes import DTYPES

Direction = Literal["out", "in", "again"]
LIBRARIES: Final = ("numpy", "scipy", "h5py", "safetensors", "zarr", "torch", "jax")
HEAD: Final = """# Round trips

Written by `python tools/round_trips.py`; the last table by `python3.12 tools/round_trips.py --memory`, because
objects that are written in Python lend a buffer from Python 3.12 on.

Seven dtypes ({dtypes}), each of rank 0, empty, owned, reversed (negative strides) and offset (a slice): 35
tensors, by every way, in both directions. The elements are signed zeros, infinities, NaN, subnormal numbers and
the largest and smallest integers. A number counts the tensors that arrive with the same dtype, the same shape and
the same bits; the other side is the library named, never ours. Below each table stands what is refused or arrives
as something else, and why.
"""


class Outcome(NamedTuple):
    """What became of one sample; an empty reason is a success."""

    way: Way
    direction: Direction
    sample: Sample
    reason: str
    shared: bool = False


def outcomes(ways: Iterable[Way], sent: Sequence[Sample]) -> list[Outcome]:
    """Every sample by every way, in each direction."""
    return [one for way in ways for sample in sent for one in _sent(way, sample)]


def _sent(way: Way, sample: Sample) -> Iterable[Outcome]:
    x = sample.tensor()
    expected = way.becomes(sample.array)

    def given() -> tuple[Array, Array]:
        found = way.give(sample, x)
        return found, sample.array if "host tensor" in way.name else x.buffer.array

    def taken() -> tuple[Array, Array | None]:
        tensor, memory = way.take(sample)
        return np.asarray(tensor), memory

    again = way.again
    directions: list[tuple[Direction, Callable[[], tuple[Array, Array | None]]]] = [("out", given), ("in", taken)]
    if again is not None:
        directions.append(("again", lambda: (np.asarray(again(sample, x)), None)))
    for direction, send in directions:
        try:
            found, memory = send()
        except Exception as error:  # whatever either side refuses with is the reason
            yield Outcome(way, direction, sample, f"{type(error).__name__}: {error}")
            continue
        reason = ""
        if (found.dtype, found.shape) != (expected.dtype, expected.shape):
            reason = f"arrives as {found.dtype.name} {found.shape}"
        elif found.tobytes() != expected.tobytes():
            reason = "arrives with other elements"
        yield Outcome(way, direction, sample, reason, memory is not None and np.shares_memory(found, memory))


def table(found: Sequence[Outcome], heads: dict[Direction, str], share: bool) -> list[str]:
    """Lines of a table with a row for each way, and of what did not arrive."""
    columns = ["way", "with", *heads.values(), *(["shares memory, out and in"] if share else [])]
    lines = ["", f"| {' | '.join(columns)} |", f"|---|---|{'--:|' * (len(columns) - 2)}"]
    for way, group in groupby(found, key=lambda one: one.way):
        rows = list(group)
        cells = [way.name, way.partner]
        for direction in heads:
            one = [row for row in rows if row.direction == direction]
            cells.append(f"{sum(not row.reason for row in one)} of {len(one)}")
        if share:
            counts = (sum(row.shared for row in rows if row.direction == direction) for direction in heads)
            cells.append(", ".join(map(str, counts)))
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", *_reasons(found, heads)]


def _reasons(found: Sequence[Outcome], heads: dict[Direction, str]) -> list[str]:
    """What did not arrive, one line for each reason of each way."""
    lines: list[str] = []
    for way, group in groupby((one for one in found if one.reason and one.direction in heads), key=lambda one: one.way):
        reasons: dict[str, list[Outcome]] = {}
        for one in group:
            reasons.setdefault(one.reason, []).append(one)
        for reason, those in reasons.items():
            parts = [head for key, head in heads.items() if any(one.direction == key for one in those)]
            what = "every direction" if len(parts) == len(heads) else "; ".join(parts)
            lines.append(f"- {way.name} with {way.partner} ({what}), {_which(those)}: {_plain(reason)}")
    return lines or ["Nothing is refused."]


def _which(those: Sequence[Outcome]) -> str:
    """The samples of some outcomes, in few words."""
    pairs = {(one.sample.dtype, one.sample.layout) for one in those}
    dtypes = [dtype.name for dtype in DTYPES if any(dtype is one for one, _ in pairs)]
    layouts = [layout for layout in LAYOUTS if any(layout == one for _, one in pairs)]
    shown = ", ".join(dtypes) if len(dtypes) < len(DTYPES) else "every dtype"
    return shown if len(layouts) == len(LAYOUTS) else f"{shown}, {' and '.join(layouts)}"


def _plain(reason: str) -> str:
    text = " ".join(reason.split()).replace("`", "'").rstrip(".")
    return f"`{text if len(text) <= 200 else f'{text[:196]} ...'}`"


def page() -> str:
    """The whole page but for the table of a newer Python."""
    with tempfile.TemporaryDirectory() as folder:
        files = outcomes(file_formats.ways(Folder(Path(folder))), list(samples()))
    lines = [HEAD.format(dtypes=", ".join(dtype.name for dtype in DTYPES)), "## Files", ""]
    lines += [
        f"{_count(files)}, on {_where()}.",
        "MATLAB has no rank below 2: a number arrives as 1×1, which counts.",
        "Its version 7.3 has no empty complex variables: in ours an attribute says so, which others pass over.",
    ]
    lines += table(files, {"out": "ours, read by them", "in": "theirs, read by us", "again": "ours, read by us"}, False)
    return "\n".join([*lines, "", memory_section()])


def memory_section() -> str:
    """What is exchanged in memory."""
    found = outcomes(protocols.ways(), list(samples()))
    lines = [f"## In memory, Python {'.'.join(python_version_tuple()[:2])}", "", f"{_count(found)}, on {_where()}."]
    lines += ["Of each 35, 28 have elements, so that memory can be shared."]
    lines += ["JAX shares what is aligned as it likes, so its counts vary."]
    return "\n".join([*lines, *table(found, {"out": "to them", "in": "to us"}, True)])


def _where() -> str:
    return f"{machine()}, Python {python_version()}, {', '.join(map(_version, LIBRARIES))}"


def _count(found: Sequence[Outcome]) -> str:
    return f"{sum(not one.reason for one in found):,} of {len(found):,} trips arrive"


def _version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"


if __name__ == "__main__":
    print(memory_section() if sys.argv[1:] == ["--memory"] else page())
