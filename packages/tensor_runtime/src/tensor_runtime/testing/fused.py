"""Fused functions beside themselves: the same tensors, or the same error, with fusion and without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensor_core.errors import TensorError
from tensor_runtime.dispatch.infer import infer
from tensor_runtime.fusion.fuse import fuse
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import download
from tensor_runtime.testing.comparing import difference

Outcome = list[Tensor] | tuple[type[TensorError], str]
"""The tensors that a call gives, or the class and message of its error."""


def outcome(call: Callable[[], Any], /) -> Outcome:
    """What a call gives; errors other than ours pass.

    >>> import tensor_runtime as tr
    >>> outcome(lambda: tr.ones(2) + tr.ones(3))[0]
    <class 'tensor_core.errors.ShapeError'>
    """
    try:
        value = call()
    except TensorError as error:
        return type(error), str(error)
    return [*value] if isinstance(value, tuple) else [value]


def disagreement(found: Outcome, expected: Outcome, ulps: int = 0, /) -> str | None:
    """What differs between two outcomes, layouts included; ``ulps`` as for :func:`difference`.

    >>> import tensor_runtime as tr
    >>> one, two = ([tr.tensor([value])] for value in (1.0, 2.0))
    >>> disagreement(one, two), disagreement(one, one)
    ('result 0: element (0,) is 1.0, expected 2.0', None)
    """
    if isinstance(found, tuple) or isinstance(expected, tuple):
        return None if found == expected else f"{found}, expected {expected}"
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for position, (x, y) in enumerate(zip(found, expected, strict=True)):
        if x.layout != y.layout or x.placement != y.placement:
            return f"result {position}: {x.layout} on {x.placement}, expected {y.layout} on {y.placement}"
        differs = difference(download(x), download(y), ulps)
        if differs:
            return f"result {position}: {differs}"
    return None


def fused_outcome(function: Callable[..., Any], /, *arguments: Any, ulps: int = 0) -> Outcome:
    """The outcome of a function, once the fused one has agreed with it, at its first call and at its second.

    What is wrong with dtypes and shapes is found before what is wrong with elements.

    Raises:
        AssertionError: the fused function gives something else.

    >>> import tensor_runtime as tr
    >>> [x.item() for x in fused_outcome(lambda x: x + 1, tr.tensor(1))]
    [2]
    """
    fused = fuse(function)
    try:
        infer(function, *arguments)
        expected = outcome(lambda: function(*arguments))
    except TensorError as error:
        expected = type(error), str(error)
    for _ in range(2):
        differs = disagreement(outcome(lambda: fused(*arguments)), expected, ulps)
        if differs:
            raise AssertionError(differs)
    return expected
