"""``pad``: a tensor with more elements around it, or around and between its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensor_core.errors import ArgumentError, ShapeError, shortened
from tensor_core.scalar_conversion import to_element
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.arguments import choice, whole, wholes
from tensor_runtime.dispatch.call import execute_several, execute_with_params
from tensor_runtime.dispatch.conversion import as_number
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.static_types.results import same_dtype_into
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap

Ints = tuple[int, ...]
Padding = tuple[Ints, Ints, Ints]  # elements before, after, and between two neighbours, per axis


def padded_shape(operation: str, shape: Shape, *rest: Any) -> Shape:
    """Shape after padding: low + N + (N - 1)·interior + high; the params comes last, a scalar's shape may come before.

    >>> padded_shape("pad", (3, 2), (), ((1, 0), (-1, 0), (1, 0)))
    (5, 2)
    """
    low, high, interior = rest[-1]
    if rest[:-1] not in ((), ((),)):
        raise ShapeError(
            f"{operation}: the padding value has shape {rest[0]}; accepted: rank 0", operation=operation, shape=rest[0]
        )
    if not len(low) == len(high) == len(interior) == len(shape):
        raise ArgumentError(
            f"{operation}: {len(low)} low, {len(high)} high and {len(interior)} interior numbers for shape {shape}; "
            "give one of each per axis",
            operation=operation,
        )
    if any(between < 0 for between in interior):
        raise ArgumentError(f"{operation}: interior is {interior}; accepted: ints of 0 or more", operation=operation)
    result = []
    for axis, (n, before, after, between) in enumerate(zip(shape, low, high, interior, strict=True)):
        extent = before + n + max(n - 1, 0) * between + after
        if extent < 0:
            raise ShapeError(
                f"{operation}: axis {axis} of shape {shape} with low {before} and high {after} would get extent "
                f"{extent}; crop less",
                operation=operation,
                axis=axis,
            )
        result.append(extent)
    return tuple(result)


def _edged_shape(operation: str, shape: Shape, params: Padding, /) -> Shape:
    low, high, _ = params
    for axis, (n, before, after) in enumerate(zip(shape, low, high, strict=True)):
        if n == 0 and before + after > 0:
            raise ArgumentError(
                f"{operation}: axis {axis} of shape {shape} has no element to repeat; use mode='constant'",
                operation=operation,
                axis=axis,
            )
    return padded_shape(operation, shape, params)


PAD: Final = OpSpec("pad", result_shape=padded_shape, takes_params=True)
PAD_EDGE: Final = OpSpec("pad", result_shape=_edged_shape, takes_params=True, kernel="pad_edge")


@same_dtype_into
def pad(
    x: Tensor,
    /,
    pad_width: int | Sequence[int | Sequence[int]],
    mode: str = "constant",
    *,
    constant_values: Number = 0,
    out: Out = None,
) -> Tensor:
    """Tensor with elements before and after its own along each axis, as NumPy's ``pad`` in two of its modes.

    ``primitives.pad`` also crops (negative padding) and pads between elements (interior padding).

    Args:
        x: any dtype and layout.
        pad_width: an int for all sides, a pair (before, after) for all axes, or a pair per axis; 0 or more.
        mode: "constant" for one value, "edge" for the nearest element.
        constant_values: a Python number that the operand's dtype can hold; an argument of the kernel.

    Returns:
        An owned tensor of the operand's dtype.

    Raises:
        ArgumentError: another mode, widths below 0 or not in one of the three forms, or edges of an axis of extent 0.
        DTypeError: the value's kind does not fit the dtype.
        CastRangeError: the value is outside the dtype's range.

    >>> pad(tensor([1, 2]), (1, 2)).to_numpy().tolist(), pad(tensor([1, 2]), 1, "edge").to_numpy().tolist()
    ([0, 1, 2, 0, 0], [1, 1, 2, 2])
    """
    form, _ = unwrap("pad", x)
    pairs = _pairs(pad_width, form.rank)
    params = (tuple(low for low, _ in pairs), tuple(high for _, high in pairs), (0,) * form.rank)
    if choice("pad", "mode", mode, ("constant", "edge")) == "edge":
        return execute_with_params(PAD_EDGE, x, params, out)
    value = as_number("pad", constant_values)
    if value == 0 and type(value) is int:
        value = False  # the zero of every dtype, of Bool as well
    result = execute_several(PAD, (x,), params, to_element(value, form.dtype))
    return result if out is None else written("pad", out, result, x)


def _pairs(widths: Any, rank: int) -> list[tuple[int, int]]:
    """One pair (before, after) per axis, from the forms that NumPy takes."""
    if not isinstance(widths, (tuple, list)):
        number = whole("pad", "pad_width", widths)
        pairs = [(number, number)] * rank
    elif widths and all(isinstance(one, (tuple, list)) and len(one) in (1, 2) for one in widths):
        each = [wholes("pad", "pad_width", one) for one in widths]
        pairs = [(one[0], one[-1]) for one in (each * rank if len(each) == 1 else each)]
    elif len(widths) in (1, 2) and not any(isinstance(one, (tuple, list)) for one in widths):
        flat = wholes("pad", "pad_width", widths)
        pairs = [(flat[0], flat[-1])] * rank
    else:
        pairs = []
    if len(pairs) != rank or any(number < 0 for pair in pairs for number in pair):
        raise ArgumentError(
            f"pad: pad_width is {shortened(widths)} for rank {rank}; accepted: an int, a pair (before, after), or a "
            "pair per axis, of ints of 0 or more (primitives.pad crops)",
            operation="pad",
        )
    return pairs
