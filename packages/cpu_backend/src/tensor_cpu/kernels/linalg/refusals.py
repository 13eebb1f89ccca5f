"""Which matrices kernels in lanes refuse: without results of any, and in the errors that name the first.

Matrices are compact stacks [count, N, N], transposed as arrays are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.checks import nothing_behind
from tensor_cpu.kernels.linalg.limits.powers import are_spread, powers_for_lanes, scaled
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

_TOGETHER: Final = (64, 8, 1)
"""Matrices of which lanes are asked at once whether they refuse one, and then, where they do, parts of these."""
_NAMES: Final = {NUMPY_DTYPES[dtype]: dtype.name for dtype in FLOATING}


def refused(matrices: Any, refuses: Callable[[int], Callable[[Any], bool]], /) -> Any:
    """Which matrices of a compact stack are refused, a Bool for each.

    Args:
        matrices: [count, N, N].
        refuses: from a number of matrices to what tells whether one of a stack of so many is refused; of 1, whether a
            matrix (N, N) is.

    >>> refused(np.array([[[1.0]], [[0.0]]]), lambda count: lambda stack: not stack.all()).tolist()
    [False, True]
    """
    found = np.zeros(len(matrices), bool)
    kernels = [(size, refuses(size)) for size in _TOGETHER if size <= len(matrices)]

    def look(start: int, stop: int, level: int) -> None:
        size, refuse = kernels[level]
        for first in range(start, stop, size):
            last = min(first + size, stop)
            if size == 1:
                found[first] = refuse(matrices[first])
            elif last - first < size or refuse(matrices[first:last]):
                look(first, last, level + 1)

    if kernels:
        look(0, len(matrices), 0)
    return found


def singular(matrices: Array, /) -> Array:
    """Which of a compact stack of finite matrices have an exactly zero pivot, a Bool for each, by one pass.

    All eliminations in lanes meet the same pivots: the determinant has the sign 0 where they refuse a matrix. One that
    the lanes hand back by itself counts as singular, too.

    >>> singular(np.array([[[1.0]], [[0.0]]])).tolist()
    [False, True]
    """
    count, *sides = matrices.shape
    name, real = _NAMES[matrices.dtype], _NAMES[matrices.real.dtype]
    results = ((count,), name), ((count,), real)
    kernel = LIBRARY.bind_batched_simd("slogdet", name, tuple(sides), 0, count, results, False, nothing_behind, False)
    found = kernel(matrices)
    if found is not None:
        return np.asarray(found[0] == 0)
    if count == 1:
        return np.ones(1, bool)
    half = count // 2  # one of them is handed back
    return np.concatenate([singular(matrices[:half]), singular(matrices[half:])])


def refusing_singular(name: str, numpys: Kernel) -> Kernel:
    """What stands behind a kernel in lanes that found a matrix with an exactly zero pivot, or something not finite.

    >>> refusing_singular("det", np.linalg.det)(np.eye(1)).item()
    1.0
    """

    def kernel(*arrays: Any) -> Any:
        if name == "det" or not all(np.isfinite(array).all() for array in arrays):
            return numpys(*arrays)
        powers = powers_for_lanes(arrays[0])
        a = np.ascontiguousarray(arrays[0] if powers is None else scaled(arrays[0], -powers))
        without = singular(a.reshape(-1, *a.shape[-2:])).reshape(a.shape[:-2]) & ~are_spread(arrays[0], powers)
        if not without.any():
            return numpys(*arrays)
        raise linalg.exactly_singular(name, tuple(map(int, np.argwhere(without)[0][::-1])))

    return kernel


def powers_before_lanes(a: Array) -> tuple[Array | None, Array]:
    """The powers that are taken out of finite matrices before lanes take them, and which are left to NumPy's kernel.

    Of large matrices those alone of which lanes refuse to find the pivots: others keep their bits.

    Returns:
        As of ``powers_for_lanes``; and Bool [...], true for matrices whose rows and columns want powers of their own.

    >>> [None if part is None else part.tolist() for part in powers_before_lanes(np.eye(2) * 2.0**1020)]
    [None, False]
    """
    powers = powers_for_lanes(a)
    spread = are_spread(a, powers)
    if not spread.any() and (powers is None or not (powers > 0).any()):
        return powers, spread
    sides, name = a.shape[-2:], _NAMES[a.dtype]
    inverted = LIBRARY.bind_batched_simd("inv", name, sides, 0, 1, ((sides, name),), True, nothing_behind)
    kept = np.zeros(a.shape[:-2], bool)
    large = spread if powers is None else spread | (powers[..., 0, 0] > 0)
    for index in np.argwhere(large):
        kept[tuple(index)] = inverted(np.ascontiguousarray(a[tuple(index)])) is not None
    if powers is not None:
        powers = np.where(kept[..., None, None], 0, powers)
    return (powers if powers is not None and powers.any() else None), np.asarray(spread & ~kept)


def refusing(name: str, form: Form, count: int) -> Callable[[Any], bool]:
    """Whether lanes refuse one of so many compact matrices, (count, N, N) or (N, N) for one: "cholesky" or "inv".

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> refusing("inv", form_of(F64, (1, 1), CPU), 1)(np.array([[0.0]]))
    True
    """
    sides = form.shape[0], form.shape[0]
    one = (sides if count == 1 else (count, *sides), form.dtype.name)
    kernel = LIBRARY.bind_batched_simd(name, form.dtype.name, sides, 0, count, (one,), True, nothing_behind, False)
    return lambda stack: kernel(stack) is None
