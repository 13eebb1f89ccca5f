"""What the backend computes with functions of PyTorch, beside linear algebra; a function for each family of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import torch

from tensor_core.dtypes import Bool, DType
from tensor_core.promotion import promote, promote_scalar
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand
from torch_backend.arrays import DTYPES, Array, device_of, owned, seen, stored, stretched, whole


def _by_parts(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function of complex numbers that does the same to both parts."""

    def compute(x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_complex(function(torch.view_as_real(x))) if x.is_complex() else function(x)

    return compute


def _rounding(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that leaves whole numbers as they are, Bool among them."""
    return _by_parts(lambda x: function(x) if x.is_floating_point() else x.clone())


def _sqrt(x: torch.Tensor) -> torch.Tensor:
    """The square root, correctly rounded: on some processors ``torch.sqrt`` of F64 is a unit off; a step mends it.

    The residual of the root is computed without a rounding, from halves of its digits (Dekker, Numer. Math. 18, 1971).
    """
    found = torch.sqrt(x)
    if x.dtype is not torch.float64:
        return found
    mantissa, exponent = torch.frexp(x)
    odd = exponent % 2
    m = torch.where(odd == 1, mantissa / 2, mantissa)
    root = torch.sqrt(m)
    large = root * 134217729.0
    high = large - (large - root)
    low = root - high
    residual = ((m - high * high) - 2 * high * low) - low * low
    better = torch.ldexp(root + residual / (2 * root), torch.div(exponent + odd, 2, rounding_mode="floor"))
    return torch.where((x > 0) & torch.isfinite(x), better, found)


COMPARING: Mapping[str, Callable[..., torch.Tensor]] = {
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "logical_not": torch.logical_not,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "isfinite": torch.isfinite,
    "signbit": torch.signbit,
    "abs": torch.abs,
    "real": torch.real,
    "imag": lambda x: torch.imag(x) if x.is_complex() else torch.zeros_like(x),
}
"""Functions whose operands are of their common dtype, whatever that of the result."""

ELEMENTWISE: Mapping[str, Callable[..., torch.Tensor]] = {
    **COMPARING,
    "add": lambda x, y: torch.logical_or(x, y) if x.dtype is torch.bool else torch.add(x, y),
    "subtract": torch.subtract,
    "multiply": torch.multiply,
    "divide": torch.divide,
    "negative": _by_parts(torch.negative),
    "positive": torch.clone,
    "conj": torch.conj_physical,
    "sqrt": _sqrt,
    "rsqrt": torch.rsqrt,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "copysign": torch.copysign,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "floor": _rounding(torch.floor),
    "ceil": _rounding(torch.ceil),
    "trunc": _rounding(torch.trunc),
    "round": _rounding(torch.round),
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "bitwise_invert": torch.bitwise_not,
}
"""Elementwise kernels, by their names."""


def bind_elementwise(name: str, operands: tuple[Operand, ...], result: Form, params: Any) -> Kernel:
    """Any of :data:`ELEMENTWISE`; numbers become tensors of rank 0."""
    dtype = _common(operands) if name in COMPARING else result.dtype
    wanted, device, function = DTYPES[dtype], device_of(result.placement), ELEMENTWISE[name]
    given = [stretched(one, result.shape) if isinstance(one, Form) else None for one in operands]

    def compute(*found: Any) -> torch.Tensor:
        tensors = [
            one.to(wanted) if isinstance(one, torch.Tensor) else torch.tensor(one, dtype=wanted, device=device)
            for one in found
        ]
        return function(*tensors)

    return owned(compute, result, *given)


def bind_where(name: str, operands: tuple[Operand, ...], result: Form, params: Any) -> Kernel:
    """The condition is Bool, the others are converted to the result's dtype."""
    wanted, device = DTYPES[result.dtype], device_of(result.placement)
    given = [stretched(one, result.shape) if isinstance(one, Form) else None for one in operands]

    def compute(condition: Any, *found: Any) -> torch.Tensor:
        x, y = (torch.as_tensor(one, device=device).to(wanted) for one in found)
        return torch.where(torch.as_tensor(condition, device=device), x, y)

    return owned(compute, result, *given)


def _common(operands: tuple[Operand, ...]) -> DType:
    dtypes = [one.dtype for one in operands if isinstance(one, Form)]
    dtype = promote(*dtypes)
    for one in operands:
        if not isinstance(one, Form):
            dtype = promote_scalar(dtype, one)
    return dtype


def bind_view(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """The array itself: the form has the strides, and two views move the first element."""
    (form,) = operands
    if name == "slice_view":
        strides = form.strides

        def sliced(array: Array, starts: tuple[int, ...]) -> Array:
            further = sum(start * stride for start, stride in zip(starts, strides, strict=True))
            return Array(array.row, array.offset + further)

        return sliced
    if name == "reverse_view" and form.size:
        last = sum((form.shape[axis] - 1) * form.strides[axis] for axis in {one % form.rank for one in params.axes})
        return lambda array: Array(array.row, array.offset + last)
    return lambda array: array


def bind_copy_into(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """Writes or adds through a view that runs forwards; the source is turned around where the target runs backwards."""
    target, source = operands
    if not target.size:
        return lambda x, y: None
    backwards = [axis for axis, stride in enumerate(target.strides) if stride < 0]
    back = sum((target.shape[axis] - 1) * target.strides[axis] for axis in backwards)
    strides = tuple(map(abs, target.strides))
    see = whole(source)

    def kernel(x: Array, y: Array) -> None:
        found = see(y).flip(backwards) if backwards else see(y)
        if x.row.untyped_storage().data_ptr() == y.row.untyped_storage().data_ptr():
            found = found.clone()
        place = x.row.as_strided(target.shape, strides, x.offset + back)
        if name == "copy_into":
            place.copy_(found)
        elif place.dtype is torch.bool:
            place.logical_or_(found)
        else:
            place.add_(found)

    return kernel


def bind_copy(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """A copy, of another dtype where it is asked for."""
    return owned(lambda x: x, result, whole(operands[0]))


def bind_creation(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """Arrays of numbers; those of ``arange`` are computed as the contract says."""
    dtype, device = DTYPES[result.dtype], device_of(result.placement)
    shape = result.shape
    if name == "full":
        return lambda value: Array(torch.full((result.size,), value, dtype=dtype, device=device), 0)
    if name == "empty":
        return lambda: Array(torch.empty(result.size, dtype=dtype, device=device), 0)
    if name == "eye":
        return lambda: stored(torch.eye(*shape, dtype=dtype, device=device), result)

    def arange(start: float, step: float) -> Array:
        exact = torch.int64 if type(start) is int and type(step) is int else torch.float64
        numbers = torch.arange(shape[0], dtype=exact, device=device)
        return stored(numbers * step + start, result)

    return arange


def bind_reduction(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """Over the axes that are named; whether the result keeps them is the same row of elements."""
    (form,) = operands
    axis = params.axis
    every = range(form.rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = sorted({one % form.rank for one in every})
    kept = tuple(extent for place, extent in enumerate(form.shape) if place not in axes)
    reduced = prod(form.shape[one] for one in axes)
    wanted = DTYPES[result.dtype]

    def compute(x: torch.Tensor) -> torch.Tensor:
        lines = x.movedim(axes, tuple(range(-len(axes), 0))).reshape(*kept, reduced) if axes else x.unsqueeze(-1)
        if name == "sum":
            found = lines.sum(-1, dtype=wanted)
        elif name == "prod":
            found = lines.prod(-1, dtype=wanted)
        elif name in ("any", "all"):
            found = getattr(lines != 0, name)(-1)
        else:
            found = getattr(torch, "amax" if name == "max" else "amin")(lines, -1)
        return found.reshape(result.shape)

    return owned(compute, result, whole(form))


def bind_scan(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """Running sums and products."""
    axis = 0 if params.axis is None else params.axis
    function = torch.cumsum if name == "cumsum" else torch.cumprod
    return owned(lambda x: function(x, axis, dtype=DTYPES[result.dtype]), result, whole(operands[0]))


def bind_joining(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """``concatenate`` and ``stack``."""
    function, wanted = torch.cat if name == "concatenate" else torch.stack, DTYPES[result.dtype]
    return owned(lambda *x: function([one.to(wanted) for one in x], params.axis), result, *map(whole, operands))


def bind_triangle(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """``tril`` and ``triu``, of any two axes."""
    axes, function = params.axes, getattr(torch, name)
    return owned(
        lambda x: function(x.movedim(axes, (-2, -1)), params.k).movedim((-2, -1), axes), result, whole(operands[0])
    )


def bind_contract(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """Sums of products by ``torch.einsum``; of Bool, or of and."""
    labels = {label: place for place, label in enumerate(dict.fromkeys((*params.a, *params.b, *params.result)))}
    a, b, out = ([labels[one] for one in group] for group in (params.a, params.b, params.result))
    wanted = torch.int32 if result.dtype is Bool else DTYPES[result.dtype]
    conjugated = name == "conj_contract"

    def compute(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = x.to(wanted), y.to(wanted)
        return torch.einsum(x.conj() if conjugated else x, a, y, b, out)

    return owned(compute, result, *map(whole, operands))


def bind_unary_einsum(name: str, operands: tuple[Form, ...], result: Form, params: Any) -> Kernel:
    """Diagonals are views of summed strides; then sums, and a diagonal of the result is written by such a view."""
    (form,) = operands
    given = list(dict.fromkeys(params.operand))
    kept = list(dict.fromkeys(params.result))
    extents = dict(zip(params.operand, form.shape, strict=True))
    strides = dict.fromkeys(given, 0)
    for label, stride in zip(params.operand, form.strides, strict=True):
        strides[label] += stride
    see = seen([extents[one] for one in given], [strides[one] for one in given])
    summed = [place for place, label in enumerate(given) if label not in kept]
    left = [label for label in given if label in kept]
    order = [left.index(label) for label in kept]
    wanted = DTYPES[result.dtype]
    steps = dict.fromkeys(kept, 0)
    for label, stride in zip(params.result, result.strides, strict=True):
        steps[label] += stride

    def kernel(array: Array) -> Array:
        x = see(array)
        if summed:
            x = (x != 0).any(summed) if wanted is torch.bool else x.sum(summed, dtype=wanted)
        row = torch.zeros(result.size, dtype=wanted, device=x.device)
        if result.size:
            row.as_strided([extents[one] for one in kept], [steps[one] for one in kept]).copy_(x.permute(order))
        return Array(row, 0)

    return kernel


TABLE: Mapping[str, Callable[..., Kernel]] = {
    **dict.fromkeys(ELEMENTWISE, bind_elementwise),
    "where": bind_where,
    **{f"{name}_view": bind_view for name in ("transpose", "reshape", "broadcast", "diagonal", "reverse", "slice")},
    "mutable_view": bind_view,
    **dict.fromkeys(("copy_into", "add_into"), bind_copy_into),
    "copy": bind_copy,
    "convert": bind_copy,
    **dict.fromkeys(("full", "empty", "eye", "arange"), bind_creation),
    **dict.fromkeys(("sum", "prod", "max", "min", "any", "all"), bind_reduction),
    **dict.fromkeys(("cumsum", "cumprod"), bind_scan),
    **dict.fromkeys(("concatenate", "stack"), bind_joining),
    **dict.fromkeys(("tril", "triu"), bind_triangle),
    **dict.fromkeys(("contract", "conj_contract"), bind_contract),
    "unary_einsum": bind_unary_einsum,
}
"""Each kernel with what binds it."""
