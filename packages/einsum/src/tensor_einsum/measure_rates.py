"""Measures the rates of the cost model on this machine: contractions of several kinds and sizes, timed and fitted.

The fit is of whole contractions as plans run them, so it has in it what kernels, threads and memory make of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from sys import float_info
from time import perf_counter
from typing import Any, Final

from tensor_core.dtypes import C32, C64, F32, F64, I64, DType, DTypeLike, as_dtype
from tensor_core.errors import ArgumentError, shortened
from tensor_einsum.plans.plan import Plan
from tensor_einsum.search.calibration import Calibration, fit
from tensor_einsum.search.measure import moved
from tensor_runtime.ops.creation import ones

DTYPES: Final = (F32, F64, C32, C64, I64)
_CHAIN: Final = ",".join(f"{chr(97 + k)}{chr(98 + k)}" for k in range(12)) + "->am"
CASES: Final[tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]] = (
    ("ij,jk->ik", ((256, 256), (256, 256))),
    ("ij,jk->ik", ((512, 512), (512, 512))),
    ("ij,jk->ik", ((1024, 16), (16, 1024))),
    ("ij,jk->ik", ((64, 64), (64, 64))),
    ("ij,jk->ik", ((4096, 128), (128, 4))),
    ("aibj,jcdb->icad", ((16, 16, 16, 16), (16, 16, 4, 16))),  # labels in scattered order, as in networks
    ("abcdefgh,bdfhij->acegij", ((4,) * 8, (4,) * 6)),
    ("abcdefghij,jbk->acdefghik", ((4,) * 10, (4,) * 3)),
    ("i,j->ij", ((2048,), (512,))),
    ("ij,ij->ij", ((1024, 1024), (1024, 1024))),
    ("bij,bjk->bik", ((256, 16, 16), (256, 16, 16))),
    (_CHAIN, ((2, 2),) * 12),
    (_CHAIN, ((8, 8),) * 12),
    (_CHAIN, ((32, 32),) * 12),
)
"""Notations and shapes; chains have many steps for little work."""


def calibrate(
    *, dtypes: Sequence[DTypeLike] = DTYPES, seconds: float = 10.0, on_case: Callable[[int, int], object] | None = None
) -> Calibration:
    """Measure how fast this machine contracts, with as many threads as kernels may use now.

    Args:
        dtypes: which to measure; others count as F64 does.
        seconds: about how long all takes together.
        on_case: called as ``on_case(done, total)`` after each measurement.

    Returns:
        A calibration, to be given as ``objective=``, or to be kept as a file by its ``to_json``.

    Raises:
        ArgumentError: no dtype, or no positive number of seconds.
        DTypeError: an unknown dtype.

    >>> from tensor_core import F64
    >>> calibrate(dtypes=[F64], seconds=0.01).cost_model.of(F64).flop_rate > 0
    True
    """
    given: Any = dtypes
    chosen = [*map(as_dtype, given)] if isinstance(given, Sequence) and not isinstance(given, str) else []
    if not chosen or type(seconds) not in (int, float) or not 0 < seconds <= float_info.max:
        raise ArgumentError(
            f"calibrate: found dtypes={shortened(dtypes)} and seconds={shortened(seconds)}; accepted: a list of one "
            "dtype or more, and a positive number"
        )
    from os import cpu_count
    from platform import machine

    total = len(chosen) * len(CASES)
    rates, done = {}, 0
    for dtype in chosen:
        measured = []
        for one in _measured(dtype, seconds / total):
            measured.append(one)
            done += 1
            if on_case is not None:
                on_case(done, total)
        rates[dtype] = fit(measured)
    return Calibration(rates, f"{machine()}, {cpu_count()} processors")


def _measured(dtype: DType, seconds: float) -> Iterator[tuple[float, float, float, float]]:
    from tensor_einsum.api import plan

    for notation, shapes in CASES:
        found = plan(notation, *shapes, dtype=dtype, optimize="greedy")
        operands = [ones(shape, dtype=dtype) for shape in shapes]
        yield float(found.flops), elements_moved(found), float(len(found.steps)), _fastest(found, operands, seconds)


def elements_moved(plan: Plan) -> float:
    """Elements that the steps of a plan read and write, as the cost model counts them.

    >>> from tensor_einsum import plan
    >>> elements_moved(plan("ij,jk->ik", (2, 3), (3, 4)))
    26.0
    """
    sizes = [prod(shape) for shape in plan.shapes]
    total = 0
    for step in plan.steps:
        sizes.append(step.size)
        total += sum(moved(sizes[slot]) for slot in (*step.operands, -1))
    return float(total)


def _fastest(plan: Plan, operands: Sequence[Any], seconds: float) -> float:
    """The shortest of calls for so long, at least three; the first one binds and is not counted."""
    plan(*operands)
    best, until, calls = float("inf"), perf_counter() + seconds, 0
    while calls < 3 or perf_counter() < until:
        begun = perf_counter()
        plan(*operands)
        best = min(best, perf_counter() - begun)
        calls += 1
    return best
