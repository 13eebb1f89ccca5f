"""Paths that the search finds: valid, as good as any where that can be known, and costing what is reported."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp2, inf, isclose, log2, prod

import pytest

from tensor_einsum import native
from tensor_einsum.search.engine import search
from tensor_einsum.search.measure import measure
from tensor_einsum.search.problem import CACHED, UNCACHED, Budget, Found, Objective, Problem
from tensor_einsum.testing.networks import drawn, lattice, of_edges, regular_graph

Tree = int | tuple["Tree", "Tree"]

FLOPS = Objective("flops")
SHORT = Budget(rotations=100_000)


def trees(leaves: tuple[int, ...]) -> Iterator[Tree]:
    """Every binary tree."""
    if len(leaves) == 1:
        yield leaves[0]
        return
    first, rest = leaves[0], leaves[1:]
    for chosen in range(2 ** len(rest) - 1):
        left = (first, *(leaf for place, leaf in enumerate(rest) if chosen >> place & 1))
        right = tuple(leaf for place, leaf in enumerate(rest) if not chosen >> place & 1)
        for a in trees(left):
            for b in trees(right):
                yield a, b


def tree_of(path: tuple[tuple[int, int], ...], operands: int) -> Tree:
    nodes: list[Tree] = list(range(operands))
    nodes += [(nodes[a], nodes[b]) for a, b in path] if not path else []
    for a, b in path:
        nodes.append((nodes[a], nodes[b]))
    return nodes[-1]


def as_moved(size: int) -> int:
    return size if size <= CACHED else UNCACHED * size


def leaves_of(tree: Tree) -> set[int]:
    return {tree} if isinstance(tree, int) else leaves_of(tree[0]) | leaves_of(tree[1])


def contractions(problem: Problem, tree: Tree) -> Iterator[tuple[int, int, int]]:
    """Products, elements moved and size of the result of each contraction, from the definition."""
    everywhere = set(range(len(problem.inputs)))

    def open_labels(part: set[int]) -> set[int]:
        inside = {label for one in part for label in problem.inputs[one]}
        outside = {label for one in everywhere - part for label in problem.inputs[one]} | set(problem.output)
        return inside & outside

    def size(labels: set[int]) -> int:
        return prod(max(problem.extents[label], 1) for label in labels)

    def visit(node: Tree) -> Iterator[tuple[int, int, int]]:
        if not isinstance(node, int):
            a, b = (open_labels(leaves_of(child)) for child in node)
            result = open_labels(leaves_of(node))
            yield size(a | b), sum(map(as_moved, map(size, (a, b, result)))), size(result)
            yield from visit(node[0])
            yield from visit(node[1])

    yield from visit(tree)


def cost(problem: Problem, tree: Tree, objective: Objective) -> float:
    steps = list(contractions(problem, tree))
    products, elements = sum(step[0] for step in steps), sum(step[1] for step in steps)
    if objective.minimize == "size":
        return max((step[2] for step in steps), default=0)
    return products + objective.element_products * elements


def check_path(problem: Problem, found: Found) -> None:
    operands = len(problem.inputs)
    assert sorted(one for pair in found.path for one in pair) == list(range(2 * operands - 2))
    assert all(a < b < operands + step for step, (a, b) in enumerate(found.path))


@pytest.mark.parametrize("minimize", ["flops", "seconds", "mixture", "size"])
def test_the_tree_of_few_operands_is_as_good_as_every_other(minimize: str) -> None:
    objective = Objective(minimize)  # type: ignore[arg-type]
    for seed in range(40):
        problem = drawn(seed, seed % 5 + 1)
        found = search(problem, objective, SHORT)
        check_path(problem, found)
        best = min(cost(problem, tree, objective) for tree in trees(tuple(range(len(problem.inputs)))))
        assert cost(problem, tree_of(found.path, len(problem.inputs)), objective) <= best * 1.001
        assert found.record.stopped == "exact"


def test_what_is_reported_is_what_the_path_costs() -> None:
    for seed in range(60):
        problem = drawn(seed, seed % 30 + 1)
        found = search(problem, FLOPS, Budget(rotations=20_000), largest=None if seed % 2 else 500, seed=seed)
        check_path(problem, found)
        counted, record = measure(problem, found.path, found.sliced), found.record
        for ours, theirs in zip(
            (record.log2_products, record.log2_size, record.log2_peak),
            (counted.products, counted.size, counted.peak),
            strict=True,
        ):
            assert ours == theirs or isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
        if not found.sliced:
            steps = list(contractions(problem, tree_of(found.path, len(problem.inputs))))
            total = sum(step[0] for step in steps)
            assert isclose(record.log2_products, log2(total) if total else -inf, rel_tol=1e-9, abs_tol=1e-9)


def test_tensors_beyond_the_cache_take_longer_to_move_by_the_estimate_and_in_the_search() -> None:
    objective = Objective("seconds", step_seconds=1e-9)
    beyond = 0
    for seed in range(40):
        network = drawn(seed, seed % 4 + 2)
        problem = network._replace(extents=tuple(400 * extent for extent in network.extents))
        found = search(problem, objective, SHORT)
        counted, operands = measure(problem, found.path), len(problem.inputs)
        tree = tree_of(found.path, operands)
        moved = sum(step[1] for step in contractions(problem, tree))
        assert isclose(counted.elements, log2(moved), rel_tol=1e-9)
        estimated = objective.log2_seconds(counted.products, counted.elements, operands - 1)
        assert isclose(found.record.log2_seconds, estimated, rel_tol=1e-9, abs_tol=1e-9)
        best = min(cost(problem, other, objective) for other in trees(tuple(range(operands))))
        assert cost(problem, tree, objective) <= best * 1.001
        beyond += counted.size > log2(CACHED)
    assert beyond > 10


@pytest.mark.skipif(not native.AVAILABLE, reason="the native search was not built")
def test_annealing_finds_the_tree_that_exact_search_finds() -> None:
    for seed in range(4):
        problem = regular_graph(12, 3, seed)
        exact = search(problem, FLOPS, Budget(rotations=10**6))
        assert exact.record.stopped == "exact"
        annealed = search(problem, FLOPS, Budget(rotations=60_000))  # too few for the exact search
        assert annealed.record.stopped == "rotations"
        assert isclose(annealed.record.log2_products, exact.record.log2_products)


def row_sweep(rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    operands = rows * columns
    return ((0, 1), *((step + 1, operands + step - 1) for step in range(1, operands - 1)))


@pytest.mark.slow
@pytest.mark.skipif(not native.AVAILABLE, reason="the native search was not built")
@pytest.mark.parametrize(("rows", "columns", "rotations"), [(10, 10, 10**6), (30, 30, 2 * 10**7)])
def test_a_plain_sweep_by_rows_does_not_beat_it_on_a_lattice(rows: int, columns: int, rotations: int) -> None:
    problem = lattice(rows, columns)
    sweep = measure(problem, row_sweep(rows, columns))
    assert search(problem, FLOPS, Budget(rotations=rotations)).record.log2_products <= sweep.products


def test_a_chain_of_matrices_is_contracted_as_the_textbook_does() -> None:
    extents = (30, 35, 15, 5, 10, 20, 25)  # Cormen, Leiserson, Rivest and Stein: 15,125 products
    problem = Problem(tuple((i, i + 1) for i in range(6)), (0, 6), extents)
    assert isclose(exp2(search(problem, FLOPS, SHORT).record.log2_products), 15125)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(((),), (), ()),
        Problem(((), (), ()), (), ()),
        Problem(((0,),), (0,), (5,)),
        Problem(((0, 1),) * 40, (0,), (2, 3)),
        Problem(tuple((i,) for i in range(50)), (), (0,) * 50),
        Problem(tuple((i,) for i in range(30)), tuple(range(30)), (1,) * 30),
        Problem(tuple((0, i) for i in range(1, 80)), (0,), (2,) * 80),
        Problem(tuple((0, i, i + 1) for i in range(1, 80)), (), (2, 3) * 41),
        Problem(tuple((2 * i, 2 * i + 1) for i in range(20)) * 2, (), (2,) * 40),
        of_edges(40, [tuple(range(40)), *((i, (i + 7) % 40) for i in range(40))]),
        Problem(tuple(tuple(range(5 * i, 5 * i + 300)) for i in range(30)), (), (2,) * 445),
        Problem(tuple((i, i + 1) for i in range(30)), (0, 30), tuple(range(2, 33))),
    ],
    ids=[
        "one scalar", "scalars", "one vector", "equal terms", "empty vectors", "extent one", "a star in the output",
        "one label in all", "pairs that share nothing", "an edge with forty ends", "many labels each", "extents",
    ],
)  # fmt: skip
def test_odd_networks_have_valid_paths(problem: Problem) -> None:
    for budget in (Budget(rotations=0), Budget(rotations=50_000), Budget(share=0.1)):
        for largest in (None, 64):
            found = search(problem, Objective("seconds"), budget, largest=largest)
            check_path(problem, found)
            assert set(found.sliced) <= {label for term in problem.inputs for label in term}


def test_more_labels_than_any_count_of_bits_are_told_apart() -> None:
    operands = 900
    problem = of_edges(operands, [(i, (i + step) % operands) for i in range(operands) for step in (1, 2, 3, 5, 8)])
    assert len(problem.extents) == 4500
    found = search(problem, FLOPS, Budget(rotations=0))
    check_path(problem, found)
    assert isclose(found.record.log2_products, measure(problem, found.path).products, rel_tol=1e-9)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(((0, 0),), (), (2,)),
        Problem(((0, 1),), (), (2,)),
        Problem(((-1,),), (), (2,)),
        Problem(((0,),), (1,), (2, 2)),
        Problem((), (), ()),
    ],
)
def test_what_is_no_network_is_refused(problem: Problem) -> None:
    with pytest.raises(ValueError):
        search(problem, FLOPS, SHORT)
