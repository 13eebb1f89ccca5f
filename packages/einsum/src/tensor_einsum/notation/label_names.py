"""Names of labels: how they are written in a notation, and read from one.

A name of one character is written as it is; a longer one, or one that has a meaning of its own, in brackets: ``[left
bond]``, ``[,]``. Inside brackets a backslash stands before a bracket, a backslash, and blanks at the ends, which are
left out otherwise. So ``[i]`` is the label ``i``, and what is written reads as what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, NoReturn

from tensor_core.errors import shortened
from tensor_core.foreign import iterator_of
from tensor_einsum.errors import SubscriptsError, pointed

ELLIPSIS: Final = -1
"""Stands for "..." in the labels of a notation."""

RESERVED: Final = frozenset(char for char in map(chr, range(128)) if not char.isalnum())
"""ASCII characters that are no names by themselves."""

_MOST_NAMED: Final = 12  # labels that a message lists
_FIRST_NAMED: Final = 8  # of more than these


class Bracket(NamedTuple):
    """A name in brackets: where the text goes on, and the name."""

    end: int
    name: str


def read_brackets(text: str, operation: str = "einsum") -> tuple[str, Mapping[int, Bracket]]:
    """Every name in brackets, by the column of its "[", and the text with these names blotted out.

    Raises:
        SubscriptsError: brackets that do not pair, or without a name between them.

    >>> read_brackets("[left bond]i,->i")
    ('[_________]i,->i', {0: Bracket(end=11, name='left bond')})
    """
    found: dict[int, Bracket] = {}
    rest: list[str] = []
    column = 0
    while column < len(text):
        if text[column] == "]":
            fail(operation, text, column, "']' without '['")
        if text[column] != "[":
            rest.append(text[column])
            column += 1
            continue
        name, end = _read_name(operation, text, column)
        found[column] = Bracket(end, name)
        rest.append(f"[{'_' * (end - column - 2)}]")
        column = end
    return "".join(rest), found


def _read_name(operation: str, text: str, start: int) -> tuple[str, int]:
    """The name behind a "[", and the column behind its "]"."""
    chars: list[str] = []
    first, last = -1, 0  # which of the characters are no blanks, or have a backslash before them
    column = start + 1
    while True:
        if column == len(text):
            fail(operation, text, start, "'[' is never closed")
        char = text[column]
        if char == "]":
            if first < 0:
                fail(operation, text, start, "no name between '[' and ']'")
            return "".join(chars[first:last]), column + 1
        if char == "[":
            fail(
                operation,
                text,
                column,
                "'[' inside a name; write '\\[' for the character, or close the name before with ']'",
            )
        escaped = char == "\\" and column + 1 < len(text)
        if escaped:
            column += 1
            char = text[column]
        if not _can_stand(char):
            fail(
                operation,
                text,
                column,
                f"{char!r} in a name; accepted: ASCII that can be printed, and any character beyond",
            )
        chars.append(char)
        if escaped or not is_blank(char):
            first, last = first if first >= 0 else len(chars) - 1, len(chars)
        column += 1


def is_blank(char: str) -> bool:
    """Whether a character is white space between labels: ASCII's alone, as every character beyond is a label.

    >>> is_blank(" "), is_blank(chr(0x3000))
    (True, False)
    """
    return char.isascii() and char.isspace()


def is_name(text: str) -> bool:
    """Whether a label can have this name: a text without control characters of ASCII, and without halves of pairs.

    >>> is_name("i"), is_name("left bond"), is_name(""), is_name(chr(0))
    (True, True, False, False)
    """
    alone = len(text) == 1 and _stands_alone(text) and not "\ud800" <= text <= "\udfff"
    return alone or _can_stand(text)


def shown(name: str) -> str:
    """A name as it is written in a notation.

    >>> shown("i"), shown("left bond"), shown(",")
    ('i', '[left bond]', '[,]')
    """
    if len(name) == 1 and _stands_alone(name):
        return name
    inside = "".join(f"\\{char}" if char in "[]\\" else char for char in name)
    if is_blank(inside[-1:]):
        inside = f"{inside[:-1]}\\{inside[-1]}"
    return f"[\\{inside}]" if is_blank(inside[:1]) else f"[{inside}]"


def written(labels: Sequence[int], names: Sequence[str]) -> str:
    """Labels as a user would write them.

    >>> written((0, 1, ELLIPSIS), ("i", "j")), written((0, 1), ("left", "bond"))
    ('ij...', '[left][bond]')
    """
    return "".join(["..." if label == ELLIPSIS else shown(names[label]) for label in labels])


class Texts(dict[tuple[int, ...], str]):
    """Labels as they are shown, by themselves; each is put together once.

    >>> Texts(("i", "left bond"))[1, 0]
    '[left bond]i'
    """

    def __init__(self, names: Sequence[str]) -> None:
        plain = max(map(len, names), default=1) == 1 and RESERVED.isdisjoint(names)
        self.shown = names if plain else tuple(map(shown, names))

    def __missing__(self, labels: tuple[int, ...]) -> str:
        text = self[labels] = "".join(map(self.shown.__getitem__, labels))
        return text


def single_characters(names: Sequence[str]) -> bool:
    """Whether no name is longer than a character."""
    return max(map(len, names), default=1) == 1


def names_of(labels: Sequence[Hashable]) -> tuple[str, ...]:
    """Names of any distinct hashable labels: strings are their own, others what they print.

    What prints as another label does has its type added, and a number besides where that does not tell it apart.

    >>> names_of(["left", 1]), names_of([1, "1"])
    (('left', '1'), ('1 (int)', '1'))
    """
    texts = [str.__str__(label) if isinstance(label, str) and _can_stand(label) else None for label in labels]
    names = [_as_python(label) if text is None else text for label, text in zip(labels, texts, strict=True)]
    if len({*names}) == len(names):
        return tuple(names)
    shared = _repeated(names)
    for place, name in enumerate(names):
        if name in shared and texts[place] is None:
            names[place] = _with_type(name, labels[place])
    shared, taken = _repeated(names), {*names}
    for place, name in enumerate(names):
        if name in shared and texts[place] is None:
            names[place] = next(text for number in count(1) if (text := f"{name} {number}") not in taken)
            taken.add(names[place])
    return tuple(names)


def label_number(label: object, names: Sequence[str]) -> int | None:
    """The number of a label that a user gives as it was given for the notation, or as it is shown; None of another.

    Objects of one type that print alike are known as they are shown alone.

    >>> label_number("j", ("i", "j")), label_number(1, ("0", "1")), label_number(3.5, ("0", "1"))
    (1, 1, None)
    >>> label_number("1", ("1 (int)", "1")), label_number(1, ("1 (int)", "1"))
    (1, 0)
    """
    if isinstance(label, str) and label in names:
        return names.index(label)
    plain = _as_python(label)
    typed = _with_type(plain, label)
    if f"{typed} 1" in names:  # it is one of several, which nothing given tells apart
        return None
    for text in (typed, plain, str(label)):
        if text in names:
            return names.index(text)
    return None


def listed_labels(labels: Any, names: Sequence[str]) -> list[Any]:
    """The labels that a user gives: one, or several; a string that is no name of one is read letter by letter.

    >>> listed_labels("ij", ("i", "j")), listed_labels("left bond", ("left bond",)), listed_labels(2, ("1", "2"))
    (['i', 'j'], ['left bond'], [2])
    """
    one = isinstance(labels, Hashable) and label_number(labels, names) is not None
    several = None if one else iterator_of(labels)
    return [labels] if several is None else [*several]


def some_names(names: Iterable[str]) -> str:
    """Names for a message: all of a few, or the first of many and how many there are.

    >>> some_names("ij")
    "'i', 'j'"
    >>> some_names("abcdefghijklmnopqrstuvwxyz")
    "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ... (26 labels)"
    """
    quoted = list(map(shortened, names))
    few = quoted if len(quoted) <= _MOST_NAMED else [*quoted[:_FIRST_NAMED], f"... ({len(quoted):,} labels)"]
    return ", ".join(few)


def as_python(label: object) -> str:
    """What an object prints, with the elements of sets in one order: theirs depends on the process, and on the set.

    >>> as_python((1, frozenset(("b", "a"))))
    "(1, frozenset({'a', 'b'}))"
    """
    if type(label) is tuple:
        inside = ", ".join(map(as_python, label))
        return f"({inside},)" if len(label) == 1 else f"({inside})"
    if isinstance(label, (frozenset, set)) and label and type(label).__repr__ in _OF_SETS:
        return f"{type(label).__name__}({{{', '.join(sorted(map(as_python, label)))}}})"
    try:
        return repr(label)
    except ValueError:
        if type(label) is not int:
            raise
        return hex(label)  # Python prints no decimal number of so many digits


_OF_SETS: Final = (frozenset.__repr__, set.__repr__)


def _as_python(label: object) -> str:
    return _printable(as_python(label)) or f"<{type(label).__name__}>"


def _with_type(name: str, label: object) -> str:
    return f"{name} ({_printable(type(label).__name__)})"


def _printable(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def _stands_alone(char: str) -> bool:
    return char not in RESERVED


def _can_stand(name: str) -> bool:
    return bool(name) and all(one.isprintable() if one.isascii() else not "\ud800" <= one <= "\udfff" for one in name)


Places = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""Columns of a text: where each operand starts, and where each of its labels stands."""


def places(terms: Sequence[tuple[int, ...]], names: Sequence[str]) -> Places:
    """Columns of the operands, and of their labels, in the text that ``written`` gives, with commas between.

    >>> places([(0, 1), (1,)], ("left", "i"))
    ((0, 8), ((0, 6), (8,)))
    """
    widths = {label: len(shown(name)) for label, name in enumerate(names)} | {ELLIPSIS: 3}
    starts, columns = [], []
    column = 0
    for term in terms:
        starts.append(column)
        of_term = []
        for label in term:
            of_term.append(column)
            column += widths[label]
        columns.append(tuple(of_term))
        column += 1
    return tuple(starts), tuple(columns)


def fail(operation: str, text: str, column: int, message: str) -> NoReturn:
    """Raise the error of a malformed notation, with a caret under the column to blame.

    >>> fail("plan", "ij,%k", 3, "'%' is no label")
    Traceback (most recent call last):
    tensor_einsum.errors.SubscriptsError: plan: '%' is no label
      ij,%k
         ^
    """
    raise SubscriptsError(pointed(f"{operation}: {message}", text, [column]), notation=text, column=column)
