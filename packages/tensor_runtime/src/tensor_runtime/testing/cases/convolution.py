"""Cases of ``tensor_runtime.ops.convolution``, by a loop over every window, filter element and channel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import ceil, inf, nan
from typing import Any, Final

from tensor_core.dtypes import C64, DTYPES, F32, F64, I32, I64, NUMERIC, Bool
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_core.scalar_conversion import convert_scalar
from tensor_core.shapes import Shape
from tensor_runtime.ops.convolution import conv
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated, whole_numbers

Pairs = tuple[tuple[int, int], ...]

_WINDOWS: Final[tuple[tuple[str, Shape, Shape, dict[str, Any]], ...]] = (
    ("one axis", (2, 5, 2), (3, 2, 3), {}),
    ("two axes", (2, 4, 3, 2), (3, 2, 2, 2), {}),
    ("three axes", (1, 3, 2, 3, 2), (2, 2, 2, 2, 1), {}),
    ("strides", (1, 5, 6, 2), (2, 3, 2, 2), {"strides": (2, 3)}),
    ("strides beyond the filter", (2, 9, 1), (2, 1, 2), {"strides": 4}),
    ("SAME", (1, 5, 4, 1), (3, 2, 1, 2), {"padding": "SAME"}),
    ("SAME with strides", (1, 5, 6, 1), (3, 3, 1, 2), {"strides": 2, "padding": "SAME"}),
    ("SAME with a filter larger than the operand", (1, 2, 1), (5, 1, 1), {"padding": "SAME"}),
    ("SAME with dilation", (1, 5, 1), (3, 1, 2), {"padding": "SAME", "dilation": 2}),
    ("explicit padding", (2, 3, 2, 1), (2, 2, 1, 2), {"padding": ((1, 0), (0, 2))}),
    ("negative padding", (2, 5, 4, 1), (2, 2, 1, 2), {"padding": ((-1, 1), (0, -1))}),
    ("dilation", (1, 6, 5, 2), (2, 3, 2, 1), {"dilation": (3, 2)}),
    ("groups", (2, 4, 4), (2, 2, 6), {"groups": 2}),
    ("depthwise", (2, 4, 3), (2, 1, 3), {"groups": 3, "padding": "SAME"}),
    ("everything", (2, 6, 5, 4), (2, 2, 2, 2), {"strides": 2, "padding": ((1, 2), (0, 1)), "dilation": 2, "groups": 2}),
    ("a filter of one element", (3, 4, 2), (1, 2, 3), {}),
    ("a filter as large as the operand", (3, 2, 2, 2), (2, 2, 2, 3), {}),
    ("a filter larger than the operand", (2, 2, 4, 1), (3, 1, 1, 2), {}),
    ("nothing in the batch", (0, 4, 2), (2, 2, 3), {}),
    ("no channels", (2, 4, 0), (2, 0, 3), {}),
    ("no filters", (2, 4, 2), (2, 2, 0), {}),
    ("no elements along an axis", (2, 0, 2), (2, 2, 3), {"padding": ((1, 2),)}),
)
_REFUSED: Final[tuple[tuple[str, Shape, Shape, dict[str, Any], Any], ...]] = (
    ("rank 2 refused", (2, 3), (3, 3), {}, ShapeError),
    ("ranks that differ", (2, 5, 6, 3), (3, 3, 4), {}, ShapeError),
    ("channels that differ", (2, 5, 3), (2, 4, 1), {}, ShapeError),
    ("groups that do not divide", (2, 5, 3), (2, 1, 4), {"groups": 2}, ShapeError),
    ("a filter of no elements", (2, 5, 3), (0, 3, 4), {}, ShapeError),
    ("unknown padding", (2, 5, 3), (2, 3, 4), {"padding": "FULL"}, ArgumentError),
    ("strides of 0", (2, 5, 3), (2, 3, 4), {"strides": 0}, ArgumentError),
    ("too many strides", (2, 5, 3), (2, 3, 4), {"strides": (1, 1)}, ArgumentError),
    ("padding that removes all", (2, 5, 3), (2, 3, 4), {"padding": ((-3, -3),)}, ShapeError),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x, filters = whole_numbers((2, 4, 3, 2), dtype), whole_numbers((2, 2, 2, 2), dtype, -2, 7)
        if dtype in NUMERIC:
            yield case_of(str(dtype), x, filters)
        else:
            yield refused("conv", f"{dtype} refused", (x, filters), conv, DTypeError)
    for one, two in ((I32, F32), (Bool, I32), (F32, C64), (I64, I32)):
        yield case_of(f"{one} with {two}", whole_numbers((1, 4, 2), one), whole_numbers((2, 2, 2), two, -2, 7))
    for label, of_x, of_filters, options in _WINDOWS:
        for dtype in (F64, I64):
            x, filters = whole_numbers(of_x, dtype), whole_numbers(of_filters, dtype, -2, 7)
            yield case_of(f"{label}, {dtype}", x, filters, **options)
    for label, of_x, of_filters, options, error in _REFUSED:
        operands = whole_numbers(of_x, F64), whole_numbers(of_filters, F64)
        yield refused("conv", label, operands, partial(conv, **options), error)
    wrapping = HostTensor.from_flat([2**31 - 1, 2, 3], (1, 3, 1), I32)
    yield case_of("I32 wraps", wrapping, HostTensor.from_flat([2**30, 3], (2, 1, 1), I32))
    special = HostTensor.from_flat([1.0, inf, nan, -inf, 2.0], (1, 5, 1), F64)
    yield case_of("NaN and infinities", special, HostTensor.from_flat([1.0, 2.0], (2, 1, 1), F64))


def case_of(label: str, x: Host, filters: Host, /, **options: Any) -> Case:
    """Two operands, by :func:`convolved`. Sums of whole numbers are exact; the unit allowed hides the sign of zero."""
    return Case(
        "conv", label, (x, filters), partial(conv, **options), partial(convolved, x, filters, **options), ulps=1
    )


def convolved(
    x: Host,
    filters: Host,
    /,
    *,
    strides: int | Shape = 1,
    padding: str | Pairs = "VALID",
    dilation: int | Shape = 1,
    groups: int = 1,
) -> Host:
    """The definition, one product at a time.

    >>> x, edge = HostTensor.from_flat([1, 2, 4], (1, 3, 1)), HostTensor.from_flat([-1, 1], (2, 1, 1))
    >>> convolved(x, edge).to_flat()
    [1, 2]
    """
    spatial, taps, dtype = x.shape[1:-1], filters.shape[:-2], promote(x.dtype, filters.dtype)
    steps, gaps = per_axis(strides, len(spatial)), per_axis(dilation, len(spatial))
    pairs = pairs_of(padding, spatial, taps, steps, gaps)
    counts = window_counts(spatial, taps, steps, pairs, gaps)
    of_group = filters.shape[-1] // groups

    def rule(index: Index) -> Any:
        n, *place, f = index
        total: Any = 0
        for tap in indices(taps):
            where = [o * s + k * d - b for o, s, k, d, (b, _) in zip(place, steps, tap, gaps, pairs, strict=True)]
            inside = all(0 <= i < extent for i, extent in zip(where, spatial, strict=True))
            for c in range(filters.shape[-2]):
                channel = f // of_group * filters.shape[-2] + c
                element: Any = x[n, *where, channel] if inside else convert_scalar(False, Bool, x.dtype)
                weight = filters[*tap, c, f]
                total += convert_scalar(element, x.dtype, dtype) * convert_scalar(weight, filters.dtype, dtype)
        return total

    return tabulated((x.shape[0], *counts, filters.shape[-1]), dtype, rule)


def per_axis(value: int | Shape, rank: int, /) -> Shape:
    """One number for each spatial axis.

    >>> per_axis(2, 3)
    (2, 2, 2)
    """
    return (value,) * rank if isinstance(value, int) else value


def pairs_of(padding: str | Pairs, spatial: Shape, taps: Shape, steps: Shape, gaps: Shape, /) -> Pairs:
    """Padding in front and behind, by TensorFlow's rule for "SAME".

    >>> pairs_of("SAME", (5, 6), (3, 3), (2, 2), (1, 1))
    ((1, 1), (0, 1))
    """
    if not isinstance(padding, str):
        return padding
    totals = [
        max(0, (ceil(extent / s) - 1) * s + (k - 1) * d + 1 - extent) if padding == "SAME" and extent else 0
        for extent, k, s, d in zip(spatial, taps, steps, gaps, strict=True)
    ]
    return tuple((total // 2, total - total // 2) for total in totals)


def window_counts(spatial: Shape, taps: Shape, steps: Shape, pairs: Pairs, gaps: Shape, /) -> Shape:
    """How many windows there are along each axis, counted one by one.

    >>> window_counts((5, 6), (3, 3), (2, 2), ((1, 1), (0, 1)), (1, 1))
    (3, 3)
    """
    return tuple(
        len(range(-before, extent + after - (k - 1) * d, s))
        for extent, k, s, (before, after), d in zip(spatial, taps, steps, pairs, gaps, strict=True)
    )
