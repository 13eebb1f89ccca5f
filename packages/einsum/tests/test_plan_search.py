"""How plans are searched: repeatable, as long as asked, by the objective given, and told in ``plan.search``."""

from __future__ import annotations

import pickle
import random
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import opt_einsum
import pytest

import tensor_runtime as tr
from tensor_einsum import PathError, Plan, plan, plan_cache
from tensor_einsum.testing.networks import regular_graph

CHAIN = "ij,jk,kl->il"
SHAPES = (2, 3), (3, 4), (4, 5)


def cubic(nodes: int, seed: int, extents: tuple[int, int] = (2, 2)) -> tuple[str, list[tuple[int, ...]]]:
    """A network with three labels at every operand (two at one, if they are odd), as notation and shapes."""
    problem, draw = regular_graph(nodes, 3, seed), random.Random(seed)
    sizes = [draw.randint(*extents) for _ in problem.extents]
    terms = ["".join(map(opt_einsum.get_symbol, term)) for term in problem.inputs]
    return ",".join(terms) + "->", [tuple(sizes[label] for label in term) for term in problem.inputs]


def greedy_flops(notation: str, shapes: list[tuple[int, ...]]) -> int:
    return plan(notation, *shapes, optimize=opt_einsum.paths.greedy).flops


def test_the_search_is_no_worse_than_opt_einsums_greedy() -> None:
    for seed in range(4):
        notation, shapes = cubic(30, seed)
        assert plan(notation, *shapes, objective="flops").flops <= greedy_flops(notation, shapes)


def test_a_search_tells_what_it_tried_and_what_it_found() -> None:
    notation, shapes = cubic(30, 5)
    found = plan(notation, *shapes)
    record = found.search

    assert record is not None
    assert record.tried and all(one.times > 0 for one in record.tried)
    assert record.seconds > 0
    assert record.history[-1].log2_products == record.log2_products
    # A product that is summed is two flops; one that is not, one.
    assert 2**record.log2_products * (1 - 1e-9) <= found.flops <= 2 * 2**record.log2_products * (1 + 1e-9)
    assert 2**record.log2_size == pytest.approx(found.largest_intermediate)


@pytest.mark.parametrize(
    "options",
    [
        {"optimize": [(0, 1), (0, 1)]},
        {"optimize": False},
        {"optimize": "optimal"},
        {"optimize": opt_einsum.paths.greedy},
    ],
)
def test_a_plan_that_others_found_has_no_record(options: dict[str, Any]) -> None:
    assert plan(CHAIN, *SHAPES, **options).search is None


def test_the_record_is_no_part_of_the_plan() -> None:
    found = plan(CHAIN, *SHAPES)
    given = plan(CHAIN, *SHAPES, optimize=found.path)

    assert found.search is not None
    assert given == found and hash(given) == hash(found)
    for copy in (Plan.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert copy == found and copy.search is None


def test_plans_of_other_objectives_are_kept_apart() -> None:
    plans = [plan(CHAIN, *SHAPES, objective=objective) for objective in ("time", "flops", "size")]
    plans.append(plan(CHAIN, *SHAPES, objective={"flops": 1, "elements": 32}))

    assert len({id(found) for found in plans}) == 4
    assert plan(CHAIN, *SHAPES, objective="time") is plans[0] is plan(CHAIN, *SHAPES)
    assert plan(CHAIN, *SHAPES, objective={"flops": 2, "elements": 64}) is plans[3]


def test_what_is_minimised_is_smallest() -> None:
    differ = 0
    for seed in range(20):  # so few operands that the search is exact
        notation, shapes = cubic(7 + seed % 2, seed, extents=(2, 9))
        by_size, by_flops = (plan(notation, *shapes, objective=objective) for objective in ("size", "flops"))

        assert by_size.largest_intermediate <= by_flops.largest_intermediate
        assert by_flops.flops <= by_size.flops
        differ += by_flops.flops < by_size.flops
    assert differ


def test_a_search_gives_the_same_plan_in_every_process() -> None:
    notation, shapes = cubic(40, 2)
    code = f"from tensor_einsum import plan; print(plan({notation!r}, *{shapes!r}).path)"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }

    assert outputs == {f"{plan(notation, *shapes).path}\n"}


def test_seconds_bound_the_search() -> None:
    notation, shapes = cubic(60, 3)
    plan_cache.clear()
    found = plan(notation, *shapes, seconds=0.2)

    assert found.search is not None
    assert found.search.stopped in ("seconds", "settled", "exact")
    assert found.search.seconds < 5  # a machine under load is slow to give back control
    assert plan(notation, *shapes, seconds=0.2) is found


def test_ctrl_c_ends_a_search_by_the_clock_and_not_the_call() -> None:
    notation, shapes = cubic(1000, 4)
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # may be ignored
        "from tensor_einsum import plan; plan('ij,jk,kl,lm', *[(2, 2)] * 4, seconds=1); print('ready', flush=True); "
        f"found = plan({notation!r}, *{shapes!r}, seconds=300); print(found.search.stopped, len(found.path))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted 999\n"
        assert process.wait() == 0


def test_any_number_of_random_greedy_searches_is_a_name() -> None:
    notation, shapes = cubic(12, 6)
    many, few = (plan(notation, *shapes, optimize=f"random-greedy-{count}") for count in (16, 1))

    assert many.flops <= few.flops
    with pytest.raises(PathError, match="'random-greedy-0' is no search; accepted: auto, auto-hq"):
        plan(notation, *shapes, optimize="random-greedy-0")


def test_an_optimizer_that_gives_a_tree_is_given_one_character_for_each_label() -> None:
    class Tree:
        def get_path(self) -> list[tuple[int, int]]:
            return [(1, 2), (0, 1)]

    class Optimizer:
        def search(self, inputs: Any, output: Any, sizes: dict[str, int]) -> Tree:
            self.asked = inputs, output, sizes
            return Tree()

    optimizer = Optimizer()
    assert plan("aab,bc,cd->ad", (2, 2, 3), (3, 4), (4, 5), optimize=optimizer).path == ((1, 2), (0, 1))
    inputs, output, sizes = optimizer.asked
    assert [[sizes[label] for label in term] for term in inputs] == [[2, 3], [3, 4], [4, 5]]
    assert [sizes[label] for label in output] == [2, 5]
    assert all(len(label) == 1 for label in sizes)


def test_cotengras_optimizers_and_trees_are_accepted() -> None:
    cotengra = pytest.importorskip("cotengra")
    notation, shapes = cubic(20, 7)
    terms = [tuple(term) for term in notation.removesuffix("->").split(",")]
    optimizer = cotengra.RandomGreedyOptimizer(max_repeats=8, seed=1)
    tree = cotengra.array_contract_tree(terms, (), shapes=shapes, optimize="greedy")

    assert len(plan(notation, *shapes, optimize=optimizer).path) == 19
    assert plan(notation, *shapes, optimize=tree).path == tuple(map(tuple, tree.get_path()))


class SlicedTree:
    """What is asked of a tree; it is sliced at the labels given."""

    inputs: tuple[tuple[str, ...], ...] | None = None

    def __init__(self, *sliced: object) -> None:
        self.sliced_inds = dict.fromkeys(sliced)
        self.path = [(0, 1), (0, 1)]

    def get_path(self) -> list[tuple[int, int]]:
        return self.path


def test_a_tree_brings_its_slices() -> None:
    found = plan(CHAIN, *SHAPES, optimize=SlicedTree("k", "i"))

    assert set(found.slices.labels) == {"i", "k"} and found.slices.count == 2 * 4
    a, b, c = (np.arange(rows * columns, dtype=np.float64).reshape(rows, columns) for rows, columns in SHAPES)
    np.testing.assert_allclose(found(*map(tr.asarray, (a, b, c))).to_numpy(), a @ b @ c)


def test_a_tree_that_slices_another_network_is_refused() -> None:
    with pytest.raises(PathError, match="the tree slices 'x', which is no label of the notation"):
        plan(CHAIN, *SHAPES, optimize=SlicedTree("k", "x"))


@pytest.mark.parametrize("notation", ["ca,ab->cb", "xy,yz->xz", "[left]a,a[right]->[left][right]"])
def test_a_tree_that_renamed_the_labels_slices_those_in_the_same_places(notation: str) -> None:
    tree = SlicedTree("a")
    tree.inputs, tree.path = (("a", "b"), ("b", "c")), [(0, 1)]
    found = plan(notation, (40, 2), (2, 40), optimize=tree)

    assert found.sliced == ((found.inputs[0][0], 1),)
    x, y = tr.asarray(np.arange(80.0).reshape(40, 2)), tr.asarray(np.arange(80.0).reshape(2, 40))
    assert np.array_equal(found(x, y).to_numpy(), x.to_numpy() @ y.to_numpy())


def test_a_tree_may_be_of_operands_with_their_repeated_and_broadcast_axes_or_without() -> None:
    for inputs in ((("a", "a", "b"), ("b", "c")), (("a", "b"), ("c",))):
        tree = SlicedTree("a")
        tree.inputs, tree.path = inputs, [(0, 1)]
        shapes = ((2, 2, 3), (1, 4)) if inputs[1] == ("c",) else ((2, 2, 3), (3, 4))
        assert plan("iij,jk->ik", *shapes, optimize=tree).slices.labels == ("i",)


@pytest.mark.parametrize(
    "inputs",
    [
        (("a", "b"), ("c", "d")),  # j is b and c
        (("a", "b"), ("b", "a")),  # a is i and k
        (("a", "b", "c"), ("b", "d")),
        (("a", "b"),),
    ],
)
def test_a_tree_of_operands_that_are_labelled_otherwise_is_refused(inputs: tuple[tuple[str, ...], ...]) -> None:
    tree = SlicedTree("a")
    tree.inputs, tree.path = inputs, [(0, 1)]
    with pytest.raises(PathError, match=r"plan: the tree that slices 'a' is of operands with labels .*, which are not"):
        plan("ij,jk->ik", (2, 3), (3, 4), optimize=tree)


@pytest.mark.parametrize("notation", ["ca,ab->cb", "xy,yz->xz"])
def test_slices_of_a_tree_of_cotengra_are_those_of_its_arrays(notation: str) -> None:
    cotengra = pytest.importorskip("cotengra")
    tree = cotengra.array_contract_tree(
        [("c", "a"), ("a", "b")], ("c", "b"), {"c": 40, "a": 2, "b": 40}, optimize="greedy"
    )
    tree.slice_(target_size=100)
    found = plan(notation, (40, 2), (2, 40), optimize=tree)

    assert found.largest_intermediate <= 100
    assert 1 not in dict(found.sliced)


def test_slices_of_cotengras_optimizers_are_taken() -> None:
    cotengra = pytest.importorskip("cotengra")
    notation, shapes = cubic(20, 7)
    limited = cotengra.HyperOptimizer(
        methods=["greedy"], optlib="random", max_repeats=4, parallel=False, slicing_opts={"target_size": 2**3}
    )
    found = plan(notation, *shapes, optimize=limited)

    assert found.slices.count > 1
    assert found.largest_intermediate <= 2**3


@pytest.mark.parametrize("operands", [1, 2])
def test_a_tree_of_one_or_two_operands_brings_its_slices_too(operands: int) -> None:
    tree = SlicedTree("j")
    tree.path = [(0, 1)][: operands - 1]
    notation, shapes = ["ij->i", "ij,jk->ik"][operands - 1], [(2, 3), (3, 4)][:operands]

    assert plan(notation, *shapes, optimize=tree).slices.labels == ("j",)


def test_an_optimizer_is_asked_about_two_operands_too() -> None:
    with pytest.raises(PathError, match="failed: ZeroDivisionError"):
        plan("ij,jk->ik", (2, 3), (3, 4), optimize=lambda *problem: 1 // 0)


def test_a_tree_may_slice_labels_that_are_no_strings() -> None:
    found = plan((2, 3), (0, 1), (3, 4), (1, 2), (4, 5), (2, 3), (0, 3), optimize=SlicedTree(2))

    assert found.slices.labels == ("2",)


def test_a_search_that_somebody_registered_gets_labels_of_one_character(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def search(inputs: Any, output: Any, sizes: Any, limit: Any) -> list[tuple[int, int]]:
        asked.append((inputs, output, sizes, limit))
        return [(1, 2), (0, 1)]

    monkeypatch.setitem(opt_einsum.paths._PATH_OPTIONS, "by somebody", search)
    assert plan(CHAIN, *SHAPES, optimize="by somebody").path == ((1, 2), (0, 1))
    ((inputs, output, sizes, limit),) = asked
    assert [sorted(sizes[label] for label in term) for term in inputs] == [sorted(shape) for shape in SHAPES]
    assert all(isinstance(label, str) and len(label) == 1 for label in [*sizes, *output])
    assert limit is None
