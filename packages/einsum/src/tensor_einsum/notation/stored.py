"""Whether the notation of a stored plan gives the labels that are stored beside it.

The labels decide what is computed and the text is what is shown, so a text that says something else would mislead.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from tensor_core.errors import FormatError, TensorError, shortened
from tensor_core.shapes import Shape
from tensor_einsum.notation.label_names import written
from tensor_einsum.notation.network import Labels, resolve
from tensor_einsum.notation.reading import parse


def check_notation(
    text: str, inputs: Sequence[Labels], output: Labels, names: Sequence[str], shapes: Sequence[Shape], /
) -> None:
    """Refuse a text that does not give these labels by these names, however they are numbered.

    Args:
        text: a notation.
        inputs, output: labels, those of an ellipsis written out.
        names: by label; those of an ellipsis, which the text does not name, are free.
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
        notation = parse(text, "Plan.from_json")
        found = resolve("Plan.from_json", notation, shapes)
        same = _numbered((*found.inputs, found.output)) == _numbered((*inputs, output))
        same = same and _have_names(notation.names, found.inputs, inputs, names)
    except TensorError:
        same = False
    if not same:
        terms = ",".join(written(term, names) for term in inputs)
        raise FormatError(
            f"Plan.from_json: the notation {shortened(text)} does not give the labels {terms}->{written(output, names)}"
        )


def _numbered(terms: Sequence[Labels]) -> list[Labels]:
    """Labels numbered by first occurrence."""
    numbers: dict[int, int] = {}
    return [tuple(numbers.setdefault(label, len(numbers)) for label in term) for term in terms]


def _have_names(read: Sequence[str], terms: Sequence[Labels], inputs: Sequence[Labels], names: Sequence[str]) -> bool:
    """Whether labels that were read with a name have it in ``inputs``, too."""
    pairs = zip(chain.from_iterable(terms), chain.from_iterable(inputs), strict=True)
    return all(names[stored] == read[label] for label, stored in pairs if label < len(read))
