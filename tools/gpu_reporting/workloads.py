"""Workloads of the benchmark: one function over a library's namespace each, and what it costs at the least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from gpu_reporting.subject import Subject


class Workload(NamedTuple):
    """A call, and the least ratio, theirs over ours in time, that is accepted."""

    name: str
    dtype: str  # as NumPy says it
    shapes: Callable[[Subject], tuple[tuple[int, ...], ...]]
    equation: str  # of an einsum; "" where ``call`` computes
    call: str  # name of a function of ``peers.Library``
    accept: float


def _square(whole: int, small: int, count: int) -> Callable[[Subject], tuple[tuple[int, ...], ...]]:
    return lambda subject: ((subject.size(whole, small),) * 2,) * count


CEILINGS: Final = (
    Workload("copy", "float64", lambda s: ((s.size(1 << 27, 64),),), "", "copy", 0.0),
    Workload("F64 product", "float64", _square(8192, 8, 2), "ij,jk->ik", "", 0.97),
    Workload("F32 product", "float32", _square(8192, 8, 2), "ij,jk->ik", "", 0.97),
    Workload("C64 product", "complex128", _square(4096, 8, 2), "ij,jk->ik", "", 0.95),
)
WORKLOADS: Final = (
    Workload(
        "products of small matrices", "float64", lambda s: ((64, 64, s.size(20000, 2)),) * 2, "ijb,jkb->ikb", "", 0.95
    ),
    Workload("transpose", "float64", _square(8192, 8, 1), "ij->ji", "", 1.2),
    Workload("pair of tensors", "float64", lambda s: _pair(s.size(128, 4)), "abc,cbd->ad", "", 1.0),
    Workload("elementwise sum", "float64", _square(8192, 8, 2), "", "add", 0.95),
    Workload("sum along an axis", "float64", _square(8192, 8, 1), "", "sum", 0.9),
    Workload("Cholesky", "float64", _square(8192, 8, 1), "", "cholesky", 0.95),
)


def _pair(extent: int) -> tuple[tuple[int, ...], ...]:
    return (4 * extent, extent, extent), (extent, extent, 4 * extent)
