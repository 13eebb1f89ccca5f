"""Random networks for tests, and the definition of their environments and marginals over the whole space of indices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_einsum import Plan, plan
from tensor_runtime.algebras import OR_AND, PLUS_TIMES, Semiring

Array = np.ndarray[Any, Any]
NUMPY_NAMES = ("float32", "float64", "complex64", "complex128", "int32", "int64", "bool")


class Case(NamedTuple):
    """Labels of operands and output, small integers in an exact dtype, and an order of contraction."""

    inputs: tuple[str, ...]
    output: str
    arrays: tuple[Array, ...]
    path: tuple[tuple[int, int], ...]

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
def networks(
    draw: st.DrawFn,
    max_operands: int = 6,
    largest_space: int = 2000,
    dtypes: Sequence[str] = NUMPY_NAMES,
    output: str | None = None,
) -> Case:
    """Hyper-edges, repeated labels in inputs and output, scalars, extents 0 to 4, extent 1 against others, any path."""
    extents = {label: draw(st.sampled_from((2, 3, 1, 2, 4, 0, 3))) for label in "abcdef"}
    operands = draw(st.integers(1, max_operands))
    inputs = ["".join(draw(st.lists(st.sampled_from("abcdef"), max_size=5))) for _ in range(operands)]
    used = sorted(set("".join(inputs)))
    while int(np.prod([max(extents[label], 1) for label in used])) > largest_space:
        extents[max(used, key=extents.__getitem__)] -= 1
    if output is None:
        output = "".join(draw(st.lists(st.sampled_from(used), max_size=4))) if used else ""
    dtype = draw(st.sampled_from(dtypes))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arrays = []
    for term in inputs:
        stretched = {label for label in set(term) if draw(st.integers(0, 9)) == 0}
        shape = [1 if label in stretched else extents[label] for label in term]
        arrays.append(small_integers(generator, shape, dtype))
    path = []
    for left in range(operands, 1, -1):
        first, second = draw(st.permutations(range(left)))[:2]
        path.append((first, second))
    return Case(tuple(inputs), output, tuple(arrays), tuple(path))


def small_integers(generator: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """Whole numbers from -2 to 2, in both parts of a complex number."""
    values: Array = generator.integers(-2, 3, size=tuple(shape))
    if dtype.startswith("complex"):
        return np.asarray(values + 1j * generator.integers(-2, 3, size=tuple(shape))).astype(dtype)
    return np.asarray(values > 0 if dtype == "bool" else values).astype(dtype)


def environment(case: Case, operand: int, cotangent: Array | None = None, algebra: Semiring = PLUS_TIMES) -> Array:
    """The definition: the product of all other operands at each point, added where the operand is read there."""
    labels, array = case.inputs[operand], case.arrays[operand]
    shape, extents = array.shape, case.extents
    factors = [(term, other) for at, (term, other) in enumerate(case.factors) if at != operand]
    if cotangent is None:
        own = {label for label, extent in zip(labels, shape, strict=True) if extent == extents[label]}
        rest = "".join(label for label in dict.fromkeys(case.output) if label not in own)
        labels, shape = labels + rest, (*shape, *(extents[label] for label in rest))
    else:
        factors.append((case.output, cotangent))
    return summed(case, factors, labels, shape, algebra)


def marginal(case: Case, label: str, algebra: Semiring = PLUS_TIMES) -> Array:
    """The definition: the product of all operands at each point, added by the index of a label."""
    return summed(case, case.factors, label, (case.extents[label],), algebra)


def summed(
    case: Case, factors: Sequence[tuple[str, Array]], labels: str, shape: Sequence[int], algebra: Semiring
) -> Array:
    """The product of factors at each point of the whole space of indices, added by indices of labels."""
    space, dtype = tuple(case.extents.values()), case.arrays[0].dtype
    wide = {"b": np.int64, "i": np.int64, "f": np.float64, "c": np.complex128}[dtype.kind]
    plain = algebra in (PLUS_TIMES, OR_AND)
    add, multiply = (np.add, np.multiply) if plain else (_UFUNCS[algebra.addition], _UFUNCS[algebra.multiplication])
    zero, one = (0, 1) if plain else (algebra.zero_of(dtype.name), algebra.one_of(dtype.name))
    read = [array[case.indices(term, array.shape)].astype(wide) for term, array in factors]
    result = np.full((1, *shape), zero, wide)  # an index of every axis of nothing would be all of it
    where = np.zeros(space, int), *case.indices(labels, shape)
    add.at(result, where, reduce(multiply, read, np.full(space, one, wide)))
    return np.asarray(result[0].astype(dtype))


_UFUNCS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}


def same(result: tr.Tensor, expected: Array) -> bool:
    """Equal dtype, shape and elements, compact."""
    found = result.to_numpy()
    return (
        result.is_compact
        and found.dtype == expected.dtype
        and found.shape == expected.shape
        and bool(np.array_equal(found, expected))
    )
