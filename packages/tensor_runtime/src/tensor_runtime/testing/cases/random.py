"""Cases of ``tensor_runtime.ops.random``: the bits that its description fixes, by Philox4x64-10 in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import cos, log, pi, sin, sqrt
from typing import Any, Final

from tensor_core.dtypes import F64, FLOATING, I32, I64, DType
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import element_count
from tensor_runtime.ops.random import integers, normal, uniform
from tensor_runtime.testing.case import Case, refused

_MASK: Final = 2**64 - 1
_DRAWN: Final = (((), 0, 0), ((2, 3), 7, 1), ((0, 2), 7, 0), ((5, 1, 3), 2**64 - 1, 2**64 - 1))


UNIFORM, INTEGERS, NORMAL = range(3)
"""The third word of the counter, which keeps the distributions apart."""


def philox(counter: int, seed: int, stream: int, /) -> tuple[int, int, int, int]:
    """The four words of one block: ten rounds on 64-bit words (Salmon et al., SC 2011, section 3.3).

    >>> [f"{word:016x}" for word in philox(0, 0, 0)][:2]
    ['16554d9eca36314c', 'db20fe9d672d0fdc']
    """
    a, b, c, d = counter & _MASK, counter >> 64 & _MASK, counter >> 128, 0
    for _ in range(10):
        low, high = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = (high >> 64) ^ b ^ seed, high & _MASK, (low >> 64) ^ d ^ stream, low & _MASK
        seed, stream = (seed + 0x9E3779B97F4A7C15) & _MASK, (stream + 0xBB67AE8584CAA73B) & _MASK
    return a, b, c, d


def word(position: int, seed: int, stream: int, domain: int = UNIFORM, /) -> int:
    """Word of that number in the sequence of a seed, a stream and a distribution.

    >>> hex(word(0, 0, 0))
    '0x16554d9eca36314c'
    """
    return philox(position // 4 + (domain << 128), seed, stream)[position % 4]


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in sorted(FLOATING, key=str):
        for shape, seed, stream in _DRAWN:
            label = f"{dtype} {shape} seed {seed} stream {stream}"
            expected = partial(_of_parts, shape, dtype, partial(_uniform_part, dtype, seed, stream))
            yield Case("uniform", label, (), _drawing(shape, seed, stream, dtype), expected)
            expected = partial(_of_parts, shape, dtype, partial(normal_part, seed, stream))
            yield Case("normal", label, (), _drawing(shape, seed, stream, dtype, normal), expected, ulps=4)
    yield refused("uniform", "I64 refused", (), _drawing((2,), 0, 0, I64), DTypeError)
    yield refused("uniform", "a negative seed", (), _drawing((2,), -1, 0, F64), ArgumentError)
    yield refused("uniform", "a stream of 65 bits", (), _drawing((2,), 0, 2**64, F64), ArgumentError)
    yield refused("normal", "I64 refused", (), _drawing((2,), 0, 0, I64, normal), DTypeError)
    yield from _integer_cases()


def _integer_cases() -> Iterator[Case]:
    for dtype in (I32, I64):
        half = 2 ** (8 * dtype.itemsize - 1)
        for low, high in ((0, 10), (-3, 4), (5, 6), (-half, half), (-half, 0), (1, 2 ** (8 * dtype.itemsize - 2))):
            for shape, seed, stream in _DRAWN:
                label = f"{dtype} {low} to {high} {shape} seed {seed} stream {stream}"
                expected = partial(_integers, shape, low, high, seed, stream, dtype)
                yield Case("integers", label, (), _choosing(shape, low, high, seed, stream, dtype), expected)
    yield refused("integers", "F64 refused", (), _choosing((2,), 0, 5, 0, 0, F64), DTypeError)
    yield refused("integers", "nothing to choose from", (), _choosing((2,), 5, 5, 0, 0, I64), ArgumentError)
    yield refused("integers", "too large for I32", (), _choosing((2,), 0, 2**31 + 1, 0, 0, I32), CastRangeError)


def _drawing(shape: tuple[int, ...], seed: int, stream: int, dtype: DType, function: Any = uniform) -> Any:
    return lambda place: function(shape, seed=seed, stream=stream, dtype=dtype, placement=place)


def _choosing(shape: tuple[int, ...], low: int, high: int, seed: int, stream: int, dtype: DType) -> Any:
    return lambda place: integers(shape, low, high, seed=seed, stream=stream, dtype=dtype, placement=place)


def _of_parts(shape: tuple[int, ...], dtype: DType, part: Callable[[int], float]) -> HostTensor[Any]:
    count = element_count(shape)
    if dtype.kind == "complex":
        return HostTensor.from_flat([complex(part(2 * i), part(2 * i + 1)) for i in range(count)], shape, dtype)
    return HostTensor.from_flat([part(i) for i in range(count)], shape, dtype)


def _uniform_part(dtype: DType, seed: int, stream: int, position: int) -> float:
    shift, step = (41, 2.0**-23) if dtype.component.itemsize == 4 else (12, 2.0**-52)
    return ((word(position, seed, stream) >> shift) + 0.5) * step


def normal_part(seed: int, stream: int, position: int, /) -> float:
    """One part of a normal tensor in F64, with the logarithm, sine and cosine of Python.

    >>> round(normal_part(0, 0, 0), 12)
    -1.86855873028
    """
    first = position - position % 2
    v, w = word(first, seed, stream, NORMAL), word(first + 1, seed, stream, NORMAL)
    radius = sqrt(-2 * log(((v >> 12) + 0.5) * 2.0**-52))
    angle = ((w >> 9) % 2**52 + 0.5) * 2.0**-52 * (pi / 4)
    exchanged, negative = w >> 61 & 1, w >> 62 + position % 2 & 1
    size = radius * (cos(angle) if exchanged == position % 2 else sin(angle))
    return -size if negative else size


def _integers(shape: tuple[int, ...], low: int, high: int, seed: int, stream: int, dtype: DType) -> HostTensor[Any]:
    values = [low + (word(i, seed, stream, INTEGERS) * (high - low) >> 64) for i in range(element_count(shape))]
    return HostTensor.from_flat(values, shape, dtype)
