"""Searches for contraction orders: ours, cotengra's HyperOptimizer and opt_einsum's greedy, on networks drawn by seed.

Each gets the same time by the clock, ours with all threads and cotengra in one process, as both come. Every order is
counted anew by the same exact arithmetic (``tensor_einsum.search.measure``), so nobody's own figures are taken over.
Under a memory limit, ours keeps the elements of all intermediates alive at once below it; cotengra's ``target_size`` is
the largest intermediate alone, which is the weaker promise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, log2
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from benchmarks import networks
from benchmarks.networks import Network
from tensor_einsum.search.engine import search
from tensor_einsum.search.measure import measure as count
from tensor_einsum.search.path import in_pairs, to_ids
from tensor_einsum.search.problem import Budget, Objective, Problem

OURS: Final = "ours"
COTENGRA: Final = "cotengra"
GREEDY: Final = "opt_einsum greedy"
FILE: Final = "path of the file"
BYTES: Final = 8


class Result(NamedTuple):
    """What one planner found in one network; flops and sizes as log2, of all slices together and of one."""

    network: str
    planner: str
    budget: float  # seconds that were asked for; 0 where nothing is asked
    limit: int | None  # bytes
    seconds: float
    products: float
    size: float
    peak: float
    error: str = ""


def run(
    budgets: Sequence[float], limits: Sequence[int | None], seed: int, folder: Path | None, only: str
) -> Iterator[Result]:
    """Every network with every planner, in turns; each limit and each time by itself."""
    chosen: Iterable[Network] = [*networks.drawn(seed), *(networks.read(folder) if folder else ())]
    for network in chosen:
        if only not in network.name:
            continue
        yield _found(network, GREEDY, 0.0, None, _greedy)
        if network.path:
            yield _found(network, FILE, 0.0, None, lambda network, *_: (network.path, ()))
        for limit in limits:
            for budget in budgets:
                yield _found(network, OURS, budget, limit, _ours)
                yield _found(network, COTENGRA, budget, limit, _cotengra)


Order = tuple[Sequence[Sequence[int]], Sequence[int]]  # a linear path, and labels to slice


def _found(
    network: Network,
    planner: str,
    budget: float,
    limit: int | None,
    plan: Callable[[Network, float, int | None], Order],
) -> Result:
    begun = perf_counter()
    try:
        path, sliced = plan(network, budget, limit)
    except Exception as error:  # a planner that fails has no result, and the others go on
        seconds = perf_counter() - begun
        return Result(network.name, planner, budget, limit, seconds, inf, inf, inf, f"{type(error).__name__}: {error}")
    seconds = perf_counter() - begun
    operands = len(network.inputs)
    costs = count(_problem(network), in_pairs(to_ids(path, operands), operands), sliced)
    return Result(network.name, planner, budget, limit, seconds, costs.products, costs.size, costs.peak)


def _problem(network: Network) -> Problem:
    return Problem(network.inputs, network.output, network.extents)


def _ours(network: Network, budget: float, limit: int | None) -> Order:
    from tensor_einsum.search.path import to_linear

    largest = None if limit is None else limit // BYTES
    found = search(_problem(network), Objective("flops"), Budget(seconds=budget), largest=largest)
    if largest is not None and found.record.log2_peak > log2(largest) + 1e-9:
        raise MemoryError(f"the limit is not kept: 2^{found.record.log2_peak:.1f} elements")
    return to_linear(found.path, len(network.inputs)), found.sliced


def _cotengra(network: Network, budget: float, limit: int | None) -> Order:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it would like to have installed
        import cotengra

        options: dict[str, Any] = {"reconf_opts": {}}
        if limit is not None:
            options["slicing_reconf_opts"] = {"target_size": limit // BYTES}
        optimizer = cotengra.HyperOptimizer(max_time=budget, parallel=False, progbar=False, **options)
        letters = [tuple(map(_letter, term)) for term in (*network.inputs, network.output)]
        sizes = {_letter(label): extent for label, extent in enumerate(network.extents)}
        tree = optimizer.search(letters[:-1], letters[-1], sizes)
    label_of = {_letter(label): label for label in range(len(network.extents))}
    return tree.get_path(), [label_of[letter] for letter in tree.sliced_inds]


def _greedy(network: Network, budget: float, limit: int | None) -> Order:
    from opt_einsum.paths import greedy

    sizes = dict(enumerate(network.extents))
    return greedy([frozenset(term) for term in network.inputs], frozenset(network.output), sizes), ()


def _letter(label: int) -> str:
    return chr(192 + label)


def as_markdown(results: Sequence[Result]) -> str:
    """A table for each limit, a line for each network; then means and the worst, for each time."""
    parts = [
        "log10 of multiplications, all slices together, and log2 of the elements of the largest intermediate of one "
        "slice. Ratio: ours over cotengra's, of multiplications, as factors. Sizes are compared by geometric means.",
        *(_table(results, limit) for limit in dict.fromkeys(one.limit for one in results if one.planner == OURS)),
    ]
    return "\n\n".join(parts)


def _table(results: Sequence[Result], limit: int | None) -> str:
    budgets = sorted({one.budget for one in results if one.planner == OURS})
    lines = ["Without a memory limit:" if limit is None else f"At most {limit:,} bytes:"]
    header = ["network", GREEDY]
    for budget in budgets:
        header += [f"ours, {budget:g} s", f"cotengra, {budget:g} s", "ratio"]
    lines += ["", f"| {' | '.join(header)} |", f"|---|{'---|' * (len(header) - 1)}"]
    by = {(one.network, one.planner, one.budget, one.limit): one for one in results}
    ratios: dict[float, list[tuple[float, float, str]]] = {budget: [] for budget in budgets}
    for name in dict.fromkeys(one.network for one in results):
        cells = [name, _cell(by.get((name, GREEDY, 0.0, None)))]
        for budget in budgets:
            ours, theirs = (by.get((name, planner, budget, limit)) for planner in (OURS, COTENGRA))
            cells += [_cell(ours), _cell(theirs)]
            if ours and theirs and not ours.error and not theirs.error:
                ratio = ours.products - theirs.products
                ratios[budget].append((ratio, ours.size - theirs.size, name))
                cells.append(f"{2**ratio:.3g}")
            else:
                cells.append("–")
        lines.append(f"| {' | '.join(cells)} |")
    for budget, found in ratios.items():
        if found:
            mean = 2 ** (sum(ratio for ratio, _, _ in found) / len(found))
            size = 2 ** (sum(ratio for _, ratio, _ in found) / len(found))
            worst = max(found)
            lines.append(
                f"\n{budget:g} s: geometric mean of flops **{mean:.3f}**, worst {2 ** worst[0]:.3f} ({worst[2]}), of "
                f"sizes {size:.3f}, over {len(found)} networks; longest search "
                f"{_longest(results, OURS, budget, limit)}, cotengra's {_longest(results, COTENGRA, budget, limit)}."
            )
    return "\n".join([*lines, *_beside_files(results, limit)])


def _longest(results: Sequence[Result], planner: str, budget: float, limit: int | None) -> str:
    asked = planner, budget, limit
    return f"{max(one.seconds for one in results if (one.planner, one.budget, one.limit) == asked):.1f} s"


def _beside_files(results: Sequence[Result], limit: int | None) -> Iterator[str]:
    """Ours beside the paths that came with networks of files."""
    given = {one.network: one for one in results if one.planner == FILE and limit is None}
    for one in results:
        if one.planner == OURS and one.limit is None and one.network in given and not one.error:
            ratio = 2 ** (one.products - given[one.network].products)
            yield f"\n{one.network}, {one.budget:g} s: {ratio:.3f} of the flops of the path in the file."


def _cell(result: Result | None) -> str:
    if result is None or result.error:
        return "–" if result is None else result.error.split(":")[0]
    return f"{result.products / log2(10):.2f} / {result.size:.0f}"
