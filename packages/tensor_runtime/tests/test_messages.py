"""What errors say: the operation that the user called, what was found without an element of it, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import (
    ArgumentError,
    DTypeError,
    HostTensor,
    IndexingError,
    LossyConversionError,
    ShapeError,
    SliceError,
    SliceSpec,
    TensorError,
    UnsupportedOperationError,
)
from tensor_core.slices import from_python
from tensor_runtime.errors import ForeignOperandError

X = tr.tensor([[314.5, 2.0, 3.0], [4.0, 5.0, 6.0]])
LINE = tr.tensor([314, 2, 0])

ZERO_STEPS: dict[str, Callable[[], Any]] = {
    "x[::0]": lambda: X[::0],
    "x[:, ::0]": lambda: X[:, ::0],
    "x[..., 2:0:0]": lambda: X[..., 2:0:0],
    "view[::0] = 1": lambda: tr.mutable_view(X)[::0],
    "writing view[::0]": lambda: tr.mutable_view(X).__setitem__(slice(None, None, 0), 1.0),
    "host[::0]": lambda: HostTensor.zeros(3)[::0],
    "writing host[::0]": lambda: HostTensor.zeros(3).__setitem__(slice(None, None, 0), 1.0),
    "SliceSpec": lambda: SliceSpec(0, 3, 0),
    "from_python": lambda: from_python(slice(None, None, 0), 3),
    "arange": lambda: tr.arange(0, 5, 0),
    "arange of floats": lambda: tr.arange(0.0, 5.0, 0.0),
}


@pytest.mark.parametrize("name", ZERO_STEPS)
def test_a_step_of_zero_is_one_class_of_error_everywhere(name: str) -> None:
    with pytest.raises(SliceError, match="0"):
        ZERO_STEPS[name]()
    with pytest.raises(ValueError, match="step"):  # as Python's own range and slices
        ZERO_STEPS[name]()


def test_what_is_no_index_is_told_what_is_one() -> None:
    with pytest.raises(IndexingError, match=r"a Bool mask, and a tensor, array or list of integers$"):
        X["a"]


REFUSED: dict[str, tuple[Callable[[], Any], type[TensorError], str]] = {
    "float of many": (lambda: float(X), ArgumentError, r"^float: shape \(2, 3\) has 6 elements; accepted: exactly one"),
    "int of many": (lambda: int(X), ArgumentError, r"^int: shape \(2, 3\) has 6 elements"),
    "complex of many": (lambda: complex(X), ArgumentError, r"^complex: shape \(2, 3\)"),
    "index of many": (lambda: range(10)[X], ArgumentError, r"^index: shape \(2, 3\)"),
    "item of many": (lambda: X.item(), ArgumentError, r"^item: shape \(2, 3\)"),
    "concatenate without brackets": (
        lambda: tr.concatenate(X, X),
        ArgumentError,
        r"^concatenate: axis is a Tensor of F64 and shape \(2, 3\); accepted: ",
    ),
    "stack without brackets": (
        lambda: tr.stack(X, X),
        ArgumentError,
        r"^stack: axis is a Tensor of F64 and shape \(2, 3\)",
    ),
    "zeros of rank 65": (lambda: tr.zeros((1,) * 65), UnsupportedOperationError, "^zeros: a tensor has 65 axes"),
    "ones of rank 65": (lambda: tr.ones((1,) * 65), UnsupportedOperationError, "^ones: a tensor has 65 axes"),
    "full of rank 65": (lambda: tr.full((1,) * 65, 2), UnsupportedOperationError, "^full: a tensor has 65 axes"),
    "out of another shape": (
        lambda: tr.add(X, X, out=tr.mutable_view(tr.zeros(3))),
        ShapeError,
        r"^add: out has shape \(3,\) and the result \(2, 3\); accepted: equal shapes",
    ),
    "out of another dtype": (
        lambda: tr.add(X, X, out=tr.mutable_view(tr.zeros((2, 3), dtype="I64"))),
        LossyConversionError,
        r"^add: out: F64 to I64 can lose values; cast\(x, I64\)",
    ),
    "copy_into of another shape": (
        lambda: tr.copy_into(tr.mutable_view(tr.zeros(3)), X),
        ShapeError,
        r"^copy_into: the view has shape \(3,\)",
    ),
    "view of a list": (
        lambda: assign([1, 2, 3]),
        DTypeError,
        r"^view\[...\] = x: the value is a list; accepted: a tensor \(tensor\(\) makes",
    ),
    "view of an array": (
        lambda: assign(np.ones(3)),
        DTypeError,
        r"^view\[...\] = x: the value is a ndarray; accepted: .*asarray\(\) of an array",
    ),
    "view of a tensor that is too large": (lambda: assign(tr.zeros((5, 7))), ShapeError, r"^view\[...\] = x: "),
    "view of another kind": (
        lambda: assign(2.5j),
        LossyConversionError,
        r"^view\[...\] = x: complex to F64 can lose values; write x.real",
    ),
    "view of Bool": (
        lambda: tr.mutable_view(tr.zeros(2, dtype="Bool")).__setitem__(0, 2),
        LossyConversionError,
        r"^view\[...\] = x: int to Bool can lose values; write bool\(x\) for a number",
    ),
}


def assign(value: Any) -> None:
    tr.mutable_view(tr.zeros((2, 3)))[...] = value


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_what_the_user_called(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message) as caught:
        call()
    assert "314.5" not in str(caught.value)


@pytest.mark.parametrize("other", [[1.0, 2.0], (1.0, 2.0), None, "a", {}, range(3)])
def test_a_comparison_with_no_tensor_and_no_number_is_an_error_and_not_false(other: Any) -> None:
    for name, compare in (("equal", lambda a, b: a == b), ("not_equal", lambda a, b: a != b)):
        for a, b in ((LINE, other), (other, LINE)):
            with pytest.raises(
                ForeignOperandError, match=f"{name}: a tensor meets (a {type(other).__name__}|None); accepted: "
            ):
                compare(a, b)


def test_another_librarys_class_still_answers_a_comparison() -> None:
    class Answering:
        def __eq__(self, other: object) -> Any:
            return "mine"

        __hash__ = None  # type: ignore[assignment]

    assert (Answering() == LINE) == "mine"
    assert (LINE == 2).to_numpy().tolist() == [False, True, False]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tr.take(X, LINE, axis=LINE),
        lambda: tr.sum(X, axis=LINE),
        lambda: tr.reshape_view(X, LINE),
        lambda: tr.roll(X, LINE),
        lambda: tr.linspace(0, 1, LINE),
        lambda: tr.arange(LINE),
        lambda: tr.sum(X, axis=[[LINE]]),
        lambda: tr.pad(X, [LINE]),
        lambda: X[[LINE]],
        lambda: tr.pad(X, LINE),
        lambda: tr.repeat(X, LINE, axis=0),
        lambda: tr.diagonal_view(X, LINE, LINE),
        lambda: tr.tensordot(X, X, axes=LINE),
    ],
)
def test_no_message_prints_the_elements_of_a_tensor(call: Callable[[], Any]) -> None:
    with pytest.raises(TensorError) as caught:
        call()
    assert "314" not in str(caught.value)
    assert "\n" not in str(caught.value)
