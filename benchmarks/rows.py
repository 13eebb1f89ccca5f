"""What a benchmark consists of: rows of data, which name an operation, its operands, its limit and its targets.

A row computes nothing. The parent sends it to one process per contender, where an adapter (``benchmarks.contenders``)
knows the operation by its name. Shapes are row-major, as the peers read them; we read the same memory with all axes
reversed. Sizes are in bytes and work is in floating-point operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final, NamedTuple

ELEMENT_BYTES: Final = {"F32": 4, "F64": 8, "C32": 8, "C64": 16, "I32": 4, "I64": 8, "Bool": 1}
BEST: Final = "best"
"""As ``Target.against``: the contender with the lowest median, ours aside."""
LIMIT: Final = "limit"
"""As ``Target.against``: the physical limit of the row."""
OURS: Final = "ours"
BEFORE: Final = "before"
"""Ours, in the environment of another checkout."""


class Operand(NamedTuple):
    """An operand: its row-major shape, how it is drawn (see ``benchmarks.drawing``), and its dtype as we name it."""

    shape: tuple[int, ...]
    kind: str = "uniform"
    dtype: str = "F64"

    @property
    def bytes(self) -> int:
        """Bytes of all elements.

        >>> Operand((2, 3)).bytes
        48
        """
        return prod(self.shape) * ELEMENT_BYTES[self.dtype]


class Target(NamedTuple):
    """The most that our time may be, divided by another's; the key of ``bounds`` is the number of threads."""

    against: str
    bounds: Mapping[int, float]

    def bound(self, threads: int) -> float | None:
        """The bound at this number of threads, if there is one.

        >>> Target(BEST, {1: 0.33}).bound(1), Target(BEST, {1: 0.33}).bound(2)
        (0.33, None)
        """
        return self.bounds.get(threads)


class GroupTarget(NamedTuple):
    """The most that the geometric mean of a group's ratios to the best contender may be."""

    group: str
    bounds: Mapping[int, float]


class Limit(NamedTuple):
    """What no implementation can beat on this machine: the bytes it must move, or the work it must do.

    ``moved`` bytes are read or written, as a warm copy of half as many bytes does; ``flops`` are done at the rate of a
    large matrix product. The longer of the two times is the limit; what is not known is 0. Of a network, each of the
    ``steps`` has such a limit of its own (``benchmarks.step_limits``), and their sum is that of the row.
    """

    moved: int = 0
    flops: float = 0.0
    steps: tuple[tuple[int, ...], ...] = ()


class Row(NamedTuple):
    """One operation on given operands."""

    name: str
    group: str
    operation: str
    operands: tuple[Operand, ...] = ()
    arguments: Mapping[str, Any] = {}
    targets: tuple[Target, ...] = ()
    limit: Limit | None = None
    tolerance: float = 1e-12
    """Relative: of each element on positive data, of the largest element on signed data; 0 asks for equality."""
    check_also: str = ""
    """A kind of drawing on which the results are compared, too, before the timed one."""
    graded: str | None = None
    """A kind of drawing whose small values show how precise a decomposition is; "" for errors without such values."""

    def as_request(self) -> dict[str, Any]:
        """What an adapter needs of this row, in words of JSON."""
        return {
            "operation": self.operation,
            "operands": [list(operand) for operand in self.operands],
            "arguments": dict(self.arguments),
            "tolerance": self.tolerance,
        }


class Contender(NamedTuple):
    """A library in one spelling: where its table of operations is, and what must be installed for it."""

    name: str
    module: str
    table: str
    needs: tuple[str, ...]
    fresh: bool = True
    """Whether it is a peer that makes its result anew, as we do; others are shown, and are never the best one."""


CONTENDERS: Final = {
    contender.name: contender
    for contender in (
        Contender(OURS, "benchmarks.contenders.ironstride", "OPERATIONS", ()),
        Contender(BEFORE, "benchmarks.contenders.ironstride", "OPERATIONS", (), fresh=False),
        Contender("numpy", "benchmarks.contenders.numpy_scipy", "NUMPY", ()),
        Contender("numpy out=", "benchmarks.contenders.numpy_scipy", "NUMPY_INTO", (), fresh=False),
        Contender("scipy", "benchmarks.contenders.numpy_scipy", "SCIPY", ("scipy",)),
        Contender("numexpr", "benchmarks.contenders.numexpr_cpu", "OPERATIONS", ("numexpr",)),
        Contender("torch", "benchmarks.contenders.torch_cpu", "OPERATIONS", ("torch",)),
        Contender("jax", "benchmarks.contenders.jax_cpu", "OPERATIONS", ("jax",)),
        Contender("opt_einsum numpy", "benchmarks.contenders.expressions", "NUMPY", ("opt_einsum",)),
        Contender("opt_einsum torch", "benchmarks.contenders.expressions", "TORCH", ("opt_einsum", "torch")),
        Contender("cotengra numpy", "benchmarks.contenders.expressions", "COTENGRA", ("cotengra",)),
        Contender("opt_einsum jax", "benchmarks.contenders.expressions", "JAX", ("opt_einsum", "jax")),
        Contender(LIMIT, "benchmarks.contenders.limits", "OPERATIONS", ()),
    )
}
