"""Joining, padding and rolling equal NumPy's on operands of any layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, F64
from tensor_core.errors import ArgumentError, AxisError, DTypeError, PlacementError, ShapeError
from tensor_core.promotion import promote
from tensor_runtime.form import form_of
from tensor_runtime.testing.strategies import tensors

some = st.sampled_from(DTYPES)
any_tensor = tensors(dtype=some)


def same(result: tr.Tensor, expected: Any, dtype: Any) -> None:
    wanted = np.asarray(expected)
    assert (result.dtype, result.shape, result.is_compact) == (dtype, wanted.shape, True)
    np.testing.assert_array_equal(result.to_numpy(), wanted)


@st.composite
def parts(draw: st.DrawFn, unequal: bool) -> tuple[list[tr.Tensor], int]:
    """Tensors of one shape but for the extent along an axis."""
    shape = draw(st.lists(st.integers(0, 3), min_size=1 if unequal else 0, max_size=3))
    axis = draw(st.integers(0, len(shape) - 1 if unequal else len(shape)))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        if unequal:
            shape[axis] = draw(st.integers(0, 3))
        order = draw(st.permutations(range(len(shape))))
        owned = draw(tensors(dtype=some, shape=st.just(tuple(shape[one] for one in order)), max_steps=0))
        x = tr.permute_axes(owned, np.argsort(order).tolist())
        found.append(tr.reverse(tr.reverse(x)) if draw(st.booleans()) else x)
    return found, axis


@given(parts(unequal=True))
def test_concatenate_is_numpys(drawn: Any) -> None:
    operands, axis = drawn
    arrays = [x.to_numpy() for x in operands]
    dtype = promote(*[x.dtype for x in operands])
    same(tr.concatenate(operands, axis), np.concatenate(arrays, axis), dtype)
    same(tr.concatenate(operands, axis - operands[0].rank), np.concatenate(arrays, axis), dtype)
    same(tr.concatenate(operands, None), np.concatenate(arrays, None), dtype)


@given(parts(unequal=False))
def test_stack_is_numpys(drawn: Any) -> None:
    operands, axis = drawn
    expected = np.stack([x.to_numpy() for x in operands], axis)
    dtype = promote(*[x.dtype for x in operands])
    same(tr.stack(operands, axis), expected, dtype)
    same(tr.stack(operands, axis - operands[0].rank - 1), expected, dtype)


def test_what_does_not_fit_together_is_refused() -> None:
    a, b = tr.zeros((2, 3)), tr.zeros((3, 2))
    with pytest.raises(ShapeError, match=r"concatenate: shapes \(2, 3\) and \(3, 2\) along axis 0; accepted: extents"):
        tr.concatenate([a, b])
    with pytest.raises(ShapeError, match=r"stack: shapes \(2, 3\) and \(3, 2\); accepted: equal shapes"):
        tr.stack([a, b])
    for function in (tr.concatenate, tr.stack):
        with pytest.raises(ArgumentError, match="no tensors; give one or more"):
            function([])
        with pytest.raises(AxisError):
            function([a, a], 3)
        with pytest.raises(DTypeError, match="found a float; accepted: a sequence of tensors"):
            function(1.0)  # type: ignore[arg-type]
        with pytest.raises(DTypeError):
            function([a, 1.0])  # type: ignore[list-item]
        elsewhere = form_of(F64, (2, 3), tr.Placement(tr.MemoryKind.Device, tr.DeviceId(tr.DeviceKind.other("npu"), 0)))
        with pytest.raises(PlacementError, match="operands live in different places"):
            tr.infer(function, [a, elsewhere])
    with pytest.raises(AxisError):
        tr.concatenate([tr.tensor(1), tr.tensor(2)])


def test_a_tensor_is_a_sequence_of_its_slices() -> None:
    x = tr.tensor([[1, 2], [3, 4]])
    assert tr.concatenate(x).to_numpy().tolist() == [1, 2, 3, 4]
    assert tr.stack(x, 1).to_numpy().tolist() == [[1, 3], [2, 4]]


@given(any_tensor.filter(lambda x: x.rank), st.data())
def test_split_gives_numpys_parts_as_views(x: tr.Tensor, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.rank, x.rank - 1))
    cuts = data.draw(st.one_of(st.integers(1, 4), st.lists(st.integers(-5, 5), max_size=3)))
    if isinstance(cuts, int) and x.shape[axis] % cuts:
        with pytest.raises(ArgumentError, match=f"into {cuts} equal parts; accepted"):
            tr.split(x, cuts, axis=axis)
        return
    found = tr.split(x, cuts, axis=axis)
    expected = np.split(x.to_numpy(), cuts, axis)
    assert len(found) == len(expected)
    for part, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part.to_numpy(), wanted)
        assert part.shape == wanted.shape
        assert part.size == 0 or np.shares_memory(part.to_numpy(), x.to_numpy())


def test_split_says_what_it_takes() -> None:
    x = tr.zeros((4,))
    for wrong in (0, -1):
        with pytest.raises(ArgumentError, match="equal parts; accepted: an int of 1 or more"):
            tr.split(x, wrong)
    with pytest.raises(ArgumentError, match="split: indices are"):
        tr.split(x, [1.5])  # type: ignore[list-item]
    with pytest.raises(AxisError):
        tr.split(tr.tensor(1), 1)


@given(any_tensor, st.data())
def test_repeat_is_numpys(x: tr.Tensor, data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from([None, *range(-x.rank, x.rank)]))
    extent = x.size if axis is None else x.shape[axis]
    number = st.integers(0, 3)
    repeats = data.draw(st.one_of(number, st.lists(number, min_size=extent, max_size=extent)))
    same(tr.repeat(x, repeats, axis), np.repeat(x.to_numpy(), np.array(repeats, np.int64), axis), x.dtype)


def test_repeats_share_a_binding_when_their_sums_agree() -> None:
    x = tr.zeros((3,))
    tr.repeat(x, [1, 2, 3])
    before = tr.binding_cache.stats()
    assert tr.repeat(x, [3, 2, 1]).shape == (6,)
    assert tr.binding_cache.stats() == before
    with pytest.raises(ArgumentError, match="2 repeats for axis 0 of extent 3; give an int, or one per index"):
        tr.repeat(x, [1, 2])
    with pytest.raises(ArgumentError, match="accepted: ints of 0 or more"):
        tr.repeat(x, -1)
    with pytest.raises(ArgumentError, match="repeat: repeats are"):
        tr.repeat(x, 1.5)  # type: ignore[arg-type]


@given(any_tensor, st.one_of(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=5).map(tuple)))
def test_tile_is_numpys(x: tr.Tensor, repetitions: Any) -> None:
    same(tr.tile(x, repetitions), np.tile(x.to_numpy(), repetitions), x.dtype)


def test_tile_takes_numbers_from_0_on() -> None:
    with pytest.raises(ArgumentError, match=r"tile: repetitions are \(2, -1\); accepted: ints of 0 or more"):
        tr.tile(tr.zeros(2), (2, -1))


@given(any_tensor, st.data())
def test_roll_is_numpys(x: tr.Tensor, data: st.DataObject) -> None:
    shifts = st.integers(-7, 7)
    axis = data.draw(st.one_of(st.none(), st.lists(st.integers(0, max(x.rank - 1, 0)), unique=True, max_size=x.rank)))
    if axis is None:
        shift = data.draw(shifts)
        same(tr.roll(x, shift), np.roll(x.to_numpy(), shift), x.dtype)
        return
    shift = data.draw(st.lists(shifts, min_size=len(axis), max_size=len(axis)))
    same(tr.roll(x, shift, axis), np.roll(x.to_numpy(), shift, axis) if x.rank else x.to_numpy(), x.dtype)
    one = shift[0] if shift else 1
    same(tr.roll(x, one, axis), np.roll(x.to_numpy(), one, tuple(axis)) if x.rank else x.to_numpy(), x.dtype)


def test_shifts_are_no_part_of_a_key() -> None:
    x = tr.tensor([1, 2, 3])
    tr.roll(x, 1, 0)
    before = tr.binding_cache.stats()
    assert tr.roll(x, 10**30 + 2, 0).to_numpy().tolist() == tr.roll(x, 0, 0).to_numpy().tolist()
    assert tr.binding_cache.stats() == before
    with pytest.raises(ArgumentError, match=r"roll: 2 shifts \(1, 2\) for axes \(0, 0, 0\)"):
        tr.roll(x, (1, 2), (0, 0, 0))
    with pytest.raises(AxisError):
        tr.roll(tr.zeros((2, 2)), 1, (0, -3))


@given(any_tensor, st.data())
def test_reverse_is_numpys_flip_and_a_view(x: tr.Tensor, data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from([None, *range(-x.rank, x.rank)]))
    found = tr.reverse(x, axis).to_numpy()
    np.testing.assert_array_equal(found, np.flip(x.to_numpy(), axis))
    assert found.size == 0 or np.shares_memory(found, x.to_numpy())
