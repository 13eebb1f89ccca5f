"""The thick-restart Lanczos process for blocks: products with several vectors at once, which span one space together.

A block finds as many copies of an eigenvalue as it has vectors, where a single vector finds one. Blocks have one width,
that of the start: directions that the map does not give are drawn, and where the space has no more of them, zeros stand
in their places, whose images nobody looks at.
"""

from __future__ import annotations

from math import hypot

import tensor_runtime as tr
from tensor_linalg.host import from_numbers, numbers
from tensor_linalg.iterative.basis import Basis, Extension
from tensor_linalg.iterative.lanczos import Lanczos
from tensor_linalg.iterative.operators import padded


class BlockLanczos(Lanczos):
    """One search, from a start [n, p]; see the module, and ``Lanczos`` for arguments.

    >>> from tensor_linalg.iterative.operators import LinearMap
    >>> from tensor_linalg.iterative.results import Stop
    >>> stop = Stop("demo", None, 99, None, tr.F64, 0.75)
    >>> apply = LinearMap("demo", lambda x: x * 2.0, (3,), (2,))
    >>> lanczos = BlockLanczos(apply, tr.ones((3, 2)), 3, lambda w: w, stop, 0)
    >>> lanczos.run(2, False), [round(value, 12) for value in lanczos.pairs(2)[0]]
    ((True, False), [2.0, 2.0])
    """

    def _begun(self, start: tr.Tensor) -> tr.Tensor:
        self._width = start.shape[1]
        self._held = 0
        self._last = Extension(start, [], 0)
        self._basis = Basis(start[:, 0], self._width)
        self._basis.extended(start, 0, self._width, 0.0, self._direction)
        return tr.copy(self._basis[:])

    def _full(self) -> bool:
        return self._count == self._size or self._size < min(self._extent, self._count + self._width)

    def _invariant(self) -> bool:
        return self._last.drawn > 0

    def _start_anew(self) -> None:
        for column in range(self._count, min(self._count + self._width, self._extent)):
            self._basis.set(column, self._direction(column))

    def _grow(self) -> None:
        """One product with a block, and the next one."""
        j, start = self._count, len(self._locked)
        held = min(self._width, self._extent - j)
        stop = j + held
        if self._first is None:
            w = self.apply(padded(self._basis[j:stop], self._width))
        else:
            w, self._first = self._first, None
        last = self._basis.extended(w[:, :held], stop, self._width, self._scale, self._direction)
        h = last.inside[start:]
        turned = tr.permute_axes(h, (1, 0))
        self._write_h[j:stop, start:stop] = tr.conj(turned) if h.dtype.kind == "complex" else turned
        self._last, self._held, self._count, self._found = last, held, stop, None
        if self._each:
            self._compare(h, [hypot(*map(abs, column)) for column in zip(*last.outside, strict=True)] or [0.0] * held)

    def _residuals(self, coefficients: tr.Tensor) -> list[float]:
        return leaving(self._last.outside, coefficients[-self._held :])


def leaving(outside: list[list[complex]], coefficients: tr.Tensor, /) -> list[float]:
    """Lengths of what combinations of a block's images are beyond the space, from ``Extension.outside``.

    >>> leaving([[3.0, 0.0], [0.0, 4.0]], tr.ones((2, 1)))
    [5.0]
    """
    if not outside:
        return [0.0] * coefficients.shape[1]
    coupling = from_numbers(outside, coefficients, coefficients.dtype)
    found: list[float] = numbers(tr.norm(tr.dot_general(coupling, coefficients, contracting=((1,), (0,))), axis=0))
    return found
