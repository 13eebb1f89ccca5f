"""Interleaved notation: operands and their labels in turn, ``einsum(A, ("left", "bond"), B, ("bond", "right"), out)``.

Labels are any hashable objects; they become numbers here. The output's labels come last; without them it is NumPy's
implicit output, which needs labels that can be sorted. ``...`` is Python's Ellipsis.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

from tensor_einsum.errors import SubscriptsError, pointed
from tensor_einsum.notation import ELLIPSIS, Notation, implicit_output, written

LabelLists = tuple[tuple[tuple[Hashable, ...], ...], tuple[Hashable, ...] | None]
"""Labels of each operand, then of the output; None for the implicit output. Hashable, so it serves as a key."""


def split_interleaved(operation: str, arguments: Sequence[Any]) -> tuple[LabelLists, tuple[Any, ...]]:
    """Separate labels from operands.

    Args:
        operation: the name for messages.
        arguments: operand, labels, operand, labels, ..., and perhaps the output's labels.

    Returns:
        The labels, as tuples; the operands, untouched.

    Raises:
        SubscriptsError: labels that are no list or tuple, or not hashable; no operand at all.

    >>> split_interleaved("einsum", ["A", [0, 1], "B", [1, 2], [0, 2]])
    ((((0, 1), (1, 2)), (0, 2)), ('A', 'B'))
    """
    if len(arguments) < 2:
        raise SubscriptsError(
            f"{operation}: found no notation; accepted: {operation}('ij,jk->ik', a, b) and "
            f"{operation}(a, (i, j), b, (j, k), (i, k))"
        )
    pairs = len(arguments) // 2
    inputs = tuple(_labels(operation, f"labels of operand {k}", arguments[2 * k + 1]) for k in range(pairs))
    output = _labels(operation, "labels of the output", arguments[-1]) if len(arguments) % 2 else None
    return (inputs, output), tuple(arguments[0 : 2 * pairs : 2])


def _labels(operation: str, what: str, labels: Any) -> tuple[Hashable, ...]:
    if not isinstance(labels, (list, tuple)):
        raise SubscriptsError(
            f"{operation}: {what}: found {type(labels).__name__}; accepted: a list or tuple of labels, such as "
            "('i', 'j')"
        )
    for label in labels:
        try:
            hash(label)
        except TypeError:
            raise SubscriptsError(
                f"{operation}: {what}: {label!r} is not hashable; accepted: ints, strings, and other hashable objects"
            ) from None
    return tuple(labels)


def number_labels(lists: LabelLists) -> Notation:
    """Number the labels of an interleaved notation.

    Raises:
        SubscriptsError: an unknown output label, a repeated ellipsis, or an implicit output of labels without an order.

    >>> number_labels(((("left", "bond"), ("bond", "right")), ("left", "right"))).text
    '[left bond],[bond right]->[left right]'
    """
    inputs, output = lists
    numbers: dict[Hashable, int] = {}
    terms = [
        tuple(ELLIPSIS if label is ... else numbers.setdefault(label, len(numbers)) for label in labels)
        for labels in inputs
    ]
    names = _names(list(numbers))
    shown = ",".join(written(term, names) for term in terms)
    if output is None:
        try:
            result = implicit_output(terms, list(numbers))
        except TypeError:
            raise SubscriptsError(
                f"einsum: the labels of {shown} have no common order; give the output's labels as the last argument",
                notation=shown,
                column=0,
            ) from None
    else:
        unknown = [label for label in output if label is not ... and label not in numbers]
        if unknown:
            text = f"{shown}->{'[' + ' '.join(map(_name, output)) + ']'}"
            _fail(
                text,
                len(shown) + 2,
                f"output label {unknown[0]!r} is in no operand; labels of the operands: {list(numbers)}",
            )
        ellipsis = any(ELLIPSIS in term for term in terms)
        result = tuple(
            numbers[label] if label is not ... else ELLIPSIS for label in output if label is not ... or ellipsis
        )
    text = f"{shown}->{written(result, names)}"
    starts, columns = _places(terms, names)
    for position, term in enumerate((*terms, result)):
        if term.count(ELLIPSIS) > 1:
            where = starts[position] if position < len(terms) else len(shown) + 2
            _fail(text, where, "a second '...' in one operand; accepted: one")
    return Notation(text, tuple(terms), result, names, columns, starts, None)


def _name(label: Hashable) -> str:
    if label is ...:
        return "..."
    return label if isinstance(label, str) and label and label.isprintable() else repr(label)


def _names(labels: Sequence[Hashable]) -> tuple[str, ...]:
    """Names to show; labels that print alike, such as 1 and "1", are shown as Python writes them."""
    plain = tuple(map(_name, labels))
    return plain if len(set(plain)) == len(plain) else tuple(map(repr, labels))


def _places(
    terms: Sequence[tuple[int, ...]], names: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Columns of the operands, and of their labels, in the text that ``written`` gives."""
    single = all(len(name) == 1 for name in names)
    starts, columns = [], []
    column = 0
    for term in terms:
        starts.append(column)
        column += 0 if single else 1
        places = []
        for label in term:
            places.append(column)
            column += (3 if label == ELLIPSIS else len(names[label])) + (0 if single else 1)
        columns.append(tuple(places))
        column += 1 if single or term else 2
    return tuple(starts), tuple(columns)


def _fail(text: str, column: int, message: str) -> NoReturn:
    raise SubscriptsError(pointed(f"einsum: {message}", text, [column]), notation=text, column=column)
