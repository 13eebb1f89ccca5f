"""Random numbers, against Philox4x64-10 written out in Python, which the published vectors prove."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, DType
from tensor_cpu.kernel_table import bind, bind_numpy
from tensor_cpu.kernels.random.numpy import CHUNK, bind_uniform
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

MASK = 2**64 - 1
DTYPES = (F32, F64, C32, C64)
PI = ("243f6a8885a308d3", "13198a2e03707344", "a4093822299f31d0", "082efa98ec4e6c89")
KEY = ("452821e638d01377", "be5466cf34e90c6c")


def philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """Ten rounds on four 64-bit words (Salmon et al. 2011, section 3.3)."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        low, high = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = (high >> 64) ^ b ^ k0, high & MASK, (low >> 64) ^ d ^ k1, low & MASK
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return a, b, c, d


def word(index: int, seed: int, stream: int) -> int:
    block, position = divmod(index, 4)
    return philox((block, 0, 0, 0), (seed, stream))[position]


def draw(shape: tuple[int, ...], dtype: DType, seed: int, stream: int = 0) -> Array:
    """By NumPy's words, and by native ones with the same bits."""
    form = form_of(dtype, shape, CPU)
    found: Array = bind_uniform(form)(seed, stream)
    assert bind("uniform", (), form, None)(seed, stream).tobytes() == found.tobytes()
    assert found.dtype == NUMPY_DTYPES[dtype]
    assert found.shape == shape[::-1]
    assert found.flags.c_contiguous
    return found


def parts(array: Array) -> list[float]:
    """Components in column-major order, real part before imaginary part."""
    flat = array.reshape(-1)
    return [float(x) for x in flat.view(flat.real.dtype)]


def real(bits: int, dtype: DType) -> float:
    """The documented map, in exact arithmetic."""
    single = dtype.component is F32
    shift, digits = (41, 23) if single else (12, 52)
    value = (Fraction(bits >> shift) + Fraction(1, 2)) / 2**digits
    number = np.float32(float(value)) if single else float(value)
    assert Fraction(float(number)) == value, "the map must be exact"
    return float(number)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        (("0",) * 4, ("0",) * 2, "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
        (("f" * 16,) * 4, ("f" * 16,) * 2, "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0"),
        (PI, KEY, "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6"),
    ],
)
def test_the_reference_gives_the_published_words(counter: tuple[str, ...], key: tuple[str, str], words: str) -> None:
    found = philox(tuple(int(part, 16) for part in counter), (int(key[0], 16), int(key[1], 16)))
    assert [f"{part:016x}" for part in found] == words.split()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (1, 0), (0, 1), (2**64 - 1, 2**64 - 1), (123456789, 2**63)])
def test_every_element_has_the_documented_bits(dtype: DType, seed: int, stream: int) -> None:
    found = parts(draw((3, 2, 5), dtype, seed, stream))
    assert found == [real(word(index, seed, stream), dtype) for index in range(len(found))]


@given(
    seed=st.integers(0, MASK),
    stream=st.integers(0, MASK),
    shape=st.lists(st.integers(0, 4), max_size=4).map(tuple),
    dtype=st.sampled_from(DTYPES),
)
def test_any_seed_stream_and_shape_follow_the_documentation(
    seed: int, stream: int, shape: tuple[int, ...], dtype: DType
) -> None:
    found = parts(draw(shape, dtype, seed, stream))
    assert found == [real(word(index, seed, stream), dtype) for index in range(len(found))]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_chunks_leave_no_seam(dtype: DType) -> None:
    found = parts(draw((2 * CHUNK + 3,), dtype, 5))
    for index in (0, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 2):
        assert found[index] == real(word(index, 5, 0), dtype)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_the_extreme_words_stay_inside_the_open_interval(dtype: DType) -> None:
    digits = 24 if dtype is F32 else 53
    assert real(0, dtype) == 2.0**-digits > 0
    assert real(MASK, dtype) == 1 - 2.0**-digits < 1


def test_a_longer_tensor_begins_with_a_shorter_one() -> None:
    assert parts(draw((7,), F64, 3)) == parts(draw((100,), F64, 3))[:7]


def test_streams_of_one_seed_differ() -> None:
    drawn = {tuple(parts(draw((4,), F64, 3, stream))) for stream in range(50)}
    assert len(drawn) == 50


def test_moments_are_those_of_the_uniform_distribution() -> None:
    x = draw((200_000,), F64, 11)
    assert abs(x.mean() - 1 / 2) < 4 * (1 / 12 / x.size) ** 0.5
    assert abs(x.var() - 1 / 12) < 4 * (1 / 180 / x.size) ** 0.5


@pytest.mark.parametrize("dtype", [I32, I64], ids=str)
@pytest.mark.parametrize("number", [1, 10, 2**31, 2**40 + 1, 2**64 - 1, 2**64])
def test_native_integers_have_the_bits_of_those_of_numpys_words(dtype: DType, number: int) -> None:
    form, arguments = form_of(dtype, (CHUNK + 5,), CPU), (7, 2**64 - 1, -3, number)
    native, plain = bind("integers", (), form, None), bind_numpy("integers", (), form, None)
    assert native(*arguments).tobytes() == plain(*arguments).tobytes()


def test_native_normal_numbers_are_within_4_rounding_units_of_their_formulas(instruction_set: str) -> None:
    check_normal_numbers(bind)


def test_numpys_normal_numbers_are_within_4_rounding_units_of_their_formulas() -> None:
    check_normal_numbers(bind_numpy)


def check_normal_numbers(of: Any) -> None:
    number = 2 * CHUNK + 5
    drawn = of("normal", (), form_of(F64, (number,), CPU), None)(3, 4)
    words = np.random.Philox(
        key=np.array([3, 4], np.uint64), counter=np.array([MASK, MASK, 1, 0], np.uint64)
    ).random_raw(number + 1)
    first, second = words[0::2], words[1::2]
    long = np.longdouble
    radius = np.sqrt(-2 * np.log(((first >> np.uint64(12)).astype(long) + 0.5) / 2**52))
    angle = (((second >> np.uint64(9) & np.uint64(2**52 - 1)).astype(np.float64) + 0.5) / 2**52) * (np.pi / 4)
    cosine, sine = np.cos(angle.astype(long)), np.sin(angle.astype(long))
    exchanged, below, left = ((second >> np.uint64(bit) & np.uint64(1)).astype(bool) for bit in (61, 62, 63))
    across, up = np.where(exchanged, sine, cosine), np.where(exchanged, cosine, sine)
    pairs = [radius * np.where(below, -across, across), radius * np.where(left, -up, up)]
    exact = np.stack(pairs, axis=1).reshape(-1)[:number]
    assert np.max(np.abs(drawn - exact) / np.abs(exact)) <= 4 * 2.0**-53


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_number_of_normal_numbers_begins_alike(dtype: DType) -> None:
    long = bind("normal", (), form_of(dtype, (700,), CPU), None)(5, 6)
    for number in (0, 1, 2, 3, 63, 64, 65, 127, 128, 129, 257):
        short = bind("normal", (), form_of(dtype, (number,), CPU), None)(5, 6)
        assert short.tobytes() == long[:number].tobytes()


@pytest.mark.skipif(not AVAILABLE, reason="the extension is not built")
def test_what_cannot_be_filled_is_refused() -> None:
    x = np.zeros(3)
    for fill, wrong, rest in (
        (LIBRARY.fill_uniform, x.astype(np.int64), ()),
        (LIBRARY.fill_integers, x, (0, 1)),
        (LIBRARY.fill_normal, x.astype(np.int64), ()),
    ):
        with pytest.raises(ValueError, match="fill_"):
            fill(wrong, 1, 0, *rest)
        for nowhere in ([0.0], x[::2]):
            with pytest.raises(TypeError, match="fill_"):
                fill(nowhere, 1, 0, *rest)
        with pytest.raises(OverflowError):
            fill(wrong, -1, 0, *rest)
