"""Singular value decompositions, by the library's routines or a program of our own, as the device's table says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.expressions import one_step, submitter
from tensor_gpu.kernels.linalg.drivers import driver_of
from tensor_gpu.kernels.linalg.stacks import Routines, compact_of, matrices_of, not_converged, reader, turner
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.jacobi import jacobi_program
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

Decompose = Callable[[DeviceArray, DeviceArray, DeviceArray, DeviceArray], DeviceArray]
"""Makes u, s and vh of a, which is lost; the infos."""
_ANY_SHAPE: Final = ("gesvdj", "gesvdjBatched")
"""Drivers that take more columns than rows; of others the transpose is decomposed."""


def bind_svd(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Thin singular value decompositions.

    The transpose of a matrix has its vectors, transposed: it is decomposed where a driver takes no more columns than
    rows.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, forms = bench.put([[3.0], [4.0]]), tuple(map(bench.form, ((2, 1), (1,), (1, 1))))
    >>> u, s, vh = bind_svd(bench.executor, (x.form,), forms, (True, "auto"))(x.array)
    >>> bench.get((s, forms[1]))
    [5.0]
    """
    check, asked = params
    (form,) = operands
    m, n = form.shape[:2]
    k = min(m, n)
    read, routines = reader(executor, "svd", "a", form, form.dtype, check), Routines(executor, form)
    driver = driver_of(executor, "svd", form.dtype, m, n, routines.count, asked)
    wide = m < n and driver not in _ANY_SHAPE
    rows, columns = (n, m) if wide else (m, n)
    of_u, of_vh = (compact_of(form, None, (*shape, *routines.batch)) for shape in ((rows, k), (k, columns)))
    turn_a, turn_u, turn_vh = (turner(executor, one) if wide else None for one in (compact_of(form), of_u, of_vh))
    bind = _rotated if driver == "rotations" else _with_columns if driver in _COLUMNS else _decomposed
    decompose = bind(executor, routines, driver, of_u, of_vh)

    def svd(array: Any) -> tuple[DeviceArray, ...]:
        a = read(array)
        if turn_a is not None:
            a = turn_a(a)
        u, s, vh = map(executor.empty, (of_u, result[1], of_vh))
        routines.refuse(decompose(a, u, s, vh), partial(not_converged, "svd"))
        return (u, s, vh) if turn_u is None or turn_vh is None else (turn_vh(vh), s, turn_u(u))

    return svd


def _decomposed(executor: Executor, routines: Routines, routine: str, of_u: Form, of_vh: Form, /) -> Decompose:
    """By a routine of the library that gives vh."""
    (m, k), n = of_u.shape[:2], of_vh.shape[1]

    def decompose(a: DeviceArray, u: DeviceArray, s: DeviceArray, vh: DeviceArray) -> DeviceArray:
        stacks = matrices_of(a, m, n), matrices_of(s, k, 1), matrices_of(u, m, k), matrices_of(vh, k, n)
        return routines.run(routine, (m, n), of_u.dtype, stacks, a, s, u, vh)

    return decompose


_COLUMNS: Final[Mapping[str, bool]] = {"gesvdjBatched": True, "gesvda": False}
"""Routines that give v, whose columns are the right vectors; whether u and v are square."""


def _with_columns(executor: Executor, routines: Routines, routine: str, of_u: Form, of_vh: Form, /) -> Decompose:
    """By a routine of the library for all matrices at once: vh is made of its v, and u of one that is square."""
    (m, k), n = of_u.shape[:2], of_vh.shape[1]
    whole_u, whole_v = (m, n) if _COLUMNS[routine] else (k, k)
    square_u, of_v = (compact_of(of_u, None, (*shape, *routines.batch)) for shape in ((m, whole_u), (n, whole_v)))
    leading = form_of(of_u.dtype, of_u.shape, of_u.placement, square_u.strides)
    across = form_of(of_vh.dtype, of_vh.shape, of_vh.placement, (n, 1, *of_v.strides[2:]))
    copy_u, turn_v = (
        submitter(executor, one_step(how, (of_u.dtype,), of_u.dtype), (seen,), made.shape, made.strides, "svd")
        for how, seen, made in (("copy", leading, of_u), ("conj", across, of_vh))
    )

    def decompose(a: DeviceArray, u: DeviceArray, s: DeviceArray, vh: DeviceArray) -> DeviceArray:
        left, v = u if whole_u == k else executor.empty(square_u), executor.empty(of_v)
        stacks = matrices_of(a, m, n), matrices_of(s, k, 1), matrices_of(left, m, whole_u), matrices_of(v, n, whole_v)
        infos = routines.run(routine, (m, n), of_u.dtype, stacks, a, s, left, v)
        if left is not u:
            copy_u(u, [left])
        turn_v(vh, [v])
        return infos

    return decompose


def _rotated(executor: Executor, routines: Routines, driver: str, of_u: Form, of_vh: Form, /) -> Decompose:
    """By a program for all matrices in one launch."""
    program, count = jacobi_program(of_vh.dtype), routines.count
    rows, columns = of_u.shape[0], of_vh.shape[1]

    def decompose(a: DeviceArray, u: DeviceArray, s: DeviceArray, vh: DeviceArray) -> DeviceArray:
        infos, v = routines.infos(), executor.empty(of_vh)
        written = u, s, vh, infos, a, v
        arguments = (*(one.address for one in written), rows, columns, count)
        executor.launch(program, count * MOST_THREADS, arguments, reads=(a,), writes=written)
        return infos

    return decompose


BINDERS: Final[Mapping[str, Binder]] = {"svd": bind_svd}
