"""Failures told for each matrix of a batch, by a status in place of an error: ``check="mask"``.

The function runs on parts of the batch. Where a part raises, the matrices that are to blame are found and identities
take their places, so that every other matrix is computed as it is without them, bit for bit. One bad matrix costs a few
more passes over its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan, prod
from typing import Any, Final, Literal, NamedTuple

from tensor_core.dtypes import I32
from tensor_linalg.operands import holds, with_batch
from tensor_linalg.results import fields_text
from tensor_linalg.specs.shapes import broadcast_batches
from tensor_runtime.errors import LinalgError
from tensor_runtime.form import Shape
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.creation import eye, full, zeros
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_and, logical_not
from tensor_runtime.ops.reduction import all, any
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_to, copy, expand_dims, reshape
from tensor_runtime.tensors.tensor import Tensor

Run = Callable[..., tuple[Tensor, ...]]
Check = bool | Literal["mask"]
"""What is looked for before anything is computed, and whether failures are errors or a status."""

_PART: Final = 1024
"""Matrices that are computed together: so many that every backend takes the kernel that it takes for more, so few that
looking for a bad one costs little."""


class MaskedResult(NamedTuple):
    """A result, NaN where the status is not 0, and the status of each matrix: 0 fine, 1 not finite, 2 failed."""

    result: Tensor
    status: Tensor

    def __repr__(self) -> str:
        return fields_text(self)


def masked(run: Run, operation: str, a: Tensor, b: Tensor | None = None) -> tuple[tuple[Tensor, ...], Tensor]:
    """Results and status of a function whose operands have passed every check on metadata.

    Args:
        run: the function without its check of values; from operands to floating results, each [core axes..., B...].
        operation: its name.
        a: shape [M, N, B...].
        b: shape [N, K, B...] or [N], of which the batch axes broadcast against those of ``a``.

    Returns:
        The results, NaN where the status is not 0; and I32 [B...].

    >>> import tensor_runtime as tr
    >>> (x,), status = masked(lambda a: (tr.copy(a),), "copy", tr.tensor([[float("inf")]]))
    >>> x.item(), status.item()
    (nan, 1)
    """
    batch = a.shape[2:] if b is None else broadcast_batches(operation, a.shape[2:], b.shape[2:])
    count = prod(batch)
    operands = [a] if b is None else [a, b]
    finite = [all(isfinite(x), tuple(range(min(2, x.rank)))) for x in operands]
    harmless = [eye(a.shape[0], a.shape[1], dtype=a.dtype, placement=a.placement)]
    if b is not None:
        harmless.append(zeros(b.shape[:2], dtype=b.dtype, placement=b.placement))
    clean = [
        where(ok, x, _as_batch(stand_in, x.rank)) if holds(any(logical_not(ok))) else x
        for ok, x, stand_in in zip(finite, operands, harmless, strict=True)
    ]
    good = finite[0] if b is None else logical_and(*(_spread(ok, batch) for ok in finite))
    if not batch or count == 0:
        found, failed = _alone(run, clean, harmless)
        status: Tensor = full(batch, 2 if failed else 0, dtype=I32, placement=a.placement)
    else:
        found, status = _in_parts(run, [_flat(x, batch) for x in clean], harmless, count)
        found = tuple(reshape(one, (*one.shape[:-1], *batch)) for one in found)
        status = reshape(status, batch)
    status = where(good, status, full((), 1, dtype=I32, placement=a.placement))
    fine = equal(status, 0)
    if holds(any(logical_not(fine))):
        found = tuple(where(fine, one, nan) for one in found)
    return found, status


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


def _alone(run: Run, operands: list[Tensor], harmless: list[Tensor]) -> tuple[tuple[Tensor, ...], bool]:
    try:
        return run(*operands), False
    except LinalgError:
        return run(*(_as_batch(one, x.rank) for one, x in zip(harmless, operands, strict=True))), True


def _in_parts(
    run: Run, operands: list[Tensor], harmless: list[Tensor], count: int
) -> tuple[tuple[Tensor, ...], Tensor]:
    whole: tuple[Tensor, ...] = ()
    bad: list[int] = []
    for start in range(0, count, _PART):
        part = [_slice(x, start, start + _PART) for x in operands]
        try:
            found = run(*part)
        except LinalgError as error:
            length = min(_PART, count - start)
            blamed = list(_blamed(run, part, error, 0, length))
            fine = equal(_status(blamed, length, part[0]), 0)
            found = run(
                *(
                    where(fine, x, _as_batch(one, 3)) if x.rank > 2 else one if len(blamed) == length else x
                    for x, one in zip(part, harmless, strict=True)
                )
            )
            bad += [start + one for one in blamed]
        if count <= _PART:
            return found, _status(bad, count, operands[0])
        whole = whole or tuple(
            zeros((*one.shape[:-1], count), dtype=one.dtype, placement=one.placement) for one in found
        )
        for into, one in zip(whole, found, strict=True):
            mutable_view(into)[..., start : start + _PART] = one
    return whole, _status(bad, count, operands[0])


def _slice(x: Tensor, start: int, stop: int) -> Tensor:
    """Matrices of a part; one that is shared by all is in every part."""
    return x if x.rank <= 2 else x[..., start:stop]


def _blamed(run: Run, operands: list[Tensor], error: LinalgError, start: int, stop: int) -> Iterator[int]:
    """Which matrices raise, given the error of all of them. It names the first; the others are looked for in halves."""
    where_it_is: Any = getattr(error, "batch_index", None)
    if operands[0].rank <= 2:  # one matrix for all right-hand sides
        yield from range(start, stop)
        return
    first = start + (where_it_is[0] if where_it_is else 0)
    if where_it_is or stop - start == 1:
        yield first
        first += 1
    middle = (first + stop) // 2
    for low, high in ((first, middle), (middle, stop)):
        if low < high:
            try:
                run(*(_slice(x, low, high) for x in operands))
            except LinalgError as another:
                yield from _blamed(run, operands, another, low, high)


def _status(bad: list[int], count: int, like: Tensor) -> Tensor:
    """2 at these indices, 0 elsewhere, made where the operand is."""
    parts = []
    done = 0
    for one in bad:
        parts += [
            full(one - done, 0, dtype=I32, placement=like.placement),
            full(1, 2, dtype=I32, placement=like.placement),
        ]
        done = one + 1
    parts.append(full(count - done, 0, dtype=I32, placement=like.placement))
    return concatenate(parts)
