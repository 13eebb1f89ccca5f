"""Running sums and products: one launch; lines of which there are few, and long ones, in segments by three."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.walks import walk
from tensor_gpu.programs.reduction import Folding, accumulator, fold_program
from tensor_gpu.programs.scan import SCANS, scan_program
from tensor_runtime.contracts.reduction import ScanParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.ops.scan import one_axis
from tensor_runtime.protocols import Kernel

FEW: Final = 128  # lines that do not fill a device
SEGMENT: Final = 4096  # elements, at least


def bind_scan(executor: Executor, name: str, operands: tuple[Form], result: Form, params: ScanParams, /) -> Kernel:
    """Sums or products of the elements up to each one.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("cumsum", bench.put([[1.0, 2.0], [3.0, 4.0]]), params=ScanParams(0))
    [[1.0, 2.0], [4.0, 6.0]]
    """
    (form,) = operands
    if not result.size:
        return lambda array: executor.empty(result)
    axis = one_axis(name, form.rank, params.axis)
    beside = [place for place in range(form.rank) if place != axis]
    shape = tuple(form.shape[place] for place in beside)
    axes = walk(shape, [tuple(one.strides[place] for place in beside) for one in (result, form)])
    size, count, rank = prod(shape), form.shape[axis], len(axes.extents)
    by_blocks = count > 2 * MOST_THREADS or (size < 1 << 14 and count > 32)
    program = scan_program(name, form.dtype, result.dtype, rank, by_blocks)
    segments = -(-count // SEGMENT) if size < FEW and by_blocks else 1
    chunk = -(-count // min(segments, 1 << 12))
    segments = -(-count // chunk)
    along = (result.strides[axis], form.strides[axis])
    fixed = (size, count, chunk, segments, *along, *axes.extents, *axes.strides[0], *axes.strides[1])
    threads = size * segments * (MOST_THREADS if by_blocks else 1)
    if segments == 1:

        def scan(array: DeviceArray) -> DeviceArray:
            target = executor.empty(result)
            arguments = (target.address, array.address, 0, *fixed)
            executor.launch(program, threads, arguments, reads=(array,), writes=(target,))
            return target

        return scan
    wide = accumulator(SCANS[name], form.dtype, result.dtype)
    fold = fold_program(Folding(SCANS[name], form.dtype, wide, rank, 1, MOST_THREADS, True))
    folded = (size, count, chunk, segments, *axes.extents, *axes.strides[1], count, form.strides[axis])
    add = scan_program(name, wide, wide, 1, False)
    added = (size, segments, segments, 1, size, size, size, 1, 1)
    partial = form_of(wide, (size, segments), form.placement)

    def scan_segments(array: DeviceArray) -> DeviceArray:
        parts, totals, target = executor.empty(partial), executor.empty(partial), executor.empty(result)
        arguments = (parts.address, array.address, *folded)
        executor.launch(fold, threads, arguments, reads=(array,), writes=(parts,))
        executor.launch(add, size, (totals.address, parts.address, 0, *added), reads=(parts,), writes=(totals,))
        arguments = (target.address, array.address, totals.address, *fixed)
        executor.launch(program, threads, arguments, reads=(array, totals), writes=(target,))
        return target

    return scan_segments


def _scan(name: str) -> Binder:
    return lambda executor, operands, result, params: bind_scan(executor, name, operands, result, params)


BINDERS: Final[Mapping[str, Binder]] = {name: _scan(name) for name in SCANS}
