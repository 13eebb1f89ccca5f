"""Decompositions by the library's routines; of many small matrices by programs of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import DType
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.linalg import drivers
from tensor_gpu.kernels.linalg.drivers import driver_of
from tensor_gpu.kernels.linalg.elimination import Elimination
from tensor_gpu.kernels.linalg.stacks import Routines, compact_of, matrices_of, not_converged, reader
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.householder import householder_program
from tensor_gpu.programs.linalg import permutation_of_pivots, triangle
from tensor_gpu.programs.matrices import cholesky_program, threads_of
from tensor_runtime.errors import LinalgError, NotPositiveDefiniteError, of_matrix
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

UNSUPPORTED: Final[Mapping[str, str]] = {
    **drivers.UNSUPPORTED,
    **dict.fromkeys(
        ("eig", "hessenberg", "ldl", "lu_complete", "qr_pivoted", "schur"),
        "libraries of devices have no such routine for stacks; to() the tensor to the host first",
    ),
}
"""What is left out, with the reason."""


def bind_cholesky(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """Lower Cholesky factors; those of many small matrices in one launch.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("cholesky", bench.put([[4.0, 2.0], [2.0, 5.0]]), params=(True,))
    [[2.0, 0.0], [1.0, 2.0]]
    """
    (form,) = operands
    n, dtype = form.shape[0], form.dtype
    read, routines = reader(executor, "cholesky", "a", form, dtype, params[0]), Routines(executor, form)
    if driver_of(executor, "cholesky", dtype, n, n, routines.count) == "warps":
        program, threads = cholesky_program(dtype), threads_of(dtype, n, n, routines.count)

        def cholesky_of_all(array: Any) -> DeviceArray:
            a, factors, infos = read(array), executor.empty(result), routines.infos()
            arguments = (factors.address, infos.address, a.address, n, routines.count)
            executor.launch(program, threads, arguments, reads=(a,), writes=(factors, infos))
            routines.refuse(infos, _not_positive_definite)
            return factors

        return cholesky_of_all

    clear = copied_triangle(executor, dtype, result, upper=False)

    def cholesky(array: Any) -> DeviceArray:
        a = read(array)
        infos = routines.run("potrf", (n,), dtype, (matrices_of(a, n, n),), a)
        routines.refuse(infos, _not_positive_definite)
        return clear(a, n, n * n)

    return cholesky


def _not_positive_definite(batch: tuple[int, ...], order: int) -> LinalgError:
    return NotPositiveDefiniteError(
        f"cholesky: the leading {order}x{order} block{of_matrix(batch)} is not positive definite; "
        "accepted: Hermitian positive definite matrices, of which the lower triangle is read",
        operation="cholesky",
        batch_index=batch,
        element_index=(order - 1, order - 1),
    )


def copied_triangle(
    executor: Executor, dtype: DType, result: Form, /, *, upper: bool
) -> Callable[[DeviceArray, int, int], DeviceArray]:
    """What copies one triangle of matrices into a result, with zeros in the other one.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([[1.0, 2.0], [3.0, 4.0]])
    >>> clear = copied_triangle(bench.executor, x.form.dtype, x.form, upper=True)
    >>> bench.get((clear(x.array, 2, 4), x.form))
    [[1.0, 2.0], [0.0, 4.0]]
    """
    rows, columns = result.shape[:2]
    program, size = triangle(dtype, upper), result.size

    def copied(source: DeviceArray, leading: int, apart: int) -> DeviceArray:
        target = executor.empty(result)
        arguments = (target.address, source.address, rows, columns, size, leading, apart)
        if size:
            executor.launch(program, size, arguments, reads=(source,), writes=(target,))
        return target

    return copied


def bind_lu_factor(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """LU factors in one matrix, and the order of its rows.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_core import I64
    >>> bench = Bench()
    >>> x = bench.put([[1.0, 2.0], [2.0, 8.0]])
    >>> forms = (x.form, bench.form((2,), I64))
    >>> lu, order = bind_lu_factor(bench.executor, (x.form,), forms, (True,))(x.array)
    >>> bench.get((lu, forms[0])), bench.get((order, forms[1]))
    ([[2.0, 8.0], [0.5, -2.0]], [1, 0])
    """
    (form,) = operands
    m, n = form.shape[:2]
    read, routines = reader(executor, "lu_factor", "a", form, form.dtype, params[0]), Routines(executor, form)
    elimination = Elimination(executor, routines, form)
    orders, count = result[1], routines.count

    def lu_factor(array: Any) -> tuple[DeviceArray, DeviceArray]:
        a, order = read(array), executor.empty(orders)
        pivots, _ = elimination.factor(a)
        if orders.size:
            arguments = (order.address, pivots.address, m, min(m, n), count)
            executor.launch(permutation_of_pivots(), count, arguments, reads=(pivots,), writes=(order,))
        return a, order

    return lu_factor


def bind_qr(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Thin QR decompositions, by reflectors; those of many small matrices in one launch.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, forms = bench.put([[3.0], [4.0]]), (bench.form((2, 1)), bench.form((1, 1)))
    >>> q, r = bind_qr(bench.executor, (x.form,), forms, (True,))(x.array)
    >>> bench.get((r, forms[1]))
    [[-5.0]]
    """
    (form,) = operands
    (m, n), dtype = form.shape[:2], form.dtype
    k = min(m, n)
    read, routines = reader(executor, "qr", "a", form, dtype, params[0]), Routines(executor, form)
    factors = compact_of(form, None, (k, routines.count))
    upper = copied_triangle(executor, dtype, result[1], upper=True)
    lower = copied_triangle(executor, dtype, result[0], upper=False)
    if driver_of(executor, "qr", dtype, m, n, routines.count) == "reflectors":
        program, sizes = householder_program(dtype), (m, n, routines.count)

        def qr_of_all(array: Any) -> tuple[DeviceArray, DeviceArray]:
            a, q = read(array), executor.empty(result[0])
            arguments = (q.address, a.address, *sizes)
            executor.launch(program, routines.count * MOST_THREADS, arguments, reads=(a,), writes=(a, q))
            return q, upper(a, m, m * n)

        return qr_of_all

    def qr(array: Any) -> tuple[DeviceArray, DeviceArray]:
        a, tau = read(array), executor.empty(factors)
        routines.run("geqrf", (m, n), dtype, (matrices_of(a, m, n), matrices_of(tau, k, 1)), a, tau)
        r, q = upper(a, max(m, 1), m * n), lower(a, max(m, 1), m * n)
        routines.run("orgqr", (m, k, k), dtype, (matrices_of(q, m, k), matrices_of(tau, k, 1)), q, tau)
        return q, r

    return qr


def bind_eigh(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, forms = bench.put([[2.0, 0.0], [0.0, 1.0]]), (bench.form((2,)), bench.form((2, 2)))
    >>> values, vectors = bind_eigh(bench.executor, (x.form,), forms, (True, "auto"))(x.array)
    >>> bench.get((values, forms[0]))
    [1.0, 2.0]
    """
    check, asked = params
    (form,) = operands
    n, dtype = form.shape[0], form.dtype
    read, routines = reader(executor, "eigh", "a", form, dtype, check), Routines(executor, form)
    values = result[0]
    driver = driver_of(executor, "eigh", dtype, n, n, routines.count, asked)

    def eigh(array: Any) -> tuple[DeviceArray, DeviceArray]:
        a, w = read(array), executor.empty(values)
        infos = routines.run(driver, (n,), dtype, (matrices_of(a, n, n), matrices_of(w, n, 1)), a, w)
        routines.refuse(infos, partial(not_converged, "eigh"))
        return w, a

    return eigh


BINDERS: Final[Mapping[str, Binder]] = {
    "cholesky": bind_cholesky,
    "eigh": bind_eigh,
    "lu_factor": bind_lu_factor,
    "qr": bind_qr,
}
