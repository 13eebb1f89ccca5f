"""Whether the notation of a stored plan gives the labels that are stored beside it.

The labels decide what is computed and the text is what is shown, so a text that says something else would mislead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensor_core.errors import FormatError, TensorError, shortened
from tensor_einsum.network import Labels, Shape, resolve
from tensor_einsum.notation import ELLIPSIS, parse, written


def check_notation(
    text: str, inputs: Sequence[Labels], output: Labels, names: Sequence[str], shapes: Sequence[Shape], /
) -> None:
    """Refuse a text that does not give these labels, however they are numbered.

    Args:
        text: a notation, or the text that stands for an interleaved one, such as "[left bond],[bond right]->[left]".
        inputs, output: labels, those of an ellipsis written out.
        names: by label.
        shapes: of the operands; they say how many axes an ellipsis covers.

    Raises:
        FormatError: it gives others, or none.

    >>> check_notation("...i,i->...", [(1, 0), (0,)], (1,), "ia", [(5, 2), (2,)])
    >>> check_notation("ij,jk", [(0, 1), (1, 2)], (2, 0), "ijk", [(2, 3), (3, 4)])
    Traceback (most recent call last):
        ...
    tensor_core.errors.FormatError: Plan.from_json: the notation 'ij,jk' does not give the labels ij,jk->ki
    """
    try:
        found = resolve("Plan.from_json", parse(text), shapes)
        same = _numbered((*found.inputs, found.output)) == _numbered((*inputs, output))
    except TensorError:
        same = False
    if not same and not _stands_for(text, inputs, output, names):
        terms = ",".join(written(term, names) for term in inputs)
        raise FormatError(
            f"Plan.from_json: the notation {shortened(text)} does not give the labels {terms}->{written(output, names)}"
        )


def _numbered(terms: Sequence[Labels]) -> list[Labels]:
    """Labels numbered by first occurrence."""
    numbers: dict[int, int] = {}
    return [tuple(numbers.setdefault(label, len(numbers)) for label in term) for term in terms]


def _stands_for(text: str, inputs: Sequence[Labels], output: Labels, names: Sequence[str]) -> bool:
    """Whether ``number_labels`` writes such a text for labels of an interleaved notation.

    The axes of an ellipsis are the last labels; as many as the longest one covers.
    """
    longest = max(map(len, inputs)) if "..." in text else 0
    return any(_is_written(text, inputs, output, names, len(names) - axes) for axes in range(longest + 1))


def _is_written(text: str, inputs: Sequence[Labels], output: Labels, names: Sequence[str], first: int) -> bool:
    """Whether it is the text of these terms, where labels from ``first`` on are the axes of an ellipsis."""
    ends = {0}  # of the text read so far; names may hold any character, so that there may be several
    for position, term in enumerate((*inputs, output)):
        mark = "" if position == 0 else "," if position < len(inputs) else "->"
        shown = [mark + one for one in _shown(term, names, first)]
        ends = {end + len(one) for end in ends for one in shown if text.startswith(one, end)}
    return len(text) in ends


def _shown(term: Labels, names: Sequence[str], first: int) -> Iterator[str]:
    """The texts of a term, with its ellipsis if it has one; one that covers no axis may stand anywhere."""
    axes = [place for place, label in enumerate(term) if label >= first]
    if not axes:
        yield written(term, names[:first])
        for place in range(len(term) + 1):
            yield written((*term[:place], ELLIPSIS, *term[place:]), names[:first])
    elif term[axes[0] : axes[-1] + 1] == tuple(range(len(names) - len(axes), len(names))):
        yield written((*term[: axes[0]], ELLIPSIS, *term[axes[-1] + 1 :]), names[:first])
