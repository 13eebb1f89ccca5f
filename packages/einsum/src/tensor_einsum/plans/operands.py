"""What ``plan`` is given for operands, which may be shapes alone: shapes, dtypes and forms of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import Any

from tensor_core.dtypes import F64, DType, DTypeLike, as_dtype
from tensor_core.errors import DTypeError, shortened
from tensor_core.shapes import LARGEST, Shape
from tensor_einsum.errors import ExtentError
from tensor_einsum.notation.network import shape_of
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor


def shapes_of(items: Sequence[Any]) -> tuple[Shape, ...]:
    """Shapes as they were given, or of what has one.

    Raises:
        ExtentError: no shape.

    >>> from tensor_runtime import ones
    >>> shapes_of([(2, 3), ones((3, 4)), [5]])
    ((2, 3), (3, 4), (5,))
    """
    if {*map(type, items)} == {tuple}:
        extents = [*chain.from_iterable(items)]
        if {*map(type, extents)} == {int} and min(extents) > 0 and max(map(prod, items)) <= LARGEST:  # nearly always
            return tuple(items)
    return tuple([shape_of("plan", position, item) for position, item in enumerate(items)])


def forms_of(items: Sequence[Any], shapes: Sequence[Shape], dtypes: Sequence[DType]) -> tuple[Form, ...]:
    """Forms of the tensors given; of a shape, compact beside the first tensor, or on ``cpu`` where there is none.

    >>> forms_of([(2, 3)], [(2, 3)], [F64])
    (Form(F64, (2, 3), cpu),)
    """
    from tensor_einsum.slices.needs import usual_home

    home = next((item.placement for item in items if isinstance(item, Tensor)), None) or usual_home()
    return tuple(
        [
            item._form if isinstance(item, Tensor) and item.dtype is dtype else form_of(dtype, shape, home)
            for item, shape, dtype in zip(items, shapes, dtypes, strict=True)
        ]
    )


def lie_as_usual(items: Sequence[Any]) -> bool:
    """Whether operands are what a plan takes shapes for: compact, on ``cpu``.

    >>> from tensor_runtime import ones
    >>> lie_as_usual([(2, 3), ones((2, 3))]), lie_as_usual([ones((2, 3)).T])
    (True, False)
    """
    for item in items:
        form = getattr(item, "_form", None)
        if form is not None and not (form.is_compact and form.placement is CPU):
            return False
    return True


def dtypes_of(items: Sequence[Any], dtype: DTypeLike | Sequence[DTypeLike] | None) -> tuple[DType, ...]:
    """Dtypes of the operands: the one given, one for each, or the own one of each that has one, and F64 for shapes.

    Raises:
        ExtentError: not as many as operands.
        DTypeError: an unknown dtype, or an array of one.

    >>> dtypes_of([(2,), (3,)], ["F32", "C64"])
    (F32, C64)
    """
    if dtype is None:
        return tuple([_dtype_of(position, item) for position, item in enumerate(items)])
    if isinstance(dtype, (list, tuple)):
        if len(dtype) != len(items):
            raise ExtentError(f"plan: found {len(dtype)} dtypes for {len(items)} operands; accepted: one, or one each")
        return tuple(map(as_dtype, dtype))
    return (as_dtype(dtype),) * len(items)


def _dtype_of(position: int, item: Any) -> DType:
    found = getattr(item, "dtype", F64)
    try:
        return as_dtype(found)
    except DTypeError as error:
        raise DTypeError(
            f"plan: operand {position} has dtype {shortened(found)}; accepted: the dtypes of tensors, or give dtype=",
            operation="plan",
        ) from error
