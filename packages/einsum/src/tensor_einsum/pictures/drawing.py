"""The picture of a plan: the contraction tree coloured by size, the memory of the intermediates, the work of each step.

The only module that imports matplotlib, inside `draw_plan`. It sees a plan as plain numbers (`tree`). An SVG file has a
tooltip for each marked node, and stays small: lines of one colour are one path.
"""

from __future__ import annotations

import io
import math
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from tensor_core.errors import TensorError
from tensor_core.formatting import readable_bytes
from tensor_einsum.pictures.tree import Tree, costliest, count_of, memory_over_steps, positions, totals, unit_of

FORMATS = (".svg", ".png", ".pdf")


MOST_MARKED: Final = 200  # nodes with a mark and a tooltip
MOST_LEAVES: Final = 300  # operands drawn; of larger trees every second, third, ...
MOST_STEPS: Final = 500  # along the axis of steps; of longer plans the largest of neighbours is drawn
_LONG: Final = 20_000  # characters of a path
_INK, _PALE = "#22303c", "#c9d1d9"
_STYLE: Final[Any] = {
    "svg.hashsalt": "ironstride",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    **dict.fromkeys(("axes.edgecolor", "text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
}


class PlotError(TensorError, ValueError):
    """A picture that cannot be drawn or written; the message says what is missing."""


def require_matplotlib() -> None:
    """Raise a `PlotError` that names the extra if matplotlib is missing.

    >>> require_matplotlib()
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PlotError("a picture needs matplotlib; install it with: pip install 'ironstride[plot]'") from None


def draw_plan(tree: Tree, title: str, file: Path) -> None:
    """Draw `tree` into `file`, whose ending gives the format; the file appears whole or not at all.

    The same plan gives the same SVG file, byte for byte, for one version of matplotlib.

    >>> file = Path(tempfile.mkdtemp()) / "plan.svg"
    >>> draw_plan(Tree(2, ((0, 1),), (6, 12, 8), (48, 96, 64), (48,), ("ij,jk->ik",)), "a product", file)
    >>> file.read_text(encoding="utf-8").startswith("<?xml")
    True
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    history = memory_over_steps(tree)
    # Figure without pyplot: no window system is looked for, and nothing global changes but inside this context.
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(11, 10), layout="constrained")
        FigureCanvasAgg(figure)
        layout: Any = figure.get_layout_engine()
        layout.set(rect=(0, 0, 1, 0.93), hspace=0.04)
        figure.text(0.012, 0.985, title, fontsize=16, fontweight="bold", va="top")
        figure.text(0.012, 0.953, totals(tree, history), fontsize=10.5, va="top")
        upper, middle, lower = figure.subplots(3, 1, height_ratios=(5, 1.6, 1.2))
        tips = _draw_tree(figure, upper, tree)
        _draw_memory(middle, tree, history)
        _draw_work(lower, tree)
        _save(figure, file, tips)


def _draw_tree(figure: Any, axes: Any, tree: Tree) -> list[str]:
    """Draw it and return what the tooltips of its marked nodes say, in the order in which they are drawn."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline
    from matplotlib.ticker import MaxNLocator

    place = positions(tree)
    levels = [count.bit_length() - 1 if count else 0 for count in tree.elements]  # floor of log2
    top = max(*levels, 1)
    map_of = matplotlib.colormaps["viridis_r"]
    colours = [map_of(0.08 + 0.92 * level / top) for level in range(top + 1)]
    thin = -(-tree.operands // MOST_LEAVES)
    ends: dict[int, list[tuple[float, float]]] = {}
    for number, inputs in enumerate(tree.steps):
        for node in inputs:
            if node >= tree.operands or int(place[node][0]) % thin == 0:
                ends.setdefault(levels[node] * 2 + (node < tree.operands), []).extend(
                    (place[node], place[tree.operands + number])
                )
    for key, points in sorted(ends.items()):
        outline = Outline(points, [Outline.MOVETO, Outline.LINETO] * (len(points) // 2))
        level, leaf = divmod(key, 2)
        width = (0.5 if tree.operands > 100 else 0.8) if leaf else 0.9 + 1.6 * level / top
        axes.add_patch(PathPatch(outline, fill=False, edgecolor=colours[level], linewidth=width, zorder=1))

    marked = sorted(range(tree.operands, len(place)), key=lambda node: (-tree.elements[node], node))[:MOST_MARKED]
    marked = sorted({*marked, *(tree.operands + step for step in costliest(tree))})
    if tree.operands <= 100:
        marked = [*range(tree.operands), *marked]
    if marked:
        points = axes.scatter(
            [place[node][0] for node in marked],
            [place[node][1] for node in marked],
            c=[colours[levels[node]] for node in marked],
            s=14 if len(marked) > 150 else 26,
            edgecolors="white",
            linewidths=0.5,
            zorder=2,
        )
        points.set_gid("nodes")
    _label_costliest(axes, tree, place)
    norm = BoundaryNorm([level - 0.5 for level in range(top + 2)], top + 1)
    bar = figure.colorbar(
        ScalarMappable(norm, ListedColormap(colours)), ax=axes, label="elements of a tensor", pad=0.01
    )
    bar.ax.yaxis.set_major_formatter(_powers(2))
    bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    every = f"; one operand of {thin} drawn" if thin > 1 else ""
    axes.set(title=f"Contraction tree{every}", ylabel="steps above the operands", xticks=[])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines["bottom"].set_visible(False)
    axes.margins(x=0.02, y=0.06)
    axes.autoscale_view()
    return [_tip(tree, node) for node in marked]


def _tip(tree: Tree, node: int) -> str:
    size = f"{count_of(tree.elements[node])} elements, {readable_bytes(tree.nbytes[node])}"
    if node < tree.operands:
        return f"operand {node}: {size}"
    step = node - tree.operands
    text = f"{tree.texts[step]}\n" if tree.texts else ""
    return f"step {step}: {text}{size}" + (f", {count_of(tree.flops[step])} flops" if tree.flops else "")


def _label_costliest(axes: Any, tree: Tree, place: Sequence[tuple[float, float]]) -> None:
    """Number the steps that take most of the flops, and say their shares in the emptier upper corner."""
    total, steps = sum(tree.flops), costliest(tree)
    if not steps:
        return
    high = 0.65 * max(up for _, up in place)
    right = sum(2 * across > tree.operands for across, up in place if up > high)
    left = sum(2 * across <= tree.operands for across, up in place if up > high)
    lines = ["of all flops"]
    for rank, step in enumerate(steps, 1):
        lines.append(f"{rank}   step {step}   {(100 * tree.flops[step] + total // 2) // total} %")
        axes.annotate(
            str(rank),
            place[tree.operands + step],
            xytext=(-9, 8),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8,
            color="white",
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": _INK, "edgecolor": "none"},
            zorder=3,
        )
    axes.text(
        0.015 if left <= right else 0.985,
        0.97,
        "\n".join(lines),
        transform=axes.transAxes,
        ha="left" if left <= right else "right",
        va="top",
        fontsize=9,
        linespacing=1.5,
        bbox={"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": _PALE, "alpha": 0.9},
        zorder=4,
    )


def _powers(base: int) -> Any:
    """What writes the ticks of an axis of exponents."""
    from matplotlib.ticker import FuncFormatter

    raised = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
    return FuncFormatter(lambda exponent, _: f"{base}{str(round(exponent)).translate(raised)}")


def _by_steps(values: Sequence[int]) -> tuple[list[int], list[int]]:
    """Edges along the axis of steps and the largest of the values between each two.

    >>> _by_steps([3, 1, 2])
    ([0, 1, 2, 3], [3, 1, 2])
    """
    width = max(1, -(-len(values) // MOST_STEPS))
    edges = [*range(0, len(values), width), len(values)]
    return edges, [max(values[low:high]) for low, high in pairwise(edges)]


def _draw_memory(axes: Any, tree: Tree, history: Sequence[int]) -> None:
    unit, name = unit_of(max([*history, tree.limit or 0]))
    peak = max(history, default=0)
    if history:
        edges, values = _by_steps(history)
        axes.stairs([value / unit for value in values], edges, fill=True, color="#31688e", alpha=0.35)
        axes.stairs([value / unit for value in values], edges, color="#31688e", linewidth=1.1)
        at = history.index(peak)
        axes.plot([at + 0.5], [peak / unit], "o", color="#b5283c", markersize=5, zorder=3)
        late = at > 0.6 * len(history)
        axes.annotate(
            f"peak {readable_bytes(peak)}, step {at}",
            (at + 0.5, peak / unit),
            xytext=(-8 if late else 8, 4),
            textcoords="offset points",
            ha="right" if late else "left",
            color="#b5283c",
            fontsize=9,
        )
    if tree.limit is not None:
        axes.axhline(tree.limit / unit, color=_INK, linestyle=(0, (4, 3)), linewidth=1)
        axes.annotate(
            f"limit {readable_bytes(tree.limit)}",
            (0.005, tree.limit / unit),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=9,
        )
    axes.set(title="Memory of the intermediates", ylabel=name)
    axes.set_ylim(0, 1.25 * max(peak, tree.limit or 0, 1) / unit)
    _step_axis(axes, len(history))


def _draw_work(axes: Any, tree: Tree) -> None:
    if tree.flops:
        edges, values = _by_steps(tree.flops)
        powers = [math.log10(value) if value > 0 else 0.0 for value in values]
        axes.stairs(powers, edges, fill=True, color="#35b779", alpha=0.45)
        for step in costliest(tree):
            axes.plot([step + 0.5], [math.log10(tree.flops[step])], "v", color=_INK, markersize=5, zorder=3)
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    axes.yaxis.set_major_formatter(_powers(10))
    axes.set(title="Work of each step", ylabel="flops", xlabel="step")
    axes.set_ylim(bottom=0)
    axes.margins(y=0.15)
    _step_axis(axes, len(tree.steps))


def _step_axis(axes: Any, steps: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(0, max(steps, 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    axes.grid(axis="y", color=_PALE, linewidth=0.6)
    axes.set_axisbelow(True)


def _with_tips(svg: str, tips: Sequence[str]) -> str:
    """The SVG text with a tooltip in each marked node, coordinates to a tenth of a point; long paths to a whole one."""
    svg = re.sub(r"(\d\.\d)\d+", r"\1", svg)
    svg = re.sub(rf'd="[^"]{{{_LONG},}}"', lambda path: re.sub(r"\.\d|\n", "", path[0]), svg)
    start = svg.find('<g id="nodes">')
    if start < 0:
        return svg
    waiting: Iterator[str] = iter(tips)

    def tipped(match: re.Match[str]) -> str:
        tip = next(waiting, None)
        return match[0] if tip is None else f"<use {match[1]}><title>{escape(tip)}</title></use>"

    return svg[:start] + re.sub(r"<use ([^>]*?)/>", tipped, svg[start:])


def _save(figure: Any, file: Path, tips: Sequence[str]) -> None:
    ending = file.suffix.lower()[1:]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}[ending]
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as target:
            picture = io.BytesIO()
            figure.savefig(picture, format=ending, metadata=undated, dpi=130)
            content = picture.getvalue()
            target.write(_with_tips(content.decode(), tips).encode() if ending == "svg" else content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes files that only their owner may read
        os.replace(name, file)
    except OSError as error:
        raise PlotError(f"plot: {file}: {error.strerror or error}") from None
    finally:
        Path(name).unlink(missing_ok=True)
