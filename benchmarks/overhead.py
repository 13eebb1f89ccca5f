"""The fixed cost of a call: tiny operands, so that nothing but the way to the kernel is measured.

Every row has the same statement for each contender, such as ``f(a, b)``, with local names. The bounds are this
project's own; a row falls short when the whole 95 % interval of its ratio lies above the bound. Rows without a bound
are there to be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from statistics import median
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

import tensor_runtime as tr
from benchmarks.machine import has_torch
from benchmarks.timing import Spread, Stopwatch, interleave, ratio, stopwatch
from tensor_einsum import einsum, plan_cache

OURS, NUMPY, TORCH = "ours", "numpy", "torch"


class Row(NamedTuple):
    """One call: what each contender runs, and how many times NumPy's time ours may take."""

    name: str
    contenders: Mapping[str, Stopwatch]
    bound: float | None


class Result(NamedTuple):
    """What was measured for a row; nanoseconds."""

    name: str
    bound: float | None
    samples: dict[str, list[float]]

    @property
    def to_numpy(self) -> Spread:
        """Ours over NumPy's."""
        return ratio(self.samples[OURS], self.samples[NUMPY])

    @property
    def to_torch(self) -> Spread | None:
        """Ours over PyTorch's, if it is there."""
        return ratio(self.samples[OURS], self.samples[TORCH]) if TORCH in self.samples else None

    @property
    def verdict(self) -> str:
        """Whether the bound is kept."""
        if self.bound is None:
            return ""
        return "falls short" if self.to_numpy.low > self.bound else "kept"


def measure(rounds: int = 41) -> Iterator[Result]:
    """Every row, one after the other, contenders of a row interleaved."""
    for row in rows():
        yield Result(row.name, row.bound, interleave(row.contenders, rounds=rounds))


def rows() -> Iterator[Row]:
    """The calls with a bound, then the others."""
    random = np.random.default_rng(0)
    two, three, four, five = (np.asfortranarray(random.random((n, n))) for n in (2, 2, 4, 4))
    six = np.asfortranarray(random.random((4, 4)))
    torch = _torch()

    def row(
        name: str, statement: str, ours: Any, numpy: Any, peer: str, arrays: dict[str, Any], bound: float | None = None
    ) -> Row:
        return Row(name, _contenders(statement, ours, numpy, _peer(torch, peer), arrays), bound)

    pair, products = {"a": two, "b": three}, {"a": four, "b": five}
    chain = {"s": "ij,jk,kl->il", **products, "c": six}
    yield row("add 2×2: `add(a, b)`", "f(a, b)", tr.add, np.add, "add", pair, 2.2)
    yield row("add 2×2: `a + b`", "a + b", None, None, "", pair)
    yield row("matmul 4×4: `matmul(a, b)`", "f(a, b)", tr.matmul, np.matmul, "matmul", products, 1.2)
    yield row("matmul 4×4: `a @ b`", "a @ b", None, None, "", products)
    yield row("einsum of two 4×4", "f(s, a, b)", einsum, np.einsum, "einsum", {"s": "ij,jk->ik", **products}, 0.6)
    yield row("einsum of three 4×4", "f(s, a, b, c)", einsum, np.einsum, "einsum", chain, 0.6)
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


def _transpose_row(array: Any, torch: Any) -> Row:
    """A view by explicit axes: NumPy's fastest spelling is the method ``x.transpose(axes)``."""
    contenders = {
        OURS: stopwatch("f(a, axes)", f=tr.transpose_view, a=_native(OURS, array), axes=(1, 0)),
        NUMPY: stopwatch("a.transpose(axes)", a=_native(NUMPY, array), axes=(1, 0)),
    }
    if torch is not None:
        contenders[TORCH] = stopwatch("a.permute(axes)", a=_native(TORCH, array), axes=(1, 0))
    return Row("transpose view: `transpose_view(a, axes)`, NumPy's `a.transpose(axes)`", contenders, 4.0)


def _alternating_row(torch: Any) -> Row:
    """One hundred shapes in turn, so that no look-up finds what the one before it found."""
    shapes = [(m, n) for m in range(1, 11) for n in range(1, 11)]
    arrays = [np.ones(shape) for shape in shapes]
    functions = {OURS: tr.add, NUMPY: np.add} | ({TORCH: torch.add} if torch is not None else {})

    def watch(contender: str, function: Any) -> Stopwatch:
        timer = stopwatch("for x in many: f(x, x)", f=function, many=[_native(contender, array) for array in arrays])
        return lambda number: timer(number) / len(arrays)

    return Row(
        "add, 100 alternating forms, per call",
        {name: watch(name, function) for name, function in functions.items()},
        None,
    )


def as_markdown(results: list[Result], misses: dict[str, float]) -> str:
    """The table of a run."""
    lines = [
        "| call | ours | NumPy | torch | ours/NumPy: of minima | median (95 % interval) | bound | | ours/torch |",
        "|---|---:|---:|---:|---:|---:|---:|---|---:|",
    ]
    for result in results:
        cells = [result.name]
        for contender in (OURS, NUMPY, TORCH):
            samples = result.samples.get(contender)
            cells.append(f"{min(samples):.0f} ({median(samples):.0f})" if samples else "not installed")
        minima = min(result.samples[OURS]) / min(result.samples[NUMPY])
        cells += [f"{minima:.2f}", str(result.to_numpy), "" if result.bound is None else f"{result.bound:g}"]
        cells += [result.verdict, str(result.to_torch or "–")]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Nanoseconds per call: minimum (median).", "", "| first call, nothing bound | µs |", "|---|---:|"]
    lines += [f"| {name} | {nanoseconds / 1000:.0f} |" for name, nanoseconds in misses.items()]
    return "\n".join(lines)


def as_json(results: list[Result], misses: dict[str, float]) -> dict[str, Any]:
    """Every sample of a run."""
    return {"rows": [result._asdict() for result in results], "miss_ns": misses}
