"""Pictures of plans: what they say, how large they are, and that they are drawn whole."""

from __future__ import annotations

import builtins
import re
import sys
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, networks
from tensor_core.errors import ArgumentError, SaveError, TensorError
from tensor_core.formatting import readable_bytes
from tensor_einsum import PlotError, plan
from tensor_einsum.pictures.drawing import draw_plan, require_matplotlib
from tensor_einsum.pictures.tree import (
    Tree,
    branches,
    costliest,
    cut_subscripts,
    execution_order,
    memory_over_steps,
    positions,
    tree_of,
    with_workspaces,
)

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
    assert "of all flops   1: step 0, 90 %    2: step 1, 10 %" in texts
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


def paired(count: int, random: Random) -> tuple[tuple[int, int], ...]:
    """Steps that join any two nodes that are left."""
    left, steps = [*range(count)], []
    while len(left) > 1:
        steps.append((left.pop(random.randrange(len(left))), left.pop(random.randrange(len(left)))))
        left.append(count + len(steps) - 1)
    return tuple(steps)


@pytest.mark.parametrize("count", [100, 600, 20_000])
@pytest.mark.parametrize("label", ["&", "𝒳"])
def test_no_plan_makes_a_large_file(count: int, label: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.svg"
    for steps in (paired(count, Random(0)), sweep(count).steps):
        sizes = tuple(1 << k * 7919 % 3000 for k in range(2 * count - 1))  # hardly two are the same
        flops = tuple(10**9 + k * 7919 % 10**9 for k in range(count - 1))
        workspaces = tuple(k * k for k in flops)
        texts = (cut_subscripts(label * 1000),) * (count - 1)
        tree = Tree(count, steps, sizes, sizes, flops, texts, 1 << 2990, 10**9999, (1, 0), 10**400, workspaces)

        draw_plan(tree, label * 1000, file)

        assert file.stat().st_size < 175_000  # a page adds its table, of less than 25 KB
        assert len(tips_of(file)) >= min(count, 200)


def test_a_page_of_a_large_network_of_long_names_is_small(tmp_path: Path) -> None:
    ends = [f"[漢<{bond}{'&' * 40}]" for bond in range(1500)] * 2
    Random(0).shuffle(ends)
    operands = ["".join(ends[at : at + 3]) for at in range(0, 3000, 3)]
    shapes = [(2, 2, 2)] * len(operands)
    found = plan(",".join(operands) + "->", *shapes, dtype="C64", conj=range(1000), optimize="greedy")

    assert len(found._repr_html_().encode()) < 200_000


@given(st.integers(2, 30), st.data())
def test_branches_that_are_left_join_what_is_kept(count: int, data: st.DataObject) -> None:
    steps = paired(count, data.draw(st.randoms(use_true_random=False)))
    nodes = range(2 * count - 1)
    levels = data.draw(st.lists(st.integers(0, 9), min_size=len(nodes), max_size=len(nodes)))
    kept = data.draw(st.sets(st.sampled_from(nodes)))
    above = {below: count + step for step, inputs in enumerate(steps) for below in inputs}

    left = branches(Tree(count, steps, (1,) * len(nodes), (8,) * len(nodes)), levels, kept)

    ends = [below for _, below, _, _ in left]
    assert len({*ends}) == len(ends) <= 2 * len(kept)
    assert kept <= {*ends, nodes[-1]}
    for upper, below, level, leaf in left:
        path = [below]
        while above[path[-1]] != upper:
            path.append(above[path[-1]])
        assert level == max(levels[node] for node in path)
        assert leaf == (path == [below] and below < count)
        assert upper == nodes[-1] or upper in ends
    everything = branches(Tree(count, steps, (1,) * len(nodes), (8,) * len(nodes)), levels, {*nodes})
    assert {(upper, below) for upper, below, _, _ in everything} == {(upper, below) for below, upper in above.items()}


def test_subscripts_of_tooltips_are_cut_by_bytes() -> None:
    assert cut_subscripts("a" * 60) == "a" * 60
    assert cut_subscripts("a" * 61) == f"{'a' * 40} … {'a' * 18}"
    assert cut_subscripts("漢" * 40) == "漢" * 40
    assert cut_subscripts("漢" * 41) == f"{'漢' * 26} … {'漢' * 12}"
    assert cut_subscripts("&" * 25) == f"{'&' * 16} … {'&' * 7}"  # five bytes each


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

    with pytest.raises(PlotError, match=r"pip install 'ironstride-tensor-einsum\[plot\]'"):
        require_matplotlib()


RING = ",".join("abcdefgh"[k] + "abcdefgh"[(k + 1) % 8] for k in range(8)) + "->"


@given(networks(), st.data())
def test_the_peak_that_is_drawn_is_that_of_the_plan(case: Case, data: st.DataObject) -> None:
    found = case.plan.with_slices(
        {name: data.draw(st.integers(1, 3)) for name in case.plan.names if data.draw(st.booleans())}
    )
    tree = tree_of(found)

    assert max(with_workspaces(tree, memory_over_steps(tree)), default=0) == found.peak_bytes
    assert max(memory_over_steps(tree), default=0) == found.intermediate_bytes
    assert sorted(execution_order(tree)) == list(range(len(found.steps)))
    assert case.plan.flops == sum(tree_of(case.plan).flops)


@pytest.mark.usefixtures("by_blas")
def test_workspaces_and_slices_are_said(tmp_path: Path) -> None:
    x = tr.ones((200, 200), dtype="C32")
    repeated = tr.broadcast_to(x[:, :1], (200, 200))  # conjugates of it are copied
    found = plan("ij,jk,kl->il", repeated, x, x, optimize=[(1, 2), (0, 1)], conj=(0,)).with_slices({"i": 50})
    found.plot(tmp_path / "plan.svg", title="sliced", memory_limit="1 MB")

    texts = texts_of(tmp_path / "plan.svg")
    peak = readable_bytes(found.peak_bytes)
    assert "sliced" in texts
    assert any(text.startswith("3 operands  ·  4 slices of 2 steps  ·  3.20e+07 flops") for text in texts)
    assert any(text.endswith(f"peak {peak} of 976.6 KiB allowed") for text in texts)
    assert "Memory of intermediates, the result and workspaces of kernels (yellow)" in texts
    assert f"peak {peak}, step 1" in texts and "limit 976.6 KiB" in texts
    assert "the first 1 once, the others for each slice" in texts


def test_what_names_no_picture_is_refused(tmp_path: Path) -> None:
    found = plan(RING, *[(3, 3)] * 8)
    with pytest.raises(
        ArgumentError, match=r"plot: the file is 'plan'; accepted: names that end with .svg, .png, .pdf"
    ):
        found.plot("plan")
    with pytest.raises(ArgumentError, match="plot: title is 3"):
        found.plot(tmp_path / "plan.svg", title=3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="plot: memory_limit is 'x'"):
        found.plot(tmp_path / "plan.svg", memory_limit="x")
    with pytest.raises(SaveError):
        found.plot(tmp_path / "nowhere" / "plan.svg")
    with pytest.raises(TensorError):
        found.plot(3)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_titles_and_labels_in_any_script_are_drawn(tmp_path: Path) -> None:
    found = plan("[漢字]i,i[<b>]->[漢字][<b>]", (2, 3), (3, 4))
    found.plot(tmp_path / "plan.svg", title="漢字\n\x07 " * 100)
    found.plot(tmp_path / "plan.png")

    (title,) = [text for text in texts_of(tmp_path / "plan.svg") if text.startswith("漢字")]
    assert len(title) == 80
    assert tips_of(tmp_path / "plan.svg")[-1].startswith("step 0: [漢字]i,i[<b>]->[漢字][<b>]\n")


def test_a_notebook_shows_the_picture_and_the_table() -> None:
    found = plan(RING, *[(3, 3)] * 8)
    picture, table = found._repr_html_()[len("<div>") :].split("</div>")

    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "Contraction tree" in {"".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")}
    titles = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("step 6: ") for title in titles)
    assert "<style" not in picture  # which would be one of the whole page
    names = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    referred = {value for node in root.iter() for value in node.attrib.values() if "#" in value}
    assert all(any(f"#{name}" in value for value in referred) for name in names)
    assert table.startswith("<table>")


def test_a_notebook_shows_the_table_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    found = plan(RING, *[(3, 3)] * 8)
    assert found._repr_html_().startswith("<table>")
    with pytest.raises(PlotError, match=r"pip install 'ironstride-tensor-einsum\[plot\]'"):
        found.plot("plan.svg")


@pytest.mark.parametrize("count", [2, 30, 400])
def test_no_branches_cross_and_no_text_leaves_the_picture(tmp_path: Path, count: int) -> None:
    tree = sweep(count)
    place = positions(tree)
    spans = {}
    for number, inputs in enumerate(tree.steps):
        spans[place[count + number][1]] = sorted(place[node][0] for node in inputs)
    for up, (left, right) in spans.items():  # a line across, and those that go down through its height
        for number, inputs in enumerate(tree.steps):
            for node in inputs:
                low, high = place[node][1], place[count + number][1]
                assert not (low < up < high and left < place[node][0] < right)
    draw_plan(tree, "sweep", tmp_path / "plan.svg")
    root = ElementTree.parse(tmp_path / "plan.svg").getroot()
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for node in root.iter("{http://www.w3.org/2000/svg}text"):
        found = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", node.attrib.get("transform", ""))
        x, y = map(float, found.groups()) if found else (float(node.attrib["x"]), float(node.attrib["y"]))
        assert 0 <= x <= width and 0 <= y <= height


def test_operands_of_other_dtypes_have_their_own_bytes() -> None:
    assert tree_of(plan("ij,jk->ik", tr.ones((2, 3), dtype="F32"), tr.ones((3, 4)))).nbytes == (24, 96, 64)


def test_a_picture_is_drawn_of_more_bytes_than_a_float_can_count(tmp_path: Path) -> None:
    letters = [chr(192 + number) for number in range(40)]
    found = plan(f"{','.join(letters)}->{''.join(letters)}", *[(1 << 60,)] * 40, optimize=False)

    found.plot(tmp_path / "plan.svg")

    assert {"2²⁴⁰⁰ B", "Memory of intermediates"} <= {*texts_of(tmp_path / "plan.svg")}


def test_a_limit_beyond_floats_is_drawn(tmp_path: Path) -> None:
    plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)).plot(tmp_path / "plan.svg", memory_limit=10**400)

    assert "limit 1.0e+400 B" in texts_of(tmp_path / "plan.svg")


def test_the_limits_text_is_readable_where_it_lies_on_the_curve(tmp_path: Path) -> None:
    found = plan("ab,bc,cd,de->ae", (30, 2), (2, 40), (40, 3), (3, 50)).with_slices("c")
    found.plot(tmp_path / "plan.svg", memory_limit="10kB")
    drawn = (tmp_path / "plan.svg").read_text(encoding="utf-8")

    assert drawn.count("fill: #ffffff; opacity: 0.8") == 2  # below the text of the peak and of the limit
