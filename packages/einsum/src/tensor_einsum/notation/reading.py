"""Notation: from what the user writes to numbered labels. No shapes here, no data.

    inputs  = operand, { ",", operand }          operand = labels | "(", inputs, ")"
    text    = inputs, [ "->", labels ]           labels  = { label | "[", name, "]" | "..." }

A label is an ASCII letter or digit, or any character beyond ASCII, or a longer name in brackets, ``[left bond]``; their
number has no limit. White space of ASCII is ignored. Parentheses fix the order of contraction.
Without an arrow the output is NumPy's: the ellipsis, then the labels that occur once, sorted. The interleaved form,
``einsum(A, ("left", "bond"), B, ("bond", "right"), out)``, names axes by any hashable objects; ``...`` is Python's
Ellipsis, and an implicit output needs labels that can be sorted. Labels are ints from here on; nothing below ever sees
a letter.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, NamedTuple

from tensor_einsum.errors import SubscriptsError
from tensor_einsum.notation.interleaved import LabelLists
from tensor_einsum.notation.label_names import (
    ELLIPSIS,
    RESERVED,
    Bracket,
    Places,
    as_python,
    fail,
    is_blank,
    names_of,
    places,
    read_brackets,
    written,
)
from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable

_ACCEPTED: Final = "accepted: letters, digits, any character beyond ASCII, '[a name]', and ',', '->', '...', '(', ')'"
_LABEL: Final = r"[^\x00-/:-@\[-`{-\x7f\ud800-\udfff]"
_PLAIN: Final = re.compile(rf"(?:{_LABEL}|,)*(?:->{_LABEL}*)?")
"""Labels of one character, commas and one arrow, nothing else: what most notations are made of."""
_NO_BRACKETS: Final[Mapping[int, Bracket]] = {}


class Notation(NamedTuple):
    """A notation without its letters. Operands count from 0; labels are numbered by first occurrence."""

    text: str  # as written, for messages
    inputs: tuple[tuple[int, ...], ...]  # labels of each operand, ELLIPSIS for "..."
    output: tuple[int, ...]  # the implicit output already filled in
    names: tuple[str, ...]  # of each label, for messages and tables
    order: tuple[tuple[int, ...], ...] | None
    """What parentheses ask for: ids to contract, operands first, then the result of each entry; None without
    parentheses."""
    placed: Places | None = None  # in the text; None where that is as ``written`` gives it

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each operand starts in the text."""
        return (self.placed or places(self.inputs, self.names))[0]

    @property
    def columns(self) -> tuple[tuple[int, ...], ...]:
        """Where each label of each operand stands in the text."""
        return (self.placed or places(self.inputs, self.names))[1]

    def written(self, operand: int) -> str:
        """The subscripts of one operand, as they are shown in messages."""
        return written(self.inputs[operand], self.names)


def parse(text: str, operation: str = "einsum") -> Notation:
    """Read a notation; ``operation`` is the name for messages.

    Returns:
        Numbered labels, with the implicit output filled in.

    Raises:
        SubscriptsError: malformed; the message shows where, with a caret.

    >>> parse("ij,jk").output, parse("ij,(jk,kl)->il").order
    ((0, 2), ((1, 2), (0, 3)))
    """
    if _PLAIN.fullmatch(text) and (found := _read_plain(text)) is not None:
        return found
    plain, brackets = read_brackets(text, operation) if "[" in text or "]" in text else (text, _NO_BRACKETS)
    inputs, arrow = _split(operation, text, plain)
    reader = _Reader(operation, text, brackets)
    column = 0
    while column < inputs:
        column = reader.read(column)
    order = reader.finish()
    terms = tuple(map(tuple, reader.terms))
    if arrow is None:
        output = implicit_output(terms, reader.names)
    else:
        output = tuple(
            _output(operation, text, arrow, brackets, reader.numbers, any(ELLIPSIS in term for term in terms))
        )
    placed = tuple(reader.starts), tuple(map(tuple, reader.columns))
    return Notation(text, terms, output, tuple(reader.numbers), order, placed)


def _read_plain(text: str) -> Notation | None:
    """A notation without groups, dots, blanks and long names, a term at a time; None for an unknown output label."""
    inputs, arrow, output = text.partition("->")
    names = tuple(dict.fromkeys(inputs.replace(",", "")))
    numbers = dict(zip(names, range(len(names)), strict=True))
    if not numbers.keys() >= {*output}:
        return None
    terms = tuple([tuple(map(numbers.__getitem__, term)) for term in inputs.split(",")])
    result = tuple(map(numbers.__getitem__, output)) if arrow else implicit_output(terms, names)
    return Notation(text, terms, result, names, None)


def implicit_output(inputs: Sequence[Sequence[int]], labels: Sequence[object]) -> tuple[int, ...]:
    """NumPy's rule: the ellipsis if there is one, then the labels that occur exactly once, sorted.

    Raises:
        TypeError: the labels have no common order.

    >>> implicit_output([(0, 1), (1, 2)], "kji")
    (2, 0)
    """
    count = [0] * len(labels)
    ellipsis = False
    for term in inputs:
        for label in term:
            if label == ELLIPSIS:
                ellipsis = True
            else:
                count[label] += 1
    once = [label for label, occurrences in enumerate(count) if occurrences == 1]
    once.sort(key=lambda label: labels[label])  # type: ignore[arg-type, return-value]
    return (*[ELLIPSIS] * ellipsis, *once)


notation_cache: Final = BoundedCache("notation_cache", 1 << 20)
"""Notations read in this process; ``.stats()``, ``.set_limit()``, ``.clear()``."""
notations: Final[CacheTable[Notation]] = CacheTable(notation_cache)
_NOTATION_BYTES: Final = 1000  # measured with tracemalloc, as is what follows
_CHARACTER_BYTES: Final = 40


def read_notation(source: str | LabelLists, /, operation: str = "einsum") -> Notation:
    """Read a notation in either form, and keep it in ``notations``; ``operation`` is the name for messages.

    Raises:
        SubscriptsError: as for :func:`parse` and :func:`number_labels`.

    >>> read_notation("ij,jk").output, read_notation(((("x",), ("x",)), ())).text
    ((0, 2), 'x,x->')
    """
    notation = parse(source, operation) if isinstance(source, str) else number_labels(source, operation)
    return notations.insert(source, notation, _NOTATION_BYTES + _CHARACTER_BYTES * len(notation.text))


class _Reader:
    """Reads the inputs one character at a time; groups are kept on a stack, so nesting has no depth limit."""

    def __init__(self, operation: str, text: str, brackets: Mapping[int, Bracket]) -> None:
        self.operation = operation
        self.text = text
        self.brackets = brackets
        self.numbers: dict[str, int] = {}
        self.terms: list[list[int]] = []
        self.columns: list[list[int]] = []
        self.starts: list[int] = []
        self.labels: list[int] = []
        self.places: list[int] = []
        self.start = 0
        self.closed = False  # just behind a ")", where only ",", ")" or the end may follow
        self.groups: list[list[int]] = [[]]  # members: operands as they are, results of groups as -1, -2, ...
        self.opened: list[int] = []
        self.contractions: list[list[int]] = []
        self.ellipses = 0  # dots of the current ellipsis seen so far

    @property
    def names(self) -> list[str]:
        """Labels by number."""
        return list(self.numbers)

    def read(self, column: int) -> int:
        """Take one character, or one name in brackets; gives the column of the next."""
        char = self.text[column]
        if is_blank(char):
            return column + 1
        if self.closed and char not in ",)":
            fail(self.operation, self.text, column, f"{char!r} directly after ')'; put a ',' between them")
        if char == ".":
            _read_dots(self.operation, self.text, column, self.labels, self.places)
        elif char == ",":
            self._end_term()
            self.start, self.closed = column + 1, False
        elif char == "(":
            if self.labels:
                fail(self.operation, self.text, column, "'(' directly after a label; put a ',' between them")
            self.groups.append([])
            self.opened.append(column)
            self.start = column + 1
        elif char == ")":
            if not self.opened:
                fail(self.operation, self.text, column, "')' without '('")
            self._end_term()
            self.opened.pop()
            self.groups[-2].append(self._close(self.groups.pop()))
            self.closed = True
        else:
            end, name = self.brackets.get(column) or _bare(self.operation, self.text, column)
            self.labels.append(self.numbers.setdefault(name, len(self.numbers)))
            self.places.append(column)
            return end
        return column + 1

    def finish(self) -> tuple[tuple[int, ...], ...] | None:
        """End of the inputs; gives the order that parentheses ask for."""
        if self.opened:
            fail(self.operation, self.text, self.opened[-1], "'(' is never closed")
        self._end_term()
        grouped = bool(self.contractions)
        self._close(self.groups[0])
        if not grouped:
            return None
        operands = len(self.terms)
        return tuple(
            tuple(member if member >= 0 else operands - 1 - member for member in members)
            for members in self.contractions
        )

    def _end_term(self) -> None:
        if not self.closed:
            self.groups[-1].append(len(self.terms))
            self.terms.append(self.labels)
            self.columns.append(self.places)
            self.starts.append(min(self.places, default=self.start))
            self.labels, self.places = [], []

    def _close(self, members: list[int]) -> int:
        if len(members) == 1:
            return members[0]
        self.contractions.append(members)
        return -len(self.contractions)


def _split(operation: str, text: str, plain: str) -> tuple[int, int | None]:
    """Where the inputs end, and where the output starts if there is one; ``plain`` is the text without long names."""
    arrow = plain.find("->")
    for mark in "->":
        stray = plain.find(mark)
        while stray >= 0 and stray in (arrow, arrow + 1) and arrow >= 0:
            stray = plain.find(mark, stray + 1)
        if stray >= 0:
            if plain.startswith("->", stray) and arrow >= 0:
                fail(operation, text, stray, "a second '->'; accepted: at most one")
            fail(operation, text, stray, f"a lone {mark!r}; the arrow is '->'")
    return (len(text), None) if arrow < 0 else (arrow, arrow + 2)


def _output(
    operation: str, text: str, start: int, brackets: Mapping[int, Bracket], numbers: dict[str, int], ellipsis: bool
) -> list[int]:
    labels: list[int] = []
    places: list[int] = []
    column = start
    while column < len(text):
        char, here = text[column], column
        column += 1
        if is_blank(char):
            continue
        if char == ".":
            _read_dots(operation, text, here, labels, places)
        elif char in ",()":
            fail(operation, text, here, f"{char!r} in the output; accepted after '->': labels and '...'")
        else:
            column, name = brackets.get(here) or _bare(operation, text, here)
            if name not in numbers:
                known = ", ".join(map(repr, numbers)) or "none"
                fail(operation, text, here, f"output label {name!r} is in no operand; labels of the operands: {known}")
            labels.append(numbers[name])
    # NumPy's meaning: an ellipsis that covers no axis of any operand covers none of the output.
    return labels if ellipsis else [label for label in labels if label != ELLIPSIS]


def _read_dots(operation: str, text: str, column: int, labels: list[int], places: list[int]) -> None:
    """Take one dot; an ellipsis is three in a row, once per operand."""
    start = column
    while start and text[start - 1] == ".":
        start -= 1
    if column == start:
        if not text.startswith("...", start) or text.startswith("....", start):
            fail(operation, text, start, "stray '.'; an ellipsis is three dots, '...'")
        if ELLIPSIS in labels:
            fail(operation, text, start, "a second '...' in one operand; accepted: one")
        labels.append(ELLIPSIS)
        places.append(start)


def _bare(operation: str, text: str, column: int) -> Bracket:
    """A name of one character."""
    char = text[column]
    if char in RESERVED or "\ud800" <= char <= "\udfff":
        fail(operation, text, column, f"{char!r} is no label; {_ACCEPTED}")
    return Bracket(column + 1, char)


def number_labels(lists: LabelLists, operation: str = "einsum") -> Notation:
    """Number the labels of an interleaved notation.

    Raises:
        SubscriptsError: an unknown output label, a repeated ellipsis, or an implicit output of labels without an order.

    >>> number_labels(((("left", "bond"), ("bond", "right")), ("left", "right"))).text
    '[left][bond],[bond][right]->[left][right]'
    """
    inputs, output = lists[:2]
    numbers: dict[Hashable, int] = {}
    terms = [
        tuple(ELLIPSIS if label is ... else numbers.setdefault(label, len(numbers)) for label in labels)
        for labels in inputs
    ]
    names = names_of(list(numbers))
    shown = ",".join(written(term, names) for term in terms)
    if output is None:
        try:
            result = implicit_output(terms, list(numbers))
        except TypeError:
            raise SubscriptsError(
                f"{operation}: the labels of {shown} have no common order; give the output's labels as the last "
                "argument",
                notation=shown,
                column=0,
            ) from None
    else:
        unknown = [label for label in output if label is not ... and label not in numbers]
        if unknown:
            extended = {label: number for number, label in enumerate((*numbers, *unknown))} | {...: ELLIPSIS}
            named = names_of((*numbers, *unknown))
            front = written([extended[label] for label in output[: output.index(unknown[0])]], named)
            fail(
                operation,
                f"{shown}->{written([extended[label] for label in output], named)}",
                len(shown) + 2 + len(front),
                f"output label {as_python(unknown[0])} is in no operand; labels of the operands: "
                f"[{', '.join(map(as_python, numbers))}]",
            )
        ellipsis = any(ELLIPSIS in term for term in terms)
        result = tuple(
            numbers[label] if label is not ... else ELLIPSIS for label in output if label is not ... or ellipsis
        )
    text = f"{shown}->{written(result, names)}"
    placed = places(terms, names)
    for position, term in enumerate((*terms, result)):
        if term.count(ELLIPSIS) > 1:
            where = placed[0][position] if position < len(terms) else len(shown) + 2
            fail(operation, text, where, "a second '...' in one operand; accepted: one")
    return Notation(text, tuple(terms), result, names, None, placed)
