"""Networks that properties of contraction draw, and what they contract to by the definition.

The definition is one product over the whole space of indices, all labels at once, made by NumPy's broadcasting and
reduced along what is not kept: no order of contraction, no steps, no subscripts. Integers are exact modulo 2^64; the
elements of all other dtypes are whole numbers so small that every order of summation is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from math import prod
from random import Random
from string import ascii_lowercase
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from tensor_runtime.algebras import ALGEBRAS, MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, PLUS_TIMES, Semiring

Array = Any
_NAMES: Final = ("float32", "float64", "complex64", "complex128", "int32", "int64", "bool")
_WIDE: Final = {"b": "int64", "i": "int64", "f": "float64", "c": "complex128"}
_UFUNCS: Final[Mapping[Semiring, tuple[Any, Any]]] = {
    PLUS_TIMES: (np.add, np.multiply),
    MAX_PLUS: (np.maximum, np.add),
    MIN_PLUS: (np.minimum, np.add),
    MAX_TIMES: (np.maximum, np.multiply),
    OR_AND: (np.add, np.multiply),
}
_MOST_POINTS: Final = 1200  # of the whole space of indices
_EXTENTS: Final = (2,) * 12 + (3,) * 10 + (1,) * 5 + (4,) * 5 + (0,)


class Drawn(NamedTuple):
    """Labels of the operands and of the output, the operands as tensors in any layout, and how they are combined."""

    inputs: tuple[str, ...]
    output: str
    tensors: tuple[tr.Tensor, ...]
    arrays: tuple[Array, ...]
    extents: dict[str, int]
    algebra: Semiring
    conj: tuple[int, ...]

    @property
    def notation(self) -> str:
        """With an explicit output."""
        return f"{','.join(self.inputs)}->{self.output}"

    @property
    def dtype(self) -> Any:
        """Of the result, as NumPy promotes."""
        return np.result_type(*[array.dtype for array in self.arrays])

    def __repr__(self) -> str:
        facts = [(str(array.dtype), array.shape, array.strides, array.tolist()) for array in self.arrays]
        return f"{self.notation} {self.algebra.name} conj={self.conj} {facts}"


def network(
    rng: Random, most_operands: int = 6, most_points: int = _MOST_POINTS, algebras: Sequence[Semiring] = ALGEBRAS
) -> Drawn:
    """1 to 6 operands of rank 0 to 5: hyper-edges, repeated labels, disconnected parts, extent 1 against others.

    >>> len(network(Random(1)).inputs) in range(1, 7)
    True
    """
    pool = ascii_lowercase[: rng.randint(1, 10)]
    extents = {label: rng.choice(_EXTENTS) for label in pool}
    rank = rng.randint(1, 5)
    inputs = [
        "".join(rng.choices(pool, k=rng.randint(0, rank)))
        if rng.random() < 0.3
        else "".join(rng.sample(pool, rng.randint(0, min(rank, len(pool)))))
        for _ in range(rng.randint(1, most_operands))
    ]
    used = sorted({*"".join(inputs)})
    while prod([max(extents[label], 1) for label in used]) > most_points:
        extents[max(used, key=extents.__getitem__)] -= 1
    output = ""
    if used:
        most = rng.randint(0, 4)
        chosen = rng.choices(used, k=most) if rng.random() < 0.25 else rng.sample(used, min(most, len(used)))
        output = "".join(chosen)
    algebra = rng.choice(algebras) if rng.random() < 0.4 else PLUS_TIMES
    names = [name for name in _NAMES if any(dtype.numpy_name == name for dtype in algebra.accepts)]
    common = rng.choice(names) if rng.random() < 0.8 else None
    dtypes = [common or rng.choice(names) for _ in inputs]
    whole = algebra is PLUS_TIMES and np.result_type(*dtypes).kind == "i" and rng.random() < 0.3
    generator = np.random.default_rng(rng.getrandbits(64))
    tensors, arrays = [], []
    for term, dtype in zip(inputs, dtypes, strict=True):
        stretched = {label for label in term if rng.random() < 0.06}
        shape = [1 if label in stretched else extents[label] for label in term]
        tensor, array = _laid_out(rng, shape, partial(_elements, generator, dtype, algebra, whole))
        tensors.append(tensor)
        arrays.append(array)
    seen: dict[str, int] = {}
    for term, array in zip(inputs, arrays, strict=True):
        for label, extent in zip(term, array.shape, strict=True):
            seen[label] = extent if seen.get(label, 1) == 1 else seen[label]
    conj = [place for place in range(len(inputs)) if "complex64" in dtypes or "complex128" in dtypes]
    conjugated = tuple(rng.sample(conj, rng.randint(0, len(conj)))) if rng.random() < 0.5 else ()
    return Drawn(tuple(inputs), output, tuple(tensors), tuple(arrays), seen, algebra, conjugated)


def _elements(generator: np.random.Generator, dtype: str, algebra: Semiring, full: bool, shape: Sequence[int]) -> Array:
    """Whole numbers from -2 to 2, from 0 where products of signs are no semiring, zeros of the algebra; or any ints."""
    if full and dtype != "bool":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, size=tuple(shape), dtype=dtype, endpoint=True)
    low = 0 if algebra is MAX_TIMES else -2
    values = np.asarray(generator.integers(low, 3, size=tuple(shape)))
    if dtype.startswith("complex"):
        return (values + 1j * generator.integers(-2, 3, size=tuple(shape))).astype(dtype)
    found = (values > 0 if dtype == "bool" else values).astype(dtype)
    if algebra in (MAX_PLUS, MIN_PLUS):
        found[generator.random(tuple(shape)) < 0.1] = algebra.zero_of(dtype)
    return found


def _laid_out(rng: Random, shape: Sequence[int], fill: Callable[[Sequence[int]], Array]) -> tuple[tr.Tensor, Array]:
    """A tensor of this shape, and NumPy's view of the same: axes in any order, backwards, with gaps, repeated."""
    rank = len(shape)
    if rank == 0 or rng.random() < 0.3:
        array = fill(shape)
        return tr.tensor(array), array
    order = rng.sample(range(rank), rank)
    back = [order.index(axis) for axis in range(rank)]
    steps = [rng.choice((1, 1, -1, -1, 2, -2)) for _ in order]
    repeated = [rng.random() < 0.08 for _ in order]
    wide = [
        1 if again and shape[axis] else shape[axis] * abs(step)
        for axis, step, again in zip(order, steps, repeated, strict=True)
    ]
    memory = fill(wide)
    slices = tuple(slice(None, None, step) for step in steps)
    tensor = tr.broadcast_to(tr.permute_axes(tr.asarray(memory)[slices], tuple(back)), tuple(shape))
    return tensor, np.broadcast_to(memory[slices].transpose(back), tuple(shape))


def contracted(drawn: Drawn) -> Array:
    """The definition of the result."""
    places = range(len(drawn.inputs))
    return _summed(drawn, places, drawn.output, [drawn.extents[label] for label in drawn.output])


def environment(drawn: Drawn, operand: int) -> Array:
    """The definition: all operands but one, added where that one is read, and kept along the rest of the output."""
    labels, shape, extents = drawn.inputs[operand], drawn.arrays[operand].shape, drawn.extents
    own = {label for label, extent in zip(labels, shape, strict=True) if extent == extents[label]}
    rest = "".join([label for label in dict.fromkeys(drawn.output) if label not in own])
    others = [place for place in range(len(drawn.inputs)) if place != operand]
    return _summed(drawn, others, labels + rest, [*shape, *[extents[label] for label in rest]])


def _summed(drawn: Drawn, places: Sequence[int], labels: str, shape: Sequence[int]) -> Array:
    """The product of operands at each point of the space, added to where the labels point in an array of a shape."""
    extents, dtype, algebra = drawn.extents, drawn.dtype, drawn.algebra
    space, wide = tuple(extents.values()), _WIDE[dtype.kind]
    plain = algebra in (PLUS_TIMES, OR_AND)
    add, multiply = _UFUNCS[algebra]
    zero, one = (0, 1) if plain else (algebra.zero_of(dtype.name), algebra.one_of(dtype.name))
    axis_of = {label: axis for axis, label in enumerate(extents)}

    def index(terms: str, lengths: Sequence[int]) -> tuple[Array, ...]:
        found = []
        for label, length in zip(terms, lengths, strict=True):
            along = [1] * len(space)
            along[axis_of[label]] = length
            found.append(np.arange(length).reshape(along))
        return tuple(found)

    factors = []
    for place in places:
        array = drawn.arrays[place]
        read = array[index(drawn.inputs[place], array.shape)].astype(wide)
        factors.append(np.conjugate(read) if place in drawn.conj else read)
    points = np.broadcast_to(reduce(multiply, factors, np.full((1,) * len(space), one, wide)), space)
    kept = {label for label, length in zip(labels, shape, strict=True) if length == extents[label]}
    gone = tuple([axis_of[label] for label in extents if label not in kept])
    values = add.reduce(points, axis=gone, keepdims=True, initial=zero) if gone else points
    result = np.full((1, *shape), zero, wide)  # an index of no axes would be none
    result[(np.zeros((1,) * len(space), int), *index(labels, shape))] = values
    return np.asarray(result[0].astype(dtype))


def require(found: tr.Tensor, expected: Array, *what: object) -> None:
    """Equal dtype, shape and elements, compact."""
    array = found.to_numpy()
    held = (
        found.is_compact
        and array.dtype == expected.dtype
        and array.shape == expected.shape
        and bool(np.array_equal(array, expected))
    )
    assert held, (*what, "found", array.dtype, array.tolist(), "expected", expected.dtype, expected.tolist())
