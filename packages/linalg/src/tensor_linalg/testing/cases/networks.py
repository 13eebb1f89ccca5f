"""Conformance cases of truncated decompositions and of splits: what the factors multiply to, and what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import nan
from typing import Any, Final

from tensor_core.dtypes import C32, C64, F32, F64, I64
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_linalg.networks import split, svd_truncated
from tensor_linalg.testing.cases.matrices import identity
from tensor_linalg.testing.cases.rows import adjoint, masked, product
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.ops.arithmetic import multiply
from tensor_runtime.ops.contraction import tensordot
from tensor_runtime.ops.diagonals import tril
from tensor_runtime.ops.views import expand_dims, permute_axes, reshape
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers

_ULPS: Final = 400
"""Rounding units allowed, of the largest element."""
_SPLITS: Final = (
    ("svd", "left"),
    ("svd", "right"),
    ("svd", "both"),
    ("qr", "right"),
    ("lq", "left"),
    ("rq", None),
    ("polar", "left"),
    ("polar", "right"),
)


def cases() -> Iterator[Case]:
    """Every case of the room."""
    yield from _truncated()
    yield from _splits()


def _truncated() -> Iterator[Case]:
    name = "linalg.svd_truncated"
    for dtype in (F32, F64, C32, C64):
        for batch in ((), (2,)):
            a = _diagonal((4.0, 2.0, 1.0), batch, dtype)
            for label, options in (("max_rank", {"max_rank": 2}), ("cutoff", {"cutoff": 0.05}), ("all", {})):
                rank = 3 if label == "all" else 2
                wanted = partial(_truncated_wanted, a, rank)
                call = partial(_truncated_call, **options)
                yield _case(name, f"{dtype} batch {batch} {label}", a, call, _truncated_parts, wanted)
    for shape in ((0, 3), (3, 0), (2, 2, 0)):
        a = whole_numbers(shape, F64)
        label = f"shape {shape}"
        yield _case(name, label, a, _truncated_call, _truncated_parts, partial(_truncated_wanted, a, min(shape[:2])))
    yield from masked(name, lambda a: svd_truncated(a, cutoff=0.1, check="mask"))
    usual = whole_numbers((3, 3), F64)
    yield refused(name, "I64", (whole_numbers((3, 3), I64),), svd_truncated, DTypeError)
    yield refused(name, "rank 1", (whole_numbers((3,), F64),), svd_truncated, ShapeError)
    yield refused(name, "NaN", (HostTensor.from_nested([[nan]], F64),), svd_truncated, NonFiniteError)
    yield refused(name, "max_rank 0", (usual,), partial(svd_truncated, max_rank=0), ArgumentError)
    yield refused(name, "cutoff below 0", (usual,), partial(svd_truncated, cutoff=-1e-3), ArgumentError)


def _splits() -> Iterator[Case]:
    name = "linalg.split"
    for dtype in (F32, F64, C32, C64):
        x = whole_numbers((2, 3, 2, 2), dtype)
        for method, absorb in _SPLITS:
            call = partial(_split_call, method=method, absorb=absorb)
            parts = partial(_split_parts, method, absorb)
            wanted = partial(_split_wanted, x, method, absorb)
            yield _case(name, f"{dtype} {method} absorbed {absorb}", x, call, parts, wanted)
    for method in ("svd", "qr", "polar"):
        yield from masked(name, partial(_split_masked, method), method)
    x = whole_numbers((2, 3, 2), F64)
    yield refused(name, "an axis twice", (x,), lambda x: split(x, (0, 1), (1, 2)), ArgumentError)
    yield refused(name, "an axis out of range", (x,), lambda x: split(x, 3), ShapeError)
    yield refused(name, "qr with cutoff", (x,), lambda x: split(x, 0, method="qr", cutoff=0.1), ArgumentError)
    yield refused(name, "I64", (whole_numbers((2, 2), I64),), lambda x: split(x, 0), DTypeError)


def _case(
    name: str,
    label: str,
    a: Host,
    call: Callable[..., Any],
    parts: Callable[..., Any],
    wanted: Callable[[], Any],
) -> Case:
    return Case(name, label, (a,), call, wanted, _ULPS, compared=parts, reads=True)


def _diagonal(values: tuple[float, ...], batch: tuple[int, ...], dtype: Any) -> Host:
    """Matrices [4, 3, B...] with these values, in another order, on the diagonal."""
    return tabulated((4, 3, *batch), dtype, lambda index: values[2 - index[0]] if index[0] == index[1] else 0)


def _truncated_call(a: Tensor, **options: Any) -> tuple[Tensor, ...]:
    found: tuple[Any, ...] = svd_truncated(a, **options)
    return found[:4]


def _truncated_parts(a: Tensor, u: Tensor, s: Tensor, vh: Tensor, discarded: Tensor) -> tuple[Tensor, ...]:
    return product(multiply(u, expand_dims(s, 0)), vh), product(adjoint(u), u), discarded


def _truncated_wanted(a: Host, rank: int) -> tuple[Host, ...]:
    short, batch = min(a.shape[:2]), a.shape[2:]
    kept = tabulated(a.shape, a.dtype, lambda index: a[index] if short - index[0] <= rank else 0)
    lost = 1 / 21 if rank < short else 0.0
    return kept, identity((rank, rank, *batch), a.dtype), tabulated(batch, a.dtype.component, lambda index: lost)


def _split_call(x: Tensor, method: str, absorb: str | None) -> tuple[Tensor, ...]:
    left, _, right, _ = split(x, (2, 0), method=method, absorb=absorb)
    return left, right


def _split_masked(method: str, x: Tensor) -> Any:
    return split(x, 0, 1, method=method, batch_axes=2, check="mask")


def _split_parts(method: str, absorb: str | None, x: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, ...]:
    whole = permute_axes(tensordot(left, right, axes=1), (1, 2, 0, 3))
    rows, columns = reshape(left, (4, -1)), reshape(right, (-1, 6))
    if method == "qr":
        return whole, product(adjoint(rows), rows), tril(columns, -1, axes=(0, 1))
    if absorb == "both":
        return (whole,)
    if method == "polar" and absorb == "right":  # a wide matrix: its isometry has orthonormal rows
        return whole, product(rows, adjoint(rows))
    return whole, product(adjoint(rows), rows) if absorb == "right" else product(columns, adjoint(columns))


def _split_wanted(x: Host, method: str, absorb: str | None) -> tuple[Host, ...]:
    if absorb == "both":
        return (x,)
    one = identity((4, 4), x.dtype)
    return (x, one, HostTensor.zeros((4, 6), x.dtype)) if method == "qr" else (x, one)
