"""Random operands and the comparison of results; the same numbers in every process that is given the same seed.

Kinds: ``uniform`` on (0, 1], so that nothing cancels and elements compare one by one; ``signed`` on [-1, 1] without 0;
``single`` is uniform in single precision, ``hundreds`` and ``single hundreds`` are on (0, 1000], ``complex`` has signed
parts, ``integers`` are of 41 bits and sign, and ``below N`` are integers from 0 on; ``general``, ``symmetric`` and
``definite`` are matrices on the two last axes, well enough conditioned to be solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
CHUNK: Final = 1 << 22  # elements compared at once: a comparison makes several arrays of that size


def draw(operands: Sequence[tuple[tuple[int, ...], str]], seed: int) -> list[Array]:
    """Row-major arrays of the given shapes and kinds.

    >>> [x] = draw([((2, 3), "uniform")], 0)
    >>> x.shape, bool((x > 0).all())
    ((2, 3), True)
    """
    generator = np.random.default_rng(seed)
    return [_drawn(generator, tuple(shape), kind) for shape, kind in operands]


def _drawn(generator: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    if kind.startswith("below "):
        return generator.integers(int(kind.removeprefix("below ")), size=shape)
    return _KINDS[kind](generator, shape)


def _single(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return _uniform(generator, shape).astype(np.float32)


def _hundreds(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return 1000 * _uniform(generator, shape)


def _single_hundreds(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return _hundreds(generator, shape).astype(np.float32)


def _complex(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return _signed(generator, shape) + 1j * _signed(generator, shape)


def _integers(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return generator.integers(-(2**41), 2**41, size=shape)


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


def _general(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    array = _signed(generator, shape)
    array += 2 * np.sqrt(shape[-1]) * np.eye(shape[-1])
    return array


def _symmetric(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    half = _signed(generator, shape)
    return np.ascontiguousarray(half + half.swapaxes(-1, -2))


def _definite(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    half = _signed(generator, shape)
    return np.ascontiguousarray(half @ half.swapaxes(-1, -2) + np.eye(shape[-1]))


_KINDS: Final[Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Array]]] = {
    "uniform": _uniform,
    "signed": _signed,
    "general": _general,
    "symmetric": _symmetric,
    "definite": _definite,
    "single": _single,
    "hundreds": _hundreds,
    "single hundreds": _single_hundreds,
    "complex": _complex,
    "integers": _integers,
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
