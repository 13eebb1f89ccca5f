"""The libraries of the device by themselves, cuBLAS and cuSOLVER: called by addresses, into memory that is there.

They are reached through ``tensor_gpu.device.api``, so a simulated device's own stand for them; nothing above it is
used: no checks of values or shapes, no allocation, no wait. Routines that overwrite an operand are given a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import tensor_runtime as tr
from gpu_reporting.peers import Library
from gpu_reporting.workloads import PRODUCT
from tensor_gpu.device.api import Gemm, Solver, Stack
from tensor_runtime.placement import as_placement

BATCHED: Final = "ijb,jkb->ikb"
Run = Callable[..., Any]


def library(place: str, like: Library, /) -> Library:
    """The libraries of a device, with the clock of ``like``, which uses the same stream.

    >>> import numpy as np
    >>> from gpu_reporting.peers import ours
    >>> raw = library("sim", ours("sim"))
    >>> x = raw.take(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> raw.give(raw.einsum("ij,jk->ik", x, x)).tolist()
    [[20.0, 18.0], [18.0, 29.0]]
    >>> np.tril(raw.give(raw.calls["cholesky"](x))).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    raw = _Raw(place)
    calls: dict[str, Run] = {
        "copy": raw.copied,
        "cholesky": raw.cholesky,
        "svd": raw.svd,
        "best svd": raw.svd,
        "eigh": raw.eigh,
        "qr": raw.qr,
        "solve": raw.solve,
    }
    return Library(like.take, raw.einsum, calls, like.wait, like.give, leading=False, clock=like.clock)


class _Raw:
    """Calls on tensors without gaps, whose results are made once for each call and shape, and written again."""

    def __init__(self, place: str) -> None:
        self._place = place
        backend: Any = tr.backend(place)
        self._api = backend.api
        self._stream = backend.executor(as_placement(place)).stream()
        self._made: dict[tuple[Any, ...], tr.Tensor] = {}

    def einsum(self, equation: str, *operands: tr.Tensor) -> tr.Tensor:
        """A product of matrices, or of stacks of them."""
        if equation not in (PRODUCT, BATCHED):
            raise NotImplementedError(equation)
        a, b = operands
        (m, k, *batch), n = a.shape, b.shape[1]
        c = self._target("gemm", (m, n, *batch), a.dtype)
        lies = (_at(a), m, m * k, _at(b), k, k * n, _at(c), m, m * n, prod(batch))
        self._api.gemm(self._stream, Gemm(a.dtype, "N", "N", m, n, k, *lies))
        return c

    def copied(self, x: tr.Tensor, name: str = "copy") -> tr.Tensor:
        """Every byte."""
        y = self._target(name, x.shape, x.dtype)
        self._api.copy(self._stream, _at(y), _at(x), x.nbytes)
        return y

    def cholesky(self, x: tr.Tensor) -> tr.Tensor:
        """The factor in the lower triangle; the upper one is left as it was."""
        n, _, *batch = x.shape
        a = self.copied(x, "cholesky")
        self._solve("potrf", a, (n,), [(a, n)], batch)
        return a

    def svd(self, x: tr.Tensor) -> tuple[tr.Tensor, ...]:
        """By Jacobi rotations, matrix by matrix."""
        m, n, *batch = x.shape
        a, k = self.copied(x, "svd"), min(m, n)
        u, vh = self._target("svd u", (m, k, *batch), x.dtype), self._target("svd vh", (k, n, *batch), x.dtype)
        s = self._target("svd s", (k, *batch), x.dtype.component)
        self._solve("gesvdj", a, (m, n), [(a, m), (s, 1), (u, m), (vh, k)], batch)
        return u, s, vh

    def eigh(self, x: tr.Tensor) -> tuple[tr.Tensor, ...]:
        """Values and vectors."""
        n, _, *batch = x.shape
        a, w = self.copied(x, "eigh"), self._target("eigh w", (n, *batch), x.dtype.component)
        self._solve("syevd", a, (n,), [(a, n), (w, 1)], batch)
        return w, a

    def qr(self, x: tr.Tensor) -> tuple[tr.Tensor, ...]:
        """The columns of q, and r with reflectors below it."""
        m, n, *batch = x.shape
        r, tau = self.copied(x, "qr r"), self._target("qr tau", (min(m, n), *batch), x.dtype)
        self._solve("geqrf", r, (m, n), [(r, m), (tau, 1)], batch)
        q = self.copied(r, "qr q")
        self._solve("orgqr", q, (m, n, n), [(q, m), (tau, 1)], batch)
        return q, r

    def solve(self, x: tr.Tensor, y: tr.Tensor) -> tr.Tensor:
        """By LU factors with exchanged rows."""
        (n, _, *batch), columns = x.shape, y.shape[1]
        a, b, pivots = self.copied(x, "solve a"), self.copied(y, "solve b"), self._target("pivots", (n, *batch), tr.I32)
        self._solve("getrf", a, (n, n), [(a, n), (pivots, 1)], batch)
        self._solve("getrs", a, (n, columns), [(a, n), (pivots, 1), (b, n)], batch)
        return b

    def _solve(
        self,
        routine: str,
        of: tr.Tensor,
        sizes: tuple[int, ...],
        arrays: Sequence[tuple[tr.Tensor, int]],
        batch: Sequence[int],
    ) -> None:
        count, rooms = prod(batch), iter(range(1 << 10))
        stacks = tuple(Stack(_at(x), leading, x.size // count) for x, leading in arrays)
        info = self._target("info", (count,), tr.I32)

        def scratch(nbytes: int) -> int:
            return _at(self._target(f"{routine} workspace {next(rooms)}", (max(nbytes, 1),), tr.Bool))

        self._api.solver(self._stream, Solver(routine, of.dtype, sizes, stacks, _at(info), count), scratch)

    def _target(self, name: str, shape: Sequence[int], dtype: Any) -> tr.Tensor:
        key = (name, *shape, dtype)
        if key not in self._made:
            self._made[key] = tr.zeros(tuple(shape), dtype=dtype, placement=self._place)
        return self._made[key]


def _at(x: tr.Tensor) -> int:
    address: int = x._array.address
    return address
