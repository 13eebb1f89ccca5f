"""Methods of tensors: those declared are those attached."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import LossyConversionError, ReadOnlyError, ShapeError
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.ops import methods


def test_every_method_declared_is_attached_and_every_attached_one_declared() -> None:
    tree = ast.parse(Path(inspect.getfile(tr.Tensor)).read_text(encoding="utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor").body
    call_translated = next(node for node in body if isinstance(node, ast.If)).body
    declared = {node.name for node in call_translated if isinstance(node, ast.FunctionDef)}
    undeclarable = {
        "__repr__",
        "_repr_html_",
        "__reduce_ex__",
        "__setitem__",
        "__contains__",
        "_data",
        "_among_numbers",
    }

    assert declared == set(methods.METHODS) - undeclarable
    for name, method in methods.METHODS.items():
        attached, meant = vars(tr.Tensor)[name], method
        if isinstance(method, property) and not isinstance(attached, property):  # a native call answers it
            assert (attached.__name__, attached.__doc__) == (name, method.__doc__)
            continue
        if isinstance(method, property):
            attached, meant = attached.fget, method.fget
        assert inspect.unwrap(attached) is meant


def test_an_operator_in_place_writes_to_a_mutable_view_and_names_a_new_tensor_otherwise() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    same, view = x, tr.mutable_view(x)
    kept = view
    view += 1
    view[:, 0] *= 10.0
    view -= tr.tensor([0.0, 1.0])
    view /= 2
    assert view is kept and x.tolist() == [[10.0, 1.0], [20.0, 2.0]]
    view += view[::-1]  # as if the operand had been copied first
    assert x.tolist() == [[30.0, 3.0], [30.0, 3.0]]
    view @= tr.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert x.tolist() == [[3.0, 30.0], [3.0, 30.0]]
    x += 1
    assert x is not same and same.tolist() == [[3.0, 30.0], [3.0, 30.0]]


def test_an_operator_in_place_that_does_not_fit_is_refused_and_writes_nothing() -> None:
    whole = tr.tensor([1, 2])
    view = tr.mutable_view(whole)
    with pytest.raises(LossyConversionError):
        view += 0.5
    with pytest.raises(ShapeError):
        view += tr.ones((2, 2), int)
    with pytest.raises(ForeignOperandError):
        view += np.ones(2)
    assert whole.tolist() == [1, 2]


def test_a_range_is_read_as_the_numbers_in_it() -> None:
    assert tr.tensor(range(3)).tolist() == tr.asarray(range(3)).tolist() == [0, 1, 2]


def test_elements_are_not_deleted_in_place() -> None:
    for x in (tr.ones(3), tr.ones(3).mutable_view()):
        with pytest.raises(ReadOnlyError, match=r"delete\(x, 1:2\)"):
            del x[1:2]
