"""Which driver decomposes a stack: what the device's table says, of those that take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from tensor_core.dtypes import DType
from tensor_core.errors import UnsupportedOperationError
from tensor_gpu.device.executor import Executor
from tensor_gpu.programs.columns import MOST_COLUMNS
from tensor_gpu.tables.drivers import ANYTHING

NO_SUCH_DRIVER: Final = (
    "libraries of devices do not divide and conquer; the drivers 'auto', 'gesvd' and 'jacobi' are there"
)
MOST_ROTATED: Final = 32
"""Rows and columns that the library's ``gesvdjBatched`` takes."""


def by_blocks(rows: int, columns: int, count: int, /) -> bool:
    """Whether a block of threads may have each of so many matrices for itself, all in one launch.

    >>> by_blocks(32, 16, 8192), by_blocks(32, 0, 1), by_blocks(2000, 2000, 8)
    (True, False, False)
    """
    return min(rows, columns, count) > 0 and max(rows, columns) <= MOST_COLUMNS


_TAKES: Final[Mapping[str, Callable[[int, int, int], bool]]] = {
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
        operation: "svd", "eigh" or "qr".
        dtype: of the matrices.
        rows: of each.
        columns: of each.
        count: of them.
        asked: "auto" for what the table says; "gesvd", or "jacobi": rotations, by whatever makes them.

    Raises:
        UnsupportedOperationError: another driver.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.bench import Bench
    >>> [driver_of(Bench().executor, "svd", F64, 9, 9, count, "jacobi") for count in (1, 100)]
    ['gesvdj', 'rotations']
    """
    if asked == "gesvd":
        return asked
    if asked == "jacobi":
        return "rotations" if count > 1 and by_blocks(rows, columns, count) else "gesvdj"
    if asked != "auto":
        name = f"{operation}.{asked}"
        raise UnsupportedOperationError(f"{name}: {NO_SUCH_DRIVER}", operation=name)
    return executor.drivers.driver(operation, dtype, max(rows, columns), count, partial(takes, rows, columns, count))
