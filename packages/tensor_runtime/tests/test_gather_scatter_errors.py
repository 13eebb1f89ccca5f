"""What gathers and scatters refuse: each error names what was found and what is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IndexingError,
    ReadOnlyError,
    ShapeError,
)

Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("call", "message", "position", "value"),
    [
        (
            lambda x: tr.take(x, tr.tensor([[0, 9], [4, 0]]), axis=0),
            r"take: indices\[1, 0\] is 4, out of range for axis 0 of extent 4; accepted: -4 to 3",
            (1, 0),
            4,
        ),
        (lambda x: tr.take(x, tr.tensor(-13)), r"take: the index is -13, out of range for 12 elements", (), -13),
        (lambda x: tr.take(x.T, tr.tensor([3]), axis=0), r"indices\[0\] is 3, out of range for axis 0", (0,), 3),
        (lambda x: tr.take(x[:, :0], tr.tensor([4]), axis=0), r"indices\[0\] is 4, out of range", (0,), 4),
        (lambda x: tr.take(x[:0], tr.tensor([0]), axis=0), r"axis 0 of extent 0; accepted: none", (0,), 0),
        (
            lambda x: tr.take_along_axis(x, tr.tensor([[0, 3]]), 1),
            r"take_along_axis: indices\[0, 1\] is 3, out of range for axis 1 of extent 3; accepted: -3 to 2",
            (0, 1),
            3,
        ),
        (lambda x: tr.gather(x, tr.tensor([0, -1])), r"gather: indices\[1\] is -1, .* accepted: 0 to 3", (1,), -1),
        (
            lambda x: tr.gather(x, tr.tensor([[0, 3], [4, 0]]), start_axes=(0, 1)),
            r"gather: indices\[1, 0\] is 4, out of range for axis 0 of extent 4; accepted: 0 to 3",
            (1, 0),
            4,
        ),
        (
            lambda x: tr.gather(x, tr.tensor([3]), collapsed_axes=(), slice_sizes=(2, 3)),
            r"axis 0 of extent 4 and slice size 2; accepted: 0 to 2",
            (0,),
            3,
        ),
        (
            lambda x: tr.scatter(x, tr.tensor([4]), tr.ones((1, 3)), mode="add"),
            r"scatter: indices\[0\] is 4, out of range for axis 0 of extent 4",
            (0,),
            4,
        ),
    ],
)
def test_an_index_out_of_range_is_named(call: Any, message: str, position: Shape, value: int) -> None:
    with pytest.raises(IndexingError, match=message) as caught:
        call(tr.zeros((4, 3)))
    assert (caught.value.position, caught.value.value) == (position, value)


@pytest.mark.parametrize("function", [tr.take, tr.take_along_axis, tr.gather])
def test_indices_are_integers(function: Any) -> None:
    for bad in (tr.tensor([0.0]), tr.tensor([True]), tr.tensor([0j])):
        with pytest.raises(DTypeError, match=r"the indices are .*; accepted: I32, I64"):
            function(tr.tensor([1, 2]), bad)
    for foreign in (0, np.array([0])) if function is tr.take else ([0], 0, np.array([0])):
        with pytest.raises(DTypeError, match="accepted: a tensor"):
            function(tr.tensor([1, 2]), foreign)


X = tr.zeros((4, 3))
I = tr.tensor([0, 1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tr.take(X, I, axis=2), AxisError, "take"),
        (lambda: tr.take(X, I, axis=1.5), ArgumentError, "take: axis is 1.5; accepted: an int"),  # type: ignore[arg-type]
        (lambda: tr.take_along_axis(X, I), ShapeError, "shape \\(4, 3\\) and indices of shape \\(2,\\); .*equal ranks"),
        (lambda: tr.take_along_axis(X, tr.tensor([[0]] * 3)), ShapeError, "equal or 1 beside axis 1"),
        (lambda: tr.take_along_axis(X, tr.tensor([[0]]), None), ShapeError, "axis=None; accepted: rank 1"),
        (lambda: tr.take_along_axis(tr.tensor(1.0), tr.tensor(0)), AxisError, "take_along_axis"),
        (lambda: tr.put_along_axis(X, I, 1.0), ReadOnlyError, "accepted: what mutable_view\\(\\) returns"),  # type: ignore[arg-type]
        (
            lambda: tr.put_along_axis(X[:1].mutable_view(), tr.tensor([[0], [1]]), 1.0),
            ShapeError,
            "larger than shape \\(1, 3\\) beside axis -1",
        ),
        (
            lambda: tr.put_along_axis(X.mutable_view(), tr.tensor([[0]]), tr.zeros((4, 2))),
            ShapeError,
            "values of shape \\(4, 2\\) do not broadcast to \\(4, 1\\)",
        ),
        (lambda: tr.gather(tr.tensor(1), I), ShapeError, "rank 0 and no axis to index"),
        (
            lambda: tr.gather(X, I, vector_axis=2),
            AxisError,
            "vector_axis is 2 for indices of rank 1; accepted: -1 to 1",
        ),
        (lambda: tr.gather(X, I, vector_axis=0), ShapeError, "hold 2 components along axis 0, but 1 axes"),
        (lambda: tr.gather(X, I, slice_sizes=(2, 3)), ArgumentError, "axis 0 is collapsed, but its slice size is 2"),
        (lambda: tr.gather(X, I, slice_sizes=(1, 4)), ArgumentError, "slice size 4 along axis 1 of extent 3"),
        (lambda: tr.gather(X, I, slice_sizes=1), ArgumentError, "1 slice sizes \\(1,\\) for shape \\(4, 3\\)"),
        (lambda: tr.gather(X, I, offset_axes=(0, 1)), ArgumentError, "2 offset axes \\(0, 1\\) for 1 axes"),
        (
            lambda: tr.gather(X, I, collapsed_axes=(), slice_sizes=(1, 1), offset_axes=(2, 0)),
            ArgumentError,
            "offset axes \\(2, 0\\); accepted: ascending",
        ),
        (lambda: tr.gather(X, I, start_axes=(0, 0)), AxisError, "gather"),
        (lambda: tr.gather(X, I, start_axes="x"), ArgumentError, "start_axes are 'x'; accepted"),  # type: ignore[arg-type]
        (lambda: tr.scatter(X, I, X, mode="sum"), ArgumentError, "mode is 'sum'; accepted: 'replace', 'add'"),
        (lambda: tr.scatter(X, I, tr.zeros(3), mode="add"), ShapeError, "updates of shape \\(3,\\).*accepted: rank 2"),
        (lambda: tr.scatter(X, I, tr.zeros((3, 3)), mode="add"), ShapeError, "accepted: \\(2, 3\\)"),
        (lambda: tr.scatter(X, I, tr.zeros((2, 4)), mode="add"), ArgumentError, "slice size 4 along axis 1"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
