"""The parts of the conformance suite: what it compares, how it lays operands out, what its strategies draw."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.host.tensor import HostTensor
from tensor_core.testing.strategies import host_tensors
from tensor_runtime.testing.comparing import UNITS, difference, inverted
from tensor_runtime.testing.layout_variants import VARIANTS
from tensor_runtime.testing.oracle import Host
from tensor_runtime.testing.strategies import tensors


def flat(*numbers: object, dtype: object = tr.F64) -> Host:
    return HostTensor.from_flat(numbers, (len(numbers),), dtype)


@given(host_tensors())
def test_a_tensor_does_not_differ_from_itself_in_any_layout(host: Host) -> None:
    for name, variant in VARIANTS.items():
        view = variant(host, tr.CPU)
        assert difference(tr.download(view), host) is None, name


@given(host_tensors())
def test_an_inverted_tensor_differs_in_every_element(host: Host) -> None:
    before, after = host.tobytes(), inverted(host).tobytes()
    width = host.dtype.itemsize

    assert all(before[i : i + width] != after[i : i + width] for i in range(0, len(before), width))
    assert inverted(inverted(host)).tobytes() == before


def test_layouts_are_what_their_names_say() -> None:
    host = HostTensor.from_nested([[1, 2, 3], [4, 5, 6]])

    assert VARIANTS["as given"](host, tr.CPU).strides == (1, 2)
    assert VARIANTS["transposed"](host, tr.CPU).strides == (3, 1)
    assert VARIANTS["backwards"](host, tr.CPU).strides == (-1, -2)
    assert VARIANTS["gappy"](host, tr.CPU).strides == (2, 10)


@pytest.mark.parametrize(
    ("found", "expected", "ulps", "words"),
    [
        (flat(1.0), flat(1, dtype=tr.I64), 0, "dtype is F64, expected I64"),
        (flat(1.0), flat(1.0, 2.0), 0, r"shape is \(1,\), expected \(2,\)"),
        (flat(1.0, 2.0), flat(1.0, 3.0), 0, r"element \(1,\) is 2.0, expected 3.0"),
        (flat(0.0), flat(-0.0), 0, "is 0.0, expected -0.0"),
        (flat(nan), flat(1.0), 4, "is nan, expected 1.0 within"),
        (flat(1.0), flat(nan), 4, "is 1.0, expected nan"),
        (flat(inf), flat(-inf), 4, "is inf, expected -inf"),
        (flat(1e300), flat(inf), 4, "expected inf"),
        (flat(1 + 2j, dtype=tr.C64), flat(1 + 3j, dtype=tr.C64), 1, r"is \(1\+2j\), expected \(1\+3j\)"),
    ],
)
def test_what_differs_is_said(found: Host, expected: Host, ulps: int, words: str) -> None:
    said = difference(found, expected, ulps)

    assert said is not None
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(said)


@pytest.mark.parametrize("dtype", [tr.F32, tr.F64])
def test_rounding_units_are_counted_from_the_largest_element(dtype: tr.DType) -> None:
    unit = UNITS[dtype]
    expected = flat(8.0, 1.0, inf, nan, dtype=dtype)

    assert difference(flat(8.0, 1.0 + 16 * unit, inf, nan, dtype=dtype), expected, 2) is None
    assert difference(flat(8.0, 1.0 + 32 * unit, inf, nan, dtype=dtype), expected, 2) is not None
    assert difference(flat(-0.0, 8.0), flat(0.0, 8.0), 1) is None


@given(st.data())
def test_drawn_tensors_are_tensors_of_the_dtype_asked_for(data: st.DataObject) -> None:
    x = data.draw(tensors(dtype=st.just(tr.I32)))

    assert x.dtype is tr.I32
    assert tr.copy(x).is_compact


@given(st.data())
def test_drawn_tensors_without_steps_are_owned(data: st.DataObject) -> None:
    x = data.draw(tensors(max_steps=0))

    assert x.is_compact
    assert x.layout.offset == 0
