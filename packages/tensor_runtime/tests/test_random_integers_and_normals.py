"""``integers``, ``normal`` and ``fold_in``: bits against the documentation in plain Python, and statistics.

Every statistical test has a fixed seed, so it passes always or never.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DType
from tensor_core.dtypes import C32, C64, F32, F64, FLOATING, I32, I64
from tensor_core.errors import ArgumentError, BackendUnavailableError, CastRangeError, DTypeError, ShapeError
from tensor_runtime.ops.philox import philox, word

WORDS = st.integers(0, 2**64 - 1)
PI = ("243f6a8885a308d3", "13198a2e03707344", "a4093822299f31d0", "082efa98ec4e6c89")
KEY = ("452821e638d01377", "be5466cf34e90c6c")
CHUNK = 1 << 15


def documented_integer(index: int, low: int, high: int, seed: int, stream: int) -> int:
    return low + word(index, seed, stream, 1) * (high - low) // 2**64


def documented_part(index: int, seed: int, stream: int) -> float:
    """Part ``index`` of a normal tensor in F64, by the functions of Python's ``math``."""
    pair = index // 2 * 2
    v, w = word(pair, seed, stream, 2), word(pair + 1, seed, stream, 2)
    radius = math.sqrt(-2 * math.log(unit(v >> 12)))
    angle = unit((w >> 9) % 2**52) * (math.pi / 4)
    c, s = math.cos(angle), math.sin(angle)
    if w >> 61 & 1:
        c, s = s, c
    return radius * ((-s if w >> 63 & 1 else s) if index % 2 else (-c if w >> 62 & 1 else c))


def unit(digits: int) -> float:
    value = (Fraction(digits) + Fraction(1, 2)) / 2**52
    assert Fraction(float(value)) == value, "the map must be exact"
    return float(value)


def parts(x: tr.Tensor) -> list[float]:
    flat = x.reshape(-1).to_numpy()
    return [float(part) for part in np.ascontiguousarray(flat).view(flat.real.dtype)]


def chi_square(counts: Any, expected: Any) -> float:
    return float(sum((found - wanted) ** 2 / wanted for found, wanted in zip(counts, expected, strict=True)))


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        (("0",) * 4, ("0",) * 2, "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
        (("f" * 16,) * 4, ("f" * 16,) * 2, "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0"),
        (PI, KEY, "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6"),
    ],
)
def test_the_definition_gives_the_published_words(counter: Any, key: Any, words: str) -> None:
    a, b, c, d = (int(part, 16) for part in counter)
    found = philox((a, b, c, d), (int(key[0], 16), int(key[1], 16)))
    assert [f"{part:016x}" for part in found] == words.split()


def test_known_integers_stay_what_they_are() -> None:
    assert tr.integers(6, 0, 10, seed=0).to_numpy().tolist() == [1, 9, 1, 8, 6, 0]
    assert tr.integers(3, -(2**63), 2**63, seed=0).to_numpy().tolist() == [
        0x19BF6BE67257DF0B - 2**63,
        0xECE365A9064C1231 - 2**63,
        0x236F185079E2A282 - 2**63,
    ]


def test_known_normal_numbers_stay_what_they_are() -> None:
    found = tr.normal(4, seed=0).to_numpy()
    expected = [-1.8685587302799482, -0.5195259985307059, -1.2101060097417489, -0.9541795732481609]
    np.testing.assert_array_max_ulp(found, np.array(expected), maxulp=4)


@given(
    seed=WORDS,
    stream=WORDS,
    shape=st.lists(st.integers(0, 4), max_size=4).map(tuple),
    dtype=st.sampled_from([I32, I64]),
    ends=st.data(),
)
def test_every_integer_follows_the_documentation(
    seed: int, stream: int, shape: tuple[int, ...], dtype: DType, ends: st.DataObject
) -> None:
    bound = 2 ** (8 * dtype.itemsize - 1)
    low = ends.draw(st.integers(-bound, bound - 1) | st.sampled_from([-bound, 0]))
    high = ends.draw(st.integers(low + 1, bound) | st.sampled_from([low + 1, bound]))
    x = tr.integers(shape, low, high, seed=seed, stream=stream, dtype=dtype)
    assert (x.shape, x.dtype, x.is_compact) == (shape, dtype, True)
    expected = [documented_integer(index, low, high, seed, stream) for index in range(x.size)]
    assert x.reshape(-1).to_numpy().tolist() == expected
    assert all(low <= value < high for value in expected)


@given(
    seed=WORDS,
    stream=WORDS,
    shape=st.lists(st.integers(0, 4), max_size=3).map(tuple),
    dtype=st.sampled_from(sorted(FLOATING, key=str)),
)
def test_every_normal_number_follows_the_documentation(
    seed: int, stream: int, shape: tuple[int, ...], dtype: DType
) -> None:
    x = tr.normal(shape, seed=seed, stream=stream, dtype=dtype)
    assert (x.shape, x.dtype, x.is_compact) == (shape, dtype, True)
    found = parts(x)
    expected = [documented_part(index, seed, stream) for index in range(len(found))]
    if dtype.component is F32:
        expected = np.array(expected, np.float32).astype(float).tolist()
        assert all(abs(a - b) <= abs(b) * 2.0**-23 for a, b in zip(found, expected, strict=True))
    else:
        assert all(abs(a - b) <= 4 * math.ulp(b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("number", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3])
def test_chunks_leave_no_seam(number: int) -> None:
    whole, drawn = tr.integers(number, 0, 1000, seed=5).to_numpy(), tr.normal(number, seed=5).to_numpy()
    for index in {0, 1, CHUNK - 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 2, number - 1}:
        if index < number:
            assert whole[index] == documented_integer(index, 0, 1000, 5, 0)
            assert abs(drawn[index] - documented_part(index, 5, 0)) <= 4 * math.ulp(drawn[index])


@pytest.mark.parametrize("stream", [0, 1, 2**64 - 1])
def test_distributions_of_one_seed_and_stream_are_independent(stream: int) -> None:
    count = 20_000
    options = {"seed": 1, "stream": stream}
    uniform, normal = (f(count, **options).to_numpy() for f in (tr.uniform, tr.normal))
    whole = tr.integers(count, 0, 2**62, **options).to_numpy() / 2.0**62
    drawn = {"uniform": uniform, "normal": normal, "integers": whole, "size of normal": abs(normal)}
    for first, second in (("uniform", "normal"), ("uniform", "integers"), ("integers", "normal"),
                          ("uniform", "size of normal"), ("integers", "size of normal")):  # fmt: skip
        for shift in (0, 1):  # pairs of normal numbers come from two words, of which either may be used elsewhere
            a, b = drawn[first][shift:], drawn[second][: count - shift]
            assert abs(np.corrcoef(a, b)[0, 1]) < 5 / math.sqrt(count)
            assert abs(np.corrcoef(a[::2], b[::2])[0, 1]) < 5 / math.sqrt(count / 2)


def test_a_longer_tensor_begins_with_a_shorter_one() -> None:
    assert tr.normal(100, seed=3).to_numpy()[:7].tolist() == tr.normal(7, seed=3).to_numpy().tolist()
    assert tr.integers(100, 0, 9, seed=3).to_numpy()[:7].tolist() == tr.integers(7, 0, 9, seed=3).to_numpy().tolist()


def test_both_widths_hold_the_same_integers() -> None:
    wide, narrow = (tr.integers(50, -9, 1000, seed=4, dtype=dtype).to_numpy().tolist() for dtype in (I64, I32))
    assert wide == narrow


def test_a_complex_number_is_two_parts() -> None:
    real = tr.normal(10, seed=5).to_numpy()
    made = tr.normal(5, seed=5, dtype=C64).to_numpy()
    assert made.real.tolist() == real[::2].tolist()
    assert made.imag.tolist() == real[1::2].tolist()
    single = tr.normal(5, seed=5, dtype=C32).to_numpy()
    assert single.real.tolist() == real[::2].astype(np.float32).tolist()


def test_seeds_and_streams_give_other_numbers() -> None:
    drawn = {tuple(tr.normal(2, seed=seed, stream=stream).to_numpy()) for seed in range(5) for stream in range(5)}
    assert len(drawn) == 25


@pytest.mark.parametrize(("low", "high"), [(0, 2), (-3, 7), (10, 110), (-(2**62), -(2**62) + 1000)])
def test_integers_are_uniform_by_chi_square(low: int, high: int) -> None:
    number, size = 200_000, high - low
    counts = np.bincount(tr.integers(number, low, high, seed=17).to_numpy() - low, minlength=size)
    assert len(counts) == size
    degrees = size - 1
    assert abs(chi_square(counts, [number / size] * size) - degrees) < 4 * math.sqrt(2 * degrees) + 3


def test_wide_integers_are_uniform_in_every_bit() -> None:
    number = 50_000
    x = tr.integers(number, -(2**63), 2**63, seed=23).to_numpy().view(np.uint64)
    for bit in range(64):
        ones = int(((x >> np.uint64(bit)) & np.uint64(1)).sum())
        assert abs(ones - number / 2) < 5 * math.sqrt(number / 4)


def test_neighbours_are_independent_by_chi_square() -> None:
    x = tr.integers(200_000, 0, 8, seed=29).to_numpy()
    counts = np.bincount(x[::2] * 8 + x[1::2], minlength=64)
    assert abs(chi_square(counts, [x.size / 2 / 64] * 64) - 63) < 4 * math.sqrt(2 * 63)


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64], ids=str)
def test_normal_numbers_fill_the_quantiles_evenly(dtype: DType) -> None:
    found = np.array(parts(tr.normal(100_000, seed=31, dtype=dtype)))
    share = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in found])
    counts = np.histogram(share, bins=50, range=(0, 1))[0]
    assert abs(chi_square(counts, [found.size / 50] * 50) - 49) < 4 * math.sqrt(2 * 49)


def test_moments_are_those_of_the_normal_distribution() -> None:
    x = tr.normal(400_000, seed=37).to_numpy()
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        spread = math.sqrt((math.prod(range(1, 2 * power, 2)) - moment**2) / x.size)
        assert abs((x**power).mean() - moment) < 4 * spread
    assert 4 < abs(x).max() < 6


def test_the_two_numbers_of_a_pair_are_uncorrelated_and_fill_the_circle() -> None:
    x = tr.normal((2, 100_000), seed=41).to_numpy()
    assert abs((x[0] * x[1]).mean()) < 4 / math.sqrt(x.shape[1])
    assert abs(((x[0] ** 2 - 1) * (x[1] ** 2 - 1)).mean()) < 4 * 2 / math.sqrt(x.shape[1])
    sixteenths = np.floor((np.arctan2(x[1], x[0]) / (2 * math.pi) + 0.5) * 16).astype(int) % 16
    assert abs(chi_square(np.bincount(sixteenths, minlength=16), [x.shape[1] / 16] * 16) - 15) < 4 * math.sqrt(30)


def test_the_extreme_words_stay_finite() -> None:
    """The smallest uniform number is 2**-53, the largest 1 - 2**-53; both have a logarithm below 0."""
    from tensor_cpu.kernels.random.numpy import _normal_pairs

    words = np.array([0, 2**64 - 1], np.uint64)
    for angular in (np.zeros(2, np.uint64), np.full(2, 2**64 - 1, np.uint64)):
        pairs = _normal_pairs(words, angular)
        assert np.isfinite(pairs).all()
        assert (pairs != 0).all()
        assert abs(pairs).max() < 8.58


def test_folding_in_gives_distinct_seeds_that_stay_what_they_are() -> None:
    assert tr.fold_in(0, 0) == philox((0, 0, 0, 1), (0, 0))[0] == 850825565651668785
    seeds = {tr.fold_in(seed, number) for seed in range(50) for number in range(50)}
    assert len(seeds) == 2500
    assert all(0 <= seed < 2**64 for seed in seeds)
    bits = Counter(bit for seed in seeds for bit in range(64) if seed >> bit & 1)
    assert all(abs(bits[bit] - 1250) < 5 * math.sqrt(625) for bit in range(64))


def test_numpys_own_generators_are_not_touched() -> None:
    state = repr(np.random.get_state())
    tr.normal(3, seed=2), tr.integers(3, 0, 5, seed=2)
    assert repr(np.random.get_state()) == state


def test_nothing_warns() -> None:
    with np.errstate(all="raise"):
        tr.normal(1000, seed=1, dtype=F32)
        tr.integers(1000, -5, 2**63, seed=1)


@pytest.mark.parametrize("value", [-1, 2**64, 10**400, 1.0, True, None, "1", np.float64(1)])
def test_what_is_no_word_is_refused(value: Any) -> None:
    for call in (
        lambda: tr.normal(3, seed=value),
        lambda: tr.normal(3, seed=0, stream=value),
        lambda: tr.integers(3, 0, 2, seed=value),
        lambda: tr.integers(3, 0, 2, seed=0, stream=value),
        lambda: tr.fold_in(value, 0),
        lambda: tr.fold_in(0, value),
    ):
        with pytest.raises(ArgumentError, match=r"the (seed|stream|number) is .*; accepted: an int from 0 to 2\*\*64"):
            call()


@pytest.mark.parametrize(
    ("low", "high", "dtype", "error", "message"),
    [
        (5, 5, I64, ArgumentError, "low is 5 and high is 5; accepted: ints with low < high"),
        (7, 5, I64, ArgumentError, "low is 7 and high is 5"),
        (0.0, 5, I64, ArgumentError, "low is a float and high is 5"),
        (0, True, I64, ArgumentError, "high is a bool"),
        (0, np.float64(3), I64, ArgumentError, "high is a float"),
        (-(2**31) - 1, 0, I32, CastRangeError, "low is -2147483649, outside I32; accepted: -2147483648 to 2147483647"),
        (0, 2**31 + 1, I32, CastRangeError, "high - 1 is 2147483648, outside I32"),
        (0, 2**63 + 1, I64, CastRangeError, "high - 1 is 9223372036854775808, outside I64"),
        (0, 5, F64, DTypeError, "integers: the dtype is F64; accepted: I32, I64"),
        (0, 5, "Bool", DTypeError, "integers: the dtype is Bool; accepted: I32, I64"),
    ],
)
def test_bad_ranges_are_named(low: Any, high: Any, dtype: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        tr.integers(3, low, high, seed=0, dtype=dtype)


def test_bad_dtypes_shapes_and_places_are_errors_of_ours() -> None:
    with pytest.raises(DTypeError, match="normal: the dtype is I64; accepted: F32, F64, C32, C64"):
        tr.normal(3, seed=0, dtype="I64")
    with pytest.raises(ShapeError):
        tr.integers((2, -1), 0, 5, seed=0)
    with pytest.raises(BackendUnavailableError):
        tr.normal(2, seed=0, placement="nowhere:0")
