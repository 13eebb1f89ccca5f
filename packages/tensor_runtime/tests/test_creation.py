from __future__ import annotations

import array
import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import DTYPES, F64, I64, Bool
from tensor_core.errors import (
    ArgumentError,
    CastRangeError,
    DTypeError,
    LossyConversionError,
    PlacementError,
    ShapeError,
    SizeLimitError,
    UnsupportedOperationError,
)
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

SHAPES = [(), (0,), (1,), (3,), (2, 3), (0, 2), (2, 0, 3), (1, 2, 1, 2)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_zeros_ones_and_full_are_numpys(dtype: Any, shape: tuple[int, ...]) -> None:
    for ours, theirs in (
        (tr.zeros(shape, dtype=dtype), np.zeros(shape, dtype.numpy_name)),
        (tr.ones(shape, dtype=dtype.name), np.ones(shape, dtype.numpy_name)),
        (tr.full(shape, True, dtype=dtype.numpy_name), np.full(shape, True, dtype.numpy_name)),
    ):
        assert (ours.dtype, ours.shape, ours.is_compact) == (dtype, shape, True)
        np.testing.assert_array_equal(ours.to_numpy(), theirs)


def test_full_keeps_the_sign_of_zero() -> None:
    assert np.signbit(tr.full((2,), -0.0).to_numpy()).all()
    assert np.signbit(tr.full((2,), complex(0, -0.0)).to_numpy().imag).all()


def test_full_takes_the_dtype_of_its_value() -> None:
    assert [tr.full((), value).dtype.name for value in (True, 1, 1.0, 1j)] == ["Bool", "I64", "F64", "C64"]


@pytest.mark.parametrize(
    ("arguments", "dtype", "error"),
    [
        (((2,), 2**31), "I32", CastRangeError),
        (((2,), 1.5), "I64", DTypeError),
        (((2,), 1j), "F64", DTypeError),
        (((2,), "1"), None, DTypeError),
        (((2,), np.ones(1)), None, DTypeError),
        (((-1,), 1), None, ShapeError),
        (((1.5,), 1), None, ShapeError),
        (((2,), 1), "float16", DTypeError),
        (((2**62, 2**62), 1), None, SizeLimitError),
    ],
)
def test_full_refuses_what_it_cannot_store(arguments: Any, dtype: Any, error: Any) -> None:
    with pytest.raises(error):
        tr.full(*arguments, dtype=dtype)


def test_too_large_a_tensor_is_an_error_of_ours() -> None:
    with pytest.raises(MemoryError, match="full: not enough memory") as caught:
        tr.full((2**45,), 1.0)
    assert isinstance(caught.value, tr.TensorError)


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 3), (0,), (0, 3)])
def test_eye_is_numpys(shape: tuple[int, ...]) -> None:
    np.testing.assert_array_equal(tr.eye(*shape, dtype="I32").to_numpy(), np.eye(*shape, dtype=np.int32))


@pytest.mark.parametrize(
    "arguments", [(5,), (0,), (-3,), (2, 7), (7, 2, -2), (0.0, 1.0, 0.25), (1, 2, 0.5), (2**62, 2**62 + 3), (5, 5)]
)
def test_arange_is_numpys(arguments: Any) -> None:
    ours, theirs = tr.arange(*arguments), np.arange(*arguments)
    assert ours.dtype.numpy_name == theirs.dtype.name
    np.testing.assert_array_equal(ours.to_numpy(), theirs)


@pytest.mark.parametrize("arguments", [(-(2**63), 1, 2**50), (-(2**63), 2**40, 2**50), (2**62, -(2**63), -(2**50))])
def test_arange_of_far_ints_counts_them_exactly(arguments: tuple[int, int, int]) -> None:
    for _ in range(3):  # native calls learn the form from the first
        assert tr.arange(*arguments).to_numpy().tolist() == list(range(*arguments))


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        *((1e308, -1e308, 1.0), (11.3, 10, 1e-310), (0, -(10**400), 1.0), (1.0, 10**400, -1)),
        *((10**400, 0.5), (-(10**400), 0.5, -1)),
    ],
)
def test_arange_away_from_a_far_end_is_empty(arguments: Any, inclusive: bool) -> None:
    tr.arange(0.0)  # so that native calls know the form
    for _ in range(2):
        assert tr.arange(*arguments, inclusive=inclusive).shape == (0,)


def test_arange_towards_a_far_end_has_too_many_numbers() -> None:
    for arguments in ((1e308, -1e308, -1.0), (10, 11.3, 1e-310), (0, 10**400, 1.0)):
        with pytest.raises(SizeLimitError, match="more than 2\\*\\*63 - 1 numbers"):
            tr.arange(*arguments)


@pytest.mark.parametrize("arguments", [(float("inf"),), (float("nan"), 1), ("a",), (1j,)])
def test_arange_refuses_what_has_no_end(arguments: Any) -> None:
    with pytest.raises(ArgumentError, match="arange"):
        tr.arange(*arguments)


def test_arange_refuses_numbers_outside_the_dtype() -> None:
    with pytest.raises(CastRangeError):
        tr.arange(2**31 - 1, 2**31 + 1, dtype="I32")


def test_nested_lists_are_read_as_written_and_flat_data_in_the_order_said() -> None:
    assert tr.tensor([[1, 2, 3], [4, 5, 6]])[0, 2].item() == 3
    assert tr.from_flat([1, 4, 2, 5, 3, 6], (2, 3))[0, 2].item() == 3
    assert tr.from_flat([1, 2, 3, 4, 5, 6], (2, 3), order="C")[0, 2].item() == 3
    with pytest.raises(ShapeError):
        tr.tensor([[1, 2], [3]])
    with pytest.raises(ShapeError):
        tr.from_flat([1, 2, 3], (2, 2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_column_major_arrays_are_borrowed_and_lent_back(dtype: Any, shape: tuple[int, ...]) -> None:
    a = np.zeros(shape, dtype.numpy_name, order="F")
    x = tr.asarray(a, copy=False)

    assert (x.dtype, x.shape, x.is_compact) == (dtype, shape, True)
    assert x.to_numpy().ctypes.data == a.ctypes.data
    assert np.asarray(x).ctypes.data == a.ctypes.data
    assert x.buffer.nbytes == a.nbytes


def test_strided_column_major_arrays_are_borrowed_as_views() -> None:
    a = np.arange(48.0).reshape(6, 8, order="F")
    for view in (a[::2], a[::-1, ::-2], a[1:3, 4:], a[:, 3], a[2], np.arange(9)[::-3]):
        x = tr.asarray(view, copy=False)
        assert np.shares_memory(x.to_numpy(), view)
        np.testing.assert_array_equal(x.to_numpy(), view)


def test_row_major_arrays_are_copied_once_or_refused() -> None:
    a = np.arange(6.0).reshape(2, 3)
    x = tr.asarray(a)

    assert x.is_compact
    assert not np.shares_memory(x.to_numpy(), a)
    np.testing.assert_array_equal(x.to_numpy(), a)
    with pytest.raises(ArgumentError, match="row-major"):
        tr.asarray(a, copy=False)


def test_copy_true_always_copies() -> None:
    a = np.zeros((2, 3), order="F")
    x = tr.asarray(a, copy=True)
    assert not np.shares_memory(x.to_numpy(), a)
    assert not np.shares_memory(tr.asarray(x, copy=True).to_numpy(), x.to_numpy())
    assert tr.asarray(x) is x


def test_asarray_converts_only_without_loss() -> None:
    a = np.arange(3, dtype=np.int32)
    assert tr.asarray(a, dtype=F64).dtype is F64
    with pytest.raises(LossyConversionError, match="cast"):
        tr.asarray(np.array([1.5]), dtype=I64)
    with pytest.raises(ArgumentError, match="copy=False"):
        tr.asarray(a, dtype=F64, copy=False)


@pytest.mark.parametrize(
    "bad",
    [
        np.array([1], dtype=np.int8), np.array([1], dtype=np.float16), np.array(["a"]), np.array([None]),
        np.zeros(2, ">f8"), "text", object(), {1: 2}, None,
        np.zeros(1, [("a", "f8")]), np.array(["2020-01-01"], dtype="M8[D]"),
    ],
    ids=lambda value: str(getattr(value, "dtype", type(value).__name__)),
)  # fmt: skip
def test_what_no_tensor_can_hold_is_refused(bad: Any) -> None:
    with pytest.raises(DTypeError):
        tr.asarray(bad)


def test_buffers_and_array_interfaces_are_borrowed() -> None:
    numbers = array.array("d", [1.0, 2.0, 3.0])
    x = tr.asarray(numbers, copy=False)
    numbers[0] = 9.0
    assert x.to_numpy().tolist() == [9.0, 2.0, 3.0]
    host = tr.HostTensor.from_nested([[1, 2], [3, 4]])
    assert tr.asarray(host).to_numpy().tolist() == [[1, 2], [3, 4]]
    assert tr.asarray(np.float32(2.5)).item() == 2.5


def test_unaligned_arrays_are_copied() -> None:
    raw = np.zeros(25, np.uint8)
    crooked = raw[1:].view(np.float64)
    assert not np.shares_memory(tr.asarray(crooked).to_numpy(), raw)


def test_the_numpy_protocol_has_numpy_2_copy_rules() -> None:
    x = tr.asarray(np.zeros((2, 2), order="F"))
    assert np.shares_memory(np.asarray(x), x.to_numpy())
    assert not np.shares_memory(np.array(x), x.to_numpy())
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype=np.float32, copy=False)
    repeated = tr.broadcast_to(x[0], (3, 2)).to_numpy()
    assert not repeated.flags.writeable


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_and_copy_give_owned_compact_equals(dtype: Any, protocol: int) -> None:
    x = tr.asarray(np.arange(6).reshape(2, 3).astype(dtype.numpy_name)).T[::-1]
    for made in (pickle.loads(pickle.dumps(x, protocol)), copy.copy(x), copy.deepcopy(x)):
        assert made.is_compact
        assert made.dtype is dtype
        np.testing.assert_array_equal(made.to_numpy(), x.to_numpy())


def test_protocol_5_sends_the_elements_out_of_band() -> None:
    buffers: list[Any] = []
    x = tr.zeros((100, 100))
    stream = pickle.dumps(x, 5, buffer_callback=buffers.append)

    assert len(stream) < 1000
    assert [len(buffer.raw()) for buffer in buffers] == [80_000]
    assert pickle.loads(stream, buffers=buffers).shape == (100, 100)


def test_there_is_one_tensor_class_at_run_time() -> None:
    assert tr.TypedTensor is tr.TypedTensorView is tr.Tensor
    assert tr.TypedTensor[F64] is tr.Tensor
    assert type(tr.zeros(2).mutable_view()) is tr.TypedTensorViewMut
    assert tr.zeros(2, dtype=Bool).dtype is Bool


def test_an_arange_without_end_is_refused_at_once() -> None:
    for arguments in ((0, 10**30), (0, 1e30), (0, 1, 1e-300)):
        with pytest.raises(SizeLimitError, match="more than 2\\*\\*63 - 1 numbers"):
            tr.arange(*arguments)


def test_more_axes_than_the_backend_stores_are_refused_with_the_limit() -> None:
    assert (tr.zeros((1,) * 64) + 1).size == 1
    deep: Any = 1.0
    for _ in range(65):
        deep = [deep]
    for call in (
        lambda: tr.zeros((1,) * 65),
        lambda: tr.broadcast_to(tr.zeros(()), (1,) * 65),
        lambda: tr.tensor(deep),
    ):
        with pytest.raises(UnsupportedOperationError, match="65 axes; the cpu backend stores at most 64"):
            call()


NUMBER, COUNT = tr.tensor(2.5), tr.tensor(3)
TAKEN: dict[str, tuple[Callable[[Any, Any], tr.Tensor], Any]] = {
    "full": (lambda s, n: tr.full(2, s), [2.5, 2.5]),
    "full_like": (lambda s, n: tr.full_like(tr.ones(2), s), [2.5, 2.5]),
    "pad": (lambda s, n: tr.pad(tr.ones(1), 1, constant_values=s), [2.5, 1.0, 2.5]),
    "arange": (lambda s, n: tr.arange(n), [0, 1, 2]),
    "arange, step": (lambda s, n: tr.arange(0, 5, s), [0.0, 2.5]),
    "linspace": (lambda s, n: tr.linspace(0, s, n), [0.0, 1.25, 2.5]),
    "isclose": (lambda s, n: tr.isclose(tr.ones(1), 3.0, rtol=s), [True]),
    "uniform": (lambda s, n: tr.uniform(1, seed=n), tr.uniform(1, seed=3).tolist()),
    "integers": (lambda s, n: tr.integers(2, n - 1, n, seed=1), [2, 2]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_tensor_of_rank_0_on_the_host_is_the_number_that_it_holds(name: str) -> None:
    call, expected = TAKEN[name]
    assert call(NUMBER, COUNT).tolist() == expected == call(2.5, 3).tolist()
    device = SimulatedBackend(tr.backend("cpu"), "far")
    tr.register_backend("far", device)
    try:
        there = [tr.to(one, device.placement()) for one in (NUMBER, COUNT)]
        if name != "linspace":
            with pytest.raises(PlacementError, match=r"on far:0, and nothing is moved silently; write x.item\(\)$"):
                call(*there)
    finally:
        registry.unregister("far")


def test_an_extent_may_be_a_tensor_of_rank_0_but_of_integers() -> None:
    for made in (tr.zeros(COUNT), tr.ones(COUNT), tr.empty(tr.max(tr.tensor([1, 3]))), tr.full(COUNT, 0)):
        assert made.shape == (3,)
    assert tr.zeros(np.array(3)).shape == (3,)  # type: ignore[call-overload]
    with pytest.raises(ShapeError, match="shape: found a Tensor of F64"):
        tr.zeros(NUMBER)  # type: ignore[call-overload]


def test_a_value_keeps_the_dtype_of_its_tensor_and_must_be_one() -> None:
    assert tr.full(2, tr.tensor(1.5, dtype="F32")).dtype is tr.F32  # type: ignore[call-overload]
    with pytest.raises(DTypeError, match=r"full: the value is a tensor of shape \(2,\)"):
        tr.full(2, tr.ones(2))  # type: ignore[call-overload]


class Whole(int):
    """An int of somebody's own."""


class Real(float):
    """A float of somebody's own."""


def test_a_scalar_by_itself_is_the_number_that_it_equals() -> None:
    for scalar, dtype in (
        (Whole(2), I64), (Real(2), F64), (np.uint8(2), I64), (np.float16(2), F64), (np.longdouble(2), F64),
        (np.float32(2), tr.F32), (np.int32(2), tr.I32), (np.float64(2), F64), (np.True_, Bool),
    ):  # fmt: skip
        for made in (tr.tensor(scalar), tr.asarray(scalar)):
            assert (made.shape, made.dtype, made.item()) == ((), dtype, scalar)
        assert tr.tensor(scalar, dtype="C64").dtype is tr.C64
    with pytest.raises(DTypeError, match="the element type is uint8"):
        tr.tensor(np.array(2, np.uint8))


def test_an_array_that_loses_values_is_refused_with_the_line_to_write() -> None:
    line = np.ones((2, 3))
    with pytest.raises(
        LossyConversionError, match=r"^tensor: F64 to F32 can lose values; cast\(asarray\(array\), F32\)"
    ):
        tr.tensor(line, dtype="float32")
    with pytest.raises(LossyConversionError, match=r"^asarray: F64 to I64 .*cast\(asarray\(array\), I64\)"):
        tr.asarray(line, dtype=int)
    assert tr.cast(tr.asarray(line), F64).dtype is F64
    with pytest.raises(LossyConversionError, match=r"^convert: .*cast\(x, F32\)"):
        tr.tensor(tr.ones(2), dtype="F32")
    for data, dtype, told in (
        ([1, 0], bool, r"bool\(x\) makes one"),
        ([1.5], int, r"int\(x.real\) makes one, and cast\(\)"),
    ):
        with pytest.raises(DTypeError, match=told):
            tr.tensor(data, dtype=dtype)


@pytest.mark.parametrize("kind", [tr.Tensor, type(tr.zeros(2).mutable_view())])
@pytest.mark.parametrize("arguments", [(), ([1.0, 2.0],), ((2, 3), "F64")])
def test_the_classes_of_tensors_say_what_makes_one(kind: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(
        tr.TensorError, match=rf"{kind.__name__}: the class makes no tensors; write tensor\(data\)"
    ) as caught:
        kind(*arguments)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(TypeError, match="asarray"):
        kind(data=[1.0])
