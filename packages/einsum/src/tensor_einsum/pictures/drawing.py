"""The picture of a plan: the contraction tree coloured by size, the memory that is taken, the work of each step.

The only module that imports matplotlib, when a picture is drawn. It sees a plan as plain numbers (`tree`). An SVG file
has a tooltip for each marked node, and stays below 200 KB, whatever the plan: marks, branches, colours, places along
the axes and the bytes of a tooltip are bounded, and lines of one colour are one path.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tensor_core.errors import ArgumentError, shortened
from tensor_core.files.atomic_write import write_atomically
from tensor_core.formatting import readable_bytes
from tensor_einsum.errors import PlotError
from tensor_einsum.pictures.svg import with_tips
from tensor_einsum.pictures.tree import (
    Tree,
    branches,
    by_steps,
    costliest,
    count_of,
    execution_order,
    memory_over_steps,
    positions,
    raised,
    totals,
    tree_of,
    unit_of,
    with_workspaces,
)
from tensor_einsum.search.options import bytes_of
from tensor_runtime.dispatch.arguments import file_name

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

FORMATS = (".svg", ".png", ".pdf")


MOST_MARKED: Final = 200  # nodes with a mark and a tooltip
MOST_LEAVES: Final = 300  # operands drawn; of larger trees every second, third, ...
MOST_BRANCHES: Final = 800  # of larger trees those that join what is marked and the operands that are drawn
MOST_COLOURS: Final = 64  # sizes that are told apart
_TITLE: Final = 80  # characters
INK, _PALE = "#22303c", "#c9d1d9"
STYLE: Final[Any] = {
    "svg.hashsalt": "ironstride",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    **dict.fromkeys(("axes.edgecolor", "text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
}


def require_matplotlib() -> None:
    """Raise a `PlotError` that names the extra if matplotlib is missing.

    >>> require_matplotlib()
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PlotError(
            "a picture needs matplotlib; install it with: pip install 'ironstride-tensor-einsum[plot]'"
        ) from None


def draw_plan(tree: Tree, title: str, file: Path) -> None:
    """Draw `tree` into `file`, whose ending gives the format; the file appears whole or not at all.

    The same plan gives the same SVG file, byte for byte, for one version of matplotlib.

    Raises:
        SaveError: the file cannot be written.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "plan.svg"
    >>> draw_plan(Tree(2, ((0, 1),), (6, 12, 8), (48, 96, 64), (48,), ("ij,jk->ik",)), "a product", file)
    >>> file.read_text(encoding="utf-8").startswith("<?xml")
    True
    """
    write_atomically(str(file), [drawn(tree, title, file.suffix.lower()[1:])])


def plot_plan(plan: Plan, file: Any, title: Any, memory_limit: Any) -> None:
    """Check what a user asks of :meth:`Plan.plot`, and draw it.

    >>> from tensor_einsum import plan
    >>> plot_plan(plan("i->", (2,)), "plan.jpg", None, None)
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: plot: the file is 'plan.jpg'; accepted: names that end with .svg, .png, .pdf
    """
    name = Path(file_name("plot", "file", file))
    if name.suffix.lower() not in FORMATS:
        raise ArgumentError(
            f"plot: the file is {shortened(str(name))}; accepted: names that end with {', '.join(FORMATS)}",
            operation="plot",
        )
    if title is not None and not isinstance(title, str):
        raise ArgumentError(f"plot: title is {shortened(title)}; accepted: a string, or None", operation="plot")
    limit = None if memory_limit is None else bytes_of("plot", memory_limit)
    require_matplotlib()
    draw_plan(tree_of(plan, limit), plan.notation if title is None else title, name)


def inline_svg(tree: Tree, title: str) -> str:
    """The picture as an element of a page: as wide as there is room, without names that two of them would share.

    >>> picture = inline_svg(Tree(2, ((0, 1),), (6, 12, 8), (48, 96, 64), (48,), ("ij,jk->ik",)), "a product")
    >>> picture[:4], "<style" in picture, "48 flops" in picture
    ('<svg', False, True)
    """
    svg = drawn(tree, title, "svg").decode()
    svg = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    used = {*re.findall(r"#(\w+)", svg)}  # which are made of hashes; others would be those of any two pictures
    svg = re.sub(r' id="([^"]+)"', lambda name: name[0] if name[1] in used else "", svg)
    style = "max-width:100%;height:auto;background:white;stroke-linejoin:round;stroke-linecap:butt"
    return svg.replace("<svg ", f'<svg style="{style}" ', 1).strip()


def drawn(tree: Tree, title: str, ending: str) -> bytes:
    """A picture file, in one of the formats.

    >>> drawn(Tree(1, (), (6,), (48,)), "one operand", "png")[1:4]
    b'PNG'
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    history = memory_over_steps(tree)
    taken = with_workspaces(tree, history)
    undated: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}[ending]
    # Figure without pyplot: no window system is looked for, and nothing global changes but inside these contexts.
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # who reads it may have a font that has it
        figure = Figure(figsize=(11, 10), layout="constrained")
        FigureCanvasAgg(figure)
        layout: Any = figure.get_layout_engine()
        layout.set(rect=(0, 0, 1, 0.93), hspace=0.04)
        figure.text(0.012, 0.985, _shortened(title), fontsize=16, fontweight="bold", va="top")
        figure.text(0.012, 0.953, totals(tree, max(taken, default=0)), fontsize=10.5, va="top")
        upper, middle, lower = figure.subplots(3, 1, height_ratios=(5, 1.6, 1.2))
        tips = _draw_tree(figure, upper, tree)
        _draw_memory(middle, tree, history, taken)
        _draw_work(lower, tree)
        picture = io.BytesIO()
        figure.savefig(picture, format=ending, metadata=undated, dpi=130)
    content = picture.getvalue()
    return with_tips(content.decode(), tips).encode() if ending == "svg" else content


def _shortened(title: str) -> str:
    text = " ".join("".join(c if c.isprintable() else "?" for c in title).split())
    return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"


def _draw_tree(figure: Any, axes: Any, tree: Tree) -> list[str]:
    """Draw it and return what the tooltips of its marked nodes say, in the order in which they are drawn."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline
    from matplotlib.ticker import MaxNLocator

    place = positions(tree)
    sizes = [count.bit_length() - 1 if count else 0 for count in tree.elements]  # floor of log2
    apart = max(sizes) // MOST_COLOURS + 1
    levels = [size // apart for size in sizes]
    top = max(*levels, 1)
    map_of = matplotlib.colormaps["viridis_r"]
    colours = [map_of(0.08 + 0.92 * level / top) for level in range(top + 1)]
    marked = sorted(range(tree.operands, len(place)), key=lambda node: (-tree.elements[node], node))[:MOST_MARKED]
    marked = sorted({*marked, *(tree.operands + step for step in costliest(tree))})
    if tree.operands <= 100:
        marked = [*range(tree.operands), *marked]
    thin = -(-tree.operands // MOST_LEAVES)
    kept = {node for node in range(tree.operands) if int(place[node][0]) % thin == 0}
    few = len(kept) + len(tree.steps) <= MOST_BRANCHES
    kept.update(range(tree.operands, len(place)) if few else marked)
    ends: dict[int, list[tuple[float, float]]] = {}
    for above, below, level, leaf in branches(tree, levels, kept):
        # Across at the height of the step, then down: so no two branches cross.
        corner = (place[below][0], place[above][1])
        ends.setdefault(level * 2 + leaf, []).extend((place[above], corner, place[below]))
    for key, points in sorted(ends.items()):
        outline = Outline(points, [Outline.MOVETO, Outline.LINETO, Outline.LINETO] * (len(points) // 3))
        level, of_leaf = divmod(key, 2)
        width = (0.5 if tree.operands > 100 else 0.8) if of_leaf else 0.9 + 1.6 * level / top
        axes.add_patch(
            PathPatch(outline, fill=False, edgecolor=colours[level], linewidth=width, joinstyle="round", zorder=1)
        )

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
    norm = BoundaryNorm([apart * level - 0.5 for level in range(top + 2)], top + 1)
    bar = figure.colorbar(
        ScalarMappable(norm, ListedColormap(colours)), ax=axes, label="elements of a tensor", pad=0.01
    )
    bar.ax.yaxis.set_major_formatter(_powers(2))
    bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    every = f"one operand of {thin} is drawn{'' if few else ', with what joins them'}" if thin > 1 else ""
    axes.set(title="Contraction tree", xlabel=every, ylabel="steps above the operands", xticks=[])
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
    """Number the steps that take most of the flops, and say their shares above the tree."""
    total, shares = sum(tree.flops), []
    for rank, step in enumerate(costliest(tree), 1):
        shares.append(f"{rank}: step {step}, {(100 * tree.flops[step] + total // 2) // total} %")
        axes.annotate(
            str(rank),
            place[tree.operands + step],
            xytext=(-9, 8),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8,
            color="white",
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": INK, "edgecolor": "none"},
            zorder=3,
        )
    if shares:
        axes.set_title(f"of all flops   {'    '.join(shares)}", loc="right", fontsize=9, fontweight="normal")


def _powers(base: int) -> Any:
    """What writes the ticks of an axis of exponents."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda exponent, _: f"{base}{raised(round(exponent))}")


_PLATE: Final = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
"""Under text that may lie on a curve."""


def _draw_memory(axes: Any, tree: Tree, history: Sequence[int], taken: Sequence[int]) -> None:
    from matplotlib.ticker import MaxNLocator

    unit, name = unit_of(max([*taken, tree.limit or 0]))
    order = execution_order(tree)
    peak = max(taken, default=0)
    parts = ["intermediates", *(["the result"] if tree.result else [])]
    if history:
        edges, values = by_steps([history[step] for step in order])
        if taken != history:
            parts.append("workspaces of kernels (yellow)")
            _, most = by_steps([taken[step] for step in order])
            axes.stairs([value / unit for value in most], edges, fill=True, color="#e6b450")
        axes.stairs([value / unit for value in values], edges, fill=True, color="#a9c1d3")
        axes.stairs([value / unit for value in values], edges, color="#31688e", linewidth=1.1)
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if parts[1:] else parts[0]
    axes.set(title=f"Memory of {listed}", ylabel=name)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=unit == 1))
    axes.set_ylim(0, 1.3 * (max(peak, tree.limit or 0, 1) / unit))
    _step_axis(axes, tree)
    at = next((place for place, step in enumerate(order) if taken[step] == peak), 0)
    late = at > 0.6 * len(history)
    if tree.limit is not None:
        axes.axhline(tree.limit / unit, color=INK, linestyle=(0, (4, 3)), linewidth=1)
        axes.annotate(
            f"limit {readable_bytes(tree.limit)}",
            (0.005 if late else 0.995, tree.limit / unit),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="left" if late else "right",
            fontsize=9,
            bbox=_PLATE,
        )
    if history:
        near = tree.limit is not None and 4 * peak <= 4 * tree.limit <= 5 * peak  # then the text stands above it
        axes.plot([at + 0.5], [peak / unit], "o", color="#b5283c", markersize=5, zorder=3)
        axes.annotate(
            f"peak {readable_bytes(peak)}, step {order[at]}",
            (at + 0.5, (tree.limit if near and tree.limit else peak) / unit),
            xytext=(-8 if late else 8, 4),
            textcoords="offset points",
            ha="right" if late else "left",
            color="#b5283c",
            fontsize=9,
            bbox=_PLATE,
        )


def _draw_work(axes: Any, tree: Tree) -> None:
    from matplotlib.ticker import MaxNLocator

    order = execution_order(tree)
    if tree.flops:
        edges, values = by_steps([tree.flops[step] for step in order])
        powers = [math.log10(value) if value > 0 else 0.0 for value in values]
        axes.stairs(powers, edges, fill=True, color="#35b779", alpha=0.45)
        for step in costliest(tree):
            at = order.index(step) + 0.5, math.log10(tree.flops[step])
            axes.plot(*[[place] for place in at], "v", color=INK, markersize=5, zorder=3, clip_on=False)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    axes.yaxis.set_major_formatter(_powers(10))
    every = ", over all slices" if tree.slices > 1 else ""
    axes.set(title=f"Work of each step{every}", ylabel="flops", xlabel="step, in the order of execution")
    if tree.shared:
        once = f"the first {len(tree.shared)} once, the others for each slice"
        axes.set_title(once, loc="right", fontsize=9, fontweight="normal")
    axes.set_ylim(0, 1.2 * max([math.log10(max(flops, 1)) for flops in tree.flops], default=0) or 1)
    _step_axis(axes, tree)


def _step_axis(axes: Any, tree: Tree) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(0, max(len(tree.steps), 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    axes.grid(axis="y", color=_PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    if tree.shared:
        axes.axvline(len(tree.shared), color=INK, linewidth=0.8)
