"""Arrays of dtypes that are none of ours, with masks, or of libraries that refuse to give an array."""

from __future__ import annotations

import array as arrays
from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest

import tensor_core as tc
import tensor_runtime as tr
from tensor_core import ArgumentError, DTypeError, HostTensor, HostTensorView, LossyConversionError, TensorError
from tensor_core.foreign import dtypes_that_hold
from tensor_runtime import array_api

FOREIGN = ["u1", "i1", "u2", "i2", "u4", "u8", "f2", ">u2", ">i2", ">u4", ">u8", ">f2"]
SWAPPED = [">i4", ">i8", ">f4", ">f8", ">c8", ">c16"]
NAMES = {dtype.numpy_name: dtype for dtype in tc.DTYPES}


def extremes(name: str) -> np.ndarray[Any, Any]:
    """The largest, the smallest and some other values of a NumPy dtype."""
    dtype = np.dtype(name)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1, 7, limits.max // 3], dtype)
    limits = np.finfo(dtype)
    values = np.array([limits.min, limits.max, limits.tiny, limits.eps, -0.0, 1.5, np.inf, -np.inf], dtype)
    if dtype.kind == "c":
        values.imag = values.real[::-1]
    return values


@pytest.mark.parametrize("dtype", tc.DTYPES, ids=repr)
@pytest.mark.parametrize("name", [*FOREIGN, *SWAPPED])
def test_a_foreign_dtype_becomes_one_that_holds_all_its_values_and_no_other(name: str, dtype: tc.DType) -> None:
    x = extremes(name)
    accepted = np.result_type(np.dtype(name), dtype.numpy_name) == np.dtype(dtype.numpy_name)
    for source in (x, x.reshape(2, -1), np.asfortranarray(x.reshape(2, -1)), x[::-1], x[0:1].reshape(())):
        for made in (tr.asarray, tr.tensor):
            if not accepted:
                with pytest.raises(
                    LossyConversionError, match=f"asarray: .* to {escape(str(dtype))} could lose values; accepted: "
                ):
                    made(source, dtype=dtype)
                continue
            found = made(source, dtype=dtype)
            assert found.dtype is dtype
            assert found.is_compact
            wanted = source.astype(dtype.numpy_name)
            assert found.to_numpy().shape == source.shape
            assert found.to_numpy().tobytes() == wanted.tobytes()
            assert not np.shares_memory(found.to_numpy(), source)
        if accepted:
            assert HostTensor.from_buffer(source, dtype).to_nested() == source.astype(dtype.numpy_name).tolist()
        else:
            with pytest.raises(
                LossyConversionError, match=f"from_buffer: .* to {escape(str(dtype))} could lose values"
            ):
                HostTensor.from_buffer(source, dtype)


def test_what_holds_a_foreign_dtype_is_what_numpy_promotes_to() -> None:
    for name in [*FOREIGN, *NAMES]:
        own = np.dtype(name)
        expected = {dtype for dtype in tc.DTYPES if np.result_type(own, dtype.numpy_name) == np.dtype(dtype.numpy_name)}
        assert set(dtypes_that_hold(own.name)) == expected, name


@pytest.mark.parametrize("name", [*FOREIGN, *SWAPPED])
def test_without_a_dtype_the_message_names_one(name: str) -> None:
    x = extremes(name)
    named = dtypes_that_hold(np.dtype(name).name)[0].name
    for made in (tr.asarray, tr.tensor):
        with pytest.raises(DTypeError, match=rf"asarray: the element type is .*dtype={named} converts it \(accepted: "):
            made(x)
    for host in (HostTensor.from_buffer, HostTensorView.borrow):
        with pytest.raises(DTypeError, match=r"type string .*; from_buffer\(x, dtype\) converts a copy to"):
            host(x)


def test_a_swapped_array_of_another_dtype_is_converted_too() -> None:
    assert tr.asarray(np.array([1, 2], ">i4"), dtype="F64").to_numpy().tolist() == [1.0, 2.0]


def test_no_copy_is_no_conversion() -> None:
    with pytest.raises(ArgumentError, match="asarray: uint8 to I32 needs a copy, and copy=False"):
        tr.asarray(np.ones(2, "u1"), dtype="I32", copy=False)


@pytest.mark.parametrize(
    "source",
    [np.array(["a"]), np.array([object()]), np.array(["2020"], "M8[D]"), np.zeros(2, "i4,i4"), np.zeros(2, "g")],
)
def test_what_no_dtype_of_ours_holds_is_refused(source: Any) -> None:
    for options in ({}, {"dtype": "F64"}):
        with pytest.raises(DTypeError, match=r"asarray: the element type is .*; convert it first"):
            tr.asarray(source, **options)
    with pytest.raises(DTypeError):
        HostTensor.from_buffer(source, "F64")


def test_buffers_of_other_formats_are_converted_by_value() -> None:
    assert tr.asarray(arrays.array("H", [1, 65535]), dtype="I32").to_numpy().tolist() == [1, 65535]
    assert tr.asarray(bytearray([1, 255]), dtype="I64").to_numpy().tolist() == [1, 255]


MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
WAYS: dict[str, Callable[[Any], Any]] = {
    "asarray": tr.asarray,
    "asarray without a copy": lambda x: tr.asarray(x, copy=False),
    "asarray of another dtype": lambda x: tr.asarray(x, dtype="C64"),
    "tensor": tr.tensor,
    "tensor of a list": lambda x: tr.tensor([x, x]),
    "from_buffer": HostTensor.from_buffer,
    "from_buffer with a dtype": lambda x: HostTensor.from_buffer(x, "F64"),
    "borrow": HostTensorView.borrow,
    "from_dlpack": tr.from_dlpack,
    "from_dlpack of a copy": lambda x: tr.from_dlpack(x, copy=True),
    "from_dlpack of the array interface": array_api.from_dlpack,
    "from_dlpack of the host": HostTensorView.from_dlpack,
    "wrap_bytes": lambda x: HostTensor.wrap_bytes(x, 3, "F64"),
    "operand": lambda x: tr.ones(3) + x,
    "first operand": lambda x: x + tr.ones(3),
    "operand of a function": lambda x: tr.add(tr.ones(3), x),
    "operand of a unary function": tr.exp,
    "comparison": lambda x: tr.ones(3) == x,
    "matmul": lambda x: tr.ones(3) @ x,
    "einsum": lambda x: tr.einsum("i,i->i", tr.ones(3), x),
}


@pytest.mark.parametrize("mask", [[False, True, False], [False] * 3, np.ma.nomask])
@pytest.mark.parametrize("way", WAYS)
def test_a_masked_array_is_refused_on_every_way_in(way: str, mask: Any) -> None:
    with pytest.raises(DTypeError, match=r"found a masked array.*x\.filled\(value\).*x\.data"):
        WAYS[way](np.ma.masked_array([1.0, 2.0, 3.0], mask))


@pytest.mark.parametrize("value", [np.ma.masked, np.ma.masked_array(2.0), MASKED[:1], MASKED])
def test_a_masked_element_is_refused(value: Any) -> None:
    for made in (tr.tensor, tr.asarray, HostTensor.from_nested):
        with pytest.raises(DTypeError, match="element: found a masked array"):
            made([1.0, value])
    with pytest.raises(DTypeError, match="element: found a masked array"):
        tc.to_element(value, tc.F64)


@pytest.mark.parametrize("null_count", [2, lambda: 2])
def test_a_column_with_nulls_is_refused(null_count: Any) -> None:
    """Arrow's and Polars', whose own conversion would make NaN of them, and floats of whole numbers."""

    class Column:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return np.array([2.0**53, np.nan, np.nan], dtype)

    column = Column()
    column.null_count = null_count  # type: ignore[attr-defined]
    with pytest.raises(DTypeError, match=r"asarray: Column has nulls \(2\).*x\.fill_null\(value\)"):
        tr.asarray(column)
    column.null_count = 0  # type: ignore[attr-defined]
    assert tr.asarray(column).shape == (3,)


def test_a_masked_array_is_not_written_into_a_view() -> None:
    x, host = tr.zeros(3), HostTensor.zeros(3)
    for target in (tr.mutable_view(x), host):
        with pytest.raises(DTypeError, match="found a masked array"):
            target[...] = MASKED
        with pytest.raises(DTypeError, match="found a masked array"):
            target[0] = np.ma.masked
        with pytest.raises(DTypeError, match="found a masked array"):
            target[0] = MASKED
    assert x.to_numpy().tolist() == host.to_nested() == [0.0, 0.0, 0.0]


def test_what_the_message_about_masks_says_works() -> None:
    assert tr.asarray(MASKED.filled(0.0)).to_numpy().tolist() == [1.0, 0.0, 3.0]
    assert tr.asarray(MASKED.data).to_numpy().tolist() == [1.0, 2.0, 3.0]


class Refusing:
    """An array that gives no NumPy array, as PyTorch's do where NumPy has no such dtype or a gradient is recorded."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self.error


BFLOAT16 = TypeError("Got unsupported ScalarType BFloat16")
GRADIENT = RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


@pytest.mark.parametrize(("error", "ours"), [(BFLOAT16, DTypeError), (GRADIENT, ArgumentError)])
@pytest.mark.parametrize("made", [tr.asarray, tr.tensor])
def test_what_another_library_refuses_is_told_in_its_words(
    made: Any, error: Exception, ours: type[TensorError]
) -> None:
    with pytest.raises(ours) as caught:
        made(Refusing(error))
    assert str(error) in str(caught.value)
    assert str(caught.value).startswith("asarray: a ")
    assert "Refusing gives no array" in str(caught.value)
    assert "backend failed" not in str(caught.value)
    assert caught.value.__cause__ is error
