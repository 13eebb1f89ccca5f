"""What properties of native kernels draw: extents, layouts, memory, and the processor they pretend to run on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from math import prod
from random import Random
from typing import Any, Final

import numpy as np

from tensor_cpu.system.extension import LIBRARY

_SETS: Final = ("plain", "avx2", "avx512")
MOST_ELEMENTS: Final = 1000  # elements


def extents_of(rng: Random) -> tuple[int, ...]:
    """Few long axes, many short ones, or anything between; at most ``MOST_ELEMENTS`` elements."""
    kind = rng.random()
    if kind < 0.4:
        extents = [rng.choice((2, 2, 2, 3, 4)) for _ in range(rng.randint(3, 10))]
    elif kind < 0.6:
        extents = [rng.randint(6, 70), rng.randint(6, 70), rng.randint(1, 2)]
        rng.shuffle(extents)
    else:
        extents = [rng.randint(0 if kind > 0.95 else 1, 9) for _ in range(rng.randint(0, 7))]
    while prod(max(extent, 1) for extent in extents) > MOST_ELEMENTS:
        extents.pop()
    return tuple(extents)


def layout_of(rng: Random, extents: tuple[int, ...], repeats: bool) -> tuple[tuple[int, ...], int, int]:
    """Strides, the place of the first element, and the length of the memory; with gaps, and in any direction."""
    strides, step, first = [0] * len(extents), 1, 0
    for axis in rng.sample(range(len(extents)), len(extents)):
        if repeats and rng.random() < 0.1:
            continue
        step *= rng.choice((1, 1, 1, 2))
        strides[axis] = step if rng.random() < 0.8 else -step
        first += (extents[axis] - 1) * step if strides[axis] < 0 and extents[axis] else 0
        step = step * max(extents[axis], 1) + rng.choice((0, 0, 1))
    return tuple(strides), first, step + first + 1


def view_of(memory: Any, extents: tuple[int, ...], strides: tuple[int, ...], first: int) -> Any:
    """The array of these strides, in elements, over a memory of one axis."""
    steps = [stride * memory.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(memory[first:], extents, steps)


def places_of(extents: tuple[int, ...], strides: tuple[int, ...], first: int) -> list[int]:
    """Where each element lies, the last axis fastest."""
    return [
        first + sum(index * stride for index, stride in zip(indices, strides, strict=True))
        for indices in product(*map(range, extents))
    ]


def memory_of(rng: Random, numpy_name: str, size: int) -> Any:
    """Any bits there are, of so many elements."""
    dtype = np.dtype(numpy_name)
    if dtype.kind == "b":
        return np.frombuffer(bytes(rng.choices((0, 1), k=size)), dtype).copy()
    return np.frombuffer(rng.randbytes(size * dtype.itemsize), dtype).copy()


@contextmanager
def some_processor(rng: Random) -> Iterator[None]:
    """Any number of threads and any instruction set that is here."""
    threads, best = LIBRARY.threads(), LIBRARY.instruction_set()
    LIBRARY.set_threads(rng.choice((1, 2, 3)))
    LIBRARY.set_instruction_set(rng.choice(_SETS[: 1 + _SETS.index(best)]))
    try:
        yield
    finally:
        LIBRARY.set_threads(threads)
        LIBRARY.set_instruction_set(best)
