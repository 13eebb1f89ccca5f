"""Damage: bytes of a good file, changed as chance, a bad disk or an adversary would."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

NUMBERS: Final = (0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 128, 255, 256, 1000, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1,
                  2**32, 2**40, 2**53 + 1, 2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64)  # fmt: skip
_WIDTHS: Final = (1, 2, 4, 8)
_DIGITS: Final = re.compile(rb"-?[0-9]+")


def damaged(rng: Random, content: bytes, others: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """The content after one to four changes.

    Args:
        rng: what draws them.
        content: a good file.
        others: files that parts are taken from.
        words: what a text may have in it, to be put in the place of other text.

    >>> damaged(Random(0), b"abc", [b"abc"]) == damaged(Random(0), b"abc", [b"abc"])
    True
    """
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        if words and rng.random() < 0.5:
            _swap_word(rng, found, words)
        elif rng.random() < 0.1:
            _splice(rng, found, rng.choice(others))
        else:
            rng.choice(_CHANGES)(rng, found)
    return bytes(found)


def _flip(rng: Random, content: bytearray) -> None:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _overwrite(rng: Random, content: bytearray) -> None:
    if content:
        content[rng.randrange(len(content))] = rng.randrange(256)


def _number(rng: Random, content: bytearray) -> None:
    """A number in binary, of either byte order, where one may stand."""
    width = rng.choice(_WIDTHS)
    value = (rng.choice(NUMBERS) if rng.random() < 0.8 else len(content) + rng.randint(-9, 9)) % 2 ** (8 * width)
    at = rng.randrange(len(content) + 1)
    content[at : at + width] = value.to_bytes(width, rng.choice(("little", "little", "big")))


def _digits(rng: Random, content: bytearray) -> None:
    """A number in text."""
    places = list(_DIGITS.finditer(content))
    if places:
        chosen = rng.choice(places)
        value = rng.choice(NUMBERS) if rng.random() < 0.7 else int(chosen[0][:30]) + rng.choice((-1, 1))
        content[chosen.start() : chosen.end()] = b"%d" % (-value if rng.random() < 0.1 else value)


def _cut(rng: Random, content: bytearray) -> None:
    del content[rng.randrange(len(content) + 1) :]


def _grow(rng: Random, content: bytearray) -> None:
    content += rng.randbytes(rng.randint(1, 16)) if rng.random() < 0.5 else bytes(rng.randint(1, 64))


def _remove(rng: Random, content: bytearray) -> None:
    at = rng.randrange(len(content) + 1)
    del content[at : at + rng.randint(1, 12)]


def _repeat(rng: Random, content: bytearray) -> None:
    at = rng.randrange(len(content) + 1)
    content[at:at] = content[at : at + rng.randint(1, 40)]


def _splice(rng: Random, content: bytearray, other: bytes) -> None:
    at, start = rng.randrange(len(content) + 1), rng.randrange(len(other) + 1)
    length = rng.randint(1, 64)
    content[at : at + length] = other[start : start + length]


def _swap_word(rng: Random, content: bytearray, words: Sequence[bytes]) -> None:
    there = [word for word in words if word in content]
    if there and rng.random() < 0.7:
        old = rng.choice(there)
        at = content.index(old)
        content[at : at + len(old)] = rng.choice(words)
    else:
        at = rng.randrange(len(content) + 1)
        content[at:at] = rng.choice(words)


_CHANGES: Final[tuple[Callable[[Random, bytearray], None], ...]] = (
    _flip, _overwrite, _number, _number, _digits, _digits, _cut, _grow, _remove, _repeat,
)  # fmt: skip
