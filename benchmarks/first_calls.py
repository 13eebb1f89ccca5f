"""Plans and first calls of networks, nothing kept from before: ours beside opt_einsum on NumPy, in turns.

``plan`` is ``tensor_einsum.plan`` and ``opt_einsum.contract_path`` with the greedy search; opt_einsum's has counted
costs then, which ours does when they are read, in a row of its own. A first call plans, binds kernels and runs
(``einsum``, ``opt_einsum.contract``); a warm call is a cached ``einsum`` and a prepared expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np
import opt_einsum

import tensor_runtime as tr
from benchmarks.networks import random_bonds
from benchmarks.timing import Spread, median_spread
from tensor_einsum import einsum, plan, plan_cache
from tensor_einsum.notation.reading import notation_cache
from tensor_runtime.backends.bindings import binding_cache

SIZES: Final = (2, 3, 5, 10, 100, 400)


class Row(NamedTuple):
    """One network and one kind of call; milliseconds, and ours over opt_einsum's, turn by turn."""

    network: str
    call: str
    ours: float
    peer: float
    ratio: Spread


def measure(rounds: int = 15) -> Iterator[Row]:
    """Chains and random networks of each size."""
    for size in SIZES:
        yield from _rows(f"chain of {size}", *_chain(size), rounds)
        if size == 2:  # there is but one order
            continue
        network = random_bonds(size, seed=size)
        yield from _rows(network.name, network.notation, network.shapes, rounds)


def _chain(size: int) -> tuple[str, list[tuple[int, ...]]]:
    letters = [opt_einsum.get_symbol(label) for label in range(size + 1)]
    terms = [a + b for a, b in pairwise(letters)]
    return f"{','.join(terms)}->{letters[0]}{letters[-1]}", [(8, 8)] * size


def _rows(name: str, notation: str, shapes: list[tuple[int, ...]], rounds: int) -> Iterator[Row]:
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(shape) for shape in shapes]
    tensors = [tr.asarray(array) for array in arrays]
    expression = opt_einsum.contract_expression(notation, *shapes, optimize="greedy")
    calls: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "plan, greedy": (
            lambda: plan(notation, *shapes, optimize="greedy"),
            lambda: opt_einsum.contract_path(notation, *shapes, shapes=True, optimize="greedy"),
        ),
        "plan, greedy, and its costs": (
            lambda: plan(notation, *shapes, optimize="greedy").flops,
            lambda: opt_einsum.contract_path(notation, *shapes, shapes=True, optimize="greedy"),
        ),
        "first call, greedy": (
            lambda: einsum(notation, *tensors, optimize="greedy"),
            lambda: opt_einsum.contract(notation, *arrays, optimize="greedy"),
        ),
        "first call, auto": (
            lambda: einsum(notation, *tensors),
            lambda: opt_einsum.contract(notation, *arrays, optimize="auto"),
        ),
        "warm call": (lambda: einsum(notation, *tensors), lambda: expression(*arrays)),
    }
    for call, pair in calls.items():
        samples: tuple[list[float], list[float]] = ([], [])
        for turn in range(rounds + 1):
            for which in (0, 1) if turn % 2 else (1, 0):
                if which == 0 and call != "warm call":
                    for cache in (plan_cache, binding_cache, notation_cache):
                        cache.clear()
                begun = perf_counter()
                pair[which]()
                if turn:  # the first one imports
                    samples[which].append((perf_counter() - begun) * 1e3)
        ratios = [ours / peer for ours, peer in zip(*samples, strict=True)]
        yield Row(name, call, median(samples[0]), median(samples[1]), median_spread(ratios))


def as_markdown(rows: list[Row]) -> str:
    """The table of a run."""
    lines = ["| network | call | ours, ms | opt_einsum, ms | ratio (95 %) |", "|---|---|---:|---:|---|"]
    lines += [f"| {row.network} | {row.call} | {row.ours:.3g} | {row.peer:.3g} | {row.ratio} |" for row in rows]
    return "\n".join(lines)
