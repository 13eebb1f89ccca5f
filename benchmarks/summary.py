"""Short tables of files that ``--json`` wrote: ours, the fastest peer, the ratios, and what became of the targets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.report import duration
from benchmarks.rows import BEST, LIMIT, OURS
from benchmarks.timing import Spread

_HEADER: Final = (
    "| row | threads | ours | best peer | ours/best | ours/limit | verdict |\n|---|--:|--:|--:|--:|--:|---|"
)


def tables(documents: Sequence[dict[str, Any]]) -> str:
    """One table per document, in Markdown.

    >>> row = {"name": "x + y", "threads": 1, "best": "numpy", "to_best": {"median": 0.5, "low": 0.4, "high": 0.6}}
    >>> row |= {"seconds": {"ours": [1e-3], "numpy": [2e-3]}, "targets": []}
    >>> print(tables([{"benchmark": "elementwise", "rows": [row]}]).splitlines()[-1])
    | x + y | 1 | 1 ms | numpy 2 ms | 0.50 (0.40–0.60) | – |  |
    """
    return "\n\n".join("\n".join(_table(document)) for document in documents)


def _table(document: dict[str, Any]) -> Iterator[str]:
    yield f"### {document['benchmark']}\n"
    yield _HEADER
    for row in document["rows"]:
        seconds, best = row["seconds"], row["best"]
        if not seconds.get(OURS):
            yield f"| {row['name']} | {row['threads']} | – | – | – | – | {row['missing'].get(OURS, 'not measured')} |"
            continue
        ratio, limit = "–", "–"
        if row["to_best"] is not None:
            ratio = str(Spread(**row["to_best"]))
        if seconds.get(LIMIT):
            limit = f"{median(seconds[OURS]) / median(seconds[LIMIT]):.2f}"
        peer = f"{best} {duration(median(seconds[best]))}" if best else "–"
        cells = [row["name"], str(row["threads"]), duration(median(seconds[OURS])), peer, ratio, limit]
        yield f"| {' | '.join(cells)} | {'; '.join(map(_said, row['targets']))} |"
    for group in document.get("groups", ()):
        said = f"{Spread(**group['mean'])}, target {group['bound']:g}: {group['verdict']}"
        yield f"\nGeometric mean of {group['group']}, {group['threads']} threads: {said}."


def _said(target: dict[str, Any]) -> str:
    forbidden = " (beyond the limit)" if target.get("beyond_limit") else ""
    ratio = "" if target["against"] in (BEST, LIMIT) else f"{Spread(**target['ratio'])} "
    return f"{target['verdict']}{forbidden}: {ratio}{target['against']} ≤ {target['bound']:g}"


def show(files: Sequence[Path]) -> None:
    """Print the tables of these files."""
    print(tables([json.loads(file.read_text(encoding="utf-8")) for file in files]))
