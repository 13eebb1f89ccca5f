"""Options as users get them wrong: each is an error of our own tree, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_runtime.placement import DeviceId, Placement

X = tr.ones((2, 2))

FLAGS: list[tuple[str, Callable[[Any], Any]]] = [
    *((name, lambda flag, name=name: getattr(tr, name)(X, keepdims=flag)) for name in (
        "sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin", "norm")),
    *((name, lambda flag, name=name: getattr(tr.primitives, name)(X, keepdims=flag)) for name in (
        "reduce_sum", "reduce_prod", "reduce_max", "reduce_min")),
    *((name, lambda flag, name=name: getattr(tr, name)(X, descending=flag)) for name in ("sort", "argsort")),
    *((name, lambda flag, name=name: getattr(tr, name)(X, X, check=flag)) for name in (
        "floor_divide", "remainder", "trunc_divide", "fmod")),
    ("unique", lambda flag: tr.unique(X, equal_nan=flag)),
    ("arange", lambda flag: tr.arange(3, inclusive=flag)),
    ("linspace", lambda flag: tr.linspace(0, 1, 3, endpoint=flag)),
    ("vander", lambda flag: tl.vander(X[0], 0, increasing=flag)),
]  # fmt: skip
CHECKS: list[tuple[str, Callable[[Any], Any]]] = [
    *((name, lambda check, name=name: getattr(tl, name)(X, check=check)) for name in (
        "svd", "qr", "eigh", "cholesky", "inv", "det")),
    ("solve", lambda check: tl.solve(X, X, check=check)),
    ("norm of a vector", lambda check: tl.norm(X[0], check=check)),
]  # fmt: skip
NO_FLAGS = ["no", None, 1, 0.0, [True], np.array([1, 0]), NotImplemented, np.float32]


@pytest.mark.parametrize(("name", "call"), FLAGS, ids=[name for name, _ in FLAGS])
@pytest.mark.parametrize("bad", NO_FLAGS, ids=str)
def test_a_flag_is_true_or_false_and_nothing_else(name: str, call: Callable[[Any], Any], bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"accepted: True and False$"):
        call(bad)


@pytest.mark.parametrize(("name", "call"), CHECKS, ids=[name for name, _ in CHECKS])
@pytest.mark.parametrize("bad", NO_FLAGS, ids=str)
def test_a_check_may_be_a_mask_too(name: str, call: Callable[[Any], Any], bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"accepted: True, False and 'mask'$"):
        call(bad)


def test_numpys_bools_are_flags() -> None:
    assert tr.sum(X, axis=0, keepdims=bool(np.True_)).shape == tr.sum(X, axis=0, keepdims=np.True_).shape == (1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda bad: tr.cast(X, "I32", bad),
        lambda bad: tr.gelu(X, approximate=bad),
        lambda bad: tr.pad(X, 1, bad),
        lambda bad: tr.searchsorted(tr.ones(2), X, side=bad),
        lambda bad: tr.scatter(X, tr.tensor([[0]]), X[:1], mode=bad),
    ],
)
@pytest.mark.parametrize("bad", ["nope", None, 3, ["left"], np.array(["left", "right"])], ids=str)
def test_a_word_is_one_of_those_accepted(call: Callable[[Any], Any], bad: Any) -> None:
    with pytest.raises(ArgumentError, match="accepted: '"):
        call(bad)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tr.primitives.reduce_sum(X, 1.5),  # type: ignore[arg-type]
        lambda: tr.primitives.reduce_sum(X, [[]]),  # type: ignore[arg-type]
        lambda: tr.diagonal_view(X, [0], 1),  # type: ignore[arg-type]
        lambda: tr.squeeze(X, 1.5),  # type: ignore[arg-type]
        lambda: tr.squeeze(X, print),  # type: ignore[arg-type]
        lambda: tr.sum(X, axis=True),
        lambda: tr.argmax(X, axis=True),
        lambda: tr.vecdot(X, X, np.arange(3)),
        lambda: tr.extract_diagonal(X, axes=(0, np.arange(3))),
        lambda: tr.extract_diagonal(X, axes=(0, 1, 2)),
        lambda: tr.trace(X, axis2=np.arange(3)),
        lambda: tr.register_backend("q", None),  # type: ignore[arg-type]
        lambda: tr.register_backend(3, tr.backend("cpu")),  # type: ignore[arg-type]
        lambda: Placement(None),  # type: ignore[arg-type]
        lambda: Placement("Device", 3),  # type: ignore[arg-type]
        lambda: DeviceId(None),  # type: ignore[arg-type]
        lambda: tr.binding_cache.set_limit("x"),  # type: ignore[arg-type]
        lambda: tr.binding_cache.set_limit(-1),
    ],
)
def test_a_wrong_kind_of_argument_is_our_error(call: Callable[[], Any]) -> None:
    with pytest.raises(tr.TensorError):
        call()


@pytest.mark.parametrize("bad", [None, [1], 3, "a"])
def test_permute_axes_wants_a_tensor(bad: Any) -> None:
    with pytest.raises(DTypeError, match="permute_axes"):
        tr.permute_axes(bad, (0,))


def test_strict_reductions_take_one_axis_too() -> None:
    assert tr.primitives.reduce_sum(X, 0).to_numpy().tolist() == [2.0, 2.0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "reduction", [tr.sum, tr.prod, tr.max, tr.min, tr.any, tr.all, tr.mean, tr.var, tr.std, tr.argmax, tr.argmin]
)
def test_an_axis_may_be_given_by_position(reduction: Any) -> None:
    x = tr.tensor([[1.0, 5.0], [3.0, 4.0]])

    for axis in (0, 1, -1):
        assert reduction(x, axis).to_numpy().tolist() == reduction(x, axis=axis).to_numpy().tolist()
    assert tr.norm(x, 1, 0).to_numpy().tolist() == tr.norm(x, 1, axis=0).to_numpy().tolist() == [4.0, 9.0]


@pytest.mark.parametrize("make", [tr.zeros, tr.ones, lambda x: tr.broadcast_to(x, x)])
def test_a_large_tensor_where_a_shape_belongs_is_refused_at_once(make: Any) -> None:
    large = tr.broadcast_to(tr.tensor(1), (10**9, 10**9))

    with pytest.raises(ShapeError, match="accepted: "):
        make(large)


@pytest.mark.parametrize("join", [tr.concatenate, tr.stack])
def test_one_large_tensor_in_place_of_several_is_refused_at_once(join: Any) -> None:
    with pytest.raises(ArgumentError, match="found one tensor of 1000000000 rows; accepted: a sequence of tensors"):
        join(tr.broadcast_to(tr.tensor(1.0), (10**9, 10**9)))
    assert join(tr.tensor([[1, 2], [3, 4]])).size == 4
