"""Environments and marginals by their definition, over the whole space of indices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from network_cases import Array, Case
from tensor_runtime.algebras import OR_AND, PLUS_TIMES, Semiring


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
