"""Matrices for conformance cases, and oracles in plain Python.

Matrices are of small whole numbers, with a diagonal that keeps them well away from singular where they must be solved,
so that the bounds of the docstrings hold with room.
"""

from __future__ import annotations

from itertools import permutations
from math import prod, sqrt
from typing import Any

from tensor_core.dtypes import Bool, DType
from tensor_runtime.ops.complex_parts import paired
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated


def identity(shape: tuple[int, ...], dtype: DType, /) -> Host:
    """Identity matrices of shape [N, N, B...].

    >>> from tensor_core import F64
    >>> identity((2, 2), F64).to_nested()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return tabulated(shape, dtype, lambda index: int(index[0] == index[1]))


def shifted(a: Host, number: float, /) -> Host:
    """Matrices with a number added on the diagonal.

    >>> from tensor_core import F64, HostTensor
    >>> shifted(HostTensor.zeros((2, 2), F64), 3).to_nested()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    return tabulated(a.shape, a.dtype, lambda index: a[index] + number * (index[0] == index[1]))


def separated(a: Host, /) -> Host:
    """Matrices with 24, 48, ... added on the diagonal, whose eigenvalues lie well apart.

    >>> from tensor_core import F64, HostTensor
    >>> separated(HostTensor.zeros((2, 2), F64)).to_nested()
    [[24.0, 0.0], [0.0, 48.0]]
    """
    return tabulated(a.shape, a.dtype, lambda index: a[index] + 24 * (index[0] + 1) * (index[0] == index[1]))


def widened(a: Host, /) -> Host:
    """The same matrices with complex elements.

    >>> from tensor_core import F32, HostTensor
    >>> widened(HostTensor.zeros((2, 2), F32)).dtype
    C32
    """
    return tabulated(a.shape, paired(a.dtype.component), lambda index: a[index])


def hermitian(a: Host, /) -> Host:
    """Hermitian matrices with the lower triangles of these, and the real parts of their diagonals.

    >>> from tensor_core import C64, HostTensor
    >>> hermitian(HostTensor.from_nested([[1j, 7], [2j, 3]], C64)).to_nested()
    [[0j, -2j], [2j, (3+0j)]]
    """

    def rule(index: Index) -> Any:
        i, j, *batch = index
        if i == j:
            return a[index].real
        return a[index] if i > j else a[j, i, *batch].conjugate()

    return tabulated(a.shape, a.dtype, rule)


def with_junk(a: Host) -> Host:
    """Other numbers above the diagonal."""
    return tabulated(a.shape, a.dtype, lambda index: 77 if index[0] < index[1] else a[index])


def true(shape: tuple[int, ...], /) -> Host:
    """Bool of that shape, true everywhere.

    >>> true((2,)).to_nested()
    [True, True]
    """
    return tabulated(shape, Bool, lambda index: True)


def factor(a: Host, /) -> Host:
    """Lower Cholesky factors, column by column; they are unique.

    >>> from tensor_core import F64, HostTensor
    >>> factor(HostTensor.from_nested([[4.0, 99.0], [2.0, 5.0]])).to_nested()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    lower: dict[Index, Any] = {}
    size = a.shape[0]
    for batch in indices(a.shape[2:]):
        for j in range(size):
            for i in range(j, size):
                left = a[i, j, *batch] - sum(lower[i, k, *batch] * lower[j, k, *batch].conjugate() for k in range(j))
                lower[i, j, *batch] = sqrt(left.real) if i == j else left / lower[j, j, *batch]
    return tabulated(a.shape, a.dtype, lambda index: lower.get(index, 0))


def squares(a: Host, /) -> Host:
    """Sums of the squares of magnitudes of each matrix, real.

    >>> from tensor_core import C64, HostTensor
    >>> squares(HostTensor.from_nested([[3j, 4.0]], C64)).item()
    25.0
    """
    places = [(i, j) for i in range(a.shape[0]) for j in range(a.shape[1])]
    return tabulated(a.shape[2:], a.dtype.component, lambda batch: sum(abs(a[i, j, *batch]) ** 2 for i, j in places))


def determinants(a: Host, /) -> Host:
    """Sums over permutations; exact for small whole numbers.

    >>> from tensor_core import F64, HostTensor
    >>> determinants(HostTensor.from_nested([[1.0, 2.0], [3.0, 4.0]])).item()
    -2.0
    """

    def rule(batch: Index) -> Any:
        return sum(
            (-1) ** sum(x > y for k, y in enumerate(order) for x in order[:k])
            * prod(a[row, column, *batch] for row, column in enumerate(order))
            for order in permutations(range(a.shape[0]))
        )

    return tabulated(a.shape[2:], a.dtype, rule)
