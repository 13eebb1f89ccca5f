"""How well contraction kernels are chosen: products drawn by seed, each by every kernel that takes it, one thread.

A product costs what the kernel chosen takes over what its fastest takes. Drawn are axes of any order, which einsum of
a user's tensors meets, groups of axes that lie together, as between steps of networks, stacks whose neighbours in
memory are other products, and single matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, inf, log, prod
from random import Random
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from tensor_cpu.kernels.contraction.choice import plan_contraction, plan_numpy
from tensor_cpu.kernels.contraction.gemm import bind_product
from tensor_cpu.kernels.contraction.loops.broadcast import bind_broadcast, plan_broadcast
from tensor_cpu.kernels.contraction.loops.stack import bind_stack, plan_stack
from tensor_cpu.kernels.contraction.native import bind_pair, bind_scatter, large_roles, plan_pair, plan_scatter
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.shared.axes import Labels, Operand, join, row_major
from tensor_runtime.backends.shared.products import MatrixProduct

DTYPES: Final = ("float64", "float64", "float64", "complex128", "float32", "complex64")
EXTENTS: Final = ((2, 3, 4, 5, 6, 8, 16), (2,), (2, 4, 8, 16, 32), (3, 9, 27), (2, 3, 32, 64))
SIDES: Final = (2, 4, 8, 16, 32, 64, 100, 128, 256, 300, 512)
NEIGHBOURS: Final = (8, 12, 16, 32, 60, 96, 126, 200, 400, 1000, 5000)
SIZES: Final = ((8, 12), (12, 15), (15, 17), (17, 19), (19, 22))  # of the largest array, as powers of two
MOST_TERMS: Final = 2e8
RUNS: Final = 4
SLOW: Final = 0.02  # seconds: such a run is made twice
NOTED: Final = 1.15  # products that lose more are told
NAMES: Final = {
    "MatrixProduct": "matrices",
    "PairProduct": "pairs",
    "ScatterProduct": "packed",
    "StackProduct": "stack",
    "TurnedProduct": "turned",
    "BroadcastProduct": "broadcast",
    "Accumulation": "sums",
}


class Trial(NamedTuple):
    """One product: the seconds of each kernel, and which was chosen."""

    subscripts: str
    dtype: str
    seconds: Mapping[str, float]
    chosen: str

    @property
    def loss(self) -> float:
        """What the chosen kernel takes over the fastest."""
        return self.seconds[self.chosen] / min(self.seconds.values())


def measure(seconds: float, seed: int) -> Iterator[Trial]:
    """Products for so many seconds."""
    draw, values = Random(seed), np.random.default_rng(seed).standard_normal(1 << 23)
    until = perf_counter() + seconds
    with tr.set_threads(1):
        while perf_counter() < until:
            operands = _drawn(draw)
            if operands is not None:
                trial = _tried(operands, values)
                if trial is not None:
                    yield trial


def _drawn(draw: Random) -> tuple[Operand, Operand, Operand] | None:
    """Both operands and the result, outermost axis first; None for what nobody would contract."""
    dtype, kind = draw.choice(DTYPES), draw.choice(("any", "any", "groups", "neighbours", "matrices"))
    if kind == "matrices":
        extents, roles = [draw.choice(SIDES) for _ in range(3)], ["xr", "yr", "xy"]
    else:
        chosen = draw.choice(EXTENTS)
        extents = [draw.choice(chosen) for _ in range(draw.randint(3, 9))]
        roles = [draw.choice(("xr", "yr", "xy", "xy", "xyr")) for _ in extents]
    terms = [[label for label, role in enumerate(roles) if name in role] for name in "xyr"]
    for term in terms:
        draw.shuffle(term)
        if kind == "groups":
            order = draw.sample(sorted(set(roles)), k=len(set(roles)))
            term.sort(key=lambda label: order.index(roles[label]))
        elif kind == "neighbours":
            term.append(len(roles))
    extents.append(draw.choice(NEIGHBOURS))
    low, high = draw.choice(SIZES)
    largest = max(prod(extents[label] for label in term) for term in terms)
    used = {label for term in terms for label in term}
    if not all(terms) or not 1 << low <= largest < 1 << high or prod(extents[label] for label in used) > MOST_TERMS:
        return None
    x, y, result = [row_major(tuple(term), tuple(extents[label] for label in term), dtype) for term in terms]
    return x, y, result


def _tried(operands: tuple[Operand, Operand, Operand], values: np.ndarray[Any, Any]) -> Trial | None:
    x, y, result = operands
    kernels = _kernels(x, y, result)
    chosen = NAMES[type(plan_contraction(x, y, result)).__name__]
    if chosen not in kernels or len(kernels) < 2:
        return None
    first, second = (_array(operand, values, place) for operand, place in ((x, 11), (y, 5001)))
    seconds = dict.fromkeys(kernels, inf)
    for run in range(RUNS):
        for name, kernel in kernels.items():
            if run < 2 or seconds[name] < SLOW:  # the first run finds no memory mapped
                began = perf_counter()
                kernel(first, second)
                seconds[name] = min(seconds[name], perf_counter() - began)
    letters = ["".join(chr(97 + label) for label in term) for term in _named(x.labels, y.labels, result.labels)]
    shapes = f"{x.shape} {y.shape}".replace(" ", "")
    return Trial(f"{letters[0]},{letters[1]}->{letters[2]} {shapes}", result.dtype, seconds, chosen)


def _kernels(x: Operand, y: Operand, result: Operand) -> dict[str, Callable[[Any, Any], Any]]:
    """Every kernel that takes these operands, by name."""
    axes, large = join(x, y, result), large_roles((x.size, y.size, result.size), result.dtype)
    found: dict[str, Callable[[Any, Any], Any] | None] = {}
    pairs, packed = plan_pair(axes, result.dtype, large), plan_scatter(axes, x, y, large)
    if pairs.longest_table <= LIBRARY.LONGEST_TABLE:
        found["pairs"] = bind_pair(pairs, result)
    if packed.longest_table <= LIBRARY.LONGEST_TABLE:
        found["packed"] = bind_scatter(packed, result)
    matrices, stack = plan_numpy(axes, x, y, result), plan_stack(axes, x, y, result)
    if isinstance(matrices, MatrixProduct):
        found["matrices"] = bind_product(matrices, x, y, result)
    broadcast = plan_broadcast(axes, x, y, result)
    if broadcast is not None:
        found["broadcast"] = bind_broadcast(broadcast, result)
    if stack is not None:
        found["stack"] = bind_stack(stack, result)
    return {name: kernel for name, kernel in found.items() if kernel is not None}


def _array(operand: Operand, values: np.ndarray[Any, Any], place: int) -> np.ndarray[Any, Any]:
    drawn = values[place : place + operand.size].reshape(operand.shape).astype(operand.dtype)
    return drawn * (1 + 0.5j) if operand.dtype.startswith("complex") else drawn


def _named(*terms: Labels) -> list[list[int]]:
    """Labels by their first occurrence."""
    known: dict[int, int] = {}
    return [[known.setdefault(label, len(known)) for label in term] for term in terms]


def as_markdown(trials: Sequence[Trial], top: int) -> str:
    """What the choice loses, by what was chosen and what was fastest, and the products that lose most."""
    losses = [trial.loss for trial in trials]
    chosen = sum(trial.seconds[trial.chosen] for trial in trials)
    fastest = sum(min(trial.seconds.values()) for trial in trials)
    lines = [
        f"{len(trials)} products; of the fastest kernel's time: geometric mean {_mean(losses):.3f}, "
        f"of all together {chosen / fastest:.3f}, worst {max(losses):.1f}",
        "",
        f"| chosen | fastest | of them above {NOTED} | geometric mean of these |",
        "|---|---|--:|--:|",
    ]
    groups: dict[tuple[str, str], list[float]] = {}
    for trial in trials:
        if trial.loss > NOTED:
            best = min(trial.seconds, key=lambda name: trial.seconds[name])
            groups.setdefault((trial.chosen, best), []).append(trial.loss)
    for (name, best), values in sorted(groups.items(), key=lambda group: -len(group[1])):
        lines.append(f"| {name} | {best} | {len(values)} | {_mean(values):.2f} |")
    lines += ["", "| product | type | loss | µs by kernel |", "|---|---|--:|---|"]
    for trial in sorted(trials, key=lambda trial: -trial.loss)[:top]:
        times = ", ".join(f"{name} {1e6 * seconds:.0f}" for name, seconds in trial.seconds.items())
        lines.append(f"| {trial.subscripts} | {trial.dtype} | {trial.loss:.2f} | {times}; chosen: {trial.chosen} |")
    return "\n".join(lines)


def _mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values)) if values else 1.0
