"""Properties of the native contractions: every kernel against the sum written down term by term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import product
from math import prod
from operator import add, and_, mul, or_
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

from properties import Property
from properties.native import layout_of, some_processor, view_of
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.kernels.contraction import native as contract
from tensor_cpu.kernels.contraction import native_semiring
from tensor_cpu.kernels.contraction import tiny as small_products
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, Semiring
from tensor_runtime.backends.shared.axes import join, native, row_major
from tensor_runtime.contracts.contraction import ContractParams, SemiringContractParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU
from tensor_runtime.protocols import Kernel

_Operation = Callable[[Any, Any], Any]
_OPERATIONS: Final[Mapping[Semiring, tuple[_Operation, _Operation]]] = {
    MAX_PLUS: (max, add),
    MIN_PLUS: (min, add),
    MAX_TIMES: (max, mul),
    OR_AND: (or_, and_),
}
_MOST_TERMS: Final = 400
_PLACES: Final = ("xyo", "xo", "yo", "xy")  # who has a label: the first operand, the second, the result


def _elements(rng: Random, dtype: DType, size: int) -> Any:
    """Small whole numbers, so that sums are exact in every order; of truth values, those."""
    if dtype is Bool:
        return np.array([rng.random() < 0.3 for _ in range(size)])
    parts = [[rng.randint(-9, 9) for _ in range(size)] for _ in range(2)]
    values = np.array(parts[0]) + (1j * np.array(parts[1]) if dtype.kind == "complex" else 0)
    return values.astype(dtype.numpy_name)


class _Drawn(NamedTuple):
    """A contraction of two operands, the second of which may have another dtype."""

    labels: tuple[tuple[int, ...], ...]
    extents: list[int]
    forms: tuple[Form, Form]
    arrays: tuple[Any, Any]
    result: Form


def _contraction(rng: Random, dtypes: tuple[DType, DType], result: DType) -> _Drawn:
    """Any labels, in any order, and any layouts."""
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
    for term, dtype in zip(labels[:2], dtypes, strict=True):
        shape = tuple(extents[label] for label in term)
        strides, first, size = layout_of(rng, shape, True)
        form = form_of(dtype, shape, CPU, strides)
        forms.append(form)
        arrays.append(view_of(_elements(rng, dtype, size), shape[::-1], form.strides[::-1], first))
    shape = tuple(extents[label] for label in labels[2])
    return _Drawn(labels, extents, (forms[0], forms[1]), (arrays[0], arrays[1]), form_of(result, shape, CPU))


def _terms(drawn: _Drawn, add: _Operation, multiply: _Operation) -> list[Any]:
    """The result's elements in the order of its transposed array, from Python's own numbers."""
    labels, extents = drawn.labels, drawn.extents
    kept, summed = labels[2][::-1], [label for label in range(len(extents)) if label not in labels[2]]
    found = []
    for outer in product(*(range(extents[label]) for label in kept)):
        terms = []
        for inner in product(*(range(extents[label]) for label in summed)):
            index = dict(zip((*kept, *summed), (*outer, *inner), strict=True))
            a, b = (
                array[tuple(index[label] for label in reversed(term))].item()
                for array, term in zip(drawn.arrays, labels[:2], strict=True)
            )
            terms.append(multiply(a, b))
        found.append(reduce(add, terms))
    return found


def a_native_contraction_is_the_sum_of_products(rng: Random) -> None:
    """Any labels and layouts, in every dtype, by every kernel that takes them."""
    if not AVAILABLE:
        return
    dtype = rng.choice((F32, F64, F64, C32, C64, I32, I64, Bool))
    drawn = _contraction(rng, (dtype, dtype), dtype)
    expected = _terms(drawn, *((or_, and_) if dtype is Bool else (add, mul)))
    labels, forms, result = drawn.labels, drawn.forms, drawn.result
    x, y = native(forms[0], labels[0]), native(forms[1], labels[1])
    out = row_major(labels[2][::-1], result.shape[::-1], dtype.numpy_name)
    axes, large = join(x, y, out), rng.choice([(), (0,), (1,), (2,), (0, 1, 2)])
    with some_processor(rng):
        kernels = [
            small_products.bind_contract(forms, result, ContractParams(*labels)),
            contract.bind_pair(contract.plan_pair(axes, dtype.numpy_name, large), out),
            contract.bind_scatter(contract.plan_scatter(axes, x, y, large), out),
        ]
        for place, kernel in enumerate(kernels):
            if kernel is not None:
                _require(kernel, drawn, expected, place)


def a_product_in_another_algebra_is_its_sum_of_products(rng: Random) -> None:
    """Max-plus and the others, any labels and layouts, operands of one dtype or of two."""
    if not AVAILABLE:
        return
    algebra = rng.choice([*_OPERATIONS])
    dtype = Bool if algebra is OR_AND else rng.choice((F32, F64))
    drawn = _contraction(rng, (dtype, I32 if dtype is F64 and rng.random() < 0.2 else dtype), dtype)
    expected = _terms(drawn, *_OPERATIONS[algebra])
    params = SemiringContractParams(drawn.labels[0], drawn.labels[1], drawn.labels[2], algebra)
    with some_processor(rng):
        kernel = native_semiring.bind_semiring_contract(drawn.forms, drawn.result, params)
        assert kernel is not None, (algebra, drawn)
        _require(kernel, drawn, expected, algebra)


def _require(kernel: Kernel, drawn: _Drawn, expected: list[Any], what: object) -> None:
    found = kernel(*drawn.arrays)
    assert found.shape == drawn.result.shape[::-1], (what, found.shape)
    assert found.ravel().tolist() == expected, (what, drawn.labels, drawn.extents, drawn.forms)


PROPERTIES: Final = (
    Property(
        "native-contractions",
        "a native contraction is exact",
        a_native_contraction_is_the_sum_of_products,
        1000,
        1_000_000,
    ),
    Property(
        "native-semirings",
        "a native product in another algebra is exact",
        a_product_in_another_algebra_is_its_sum_of_products,
        500,
        1_000_000,
    ),
)
