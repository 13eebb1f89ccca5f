"""Random tensors as NumPy's generators draw them: by a seed once, and then other numbers at every call."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import randbits
from typing import Any

import tensor_runtime as tr
from tensor_runtime.tensors.tensor import Tensor

Size = int | Sequence[int] | None


class Generator:
    """Random tensors of a seed; each call draws from a stream of its own.

    Args:
        seed: None takes one from the system; another generator goes on.

    >>> Generator(1).normal(size=2).tolist() == Generator(1).standard_normal(2).tolist()
    True
    """

    def __init__(self, seed: int | Generator | None = None) -> None:
        self._seed: int = seed._seed if isinstance(seed, Generator) else randbits(32) if seed is None else int(seed)
        self._calls: int = seed._calls if isinstance(seed, Generator) else 0

    def _drawn(self, function: Any, size: Size, dtype: Any) -> Tensor:
        self._calls += 1
        shape = () if size is None else size
        drawn: Tensor = function(
            shape, seed=tr.fold_in(self._seed, self._calls), dtype="F64" if dtype is None else dtype
        )
        return drawn

    def standard_normal(self, size: Size = None, dtype: Any = None) -> Tensor:
        """Normal numbers of mean 0 and deviation 1."""
        return self._drawn(tr.normal, size, dtype)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Size = None, dtype: Any = None) -> Tensor:
        """Normal numbers of a mean and a deviation."""
        return tr.add(tr.multiply(self.standard_normal(size, dtype), scale), loc)

    def random(self, size: Size = None, dtype: Any = None) -> Tensor:
        """Numbers from 0 up to, and without, 1."""
        return self._drawn(tr.uniform, size, dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None, dtype: Any = None) -> Tensor:
        """Numbers from one bound up to another."""
        return tr.add(tr.multiply(self.random(size, dtype), high - low), low)


def normal(loc: float = 0.0, scale: float = 1.0, size: Size = None, dtype: Any = None) -> Tensor:
    """Normal numbers that no seed gives again; take a :class:`Generator` for those."""
    return Generator().normal(loc, scale, size, dtype)


def uniform(low: float = 0.0, high: float = 1.0, size: Size = None, dtype: Any = None) -> Tensor:
    """Even numbers that no seed gives again; take a :class:`Generator` for those."""
    return Generator().uniform(low, high, size, dtype)
