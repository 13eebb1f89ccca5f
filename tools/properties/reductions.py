"""Property of the native reductions: folds over any axes against Python numbers, one element after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from random import Random
from typing import Any, Final

import numpy as np

from properties import Property
from properties.native import extents_of, layout_of, some_processor, view_of
from tensor_core.dtypes import DTYPES, Bool, DType
from tensor_cpu.kernels.reduction.native import bind_reduction
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.dispatch.dtype_rules import accumulator, reduced
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

_FOLDS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "sum": lambda x, y: x + y,
    "prod": lambda x, y: x * y,
    "max": max,
    "min": min,
    "any": lambda x, y: x or y,
    "all": lambda x, y: x and y,
}


def _elements(rng: Random, name: str, dtype: DType, size: int) -> Any:
    """Whole numbers whose sums and products are exact."""
    if dtype is Bool:
        return np.array([rng.random() < 0.5 for _ in range(size)])
    wild = 20 / size
    parts = [
        [rng.choice((-2, 2)) if rng.random() < wild else rng.choice((-1, 1)) for _ in range(size)]
        if name == "prod"
        else [rng.randint(-99, 99) for _ in range(size)]
        for _ in range(2)
    ]
    whole = np.array(parts[0])
    return (whole + 1j * np.array(parts[1]) if dtype.kind == "complex" else whole).astype(dtype.numpy_name)


def _folded(x: Any, name: str, axes: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
    """The fold of each place of the result, by its index along the kept axes."""
    found: dict[tuple[int, ...], Any] = {}
    whole = name in ("sum", "prod") and x.dtype == bool
    for index in product(*map(range, x.shape)):
        place = tuple(at for axis, at in enumerate(index) if axis not in axes)
        value = int(x[index]) if whole else x[index].item()
        found[place] = _FOLDS[name](found[place], value) if place in found else value
    return found


def a_native_reduction_folds_what_it_must(rng: Random) -> None:
    """Exactly, for every layout, whatever the axes; what is no native kernel's must be a case that is listed."""
    if not AVAILABLE:
        return
    shape, name = extents_of(rng), rng.choice([*_FOLDS])
    dtype = Bool if name in ("any", "all") else rng.choice(DTYPES)
    if dtype.kind == "complex":
        name = "sum"
    axes = tuple(axis for axis in range(len(shape)) if rng.random() < 0.5)
    strides, first, size = layout_of(rng, shape, name != "prod")  # a 2 many times over would overflow
    form = form_of(dtype, shape, CPU, strides)
    result_dtype = accumulator(dtype) if name in ("sum", "prod") else dtype
    result = form_of(result_dtype, reduced(name, shape, (axes, False)), CPU)
    with some_processor(rng):
        kernel = bind_reduction(name, form, result, (axes, False))
        if kernel is None:
            short = name in ("any", "all") and result.size == 1
            assert form.size in (0, result.size) or short, (name, form, axes)
            return
        memory = _elements(rng, name, dtype, size)
        found = kernel(view_of(memory, form.shape[::-1], form.strides[::-1], first)).T
    expected = _folded(view_of(memory, form.shape, form.strides, first), name, axes)
    assert found.shape == result.shape and found.dtype == result_dtype.numpy_name, (name, form, axes)
    assert all(found[place] == value for place, value in expected.items()), (name, form, axes)


PROPERTIES: Final = (
    Property(
        "native-reductions", "a native reduction is exact", a_native_reduction_folds_what_it_must, 1000, 1_000_000
    ),
)
