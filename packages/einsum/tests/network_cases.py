"""Networks that tests draw: small integers in every dtype, what they contract to by the definition, and layouts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_einsum import Plan, plan

Array = np.ndarray[Any, Any]
NUMPY_NAMES = ("float32", "float64", "complex64", "complex128", "int32", "int64", "bool")


class Case(NamedTuple):
    """Labels of operands and output, small integers in an exact dtype, and perhaps an order of contraction."""

    inputs: tuple[str, ...]
    output: str
    arrays: tuple[Array, ...]
    path: tuple[tuple[int, int], ...] = ()

    @property
    def notation(self) -> str:
        return f"{','.join(self.inputs)}->{self.output}"

    @property
    def plan(self) -> Plan:
        return self.planned()

    def planned(self, **options: Any) -> Plan:
        """The plan of this order of contraction."""
        return plan(self.notation, *self.tensors, optimize=self.path, **options)

    @property
    def factors(self) -> list[tuple[str, Array]]:
        """Labels and elements of each operand."""
        return list(zip(self.inputs, self.arrays, strict=True))

    @property
    def tensors(self) -> list[tr.Tensor]:
        return [tr.tensor(array) for array in self.arrays]

    @property
    def magnitudes(self) -> Case:
        """The same without signs, as max-times is a semiring on such numbers only."""
        return self._replace(arrays=tuple(map(np.abs, self.arrays)))

    @property
    def extents(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for term, array in zip(self.inputs, self.arrays, strict=True):
            for label, extent in zip(term, array.shape, strict=True):
                if found.get(label, 1) == 1:
                    found[label] = extent
        return dict(sorted(found.items()))

    def indices(self, labels: str, shape: Sequence[int]) -> tuple[Array, ...]:
        """Where each point of the whole space of indices lies in an array; at 0 along an axis of extent 1."""
        space = dict(zip(self.extents, np.indices(tuple(self.extents.values())), strict=True))
        return tuple(space[label] * (extent != 1) for label, extent in zip(labels, shape, strict=True))


@st.composite
def cases(
    draw: st.DrawFn,
    max_operands: int = 6,
    largest_space: int = 3000,
    dtypes: Sequence[str] = NUMPY_NAMES,
    output: str | None = None,
) -> Case:
    """Hyper-edges, repeated labels in inputs and output, scalars, extents 0 to 4, extent 1 against others."""
    extents = {label: draw(st.sampled_from((2, 3, 1, 2, 4, 0, 3))) for label in "abcdef"}
    operands = draw(st.integers(1, max_operands))
    inputs = ["".join(draw(st.lists(st.sampled_from("abcdef"), max_size=5))) for _ in range(operands)]
    used = sorted(set("".join(inputs)))
    while int(np.prod([max(extents[label], 1) for label in used])) > largest_space:
        extents[max(used, key=extents.__getitem__)] -= 1
    if output is None:
        output = "".join(draw(st.lists(st.sampled_from(used), max_size=4))) if used else ""
    dtype = draw(st.sampled_from(dtypes))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    arrays = []
    for term in inputs:
        stretched = {label for label in set(term) if draw(st.integers(0, 9)) == 0}
        shape = [1 if label in stretched else extents[label] for label in term]
        arrays.append(small_integers(generator, shape, dtype))
    return Case(tuple(inputs), output, tuple(arrays))


@st.composite
def networks(draw: st.DrawFn, **options: Any) -> Case:
    """The same, with any order of contraction."""
    case = draw(cases(**{"largest_space": 2000, **options}))
    path = []
    for left in range(len(case.inputs), 1, -1):
        first, second = draw(st.permutations(range(left)))[:2]
        path.append((first, second))
    return case._replace(path=tuple(path))


def small_integers(generator: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """Whole numbers from -2 to 2, in both parts of a complex number."""
    values: Array = generator.integers(-2, 3, size=tuple(shape))
    if dtype.startswith("complex"):
        return np.asarray(values + 1j * generator.integers(-2, 3, size=tuple(shape))).astype(dtype)
    return np.asarray(values > 0 if dtype == "bool" else values).astype(dtype)


def naive(case: Case) -> Array:
    """The definition, in Python's unbounded integers; axes of extent 1 do not depend on their label."""
    extents = case.extents
    labels = list(extents)
    logical = case.arrays[0].dtype == bool
    total: dict[tuple[int, ...], Any] = {}
    for values in product(*(range(extents[label]) for label in labels)):
        index = dict(zip(labels, values, strict=True))
        term_product: Any = 1
        for term, array in zip(case.inputs, case.arrays, strict=True):
            place = tuple(0 if extent == 1 else index[label] for label, extent in zip(term, array.shape, strict=True))
            term_product = term_product * array[place].item()
        where = tuple(index[label] for label in case.output)
        total[where] = total.get(where, 0) + term_product
    shape = tuple(extents[label] for label in case.output)
    result = np.zeros(shape, dtype=case.arrays[0].dtype)
    for where, value in total.items():
        result[where] = bool(value) if logical else value
    return result


LAYOUTS = ["owned", "row-major", "backwards", "strided", "broadcast"]


def laid_out(array: np.ndarray[Any, Any], layout: str) -> tr.Tensor:
    """The same elements as a tensor with the layout named."""
    if layout == "owned":
        return tr.tensor(array)
    if layout == "row-major":
        return tr.asarray(np.array(array, order="C"))
    if layout == "backwards":
        axes = tuple(range(array.ndim))
        return tr.reverse_view(tr.tensor(np.flip(array)), axes) if axes else tr.tensor(array)
    if layout == "strided":
        wide = np.zeros(tuple(2 * extent + 1 for extent in array.shape), array.dtype, order="F")
        inner = tuple(slice(1, None, 2) for _ in array.shape)
        wide[inner] = array
        return tr.asarray(wide)[inner] if array.ndim else tr.tensor(array)
    return tr.broadcast_to(tr.tensor(array), array.shape)


def same(result: tr.Tensor, expected: np.ndarray[Any, Any]) -> bool:
    """Equal dtype, shape and elements, owned and compact."""
    found = result.to_numpy()
    return (
        result.is_compact
        and found.dtype == expected.dtype
        and found.shape == expected.shape
        and bool(np.array_equal(found, expected))
    )
