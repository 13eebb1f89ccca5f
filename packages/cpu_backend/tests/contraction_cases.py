"""Contractions of small whole numbers, named or drawn, for tests of native kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensor_cpu.kernels.contraction.native import (
    bind_pair,
    bind_scatter,
    plan_pair,
    plan_scatter,
)
from tensor_runtime.backends.shared.axes import Labels, Operand, join, row_major

Array = np.ndarray[Any, Any]
Kernel = Callable[[Any, Any], Any]
DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "int64", "bool"]


@dataclass(frozen=True)
class Case:
    """A contraction: arrays in reversed order of axes, and the labels of their axes."""

    x: Array
    y: Array
    x_labels: Labels
    y_labels: Labels
    labels: Labels

    @property
    def operands(self) -> tuple[Operand, Operand, Operand]:
        first, second = (
            Operand(labels, array.shape, tuple(s // array.itemsize for s in array.strides), array.dtype.name)
            for labels, array in ((self.x_labels, self.x), (self.y_labels, self.y))
        )
        extents = dict(zip((*first.labels, *second.labels), (*first.shape, *second.shape), strict=True))
        shape = tuple(extents[label] for label in self.labels)
        return first, second, row_major(self.labels, shape, self.x.dtype.name)

    def expected(self) -> Array:
        """By NumPy's broadcasting; of Bool, any of ands."""
        every = (*self.labels, *sorted({*self.x_labels, *self.y_labels} - {*self.labels}))

        def spread(array: Array, labels: Labels) -> Array:
            order = sorted(range(len(labels)), key=lambda place: every.index(labels[place]))
            view = array.transpose(order)
            return view[tuple(slice(None) if label in labels else None for label in every)]

        terms = spread(self.x, self.x_labels) * spread(self.y, self.y_labels)
        summed = tuple(range(len(self.labels), len(every)))
        return np.asarray(terms.any(summed) if terms.dtype == bool else terms.sum(summed, dtype=terms.dtype))


def pair(case: Case, large: tuple[int, ...] = ()) -> Kernel:
    x, y, result = case.operands
    return bind_pair(plan_pair(join(x, y, result), result.dtype, large), result)


def scatter(case: Case, large: tuple[int, ...] = ()) -> Kernel:
    x, y, result = case.operands
    return bind_scatter(plan_scatter(join(x, y, result), x, y, large), result)


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Small, so that sums of products are exact in every type; of Bool, true is any byte but 0."""
    if dtype == "bool":
        return rng.choice(np.array([0, 0, 0, 0, 1, 2, 4, 255], np.uint8), shape).view(bool)
    values = rng.integers(-4, 5, shape)
    if dtype.startswith("complex"):
        return (values + 1j * rng.integers(-4, 5, shape)).astype(dtype)
    return values.astype(dtype)


def strided(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """An array of this shape whose axes lie in any order, reversed, spread out or repeated."""
    order = rng.permutation(len(shape))
    steps = [int(rng.choice([1, 1, 1, 2, -1, -2, 0])) for _ in shape]
    stored = whole_numbers(
        rng, tuple(1 if steps[axis] == 0 else shape[axis] * abs(steps[axis]) for axis in order), dtype
    )
    array = stored.transpose(np.argsort(order))
    array = array[tuple(slice(None, None, step) if step else slice(None) for step in steps)]
    return np.broadcast_to(array, shape)


def random_case(seed: int, dtype: str, *, most: int = 9) -> Case:
    """Up to six labels, each in any two or more of the three places; extents from 1 on."""
    rng = np.random.default_rng(seed)
    x_labels: list[int] = []
    y_labels: list[int] = []
    labels: list[int] = []
    count = int(rng.integers(0, 7))
    room = 4000.0
    extents = []
    for label in range(count):
        extents.append(int(rng.integers(1, 1 + max(1, min(most, room)))))
        room /= extents[-1]
        places = rng.choice([3, 5, 6, 7])  # bits: first, second, result
        for bit, group in ((1, x_labels), (2, y_labels), (4, labels)):
            if places & bit:
                group.append(label)
    for group in (x_labels, y_labels, labels):
        rng.shuffle(group)
    x, y = (strided(rng, tuple(extents[label] for label in group), dtype) for group in (x_labels, y_labels))
    return Case(x, y, tuple(x_labels), tuple(y_labels), tuple(labels))


def letters(term: str) -> Labels:
    return tuple(map(ord, term))


def named_case(subscripts: str, dtype: str, seed: int = 0, **extents: int) -> Case:
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    rng = np.random.default_rng(seed)
    x, y = (whole_numbers(rng, tuple(extents[label] for label in term), dtype) for term in (first, second))
    return Case(x, y, letters(first), letters(second), letters(output))
