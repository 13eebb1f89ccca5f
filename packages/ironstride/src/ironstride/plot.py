"""The picture of a plan: the contraction tree coloured by size, and the memory of the intermediates over the steps.

The only module that imports matplotlib, inside `draw_plan`. It sees a plan as plain numbers: which nodes each step
joins, and how many elements and bytes each node has. Nodes 0 to n - 1 are the operands, node n + k is the result of
step k.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensor_core.errors import TensorError

FORMATS = (".svg", ".png", ".pdf")


class PlotError(TensorError, ValueError):
    """A picture that cannot be drawn or written; the message says what is missing."""


@dataclass(frozen=True)
class Tree:
    """A plan as numbers: `steps[k]` lists the nodes joined by step k; `elements` and `nbytes` go by node."""

    operands: int
    steps: tuple[tuple[int, ...], ...]
    elements: tuple[int, ...]
    nbytes: tuple[int, ...]


def memory_over_steps(tree: Tree) -> list[int]:
    """Bytes of all intermediates alive while each step runs, its own result included; operands are not counted.

    >>> memory_over_steps(Tree(3, ((0, 1), (2, 3)), (4, 4, 4, 8, 1), (32, 32, 32, 64, 8)))
    [64, 72]
    """
    alive, history = 0, []
    for number, inputs in enumerate(tree.steps):
        alive += tree.nbytes[tree.operands + number]
        history.append(alive)
        alive -= sum(tree.nbytes[node] for node in inputs if node >= tree.operands)
    return history


def positions(tree: Tree) -> list[tuple[float, float]]:
    """Where each node is drawn: operands side by side at height 0, a result above the middle of what it joins.

    Heights are distances to the farthest operand below, so time runs upwards. No recursion: a sweep over a lattice
    makes a tree as deep as it has operands.

    >>> positions(Tree(3, ((0, 2), (1, 3)), (1,) * 5, (8,) * 5))
    [(1.0, 0.0), (0.0, 0.0), (2.0, 0.0), (1.5, 1.0), (0.75, 2.0)]
    """
    count = tree.operands + len(tree.steps)
    joined = {node for inputs in tree.steps for node in inputs}
    waiting = [node for node in range(count) if node not in joined]
    place: dict[int, tuple[float, float]] = {}
    while waiting:
        node = waiting.pop()
        if node < tree.operands:
            place[node] = (float(len(place)), 0.0)
        else:
            waiting.extend(reversed(tree.steps[node - tree.operands]))
    for number, inputs in enumerate(tree.steps):
        across = sum(place[node][0] for node in inputs) / len(inputs)
        place[tree.operands + number] = (across, 1.0 + max(place[node][1] for node in inputs))
    return [place[node] for node in range(count)]


def require_matplotlib() -> None:
    """Raise a `PlotError` that names the extra if matplotlib is missing.

    >>> require_matplotlib()
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PlotError("--plot needs matplotlib; install it with: pip install 'ironstride[plot]'") from None


def draw_plan(tree: Tree, title: str, file: Path) -> None:
    """Draw `tree` into `file`, whose ending gives the format; the file appears whole or not at all.

    The same plan gives the same SVG file, byte for byte, for one version of matplotlib.

    >>> file = Path(tempfile.mkdtemp()) / "plan.svg"
    >>> draw_plan(Tree(2, ((0, 1),), (6, 12, 8), (48, 96, 64)), "a product", file)
    >>> file.read_text(encoding="utf-8").startswith("<?xml")
    True
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Figure without pyplot: no window system is looked for, and nothing global changes but inside this context.
    with matplotlib.rc_context({"svg.hashsalt": "ironstride", "svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(11, 8), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(title)
        upper, lower = figure.subplots(2, 1, height_ratios=(3, 1))
        _draw_tree(figure, upper, tree)
        _draw_memory(lower, memory_over_steps(tree))
        _save(figure, file)


def _draw_tree(figure: Any, axes: Any, tree: Tree) -> None:
    from matplotlib.collections import LineCollection

    place = positions(tree)
    sizes = [math.log2(count) if count else 0.0 for count in tree.elements]
    ends = [(node, tree.operands + number) for number, inputs in enumerate(tree.steps) for node in inputs]
    limits = {"cmap": "viridis", "clim": (0.0, max(*sizes, 1.0))}
    lines = LineCollection([(place[low], place[high]) for low, high in ends], linewidths=0.8, zorder=1, **limits)
    lines.set_array([sizes[low] for low, _ in ends])
    axes.add_collection(lines)
    axes.scatter(
        [across for across, _ in place],
        [up for _, up in place],
        c=sizes,
        s=[4 + size * size / 4 for size in sizes],
        cmap="viridis",
        vmin=0.0,
        vmax=limits["clim"][1],
        zorder=2,
    )
    figure.colorbar(lines, ax=axes, label="log2 of elements")
    axes.set(title="Contraction tree", ylabel="steps above the operands", xticks=[])
    axes.margins(0.02)


def _draw_memory(axes: Any, history: Sequence[int]) -> None:
    mebibytes = [count / 2**20 for count in history]
    edges = range(len(history) + 1)
    axes.stairs(mebibytes, edges, fill=True, color="tab:blue", alpha=0.4)
    axes.stairs(mebibytes, edges, color="tab:blue")
    axes.set(title="Memory of the intermediates", xlabel="step", ylabel="MiB", xlim=(0, max(len(history), 1)))
    axes.set_ylim(bottom=0)


def _save(figure: Any, file: Path) -> None:
    ending = file.suffix.lower()[1:]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}[ending]
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as target:
            figure.savefig(target, format=ending, metadata=undated)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes files that only their owner may read
        os.replace(name, file)
    except OSError as error:
        raise PlotError(f"--plot {file}: {error.strerror or error}") from None
    finally:
        Path(name).unlink(missing_ok=True)
