"""Stacks of matrices for the library's routines: a compact copy of each operand, looked at first if that is asked for.

Words that a device reports back, whether elements are finite and what its routines say of each matrix, are waited for
here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tensor_core.dtypes import I32, DType
from tensor_core.shapes import Shape, unravel_index
from tensor_gpu.device.api import Solver, Stack
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.programs.linalg import first_failed, not_finite
from tensor_runtime.errors import LinalgError, NonFiniteError, NotConvergedError, non_finite, of_matrix
from tensor_runtime.form import Form, form_of

Explain = Callable[[tuple[int, ...], int], LinalgError]
"""From the batch index of the first matrix that failed, and its info, to the error."""


def compact_of(form: Form, dtype: DType | None = None, shape: Shape | None = None, /) -> Form:
    """A compact form in the same place.

    >>> from tensor_gpu.sim.bench import Bench
    >>> compact_of(Bench().form((2, 3)), None, (3,)).shape
    (3,)
    """
    return form_of(dtype or form.dtype, form.shape if shape is None else shape, form.placement)


def reader(
    executor: Executor, operation: str, operand: str, form: Form, dtype: DType, check: bool, core_rank: int = 2, /
) -> Callable[[Any], DeviceArray]:
    """What makes a compact copy of an operand in a type, which a routine may overwrite.

    Args:
        executor: of the device.
        operation: the name that errors bear.
        operand: the parameter it is passed as.
        form: of the operand.
        dtype: of the copy.
        check: whether elements that are not finite are refused.
        core_rank: how many axes are those of matrices.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([[1.0, float("nan")]])
    >>> reader(bench.executor, "svd", "a", x.form, x.form.dtype, True)(x.array)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.NonFiniteError: svd: operand a holds NaN or an infinity at element (0, 1); accepted: ...
    """
    copied = compact_of(form, dtype)
    copy = bind_step(executor, "convert", (form,), copied, ("error",))
    program, size = not_finite(dtype), form.size

    def read(array: Any) -> DeviceArray:
        found: DeviceArray = copy(array)
        if check and size:
            status = executor.status()
            arguments = (status.address, found.address, size)
            executor.launch(program, size, arguments, reads=(found,), writes=(status,))

            def error(first: int) -> NonFiniteError:
                return _not_finite(operation, operand, unravel_index(first, copied.shape, order="F"), core_rank)

            executor.refuse(status, error)
        return found

    return read


def _not_finite(operation: str, operand: str, index: tuple[int, ...], core_rank: int) -> NonFiniteError:
    return non_finite(operation, operand, index[:core_rank], index[core_rank:])


def matrices_of(array: DeviceArray, rows: int, columns: int, /) -> Stack:
    """A compact stack of matrices as routines are told of it.

    >>> from tensor_gpu.sim.bench import Bench
    >>> matrices_of(Bench().put([[1.0, 2.0, 3.0]]).array, 1, 3)[1:]
    (1, 3)
    """
    return Stack(array.address, max(rows, 1), rows * columns)


def turner(executor: Executor, form: Form, /) -> Callable[[DeviceArray], DeviceArray]:
    """What makes a compact stack of the transposes of compact matrices.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([[1.0, 2.0, 3.0]])
    >>> bench.get((turner(bench.executor, x.form)(x.array), bench.form((3, 1))))
    [[1.0], [2.0], [3.0]]
    """
    (m, n), (down, across) = form.shape[:2], form.strides[:2]
    shape = (n, m, *form.shape[2:])
    seen = form_of(form.dtype, shape, form.placement, (across, down, *form.strides[2:]))
    return bind_step(executor, "copy", (seen,), compact_of(form, None, shape), None)


def not_converged(operation: str, batch: tuple[int, ...], info: int, /) -> LinalgError:
    """What is raised for a matrix whose iteration did not end.

    >>> print(not_converged("svd", (3,), 1))
    svd: the iteration of the matrix at batch index (3,) did not converge; it may for the matrix times a power of two
    """
    return NotConvergedError(
        f"{operation}: the iteration{of_matrix(batch)} did not converge; it may for the matrix times a power of two",
        operation=operation,
        batch_index=batch,
        element_index=None,
    )


class Routines:
    """Submits routines on one stack after the other, and tells the first matrix that failed in any.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> Routines(bench.executor, bench.form((2, 2, 3, 4))).count
    12
    """

    def __init__(self, executor: Executor, form: Form) -> None:
        self.batch = form.shape[2:]
        self.count = prod(self.batch)
        self._executor = executor
        self._infos = compact_of(form, I32, (self.count,))

    def run(
        self, routine: str, sizes: tuple[int, ...], dtype: DType, stacks: tuple[Stack, ...], *arrays: DeviceArray
    ) -> DeviceArray:
        """Submit one routine that reads and writes arrays; its infos."""
        infos = self.infos()
        options = ""
        if ":" in routine:
            routine, options = routine.split(":")
        if self.count:
            call = Solver(routine, dtype, sizes, stacks, infos.address, self.count, options)
            self._executor.solver(call, writes=(*arrays, infos))
        return infos

    def infos(self) -> DeviceArray:
        """Room for what is found out about each matrix."""
        return self._executor.empty(self._infos)

    def refuse(self, infos: DeviceArray, explain: Explain, /) -> None:
        """Raise what explains the first matrix whose info is not 0, now or when it is waited for."""
        if not self.count:
            return
        status = self._executor.status()
        arguments = (status.address, infos.address, self.count)
        self._executor.launch(first_failed(), self.count, arguments, reads=(infos,), writes=(status,))

        def error(first: int) -> LinalgError:
            info = int.from_bytes(self._executor.read(infos.moved(first), 4), "little", signed=True)
            return explain(unravel_index(first, self.batch, order="F"), info)

        self._executor.refuse(status, error)
