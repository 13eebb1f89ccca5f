"""Contracts of views, and of what copies and writes.

The runtime has worked out the form of a view, shape and strides; a backend whose arrays are a buffer and the place of
the first element needs the parameters of ``reverse_view`` and ``slice_view`` alone, for the place.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare


class TransposeParams(NamedTuple):
    """Where the axes of the result come from."""

    axes: tuple[int, ...] | None
    """Axis k of the result is axis ``axes[k]`` of the operand, counted from either end; None reverses all of them."""


class ReshapeParams(NamedTuple):
    """The shape that is asked for."""

    shape: tuple[int, ...]
    """That of the result; of as many elements as the operand, in the same column-major order."""


class BroadcastParams(NamedTuple):
    """The shape that is asked for."""

    shape: tuple[int, ...]
    """That of the result; the operand's axes are aligned at its last one, and what is repeated has stride 0."""


class DiagonalParams(NamedTuple):
    """The two axes whose indices are equal; the diagonal is the last axis of the result."""

    first: int
    """An axis of the operand; negative ones count from the end."""
    second: int
    """Another axis, of the same extent."""


class ReverseParams(NamedTuple):
    """Along which axes the view runs backwards."""

    axes: tuple[int, ...]
    """Each named once, negative ones counting from the end; may be empty."""


class SliceParams(NamedTuple):
    """What a basic index is made of, but for where each axis starts."""

    entries: tuple[tuple[int, int] | tuple[()] | None, ...]
    """In order, one for each axis of the operand: (extent of the result, step), where the step may be negative, or ()
    for an axis that an int takes away; and None wherever the result gets a new axis of extent 1."""


class ConvertParams(NamedTuple):
    """What becomes of a value that an integer dtype cannot hold."""

    overflow: Literal["error", "saturate", "wrap"]
    """"error" refuses the first such element in column-major order with ``CastRangeError``; "saturate" takes the
    nearest integer, and 0 for NaN; "wrap" the integer modulo 2**n, and 0 for NaN and infinities."""


_X = {"x": "any dtype and layout"}
_VIEW = "a view of the operand's elements, laid out as the form of the result says"
_COPY = "owned, compact, of the operand's shape"

KERNELS: Final = declare(
    [
        Contract("transpose_view", "The axes in another order.", _X, _VIEW, TransposeParams),
        Contract(
            "reshape_view", "Another shape; the runtime has made sure that no copy is needed.", _X, _VIEW, ReshapeParams
        ),
        Contract("broadcast_view", "A larger shape, of repeated elements.", _X, _VIEW, BroadcastParams),
        Contract("diagonal_view", "The elements whose indices on two axes are equal.", _X, _VIEW, DiagonalParams),
        Contract("reverse_view", "Backwards along axes: it starts at their last elements.", _X, _VIEW, ReverseParams),
        Contract(
            "slice_view",
            "Basic indexing; where each axis starts is an argument, so that all slices of a kind share a binding.",
            _X,
            _VIEW,
            SliceParams,
            {"starts": "a tuple of ints, one for each axis of the operand, each from 0 to its extent"},
        ),
        Contract(
            "mutable_view",
            "The same array, if it may be written; raises ReadOnlyError if not.",
            _X,
            "the operand itself; what copy_into writes to it, the operand shows",
        ),
        Contract("copy", "A copy.", _X, _COPY),
        Contract(
            "copy_into",
            "Writes the second array's elements into the first; overlapping ones, as if the second were copied first.",
            {
                "target": "any layout that names no element twice; bound as the result, too",
                "source": "the target's shape, a dtype that converts to the target's; any layout",
            },
            "None; the target has changed",
        ),
        Contract(
            "convert",
            "Another dtype, which can hold all values of the operand's (I64 to F64 and C64 rounds).",
            _X,
            f"{_COPY}, of another dtype",
            ConvertParams,
        ),
        Contract(
            "cast",
            "Any other dtype, as tensor_core.scalar_conversion.cast_scalar says for one element.",
            _X,
            f"{_COPY}, of any dtype",
            ConvertParams,
        ),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
