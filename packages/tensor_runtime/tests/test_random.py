"""``uniform`` as the user calls it; the bits of each element are the backend's tests."""

from __future__ import annotations

from re import escape
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DType
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, BackendUnavailableError, DTypeError, ShapeError

DTYPES = sorted(FLOATING, key=str)


@given(
    shape=st.lists(st.integers(0, 5), max_size=4).map(tuple),
    seed=st.integers(0, 2**64 - 1),
    stream=st.integers(0, 2**64 - 1),
    dtype=st.sampled_from(DTYPES),
)
def test_numbers_lie_inside_the_open_interval_and_repeat(
    shape: tuple[int, ...], seed: int, stream: int, dtype: DType
) -> None:
    x = tr.uniform(shape, seed=seed, stream=stream, dtype=dtype)
    assert (x.shape, x.dtype, x.is_compact) == (shape, dtype, True)
    parts = [x.to_numpy().real, x.to_numpy().imag] if dtype.kind == "complex" else [x.to_numpy()]
    assert all((part > 0).all() and (part < 1).all() for part in parts)
    assert tr.uniform(shape, seed=seed, stream=stream, dtype=dtype).to_numpy().tobytes() == x.to_numpy().tobytes()


def test_the_first_numbers_are_those_of_the_published_words() -> None:
    words = (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)
    assert tr.uniform(4, seed=0).to_numpy().tolist() == [((word >> 12) + 0.5) / 2**52 for word in words]


def test_the_shape_only_arranges_the_numbers() -> None:
    flat = tr.uniform(24, seed=5)
    assert tr.uniform((2, 3, 4), seed=5).reshape(-1).to_numpy().tolist() == flat.to_numpy().tolist()


def test_a_complex_number_takes_two_words() -> None:
    real = tr.uniform(10, seed=5).to_numpy()
    made = tr.uniform(5, seed=5, dtype="C64").to_numpy()
    assert made.real.tolist() == real[::2].tolist()
    assert made.imag.tolist() == real[1::2].tolist()


def test_seeds_and_streams_give_other_numbers() -> None:
    drawn = {tuple(tr.uniform(2, seed=seed, stream=stream).to_numpy()) for seed in range(5) for stream in range(5)}
    assert len(drawn) == 25


def test_numpys_own_generators_are_neither_used_nor_changed() -> None:
    before = repr(np.random.get_state())
    first = tr.uniform(3, seed=1).to_numpy().tolist()
    np.random.seed(3)
    assert tr.uniform(3, seed=1).to_numpy().tolist() == first
    np.random.seed(4)
    state = repr(np.random.get_state())
    tr.uniform(3, seed=2)
    assert repr(np.random.get_state()) == state != before


@pytest.mark.parametrize("dtype", ["I32", "I64", "Bool"])
def test_integers_are_refused(dtype: str) -> None:
    with pytest.raises(DTypeError, match=f"uniform: the dtype is {escape(str(dtype))}; accepted: F32, F64, C32, C64"):
        tr.uniform(3, seed=1, dtype=dtype)


@pytest.mark.parametrize("value", [-1, 2**64, 10**400, 1.0, True, None, "1", np.float64(1)])
def test_what_is_no_seed_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"uniform: the seed is .*; accepted: an int from 0 to 2\*\*64 - 1"):
        tr.uniform(3, seed=value)
    with pytest.raises(ArgumentError, match="uniform: the stream is"):
        tr.uniform(3, seed=0, stream=value)


def test_a_seed_must_be_given() -> None:
    with pytest.raises(TypeError, match="seed"):
        tr.uniform(3)  # type: ignore[call-arg]


def test_a_bad_shape_or_place_is_an_error_of_ours() -> None:
    with pytest.raises(ShapeError):
        tr.uniform((2, -1), seed=0)
    with pytest.raises(BackendUnavailableError):
        tr.uniform(2, seed=0, placement="nowhere:0")
