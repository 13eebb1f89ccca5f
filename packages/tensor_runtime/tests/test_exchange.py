"""Memory exchanged with other libraries through DLPack, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import (
    DTYPES,
    DType,
    DTypeError,
    ExchangeError,
    HostTensor,
    HostTensorView,
    PlacementError,
    TensorError,
)
from tensor_core.errors import ArgumentError, BackendUnavailableError
from tensor_core.host.dlpack import structures
from tensor_runtime.testing.simulated_device import SimulatedBackend

LAYOUTS: dict[str, Any] = {
    "rank 0": lambda x: x[1, 2],
    "empty": lambda x: x[:0],
    "owned": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-2],
    "offset": lambda x: x[1:, 1],
    "repeated": lambda x: tr.broadcast_to(x[:1], (4, 3)),
}


def numbers(dtype: DType) -> tr.Tensor:
    return tr.asarray(np.arange(6).reshape(2, 3).astype(dtype.numpy_name))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_takes_what_a_tensor_lends(dtype: DType, layout: str) -> None:
    x = LAYOUTS[layout](numbers(dtype))
    for seen in (np.from_dlpack(x), np.from_dlpack(x, copy=True)):
        assert seen.dtype.name == dtype.numpy_name
        np.testing.assert_array_equal(seen, x.to_numpy())
        assert all(stride >= 0 for stride in seen.strides)
    if x.size and layout != "reversed":
        assert np.shares_memory(np.from_dlpack(x), x.to_numpy())
        assert not np.shares_memory(np.from_dlpack(x, copy=True), x.to_numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tensor_takes_what_numpy_lends(dtype: DType, layout: str) -> None:
    array = LAYOUTS[layout](numbers(dtype)).to_numpy()
    taken = tr.from_dlpack(array)
    assert taken.dtype is dtype
    np.testing.assert_array_equal(taken.to_numpy(), array)
    if array.size and layout in ("owned", "offset", "rank 0"):
        assert np.shares_memory(taken.to_numpy(), array)
        assert not np.shares_memory(tr.from_dlpack(array, copy=True).to_numpy(), array)


def test_row_major_memory_is_copied_once_or_refused() -> None:
    rows = np.ones((3, 2))
    assert not np.shares_memory(tr.from_dlpack(rows).to_numpy(), rows)
    with pytest.raises(ArgumentError, match=r"from_dlpack: the array of shape .* is row-major"):
        tr.from_dlpack(rows, copy=False)
    columns = np.asfortranarray(rows)
    assert np.shares_memory(tr.from_dlpack(columns, copy=False).to_numpy(), columns)


def test_memory_stays_alive_on_both_sides() -> None:
    x = tr.from_dlpack(np.arange(1000.0))
    seen = np.from_dlpack(x * 2.0)
    del x
    assert seen.sum() == 999000.0


def test_old_consumers_get_a_copy_of_repeated_elements_and_the_memory_of_others() -> None:
    assert "versioned" not in repr(tr.ones(3).__dlpack__())
    repeated = tr.broadcast_to(tr.ones(1), (3,))
    repeated.__dlpack__(max_version=(1, 0), copy=False)
    with pytest.raises(ExchangeError, match="read-only"):
        repeated.__dlpack__(copy=False)


def test_readonly_memory_of_others_is_copied_for_old_consumers() -> None:
    array = np.ones(3)
    array.flags.writeable = False
    x = tr.asarray(array)
    assert not np.from_dlpack(x).flags.writeable
    assert "versioned" not in repr(x.__dlpack__())
    with pytest.raises(ExchangeError, match="read-only"):
        x.__dlpack__(copy=False)


def test_a_tensor_of_ours_passes_through() -> None:
    x = tr.tensor([1, 2])
    assert tr.from_dlpack(x) is x
    assert tr.from_dlpack(x, copy=True) is not x


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda x: x.__dlpack__(dl_device=(2, 0)), ExchangeError, "nothing is moved silently"),
        (lambda x: x.__dlpack__(stream=3), ArgumentError, "no streams"),
        (lambda x: x[::-1].__dlpack__(copy=False), ExchangeError, "run backwards"),
        (lambda x: tr.from_dlpack(np.ones((2, 2)), copy=0), ArgumentError, "accepted: None, True, False"),
        (lambda x: tr.from_dlpack([1.0]), DTypeError, "from_dlpack: found list"),
        (lambda x: tr.from_dlpack(np.ones(2, np.uint8)), DTypeError, "uint8"),
        (lambda x: tr.from_dlpack(np.array([None])), ExchangeError, "lends nothing"),
    ],
)
def test_refusals_say_what_to_do(ask: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ask(tr.ones(3))


def test_the_device_is_the_host() -> None:
    assert tr.ones(2).__dlpack_device__() == (1, 0)


def test_a_device_that_lends_nothing_says_so(device: SimulatedBackend) -> None:
    x = tr.to(tr.ones(2), device.placement())
    for ask in (x.__dlpack__, x.__dlpack_device__):
        with pytest.raises(PlacementError, match="use to\\(x, 'cpu'\\) first"):
            ask()


class Lender:
    """An array of a library that speaks DLPack and nothing else, such as Arrow's."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_asarray_borrows_what_speaks_dlpack_alone() -> None:
    array = np.arange(6.0).reshape(2, 3, order="F")
    shared = tr.asarray(Lender(array))
    assert shared.tolist() == array.tolist()
    assert np.shares_memory(shared.to_numpy(), array)
    assert not np.shares_memory(tr.asarray(Lender(array), copy=True).to_numpy(), array)
    assert tr.asarray(Lender(array), dtype=tr.C64).dtype is tr.C64
    with pytest.raises(ArgumentError, match="row-major"):
        tr.asarray(Lender(np.arange(6.0).reshape(2, 3)), copy=False)
    with pytest.raises(ArgumentError, match="F64 to F32 needs a copy"):
        tr.asarray(Lender(array), dtype=tr.F32, copy=False)


def test_asarray_puts_a_tensor_where_it_is_told_and_leaves_it_elsewhere(device: SimulatedBackend) -> None:
    there = tr.asarray([[1, 2], [3, 4]], placement=device.placement())
    assert there.placement is device.placement()
    assert tr.asarray(there) is there
    assert tr.asarray(there, placement="cpu").tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ArgumentError, match="needs a copy, and copy=False"):
        tr.asarray(there, placement="cpu", copy=False)
    with pytest.raises(BackendUnavailableError, match="no backend serves device 'nowhere'"):
        tr.asarray([1], placement="nowhere:0")


# --- numbers that are wrong, which NumPy would believe


def described(**facts: Any) -> Any:
    """Two numbers, lent by a capsule of which some fields were changed."""
    capsule = HostTensor.from_nested([1.0, 2.0]).__dlpack__(max_version=(1, 0))
    info = structures.Versioned.from_address(structures.pointer_of(capsule, structures.VERSIONED)).tensor
    for name, value in facts.items():
        if name in ("extent", "stride"):
            (info.shape if name == "extent" else info.strides)[0] = value
        else:
            setattr(info, name, value)

    class Lender:
        def __dlpack__(self, **_: object) -> object:
            return capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    return Lender()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"shape": None}, "1 axes without extents"),
        ({"data": None}, "2 elements at address 0"),
        ({"rank": -1}, "-1 axes"),
        ({"rank": 65}, "65 axes"),
        ({"extent": -1}, r"extents \(-1,\)"),
        ({"extent": 2**62}, "beyond"),
        ({"stride": 2**62}, "beyond"),
        ({"byte_offset": 2**64 - 8}, "accepted: the address of the first element"),
    ],
    ids=str,
)
def test_a_capsule_with_wrong_numbers_is_refused_and_crashes_nobody(facts: Any, said: str) -> None:
    for take in (tr.from_dlpack, HostTensorView.from_dlpack):
        with pytest.raises(TensorError, match=said):
            take(described(**facts))  # type: ignore[operator]


@pytest.mark.parametrize("stride", [2**63 - 1, -(2**63), 0])
def test_the_stride_of_a_single_element_means_nothing(stride: int) -> None:
    for take in (tr.from_dlpack, HostTensorView.from_dlpack):
        assert take(described(extent=1, stride=stride)).shape == (1,)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"typestr": "f"}, "type string 'f'"),
        ({"typestr": "\0"}, r"type string '\\x00'"),
        ({"data": (0, False)}, "at address 0"),
        ({"shape": (3,), "strides": (-(2**60),)}, "reaches from"),
        ({"shape": (2, 3), "strides": (2**60, 2**62)}, "reaches from"),
        ({"shape": None}, "gives no array"),
    ],
    ids=str,
)
def test_an_array_interface_with_wrong_numbers_is_refused(facts: Any, said: str) -> None:
    numbers = np.arange(3.0)

    class Lender:
        @property
        def __array_interface__(self) -> Any:
            return {**numbers.__array_interface__, **facts}

    with pytest.raises(TensorError, match=said):
        tr.asarray(Lender())
