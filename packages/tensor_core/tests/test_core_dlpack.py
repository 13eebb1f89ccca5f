"""Memory exchanged through DLPack: lent to NumPy and taken from it, capsules of every kind, and lifetimes."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    C64,
    DTYPES,
    F64,
    I32,
    ArgumentError,
    DType,
    DTypeError,
    ExchangeError,
    HostTensor,
    HostTensorView,
    PlacementError,
    TensorError,
)
from tensor_core.host.dlpack import lending
from tensor_core.host.dlpack import structures as c
from tensor_core.testing.strategies import host_tensors, host_views

np = pytest.importorskip("numpy", "2.1")


class Lender:
    """A producer whose capsule and answers a test makes up."""

    def __init__(self, capsule: object, device: object = (1, 0)) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **asked: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> object:
        return self.device


@given(host_tensors())
def test_numpy_shares_the_memory_of_a_tensor(x: HostTensor[Any]) -> None:
    seen = np.from_dlpack(x)
    assert (seen.dtype.name, seen.shape) == (x.dtype.numpy_name, x.shape)
    assert seen.tobytes("F") == x.tobytes()
    assert seen.flags.writeable
    if x.size:
        assert np.shares_memory(seen, np.frombuffer(x.raw, np.uint8))


@given(host_views())
def test_numpy_sees_the_elements_of_any_view_and_no_negative_stride(x: HostTensorView[Any]) -> None:
    seen = np.from_dlpack(x)
    np.testing.assert_array_equal(seen, np.asarray(x))
    if any(stride < 0 for stride in x.layout.strides):
        assert not np.shares_memory(seen, np.asarray(x))
        with pytest.raises(ExchangeError, match="run backwards"):
            np.from_dlpack(x, copy=False)
    elif x.size:
        assert np.shares_memory(seen, np.asarray(x))


@given(st.sampled_from(DTYPES), st.sampled_from([(), (3,), (0, 2), (2, 3, 2)]), st.sampled_from("CF"), st.booleans())
def test_a_numpy_array_is_taken_with_its_memory(dtype: DType, shape: tuple[int, ...], order: Any, back: bool) -> None:
    base = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype.numpy_name, order=order)
    array = base[::-1] if back and base.ndim else base
    taken = HostTensorView.from_dlpack(array)
    assert taken.dtype is dtype
    assert taken.to_nested() == array.tolist()
    assert not taken.readonly
    if array.size:
        assert np.shares_memory(np.asarray(taken), base)


def test_a_copy_is_made_on_request_and_said_to_be_one() -> None:
    x = HostTensor.from_nested([1, 2])
    copied = np.from_dlpack(x, copy=True)
    copied[0] = 7
    assert x.to_nested() == [1, 2]
    for lent, flags in (
        (x.__dlpack__(max_version=(1, 0), copy=True), c.IS_COPIED),
        (x.__dlpack__(max_version=(1, 1)), 0),
    ):
        assert c.Versioned.from_address(c.pointer_of(lent, c.VERSIONED)).flags == flags


def test_readonly_elements_are_lent_as_such_and_copied_for_those_who_cannot_be_told() -> None:
    frozen = HostTensor.from_nested([1.0, 2.0]).as_readonly()
    assert not np.from_dlpack(frozen).flags.writeable
    old = frozen.__dlpack__()
    assert "dltensor" in repr(old)
    assert "versioned" not in repr(old)
    old_info = c.Unversioned.from_address(c.pointer_of(old, c.UNVERSIONED)).tensor
    assert old_info.data != np.asarray(frozen).ctypes.data
    with pytest.raises(ExchangeError, match=r"read-only, which a consumer before DLPack 1\.0"):
        frozen.__dlpack__(copy=False)
    repeated = HostTensor.from_nested([1.0]).broadcast_view((3,))
    assert not np.from_dlpack(repeated).flags.writeable


def test_readonly_arrays_and_old_capsules_come_in_readonly() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    assert HostTensorView.from_dlpack(array).readonly
    assert HostTensorView.from_dlpack(Lender(HostTensor.zeros(2).__dlpack__())).readonly
    assert not HostTensorView.from_dlpack(Lender(HostTensor.zeros(2).__dlpack__(max_version=(1, 0)))).readonly


def test_an_old_producer_is_asked_without_arguments() -> None:
    class Old:
        def __dlpack__(self, stream: None = None) -> object:
            return HostTensor.from_nested([1, 2]).__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    assert HostTensorView.from_dlpack(Old()).to_nested() == [1, 2]
    with pytest.raises(ExchangeError, match="lends nothing: TypeError"):
        HostTensorView.from_dlpack(Old(), copy=False)


def test_strides_of_null_are_those_of_rows() -> None:
    capsule = HostTensor.from_nested([[1, 2, 3], [4, 5, 6]]).__dlpack__()
    c.Unversioned.from_address(c.pointer_of(capsule, c.UNVERSIONED)).tensor.strides = None
    assert HostTensorView.from_dlpack(Lender(capsule)).to_nested() == [[1, 4, 2], [5, 3, 6]]


def test_the_offset_in_bytes_counts() -> None:
    capsule = HostTensor.from_nested([1.0, 2.0, 3.0]).__dlpack__(max_version=(1, 0))
    info = c.Versioned.from_address(c.pointer_of(capsule, c.VERSIONED)).tensor
    info.byte_offset, info.shape[0] = 8, 2
    assert HostTensorView.from_dlpack(Lender(capsule)).to_nested() == [2.0, 3.0]


# --- lifetimes


@pytest.fixture
def loans() -> Iterator[list[Any]]:
    gc.collect()
    assert lending._LOANS == []
    yield lending._LOANS
    gc.collect()
    assert lending._LOANS == [], "what nobody uses is let go"


def test_lent_memory_lives_as_long_as_its_consumer_and_no_longer(loans: list[Any]) -> None:
    memory = bytearray(24)
    seen = np.from_dlpack(HostTensor.wrap_bytes(memory, 3, F64))
    gc.collect()
    seen[0] = 5.0
    assert len(loans) == 1
    with pytest.raises(BufferError):
        memory.clear()  # somebody still reads it
    del seen
    gc.collect()
    memory.clear()


def test_a_capsule_that_nobody_took_is_let_go(loans: list[Any]) -> None:
    capsule = HostTensor.zeros(3).__dlpack__(max_version=(1, 0))
    gc.collect()
    assert len(loans) == 1
    del capsule
    HostTensor.zeros(3).__dlpack__()
    assert len(loans) == 1, "the next export lets go of the last"


def test_an_exception_under_way_survives_the_end_of_a_loan(loans: list[Any]) -> None:
    with pytest.raises(TypeError, match="int"):
        int(np.from_dlpack(HostTensor.zeros(3)), 2, 3)  # the array goes while the exception is raised
    with pytest.raises(TypeError, match="len"):
        len(HostTensor.zeros(3).__dlpack__())


def test_taken_memory_is_given_back_once(loans: list[Any]) -> None:
    class Array(np.ndarray):  # type: ignore[misc,type-arg]
        pass

    array = np.arange(6.0).view(Array)
    gone = weakref.ref(array)
    taken = HostTensorView.from_dlpack(array)
    part = taken[2:4]
    del array, taken
    gc.collect()
    assert gone() is not None
    assert part.to_nested() == [2.0, 3.0]
    del part
    gc.collect()
    assert gone() is None


def test_a_copy_is_asked_for_by_a_bool() -> None:
    with pytest.raises(ArgumentError, match="accepted: None, True, False"):
        HostTensorView.from_dlpack(np.ones(2), copy=np.False_)


def test_a_capsule_is_taken_once() -> None:
    capsule = HostTensor.zeros(2).__dlpack__()
    HostTensorView.from_dlpack(Lender(capsule))
    with pytest.raises(ExchangeError, match="used_dltensor"):
        HostTensorView.from_dlpack(Lender(capsule))


def test_exchange_costs_no_import_before_it_happens() -> None:
    program = (
        "import sys, tensor_core as t; x = t.HostTensor.zeros(2); assert 'ctypes' not in sys.modules\n"
        "x.__dlpack__(); assert 'ctypes' in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_threads_lend_and_give_back_at_once(loans: list[Any]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def exchange(number: int) -> float:
        return float(sum(np.from_dlpack(HostTensor.from_nested([float(number)]))[0] for _ in range(200)))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(exchange, range(8))) == [200.0 * number for number in range(8)]


# --- refusals


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"stream": 1}, ArgumentError, "no streams"),
        ({"dl_device": (2, 0)}, ExchangeError, "nothing is moved silently"),
        ({"dl_device": 3}, ArgumentError, "a pair of integers"),
        ({"max_version": "1.0"}, ArgumentError, "a pair of integers"),
        ({"copy": "yes"}, ArgumentError, "accepted: None, True, False"),
        ({"copy": 1}, ArgumentError, "accepted: None, True, False"),
        ({"max_version": ("1", "0")}, ArgumentError, "a pair of integers"),
    ],
)
def test_what_a_consumer_may_not_ask_is_refused(asked: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        HostTensor.zeros(2).__dlpack__(**asked)


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        (None, DTypeError, "found NoneType"),
        ([1, 2], DTypeError, "found list"),
        (np.arange(3, dtype=np.uint8), DTypeError, "the element type is uint8"),
        (np.arange(3, dtype=np.float16), DTypeError, "the element type is float16"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), DTypeError, "found a masked array"),
        (np.ma.array([1.0, 2.0]), DTypeError, "found a masked array"),
        (np.array([object()]), ExchangeError, "lends nothing"),
        (Lender(None), ExchangeError, "gave a NoneType"),
        (Lender(None, (2, 0)), PlacementError, "nothing is moved silently"),
        (Lender(None, "cpu"), ExchangeError, "tells no device"),
    ],
)
def test_what_cannot_be_taken_is_refused(source: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        HostTensorView.from_dlpack(source)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "major": st.integers(0, 3),
            "code": st.integers(0, 20),
            "bits": st.sampled_from([0, 1, 8, 16, 32, 64, 128, 255]),
            "lanes": st.integers(0, 4),
            "rank": st.sampled_from([-1, 0, 1, 2, 65, 2**31 - 1]),
            "extent": st.sampled_from([-1, 0, 1, 3, 2**40, 2**62, 2**63 - 1]),
            "stride": st.sampled_from([-(2**63), -1, 0, 1, 2**40, 2**62, 2**63 - 1]),
            "data": st.sampled_from([0]),
            "device": st.integers(0, 17),
            "no_shape": st.booleans(),
        },
    ),
    st.booleans(),
)
def test_a_malformed_capsule_is_refused_and_stays_its_producers(changes: dict[str, Any], unversioned: bool) -> None:
    owner = HostTensor.from_flat([1, 2, 3, 4, 5, 6], (3, 2), I32)
    capsule = owner.__dlpack__() if unversioned else owner.__dlpack__(max_version=(1, 0))
    name = c.UNVERSIONED if unversioned else c.VERSIONED
    managed: Any = (c.Unversioned if unversioned else c.Versioned).from_address(c.pointer_of(capsule, name))
    info = managed.tensor
    if not unversioned and "major" in changes:
        managed.major = changes["major"]
    for field in ("code", "bits", "lanes"):
        setattr(info.dtype, field, changes.get(field, getattr(info.dtype, field)))
    info.rank, info.data = changes.get("rank", info.rank), changes.get("data", info.data)
    info.device.kind = changes.get("device", info.device.kind)
    info.shape[0], info.strides[0] = changes.get("extent", info.shape[0]), changes.get("stride", info.strides[0])
    if changes.get("no_shape"):
        info.shape = None
    lending._LOANS[-1].written = lending._LOANS[-1].first.value  # what is changed here, no consumer has given back
    try:
        taken = HostTensorView.from_dlpack(Lender(capsule))
    except TensorError:
        assert c.name_of(capsule) == name
    else:
        assert info.device.kind == 1
        assert c.name_of(capsule) == c.USED[name]
        assert (taken.dtype.itemsize * 8, taken.rank) == (info.dtype.bits, info.rank)


def test_the_structures_have_the_sizes_of_the_header() -> None:
    assert ctypes.sizeof(c.TensorInfo) == 48
    assert ctypes.sizeof(c.Unversioned) == 64
    assert ctypes.sizeof(c.Versioned) == 80
    assert c.ELEMENT_TYPES[C64] == (5, 128, 1)
