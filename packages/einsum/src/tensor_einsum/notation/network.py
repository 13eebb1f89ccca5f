"""Networks: a notation and shapes, in which every label has one extent.

Extents of a label are equal within one operand, and equal or 1 across operands; an extent of 1 beside 0 gives 0. An
axis of extent 1 whose label is longer elsewhere does not depend on that label: the network drops it, which costs
nothing. An ellipsis becomes labels of its own, aligned at the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from itertools import count as integers
from typing import Any, Final, NamedTuple, NoReturn

from tensor_core.errors import SizeLimitError, TensorError, shortened
from tensor_core.shapes import Shape, as_shape
from tensor_einsum import native
from tensor_einsum.errors import ExtentError, SubscriptsError, pointed
from tensor_einsum.notation.interleaved import LabelLists
from tensor_einsum.notation.label_names import ELLIPSIS, Places, single_characters
from tensor_einsum.notation.reading import Notation, notations, parse, read_notation

Labels = tuple[int, ...]


MANY_OF_ONE: Final = 20
"""Labels of extent 1 up to which they are labels as others. They weigh nothing in a search, so that it may collect more
of them in an intermediate than an array has axes; with so few it cannot, as the others are of 2 and more."""


class Network(NamedTuple):
    """Labels without ellipsis, and the extent of each."""

    notation: str  # as written
    inputs: tuple[Labels, ...]  # one label per axis of each operand
    output: Labels
    names: tuple[str, ...]  # by label
    shapes: tuple[Shape, ...]
    extents: tuple[int, ...]  # by label
    terms: tuple[Labels, ...]  # the inputs without the axes of extent 1 that broadcast, or that are too many


def read_network(
    operation: str, source: str | LabelLists, shapes: tuple[Shape, ...]
) -> tuple[Network, tuple[tuple[int, ...], ...] | None]:
    """The network of a notation and shapes, and the order that its parentheses ask for.

    Letters, commas and an arrow, with extents that agree, are read at once by the extension, where it was built; every
    other notation is read by itself, kept, and given extents (:func:`resolve`).

    Raises:
        SubscriptsError, ExtentError: as for ``read_notation`` and :func:`resolve`.

    >>> network, order = read_network("einsum", "ij,jk", ((2, 3), (3, 4)))
    >>> network.output, network.extents, order
    ((0, 2), (2, 3, 4), None)
    """
    plain = native.LIBRARY.read_plain(source, shapes) if native.AVAILABLE and type(source) is str else None
    if plain is not None:
        inputs, output, names, extents = plain
        return Network(source, inputs, output, names, shapes, extents, inputs), None  # type: ignore[arg-type]
    notation = notations.find(source) or read_notation(source, operation)
    return resolve(operation, notation, shapes), notation.order


def shape_of(operation: str, position: int, item: Any) -> Shape:
    """The shape of an operand that a user gives: itself, or of what has one.

    Raises:
        ExtentError: no shape.

    >>> shape_of("plan", 0, [2, 3])
    (2, 3)
    """
    shape = getattr(item, "shape", item)
    try:
        return as_shape(shape)
    except TensorError as error:
        what = f"found {shortened(shape)}; accepted: a shape, such as (2, 3), or a tensor; () stands for a number"
        if isinstance(error, SizeLimitError):
            what = f"shape {shortened(shape)} has more than 2**63 - 1 elements; make it smaller"
        raise ExtentError(f"{operation}: operand {position}: {what}", operands=(position,), shapes=()) from error


def resolve(operation: str, notation: Notation, shapes: Sequence[Shape]) -> Network:
    """Give every label its extent.

    Raises:
        ExtentError: a wrong number of operands or axes, or extents that do not fit; the message names label,
            operands, shapes.

    >>> from tensor_einsum.notation.reading import parse
    >>> resolve("einsum", parse("...ij,jk"), [(5, 2, 3), (3, 4)]).extents
    (2, 3, 4, 5)
    >>> resolve("einsum", parse("ij,ij"), [(2, 1), (2, 3)]).terms
    ((0,), (0, 1))
    """
    if len(shapes) != len(notation.inputs):
        raise ExtentError(
            f"{operation}: {shortened(notation.text)} has {_count(len(notation.inputs), 'operand')}, found "
            f"{len(shapes)}: {', '.join(map(str, shapes)) or 'none'}",
            operands=tuple(range(len(shapes))),
            shapes=tuple(shapes),
        )
    inputs, output, names = notation.inputs, notation.output, notation.names
    labels = [*chain.from_iterable(inputs)]
    if ELLIPSIS in labels:
        inputs, output, names = _expand_ellipsis(operation, notation, shapes)
        labels = [*chain.from_iterable(inputs)]
    if [*map(len, inputs)] != [*map(len, shapes)]:
        for operand, (term, shape) in enumerate(zip(inputs, shapes, strict=True)):
            if len(term) != len(shape):
                _wrong_rank(operation, notation, operand, shape)
    given = [*chain.from_iterable(shapes)]
    known = dict(zip(labels, given, strict=True))
    if [*map(known.__getitem__, labels)] == given:  # every label has one extent, as nearly always
        plain = tuple([known.get(label, 1) for label in range(len(names))])
        terms = inputs if given.count(1) <= MANY_OF_ONE else _without_ones(inputs, output, plain)
        return Network(notation.text, inputs, output, names, tuple(shapes), plain, terms)
    extents = [1] * len(names)
    for term, shape in zip(inputs, shapes, strict=True):
        for label, extent in zip(term, shape, strict=True):
            if extent != 1:
                if extents[label] != 1 and extents[label] != extent:
                    _disagree(operation, notation, inputs, shapes, names, label)
                extents[label] = extent
    kept = list(_without_ones(inputs, output, extents))
    for operand, (term, shape) in enumerate(zip(inputs, shapes, strict=True)):
        if len(set(term)) < len(term):
            _check_diagonal(operation, notation, operand, term, shape, names)
        if 1 in shape:
            kept[operand] = _without_broadcast(term, shape, extents, kept[operand])
    return Network(notation.text, inputs, output, names, tuple(shapes), tuple(extents), tuple(kept))


def resolve_expanded(
    operation: str,
    text: str,
    inputs: tuple[Labels, ...],
    output: Labels,
    names: tuple[str, ...],
    shapes: Sequence[Shape],
) -> Network:
    """The same for labels that were read before, those of an ellipsis written out; only an error reads the text again.

    Raises:
        ExtentError: as for :func:`resolve`.

    >>> resolve_expanded("reuse", "...i,i", ((1, 0), (0,)), (1,), ("i", "a"), [(5, 2), (2,)]).extents
    (2, 5)
    """
    notation = Notation(text, inputs, output, names, None)
    try:
        return resolve(operation, notation, shapes)
    except ExtentError:
        notation = notation._replace(placed=_places_in(text, inputs))
    return resolve(operation, notation, shapes)  # which tells where


def _places_in(text: str, inputs: Sequence[Labels]) -> Places | None:
    """Where these labels stand in the text that they are from, axes of an ellipsis at its dots; None in another one."""
    try:
        notation = parse(text)
    except SubscriptsError:
        return None
    columns = []
    for term, labels, places in zip(notation.inputs, inputs, notation.columns, strict=False):
        dots = term.index(ELLIPSIS) if ELLIPSIS in term else len(term)
        covered = places[dots : dots + 1] * (len(labels) - len(term) + 1)
        columns.append((*places[:dots], *covered, *places[dots + 1 :]))
    fits = [*map(len, columns)] == [*map(len, inputs)]
    return (notation.starts, tuple(columns)) if fits else None


def _without_ones(inputs: tuple[Labels, ...], output: Labels, extents: Sequence[int]) -> tuple[Labels, ...]:
    """Terms without axes of extent 1 that the result has not, where there are many labels of such axes."""
    ones = {label for label, extent in enumerate(extents) if extent == 1}.difference(output)
    if len(ones) <= MANY_OF_ONE:
        return inputs
    return tuple([tuple([label for label in term if label not in ones]) for term in inputs])


def _without_broadcast(term: Labels, shape: Shape, extents: Sequence[int], kept: Labels) -> Labels:
    return tuple([one for one, extent in zip(term, shape, strict=True) if extent == extents[one] and one in kept])


def _expand_ellipsis(
    operation: str, notation: Notation, shapes: Sequence[Shape]
) -> tuple[tuple[Labels, ...], Labels, tuple[str, ...]]:
    """Replace every ellipsis by new labels; the last axis covered has the same one in every operand."""
    covered = []
    for operand, (term, shape) in enumerate(zip(notation.inputs, shapes, strict=True)):
        here = len(shape) - len(term) + 1 if ELLIPSIS in term else 0
        if here < 0:
            _wrong_rank(operation, notation, operand, shape)
        covered.append(here)
    longest, first = max(covered), len(notation.names)
    fresh = tuple(range(first, first + longest))
    if longest and ELLIPSIS not in notation.output:
        operand = covered.index(longest)
        place = notation.columns[operand][notation.inputs[operand].index(ELLIPSIS)]
        raise ExtentError(
            pointed(
                f"{operation}: '...' covers {_count(longest, 'axis')} of operand {operand} "
                f"{notation.written(operand)!r} of shape {shapes[operand]}, but the output has no '...'; put it "
                "there, or name the axes to sum them",
                notation.text,
                [place],
            ),
            operands=(operand,),
            shapes=(shapes[operand],),
        )
    inputs = tuple(
        _replaced(term, fresh[longest - here :]) for term, here in zip(notation.inputs, covered, strict=True)
    )
    return inputs, _replaced(notation.output, fresh), (*notation.names, *_fresh_names(notation.names, longest))


def _replaced(term: Labels, axes: Labels) -> Labels:
    if ELLIPSIS not in term:
        return term
    place = term.index(ELLIPSIS)
    return term[:place] + axes + term[place + 1 :]


def _fresh_names(taken: Sequence[str], count: int) -> list[str]:
    """Names for the axes of an ellipsis that the notation does not use: letters, beside letters."""
    used = {*taken}
    candidates: Iterable[str]
    if single_characters(taken):
        candidates = (chr(code) for code in (*range(97, 123), *range(65, 91), *range(192, 0xD800)))
    else:
        candidates = (f"...{axis}" for axis in integers())
    return list(islice((name for name in candidates if name not in used), count))


def _wrong_rank(operation: str, notation: Notation, operand: int, shape: Shape) -> NoReturn:
    term = notation.inputs[operand]
    named = f"{_count(len(term) - 1, 'axis')} and '...'" if ELLIPSIS in term else _count(len(term), "axis")
    raise ExtentError(
        pointed(
            f"{operation}: operand {operand} {notation.written(operand)!r} names {named}, but its shape {shape} has "
            f"{len(shape)}",
            notation.text,
            notation.columns[operand] or [notation.starts[operand]],
        ),
        operands=(operand,),
        shapes=(shape,),
    )


def _disagree(
    operation: str,
    notation: Notation,
    inputs: Sequence[Labels],
    shapes: Sequence[Shape],
    names: Sequence[str],
    label: int,
) -> NoReturn:
    """Name the first two operands whose extents of a label do not fit."""
    found: dict[int, int] = {}  # extent -> operand
    for operand, (term, shape) in enumerate(zip(inputs, shapes, strict=True)):
        for other, extent in zip(term, shape, strict=True):
            if other == label and extent != 1:
                found.setdefault(extent, operand)
    (extent, a), (other_extent, b) = list(found.items())[:2]
    if a == b:
        _check_diagonal(operation, notation, a, inputs[a], shapes[a], names)
    columns = [column for operand in (a, b) for column in _columns(notation, operand, label)]
    named = f"label {names[label]!r}" if label < len(notation.names) else "an axis of '...'"
    raise ExtentError(
        pointed(
            f"{operation}: {named} has extent {extent} in operand {a} {notation.written(a)!r} of shape {shapes[a]}, "
            f"but {other_extent} in operand {b} {notation.written(b)!r} of shape {shapes[b]}; accepted: equal "
            "extents, or 1",
            notation.text,
            columns,
        ),
        label=names[label],
        operands=(a, b),
        shapes=(shapes[a], shapes[b]),
    )


def _check_diagonal(
    operation: str, notation: Notation, operand: int, term: Labels, shape: Shape, names: Sequence[str]
) -> None:
    """A label repeated within one operand takes a diagonal, so its extents must be equal; 1 is not stretched there."""
    seen: dict[int, int] = {}
    for label, extent in zip(term, shape, strict=True):
        if seen.setdefault(label, extent) != extent:
            raise ExtentError(
                pointed(
                    f"{operation}: label {names[label]!r} has extents {seen[label]} and {extent} within operand "
                    f"{operand} {notation.written(operand)!r} of shape {shape}; accepted: equal extents",
                    notation.text,
                    _columns(notation, operand, label),
                ),
                label=names[label],
                operands=(operand,),
                shapes=(shape,),
            )


def _columns(notation: Notation, operand: int, label: int) -> list[int]:
    """Where a label of an operand stands in the text; an axis of an ellipsis stands at its dots."""
    term = notation.inputs[operand]
    if label in term:
        return [column for column, other in zip(notation.columns[operand], term, strict=True) if other == label]
    return [notation.columns[operand][term.index(ELLIPSIS)]]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else {'axis': 'axes'}.get(noun, noun + 's')}"
