"""Indexing by masks, tensors, arrays and lists, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.dtypes import DTYPES, DType
from tensor_core.errors import (
    DTypeError,
    IndexingError,
    LossyConversionError,
    PlacementError,
    ReadOnlyError,
    ShapeError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_runtime.testing.simulated_device import SimulatedBackend

X = tr.tensor([[314.5, 2.0, 3.0], [4.0, 5.0, 6.0]])


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
    """An index as NumPy takes it, and the same in one of the ways in which we do."""
    of_numpy: list[Any] = []
    of_ours: list[Any] = []
    common = draw(st.lists(st.integers(1, 3), max_size=2))
    axis = 0
    while axis < len(shape) or draw(st.booleans()):
        extent = shape[axis] if axis < len(shape) else 0
        kinds = ["None", "truth"]
        if axis < len(shape):
            kinds += [
                "slice",
                "slice",
                "mask",
                "mask",
                *(["int", "scalar", *["tensor", "array", "list"] * 2] * (extent > 0)),
            ]
        elif len(of_numpy) > 6:
            break
        kind = draw(st.sampled_from(kinds))
        if kind == "None":
            pair: tuple[Any, Any] = (None, None)
        elif kind == "truth":
            truth = draw(st.booleans())
            pair = np.array(truth), draw(st.sampled_from([truth, np.bool_(truth), tr.tensor(truth)]))
        elif kind == "slice":
            one = slice(
                *(draw(st.none() | st.integers(-4, 4)) for _ in range(2)), draw(st.sampled_from([None, 1, -1, 2]))
            )
            pair = one, one
        elif kind == "mask":
            rank = draw(st.integers(1, len(shape) - axis))
            some = shape[axis : axis + rank]
            bits = draw(st.lists(st.booleans(), min_size=int(np.prod(some)), max_size=int(np.prod(some))))
            mask = np.array(bits, bool).reshape(some)
            pair = mask, mask if draw(st.booleans()) else tr.tensor(mask)
            axis += rank - 1
        elif kind in ("int", "scalar"):
            number = draw(st.integers(-extent, extent - 1))
            pair = number, np.int32(number) if kind == "int" else tr.tensor(number, dtype="I32")
        else:
            extents = [draw(st.sampled_from([n, n, 1])) for n in common] or [1]
            numbers = st.integers(-extent, extent - 1)
            size = int(np.prod(extents))
            array = np.array(draw(st.lists(numbers, min_size=size, max_size=size)), "i8").reshape(extents)
            pair = array, {"tensor": tr.tensor(array), "array": array.astype("i2"), "list": array.tolist()}[kind]
        axis += kind not in ("None", "truth")
        of_numpy.append(pair[0])
        of_ours.append(pair[1])
    if draw(st.booleans()):
        place = draw(st.integers(0, len(of_numpy)))
        of_numpy.insert(place, Ellipsis)
        of_ours.insert(place, Ellipsis)
    return of_numpy, of_ours


@st.composite
def indexed(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], tr.Tensor, tuple[Any, ...], tuple[Any, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=4)))
    a = np.arange(int(np.prod(shape))).reshape(shape)
    x = tr.tensor(a)
    if draw(st.booleans()) and shape:  # every other element of something larger, from the end
        larger = np.zeros([2 * n for n in shape], "i8")
        larger[tuple(slice(None, None, -2) for _ in shape)] = a
        x = tr.tensor(larger)[tuple(slice(None, None, -2) for _ in shape)]
    of_numpy, of_ours = draw(indices(shape))
    return a, x, tuple(of_numpy), tuple(of_ours)


@given(indexed())
def test_any_index_reads_what_numpys_does(case: Any) -> None:
    a, x, of_numpy, of_ours = case
    try:
        expected = a[of_numpy]
    except IndexError:  # index tensors that do not broadcast
        with pytest.raises(IndexingError):
            x[of_ours]
        return

    found = x[of_ours]

    assert found.shape == expected.shape
    assert np.array_equal(found.to_numpy(), expected)


@given(indexed(), st.data())
def test_any_index_writes_what_numpys_does(case: Any, data: st.DataObject) -> None:
    a, x, of_numpy, of_ours = case
    target = tr.copy(x)
    try:
        shape = np.shape(a[of_numpy])
    except IndexError:
        with pytest.raises(IndexingError):
            tr.mutable_view(target)[of_ours] = 1
        assert np.array_equal(target.to_numpy(), a)
        return
    shape = shape[data.draw(st.integers(0, len(shape))) :]
    values = 100 + np.arange(int(np.prod(shape))).reshape(shape)

    a[of_numpy] = values
    tr.mutable_view(target)[of_ours] = tr.tensor(values)

    assert np.array_equal(target.to_numpy(), a)


def test_a_picked_part_is_an_owned_copy_and_a_mutable_view_of_it_changes_nothing_else() -> None:
    x = tr.zeros((2, 3))
    picked = tr.mutable_view(x)[[0]]

    with pytest.raises(ReadOnlyError):
        picked[0] = 1.0  # type: ignore[index]
    tr.mutable_view(picked)[...] = 1.0

    assert picked.is_compact
    assert x.to_numpy().sum() == 0


def test_an_integer_tensor_of_rank_0_indexes_like_an_int() -> None:
    x = tr.copy(X)

    row = tr.mutable_view(x)[tr.argmin(x, axis=0)[1]]
    row[tr.argmax(row)] = 0.0

    assert x.to_numpy().tolist() == [[0.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_a_place_may_be_changed_in_place() -> None:
    x = tr.copy(X)
    view = tr.mutable_view(x)

    view[view > 5.0] += 1.0
    view[[0, 0], [1, 1]] = tr.tensor([7.0, 8.0])  # the last one stays

    assert x.to_numpy().tolist() == [[315.5, 8.0, 3.0], [4.0, 5.0, 7.0]]


WRONG: dict[str, tuple[Any, str]] = {
    "an index out of range": ([1, 2], r"indices\[1\] is 2, out of range for axis 0 of extent 2; accepted: -2 to 1"),
    "a second axis": ((slice(None), [[-4]]), r"indices\[0, 0\] is -4, out of range for axis 1 of extent 3"),
    "several tensors": (([0, 1], [0, 3]), r"indices\[1\] is 3, out of range for axis 1 of extent 3"),
    "several that broadcast": (([[0], [1]], [[0, 3]]), r"indices\[0, 1\] is 3, out of range for axis 1 of extent 3"),
    "several, of the front": ((tr.tensor([0, -3]), tr.tensor([9, 0])), r"indices\[1\] is -3, out of range for axis 0"),
    "behind None": ((None, [2]), r"indices\[0\] is 2, out of range for axis 0"),
    "no row": ((slice(0, 0), [3]), r"indices\[0\] is 3, out of range for axis 1"),
    "a rank-0 tensor": (tr.tensor(2), "index 2 is out of range for axis 0"),
    "a mask of another shape": (tr.tensor([True]), r"a mask of shape \(1,\) for axes 0 to 0 of shape \(2, 3\)"),
    "a mask of too many axes": (np.ones((2, 3, 1), bool), "3 indices for shape"),
    "extents that do not broadcast": (([0, 1], [0, 1, 2]), r"index tensors of shapes \(2,\), \(3,\) do not broadcast"),
    "too many": (([0], [0], [0]), r"3 indices for shape \(2, 3\) of rank 2"),
    "floats": (tr.tensor([314.0]), r"an index is a Tensor of F64; accepted: integers and Bool; cast\("),
    "an array of floats": (np.zeros(0), "an index is a ndarray of F64"),
    "a list of floats": ([1.0], "of F64; accepted: integers and Bool"),
    "rows of two lengths": ([[0], [0, 1]], "an index is a list that no tensor of integers or Bool can be made of"),
    "a masked array": (np.ma.array([0]), "masked"),
    "two ellipses": ((..., [0], ...), "more than one"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_index_is_an_error_of_one_line_that_writes_nothing(name: str) -> None:
    index, message = WRONG[name]
    target = tr.copy(X)

    for call in (lambda: X[index], lambda: tr.mutable_view(target).__setitem__(index, 1.0)):
        with pytest.raises(IndexingError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
        assert "314" not in str(caught.value)
    assert np.array_equal(target.to_numpy(), X.to_numpy())


@pytest.mark.parametrize(
    ("index", "value", "error"),
    [
        ([0, 1], tr.ones((4, 3)), ShapeError),
        (X > 3, tr.ones(7), ShapeError),
        (X > 3, 1j, LossyConversionError),
        ([0], tr.tensor([1j]), LossyConversionError),
        (X > 3, tr.tensor(1j), LossyConversionError),
        ([0], [1.0, 2.0, 3.0], DTypeError),
        ([0], np.ones(3), DTypeError),
    ],
)
def test_what_cannot_be_written_is_refused(index: Any, value: Any, error: type[TensorError]) -> None:
    target = tr.copy(X)
    with pytest.raises(error):
        tr.mutable_view(target)[index] = value
    assert np.array_equal(target.to_numpy(), X.to_numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_number_is_written_under_a_mask_or_refused_as_a_tensor_of_it_would_be(dtype: DType) -> None:
    x = tr.zeros((3, 4), dtype)
    mask = tr.tensor([[True, False, True, False], [False] * 4, [True] * 4])
    for value in (True, 1, -3, 2**40, 2**70, 0.5, -0.0, float("nan"), 1e300, 2j):
        for view, chosen in ((x.mutable_view(), mask), (x.T.mutable_view(), mask.T)):
            expected = np.zeros((3, 4), x.to_numpy().dtype)
            try:
                tr.mutable_view(tr.zeros((), dtype))[...] = value
            except TensorError as error:
                with pytest.raises(type(error)):
                    view[chosen] = value
            else:
                with np.errstate(over="ignore"):
                    expected[mask.to_numpy()] = value
                view[chosen] = value
            assert x.to_numpy().tobytes() == expected.tobytes()
            x.mutable_view()[...] = tr.zeros((), dtype)


def test_on_a_device_nothing_is_read_and_an_array_of_the_host_is_refused() -> None:
    tr.register_backend("indexed", SimulatedBackend(tr.backend("cpu"), "indexed"))
    try:
        x = tr.to(X, "indexed:0")
        place = tr.to(tr.tensor(1), "indexed:0")
        two = tr.to(tr.tensor([1, 0]), "indexed:0")
        with tr.trace_transfers() as log:
            row = x[place]
            pairs = x[two, two]
            large = x[x > 4]
            view = tr.mutable_view(x)
            view[place, two] = x[0, :2]
        assert log == []
        assert tr.download(row).to_nested() == [4.0, 5.0, 6.0]
        assert tr.download(pairs).to_nested() == [5.0, 314.5]
        assert tr.download(large).to_nested() == [314.5, 5.0, 6.0]
        assert tr.download(x).to_nested() == [[314.5, 2.0, 3.0], [2.0, 314.5, 6.0]]
        with pytest.raises(PlacementError):
            x[np.array([0])]
    finally:
        tr.refresh_backends()


def test_the_form_of_what_is_picked_is_inferred_and_what_depends_on_elements_is_not() -> None:
    def picked(x: tr.Tensor, i: tr.Tensor) -> tr.Tensor:
        return x[:, i, None, i]

    assert tr.infer(picked, (tr.F32, (2, 3, 4)), (tr.I64, (5,))).shape == (5, 2, 1)
    for dtype, shape in ((tr.Bool, (3,)), (tr.I64, ())):
        with pytest.raises(UnsupportedOperationError, match="depends on"):
            tr.infer(lambda x, i: x[i], (tr.F32, (3, 4)), (dtype, shape))


@pytest.mark.parametrize("rows", [4, 8])
def test_of_elements_named_twice_by_tables_of_indices_the_last_one_stays_in_any_layout(rows: int) -> None:
    i, value = tr.tensor([[0, 1], [1, 0]]), tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = tr.mutable_view(tr.zeros((rows, 5)))[:: rows // 4]
    view[i, tr.zeros((2, 2), dtype=tr.I64)] = value
    assert view[:2, 0].tolist() == [4.0, 3.0]
    assert tr.count_nonzero(view).item() == 2
