"""How reductions are shared out: which axes are folded, by how many threads for each result, in how many parts."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tensor_core.shapes import Shape
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.program import Argument, Program
from tensor_gpu.kernels.walks import walk
from tensor_runtime.form import Form

ENOUGH = 1 << 15  # threads that keep a device busy
SHARE = 16  # elements that are worth a thread


class Share(NamedTuple):
    """How a launch shares the work."""

    kept: tuple[Shape, Shape]  # extents and strides
    folded: tuple[Shape, Shape]
    size: int  # results
    each: int  # elements of a result
    lanes: int
    neighbours: bool
    chunk: int
    parts: int

    @property
    def fixed(self) -> tuple[int, ...]:
        """The arguments of a launch after the addresses."""
        return self.size, self.each, self.chunk, self.parts, *self.walks

    @property
    def walks(self) -> tuple[int, ...]:
        """Extents and strides of both kinds of axes."""
        return *self.kept[0], *self.kept[1], *self.folded[0], *self.folded[1]

    @property
    def threads(self) -> int:
        """Of a launch that gives each part of each result its lanes."""
        rows = MOST_THREADS // self.lanes
        return -(-self.size * self.parts // rows) * MOST_THREADS


def share(form: Form, axes: Sequence[int], /, *, row_major: bool = False) -> Share:
    """How the elements of a form are folded over axes.

    Args:
        form: of the operand; it has elements.
        axes: which are folded, in any order.
        row_major: whether the elements of a result count in row-major order; else their order does not matter.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> found = share(form_of(F64, (64, 64, 1000), CPU), (0, 1))
    >>> found.size, found.each, found.lanes, found.neighbours, found.parts
    (1000, 4096, 256, True, 1)
    >>> share(form_of(F64, (1 << 20,), CPU), (0,)).parts
    128
    """
    kept_axes = [axis for axis in range(form.rank) if axis not in axes]
    kept = walk(tuple(form.shape[axis] for axis in kept_axes), [tuple(form.strides[axis] for axis in kept_axes)])
    order = sorted(axes, reverse=True) if row_major else sorted(axes, key=lambda axis: abs(form.strides[axis]))
    folded = walk(tuple(form.shape[axis] for axis in order), [tuple(form.strides[axis] for axis in order)])
    size, count = prod(kept.extents), prod(folded.extents)
    nearest = [min(map(abs, one.strides[0]), default=form.size + 1) for one in (kept, folded)]
    neighbours = nearest[1] < nearest[0]
    if neighbours:
        lanes = MOST_THREADS if count >= 4 * MOST_THREADS else min(_power(count), 32)
    else:  # as many results side by side as fill lines of memory
        lanes = min(_power(count), _power(-(-ENOUGH // size)), 32 if size >= 8 else MOST_THREADS)
    parts = 1
    if size * lanes < ENOUGH:
        parts = max(1, min(count // (lanes * SHARE), ENOUGH // (size * lanes)))
    if size * count <= 8 * ENOUGH or parts == 1:
        parts = 1
    chunk = -(-count // parts)
    parts = -(-count // chunk)
    return Share(
        (kept.extents, kept.strides[0]),
        (folded.extents, folded.strides[0]),
        size,
        count,
        lanes,
        neighbours,
        chunk,
        parts,
    )


def of_parts(first: Share, /) -> Share:
    """How the results for parts are folded, which lie side by side: the second launch.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> of_parts(share(form_of(F64, (1 << 20,), CPU), (0,))).each
    128
    """
    size, parts = first.size, first.parts
    lanes = min(_power(parts), 32 if size > 1 else MOST_THREADS)
    return Share(((size,), (1,)), ((parts,), (size,)), size, parts, lanes, size == 1, parts, 1)


def submit(
    executor: Executor,
    program: Program,
    one: Share,
    target: DeviceArray,
    sources: Sequence[DeviceArray],
    rest: Sequence[Argument] | None = None,
    /,
) -> None:
    """Submit a launch of a reduction.

    >>> from tensor_core import F64
    >>> from tensor_gpu.programs.reduction import Folding, fold_program
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, total = bench.put([1.0, 2.0, 3.0]), bench.put(0.0)
    >>> one = share(x.form, (0,))
    >>> program = fold_program(Folding("sum", F64, F64, 0, 1, one.lanes, one.neighbours))
    >>> submit(bench.executor, program, one, total.array, (x.array,))
    >>> bench.get(total)
    6.0
    """
    arguments = (target.address, *(source.address for source in sources), *(one.fixed if rest is None else rest))
    executor.launch(program, one.threads, arguments, reads=sources, writes=(target,))


def _power(number: int) -> int:
    """The largest power of 2 up to a number, and to the threads of a block."""
    return min(1 << (max(number, 1).bit_length() - 1), MOST_THREADS)
