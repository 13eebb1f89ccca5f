"""Cases of ``tensor_runtime.ops.creation``: tensors from a rule or from Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, I64, DType
from tensor_core.errors import CastRangeError, DTypeError, ShapeError, TensorError
from tensor_runtime.ops import creation
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Index, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        for shape in ((), (3,), (0, 2), (2, 3)):
            label = f"{dtype} {shape}"
            yield _case("zeros", label, (shape,), {"dtype": dtype}, partial(_always, 0), shape, dtype)
            yield _case("ones", label, (shape,), {"dtype": dtype}, partial(_always, 1), shape, dtype)
        value = {"bool": True, "int": -7, "float": -0.5, "complex": 2 - 1j}[dtype.kind]
        yield _case("full", str(dtype), ((2, 2), value), {"dtype": dtype}, partial(_always, value), (2, 2), dtype)
    yield _case("full", "a negative zero", ((2,), -0.0), {}, partial(_always, -0.0), (2,), F64)
    for dtype in DTYPES:
        matrix = whole_numbers((2, 2), dtype)
        yield _case(
            "tensor", f"nested {dtype}", (matrix.to_nested(),), {"dtype": dtype}, matrix.__getitem__, (2, 2), dtype
        )
        for order in ("F", "C"):
            flat = matrix.to_flat(order=order)
            options = {"dtype": dtype, "order": order}
            yield _case("from_flat", f"{dtype} {order}", (flat, (2, 2)), options, matrix.__getitem__, (2, 2), dtype)
    yield _case("tensor", "natural dtype", ([1, 2.5],), {}, lambda index: [1.0, 2.5][index[0]], (2,), F64)
    yield from _refusals()


def _always(value: Any, index: Index) -> Any:
    return value


def _case(
    name: str,
    label: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    rule: Callable[[Index], Any],
    shape: tuple[int, ...],
    dtype: DType,
) -> Case:
    return made_case(getattr(creation, name), label, arguments, options, rule, shape, dtype)


def made_case(
    function: Callable[..., Any],
    label: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    rule: Callable[[Index], Any],
    shape: tuple[int, ...],
    dtype: DType,
) -> Case:
    """A case of a function that makes a tensor, whose element at an index is ``rule(index)``."""
    return Case(
        function.__name__,
        label,
        (),
        lambda place: function(*arguments, **options, placement=place),
        lambda: tabulated(shape, dtype, rule),
    )


def _refusals() -> Iterator[Case]:
    rows: tuple[tuple[str, str, Callable[..., Any], type[TensorError]], ...] = (
        ("zeros", "negative extent", lambda place: creation.zeros((-1,), placement=place), ShapeError),
        ("ones", "no dtype", lambda place: creation.ones(2, dtype="F16", placement=place), DTypeError),
        ("full", "out of range", lambda place: creation.full(2, 2**31, dtype=I32, placement=place), CastRangeError),
        ("full", "float into I64", lambda place: creation.full(2, 0.5, dtype=I64, placement=place), DTypeError),
        ("tensor", "ragged", lambda place: creation.tensor([[1], [1, 2]], placement=place), ShapeError),
        ("from_flat", "another size", lambda place: creation.from_flat([1], (2,), placement=place), ShapeError),
    )
    for name, label, call, error in rows:
        yield refused(name, label, (), call, error)
