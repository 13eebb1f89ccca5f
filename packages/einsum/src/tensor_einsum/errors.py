"""Errors of einsum, and the caret that shows where a notation went wrong.

```
TensorError
├── SubscriptsError (ValueError)   the notation itself is malformed
│   └── LabelTypeError (TypeError) labels are no list or tuple, or cannot be hashed
├── PathError (ValueError)         a contraction path is invalid or incomplete, or its search failed
├── PlotError (ValueError)         a picture cannot be drawn
├── OutOfMemoryError (MemoryError)
│   └── MemoryLimitError           no slices keep the memory limit that was asked for
└── ShapeError (ValueError)
    └── ExtentError                shapes that the labels do not allow
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_core.errors import OutOfMemoryError, ShapeError, TensorError
from tensor_core.formatting import readable_bytes

WINDOW: Final = 72  # columns shown of a long notation


class SubscriptsError(TensorError, ValueError):
    """The notation is malformed. Fields: ``notation`` as written, ``column`` of the first offence (from 0)."""


class LabelTypeError(SubscriptsError, TypeError):
    """Labels that are no list or tuple, or a label that cannot be hashed."""


class ExtentError(ShapeError):
    """The shapes do not fit the labels. Fields: ``label``, ``operands`` (positions), ``shapes``."""


class MemoryLimitError(OutOfMemoryError):
    """No slices keep a memory limit. Fields: ``limit``, and ``smallest``, the least found that some keep; in bytes.

    Where all slices worth their work are more than can be addressed, the least of these, as the message says then.
    """


def limit_error(
    operation: str, needs: str, limit: int, smallest: int, instead: Sequence[str], of_process: bool = False
) -> MemoryLimitError:
    """A limit that cannot be kept; the one that was given, or what the process may use.

    Args:
        operation: the name for messages.
        needs: what needs ``{}`` bytes.
        limit, smallest: bytes.
        instead: what else is accepted.
        of_process: whether nobody gave the limit.

    >>> raise limit_error("map", "a value takes {} beside the operands", 100, 200, ["a plan in slices"])
    Traceback (most recent call last):
    tensor_einsum.errors.MemoryLimitError: map: a value takes 200 B beside the operands, but the limit is 100 B; \
accepted: memory_limit=200 or more, or a plan in slices
    """
    whose = ", what the process may use" if of_process else ""
    accepted = [*([] if of_process else [f"memory_limit={smallest} or more"]), *instead]
    accepted[-1] = f"or {accepted[-1]}" if len(accepted) > 1 else accepted[-1]
    return MemoryLimitError(
        f"{operation}: {needs.format(readable_bytes(smallest))}, but the limit is {readable_bytes(limit)}{whose}; "
        f"accepted: {', '.join(accepted)}",
        limit=limit,
        smallest=smallest,
    )


class PathError(TensorError, ValueError):
    """A contraction path is invalid, incomplete, or was not found. Field: ``step``, None if no step is to blame."""


class PlotError(TensorError, ValueError):
    """A picture that cannot be drawn or written; the message says what is missing."""


def pointed(message: str, notation: str, columns: Sequence[int]) -> str:
    """The message, then the notation with a caret under each column; a long notation is cut to a window.

    >>> print(pointed("einsum: '%' is no label", "ij,%k", [3]))
    einsum: '%' is no label
      ij,%k
         ^
    """
    first = max(0, min(columns[0] - WINDOW // 2, len(notation) - WINDOW))
    last = first + WINDOW
    head, tail = "…" if first > 0 else "", "…" if last < len(notation) else ""
    shown = "".join(" " if char.isspace() or not char.isprintable() else char for char in notation[first:last])
    marks = [" ", " ", *(" " if head else "")]  # below each character that takes a place of its own
    for column, char in enumerate(shown + " ", first):
        width = _width(char)
        if width:
            marks.append(" " * width)
        if column in columns:
            marks[-1] = "^" + marks[-1][1:]
    return f"{message}\n  {head}{shown}{tail}\n{''.join(marks).rstrip()}"


def _width(char: str) -> int:
    """Columns of a terminal that a character takes; 0 for a mark that is drawn onto the one before it."""
    from unicodedata import category, east_asian_width

    if category(char) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
