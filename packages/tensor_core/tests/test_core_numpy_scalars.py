"""NumPy as the oracle for promotion, rounding and in-range casts."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    DTYPES,
    F32,
    I32,
    I64,
    CastRangeError,
    DType,
    DTypeError,
    HostTensor,
    as_dtype,
    can_convert,
    cast_scalar,
    promote,
)
from tensor_core.scalar_conversion import round_to_f32
from tensor_core.testing.strategies import dtypes, elements

np = pytest.importorskip("numpy", "2.1")


@pytest.mark.parametrize(("a", "b"), list(product(DTYPES, repeat=2)), ids=repr)
def test_promotion_equals_result_type(a: DType, b: DType) -> None:
    assert promote(a, b).numpy_name == np.result_type(a.numpy_name, b.numpy_name).name
    assert can_convert(a, b) == np.can_cast(a.numpy_name, b.numpy_name, "safe")


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_numpy_names_a_type_in_many_ways(dtype: DType) -> None:
    native = np.dtype(dtype.numpy_name)
    for name in (native, native.type, native.name):
        assert as_dtype(name) is dtype


@pytest.mark.parametrize("wrong", [">f8", "float16", "int8", "U3", "datetime64[s]", "i4,i4", "uint64"])
def test_other_and_swapped_numpy_types_are_refused(wrong: str) -> None:
    with pytest.raises(DTypeError, match="is none of ours"):
        as_dtype(np.dtype(wrong))


def test_numpy_scalars_are_numbers() -> None:
    row = [np.float32(0.5), np.int64(2), np.bool(True), np.array(3)]
    x = HostTensor.from_nested(row)
    assert x.dtype.name == "F64"
    assert x.to_nested() == [0.5, 2.0, 1.0, 3.0]
    assert HostTensor.from_nested([np.complex64(1j)]).to_nested() == [1j]
    assert HostTensor.from_nested([np.bool(True)]).dtype.name == "Bool"
    with pytest.raises(DTypeError, match=r"element: found ndarray of shape \(2,\); .*stack\(\) joins"):
        HostTensor.from_nested([np.zeros(2)])
    with pytest.raises(DTypeError, match="element: found"):
        HostTensor.from_nested([np.datetime64("2020-01-01")])


def bits(element: Any, dtype: DType) -> bytes:
    return HostTensor.from_flat([element], 1, dtype).tobytes()


@given(st.data(), dtypes(), dtypes())
def test_an_in_range_cast_equals_numpys_bit_for_bit(data: st.DataObject, source: DType, target: DType) -> None:
    element = data.draw(elements(source))
    try:
        ours = cast_scalar(element, source, target)
    except CastRangeError:
        return
    array = np.array([element], source.numpy_name)
    if source.kind == "complex" and target.kind not in ("complex", "bool"):
        array = array.real
    with np.errstate(all="ignore"):
        theirs = array.astype(target.numpy_name)
    if ours != ours:  # the payload of a NaN is not compared
        assert np.isnan(theirs[0])
    else:
        assert bits(ours, target) == theirs.tobytes()


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_wrap_and_round_as_in_numpy(number: int) -> None:
    array = np.array([number], np.int64)
    assert cast_scalar(number, I64, I32, "wrap") == array.astype(np.int32)[0]
    assert cast_scalar(number, I64, F32) == array.astype(np.float32)[0]


@given(st.floats(allow_nan=False))
def test_rounding_to_binary32_equals_numpys(number: float) -> None:
    with np.errstate(all="ignore"):
        assert bits(round_to_f32(number), F32) == np.float64(number).astype(np.float32).tobytes()
