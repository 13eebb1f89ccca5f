"""``out=``: where results are written, one tensor or a named tuple of them.

A target is a mutable view or an owned tensor, under the rules that ``out=`` has everywhere
(``tensor_runtime.dispatch.out``): it has the result's shape, lies where the operands lie, its dtype can hold the
result, and it shares no elements with an operand unless it is that operand, element for element. Of several, no two
share any. When something is wrong, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from tensor_core.errors import ArgumentError, ReadOnlyError
from tensor_runtime.dispatch.out import Out, as_target, check_distinct, written, written_each
from tensor_runtime.tensors.tensor import Tensor

R = TypeVar("R", bound="tuple[Any, ...]")


def placed(operation: str, result: Tensor, out: Out, /, *operands: object) -> Tensor:
    """The result, or the tensor given as ``out`` with the result written into it.

    Errors as for ``tensor_runtime.dispatch.out.written``.

    >>> import tensor_runtime as tr
    >>> x = tr.zeros(2)
    >>> placed("inv", tr.tensor([1.0, 2.0]), x) is x, x.to_numpy().tolist()
    (True, [1.0, 2.0])
    """
    return result if out is None else written(operation, out, result, *operands)


def delivered(operation: str, result: R, out: Any, /, *operands: object) -> R:
    """Several results, or the tensors given as ``out`` with the results written into them.

    Args:
        operation: the name that errors bear.
        result: a named tuple of tensors, of named tuples of them, and of None where there is nothing.
        out: None, or a tuple like it; None in the place of a tensor stands for a fresh result.
        operands: what the results were computed from.

    Raises:
        ArgumentError: ``out`` is something else.
        ReadOnlyError, ShapeError, LossyConversionError, OverlappingViewError, PlacementError: as for one output; or
            two of them share elements. Nothing is written then.

    >>> import tensor_linalg as tl
    >>> import tensor_runtime as tr
    >>> q, r = tr.zeros((2, 2)), tr.zeros((2, 2))
    >>> delivered("qr", tl.QRResult(tr.eye(2), tr.eye(2)), (q, r)).q is q, q[0, 0].item()
    (True, 1.0)
    """
    if out is None:
        return result
    pairs = list(_pairs(operation, result, out))
    done = iter(written_each(operation, [target for _, target in pairs], [one for one, _ in pairs], *operands))
    return _rebuilt(result, done)


def given_up(operation: str, *operands: Any) -> tuple[Tensor, ...]:
    """Operands whose memory may be used, which are what ``out`` may be, and share nothing with one another.

    Raises:
        ReadOnlyError: a view that is not mutable: others hold its memory; or no tensor at all.
        OverlappingViewError: two operands share elements.

    >>> import tensor_runtime as tr
    >>> given_up("inv", tr.ones((2, 2)))[0].shape
    (2, 2)
    """
    found: list[Tensor] = []
    for one in operands:
        try:
            target = as_target(operation, one)
        except ReadOnlyError as error:
            what = "view that is not mutable, or memory that another library lends,"
            what = what if isinstance(one, Tensor) else f"{type(one).__name__},"
            raise ReadOnlyError(
                f"{operation}: overwrite=True gives up a {what} whose elements others may hold; accepted: an owned "
                "tensor, or what mutable_view() returns"
            ) from error
        check_distinct(operation, target, *found)
        found.append(target)
    return tuple(found)


def _pairs(operation: str, result: Any, out: Any) -> Iterator[tuple[Tensor, Any]]:
    """Each tensor of the results with its target."""
    if not _fits(result, out):
        raise ArgumentError(
            f"{operation}: out is {_told(out)}; accepted: {_wanted(result)}, with None in the place of what is not to "
            "be written",
            operation=operation,
        )
    for name, one, target in zip(result._fields, result, out, strict=True):
        if one is None and target is not None:
            raise ArgumentError(
                f"{operation}: out has a target for {name}, of which there is none here; accepted: None",
                operation=operation,
            )
        if isinstance(one, tuple) and target is not None:
            yield from _pairs(operation, one, target)
        elif isinstance(one, Tensor):
            yield one, target
        elif one is not None:
            yield from ((each, None) for each in one)


def _fits(result: Any, out: Any) -> bool:
    """Whether it is a tuple of as many, and so is each of its fields where one result is a tuple."""
    if not isinstance(out, tuple) or len(out) != len(result):
        return False
    pairs = zip(result, out, strict=True)
    return all(target is None or not isinstance(one, tuple) or isinstance(target, tuple) for one, target in pairs)


def _told(out: Any) -> str:
    """What a caller gave: a named tuple by its name, another by its length."""
    return f"a tuple of {len(out)}" if type(out) is tuple else f"a {type(out).__name__}"


def _wanted(result: Any) -> str:
    """The names of a named tuple and of its fields, and of those within it: ``a QRResult of tensors (q, r)``."""
    fields = zip(result._fields, result, strict=True)
    told = (f"{name}: {_wanted(one)}" if isinstance(one, tuple) else name for name, one in fields)
    return f"a {type(result).__name__} of tensors ({', '.join(told)})"


def _rebuilt(result: R, done: Iterator[Tensor]) -> R:
    kind: Any = type(result)
    answer: R = kind._make(
        None if one is None else _rebuilt(one, done) if isinstance(one, tuple) else next(done) for one in result
    )
    return answer
