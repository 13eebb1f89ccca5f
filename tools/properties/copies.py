"""Properties of the native copies: N1 and N2, kernels against index arithmetic written down element by element."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from math import prod
from random import Random
from typing import Any, Final

import numpy as np

from properties import Property
from tensor_core import DTYPES
from tensor_cpu.extension import AVAILABLE, LIBRARY

_SETS: Final = ("plain", "avx2", "avx512")
_MOST: Final = 1000  # elements


def _extents(rng: Random) -> tuple[int, ...]:
    kind = rng.random()
    if kind < 0.4:
        extents = [rng.choice((2, 2, 2, 3, 4)) for _ in range(rng.randint(3, 10))]
    elif kind < 0.6:
        extents = [rng.randint(6, 70), rng.randint(6, 70), rng.randint(1, 2)]
        rng.shuffle(extents)
    else:
        extents = [rng.randint(0 if kind > 0.95 else 1, 9) for _ in range(rng.randint(0, 7))]
    while prod(extents) > _MOST:
        extents.pop()
    return tuple(extents)


def _layout(rng: Random, extents: tuple[int, ...], repeats: bool) -> tuple[tuple[int, ...], int, int]:
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


def _view(memory: Any, extents: tuple[int, ...], strides: tuple[int, ...], first: int) -> Any:
    steps = [stride * memory.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(memory[first:], extents, steps)


def _places(extents: tuple[int, ...], strides: tuple[int, ...], first: int) -> list[int]:
    """Where each element lies, the last axis fastest."""
    return [
        first + sum(index * stride for index, stride in zip(indices, strides, strict=True))
        for indices in product(*map(range, extents))
    ]


def _memory(rng: Random, numpy_name: str, size: int) -> Any:
    dtype = np.dtype(numpy_name)
    if dtype.kind == "b":
        return np.frombuffer(bytes(rng.choices((0, 1), k=size)), dtype).copy()
    return np.frombuffer(rng.randbytes(size * dtype.itemsize), dtype).copy()


@contextmanager
def _some_processor(rng: Random) -> Iterator[None]:
    """Any number of threads and any instruction set that is here."""
    threads, best = LIBRARY.threads(), LIBRARY.instruction_set()
    LIBRARY.set_threads(rng.choice((1, 2, 3)))
    LIBRARY.set_instruction_set(rng.choice(_SETS[: 1 + _SETS.index(best)]))
    try:
        yield
    finally:
        LIBRARY.set_threads(threads)
        LIBRARY.set_instruction_set(best)


def a_native_copy_reads_every_element_from_its_place(rng: Random) -> None:
    """N1: any layout, in every dtype."""
    if not AVAILABLE:
        return
    dtype, extents = rng.choice(DTYPES), _extents(rng)
    strides, first, size = _layout(rng, extents, True)
    memory = _memory(rng, dtype.numpy_name, size)
    with _some_processor(rng):
        copied = LIBRARY.bind_copy(extents, strides, dtype.name)(_view(memory, extents, strides, first))
    bits = memory.view(np.uint8).reshape(size, -1)
    assert copied.tobytes() == bits[_places(extents, strides, first)].tobytes(), (dtype, extents, strides)


def a_native_write_touches_its_elements_alone(rng: Random) -> None:
    """N2: any layouts; in one memory too, as if the source had been copied first."""
    if not AVAILABLE:
        return
    dtype, extents = rng.choice(DTYPES), _extents(rng)
    target, start, target_size = _layout(rng, extents, False)
    source, first, source_size = _layout(rng, extents, True)
    memory = _memory(rng, dtype.numpy_name, max(source_size, target_size))
    read = memory if rng.random() < 0.5 else _memory(rng, dtype.numpy_name, source_size)
    expected = memory.copy()
    places = _places(extents, target, start), _places(extents, source, first)
    expected.view(np.uint8).reshape(memory.size, -1)[places[0]] = read.view(np.uint8).reshape(read.size, -1)[places[1]]
    with _some_processor(rng):
        write = LIBRARY.bind_copy_into(extents, target, source, dtype.name)
    write(_view(memory, extents, target, start), _view(read, extents, source, first))
    assert memory.tobytes() == expected.tobytes(), (dtype, extents, target, source)


PROPERTIES: Final = (
    Property("N1", "a native copy is exact", a_native_copy_reads_every_element_from_its_place, 2000, 1_000_000),
    Property("N2", "a native write is exact", a_native_write_touches_its_elements_alone, 2000, 1_000_000),
)
