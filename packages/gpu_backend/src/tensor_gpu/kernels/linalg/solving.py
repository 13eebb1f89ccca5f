"""Systems of equations, inverses and determinants, by LU factors; substitution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Final

from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.linalg.elimination import Elimination
from tensor_gpu.kernels.linalg.stacks import Routines, compact_of, matrices_of, reader
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.walks import broadcast_strides
from tensor_gpu.programs.linalg import determinant, identities
from tensor_runtime.errors import LinalgError, SingularMatrixError, matrix_at
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

Copy = Callable[[DeviceArray], DeviceArray]


def bind_solve(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """The x with A x = b; one matrix against many batches of columns is factored once.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("solve", bench.put([[2.0, 0.0], [0.0, 4.0]]), bench.put([2.0, 8.0]), result=bench.form((2,)),
    ...     params=(True,))
    [1.0, 2.0]
    """
    a_form, b_form = operands
    (check,) = params
    n, dtype = a_form.shape[0], result.dtype
    vector = b_form.rank == 1
    batch = () if a_form.rank == 2 else result.shape[2:]
    columns = 1 if vector else prod(result.shape[1:]) if not batch else result.shape[1]
    square = spread(a_form, (n, n, *batch))
    square = compact_of(square, dtype)
    routines = Routines(executor, square)
    elimination = Elimination(executor, routines, square)
    read_a = reader(executor, "solve", "a", a_form, dtype, check)
    read_b = reader(executor, "solve", "b", b_form, dtype, check, min(2, b_form.rank))
    spread_a, spread_b = (
        copier(executor, compact_of(a_form, dtype), square),
        copier(executor, compact_of(b_form, dtype), result),
    )

    def solve(first: Any, second: Any) -> DeviceArray:
        lu, x = spread_a(read_a(first)), spread_b(read_b(second))
        pivots, infos = elimination.factor(lu)
        routines.refuse(infos, partial(_singular, "solve"))
        elimination.solve(lu, pivots, x, columns)
        return x

    return solve


def spread(form: Form, shape: tuple[int, ...], /) -> Form:
    """A compact form of matrices whose batch axes are repeated.

    >>> from tensor_gpu.sim.bench import Bench
    >>> spread(Bench().form((2, 2, 1)), (2, 2, 5)).shape
    (2, 2, 5)
    """
    return compact_of(form, None, shape)


def copier(executor: Executor, source: Form, target: Form, /) -> Copy:
    """What makes a stack as large as another one by repeating its matrices; nothing where it is so large.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, two = bench.put([[3.0]]), bench.form((1, 1, 2))
    >>> bench.get((copier(bench.executor, x.form, two)(x.array), two))
    [[[3.0, 3.0]]]
    """
    if source.shape == target.shape:
        return lambda array: array
    new = target.rank - source.rank
    shape = (*source.shape[:2], *(1,) * new, *source.shape[2:])
    strides = (*source.strides[:2], *(0,) * new, *source.strides[2:])
    seen = form_of(source.dtype, shape, source.placement, strides)
    repeated = form_of(source.dtype, target.shape, source.placement, broadcast_strides(seen, target.shape))
    return bind_step(executor, "copy", (repeated,), compact_of(source, None, target.shape), None)


def bind_inv(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """Inverses: the solutions for the columns of the identity.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("inv", bench.put([[2.0, 0.0], [0.0, 4.0]]), params=(True,))
    [[0.5, 0.0], [0.0, 0.25]]
    """
    (form,) = operands
    n, dtype = form.shape[0], form.dtype
    read, routines = reader(executor, "inv", "a", form, dtype, params[0]), Routines(executor, form)
    elimination = Elimination(executor, routines, form)
    identity, size = identities(dtype), result.size

    def inv(array: Any) -> DeviceArray:
        lu = read(array)
        pivots, infos = elimination.factor(lu)
        routines.refuse(infos, partial(_singular, "inv"))
        x = executor.empty(result)
        if size:
            executor.launch(identity, size, (x.address, n, size), reads=(), writes=(x,))
        elimination.solve(lu, pivots, x, n)
        return x

    return inv


def _singular(operation: str, batch: tuple[int, ...], info: int) -> LinalgError:
    instead = "lstsq() gives the least-squares solution" if operation == "solve" else "pinv() gives the pseudo-inverse"
    return SingularMatrixError(
        f"{operation}: {matrix_at(batch)} is exactly singular; {instead}",
        operation=operation,
        batch_index=batch,
        element_index=None,
    )


def bind_det(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """Determinants: products of pivots.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("det", bench.put([[0.0, 2.0], [3.0, 0.0]]), result=bench.form(()), params=(True,))
    -6.0
    """
    (form,) = operands
    n, dtype = form.shape[0], form.dtype
    read, routines = reader(executor, "det", "a", form, dtype, params[0]), Routines(executor, form)
    elimination, program, count = Elimination(executor, routines, form), determinant(dtype), routines.count

    def det(array: Any) -> DeviceArray:
        lu, target = read(array), executor.empty(result)
        pivots, _ = elimination.factor(lu)
        if count:
            arguments = (target.address, lu.address, pivots.address, n, count)
            executor.launch(program, count, arguments, reads=(lu, pivots), writes=(target,))
        return target

    return det


def bind_triangular_solve(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """X in op(A) X = B by substitution.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> a, b = bench.put([[2.0, 0.0], [1.0, 4.0]]), bench.put([[2.0], [9.0]])
    >>> bench.run("triangular_solve", a, b, result=b.form, params=(True, False, False, False))
    [[1.0], [2.0]]
    """
    a_form, b_form = operands
    lower, transpose, conjugate, unit = params
    (m, columns), dtype = b_form.shape[:2], result.dtype
    read_a = reader(executor, "triangular_solve", "a", a_form, dtype, False)
    read_b = reader(executor, "triangular_solve", "b", b_form, dtype, False)
    routines = Routines(executor, b_form)
    # The library conjugates only what it transposes.
    conj = (
        bind_step(executor, "conj", (compact_of(a_form),), compact_of(a_form), None)
        if conjugate and not transpose
        else None
    )
    turned = "C" if transpose and conjugate else "T" if transpose else "N"
    routine = f"trsm:{'L' if lower else 'U'}{turned}{'U' if unit else 'N'}"

    def triangular_solve(first: Any, second: Any) -> DeviceArray:
        a, x = read_a(first), read_b(second)
        if conj is not None:
            a = conj(a)
        routines.run(routine, (m, columns), dtype, (matrices_of(a, m, m), matrices_of(x, m, columns)), a, x)
        return x

    return triangular_solve


BINDERS: Final[Mapping[str, Binder]] = {
    "det": bind_det,
    "inv": bind_inv,
    "solve": bind_solve,
    "triangular_solve": bind_triangular_solve,
}
