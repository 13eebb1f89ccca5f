"""A picture of ratios: one line per row, ours over the fastest peer with its 95 % interval, and the targets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

COLOURS: Final = {1: "tab:blue", 2: "tab:orange"}
ELSEWHERE: Final = "tab:gray"


def bars(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of several runs that have a ratio, with the bound of the target against the fastest peer.

    >>> row = {"name": "add", "threads": 1, "best": "numpy", "to_best": {"median": 1.0}, "targets": []}
    >>> bars([{"benchmark": "elementwise", "rows": [row]}])[0]["label"]
    'elementwise: add'
    """
    found = []
    for document in documents:
        for row in document.get("rows", ()):
            if row["to_best"] is not None:
                bounds = [target["bound"] for target in row["targets"] if target["against"] in ("best", row["best"])]
                label = f"{document['benchmark']}: {row['name']}"
                bar = {"label": label, "threads": row["threads"], **row["to_best"]}
                found.append({**bar, "bound": bounds[0] if bounds else None})
    return found


def draw(files: Sequence[Path], to: Path) -> None:
    """Draw the rows of files that ``--json`` wrote; the suffix of ``to`` chooses the format."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    found = bars([json.loads(file.read_text(encoding="utf-8")) for file in files])
    labels = list(dict.fromkeys(bar["label"] for bar in found))
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.32 * len(labels)), layout="constrained")
    counts = sorted({bar["threads"] for bar in found})
    for bar in found:
        shift = 0.3 * (counts.index(bar["threads"]) + 0.5) / len(counts) - 0.15
        height = labels.index(bar["label"]) + shift
        colour = COLOURS.get(bar["threads"], ELSEWHERE)
        axes.plot([bar["low"], bar["high"]], [height, height], color=colour, linewidth=2)
        axes.plot(bar["median"], height, "o", color=colour, markersize=5)
        if bar["bound"] is not None:
            axes.plot(bar["bound"], height, "|", color="black", markersize=10, markeredgewidth=1.5)
    for count in counts:
        axes.plot([], [], "o-", color=COLOURS.get(count, ELSEWHERE), label=f"{count} thread{'s' * (count > 1)}")
    axes.plot([], [], "|", color="black", markersize=10, linestyle="none", label="target")
    axes.axvline(1.0, color="gray", linewidth=0.8)
    axes.set(xscale="log", xlabel="ours / fastest peer, 95 % interval; left is faster", yticks=range(len(labels)))
    axes.set_yticklabels(labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="x", which="both", linewidth=0.3)
    figure.legend(loc="outside upper right", ncols=len(counts) + 1)
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to)
    pyplot.close(figure)
