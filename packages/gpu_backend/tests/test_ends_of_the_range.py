"""Infinities, signs of zero, numbers beyond the range, zeros as divisors: as on the CPU, by meanings and by sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from gpu_programs.comparing import difference
from gpu_programs.recording import recorded
from gpu_programs.running import Hosted
from tensor_core.errors import CastRangeError, DivisionByZeroError, IndexingError
from tensor_runtime.placement import Placement

INFINITY = float("inf")


def differences(call: Callable[[Placement], object]) -> list[str | None]:
    """What the sources of a call's launches, run on the host under sanitizers, leave otherwise than the meanings."""
    with recorded() as recording:
        call(recording.place)
        launches = recording.launches()
    with Hosted(list({one.launch.program.source: one.launch.program for one in launches}.values())) as hosted:
        return [difference(one, left) for one, left in zip(launches, hosted.run(launches), strict=True)]


@pytest.mark.parametrize(
    "call", [tr.floor_divide, tr.remainder, tr.fmod, tr.trunc_divide, tr.fuse(lambda x, y: x // y + 1)]
)
def test_false_as_a_divisor_of_integers_is_refused(call: Callable[..., Any]) -> None:
    x, y, ones = (tr.to(tr.tensor(values), "sim") for values in ([7, -7], [True, False], [True, True]))
    with pytest.raises(DivisionByZeroError, match=r"the divisor at index \(1,\) is 0"):
        call(x, y)
    with tr.checks("deferred"):
        call(x, y)
    with pytest.raises(DivisionByZeroError):
        tr.synchronize("sim")
    assert tr.to(call(x, ones), "cpu").tolist() == call(tr.to(x, "cpu"), tr.to(ones, "cpu")).tolist()
    assert tr.to(x**y, "cpu").tolist() == [7, 1]


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
def test_a_number_that_no_float_holds_is_out_of_range(dtype: str) -> None:
    x = tr.ones(2, dtype=dtype, placement="sim")
    for call in (
        lambda: x + 10**400,
        lambda: tr.where(x == x, x, 10**400),
        lambda: tr.fuse(lambda y: y * 2 + 10**400)(x),
    ):
        with pytest.raises(CastRangeError, match="the number of 1329 bits does not fit"):
            call()


@pytest.mark.parametrize("length", [1, 40, 700, 3000])
def test_a_line_begins_with_its_first_element_as_it_is(length: int) -> None:
    zeros = tr.tensor([-0.0] * length)
    assert differences(lambda place: tr.cumsum(tr.to(zeros, place))) == [None]
    far = tr.tensor([complex(INFINITY, 0.0)])
    assert differences(lambda place: tr.cumprod(tr.to(far, place))) == [None]
    first = [complex(2.0, INFINITY)] + [1.0 + 0.0j] * (length - 1)
    assert tr.to(tr.cumprod(tr.to(tr.tensor(first), "sim")), "cpu")[0].item() == first[0]


@pytest.mark.parametrize("pool", [tr.max_pool, tr.mean_pool])
def test_windows_reach_further_than_numbers_of_64_bits(pool: Callable[..., Any]) -> None:
    x = tr.tensor(np.arange(5, dtype="f4").reshape(1, 5, 1))
    far = {"strides": 1, "dilation": 2**61, "padding": ((2**61, 2**62),)}
    assert differences(lambda place: pool(tr.to(x, place), 4, **far)) == [None]
    assert pool(tr.to(x, "sim"), 4, **far).to("cpu").tolist() == pool(x, 4, **far).tolist()


def test_an_index_that_is_refused_late_is_not_computed_with() -> None:
    def call(place: Placement) -> None:
        y = tr.to(tr.tensor(np.arange(12.0).reshape(3, 4)), place)
        with tr.checks("deferred"):
            tr.take(y[:, ::-1], tr.to(tr.tensor([2**62]), place), axis=1)
            tr.gather(y, tr.to(tr.tensor([-(2**63)]), place))
        with pytest.raises(IndexingError):
            tr.synchronize(place)

    assert not any(differences(call))


def test_an_infinity_of_a_row_makes_its_other_elements_zero() -> None:
    x = tr.to(tr.tensor([[INFINITY, 1.0, -3.0], [3.0, 4.0, 0.0], [float("nan"), 1.0, 1.0]]), "sim")
    found = tr.to(tr.rms_norm(x, axis=1, eps=0.0), "cpu").to_numpy()
    np.testing.assert_array_equal(found[0], [np.nan, 0.0, 0.0])
    np.testing.assert_allclose(found[1], np.array([3.0, 4.0, 0.0]) / np.sqrt(25.0 / 3.0), rtol=1e-15)
    assert np.isnan(found[2]).all()


def test_complex_numbers_between_real_ends_are_those_of_the_cpu() -> None:
    there, here = (tr.linspace(-7, -1, 5, endpoint=False, dtype="C64", placement=place) for place in ("sim", "cpu"))
    assert tr.to(there, "cpu").tolist() == here.tolist()
