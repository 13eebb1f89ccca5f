"""Failures told for each matrix of a batch, by a status in place of an error: ``check="mask"``.

The function runs on parts of the batch. Where a part raises, the matrices that are to blame are found and identities
take their places, so that every other matrix is computed as it is without them, bit for bit. A kernel ``NAME_status``
tells them all at once; where an operation has none, for hardly a matrix ever fails, each costs a few calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from math import nan, prod
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

from tensor_core.dtypes import FLOATING, I32
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape
from tensor_linalg.operands import holds, with_batch
from tensor_linalg.results import fields_html, fields_text
from tensor_linalg.specs.shapes import broadcast_batches, matrix_axes
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.errors import LinalgError
from tensor_runtime.ops.comparison import equal, not_equal
from tensor_runtime.ops.creation import eye, full, zeros
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_and, logical_not, logical_or
from tensor_runtime.ops.reduction import all, any
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_to, copy, expand_dims, reshape
from tensor_runtime.tensors.tensor import Tensor, owned, unwrap

R = TypeVar("R")
Run = Callable[..., tuple[Any, ...]]
Status = Callable[..., Tensor]
Check = bool | Literal["mask"]
"""What is looked for before anything is computed, and whether failures are errors or a status."""

_PART: Final = 1024
"""Matrices that are computed together: so many that every backend takes the kernel that it takes for more, so few that
looking for a bad one costs little."""
_FEW: Final = 64
"""Less in the end, for which a backend may take another kernel, go with the last part."""


class MaskedResult(NamedTuple, Generic[R]):
    """A result, NaN where the status is not 0, and the status of each matrix: 0 fine, 1 not finite, 2 failed.

    Where there are several results, ``result`` is the named tuple of them; integers, such as permutations, are those of
    the identity where the status is not 0.
    """

    result: R
    status: Tensor

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


def asks_for_mask(check: object, /) -> bool:
    """Whether a user wrote "mask" for ``check``.

    >>> asks_for_mask("mask"), asks_for_mask(True)
    (True, False)
    """
    return isinstance(check, str) and check == "mask"


def checks(operation: str, check: object, /) -> bool:
    """The bool that a user wrote for ``check`` where "mask" is accepted as well, which the caller has looked for.

    >>> checks("svd", False)
    False
    """
    return flag(operation, "check", check, "True, False and 'mask'")


def masked_result(
    operation: str,
    run: Callable[..., Any],
    a: Tensor,
    b: Tensor | None = None,
    /,
    *,
    status_of: Status | None = None,
    instead: Tensor | None = None,
    beside: Tensor | None = None,
    out: Any = None,
) -> MaskedResult[Any]:
    """What an operation answers to ``check="mask"``: its result, a tensor or a named tuple, and the status.

    Args:
        operation: its name.
        run: as :func:`masked` takes it, but that it may give a tensor.
        a, b, status_of, instead, beside: see there.
        out: None, or a :class:`MaskedResult` of targets.

    >>> import tensor_runtime as tr
    >>> masked_result("copy", tr.copy, tr.tensor([[1.0]])).status.item()
    0
    """
    unwrap(operation, a)  # which refuses what is no tensor
    kinds: list[Any] = []

    def several(*operands: Tensor) -> tuple[Any, ...]:
        found = run(*operands)
        kinds.append(type(found))
        return found if isinstance(found, tuple) else (found,)

    found, codes = masked(several, operation, a, b, status_of, instead, beside=beside)
    result = kinds[-1]._make(found) if issubclass(kinds[-1], tuple) else found[0]
    return delivered(operation, MaskedResult(result, codes), out, a, b)


def screened_result(
    operation: str,
    run: Callable[..., Any],
    operands: Sequence[Tensor],
    instead: Sequence[Tensor],
    /,
    *,
    failed: Tensor | None = None,
    out: Any = None,
) -> MaskedResult[Any]:
    """What an operation answers to ``check="mask"`` of which everything that fails is seen before it runs.

    Args:
        operation: its name.
        run: from the operands, with others in the place of what is not finite, to a tensor or a named tuple.
        operands: each [M, N, B...], or [M]; batch shapes are equal or broadcast.
        instead: for each what takes the place of a bad matrix.
        failed: Bool [B...], where status 2 is due; None for nowhere.
        out: None, or a :class:`MaskedResult` of targets.

    >>> import tensor_runtime as tr
    >>> screened_result("copy", tr.copy, [tr.tensor([[float("inf")]])], [tr.eye(1)]).status.item()
    1
    """
    finite = [_finite(x) for x in operands]
    result = run(*(_replaced(x, ok, one) for x, ok, one in zip(operands, finite, instead, strict=True)))
    codes = [full((), code, dtype=I32, placement=operands[0].placement) for code in (0, 1, 2)]
    status = where(
        reduce(logical_and, finite), codes[0] if failed is None else where(failed, codes[2], codes[0]), codes[1]
    )
    fine = equal(status, 0)
    if holds(any(logical_not(fine))):
        if isinstance(result, tuple):
            kind: Any = type(result)
            result = kind._make(where(fine, one, nan) for one in result)
        else:
            result = where(fine, result, nan)
    return delivered(operation, MaskedResult(result, status), out, *operands)


def without_failures(x: Tensor, status: Tensor, instead: float = nan, /) -> Tensor:
    """A result [core axes..., B...] with NaN, or another number, where the status [B...] is not 0.

    >>> import tensor_runtime as tr
    >>> without_failures(tr.tensor([[1.0, 2.0]]), tr.tensor([0, 2], dtype="I32")).to_numpy().tolist()
    [[1.0, nan]]
    """
    fine = equal(status, 0)
    return where(fine, x, instead) if holds(any(logical_not(fine))) else x


def unfailing(operation: str, result: Tensor, batch: Shape, out: Any, /, *operands: Tensor) -> MaskedResult[Any]:
    """What an operation answers to ``check="mask"`` that fails for no matrix: a status of zeros.

    >>> import tensor_runtime as tr
    >>> unfailing("norm", tr.tensor([1.0]), (1,), None).status.to_numpy().tolist()
    [0]
    """
    fine = zeros(batch, dtype=I32, placement=result.placement)
    return delivered(operation, MaskedResult(result, fine), out, *operands)


def _finite(x: Tensor) -> Tensor:
    return all(isfinite(x), tuple(range(min(2, x.rank))))


def _replaced(x: Tensor, ok: Tensor, stand_in: Tensor) -> Tensor:
    """The operand with another matrix where it is not finite."""
    return where(ok, x, _as_batch(stand_in, x.rank)) if holds(any(logical_not(ok))) else x


def masked(
    run: Run,
    operation: str,
    a: Tensor,
    b: Tensor | None = None,
    status_of: Status | None = None,
    instead: Tensor | None = None,
    instead_of_b: Tensor | None = None,
    beside: Tensor | None = None,
) -> tuple[tuple[Any, ...], Tensor]:
    """Results and status of a function. What is wrong with a shape is told as without a mask, of the shapes given here.

    Args:
        run: the function without its check of values; from operands to results, each [core axes..., B...], or None.
        operation: its name.
        a: shape [M, N, B...].
        b: shape [N, K, B...] or [N], of which the batch axes broadcast against those of ``a``.
        status_of: from operands to I32 [B...], not 0 where ``run`` would raise; asked when it does.
        instead: [M, N], what takes the place of a bad matrix; None is an identity.
        instead_of_b: the same of ``b``; None is zero.
        beside: [1, 1, B...], numbers that ``run`` takes last, one for each matrix of ``a``; 0 where one is not finite.

    Returns:
        The results, NaN where the status is not 0; and I32 [B...].

    >>> import tensor_runtime as tr
    >>> (x,), status = masked(lambda a: (tr.copy(a),), "copy", tr.tensor([[float("inf")]]))
    >>> x.item(), status.item()
    (nan, 1)
    """
    operands = [one for one in (a, b, beside) if one is not None]
    if a.rank < 2:
        run(*operands)  # which refuses it, in words of its own
        matrix_axes(operation, a.shape)
    batch = a.shape[2:] if b is None else broadcast_batches(operation, a.shape[2:], b.shape[2:])
    count = prod(batch)
    finite = [_finite(x) for x in operands]
    harmless = [zeros(x.shape[:2], dtype=x.dtype, placement=x.placement) for x in operands]
    harmless[0] = eye(a.shape[0], a.shape[1], dtype=a.dtype, placement=a.placement) if instead is None else instead
    if instead_of_b is not None:
        harmless[1] = instead_of_b
    clean = [_replaced(x, ok, one) for x, ok, one in zip(operands, finite, harmless, strict=True)]
    good = reduce(logical_and, (_spread(ok, batch) for ok in finite))
    if not batch or count == 0:
        with _shapes_as_given(run, operands):
            found, failed = _alone(run, clean, harmless)
        status: Tensor = full(batch, 2 if failed else 0, dtype=I32, placement=a.placement)
    else:
        with _shapes_as_given(run, operands):
            found, status = _in_parts(run, [_flat(x, batch) for x in clean], harmless, count, status_of)
        found = tuple(one if one is None else owned(reshape(one, (*one.shape[:-1], *batch))) for one in found)
        status = reshape(status, batch)
    status = where(good, status, full((), 1, dtype=I32, placement=a.placement))
    fine = equal(status, 0)
    if holds(any(logical_not(fine))):
        found = tuple(where(fine, one, nan) if one is not None and one.dtype in FLOATING else one for one in found)
    return found, status


@contextmanager
def _shapes_as_given(run: Run, operands: list[Tensor]) -> Iterator[None]:
    """Refuse shapes as they were given, in place of those of a part of the batch."""
    try:
        yield
    except ShapeError:
        try:
            run(*operands)
        except ShapeError as told:
            raise told from None
        raise


def _as_batch(matrix: Tensor, rank: int) -> Tensor:
    """One matrix with an axis of extent 1 for every batch axis of a tensor of that rank."""
    while matrix.rank < rank:
        matrix = expand_dims(matrix, matrix.rank)
    return matrix


def _spread(ok: Tensor, batch: Shape) -> Tensor:
    return ok if ok.shape == batch else copy(broadcast_to(ok, batch))


def _flat(x: Tensor, batch: Shape) -> Tensor:
    """Shape [M, N, count]; without batch axes one matrix for all, as it is."""
    return x if x.rank <= 2 else reshape(with_batch(x, 2, batch), (*x.shape[:2], prod(batch)))


def _alone(run: Run, operands: list[Tensor], harmless: list[Tensor]) -> tuple[tuple[Any, ...], bool]:
    try:
        return run(*operands), False
    except LinalgError:
        return run(*_in_place_of(operands, harmless)), True


def _in_place_of(operands: list[Tensor], harmless: list[Tensor]) -> list[Tensor]:
    return [_as_batch(one, x.rank) for one, x in zip(harmless, operands, strict=True)]


def _in_parts(
    run: Run, operands: list[Tensor], harmless: list[Tensor], count: int, status_of: Status | None
) -> tuple[tuple[Any, ...], Tensor]:
    whole: tuple[Any, ...] = ()
    codes: list[Tensor] = []
    suspicious = False
    stop = 0
    while stop < count:
        start, stop = stop, stop + _PART if stop + _PART + _FEW <= count else count
        length = stop - start
        part = [_slice(x, start, stop) for x in operands]
        found: tuple[Any, ...] = ()
        status: Tensor = full(length, 0, dtype=I32, placement=part[0].placement)
        try:
            if not suspicious:
                found = run(*part)
        except LinalgError as error:
            suspicious = status_of is not None  # the next parts are looked at before they are tried
            found, status = _without_failures(run, part, harmless, length, status_of, error)
        else:
            if suspicious:
                found, status = _without_failures(run, part, harmless, length, status_of, LinalgError(operation=""))
                suspicious = holds(any(status))
        if length == count:
            return found, status
        codes.append(status)
        whole = whole or tuple(
            one if one is None else zeros((*one.shape[:-1], count), dtype=one.dtype, placement=one.placement)
            for one in found
        )
        for into, one in zip(whole, found, strict=True):
            if one is not None:
                mutable_view(into)[..., start:stop] = one
    return whole, concatenate(codes)


def _without_failures(
    run: Run, part: list[Tensor], harmless: list[Tensor], length: int, status_of: Status | None, error: LinalgError
) -> tuple[tuple[Any, ...], Tensor]:
    """The results of a part that raises, with identities in the place of what is to blame; and its status."""
    if part[0].rank <= 2:  # one matrix for all right-hand sides
        return run(harmless[0], *part[1:]), full(length, 2, dtype=I32, placement=part[0].placement)
    if status_of is not None:
        status = status_of(*part)
        fine = equal(status, 0)
        part = [where(fine, x, _as_batch(one, 3)) if x.rank > 2 else x for x, one in zip(part, harmless, strict=True)]
        try:
            return run(*part), status
        except LinalgError as another:
            error = another
    else:
        status = full(length, 0, dtype=I32, placement=part[0].placement)
    while True:
        blamed = _blame(run, part, error, length)
        fine = equal(blamed, 0)
        if not holds(any(logical_not(logical_or(fine, not_equal(status, 0))))):
            raise error  # nothing is new: what takes the place of others is refused
        status = where(fine, status, blamed)
        part = [where(fine, x, _as_batch(one, 3)) if x.rank > 2 else x for x, one in zip(part, harmless, strict=True)]
        try:
            return run(*part), status
        except LinalgError as another:  # rounding may differ among others
            error = another


def _slice(x: Tensor, start: int, stop: int) -> Tensor:
    """Matrices of a part; one that is shared by all is in every part."""
    return x if x.rank <= 2 else x[..., start:stop]


def _blame(run: Run, operands: list[Tensor], error: LinalgError, count: int, /) -> Tensor:
    """I32 [count], 2 for the matrices on which ``run`` raises, given the error of all of them; else 0.

    It names one, often the first, and the others are looked for before it and in halves behind it: a few calls for each
    that fails.
    """
    bad = list(_blamed(run, operands, error, 0, count))
    parts = []
    done = 0
    like = operands[0]
    for one in bad:
        parts += [full(one - done, 0, dtype=I32, placement=like.placement)] if one > done else []
        parts.append(full(1, 2, dtype=I32, placement=like.placement))
        done = one + 1
    parts.append(full(count - done, 0, dtype=I32, placement=like.placement))
    return concatenate(parts)


def _blamed(run: Run, operands: list[Tensor], error: LinalgError, start: int, stop: int) -> Iterator[int]:
    where_it_is: Any = getattr(error, "batch_index", None)
    named = start + (where_it_is[0] if where_it_is else 0)
    yield from _tried(run, operands, start, named)
    if where_it_is or stop - start == 1:
        yield named
        named += 1
    middle = (named + stop) // 2
    yield from _tried(run, operands, named, middle)
    yield from _tried(run, operands, middle, stop)


def _tried(run: Run, operands: list[Tensor], start: int, stop: int) -> Iterator[int]:
    if start == stop:
        return
    try:
        run(*(_slice(x, start, stop) for x in operands))
    except LinalgError as error:
        yield from _blamed(run, operands, error, start, stop)
