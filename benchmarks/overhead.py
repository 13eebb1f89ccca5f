"""The fixed cost of a call: tiny operands, so that nothing but the way to the kernel is measured.

Every row has the same statement for each contender, such as ``f(a, b)``, with local names. The bounds are this
project's own; a row is missed when the whole 95 % interval of its ratio lies above the bound. Rows without a bound
are there to be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from statistics import median
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from benchmarks.everyday_calls import watches
from benchmarks.machine import has_torch
from benchmarks.measuring import Outcome
from benchmarks.rows import OURS, Row, Target
from benchmarks.timing import Stopwatch, interleave, stopwatch
from tensor_einsum import einsum, plan_cache

NUMPY, TORCH = "numpy", "torch"
TORCH_BOUND: Final = 0.4
"""Of every call that has a bound beside NumPy, transposition aside."""


class Call(NamedTuple):
    """One call: what each contender runs, and how many times a peer's time ours may take."""

    name: str
    contenders: Mapping[str, Stopwatch]
    bounds: Mapping[str, float]


def measure(rounds: int = 41) -> Iterator[Outcome]:
    """Every call, one after the other, contenders of a call interleaved."""
    missing = {} if has_torch() else {TORCH: "not installed"}
    for call in calls():
        samples = interleave(call.contenders, rounds=rounds)
        targets = tuple(Target(peer, {1: bound}) for peer, bound in call.bounds.items())
        seconds = {name: [value / 1e9 for value in values] for name, values in samples.items()}
        yield Outcome(Row(call.name, "calls", "", targets=targets), 1, seconds, missing, {})


def calls() -> Iterator[Call]:
    """The calls with a bound, then the others."""
    random = np.random.default_rng(0)
    two, three, four, five = (np.asfortranarray(random.random((n, n))) for n in (2, 2, 4, 4))
    six = np.asfortranarray(random.random((4, 4)))
    torch = _torch()

    def row(
        name: str, statement: str, ours: Any, numpy: Any, peer: str, arrays: dict[str, Any], bound: float | None = None
    ) -> Call:
        bounds = {} if bound is None else {NUMPY: bound, TORCH: TORCH_BOUND}
        return Call(name, _contenders(statement, ours, numpy, _peer(torch, peer), arrays), bounds)

    pair, products = {"a": two, "b": three}, {"a": four, "b": five}
    chain = {"s": "ij,jk,kl->il", **products, "c": six}
    yield row("add 2×2: `add(a, b)`", "f(a, b)", tr.add, np.add, "add", pair, 1.3)
    yield row("add 2×2: `a + b`", "a + b", None, None, "", pair)
    yield row("matmul 4×4: `matmul(a, b)`", "f(a, b)", tr.matmul, np.matmul, "matmul", products, 0.6)
    yield row("matmul 4×4: `a @ b`", "a @ b", None, None, "", products)
    yield row("einsum of two 4×4", "f(s, a, b)", einsum, np.einsum, "einsum", {"s": "ij,jk->ik", **products}, 0.25)
    yield row("einsum of three 4×4", "f(s, a, b, c)", einsum, np.einsum, "einsum", chain, 0.25)
    yield _transpose_row(four, torch)
    yield row("transpose view: `transpose(a)`", "f(a)", tr.transpose, np.transpose, "t", {"a": four})
    yield row("transpose view: `a.T`", "a.T", None, None, "", {"a": four})
    yield row("slice view: `a[1:3]`", "a[1:3]", None, None, "", {"a": four})
    for dtype in ("float32", "complex128"):
        same = {name: value.astype(dtype) for name, value in pair.items()}
        yield row(f"add 2×2, {dtype} ({tr.asarray(same['a']).dtype})", "f(a, b)", tr.add, np.add, "add", same)
    yield row("add 2×2 and a Python float", "f(a, x)", tr.add, np.add, "add", {"a": two, "x": 2.0})
    yield row("add (4, 4) and (4,), broadcast", "f(a, b)", tr.add, np.add, "add", {"a": four, "b": five[0].copy()})
    thousand = {"a": random.random(1000), "b": random.random(1000)}
    yield row("add 1000", "f(a, b)", tr.add, np.add, "add", thousand)
    yield _alternating_row(torch)
    for everyday, ours, theirs in watches():
        contenders = {OURS: ours} | ({everyday.peer: theirs} if theirs else {})
        yield Call(f"`{everyday.ours}`, beside `{everyday.peers}`", contenders, {everyday.peer: everyday.bound})


def miss_costs(repeats: int = 100) -> dict[str, float]:
    """Median nanoseconds of a call that finds nothing bound, after the caches were cleared."""
    a = tr.asarray(np.ones((4, 4)))
    b = tr.asarray(np.ones((4, 4)))

    def first_call(call: Callable[[], object], clear: Callable[[], object]) -> float:
        samples = []
        for _ in range(repeats):
            clear()
            start = perf_counter_ns()
            call()
            samples.append(perf_counter_ns() - start)
        return median(samples)

    def clear_all() -> None:
        tr.binding_cache.clear()
        plan_cache.clear()

    return {
        "add": first_call(lambda: tr.add(a, b), tr.binding_cache.clear),
        "matmul": first_call(lambda: tr.matmul(a, b), tr.binding_cache.clear),
        "transpose": first_call(lambda: tr.transpose(a), tr.binding_cache.clear),
        "einsum of two, plan cached": first_call(lambda: einsum("ij,jk->ik", a, b), tr.binding_cache.clear),
        "einsum of two, no plan": first_call(lambda: einsum("ij,jk->ik", a, b), clear_all),
        "einsum of three, no plan": first_call(lambda: einsum("ij,jk,kl->il", a, b, a), clear_all),
    }


def _torch() -> Any:
    if not has_torch():
        return None
    torch = import_module("torch")
    torch.set_num_threads(1)
    return torch


def _peer(torch: Any, name: str) -> Any:
    return None if torch is None or not name else getattr(torch, name)


def _contenders(statement: str, ours: Any, numpy: Any, peer: Any, arrays: dict[str, Any]) -> dict[str, Stopwatch]:
    """The statement with our tensors, with NumPy's arrays and with PyTorch's tensors of the same values."""
    functions = {OURS: ours, NUMPY: numpy} | ({TORCH: peer} if has_torch() else {})
    watches = {}
    for contender, function in functions.items():
        names = {name: _native(contender, value) for name, value in arrays.items()}
        watches[contender] = stopwatch(statement, **({"f": function} if function is not None else {}), **names)
    return watches


def _native(contender: str, value: Any) -> Any:
    if not isinstance(value, np.ndarray) or contender == NUMPY:
        return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
    if contender == OURS:
        return tr.asarray(value, copy=True)
    return import_module("torch").from_numpy(np.ascontiguousarray(value))


def _transpose_row(array: Any, torch: Any) -> Call:
    """A view by explicit axes: NumPy's fastest spelling is the method ``x.transpose(axes)``."""
    contenders = {
        OURS: stopwatch("f(a, axes)", f=tr.transpose_view, a=_native(OURS, array), axes=(1, 0)),
        NUMPY: stopwatch("a.transpose(axes)", a=_native(NUMPY, array), axes=(1, 0)),
    }
    if torch is not None:
        contenders[TORCH] = stopwatch("a.permute(axes)", a=_native(TORCH, array), axes=(1, 0))
    return Call("transpose view: `transpose_view(a, axes)`, NumPy's `a.transpose(axes)`", contenders, {NUMPY: 4.0})


def _alternating_row(torch: Any) -> Call:
    """One hundred shapes in turn, so that no look-up finds what the one before it found."""
    shapes = [(m, n) for m in range(1, 11) for n in range(1, 11)]
    arrays = [np.ones(shape) for shape in shapes]
    functions = {OURS: tr.add, NUMPY: np.add} | ({TORCH: torch.add} if torch is not None else {})

    def watch(contender: str, function: Any) -> Stopwatch:
        timer = stopwatch("for x in many: f(x, x)", f=function, many=[_native(contender, array) for array in arrays])
        return lambda number: timer(number) / len(arrays)

    return Call(
        "add, 100 alternating forms, per call",
        {name: watch(name, function) for name, function in functions.items()},
        {},
    )


def misses_as_markdown(misses: dict[str, float]) -> str:
    """What a call costs that finds nothing bound."""
    lines = ["| first call, nothing bound | µs |", "|---|---:|"]
    lines += [f"| {name} | {nanoseconds / 1000:.0f} |" for name, nanoseconds in misses.items()]
    return "\n".join(lines)
