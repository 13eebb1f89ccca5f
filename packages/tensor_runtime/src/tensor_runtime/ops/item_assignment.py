"""``x[i] = value`` on a tensor: refused with the line to write instead, unless the caller asked for it in a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NoReturn

from tensor_core.errors import ReadOnlyError
from tensor_runtime.ops.indexing import mutable_view, setitem
from tensor_runtime.tensors.tensor import Tensor

_ASSIGNING: Final[ContextVar[bool]] = ContextVar("tensor_runtime_item_assignment", default=False)


@contextmanager
def item_assignment() -> Iterator[None]:
    """Let ``x[i] = value`` write into tensors inside the ``with`` block, in this thread or task.

    For libraries of the array API standard that write into arrays they have made: SciPy, scikit-learn. What is written
    is seen by whoever shares the elements, as with :func:`mutable_view`, which stays the way to write in one's own
    code. Functions never return memory of their arguments, except as views: ``asarray`` without ``copy=True``, slices,
    ``reshape``, ``permute_dims``, ``squeeze`` and the like, where NumPy shares, too. Memory that was lent read-only
    and views that name an element twice stay refused.

    Raises:
        ReadOnlyError, OverlappingViewError, ShapeError, LossyConversionError: by an assignment in the block, as
            ``mutable_view(x)[i] = value`` raises them.

    Source: the array API standard 2024.12, ``__setitem__``.

    >>> x = tensor([1.0, 2.0])
    >>> with item_assignment():
    ...     x[0] = 5.0
    >>> x.tolist()
    [5.0, 2.0]
    """
    token = _ASSIGNING.set(True)
    try:
        yield
    finally:
        _ASSIGNING.reset(token)


def assign_item(x: Tensor, index: Any, value: Any, /) -> None:
    """``x[index] = value``, of a tensor that is no mutable view.

    Raises:
        ReadOnlyError: outside a block of :func:`item_assignment`, with the line to write instead.

    >>> x = tensor([1.0, 2.0])
    >>> with item_assignment():
    ...     assign_item(x, slice(1, None), 3.0)
    >>> x.tolist()
    [1.0, 3.0]
    """
    if not _ASSIGNING.get():
        place = _spelled(index)
        raise ReadOnlyError(f"x[{place}] = value: a tensor is read-only; write mutable_view(x)[{place}] = value")
    setitem(mutable_view(x), index, value)


def delete_item(x: Tensor, index: Any, /) -> NoReturn:
    """``del x[index]``, which no tensor has.

    Raises:
        ReadOnlyError: always, with the line to write instead.

    >>> delete_item(tensor([1.0, 2.0]), 0)
    Traceback (most recent call last):
    ...
    tensor_core.errors.ReadOnlyError: del x[0]: a tensor keeps its shape; delete(x, 0) gives one without these elements
    """
    place = _spelled(index)
    raise ReadOnlyError(
        f"del x[{place}]: a tensor keeps its shape; delete(x, {place}) gives one without these elements"
    )


def _spelled(index: Any) -> str:
    """An index as a user writes it, where it is made of ints and slices; else "index"."""
    if type(index) is tuple and index:
        parts = [_spelled(one) for one in index]
        return "index" if "index" in parts else ", ".join(parts)
    if type(index) is slice:
        bounds = (index.start, index.stop, index.step)
        if any(one is not None and type(one) is not int for one in bounds):
            return "index"
        text = ":".join("" if one is None else str(one) for one in bounds)
        return text.removesuffix(":") if index.step is None else text
    return "..." if index is Ellipsis else str(index) if index is None or type(index) is int else "index"
