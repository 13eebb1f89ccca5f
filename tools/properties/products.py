"""Property of the native contractions: N3, every kernel against the sum of products written down term by term."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random
from typing import Any, Final

import numpy as np

from properties import Property
from properties.native import layout_of, some_processor, view_of
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.axes import join, native, row_major
from tensor_cpu.extension import AVAILABLE
from tensor_cpu.native import contract, small
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

_MOST_TERMS: Final = 400
_PLACES: Final = ("xyo", "xo", "yo", "xy")  # who has a label: the first operand, the second, the result


def _elements(rng: Random, dtype: DType, size: int) -> Any:
    """Small whole numbers, so that sums are exact in every order; of truth values, those."""
    if dtype is Bool:
        return np.array([rng.random() < 0.3 for _ in range(size)])
    parts = [[rng.randint(-9, 9) for _ in range(size)] for _ in range(2)]
    values = np.array(parts[0]) + (1j * np.array(parts[1]) if dtype.kind == "complex" else 0)
    return values.astype(dtype.numpy_name)


def _sum_of_products(x: Any, y: Any, labels: tuple[tuple[int, ...], ...], extents: list[int]) -> list[Any]:
    """The result's elements in the order of its twin, from Python's own numbers."""
    kept, summed = labels[2][::-1], [label for label in range(len(extents)) if label not in labels[2]]
    found = []
    for outer in product(*(range(extents[label]) for label in kept)):
        total: Any = False if x.dtype == bool else 0
        for inner in product(*(range(extents[label]) for label in summed)):
            index = dict(zip((*kept, *summed), (*outer, *inner), strict=True))
            a, b = (
                array[tuple(index[label] for label in reversed(term))].item()
                for array, term in zip((x, y), labels[:2], strict=True)
            )
            total = total or (a and b) if x.dtype == bool else total + a * b
        found.append(total)
    return found


def a_native_contraction_is_the_sum_of_products(rng: Random) -> None:
    """N3: any labels and layouts, in every dtype, by every kernel that takes them."""
    if not AVAILABLE:
        return
    dtype = rng.choice((F32, F64, F64, C32, C64, I32, I64, Bool))
    places = [rng.choice(_PLACES) for _ in range(rng.randint(0, 6))]
    extents = [rng.choice((1, 2, 2, 3, 4, 5, 9, 17)) for _ in places]
    while prod(extents) > _MOST_TERMS:
        extents.pop(), places.pop()
    labels = tuple(
        tuple(rng.sample(chosen, len(chosen)))
        for role in "xyo"
        for chosen in [[label for label, place in enumerate(places) if role in place]]
    )
    forms, arrays = [], []
    for term in labels[:2]:
        shape = tuple(extents[label] for label in term)
        strides, first, size = layout_of(rng, shape, True)
        form = form_of(dtype, shape, CPU, strides)
        forms.append(form)
        arrays.append(view_of(_elements(rng, dtype, size), shape[::-1], form.strides[::-1], first))
    result = form_of(dtype, tuple(extents[label] for label in labels[2]), CPU)
    expected = _sum_of_products(arrays[0], arrays[1], labels, extents)
    x, y = native(forms[0], labels[0]), native(forms[1], labels[1])
    out = row_major(labels[2][::-1], result.shape[::-1], dtype.numpy_name)
    axes = join(x, y, out)
    with some_processor(rng):
        kernels = [
            small.bind_contract((forms[0], forms[1]), result, labels),
            contract.bind_pair(contract.plan_pair(axes, dtype.numpy_name), out),
            contract.bind_scatter(contract.plan_scatter(axes, x, y), out),
        ]
        for place, kernel in enumerate(kernels):
            if kernel is not None:
                found = kernel(*arrays)
                assert found.shape == result.shape[::-1], (place, found.shape)
                assert found.ravel().tolist() == expected, (place, dtype, labels, extents, forms)


PROPERTIES: Final = (
    Property("N3", "a native contraction is exact", a_native_contraction_is_the_sum_of_products, 1000, 1_000_000),
)
