"""Orthonormal vectors in one tensor, which Krylov methods grow column by column."""

from __future__ import annotations

from typing import Final

import tensor_runtime as tr


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

    def __getitem__(self, index: int | slice, /) -> tr.Tensor:
        """A column, or several, as a view."""
        return self._view[:, index]

    def set(self, index: int | slice, x: tr.Tensor, /) -> None:
        """Write a column, or several."""
        self._writable[:, index] = x

    def combined(self, y: tr.Tensor, start: int = 0, /) -> tr.Tensor:
        """Columns from ``start`` on times y: [k] gives [n], [k, p] gives [n, p]; of C bases [k, C] gives [n, C]."""
        return _combined(self._view[:, start : start + y.shape[0]], y)

    def orthogonalized(self, w: tr.Tensor, count: int, /) -> tuple[tr.Tensor, tr.Tensor]:
        """What of a vector is orthogonal to the first ``count`` columns, and the coefficients of the rest.

        Twice is enough: L. Giraud, J. Langou and M. Rozložník, Comput. Math. Appl. 50, 1069 (2005).
        """
        used = self._view[:, :count]
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

    def _coefficients(self, used: tr.Tensor, w: tr.Tensor) -> tr.Tensor:
        """The inner products of columns with a vector: [count], or [count, C]."""
        batch = _BATCH if used.rank == 3 else _NO_BATCH
        if not self._complex:
            return tr.dot_general(used, w, contracting=_ROWS, batch=batch)
        return tr.conj(tr.dot_general(used, tr.conj(w), contracting=_ROWS, batch=batch))  # no copy of the basis


def _combined(used: tr.Tensor, y: tr.Tensor) -> tr.Tensor:
    return tr.dot_general(used, y, contracting=_COLUMNS, batch=_BATCH if used.rank == 3 else _NO_BATCH)


_ROWS: Final = ((0,), (0,))
_COLUMNS: Final = ((1,), (0,))
_BATCH: Final = ((2,), (1,))
_NO_BATCH: Final = ((), ())
