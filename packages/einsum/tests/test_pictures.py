"""Pictures of plans: what they say, how large they are, and that they are drawn whole."""

from __future__ import annotations

import builtins
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tensor_einsum.pictures.drawing import PlotError, draw_plan, require_matplotlib
from tensor_einsum.pictures.tree import Tree, costliest, memory_over_steps, positions

CHAIN = Tree(3, ((0, 2), (1, 3)), (6, 6, 12, 8, 4), (48, 48, 96, 64, 32))


def test_memory_counts_results_until_they_are_used() -> None:
    assert memory_over_steps(CHAIN) == [64, 96]


def test_a_result_stands_above_what_it_joins() -> None:
    place = positions(CHAIN)

    assert [up for _, up in place] == [0, 0, 0, 1, 2]
    assert sorted(across for across, _ in place[:3]) == [0, 1, 2]
    assert place[3][0] == (place[0][0] + place[2][0]) / 2


def test_a_tree_as_deep_as_a_long_sweep_needs_no_recursion() -> None:
    count = 5000
    steps = ((0, 1), *((count + k, k + 2) for k in range(count - 2)))

    assert positions(Tree(count, steps, (1,) * (2 * count - 1), (8,) * (2 * count - 1)))[-1][1] == count - 1


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture_is_drawn_whole_and_leaves_nothing_else(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"plan.{ending}"

    draw_plan(CHAIN, "a $ sign and a ë", file)

    assert file.stat().st_size > 1000
    assert list(tmp_path.iterdir()) == [file]
    if ending == "svg":
        text = "".join(ElementTree.parse(file).getroot().itertext())
        assert "a $ sign and a ë" in text
        assert "Contraction tree" in text


def texts_of(file: Path) -> list[str]:
    """The words of an SVG file, tooltips apart."""
    return ["".join(node.itertext()) for node in ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")]


def tips_of(file: Path) -> list[str]:
    """What the tooltips of an SVG file say; the first title is that of the document, if there is one."""
    uses = ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}use")
    return [title.text or "" for use in uses for title in use.iter("{http://www.w3.org/2000/svg}title")]


def sweep(count: int) -> Tree:
    """A chain of as many operands, contracted from one end; the steps in the middle work most."""
    steps = ((0, 1), *((count + k, k + 2) for k in range(count - 2)))
    sizes = [2 ** min(20, k, count - 1 - k) for k in range(count - 1)]
    nbytes = tuple(8 * size for size in [4] * count + sizes)
    texts = tuple(f"a{k},b->c" for k in range(count - 1))
    return Tree(count, steps, (*[4] * count, *sizes), nbytes, tuple(sizes), texts, limit=16 << 20)


def test_totals_peak_limit_and_costliest_steps_are_written(tmp_path: Path) -> None:
    file = tmp_path / "plan.svg"
    tree = Tree(3, ((0, 2), (1, 3)), (6, 6, 12, 8, 4), (48, 48, 96, 64, 32), (90, 10), ("ik,kj->ij", "i,j"), limit=200)

    draw_plan(tree, "product", file)

    texts = texts_of(file)
    assert "3 operands  ·  2 steps  ·  100 flops  ·  largest intermediate 64 B  ·  peak 96 B of 200 B allowed" in texts
    assert "peak 96 B, step 1" in texts and "limit 200 B" in texts
    assert "1   step 0   90 %" in texts and "2   step 1   10 %" in texts
    ticks = [text for text in texts if text.replace(".", "").isdecimal()]
    assert {"0", "1", "2"} <= {*ticks} and not {"0.5", "1.5"} & {*ticks}  # steps are whole numbers


def test_each_marked_node_has_a_tooltip(tmp_path: Path) -> None:
    file = tmp_path / "plan.svg"
    tree = Tree(2, ((0, 1),), (6, 12, 8), (48, 96, 64), (48,), ("<j,jk-> k",))

    draw_plan(tree, "product", file)

    assert tips_of(file) == [
        "operand 0: 6 elements, 48 B",
        "operand 1: 12 elements, 96 B",
        "step 0: <j,jk-> k\n8 elements, 64 B, 48 flops",
    ]


@pytest.mark.parametrize("count", [300, 3000])
def test_a_large_plan_is_a_small_file(tmp_path: Path, count: int) -> None:
    file = tmp_path / "plan.svg"

    draw_plan(sweep(count), "sweep", file)

    assert file.stat().st_size < 200_000
    assert len(tips_of(file)) <= 305
    assert any("one operand of" in text for text in texts_of(file)) == (count == 3000)


def test_the_costliest_steps_are_few_and_do_matter() -> None:
    assert costliest(sweep(400)) == []  # hundreds of them work the same
    assert costliest(sweep(30)) == [14, 15, 13, 16, 12]
    assert costliest(Tree(3, ((0, 1), (2, 3)), (1,) * 5, (8,) * 5, (1, 99))) == [1]
    assert costliest(Tree(2, ((0, 1),), (1,) * 3, (8,) * 3, (0,))) == []


def test_the_same_plan_gives_the_same_picture(tmp_path: Path) -> None:
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"

    draw_plan(CHAIN, "twice", first)
    draw_plan(CHAIN, "twice", second)

    assert first.read_bytes() == second.read_bytes()


def test_trees_of_one_operand_of_scalars_and_of_nothing_are_drawn(tmp_path: Path) -> None:
    draw_plan(Tree(1, (), (6,), (48,)), "one operand", tmp_path / "one.svg")
    draw_plan(Tree(2, ((0, 1),), (1, 1, 1), (8, 8, 8)), "scalars", tmp_path / "scalars.svg")
    draw_plan(Tree(2, ((0, 1),), (0, 0, 0), (0, 0, 0)), "nothing", tmp_path / "nothing.svg")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: object) -> object:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", missing)

    with pytest.raises(PlotError, match=r"pip install 'ironstride\[plot\]'"):
        require_matplotlib()
