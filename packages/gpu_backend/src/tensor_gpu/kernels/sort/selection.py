"""Kernels whose results have as many elements as the values say: the host waits for that number alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.dtypes import I64, Bool, DType
from tensor_core.shapes import compact_strides
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.program import Program
from tensor_gpu.kernels.expressions import copier, one_step, walker
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.reduction.scan import bind_scan
from tensor_gpu.kernels.sort.sort import line_sorter
from tensor_gpu.programs.selection import (
    chosen_program,
    differences_program,
    distinct_program,
    nonzero_program,
    ranks_program,
)
from tensor_runtime.contracts.gather_scatter import UniqueParams
from tensor_runtime.contracts.reduction import ScanParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Counted, Kernel


def bind_nonzero(executor: Executor, operands: tuple[Form], result: tuple[Form, ...], params: Any, /) -> Kernel:
    """Indices of elements that are not zero, in row-major order.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([[0.0, 7.0], [8.0, 9.0]])
    >>> found = bind_nonzero(bench.executor, (x.form,), (), None)(x.array)
    >>> found.count, [bench.get((array, bench.form((3,), I64))) for array in found.arrays]
    (3, [[0, 1, 1], [1, 0, 1]])
    """
    (form,) = operands
    if not form.size:
        return lambda array: Counted(tuple(_line(executor, form, I64, 0) for _ in range(form.rank)), 0)
    size, program = form.size, nonzero_program(form.rank)
    flags = form_of(Bool, (size,), form.placement)
    zero = False if form.dtype is Bool else 0
    row_major = compact_strides(form.shape[::-1])[::-1]
    differs = one_step("not_equal", (form.dtype, type(zero)), Bool)
    test = walker(executor, differs, form.shape, [row_major, form.strides], "nonzero")
    count = bind_scan(executor, "cumsum", (flags,), form_of(I64, (size,), form.placement), ScanParams(0))

    def nonzero(array: DeviceArray) -> Counted:
        found = executor.empty(flags)
        test(found, (array, zero))
        chosen = count(found)
        number = _last(executor, chosen, size)
        targets = tuple(_line(executor, form, I64, number) for _ in range(form.rank))
        if number:
            arguments = (*(target.address for target in targets), chosen.address, size, *form.shape)
            executor.launch(program, size, arguments, reads=(chosen,), writes=targets)
        return Counted(targets, number)

    return nonzero


def bind_unique(executor: Executor, operands: tuple[Form], result: tuple[Form, ...], params: UniqueParams, /) -> Kernel:
    """Distinct elements in order, and what was asked about them.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([3, 1, 3, 3], I64)
    >>> kernel = bind_unique(bench.executor, (x.form,), (x.form, x.form), UniqueParams(False, False, True, True))
    >>> found = kernel(x.array)
    >>> found.count, [bench.get((array, bench.form((2,), I64))) for array in found.arrays]
    (2, [[1, 3], [1, 3]])
    """
    (form,) = operands
    size, dtype = form.size, form.dtype
    asked = sum((params.indices, params.inverse, params.counts))
    if not size:
        dtypes = [dtype, *[I64] * asked]
        return lambda array: Counted(tuple(_line(executor, form, one, 0) for one in dtypes), 0)
    row_major = compact_strides(form.shape[::-1])[::-1]
    copy = copier(executor, dtype, dtype, form.shape, row_major, form.strides)
    order = line_sorter(executor, dtype, size, size, params.indices or params.inverse, False)
    flags = form_of(Bool, (size,), form.placement)
    count = bind_scan(executor, "cumsum", (flags,), form_of(I64, (size,), form.placement), ScanParams(0))
    differs = distinct_program(dtype, params.equal_nan)
    inverse_form = form_of(I64, form.shape, form.placement)
    spread = copier(executor, I64, I64, form.shape, inverse_form.strides, row_major)

    def chosen_of(program: Program, line: DeviceArray, chosen: DeviceArray, number: int, held: DType) -> DeviceArray:
        target = _line(executor, form, held, number)
        arguments = (target.address, line.address, chosen.address, size)
        executor.launch(program, size, arguments, reads=(line, chosen), writes=(target,))
        return target

    def unique(array: DeviceArray) -> Counted:
        line = executor.scratch(form.nbytes, dtype.itemsize)
        copy(line, array)
        values, places = order(line)
        found = executor.empty(flags)
        executor.launch(differs, size, (found.address, values.address, size), reads=(values,), writes=(found,))
        chosen = count(found)
        number = _last(executor, chosen, size)
        arrays = [chosen_of(chosen_program(dtype), values, chosen, number, dtype)]
        if params.indices:
            assert places is not None
            arrays.append(chosen_of(chosen_program(I64), places, chosen, number, I64))
        if params.inverse:
            assert places is not None
            ranks, inverse = executor.scratch(8 * size, 8), executor.empty(inverse_form)
            arguments = (ranks.address, places.address, chosen.address, size)
            executor.launch(ranks_program(), size, arguments, reads=(places, chosen), writes=(ranks,))
            spread(inverse, ranks)
            arrays.append(inverse)
        if params.counts:
            starts = chosen_of(chosen_program(None), chosen, chosen, number, I64)
            counts = _line(executor, form, I64, number)
            arguments = (counts.address, starts.address, number, size)
            executor.launch(differences_program(), number, arguments, reads=(starts,), writes=(counts,))
            arrays.append(counts)
        return Counted(tuple(arrays), number)

    return unique


def _line(executor: Executor, form: Form, dtype: DType, count: int) -> DeviceArray:
    """Memory for so many elements, where an operand is."""
    return executor.empty(form_of(dtype, (count,), form.placement))


def _last(executor: Executor, chosen: DeviceArray, size: int) -> int:
    """The last of so many I64; waits for it."""
    return int.from_bytes(executor.download(chosen.moved(size - 1), 8), "little")


BINDERS: Final[Mapping[str, Binder]] = {"nonzero": bind_nonzero, "unique": bind_unique}
