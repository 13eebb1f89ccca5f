"""Routines of linear algebra by cuSOLVER and cuBLAS: arguments, workspaces, and a word of info for every matrix.

The modules of CuPy come as arguments. Where the libraries have no routine for stacks, it is called matrix by matrix on
one workspace, which a stream uses in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_core.errors import BackendError
from tensor_gpu.device.api import Scratch, Solver, Stack

LETTERS: Final[Mapping[DType, str]] = {F32: "s", F64: "d", C32: "c", C64: "z"}
"""With which the names of routines begin."""
ARRAYS: Final[Mapping[str, str]] = {
    "potrf": "a",
    "getrf": "ai",
    "getrs": "aia",
    "geqrf": "aa",
    "orgqr": "aa",
    "gesvd": "araa",
    "gesvdj": "araa",
    "gesvdjBatched": "araa",
    "gesvda": "araa",
    "syevd": "ar",
    "syevj": "ar",
    "syevjBatched": "ar",
    "trsm": "aa",
}
"""What the arrays of each routine hold: numbers of its type (a), real ones (r) or int32 (i)."""
_OF_COMPLEX: Final = {"orgqr": "ungqr", "syevd": "heevd", "syevj": "heevj", "syevjBatched": "heevjBatched"}
MOST_AT_ONCE: Final = 256
"""Rows of matrices of which a stack is one call, of a routine for small ones; larger ones come one by one."""
_CONSTANTS: Final = {dtype: np.array([1, 0], dtype.numpy_name) for dtype in LETTERS}
ONE_AND_ZERO: Final[Mapping[DType, tuple[int, int]]] = {
    dtype: (pair.ctypes.data, pair.ctypes.data + dtype.itemsize) for dtype, pair in _CONSTANTS.items()
}
"""Where the host keeps both numbers of a type, as the libraries want factors."""


class Libraries(NamedTuple):
    """What a routine needs of a stream and its thread, which are current while it runs."""

    cublas: Any  # cupy_backends.cuda.libs.cublas
    cusolver: Any  # cupy_backends.cuda.libs.cusolver
    blas: Callable[[], int]
    """The handle of cuBLAS; it is made where it is wanted."""
    lapack: Callable[[], int]
    """The handle of cuSOLVER."""
    scratch: Scratch
    put: Callable[[int, bytes], None]
    """Submits a copy from the host to an address."""
    clear: Callable[[int, int], None]
    """Submits zeros to an address, so many bytes."""


def solve(on: Libraries, call: Solver, /) -> None:
    """Submit one routine on every matrix of a stack; of matrices without elements, infos alone.

    >>> nothing = Libraries(*[None] * 6, clear=lambda address, nbytes: print(f"{nbytes} bytes of 0 at {address}"))
    >>> solve(nothing, Solver("potrf", F64, (0,), (Stack(0, 1, 0),), info=512, matrices=3))
    12 bytes of 0 at 512
    """
    if 0 in call.sizes:
        on.clear(call.info, 4 * call.matrices)
    else:
        _ROUTINES[call.routine](on, call)


def _named(library: Any, call: Solver, routine: str) -> Any:
    base, underscore, rest = routine.partition("_")
    if call.dtype in (C32, C64):
        base = _OF_COMPLEX.get(base, base)
    return getattr(library, f"{LETTERS[call.dtype]}{base}{underscore}{rest}")


def _itemsize(call: Solver, place: int) -> int:
    kind = ARRAYS[call.routine][place]
    return 4 if kind == "i" else call.dtype.component.itemsize if kind == "r" else call.dtype.itemsize


def _each(call: Solver) -> Iterator[tuple[int, ...]]:
    """For each matrix the addresses of its arrays, and of its info."""
    steps = [stack.stride * _itemsize(call, place) for place, stack in enumerate(call.arrays)]
    for number in range(call.matrices):
        places = (stack.address + number * step for stack, step in zip(call.arrays, steps, strict=True))
        yield *places, call.info + 4 * number


def _pointers(on: Libraries, call: Solver, stack: Stack) -> int:
    """Where the device finds the addresses of a stack's matrices."""
    step = stack.stride * call.dtype.itemsize
    table = np.array([stack.address + number * step for number in range(call.matrices)], np.uint64)
    target = on.scratch(table.nbytes)
    on.put(target, table.tobytes())
    return target


def _potrf(on: Libraries, call: Solver) -> None:
    (n,), (a,) = call.sizes, call.arrays
    handle, lower = on.lapack(), on.cublas.CUBLAS_FILL_MODE_LOWER
    if call.matrices > 1:
        table = _pointers(on, call, a)
        _named(on.cusolver, call, "potrfBatched")(handle, lower, n, table, a.leading, call.info, call.matrices)
        return
    size = _named(on.cusolver, call, "potrf_bufferSize")(handle, lower, n, a.address, a.leading)
    work = on.scratch(size * call.dtype.itemsize)
    _named(on.cusolver, call, "potrf")(handle, lower, n, a.address, a.leading, work, size, call.info)


def _getrf(on: Libraries, call: Solver) -> None:
    (m, n), (a, pivoted) = call.sizes, call.arrays
    if call.matrices > 1 and m == n <= MOST_AT_ONCE:
        table = _pointers(on, call, a)
        run = _named(on.cublas, call, "getrfBatched")
        run(on.blas(), n, table, a.leading, pivoted.address, call.info, call.matrices)
        return
    handle, run = on.lapack(), _named(on.cusolver, call, "getrf")
    size = _named(on.cusolver, call, "getrf_bufferSize")(handle, m, n, a.address, a.leading)
    work = on.scratch(size * call.dtype.itemsize)
    for matrix, pivots, info in _each(call):
        run(handle, m, n, matrix, a.leading, work, pivots, info)


def _getrs(on: Libraries, call: Solver) -> None:
    (n, k), (lu, pivoted, b) = call.sizes, call.arrays
    turned = on.cublas.CUBLAS_OP_N
    if call.matrices > 1 and n <= MOST_AT_ONCE:
        factors, columns = _pointers(on, call, lu), _pointers(on, call, b)
        on.clear(call.info, 4 * call.matrices)
        run = _named(on.cublas, call, "getrsBatched")
        said = np.zeros(1, np.int32)  # which argument is wrong; of matrices there is nothing to say
        given = factors, lu.leading, pivoted.address, columns, b.leading, said.ctypes.data
        run(on.blas(), turned, n, k, *given, call.matrices)
        if said[0]:
            raise BackendError(f"{call.routine}: cuBLAS refuses argument {-said[0]} of a stack of {call.matrices}")
        return
    handle, run = on.lapack(), _named(on.cusolver, call, "getrs")
    for matrix, pivots, columns, info in _each(call):
        run(handle, turned, n, k, matrix, lu.leading, pivots, columns, b.leading, info)


def _geqrf(on: Libraries, call: Solver) -> None:
    (m, n), (a, _) = call.sizes, call.arrays
    handle, run = on.lapack(), _named(on.cusolver, call, "geqrf")
    size = _named(on.cusolver, call, "geqrf_bufferSize")(handle, m, n, a.address, a.leading)
    work = on.scratch(size * call.dtype.itemsize)
    for matrix, tau, info in _each(call):
        run(handle, m, n, matrix, a.leading, tau, work, size, info)


def _orgqr(on: Libraries, call: Solver) -> None:
    (m, n, k), (a, factors) = call.sizes, call.arrays
    handle, run = on.lapack(), _named(on.cusolver, call, "orgqr")
    size = _named(on.cusolver, call, "orgqr_bufferSize")(handle, m, n, k, a.address, a.leading, factors.address)
    work = on.scratch(size * call.dtype.itemsize)
    for matrix, tau, info in _each(call):
        run(handle, m, n, k, matrix, a.leading, tau, work, size, info)


def _gesvd(on: Libraries, call: Solver) -> None:
    (m, n), (a, _, u, vh) = call.sizes, call.arrays
    handle, run, thin = on.lapack(), _named(on.cusolver, call, "gesvd"), ord("S")
    size = _named(on.cusolver, call, "gesvd_bufferSize")(handle, m, n)
    work = on.scratch(size * call.dtype.itemsize)
    for matrix, values, left, right, info in _each(call):
        run(
            handle, thin, thin, m, n, matrix, a.leading, values, left, u.leading, right, vh.leading, work, size, 0, info
        )


def _gesvdj(on: Libraries, call: Solver) -> None:
    """The library gives the right vectors as columns, so each matrix of them is turned."""
    (m, n), (a, s, u, vh) = call.sizes, call.arrays
    k, handle, turning = min(m, n), on.lapack(), on.blas()
    one, zero = ONE_AND_ZERO[call.dtype]
    run, turn = _named(on.cusolver, call, "gesvdj"), _named(on.cublas, call, "geam")
    vectors, plain, turned = on.cusolver.CUSOLVER_EIG_MODE_VECTOR, on.cublas.CUBLAS_OP_N, on.cublas.CUBLAS_OP_C
    v = on.scratch(n * k * call.dtype.itemsize)
    options = on.cusolver.createGesvdjInfo()
    try:
        size = _named(on.cusolver, call, "gesvdj_bufferSize")(
            handle, vectors, 1, m, n, a.address, a.leading, s.address, u.address, u.leading, v, n, options
        )
        work = on.scratch(size * call.dtype.itemsize)
        for matrix, values, left, right, info in _each(call):
            run(
                *(handle, vectors, 1, m, n, matrix, a.leading, values, left, u.leading),
                *(v, n, work, size, info, options),
            )
            turn(turning, turned, plain, k, n, one, v, n, zero, right, vh.leading, right, vh.leading)
    finally:
        on.cusolver.destroyGesvdjInfo(options)


def _gesvdj_batched(on: Libraries, call: Solver) -> None:
    """All of a stack at once; matrices, values and vectors lie without gaps."""
    (m, n), (a, s, u, v) = call.sizes, call.arrays
    handle, vectors = on.lapack(), on.cusolver.CUSOLVER_EIG_MODE_VECTOR
    lie = m, n, a.address, a.leading, s.address, u.address, u.leading, v.address, v.leading
    options = on.cusolver.createGesvdjInfo()
    try:
        size = _named(on.cusolver, call, "gesvdjBatched_bufferSize")(handle, vectors, *lie, options, call.matrices)
        work = on.scratch(size * call.dtype.itemsize)
        run = _named(on.cusolver, call, "gesvdjBatched")
        run(handle, vectors, *lie, work, size, call.info, options, call.matrices)
    finally:
        on.cusolver.destroyGesvdjInfo(options)


def _gesvda(on: Libraries, call: Solver) -> None:
    """All of a stack at once."""
    (m, n), (a, s, u, v) = call.sizes, call.arrays
    handle, vectors = on.lapack(), on.cusolver.CUSOLVER_EIG_MODE_VECTOR
    lie = n, m, n, *a, s.address, s.stride, *u, *v  # of full rank
    size = _named(on.cusolver, call, "gesvdaStridedBatched_bufferSize")(handle, vectors, *lie, call.matrices)
    work = on.scratch(size * call.dtype.itemsize)
    residuals = np.empty(call.matrices)  # which the library wants to tell the host
    run = _named(on.cusolver, call, "gesvdaStridedBatched")
    run(handle, vectors, *lie, work, size, call.info, residuals.ctypes.data, call.matrices)


def _syevd(on: Libraries, call: Solver) -> None:
    (n,), (a, w) = call.sizes, call.arrays
    handle, how, run = on.lapack(), _eigen(on), _named(on.cusolver, call, "syevd")
    size = _named(on.cusolver, call, "syevd_bufferSize")(handle, *how, n, a.address, a.leading, w.address)
    work = on.scratch(size * call.dtype.itemsize)
    for matrix, values, info in _each(call):
        run(handle, *how, n, matrix, a.leading, values, work, size, info)


def _syevj(on: Libraries, call: Solver) -> None:
    """By Jacobi rotations, ascending."""
    (n,), (a, w) = call.sizes, call.arrays
    handle, how, run = on.lapack(), _eigen(on), _named(on.cusolver, call, "syevj")
    options = on.cusolver.createSyevjInfo()
    try:
        size = _named(on.cusolver, call, "syevj_bufferSize")(handle, *how, n, a.address, a.leading, w.address, options)
        work = on.scratch(size * call.dtype.itemsize)
        for matrix, values, info in _each(call):
            run(handle, *how, n, matrix, a.leading, values, work, size, info, options)
    finally:
        on.cusolver.destroySyevjInfo(options)


def _syevj_batched(on: Libraries, call: Solver) -> None:
    """The same of all of a stack at once; matrices and values lie without gaps."""
    (n,), (a, w) = call.sizes, call.arrays
    handle, how, options = on.lapack(), _eigen(on), on.cusolver.createSyevjInfo()
    lie = n, a.address, a.leading, w.address
    try:
        size = _named(on.cusolver, call, "syevjBatched_bufferSize")(handle, *how, *lie, options, call.matrices)
        work = on.scratch(size * call.dtype.itemsize)
        run = _named(on.cusolver, call, "syevjBatched")
        run(handle, *how, *lie, work, size, call.info, options, call.matrices)
    finally:
        on.cusolver.destroySyevjInfo(options)


def _eigen(on: Libraries) -> tuple[int, int]:
    return on.cusolver.CUSOLVER_EIG_MODE_VECTOR, on.cublas.CUBLAS_FILL_MODE_LOWER


def _trsm(on: Libraries, call: Solver) -> None:
    """The library says nothing of it, so every info is 0."""
    (m, k), (a, b) = call.sizes, call.arrays
    triangle, turned, ones = tuple(call.options)
    how = (
        on.cublas.CUBLAS_SIDE_LEFT,
        on.cublas.CUBLAS_FILL_MODE_LOWER if triangle == "L" else on.cublas.CUBLAS_FILL_MODE_UPPER,
        getattr(on.cublas, f"CUBLAS_OP_{turned}"),
        on.cublas.CUBLAS_DIAG_UNIT if ones == "U" else on.cublas.CUBLAS_DIAG_NON_UNIT,
    )
    one, _ = ONE_AND_ZERO[call.dtype]
    on.clear(call.info, 4 * call.matrices)
    if call.matrices > 1:
        tables = _pointers(on, call, a), a.leading, _pointers(on, call, b), b.leading
        _named(on.cublas, call, "trsmBatched")(on.blas(), *how, m, k, one, *tables, call.matrices)
        return
    _named(on.cublas, call, "trsm")(on.blas(), *how, m, k, one, a.address, a.leading, b.address, b.leading)


_ROUTINES: Final[Mapping[str, Callable[[Libraries, Solver], None]]] = {
    "potrf": _potrf,
    "getrf": _getrf,
    "getrs": _getrs,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "gesvd": _gesvd,
    "gesvdj": _gesvdj,
    "gesvdjBatched": _gesvdj_batched,
    "gesvda": _gesvda,
    "syevd": _syevd,
    "syevj": _syevj,
    "syevjBatched": _syevj_batched,
    "trsm": _trsm,
}
