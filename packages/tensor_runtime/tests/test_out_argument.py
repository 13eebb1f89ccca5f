from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import LossyConversionError, OverlappingViewError, PlacementError, ReadOnlyError, ShapeError
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.out import as_target, written
from tensor_runtime.testing.simulated_device import SimulatedBackend

X, Y = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), np.array([[2.0, 2.0, 2.0], [-1.0, 1.0, 3.0]])

CALLS: list[tuple[Callable[..., tr.Tensor], Any]] = [
    (lambda x, y, out: tr.add(x, y, out=out), X + Y),
    (lambda x, y, out: tr.multiply(x, 2.0, out=out), X * 2.0),
    (lambda x, y, out: tr.divide(x, y, out=out), X / Y),
    (lambda x, y, out: tr.maximum(x, y, out=out), np.maximum(X, Y)),
    (lambda x, y, out: tr.where(tr.less(x, y), x, y, out=out), np.minimum(X, Y)),
    (lambda x, y, out: tr.clip(x, -1.0, 3.0, out=out), np.clip(X, -1, 3)),
    (lambda x, y, out: tr.negative(x, out=out), -X),
    (lambda x, y, out: tr.floor(x, out=out), np.floor(X)),
    (lambda x, y, out: tr.relu(x, out=out), np.maximum(X, 0)),
    (lambda x, y, out: tr.cumsum(x, axis=1, out=out), np.cumsum(X, axis=1)),
    (lambda x, y, out: tr.sum(tr.expand_dims(x, 0), axis=0, out=out), X),
    (lambda x, y, out: tr.mean(tr.expand_dims(x, 0), axis=0, out=out), X),
    (lambda x, y, out: tr.matmul(tr.eye(2), x, out=out), X),
    (lambda x, y, out: tr.tensordot(tr.eye(2), x, axes=1, out=out), X),
    (lambda x, y, out: tr.dot_general(tr.eye(2), x, contracting=(1, 0), out=out), X),
]


@pytest.mark.parametrize(("call", "expected"), CALLS, ids=range(len(CALLS)))
@pytest.mark.parametrize("dtype", ["F64", "C64"])
def test_a_result_goes_into_the_view_given(call: Callable[..., tr.Tensor], expected: Any, dtype: str) -> None:
    memory = tr.zeros((6, 4), dtype=dtype)
    view = memory.mutable_view()[4:0:-2, ::-1][:, :3]
    found = call(tr.asarray(X), tr.asarray(Y), view)

    assert found is view
    np.testing.assert_array_equal(view.to_numpy(), expected)
    assert memory.to_numpy().astype(bool).sum() == np.count_nonzero(expected)


def test_an_operand_may_be_the_output_itself_but_not_a_part_of_it() -> None:
    x = tr.asarray(np.arange(6.0).reshape(2, 3, order="F"))
    tr.add(x, x, out=x.mutable_view())
    assert x.to_numpy().tolist() == [[0, 4, 8], [2, 6, 10]]

    for out, operand in (
        (x.mutable_view()[:, :2], x[:, 1:]),
        (x.mutable_view()[:, ::-1], x),
        (x.mutable_view()[:, :2], tr.transpose(x[:, :2])),
    ):
        before = x.to_numpy().copy()
        with pytest.raises(OverlappingViewError, match="shares a part"):
            tr.negative(operand, out=out)
        np.testing.assert_array_equal(x.to_numpy(), before)


def test_an_output_beside_the_operand_in_one_allocation_is_fine() -> None:
    x = tr.asarray(np.arange(6.0))
    tr.negative(x[::2], out=x.mutable_view()[1::2])
    assert x.to_numpy().tolist() == [0, 0, 2, -2, 4, -4]


def test_what_cannot_receive_the_result_is_refused_and_unchanged() -> None:
    x = tr.ones((2, 3))
    target = tr.zeros((2, 3), dtype="I64")
    with pytest.raises(LossyConversionError, match="F64 to I64"):
        tr.add(x, x, out=target.mutable_view())
    with pytest.raises(ShapeError, match="accepted: equal shapes"):
        tr.add(x, x, out=tr.zeros((3, 2)).mutable_view())
    memory = tr.zeros((3, 3))
    views = memory[:2], memory[:, 1:].T, tr.broadcast_to(tr.zeros((3,)), (2, 3))
    bad: Any
    for bad in (*views, np.zeros((2, 3)), [1.0], 0):
        with pytest.raises(ReadOnlyError, match="mutable_view"):
            tr.add(x, x, out=bad)
        with pytest.raises(ReadOnlyError, match="mutable_view"):
            tr.add(x, 1.0, out=bad)
    lent = np.zeros((2, 3), order="F")
    lent.flags.writeable = False
    with pytest.raises(ReadOnlyError):
        tr.add(x, x, out=tr.asarray(lent))
    assert not target.to_numpy().any()
    assert not memory.to_numpy().any()
    assert not lent.any()


@pytest.fixture(params=["cpu", "device"])
def x(request: pytest.FixtureRequest) -> Iterator[tr.Tensor]:
    """A tensor of shape (2, 3), here and on a device that the native calls do not serve."""
    device = SimulatedBackend(tr.backend("cpu"), "device")
    tr.register_backend("device", device)
    yield tr.to(tr.asarray(X), "cpu" if request.param == "cpu" else device.placement())
    registry.unregister("device")


@pytest.mark.parametrize(
    "part", [lambda x: x[0, 0], lambda x: x[:, 0], lambda x: x[:, 1], lambda x: x[:, :2], lambda x: x[:1, 0]]
)
def test_a_view_of_a_part_is_no_output_wherever_it_begins(x: tr.Tensor, part: Callable[[tr.Tensor], tr.Tensor]) -> None:
    with pytest.raises(ReadOnlyError, match="view that is not mutable"):
        as_target("add", part(x))
    with pytest.raises(ReadOnlyError, match="view that is not mutable"):
        written("add", part(x), tr.copy(part(x)))
    assert as_target("add", x).shape == x.shape
    assert as_target("add", part(x.mutable_view())).shape == part(x).shape
    np.testing.assert_array_equal(tr.to(x, "cpu").to_numpy(), X)


@pytest.mark.parametrize("x", ["device"], indirect=True)
def test_a_result_on_a_device_overwrites_no_read_only_view(x: tr.Tensor) -> None:
    for part, source in ((x[:, 0], x[:, 1]), (x[0, 0], x[1, 2]), (x[:, :2], x[:, 1:])):
        with pytest.raises(ReadOnlyError, match="view that is not mutable"):
            tr.exp(tr.copy(source), out=part)
    np.testing.assert_array_equal(tr.to(x, "cpu").to_numpy(), X)


@pytest.mark.parametrize(("call", "expected"), CALLS, ids=range(len(CALLS)))
def test_a_result_goes_into_an_owned_tensor(call: Callable[..., tr.Tensor], expected: Any) -> None:
    owned = tr.zeros((2, 3), dtype="C64")
    assert call(tr.asarray(X), tr.asarray(Y), owned) is owned
    np.testing.assert_array_equal(owned.to_numpy(), expected)


def test_an_output_in_another_place_is_refused() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "simulated")
    tr.register_backend("simulated", device)
    try:
        there = tr.to(tr.zeros((2, 3)), device.placement())
        with pytest.raises(PlacementError, match="simulated:0"):
            tr.add(tr.ones((2, 3)), 1.0, out=there.mutable_view())
        tr.add(there, 1.0, out=there.mutable_view())
        assert tr.to(there, "cpu").to_numpy().tolist() == [[1.0] * 3] * 2
    finally:
        registry.unregister("simulated")


def test_errors_of_outputs_hold_the_operation() -> None:
    a, lent = tr.arange(6.0), np.zeros(6)
    lent.flags.writeable = False
    calls: list[tuple[type[Exception], Callable[[], Any]]] = [
        (ReadOnlyError, lambda: tr.add(a, a, out=a[:2])),
        (ReadOnlyError, lambda: tr.add(a, a, out=tr.asarray(lent))),
        (OverlappingViewError, lambda: tr.add(a[1:], a[1:], out=tr.mutable_view(a)[:-1])),
        (ShapeError, lambda: tr.add(a, a, out=tr.zeros((5,)))),
    ]
    for kind, call in calls:
        with pytest.raises(kind, match="add: out") as info:
            call()
        assert vars(info.value)["operation"] == "add"
