"""Random work beside the host's: chains of views beside NumPy's, and contractions beside those of the CPU backend."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeVar

import numpy as np

import tensor_runtime as tr
from gpu_reporting.subject import RefutedError, Subject, require
from gpu_reporting.verdicts import Item, Told, told
from properties import draw
from properties.networks import network
from tensor_einsum import einsum

Array = np.ndarray[Any, Any]
Step = Callable[[Random, Any, Array], tuple[Any, Array]]
R = TypeVar("R")
SECONDS: Final = 20.0
"""That each of both may take."""
MOST_STEPS: Final = 8
DTYPES: Final = ("float32", "float64", "int32", "int64", "bool", "complex64", "complex128")


def _indexed(rng: Random, x: Any, array: Array) -> tuple[Any, Array]:
    index = draw.index(rng, array.shape)
    return x[index], array[index]


def _turned(rng: Random, x: Any, array: Array) -> tuple[Any, Array]:
    order = rng.sample(range(array.ndim), array.ndim)
    return tr.permute_axes(x, order), array.transpose(order)


def _diagonal(rng: Random, x: Any, array: Array) -> tuple[Any, Array]:
    pairs = [(i, j) for i in range(array.ndim) for j in range(i) if array.shape[i] == array.shape[j]]
    if not pairs:
        return _turned(rng, x, array)
    first, second = rng.choice(pairs)
    return tr.diagonal_view(x, first, second), np.diagonal(array, axis1=first, axis2=second)


def _repeated(rng: Random, x: Any, array: Array) -> tuple[Any, Array]:
    shape = (rng.randint(1, 3), *array.shape)
    return tr.broadcast_to(x, shape), np.broadcast_to(array, shape)


STEPS: Final[tuple[Step, ...]] = (_indexed, _indexed, _turned, _diagonal, _repeated)


def view_chain(rng: Random, place: str, /) -> int:
    """A tensor of whole numbers through a chain of views, and its elements as NumPy's array has them; how many steps.

    >>> view_chain(Random(3), "sim") <= MOST_STEPS
    True
    """
    dtype = rng.choice(DTYPES)
    shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 4)))
    array = np.asfortranarray(np.arange(int(np.prod(shape))).reshape(shape)).astype(dtype)
    x: Any = tr.to(tr.tensor(array), place)
    steps = rng.randint(1, MOST_STEPS)
    for _ in range(steps):
        if np.size(array) > 10_000 or not 0 < np.ndim(array) <= 6:
            break
        x, array = rng.choice(STEPS)(rng, x, array)
    for found, expected in ((tr.copy(x), array), (tr.where(x == x, x, x), array), (x, array)):
        host = tr.to(found, "cpu").to_numpy()
        require(
            host.shape == np.shape(expected) and bool(np.array_equal(host, expected)), f"{shape} of {dtype}: {host}"
        )
    return steps


def view_chains(subject: Subject, /) -> str:
    """Many of them, as far as the time goes."""
    rounds = subject.within(SECONDS).rounds(subject.size(2000, 60))
    steps = [_seeded(view_chain, seed, subject.place) for seed in rounds]
    return (
        f"{len(steps):,} chains of {sum(steps):,} views in seven dtypes: copied, computed with and taken to the host "
        "as NumPy's"
    )


def contraction(rng: Random, place: str, /) -> None:
    """A network of whole numbers with strided operands, contracted there and on the host, to the last bit.

    >>> contraction(Random(1), "sim")
    """
    drawn = network(rng)
    order = rng.choice(("auto", "greedy", False))
    options: dict[str, Any] = {"algebra": drawn.algebra, "conj": drawn.conj, "optimize": order}
    expected = einsum(drawn.notation, *drawn.tensors, **options).to_numpy()
    found = tr.to(einsum(drawn.notation, *(tr.to(x, place) for x in drawn.tensors), **options), "cpu").to_numpy()
    same = found.dtype == expected.dtype and found.shape == expected.shape and bool(np.array_equal(found, expected))
    require(same, f"{drawn!r}: {found.tolist()}, on the host {expected.tolist()}")


def contractions(subject: Subject, /) -> str:
    """Many of them: traces, diagonals, hyper-edges, disconnected parts, algebras."""
    rounds = subject.within(SECONDS).rounds(subject.size(1000, 300))
    count = len([_seeded(contraction, seed, subject.place) for seed in rounds])
    return (
        f"{count} networks of up to six operands, in several dtypes and algebras: as the CPU backend, to the last bit"
    )


def _seeded(draw: Callable[[Random, str], R], seed: int, place: str) -> R:
    """What is drawn from a seed, which an error tells."""
    try:
        return draw(Random(seed), place)
    except Exception as error:
        raise RefutedError(f"seed {seed}: {type(error).__name__}: {error}") from error


def beside_host(subject: Subject, /) -> Told:
    """Both."""
    return told(subject, [Item("chains of views", view_chains), Item("random einsums", contractions)])
