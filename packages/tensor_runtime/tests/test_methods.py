"""Methods of tensors: those declared are those attached."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import tensor_runtime as tr
from tensor_runtime.ops import methods


def test_every_method_declared_is_attached_and_every_attached_one_declared() -> None:
    tree = ast.parse(Path(inspect.getfile(tr.Tensor)).read_text(encoding="utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor").body
    call_translated = next(node for node in body if isinstance(node, ast.If)).body
    declared = {node.name for node in call_translated if isinstance(node, ast.FunctionDef)}
    undeclarable = {"__repr__", "_repr_html_", "__reduce_ex__", "__setitem__", "__contains__", "_data"}

    assert declared == set(methods.METHODS) - undeclarable
    for name, method in methods.METHODS.items():
        attached, meant = vars(tr.Tensor)[name], method
        if isinstance(method, property):
            attached, meant = attached.fget, method.fget
        assert inspect.unwrap(attached) is meant
