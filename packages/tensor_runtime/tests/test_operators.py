"""Operators between a tensor and what is none: lists, None, strings, numbers, and classes that know tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import DTypeError, TensorError
from tensor_runtime.errors import ForeignOperandError

X = tr.tensor([[1, 2, 3], [4, 5, 6]])
BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.ge, operator.eq,
    divmod,
)  # fmt: skip


@pytest.mark.parametrize("infix", BINARY, ids=lambda one: str(one.__name__))
@pytest.mark.parametrize(
    ("other", "told"),
    [
        ([1, 2, 3], r"meets a list; accepted: .*; tensor\(\) makes one of a list$"),
        ((1, 2, 3), r"meets a tuple; .*; tensor\(\) makes one of a tuple$"),
        (None, "meets None; accepted"),
        ({1: 2}, "meets a dict; accepted"),
    ],
    ids=["list", "tuple", "None", "dict"],
)
def test_what_python_brings_is_refused_on_either_side_with_what_is_accepted(
    infix: Callable[[Any, Any], Any], other: Any, told: str
) -> None:
    for ask in (lambda: infix(X, other), lambda: infix(other, X)):
        with pytest.raises(ForeignOperandError, match=told) as caught:
            ask()
        assert isinstance(caught.value, TypeError) and caught.value.__cause__ is None
    view = tr.mutable_view(tr.copy(X))
    with pytest.raises(ForeignOperandError, match=told):
        view += other
    assert view.tolist() == X.tolist()


def test_an_array_beside_a_tensor_is_refused_under_the_name_of_the_operation() -> None:
    array, masked = X.to_numpy(), np.ma.masked_array([1, 2, 3])
    for infix, name in ((operator.add, "add"), (operator.matmul, "matmul"), (operator.eq, "equal")):
        with pytest.raises(ForeignOperandError, match=rf"^{name}: a tensor meets a numpy\.ndarray; ") as caught:
            infix(X, array)
        assert vars(caught.value)["operation"] == name
        with pytest.raises(DTypeError, match=f"^{name}: found a masked array"):
            infix(X, masked)


def test_strings_are_no_operands_and_no_repetition_is_tried() -> None:
    for ask in (lambda: X * "a", lambda: "a" * X, lambda: X + "a"):  # type: ignore[operator]
        with pytest.raises(ForeignOperandError, match="a tensor meets a str"):
            ask()


def test_a_matrix_product_with_what_is_no_tensor_names_the_line_to_write() -> None:
    for other, told in ((3, r"write x \* number$"), (2.5, r"write x \* number$"), ([1, 2, 3], r"tensor\(\) makes one")):
        for ask in (lambda: X @ other, lambda: other @ X):  # type: ignore[operator]  # noqa: B023
            with pytest.raises(ForeignOperandError, match=f"^matmul: .*{told}"):
                ask()
    assert X.T.__rmatmul__(X).tolist() == (X @ X.T).tolist()


def test_a_tensor_of_rank_0_still_repeats_a_list() -> None:
    assert [1, 2] * tr.tensor(2) == [1, 2, 1, 2] == tr.tensor(2) * [1, 2]  # type: ignore[comparison-overlap, operator]


class Knows:
    """A class that computes with tensors."""

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __rmatmul__(self, other: Any) -> str:
        return "rmatmul"

    def __gt__(self, other: Any) -> str:  # type: ignore[override]
        return "gt"


class Ignorant:
    """One that does not."""


def test_a_foreign_class_is_asked_first() -> None:
    assert (X + Knows(), X @ Knows(), Knows() > X) == ("radd", "rmatmul", "gt")  # type: ignore[comparison-overlap, operator]
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        X + Ignorant()  # type: ignore[operator]
    assert not isinstance(caught.value, TensorError)
