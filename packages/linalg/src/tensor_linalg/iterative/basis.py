"""Orthonormal vectors in one tensor, which Krylov methods grow column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import tensor_runtime as tr
from tensor_linalg.host import numbers
from tensor_linalg.iterative.operators import quotient
from tensor_linalg.operands import unit_of
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.ops.contraction import DOT_GENERAL


class Extension(NamedTuple):
    """What vectors are made of: columns that were there, new ones that they gave, and how many others were drawn."""

    inside: tr.Tensor
    """Coefficients [count, p] of the columns that were there."""
    outside: list[list[complex]]
    """The same of the new ones, row for row."""
    drawn: int


class Changes:
    """Changes of several things at once; one that Ctrl-C cut short is made again, from its beginning.

    >>> changes, seen = Changes(), []
    >>> changes.make(lambda: seen.append(1))
    >>> changes.settle()
    >>> seen
    [1]
    """

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: Callable[[], None] | None = None

    def make(self, change: Callable[[], None], /) -> None:
        """Make a change, of which nothing that was done is wrong to do again."""
        self._pending = change
        change()
        self._pending = None

    def settle(self) -> None:
        """Make the last one again if it was cut short."""
        if self._pending is not None:
            self.make(self._pending)


class Basis:
    """Room for columns [n, size], or [n, size, C] for C bases side by side; the first ``count`` are in use.

    >>> basis = Basis(tr.tensor([1.0, 0.0]), 2)
    >>> basis.set(0, tr.tensor([1.0, 0.0]))
    >>> rest, coefficients = basis.orthogonalized(tr.tensor([3.0, 4.0]), 1)
    >>> rest.to_numpy().tolist(), coefficients.to_numpy().tolist()
    ([0.0, 4.0], [3.0])
    """

    __slots__ = ("_complex", "_view", "_writable")

    def __init__(self, like: tr.Tensor, size: int, /) -> None:
        n, *columns = like.shape
        self._view = tr.zeros((n, size, *columns), dtype=like.dtype, placement=like.placement)
        self._writable = tr.mutable_view(self._view)
        self._complex = like.dtype.kind == "complex"

    @classmethod
    def begun(cls, block: tr.Tensor, image: tr.Tensor, size: int, /) -> tuple[Basis, tr.Tensor]:
        """A basis with vectors [n, p] that are orthonormal to the precision of another dtype, and their images.

        Args:
            block: the vectors, which come out orthonormal to the precision of their own.
            image: what a linear map makes of them.
            size: columns at most.

        >>> basis, image = Basis.begun(tr.tensor([[1.0], [1e-4]]), tr.tensor([[2.0], [0.0]]), 1)
        >>> round(tr.norm(basis[0]).item(), 15), round(image[0, 0].item(), 12)
        (1.0, 1.99999999)
        """
        basis = cls(block[:, 0], size)
        width = block.shape[1]
        outside = basis.extended(block, 0, width, 0.0, lambda count: block[:, count]).outside
        columns = list[tr.Tensor]()
        for position in range(width):
            column = image[:, position]
            for row, before in enumerate(columns):
                column = tr.subtract(column, tr.multiply(before, outside[row][position]))
            columns.append(tr.divide(column, outside[position][position]))
        return basis, tr.stack(columns, axis=1)

    def __getitem__(self, index: int | slice, /) -> tr.Tensor:
        """A column, or several, as a view."""
        return self._view[:, index]

    def set(self, index: int | slice, x: tr.Tensor, /) -> None:
        """Write a column, or several."""
        self._writable[:, index] = x

    def combined(self, y: tr.Tensor, start: int = 0, /) -> tr.Tensor:
        """Columns from ``start`` on times y: [k] gives [n], [k, p] gives [n, p]; of C bases [k, C] gives [n, C]."""
        return _combined(self._view[:, start : start + y.shape[0]], y)

    def orthogonalized(self, w: tr.Tensor, count: int, start: int = 0, /) -> tuple[tr.Tensor, tr.Tensor]:
        """What of a vector, or several, is orthogonal to columns up to ``count``, and the coefficients of the rest.

        Twice is enough: L. Giraud, J. Langou and M. Rozložník, Comput. Math. Appl. 50, 1069 (2005).
        """
        used = self._view[:, start:count]
        h = self._coefficients(used, w)
        w = tr.subtract(w, _combined(used, h))
        again = self._coefficients(used, w)
        return tr.subtract(w, _combined(used, again)), tr.add(h, again)

    def orthonormal(self, v: tr.Tensor, count: int, /) -> tr.Tensor:
        """The direction of a vector less what of it lies in the first ``count`` columns."""
        if count:
            v, _ = self.orthogonalized(v, count)
        return tr.divide(v, tr.norm(v))

    def direction(self, seed: int, stream: int, count: int, /) -> tr.Tensor:
        """A drawn direction that is orthogonal to the first ``count`` columns."""
        like = self._view[:, 0]
        drawn = tr.normal(like.shape, seed=seed, stream=stream, dtype=like.dtype, placement=like.placement)
        return self.orthonormal(drawn, count)

    def extended(
        self, w: tr.Tensor, count: int, width: int, least: float, draw: Callable[[int], tr.Tensor], /
    ) -> Extension:
        """Write the directions of vectors w [n, p] behind the first ``count`` columns, less what lies in those.

        Args:
            w: the vectors.
            count: columns that are in use.
            width: how many columns are to follow, as far as the space has them.
            least: a length that is large; what is shorter than ten rounding units of it, or of the vector that it is
                left of, is no direction.
            draw: gives a direction that is orthogonal to so many columns, in the place of one that is none.
        """
        room = min(width, w.shape[0] - count)
        rest, h = self.orthogonalized(w, count)
        unit = unit_of(w.dtype)
        lengths: list[list[float]] = numbers(tr.stack([tr.norm(w, axis=0), tr.norm(rest, axis=0)], axis=1))
        found, rows = 0, list[list[complex]]()
        for position, (whole, beyond) in enumerate(lengths):
            v, inside = rest[:, position], list[complex]()
            if found:
                v, coefficients = self.orthogonalized(v, count + found, count)
                inside = numbers(coefficients)
            for row, coefficient in zip(rows, inside, strict=True):
                row[position] = coefficient
            length = float(tr.norm(v))
            if found == room or length <= 10 * unit * max(whole, least):
                continue
            v = quotient(v, length)
            # What rounding left of other directions has grown by the division.
            if length < max(0.5 * beyond, unit**0.5 * whole):
                v = self.orthonormal(v, count + found)
            self.set(count + found, v)
            rows.append([0.0] * len(lengths))
            rows[-1][position] = length
            found += 1
        for column in range(count + found, count + room):
            self.set(column, draw(column))
        return Extension(h, rows, room - found)

    def _coefficients(self, used: tr.Tensor, w: tr.Tensor) -> tr.Tensor:
        """The inner products of columns with a vector: [count], or [count, C]."""
        axes = _ROWS_OF_SEVERAL if used.rank == 3 else _ROWS
        if not self._complex:
            return execute_pair(DOT_GENERAL, used, w, axes)
        return tr.conj(execute_pair(DOT_GENERAL, used, tr.conj(w), axes))  # no copy of the basis


def _combined(used: tr.Tensor, y: tr.Tensor) -> tr.Tensor:
    return execute_pair(DOT_GENERAL, used, y, _COLUMNS_OF_SEVERAL if used.rank == 3 else _COLUMNS)


# Contracted axes and batch axes, as ``dot_general`` reads them in every call.
_ROWS: Final = (((0,), (0,)), ((), ()))
_ROWS_OF_SEVERAL: Final = (((0,), (0,)), ((2,), (1,)))
_COLUMNS: Final = (((1,), (0,)), ((), ()))
_COLUMNS_OF_SEVERAL: Final = (((1,), (0,)), ((2,), (1,)))
