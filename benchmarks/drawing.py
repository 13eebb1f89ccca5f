"""Random operands and the comparison of results; the same numbers in every process that is given the same seed.

Kinds: ``uniform`` on (0, 1], so that nothing cancels and elements compare one by one; ``signed`` on [-1, 1] without 0;
``hundreds`` is on (0, 1000]; ``integers`` are of 41 bits and sign, and ``below N`` are integers from 0 on;
``truths`` are true as often as not;
``general``, ``lower``, ``symmetric`` and ``definite`` are matrices on the two last axes, well enough conditioned to be
solved; ``graded`` ones, and Hermitian ``graded definite`` ones, have small values that their elements determine well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
NUMPY_DTYPES: Final = {"F32": "f4", "F64": "f8", "C32": "c8", "C64": "c16", "I32": "i4", "I64": "i8", "Bool": "?"}
CHUNK: Final = 1 << 22  # elements compared at once: a comparison makes several arrays of that size


def draw(operands: Sequence[tuple[tuple[int, ...], str, str]], seed: int) -> list[Array]:
    """Row-major arrays of the given shapes, kinds and dtypes.

    >>> [x] = draw([((2, 3), "uniform", "F64")], 0)
    >>> x.shape, bool((x > 0).all())
    ((2, 3), True)
    """
    generator = np.random.default_rng(seed)
    return [_drawn(generator, tuple(shape), kind, dtype) for shape, kind, dtype in operands]


def _drawn(generator: np.random.Generator, shape: tuple[int, ...], kind: str, dtype: str) -> Array:
    if kind.startswith("below "):
        return generator.integers(int(kind.removeprefix("below ")), size=shape).astype(NUMPY_DTYPES[dtype], copy=False)
    if kind == "truths":
        return generator.random(shape) < 0.5
    draw = _KINDS[kind]
    if dtype == "F64":
        return draw(generator, shape, _signed)
    parts = _signed_complex if dtype in ("C32", "C64") else _signed
    return draw(generator, shape, parts).astype(NUMPY_DTYPES[dtype])


Part = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _uniform(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    array = np.empty(shape)
    generator.random(out=array)
    return np.subtract(1.0, array, out=array)


def _signed(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    array = _uniform(generator, shape)
    array *= 2
    array -= 1
    array[array == 0] = 1
    return array


def _signed_complex(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return _signed(generator, shape) + 1j * _signed(generator, shape)


def _general(generator: np.random.Generator, shape: tuple[int, ...], part: Part) -> Array:
    array = part(generator, shape)
    array += 2 * np.sqrt(shape[-1]) * np.eye(shape[-1])
    return array


def _lower(generator: np.random.Generator, shape: tuple[int, ...], part: Part) -> Array:
    triangle: Array = np.tril(part(generator, shape)) + 2 * np.sqrt(shape[-1]) * np.eye(shape[-1])
    return triangle


def _symmetric(generator: np.random.Generator, shape: tuple[int, ...], part: Part) -> Array:
    half = part(generator, shape)
    return np.ascontiguousarray(half + half.swapaxes(-1, -2).conj())


def _definite(generator: np.random.Generator, shape: tuple[int, ...], part: Part) -> Array:
    half = part(generator, shape)
    return np.ascontiguousarray(half @ half.swapaxes(-1, -2).conj() + np.eye(shape[-1]))


def _grades(extent: int) -> Array:
    """Powers of two from 1 to 2^-40."""
    return np.exp2(-np.round(np.linspace(0.0, 40.0, extent)))


def _graded(generator: np.random.Generator, shape: tuple[int, ...], part: Part) -> Array:
    return np.ascontiguousarray(_general(generator, shape, part) * _grades(shape[-1]))


def _graded_definite(generator: np.random.Generator, shape: tuple[int, ...], part: Part) -> Array:
    grades = _grades(shape[-1])
    return np.ascontiguousarray(grades[:, None] * _definite(generator, shape, part) * grades)


_KINDS: Final[Mapping[str, Callable[[np.random.Generator, tuple[int, ...], Part], Array]]] = {
    "uniform": lambda generator, shape, part: _uniform(generator, shape),
    "signed": lambda generator, shape, part: part(generator, shape),
    "general": _general,
    "lower": _lower,
    "symmetric": _symmetric,
    "definite": _definite,
    "hundreds": lambda generator, shape, part: 1000 * _uniform(generator, shape),
    "integers": lambda generator, shape, part: generator.integers(-(2**41), 2**41, size=shape),
    "graded": _graded,
    "graded definite": _graded_definite,
}


def require_agreement(found: Iterable[Any], expected: Sequence[Array], tolerance: float, *, by_element: bool) -> None:
    """Raise ``AssertionError`` where results differ by more than the tolerance.

    Args:
        found: one array per result.
        expected: the reference.
        tolerance: relative; 0 asks for equality.
        by_element: relative to each element, else to the largest of the result.

    >>> require_agreement([np.array([1.0, 2.0])], [np.array([1.0, 2.0])], 0.0, by_element=True)
    """
    for one, reference in zip(found, expected, strict=True):
        array = np.asarray(one)
        if array.shape != reference.shape:
            raise AssertionError(f"the shape is {array.shape} instead of {reference.shape}")
        largest = 0.0 if by_element else float(np.abs(reference).max(initial=0.0))
        for part, same in zip(_chunks(array), _chunks(reference), strict=True):
            np.testing.assert_allclose(part, same, rtol=tolerance, atol=tolerance * largest)


def _chunks(array: Any) -> list[Any]:
    flat = np.ravel(array)
    return [flat[start : start + CHUNK] for start in range(0, max(flat.size, 1), CHUNK)]
