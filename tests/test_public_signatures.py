"""``Any`` in a public signature is on a short list, with reasons: elsewhere a type checker is told what to expect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isfunction, unwrap
from typing import Any, Final, get_overloads

PACKAGES: Final = (
    "tensor_core", "tensor_runtime", "tensor_runtime.primitives", "tensor_runtime.algebras", "tensor_einsum",
    "tensor_linalg", "ironstride",
)  # fmt: skip
OF_ANY_DTYPE: Final = re.compile(
    r"\b(HostTensor|HostTensorView|TypedTensorViewMut|ndarray|memoryview|MaskedResult)\[[^\[\]]*\]"
)
"""Generic types whose parameter says nothing of what is wrong: a tensor of any dtype."""
EXCEPTIONS: Final = {
    "HostElements.item": "an element is of the Python type that the dtype says",
    "HostElements.to_nested": "nested lists as deep as the rank have no type",
    "HostElements.to_list": "as to_nested",
    "HostElements.to_flat": "elements are of the Python type that the dtype says",
    "Tensor.tolist": "as to_nested",
    "SliceMethods.map_slices": "anything with submit, of any library",
    "SliceMethods.with_slices": "the keys of a mapping are labels, which may be of any type",
    "fuse": "any function",
    "infer": "any function, and what it returns with a form for each tensor",
    "unique": "a tensor, or a tuple of what was asked for beside it",
}


def shown_types(function: Any) -> Iterator[str]:
    """Those of a function, or of its overloads, which are what a type checker sees."""
    for one in get_overloads(function) or [function]:
        yield from map(str, one.__annotations__.values())


def public_functions() -> Iterator[tuple[str, Any]]:
    """Functions and methods by the names of their classes."""
    for package in map(import_module, PACKAGES):
        for name in getattr(package, "__all__", vars(package)):
            thing = getattr(package, name)
            if isfunction(thing):
                yield name, thing
            elif isclass(thing):
                for base in thing.__mro__:
                    for method, value in vars(base).items() if base.__module__.startswith("tensor_") else ():
                        function = unwrap(getattr(value, "__func__", value))  # a native call stands for one
                        if isfunction(function) and not method.startswith("_"):
                            yield f"{base.__name__}.{method}", function


def test_any_stands_in_no_public_signature_without_a_reason() -> None:
    found = {
        name
        for name, function in public_functions()
        if any(re.search(r"\bAny\b", OF_ANY_DTYPE.sub("", one)) for one in shown_types(function))
    }
    assert found == EXCEPTIONS.keys(), "type these, or take the reason back"
    assert len(EXCEPTIONS) <= 10
