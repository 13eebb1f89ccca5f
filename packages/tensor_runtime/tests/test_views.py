"""Any chain of views equals NumPy's, in elements and in memory shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    AxisError,
    CastRangeError,
    DTypeError,
    IndexingError,
    LossyConversionError,
    OverlappingViewError,
    ReadOnlyError,
    ShapeError,
    ViewRequiresCopyError,
)


def fresh(shape: tuple[int, ...]) -> tuple[tr.Tensor, np.ndarray[Any, Any]]:
    array = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape, order="F")
    return tr.asarray(array, copy=True), array


def an_index(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    items: list[Any] = []
    for extent in shape:
        choice = draw(st.integers(0, 3))
        if choice == 0 and extent:
            items.append(draw(st.integers(-extent, extent - 1)))
        elif choice == 1:
            items.append(slice(None))
        else:
            bound = st.one_of(st.none(), st.integers(-extent - 2, extent + 2))
            items.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2, 3]))))
        if draw(st.integers(0, 8)) == 0:
            items.append(None)
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(items)))
        items = [*items[:cut], Ellipsis, *items[cut:]]
    return tuple(items)


@given(st.data())
def test_any_chain_of_views_equals_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    x, a = fresh(shape)
    storage = a
    for _ in range(data.draw(st.integers(0, 5))):
        kind = data.draw(st.sampled_from(["index", "transpose", "reverse", "diagonal", "broadcast", "reshape"]))
        if kind == "index":
            index = data.draw(st.composite(an_index)(a.shape))
            x, a = x[index], a[(*index, Ellipsis) if Ellipsis not in index else index]
        elif kind == "transpose":
            axes = data.draw(st.permutations(range(a.ndim)))
            x, a = tr.transpose_view(x, axes), a.transpose(axes)
        elif kind == "reverse" and a.ndim:
            axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
            x, a = tr.reverse_view(x, axis), np.flip(a, axis)
        elif kind == "diagonal" and a.ndim >= 2 and a.shape[0] == a.shape[1]:
            x, a = tr.diagonal_view(x, 0, 1), a.diagonal(0, 0, 1)
        elif kind == "broadcast" and a.ndim < 5:
            target = (data.draw(st.integers(0, 3)), *a.shape)
            x, a = tr.broadcast_to(x, target), np.broadcast_to(a, target)
        elif kind == "reshape":
            target = (a.size, 1)
            try:
                expected = a.reshape(target, order="F", copy=False)
            except ValueError:
                with pytest.raises(ViewRequiresCopyError):
                    tr.reshape_view(x, target)
                continue
            x, a = tr.reshape_view(x, target), expected
        assert x.shape == a.shape
        np.testing.assert_array_equal(x.to_numpy(), a)
        assert x.layout.shape == a.shape
    assert not np.shares_memory(x.to_numpy(), storage)
    np.testing.assert_array_equal(tr.copy(x).to_numpy(), a)
    assert tr.copy(x).is_compact


@given(st.data())
def test_reshape_counts_elements_in_the_order_asked_for(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=4)))
    x, a = fresh(shape)
    axes = data.draw(st.permutations(range(len(shape))))
    x, a = tr.transpose(x, axes), a.transpose(axes)
    order = data.draw(st.sampled_from("FC"))
    target = data.draw(st.sampled_from([(a.size,), (-1,), (1, a.size), (a.size, 1, -1)]))

    np.testing.assert_array_equal(x.reshape(target, order=order).to_numpy(), a.reshape(target, order=order))
    np.testing.assert_array_equal(x.reshape(*target).to_numpy(), a.reshape(target, order="F"))


def test_views_share_storage_and_computations_do_not() -> None:
    x = tr.asarray(np.zeros((3, 4), order="F"), copy=True)
    memory = x.to_numpy()

    for view in (x.T, x[1:], x[0], x.reshape(12), tr.reverse_view(x, 0), tr.diagonal_view(x[:, :3])):
        assert np.shares_memory(view.to_numpy(), memory)
    for made in (x + 1, tr.copy(x), tr.convert(x, "C64"), tr.sum(x, axis=()), tr.positive(x), tr.conj(x), tr.abs(x)):
        assert not np.shares_memory(made.to_numpy(), memory)


def test_slices_at_different_offsets_share_one_binding() -> None:
    x, a = fresh((50, 3))
    x[0]
    built = tr.binding_cache.stats().builds
    for position in range(-50, 50):
        np.testing.assert_array_equal(x[position].to_numpy(), a[position])
    assert tr.binding_cache.stats().builds == built


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (3, "index 3 is out of range for axis 0 of extent 3; accepted: -3 to 2"),
        ((0, 0, 0), "3 indices for shape \\(3, 2\\) of rank 2"),
        ((..., ...), "more than one"),
        (1.0, "axis 0 has the index 1.0 of type float"),
        ("a", "type str"),
    ],
)
def test_a_bad_index_says_what_is_accepted(index: Any, message: str) -> None:
    x, _ = fresh((3, 2))
    with pytest.raises(IndexingError, match=message):
        x[index]


def test_a_slice_with_step_zero_is_refused() -> None:
    x, _ = fresh((3, 2))
    with pytest.raises(IndexError, match="step"):
        x[::0]


def test_bad_axes_and_shapes_are_named() -> None:
    x, _ = fresh((3, 2))
    with pytest.raises(AxisError):
        tr.transpose(x, (0, 0))
    for axes in (5, 1.5, "ab", [None], (0, 1, 2)):
        with pytest.raises(AxisError, match="transpose"):
            tr.transpose(x, axes)  # type: ignore[arg-type]
    with pytest.raises(AxisError):
        tr.reverse_view(x, 2)
    with pytest.raises(ShapeError, match="shape \\(3, 2\\) has 6 elements"):
        x.reshape(4)
    with pytest.raises(ShapeError):
        x.reshape(-1, -1)
    with pytest.raises(ArgumentError, match="order is 'A'"):
        x.reshape(6, order="A")
    with pytest.raises(ShapeError, match="axis 1 has extent 2 but axis 0 has 3"):
        tr.diagonal_view(x)
    with pytest.raises(ShapeError):
        tr.broadcast_to(x, (3, 3))
    with pytest.raises(ShapeError):
        tr.squeeze(x, 0)


def test_writing_goes_through_a_mutable_view() -> None:
    x, _ = fresh((3, 4))
    view = x.mutable_view()
    view[...] = 5
    view[1] = tr.tensor([1, 2, 3, 4])
    view[:, ::-2] = tr.tensor([[0], [1], [2]])
    expected = np.full((3, 4), 5)
    expected[1] = [1, 2, 3, 4]
    expected[:, ::-2] = [[0], [1], [2]]

    np.testing.assert_array_equal(x.to_numpy(), expected)
    with pytest.raises(ReadOnlyError, match="mutable_view"):
        x[0] = 1  # type: ignore[index]


def test_writing_over_overlapping_memory_acts_as_if_the_source_were_copied_first() -> None:
    x, _ = fresh((6,))
    x.mutable_view()[1:] = x[:-1]

    assert x.to_numpy().tolist() == [0, 0, 1, 2, 3, 4]


def test_writing_is_checked_before_anything_is_written() -> None:
    x, a = fresh((3, 4))
    view = x.mutable_view()
    with pytest.raises(LossyConversionError, match=r"view\[...\] = x: .*(cast|write)"):
        view[...] = 1.5
    with pytest.raises(LossyConversionError, match="F64 to I64"):
        view[...] = tr.zeros((3, 4))
    with pytest.raises(ShapeError):
        view[0] = tr.zeros((3,), dtype="I64")
    with pytest.raises(DTypeError, match=r"view\[...\] = x: the value is a list"):
        view[0] = [1, 2, 3, 4]
    with pytest.raises(ReadOnlyError):
        tr.copy_into(x, x)  # type: ignore[arg-type]
    with pytest.raises(OverlappingViewError, match="twice"):
        tr.broadcast_to(x, (2, 3, 4)).mutable_view()
    np.testing.assert_array_equal(x.to_numpy(), a)


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64", "I32", "I64"])
def test_a_number_written_adopts_the_dtype_of_the_view(dtype: str) -> None:
    x = tr.zeros((2, 2), dtype=dtype)
    x.mutable_view()[0] = 3
    x.mutable_view()[1, 1] = True

    assert x.to_numpy().tolist() == [[3, 3], [0, 1]]
    with pytest.raises(CastRangeError):
        tr.zeros(2, dtype="I32").mutable_view()[0] = 2**31


def test_memory_lent_read_only_stays_unwritten() -> None:
    array = np.zeros((2, 2), order="F")
    array.flags.writeable = False
    with pytest.raises(ReadOnlyError, match="read-only"):
        tr.asarray(array).mutable_view()
