"""Which driver decomposes a stack: what the device's table says, of those that take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Final

from tensor_core.dtypes import DType
from tensor_core.errors import UnsupportedOperationError
from tensor_gpu.device.executor import Executor
from tensor_gpu.programs.columns import MOST_COLUMNS
from tensor_gpu.programs.matrices import MOST_ROWS
from tensor_gpu.tables.drivers import ANYTHING, DRIVERS
from tensor_runtime.form import Form
from tensor_runtime.protocols import Operand, Result

UNSUPPORTED: Final[Mapping[str, str]] = {
    "svd.gesdd": "libraries of devices do not divide and conquer; the drivers 'auto', 'gesvd' and 'jacobi' are there",
    **dict.fromkeys(
        ("eigh.ev", "eigh.evr"),
        "libraries of devices divide and conquer, or rotate; the drivers 'auto', 'evd' and 'jacobi' are there",
    ),
}
"""Drivers that a user may ask for, and that are left out, with the reason."""
_ASKED: Final[Mapping[str, tuple[str, str]]] = {
    "svd.gesvd": ("gesvd", "gesvd"),
    "svd.jacobi": ("gesvdj", "rotations"),
    "eigh.evd": ("syevd", "syevd"),
    "eigh.jacobi": ("syevj", "syevjBatched"),
}
"""What decomposes one matrix, and a stack that the latter takes, where a user asks for a driver."""
_BY_LU_FACTORS: Final = ("det", "inv", "lu_factor", "solve")
MOST_ROTATED: Final = 32
"""Rows and columns that the library's ``gesvdjBatched`` takes."""


def by_blocks(rows: int, columns: int, count: int, /) -> bool:
    """Whether a block of threads may have each of so many matrices for itself, all in one launch.

    >>> by_blocks(32, 16, 8192), by_blocks(32, 0, 1), by_blocks(2000, 2000, 8)
    (True, False, False)
    """
    return min(rows, columns, count) > 0 and max(rows, columns) <= MOST_COLUMNS


def by_warps(rows: int, columns: int, count: int, /) -> bool:
    """Whether a warp may have each of so many matrices for itself, all in one launch.

    >>> by_warps(32, 16, 8192), by_warps(33, 16, 8192), by_warps(4, 4, 0)
    (True, False, False)
    """
    return min(rows, columns, count) > 0 and max(rows, columns) <= MOST_ROWS


_TAKES: Final[Mapping[str, Callable[[int, int, int], bool]]] = {
    "warps": by_warps,
    "rotations": by_blocks,
    "reflectors": by_blocks,
    "gesvdjBatched": lambda rows, columns, count: 0 < min(rows, columns) <= max(rows, columns) <= MOST_ROTATED,
    "gesvda": lambda rows, columns, count: min(rows, columns) > 0,
    "gesvdj": lambda rows, columns, count: True,
    "syevj": lambda rows, columns, count: True,
    "syevjBatched": lambda rows, columns, count: True,
}


def takes(rows: int, columns: int, count: int, driver: str, /) -> bool:
    """Whether a driver takes so many matrices.

    >>> takes(33, 3, 100, "gesvdjBatched"), takes(33, 3, 100, "gesvd")
    (False, True)
    """
    return driver in ANYTHING or _TAKES[driver](rows, columns, count)


def driver_of(
    executor: Executor, operation: str, dtype: DType, rows: int, columns: int, count: int, asked: str = "auto", /
) -> str:
    """What decomposes a stack.

    Args:
        executor: of the device.
        operation: "svd", "eigh", "qr", "cholesky" or "lu".
        dtype: of the matrices.
        rows: of each.
        columns: of each.
        count: of them.
        asked: "auto" for what the table says; for "svd" "gesvd", for "eigh" "evd"; for both "jacobi": rotations, by
            whatever makes them.

    Raises:
        UnsupportedOperationError: another driver.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.bench import Bench
    >>> [driver_of(Bench().executor, "svd", F64, 9, 9, count, "jacobi") for count in (1, 100)]
    ['gesvdj', 'rotations']
    >>> [driver_of(Bench().executor, "eigh", F64, 9, 9, 100, asked) for asked in ("evd", "jacobi")]
    ['syevd', 'syevjBatched']
    """
    if asked == "auto":
        found = executor.drivers
        return found.driver(operation, dtype, max(rows, columns), count, partial(takes, rows, columns, count))
    name = f"{operation}.{asked}"
    if name not in _ASKED:
        raise UnsupportedOperationError(f"{name}: {UNSUPPORTED[name]}", operation=name)
    alone, stacked = _ASKED[name]
    return stacked if count > 1 and takes(rows, columns, count, stacked) else alone


def chosen_driver(
    executor: Executor, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /
) -> str | None:
    """What decomposes the matrices of an operation's first operand; None where the operation knows no drivers.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> one, many = bench.form((40, 40)), bench.form((4, 4, 1000))
    >>> [chosen_driver(bench.executor, "inv", (form,), form, (True,)) for form in (one, many)]
    ['getrf', 'warps']
    """
    operation = "lu" if name in _BY_LU_FACTORS else name
    matrices = operands[0] if operands else None
    if operation not in DRIVERS or not isinstance(matrices, Form):
        return None
    rows, columns, *batch = matrices.shape
    if name == "solve" and batch and isinstance(result, Form):
        batch = list(result.shape[2:])  # matrices may be repeated for right-hand sides
    asked = params[1] if operation in ("svd", "eigh") else "auto"
    return driver_of(executor, operation, matrices.dtype, rows, columns, prod(batch), asked)
