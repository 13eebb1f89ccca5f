"""Properties of conversion: the core's scalar definitions against NumPy and against the CPU backend."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tensor_runtime as tr
from properties import Property, draw
from tensor_core import DTYPES, CastRangeError, DType, HostTensor, LossyConversionError, can_convert, cast, convert

if TYPE_CHECKING:
    from tensor_core.scalar_conversion import Overflow

POLICIES: Final[tuple[Overflow, ...]] = ("error", "saturate", "wrap")
PAIRS: Final = [(source, target) for source in DTYPES for target in DTYPES]
# What checked conversion accepts, written down: NumPy's "safe" casting. I64 to F64 and C64 rounds beyond 2**53.
ACCEPTED: Final = {
    "Bool": "F32 F64 I32 I64 Bool C32 C64",
    "I32": "F64 I32 I64 C64",
    "I64": "F64 I64 C64",
    "F32": "F32 F64 C32 C64",
    "F64": "F64 C64",
    "C32": "C32 C64",
    "C64": "C64",
}
_KEPT: Final = [(source, target) for source, target in PAIRS if target.name in ACCEPTED[source.name].split()]
_BATCH: Final = 25  # elements per example


def acceptance_follows_the_table(rng: Random) -> None:
    """All 49 pairs, in the core and in the runtime."""
    for source, target in PAIRS:
        accepted = (source, target) in _KEPT
        assert can_convert(source, target) == accepted == np.can_cast(source.numpy_name, target.numpy_name, "safe")
        for call in (partial(convert, HostTensor.zeros(2, source)), partial(tr.convert, tr.zeros(2, dtype=source))):
            try:
                assert call(target).dtype is target
                assert accepted, (source, target)
            except LossyConversionError:
                assert not accepted, (source, target)


def conversion_and_back_keeps_every_bit(rng: Random) -> None:
    """NaN payloads, signed zeros and subnormal numbers too; integers beyond 2**53 are the only exception."""
    source, target = rng.choice(_KEPT)
    x = draw.tensor(rng, source, (_BATCH,))
    if source is tr.I64 and target.kind != "int":
        x = HostTensor.from_flat([number if abs(number) <= 2**53 else number >> 11 for number in x], (_BATCH,), source)
    here, there = convert(x, target), tr.convert(tr.upload(x), target)
    assert here.raw == tr.download(there).raw, (source, target, x.to_nested())
    assert cast(here, source).raw == x.raw, (source, target, x.to_nested())
    assert tr.download(tr.cast(there, source)).raw == x.raw, (source, target, x.to_nested())


def casting_equals_the_definition(rng: Random) -> None:
    """Any pair, any policy: the backend's bits are the core's, which are NumPy's wherever NumPy's are defined."""
    source, target = rng.choice(PAIRS)
    assert_cast(draw.tensor(rng, source, (rng.randint(1, 2), _BATCH // 2)), target)


def assert_cast(x: HostTensor[Any], target: DType) -> None:
    """Core and backend agree on a tensor for each policy, down to the index that an error names.

    >>> assert_cast(HostTensor.from_nested([1.5, 3e9]), tr.I32)
    """
    there = tr.upload(x)
    for overflow in POLICIES:
        try:
            expected = cast(x, target, overflow)
        except CastRangeError as error:
            assert overflow == "error" and target.kind == "int", (x.dtype, target)
            try:
                tr.cast(there, target, overflow)
            except CastRangeError as other:
                assert other.index == error.index, (x.dtype, target, error.index, other.index)
            else:
                raise AssertionError(f"{x.dtype} to {target}: the backend accepts {error}") from error
        else:
            found = tr.download(tr.cast(there, target, overflow))
            assert found.raw == expected.raw, (x.dtype, target, overflow, x.to_nested(), found.to_nested())
            if overflow == "error":
                _assert_as_numpy(x, expected)


def _assert_as_numpy(x: HostTensor[Any], expected: HostTensor[Any]) -> None:
    array = np.asarray(x)
    if x.dtype.kind == "complex" and expected.dtype.kind not in ("complex", "bool"):
        array = array.real
    with np.errstate(all="ignore"):
        theirs = array.astype(expected.dtype.numpy_name)
    np.testing.assert_array_equal(np.asarray(expected), theirs, strict=True)
    if expected.dtype.kind == "float":
        np.testing.assert_array_equal(np.signbit(np.asarray(expected)), np.signbit(theirs))


def assert_all_specials() -> None:
    """Casting, for every pair and every edge case.

    >>> assert_all_specials()
    """
    for source in DTYPES:
        numbers = draw.specials(source)
        whole = HostTensor.from_flat(numbers, (len(numbers),), source)
        for target in DTYPES:
            assert_cast(whole, target)
            if target.kind == "int":  # one by one, so that an error hides no other element
                for number in numbers:
                    assert_cast(HostTensor.from_flat([number], (1,), source), target)


PROPERTIES: Final = (
    Property("convert", "acceptance follows the table of 49 pairs", acceptance_follows_the_table, 1, 1, 1),
    # An example has 25 elements: 2000 per accepted pair in make test, 20 000 in make test-long.
    Property(
        "round-trip", "conversion and back keeps every bit", conversion_and_back_keeps_every_bit, 1_840, 18_400, 20
    ),
    Property("cast", "casting equals the definition", casting_equals_the_definition, 2_000, 100_000),
)
