"""Small systems in vector lanes (csrc/linalg) whose batches differ, or whose sides are cut into parts.

Each right-hand side, or part of one, gets a matrix of its own. One matrix for all of them is factored once: the batch
is merged with the columns. Systems have the bits that they have alone, and those that are not finite change no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.errors import TensorError
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.batched_simd import LARGEST, is_cut, rescaled
from tensor_cpu.kernels.linalg.refusals import powers_before_lanes, refusing_singular
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "systems of up to 64 rows"
_PARTS: Final = 16
"""Of the columns of one system, so that they fill the lanes; the last may be filled up with zeros."""


def bind(operands: tuple[Operand, ...], result: Result, check: bool) -> Kernel | None:
    """The kernel for these forms, or None where the matrices are not small.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(F64, (1, 1), CPU), form_of(F64, (1, 1, 2), CPU)
    >>> bind((a, b), b, True)(np.array([[2.0]]), np.array([[[4.0]], [[8.0]]])).tolist()
    [[[2.0]], [[4.0]]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or isinstance(result, tuple):
        return None
    if not result.size or not 0 < a.shape[0] <= LARGEST["solve"]:
        return None
    side, dtype = a.shape[0], NUMPY_DTYPES[result.dtype]
    numpys = linalg.bind("solve", (a, b), result, check)
    right = each = 1 if b.rank == 1 else b.shape[1]
    batch = result.shape[:1:-1]
    parts = _PARTS if prod(batch) == 1 and is_cut(side, right) else 1
    if prod(a.shape[2:]) == 1:
        batch, right = (), right * prod(batch)
    count, columns = prod(batch) * parts, -(-right // parts)
    missing = parts * columns - right
    bind_lanes = partial(
        LIBRARY.bind_batched_simd,
        "solve",
        result.dtype.name,
        sides=(side, side),
        right=columns,
        count=count,
        results=(((count, columns, side), result.dtype.name),),
        single=True,
        fallback=_hand_back,
    )
    kernel = bind_lanes()

    def spread(transposed: Any, shape: tuple[int, ...], rows: int) -> Any:
        """The matrices, one for each of the batch; those that are fewer than the batch has axes get more."""
        if batch:
            stack = transposed.reshape(*shape[:-2], *(1,) * (2 + len(batch) - len(shape)), *shape[-2:])
            transposed = np.broadcast_to(stack, (*batch, *shape[-2:]))
        return np.ascontiguousarray(transposed.reshape(-1, rows, side))

    def by_columns(matrices: Any, sides: Any) -> Any:
        return bind_lanes(check=False)(matrices, sides.reshape(count, columns, side)).reshape(sides.shape)

    def solve(x: Any, y: Any) -> Any:
        matrices = spread(x, x.shape, side)
        sides = spread(y, y.shape if y.ndim > 1 else (1, side), right)
        if parts > 1:
            matrices = np.ascontiguousarray(np.broadcast_to(matrices, (parts, side, side)))
        if missing:
            sides = np.concatenate([sides[0], np.zeros((missing, side), dtype)])
        given = (matrices, sides.reshape(count, columns, side))
        try:
            try:
                found = kernel(*given)
            except _HandedBackError:
                if not all(np.isfinite(one).all() for one in given):
                    raise
                powers, for_numpy = powers_before_lanes(matrices)
                if for_numpy.any():
                    raise
                if parts == 1:  # each of a batch has a power of its own
                    given = (matrices, sides.reshape(-1, each, side))
                found = rescaled("solve", by_columns, powers, given)
            return (found.reshape(-1, side)[:right] if missing else found).reshape(result.shape[::-1])
        except _HandedBackError:
            pass
        return behind(x, y)

    refusing = refusing_singular("solve", numpys)
    behind = refusing if check or result.rank <= 2 else _sparing_systems(refusing, solve, result.shape[:1:-1])
    return solve


def _sparing_systems(behind: Kernel, solve: Kernel, batch: tuple[int, ...]) -> Kernel:
    """What stands behind systems that nothing checks: it takes those that are not finite and no others.

    Args:
        behind: takes any number of systems.
        solve: takes all of them, finite ones in the place of what is not.
        batch: of the results, over which that of matrices or of right-hand sides may have to be broadcast.
    """

    def of_each(stack: Any, core: tuple[int, ...]) -> Any:
        missing = (1,) * (len(batch) + len(core) - stack.ndim)
        axes = stack.shape[: stack.ndim - len(core)]
        return np.broadcast_to(stack.reshape(*axes, *missing, *core), (*batch, *core))

    def kernel(x: Any, y: Any) -> Any:
        finite = [np.isfinite(one).all(axis=(-2, -1)) for one in (x, y)]
        spoilt = ~(of_each(finite[0], ()) & of_each(finite[1], ()))
        if spoilt.all() or not spoilt.any():
            return behind(x, y)
        regular = x.copy(), y.copy()
        regular[0][~finite[0]] = np.eye(x.shape[-1])
        regular[1][~finite[1]] = 0
        found = solve(*regular)
        try:
            found[spoilt] = behind(*(of_each(one, one.shape[-2:])[spoilt] for one in (x, y)))
        except TensorError:
            regular[0][...] = np.eye(x.shape[-1])
            regular[0][~finite[0]] = x[~finite[0]]
            return behind(regular[0], y)  # which raises, and names the place of the matrix among all
        return found

    return kernel


class _HandedBackError(Exception):
    """The lanes found a matrix with an exactly zero pivot, numbers near the limits, or something that is not finite."""


def _hand_back(*arrays: Any) -> None:
    raise _HandedBackError


BINDERS: Final[Mapping[str, NativeBinder]] = {"solve": taking_fields(bind)}
