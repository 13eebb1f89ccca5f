"""Philox4x64-10, the generator behind every random tensor, in integers of Python: the definition backends agree with.

Slow, a few microseconds per block of four words; backends bring kernels of their own.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011.
"""

from __future__ import annotations

from typing import Final

Words = tuple[int, int, int, int]

_MASK: Final = 2**64 - 1
_MULTIPLIERS: Final = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_KEY_STEPS: Final = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS: Final = 10


def philox(counter: Words, key: tuple[int, int], /) -> Words:
    """Four words of 64 bits for a counter of four and a key of two.

    >>> [f"{word:016x}" for word in philox((0, 0, 0, 0), (0, 0))]
    ['16554d9eca36314c', 'db20fe9d672d0fdc', 'd7e772cee186176b', '7e68b68aec7ba23b']
    """
    a, b, c, d = counter
    first, second = key
    for _ in range(_ROUNDS):
        low, high = _MULTIPLIERS[0] * a, _MULTIPLIERS[1] * c
        a, b, c, d = (high >> 64) ^ b ^ first, high & _MASK, (low >> 64) ^ d ^ second, low & _MASK
        first, second = (first + _KEY_STEPS[0]) & _MASK, (second + _KEY_STEPS[1]) & _MASK
    return a, b, c, d


def word(index: int, seed: int, stream: int, domain: int = 0, /) -> int:
    """Word number ``index`` of a stream, in the domain of a distribution.

    >>> hex(word(3, 0, 0))
    '0x7e68b68aec7ba23b'
    """
    return philox((index // 4, 0, domain, 0), (seed, stream))[index % 4]
