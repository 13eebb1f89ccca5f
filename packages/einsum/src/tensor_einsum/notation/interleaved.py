"""The interleaved form, ``einsum(A, ("left", "bond"), B, ("bond", "right"), out)``: labels apart from operands."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, Final

from tensor_core.errors import shortened
from tensor_einsum.errors import LabelTypeError, SubscriptsError
from tensor_einsum.notation.label_names import as_python

_Terms = tuple[tuple[Hashable, ...], ...]
_Output = tuple[Hashable, ...] | None
LabelLists = tuple[_Terms, _Output] | tuple[_Terms, _Output, tuple[str, ...]]
"""Labels of each operand, then of the output; None for the implicit output. Hashable, so it serves as a key, in which
stands, where labels of different types may be equal, how each is shown: 1, 1.0 and True are."""

_UNLIKE: Final = frozenset((str, int, type(...)))
"""Types no two of which have equal objects."""


def split_interleaved(operation: str, arguments: Sequence[Any]) -> tuple[LabelLists, tuple[Any, ...]]:
    """Separate labels from operands.

    Args:
        operation: the name for messages.
        arguments: operand, labels, operand, labels, ..., and perhaps the output's labels.

    Returns:
        The labels, as tuples; the operands, untouched.

    Raises:
        LabelTypeError: labels that are no list or tuple, or not hashable; a SubscriptsError and a TypeError.
        SubscriptsError: no operand at all.

    >>> split_interleaved("einsum", ["A", [0, 1], "B", [1, 2], [0, 2]])
    ((((0, 1), (1, 2)), (0, 2)), ('A', 'B'))
    >>> split_interleaved("einsum", ["A", [0.0], []])
    ((((0.0,),), (), ('0.0',)), ('A',))
    """
    if len(arguments) < 2:
        raise SubscriptsError(
            f"{operation}: found no notation; accepted: {operation}('ij,jk->ik', a, b) and "
            f"{operation}(a, (i, j), b, (j, k), (i, k))"
        )
    pairs = len(arguments) // 2
    inputs = tuple(_labels(operation, f"labels of operand {k}", arguments[2 * k + 1]) for k in range(pairs))
    output = _labels(operation, "labels of the output", arguments[-1]) if len(arguments) % 2 else None
    operands = tuple(arguments[0 : 2 * pairs : 2])
    terms = inputs if output is None else (*inputs, output)
    for term in terms:
        for label in term:
            if type(label) not in _UNLIKE:
                return (inputs, output, tuple(map(as_python, chain.from_iterable(terms)))), operands
    return (inputs, output), operands


def _labels(operation: str, what: str, labels: Any) -> tuple[Hashable, ...]:
    if not isinstance(labels, (list, tuple)):
        raise LabelTypeError(
            f"{operation}: {what}: found {type(labels).__name__}; accepted: a list or tuple of labels, such as "
            "('i', 'j')"
        )
    for label in labels:
        try:
            hash(label)
        except TypeError:
            raise LabelTypeError(
                f"{operation}: {what}: {shortened(label)} is not hashable; accepted: ints, strings, and other "
                "hashable objects"
            ) from None
    return tuple(labels)
