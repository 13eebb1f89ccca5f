"""Routines of linear algebra as a device's library has them: matrix by matrix, by addresses and leading dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING, I32, DType
from tensor_gpu.device.api import ROUTINES, Solver, Stack
from tensor_gpu.device.program import HostMemory
from tensor_gpu.sim.errors import SimulationError

Array = np.ndarray[Any, Any]
Routine = Callable[[Solver, "Matrices"], int]
"""Runs on one matrix of each array; gives info."""
MOST_ROTATED: Final = 32
"""Rows and columns that ``gesvdjBatched`` takes."""
_NOTHING: Final[Mapping[int, int]] = {}


class Matrices:
    """The arrays of one matrix of a stack.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 20)
    >>> call = Solver("potrf", F64, (2,), (Stack(memory.allocate(64), 2, 4),), 0, 2)
    >>> Matrices(memory, call, 1).matrix(0, 2, 2).shape
    (2, 2)
    """

    def __init__(self, memory: HostMemory, call: Solver, number: int) -> None:
        self._memory, self._call, self._number = memory, call, number

    @property
    def real(self) -> DType:
        """The type of singular values and eigenvalues."""
        return self._call.dtype.component

    def matrix(self, place: int, rows: int, columns: int, dtype: DType | None = None) -> Array:
        """The array of a place as a matrix."""
        address, leading, stride = self._stack(place)
        if leading < max(rows, 1):
            raise SimulationError(
                f"{self._call.routine}: the leading dimension of array {place} is {leading}, less than its {rows} rows"
            )
        kind = dtype or self._call.dtype
        found: Array = self._memory.view(
            address + self._number * stride * kind.itemsize, kind, (rows, columns), (1, leading)
        )
        return found

    def vector(self, place: int, length: int, dtype: DType | None = None) -> Array:
        """The array of a place as a vector without gaps."""
        address, _, stride = self._stack(place)
        kind = dtype or self._call.dtype
        found: Array = self._memory.view(address + self._number * stride * kind.itemsize, kind, (length,), (1,))
        return found

    def _stack(self, place: int) -> Stack:
        return self._call.arrays[place]


def run_solver(memory: HostMemory, call: Solver, said: Mapping[int, int] = _NOTHING, /) -> None:
    """One routine on every matrix of a stack; of some, by their numbers, ``said`` is reported instead of the truth.

    Raises:
        SimulationError: there is no such routine, or not of this type.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 20)
    >>> a, info = memory.allocate(8), memory.allocate(4)
    >>> memory.view(a, F64, (1,), (1,))[:] = 4.0
    >>> run_solver(memory, Solver("potrf", F64, (1,), (Stack(a, 1, 1),), info, 1))
    >>> memory.view(a, F64, (1,), (1,)).tolist(), memory.view(info, I32, (1,), (1,)).tolist()
    ([2.0], [0])
    """
    if call.routine not in ROUTINES or call.dtype not in FLOATING:
        raise SimulationError(f"no routine {call.routine!r} of {call.dtype.name}")
    infos = memory.view(call.info, I32, (call.matrices,), (1,))
    with np.errstate(all="ignore"):
        for number in range(call.matrices):
            info = _ROUTINES[call.routine](call, Matrices(memory, call, number))
            infos[number] = said.get(number, info)


def _lapack(name: str, *arrays: Array) -> Any:
    """A function of LAPACK for the arrays' type, in double precision for single: it is rounded at the end."""
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(name, tuple(array.astype(np.result_type(array, np.float64)) for array in arrays))


def _potrf(call: Solver, of: Matrices) -> int:
    (n,) = call.sizes
    a = of.matrix(0, n, n)
    factor, info = _lapack("potrf", a)(a, lower=1, clean=0)
    lower = np.tril_indices(n)
    a[lower] = factor[lower]
    return int(info)


def _getrf(call: Solver, of: Matrices) -> int:
    m, n = call.sizes
    a, pivots = of.matrix(0, m, n), of.vector(1, min(m, n), I32)
    if not a.size:
        return 0
    factors, exchanged, info = _lapack("getrf", a)(a)
    a[...], pivots[...] = factors, exchanged + 1
    return int(info)


def _getrs(call: Solver, of: Matrices) -> int:
    n, k = call.sizes
    lu, pivots, b = of.matrix(0, n, n), of.vector(1, n, I32), of.matrix(2, n, k)
    if b.size:
        b[...], info = _lapack("getrs", lu, b)(lu, pivots - 1, b)
        return int(info)
    return 0


def _geqrf(call: Solver, of: Matrices) -> int:
    m, n = call.sizes
    a, tau = of.matrix(0, m, n), of.vector(1, min(m, n))
    if not a.size:
        return 0
    factors, found, _, info = _lapack("geqrf", a)(a)
    a[...], tau[...] = factors, found
    return int(info)


def _orgqr(call: Solver, of: Matrices) -> int:
    m, n, k = call.sizes
    a, tau = of.matrix(0, m, n), of.vector(1, k)
    if not a.size:
        return 0
    name = "ungqr" if call.dtype.kind == "complex" else "orgqr"
    a[...], _, info = _lapack(name, a)(a, tau)
    return int(info)


def _gesvd(call: Solver, of: Matrices) -> int:
    m, n = call.sizes
    k = min(m, n)
    if call.routine == "gesvd" and m < n:
        raise SimulationError(f"gesvd: {m} rows are less than {n} columns, which the library does not take")
    a = of.matrix(0, m, n)
    try:
        found = np.linalg.svd(a, full_matrices=False)
    except np.linalg.LinAlgError:
        return 1
    of.matrix(2, m, k)[...], of.vector(1, k, call.dtype.component)[...], of.matrix(3, k, n)[...] = found
    a[...] = np.nan
    return 0


def _gesvdj_batched(call: Solver, of: Matrices) -> int:
    m, n = call.sizes
    if max(m, n) > MOST_ROTATED:
        raise SimulationError(f"gesvdjBatched: {m} rows and {n} columns; the library takes {MOST_ROTATED}")
    return _by_columns(of, m, n, square=True)


def _gesvda(call: Solver, of: Matrices) -> int:
    m, n = call.sizes
    if m < n:
        raise SimulationError(f"gesvda: {m} rows are less than {n} columns, which the library does not take")
    if not np.any(of.matrix(0, m, n)):  # of which the library makes NaN
        for place, extents in ((2, (m, n)), (3, (n, n))):
            of.matrix(place, *extents)[...] = np.nan
        of.vector(1, n, call.dtype.component)[...] = np.nan
        return 0
    return _by_columns(of, m, n, square=False)


def _by_columns(of: Matrices, m: int, n: int, *, square: bool) -> int:
    a, k = of.matrix(0, m, n), min(m, n)
    try:
        u, s, vh = np.linalg.svd(a, full_matrices=square)
    except np.linalg.LinAlgError:
        return 1
    of.matrix(2, *u.shape)[...], of.vector(1, k, of.real)[...], of.matrix(3, *vh.T.shape)[...] = u, s, vh.conj().T
    a[...] = np.nan
    return 0


def _syevd(call: Solver, of: Matrices) -> int:
    (n,) = call.sizes
    a = of.matrix(0, n, n)
    try:
        of.vector(1, n, call.dtype.component)[...], a[...] = np.linalg.eigh(a.copy(), UPLO="L")
    except np.linalg.LinAlgError:
        return 1
    return 0


def _trsm(call: Solver, of: Matrices) -> int:
    m, k = call.sizes
    triangle, turned, ones = tuple(call.options)
    a, b = of.matrix(0, m, m), of.matrix(1, m, k)
    if not b.size:
        return 0
    from scipy.linalg import get_blas_funcs

    wide = tuple(array.astype(np.result_type(array, np.float64)) for array in (a, b))
    solve = get_blas_funcs("trsm", wide)
    b[...] = solve(1.0, *wide, lower=triangle == "L", trans_a="NTC".index(turned), diag=ones == "U")
    return 0


_ROUTINES: Final[Mapping[str, Routine]] = {
    "potrf": _potrf,
    "getrf": _getrf,
    "getrs": _getrs,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "gesvd": _gesvd,
    "gesvdj": _gesvd,
    "gesvdjBatched": _gesvdj_batched,
    "gesvda": _gesvda,
    "syevd": _syevd,
    "syevj": _syevd,
    "syevjBatched": _syevd,
    "trsm": _trsm,
}
