"""LU factors of stacks, and what they solve: by the library's routines, or by programs that give a warp each matrix."""

from __future__ import annotations

from tensor_core.dtypes import I32
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.linalg.drivers import driver_of
from tensor_gpu.kernels.linalg.stacks import Routines, compact_of, matrices_of
from tensor_gpu.programs.matrices import COLUMNS_OF_A_WARP, lu_program, lu_solve_program, threads_of
from tensor_runtime.form import Form


class Elimination:
    """Factors matrices of one form, and solves by the factors.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, one = bench.put([[[0.0, 2.0], [2.0, 4.0]], [[4.0, 1.0], [2.0, 1.0]]]), bench.put([[8.0, 6.0], [4.0, 6.0]])
    >>> elimination = Elimination(bench.executor, Routines(bench.executor, x.form), x.form)
    >>> pivots, infos = elimination.factor(x.array)
    >>> elimination.solve(x.array, pivots, one.array, 1)
    >>> bench.get((pivots, bench.form((2, 2), I32))), bench.get(one)
    ([[2, 1], [2, 2]], [[-1.0, 9.0], [4.0, -3.0]])
    """

    def __init__(self, executor: Executor, routines: Routines, form: Form) -> None:
        self._executor, self._routines, self._dtype = executor, routines, form.dtype
        self._sizes, count = (form.shape[0], form.shape[1]), routines.count
        self._pivots = compact_of(form, I32, (min(self._sizes), count))
        self._by_warps = driver_of(executor, "lu", form.dtype, *self._sizes, count) == "warps"

    def factor(self, a: DeviceArray, /) -> tuple[DeviceArray, DeviceArray]:
        """Submit the factors of compact matrices in their place; the pivots, which count from 1, and the infos."""
        (m, n), dtype, count = self._sizes, self._dtype, self._routines.count
        pivots = self._executor.empty(self._pivots)
        if not self._by_warps:
            stacks = matrices_of(a, m, n), matrices_of(pivots, min(m, n), 1)
            return pivots, self._routines.run("getrf", (m, n), dtype, stacks, a, pivots)
        infos = self._routines.infos()
        arguments, threads = (a.address, pivots.address, infos.address, m, n, count), threads_of(dtype, m, n, count)
        self._executor.launch(lu_program(dtype), threads, arguments, reads=(a,), writes=(a, pivots, infos))
        return pivots, infos

    def solve(self, lu: DeviceArray, pivots: DeviceArray, x: DeviceArray, columns: int, /) -> None:
        """Submit what makes solutions of so many right-hand sides of each matrix, in their place."""
        n, dtype, count = self._sizes[0], self._dtype, self._routines.count
        if not self._by_warps:
            stacks = matrices_of(lu, n, n), matrices_of(pivots, n, 1), matrices_of(x, n, columns)
            self._routines.run("getrs", (n, columns), dtype, stacks, lu, pivots, x)
        elif columns:
            parts = -(-columns // COLUMNS_OF_A_WARP)
            arguments, threads = (
                (x.address, lu.address, pivots.address, n, columns, count),
                threads_of(dtype, n, n, count * parts),
            )
            program, reads = lu_solve_program(dtype), (lu, pivots, x)
            self._executor.launch(program, threads, arguments, reads=reads, writes=(x,))
