"""What a provider is: a library beside the device's own that contracts two tensors, whatever the order of their axes.

A product whose operands are no matrices as they lie is copied for the device's library of products; a provider reads
it where it lies. Everything here is addresses, extents and strides, which count elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from tensor_core.dtypes import FLOATING, DType
from tensor_gpu.device.api import Scratch, Stream

MOST_MODES: Final = 64
"""Modes of one contraction, in cuTENSOR."""
WRITTEN: Final = 2
"""The place of the result among the three arrays."""


class Lying(NamedTuple):
    """How one tensor lies: a stride for each of its modes."""

    modes: tuple[int, ...]
    strides: tuple[int, ...]


class Contract(NamedTuple):
    """c = sums of a b over the modes that c lacks, for arrays that lie so, wherever they begin."""

    dtype: DType  # F32, F64, C32 or C64, of all three
    extents: Mapping[int, int]  # of modes, 2 or more each
    a: Lying
    b: Lying
    c: Lying
    conjugated: bool = False
    """Whether a is read conjugated."""

    @property
    def key(self) -> tuple[object, ...]:
        """What tells contractions apart."""
        return self.dtype, tuple(self.extents.items()), self.a, self.b, self.c, self.conjugated


class Provider(Protocol):
    """One library. Contractions are submitted in the order of a stream; nothing waits."""

    @property
    def name(self) -> str:
        """The word by which it is chosen."""
        ...

    def opened(self) -> str:
        """Import and open it, once; what was found, such as its version. Raises whatever stands against it."""
        ...

    def refuses(self, ordinal: int, call: Contract, /) -> str | None:
        """Why it does not take a contraction on a device; None where it does. It may be asked once for each."""
        ...

    def contract(self, stream: Stream, call: Contract, addresses: tuple[int, int, int], scratch: Scratch, /) -> None:
        """Submit a contraction of a and b into c, by addresses; its workspace comes from ``scratch``."""
        ...


def refusal(call: Contract, /) -> str | None:
    """Why no provider takes a contraction: what cuTENSOR's rules say. None where they say nothing.

    >>> from tensor_core import F64, I64
    >>> lying = Lying((0,), (1,))
    >>> refusal(Contract(F64, {0: 4}, lying, lying, Lying((), ()))) is None
    True
    >>> refusal(Contract(F64, {0: 4}, lying._replace(strides=(-1,)), lying, Lying((), ())))
    'operand 0 has a stride of -1; accepted: strides above 0'
    >>> refusal(Contract(I64, {}, lying, lying, lying))
    'there are no contractions of I64'
    """
    if call.dtype not in FLOATING:
        return f"there are no contractions of {call.dtype.name}"
    if len(call.extents) > MOST_MODES:
        return f"there are {len(call.extents)} axes that cannot be joined; accepted: {MOST_MODES} at most"
    for place, one in enumerate((call.a, call.b, call.c)):
        for stride in one.strides:
            if stride <= 0:
                what = "the result" if place == WRITTEN else f"operand {place}"
                return f"{what} has a stride of {stride}; accepted: strides above 0"
    return None
