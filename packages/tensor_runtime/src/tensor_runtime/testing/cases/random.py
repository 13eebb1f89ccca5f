"""Cases of ``tensor_runtime.random``: the same bits as Philox4x64-10 written out in Python."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import F64, FLOATING, I64, DType
from tensor_core.errors import ArgumentError, DTypeError
from tensor_core.host_tensor import HostTensor
from tensor_core.shapes import element_count
from tensor_runtime.random import uniform
from tensor_runtime.testing.case import Case, refused

_MASK: Final = 2**64 - 1


def philox(counter: int, seed: int, stream: int, /) -> tuple[int, int, int, int]:
    """The four words of one block: ten rounds on 64-bit words (Salmon et al., SC 2011, section 3.3).

    >>> [f"{word:016x}" for word in philox(0, 0, 0)][:2]
    ['16554d9eca36314c', 'db20fe9d672d0fdc']
    """
    a, b, c, d = counter & _MASK, counter >> 64, 0, 0
    for _ in range(10):
        low, high = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = (high >> 64) ^ b ^ seed, high & _MASK, (low >> 64) ^ d ^ stream, low & _MASK
        seed, stream = (seed + 0x9E3779B97F4A7C15) & _MASK, (stream + 0xBB67AE8584CAA73B) & _MASK
    return a, b, c, d


def word(position: int, seed: int, stream: int, /) -> int:
    """Word of that number in the sequence of a seed and a stream.

    >>> hex(word(0, 0, 0))
    '0x16554d9eca36314c'
    """
    return philox(position // 4, seed, stream)[position % 4]


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in sorted(FLOATING, key=str):
        for shape, seed, stream in (((), 0, 0), ((2, 3), 7, 1), ((0, 2), 7, 0), ((5, 1, 3), 2**64 - 1, 2**64 - 1)):
            yield Case(
                "uniform",
                f"{dtype} {shape} seed {seed} stream {stream}",
                (),
                _drawing(shape, seed, stream, dtype),
                partial(_uniform, shape, seed, stream, dtype),
            )
    yield refused("uniform", "I64 refused", (), _drawing((2,), 0, 0, I64), DTypeError)
    yield refused("uniform", "a negative seed", (), _drawing((2,), -1, 0, F64), ArgumentError)
    yield refused("uniform", "a stream of 65 bits", (), _drawing((2,), 0, 2**64, F64), ArgumentError)


def _drawing(shape: tuple[int, ...], seed: int, stream: int, dtype: DType) -> Any:
    return lambda place: uniform(shape, seed=seed, stream=stream, dtype=dtype, placement=place)


def _uniform(shape: tuple[int, ...], seed: int, stream: int, dtype: DType) -> HostTensor[Any]:
    single = dtype.component.itemsize == 4
    shift, step = (41, 2.0**-23) if single else (12, 2.0**-52)

    def part(position: int) -> float:
        return ((word(position, seed, stream) >> shift) + 0.5) * step

    count = element_count(shape)
    if dtype.kind == "complex":
        return HostTensor.from_flat([complex(part(2 * i), part(2 * i + 1)) for i in range(count)], shape, dtype)
    return HostTensor.from_flat([part(i) for i in range(count)], shape, dtype)
