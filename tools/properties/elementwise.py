"""Property of the elementwise interpreter: any of its operations on any layouts against NumPy's kernel."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np

from properties import Property
from properties.native import extents_of, layout_of, some_processor, view_of
from tensor_core.dtypes import DTYPES, F64, Bool, DType
from tensor_core.promotion import promote
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.kernels.elementwise.native import bind_program
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.contracts.elementwise import ProgramStep
from tensor_runtime.contracts.views import ConvertParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

_ORDERED: Final = ("maximum", "minimum", "less", "less_equal", "greater", "greater_equal")
_TRUTHS: Final = ("equal", "not_equal", *_ORDERED[2:], "logical_and")
_SIGNED: Final = ("negative", "abs")
_NAMES: Final = ("add", "subtract", "multiply", "divide", *_ORDERED[:2], *_TRUTHS, *_SIGNED, "where", "convert")


def _elements(rng: Random, dtype: DType, size: int) -> Any:
    """Whole numbers and, for floating types, eighths."""
    if dtype is Bool:
        return np.array([rng.random() < 0.5 for _ in range(size)])
    parts = [np.array([rng.randint(-72, 72) for _ in range(size)]) for _ in range(2)]
    if dtype.kind == "int":
        return parts[0].astype(dtype.numpy_name)
    return (parts[0] / 8 + (1j * parts[1] / 8 if dtype.kind == "complex" else 0)).astype(dtype.numpy_name)


def _operand(rng: Random, dtype: DType, shape: tuple[int, ...]) -> tuple[Form, Any]:
    """A tensor of this shape, or now and then one that broadcasts to it."""
    rank = rng.randint(0, len(shape)) if rng.random() < 0.3 else len(shape)
    extents = tuple(extent if rng.random() < 0.85 else 1 for extent in shape[len(shape) - rank :])
    strides, first, size = layout_of(rng, extents, True)
    form = form_of(dtype, extents, CPU, strides)
    return form, view_of(_elements(rng, dtype, size), extents[::-1], form.strides[::-1], first)


def _dtypes_of(rng: Random, name: str) -> tuple[list[DType], DType]:
    """Dtypes of the operands and of the result."""
    first = rng.choice(DTYPES)
    dtypes = [first, first if rng.random() < 0.5 else rng.choice(DTYPES)]
    common = promote(*dtypes)
    result = F64 if name == "divide" and common.kind in ("int", "bool") else Bool if name in _TRUTHS else common
    if name in _SIGNED:
        return [common], common.component if name == "abs" else common
    return (dtypes[:1] if name == "convert" else [Bool, *dtypes] if name == "where" else dtypes), result


def the_elementwise_machine_gives_what_numpy_gives(rng: Random) -> None:
    """Bit for bit, but for complex products, quotients and magnitudes, which are within 4 rounding units."""
    if not AVAILABLE:
        return
    name, shape = rng.choice(_NAMES), extents_of(rng)
    dtypes, result = _dtypes_of(rng, name)
    common = promote(*dtypes)
    if (name in ("subtract", *_SIGNED) and common is Bool) or (name in _ORDERED and common.kind == "complex"):
        return
    forms, arrays = zip(*[_operand(rng, dtype, shape) for dtype in dtypes], strict=True)
    full = form_of(result, np.broadcast_shapes(*[form.shape for form in forms]), CPU)
    with some_processor(rng):
        kernel = bind_program(forms, full, (ProgramStep(name, tuple(range(len(forms))), full),))
        assert kernel is not None, (name, forms)
        found = kernel(*arrays)
    params = ConvertParams("error") if name == "convert" else None
    expected = bind_numpy(name, forms, full, params)(*arrays)
    assert found.shape == expected.shape and found.dtype == expected.dtype, (name, forms)
    same = (found == expected) | ((found != found) & (expected != expected))
    if common.kind == "complex" and name in ("multiply", "divide", "abs"):
        with np.errstate(invalid="ignore"):
            same |= np.abs(found - expected) <= 4 * np.finfo(found.dtype).eps * np.abs(expected)
    assert same.all(), (name, forms)


PROPERTIES: Final = (
    Property(
        "native-elementwise",
        "an elementwise kernel is NumPy's",
        the_elementwise_machine_gives_what_numpy_gives,
        1000,
        1_000_000,
    ),
)
