"""What sections say: lines of Markdown, and a verdict on each thing that was looked at; a failure ends no other one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from gpu_reporting.subject import NotRunError, Subject

HELD: Final = "held"
FAILED: Final = "FAILED"
NOT_RUN: Final = "not run"
MET: Final = "met"
SHORT: Final = "short"
OPEN: Final = "open"
ALL: Final = (HELD, FAILED, NOT_RUN, MET, SHORT, OPEN)
"""Of things that hold or not; and of times: met or short of what is accepted, or open where nobody compares."""
MOST: Final = 600  # characters of what an error says


class Told(NamedTuple):
    """What a section says, and how often it came to each verdict."""

    lines: list[str]
    verdicts: Counter[str]


class Item(NamedTuple):
    """One thing that is looked at: its name, and what says what was found, or raises."""

    name: str
    look: Callable[[Subject], str]


def judged(item: Item, subject: Subject, /) -> tuple[str, str]:
    """The verdict on an item, and what is to be said of it.

    >>> judged(Item("sums", lambda subject: "1 + 1 is 2"), Subject("sim", False))
    ('held', '1 + 1 is 2')
    >>> judged(Item("quotients", lambda subject: str(1 // 0)), Subject("sim", False))
    ('FAILED', 'ZeroDivisionError: integer division or modulo by zero')
    """
    try:
        return HELD, item.look(subject)
    except NotRunError as reason:
        return NOT_RUN, str(reason)
    except Exception as error:  # it is told in its row, and the others still run
        return FAILED, f"{type(error).__name__}: {error}"


def told(subject: Subject, items: Sequence[Item], /) -> Told:
    """A row for each item, whatever becomes of the others; what the time does not reach is not run.

    >>> told(Subject("sim", False), [Item("nothing", lambda subject: str(1 // 0))]).verdicts
    Counter({'FAILED': 1})
    >>> told(Subject("sim", False, end=0.0), [Item("nothing", lambda subject: str(1 // 0))]).verdicts
    Counter({'not run': 1})
    """
    lines, verdicts = ["| what | verdict | found | seconds |", "|---|---|---|--:|"], Counter[str]()
    for item in items:
        start = time.monotonic()
        verdict, found = judged(item, subject) if start < subject.end else (NOT_RUN, "no time was left")
        verdicts[verdict] += 1
        lines.append(f"| {item.name} | {verdict} | {in_cell(found)} | {time.monotonic() - start:.1f} |")
    return Told(lines, verdicts)


def in_cell(text: str, /) -> str:
    r"""Text for one cell of a table, cut where it is long.

    >>> in_cell("a | b, and\nmore")
    'a \\| b, and more'
    """
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= MOST else f"{line[:MOST]} …"


def summary(sections: Sequence[tuple[str, Counter[str]]], /) -> list[str]:
    """A table of the verdicts of all sections.

    >>> summary([("Streams", Counter(held=3))])[-1]
    '| Streams | 3 | – | – | – | – | – |'
    """
    rows = [f"| {name} | {' | '.join(str(found[one] or '–') for one in ALL)} |" for name, found in sections]
    return [f"| section | {' | '.join(ALL)} |", f"|---|{'--:|' * len(ALL)}", *rows]
