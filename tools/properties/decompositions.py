"""Properties of linear algebra: what factors promise, over matrices that break methods, and batches against loops.

Bounds are multiples of eps * max(M, N)**2, in wide arithmetic on data divided by its largest element, so that they hold
for matrices of size 1e300 too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

import numpy as np

import tensor_linalg as tl
import tensor_runtime as tr
from properties import Property
from tensor_runtime.errors import LinalgError

Array = Any
_DTYPES: Final = ("float32", "float64", "complex64", "complex128")
_SPECTRA: Final[Mapping[str, Callable[[int, np.random.Generator], Array]]] = {
    "repeated": lambda k, rng: np.ones(k),
    "two clusters": lambda k, rng: 1.0 + (np.arange(k) > k // 2) + 10.0 ** -rng.integers(5, 16) * np.arange(k),
    "one large": lambda k, rng: np.where(np.arange(k) == 0, 1.0, 10.0 ** -rng.integers(1, 15)),
    "one small": lambda k, rng: np.where(np.arange(k) == k - 1, 10.0 ** -rng.integers(1, 15), 1.0),
    "geometric": lambda k, rng: 10.0 ** -np.linspace(0.0, rng.integers(1, 17), k),
    "rank deficient": lambda k, rng: (np.arange(k) <= rng.integers(0, k + 1)).astype(float),
    "random": lambda k, rng: rng.random(k),
}
_STRUCTURES: Final[Mapping[str, Callable[[int, int], Array]]] = {
    "zero": lambda m, n: np.zeros((m, n)),
    "identity": np.eye,
    "ones": lambda m, n: np.ones((m, n)),
    "shift": lambda m, n: np.eye(m, n, 1),
    "cyclic shift": lambda m, n: np.roll(np.eye(m, n), 1, 0),
    "triangle": lambda m, n: np.triu(np.ones((m, n))),
    "Hilbert": lambda m, n: 1.0 / (1.0 + np.add.outer(np.arange(m), np.arange(n))),
    "Jordan": lambda m, n: 2.0 * np.eye(m, n) + np.eye(m, n, 1),
    "Kahan": lambda m, n: 0.8 ** np.arange(m)[:, None] * (np.eye(m, n) - 0.6 * np.triu(np.ones((m, n)), 1)),
    "Wilkinson": lambda m, n: np.eye(m, n) * np.abs(np.arange(n) - n // 2) + np.eye(m, n, 1) + np.eye(m, n, -1),
    "Frank": lambda m, n: np.triu(n - np.maximum.outer(np.arange(m), np.arange(n)), -1).astype(float),
    "skew": lambda m, n: np.sign(np.subtract.outer(np.arange(m), np.arange(n))).astype(float),
}
_CHANGES: Final[Mapping[str, Callable[[Array, np.random.Generator], Array]]] = {
    "none": lambda a, rng: a,
    "graded rows": lambda a, rng: a * 10.0 ** -np.linspace(0.0, rng.integers(1, 13), len(a))[:, None],
    "graded columns": lambda a, rng: a * 10.0 ** -np.linspace(0.0, rng.integers(1, 13), a.shape[1]),
    "zero row": lambda a, rng: a * (np.arange(len(a)) != rng.integers(0, len(a) + 1))[:, None],
    "other order": lambda a, rng: rng.permutation(rng.permutation(a), axis=1),
    "nearly ones": lambda a, rng: 1.0 + 1e-10 * a,
    "whole numbers": lambda a, rng: np.round(3 * a.real) + (1j * np.round(3 * a.imag) if np.iscomplexobj(a) else 0),
}


def _noise(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if "complex" in dtype else x


def _matrix(rng: np.random.Generator, rows: int, columns: int, dtype: str) -> Array:
    """In double precision, with the largest element 1 or all zeros."""
    kind = str(rng.choice(("noise", "spectrum", "structure")))
    if kind == "noise" or 0 in (rows, columns):
        a = _noise(rng, (rows, columns), dtype)
    elif kind == "spectrum":
        short = min(rows, columns)
        left, right = (np.linalg.qr(_noise(rng, (side, short), dtype))[0] for side in (rows, columns))
        a = (left * _SPECTRA[str(rng.choice(list(_SPECTRA)))](short, rng)) @ right.conj().T
    else:
        a = _STRUCTURES[str(rng.choice(list(_STRUCTURES)))](rows, columns)
    if a.size:
        a = _CHANGES[str(rng.choice(list(_CHANGES)))](a, rng)
    largest = np.abs(a).max(initial=0.0)
    return a / largest if largest else a


def _scale(rng: np.random.Generator, dtype: str) -> float:
    power = 1000 if dtype in ("float64", "complex128") else 100
    return float(2.0 ** int(rng.choice((0, 0, 0, power, -power))))


def _laid_out(rng: np.random.Generator, a: Array) -> tr.Tensor:
    """The array as a tensor of some strides."""
    layout = int(rng.integers(0, 4))
    if layout == 0:
        return tr.asarray(np.asfortranarray(a))
    if layout == 1:
        return tr.asarray(np.ascontiguousarray(a))
    if layout == 2:
        return tr.asarray(np.asfortranarray(a[::-1, ::-1]))[::-1, ::-1]
    return tr.asarray(np.asfortranarray(np.repeat(a, 2, 0)))[::2]


def _wide(x: tr.Tensor) -> Array:
    found = x.to_numpy()
    return found.astype(np.result_type(found.dtype, np.float64))


def _departure(columns: Array) -> float:
    return float(np.abs(columns.conj().T @ columns - np.eye(columns.shape[1])).max(initial=0.0))


def _hold(claims: Mapping[str, bool], *told: object) -> None:
    wrong = [claim for claim, holds in claims.items() if not holds]
    assert not wrong, f"{wrong} of {told}"


def factors(rng: Random) -> None:
    """Reconstruction, orthonormality, order and signs of one drawn decomposition."""
    draw = np.random.default_rng(rng.getrandbits(64))
    name = rng.choice(
        ("svd", "gesvd", "jacobi", "qr", "positive qr", "eigh", "cholesky", "lu", "ldl", "schur", "polar")
    )
    dtype = rng.choice(_DTYPES)
    rows, columns = rng.choice((0, 1, 2, 3, 5, 8, 13, 17, 24, 33)), rng.choice((0, 1, 2, 4, 6, 9, 16, 21, 40))
    if name in ("eigh", "cholesky", "ldl", "schur"):
        columns = rows
    a, scale = _matrix(draw, rows, columns, dtype), _scale(draw, dtype)
    if name in ("eigh", "ldl"):
        a = a / 2 + a.conj().T / 2
    elif name == "cholesky":
        a = a @ a.conj().T / max(rows, 1) + np.eye(rows)
    given = (a * scale).astype(dtype)
    if not np.isfinite(given).all():
        return
    reference = given.astype(np.result_type(dtype, np.float64)) / scale
    x = _laid_out(draw, given)
    eps = float(np.finfo(dtype).eps)
    small = eps * 8 * max(rows, columns, 1) ** 2
    claims = _CHECKS[name](x, reference, scale, small)
    _hold(claims, name, dtype, given)


def _near(found: Array, wanted: Array, bound: float) -> bool:
    return bool(np.abs(found - wanted).max(initial=0.0) <= bound)


def _of_svd(driver: str) -> Callable[..., dict[str, bool]]:
    def check(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
        u, s, vh = map(_wide, tl.svd(x, driver=driver))
        return {
            "reconstruction": _near((u * (s / scale)) @ vh, a, small),
            "orthonormality": max(_departure(u), _departure(vh.conj().T)) <= small,
            "order": bool((np.diff(s) <= 0).all() and (s >= 0).all()),
        }

    return check


def _of_qr(positive: bool) -> Callable[..., dict[str, bool]]:
    def check(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
        q, r = map(_wide, tl.qr(x, positive=positive))
        diagonal = np.diagonal(r)
        return {
            "reconstruction": _near(q @ (r / scale), a, small),
            "orthonormality": _departure(q) <= small,
            "triangle": not np.tril(r, -1).any(),
            "signs": not positive or bool((diagonal.real >= 0).all() and not diagonal.imag.any()),
        }

    return check


def _of_eigh(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
    w, v = map(_wide, tl.eigh(x))
    return {
        "reconstruction": _near((v * (w / scale)) @ v.conj().T, a, small),
        "orthonormality": _departure(v) <= small,
        "order": bool((np.diff(w) >= 0).all()),
        "values": _near(_wide(tl.eigvalsh(x)) / scale, w / scale, small),
    }


def _of_cholesky(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
    factor = _wide(tl.cholesky(x)) / np.sqrt(scale)
    diagonal = np.diagonal(factor)
    return {
        "reconstruction": _near(factor @ factor.conj().T, a, 2 * small),
        "triangle": not np.triu(factor, 1).any(),
        "signs": bool((diagonal.real > 0).all() and not diagonal.imag.any()),
    }


def _of_lu(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
    order, lower, upper = tl.lu(x)
    low, up = _wide(lower), _wide(upper) / scale
    growth = max(1.0, float(np.abs(up).max(initial=0.0)))
    return {
        "reconstruction": _near(low @ up, a[order.to_numpy()], small * growth),
        "multipliers": bool(np.abs(low).max(initial=0.0) <= np.sqrt(2) + small),
    }


def _of_ldl(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
    lower, d, order = tl.ldl(x)
    low, rows = _wide(lower), order.to_numpy()
    growth = max(1.0, float(np.abs(low).max(initial=0.0)) ** 2)
    return {
        "reconstruction": _near(low @ (_wide(d) / scale) @ low.conj().T, a[rows][:, rows], small * growth),
    }


def _of_schur(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
    t, z = map(_wide, tl.schur(x))
    return {
        "reconstruction": _near(z @ (t / scale) @ z.conj().T, a, small),
        "orthonormality": _departure(z) <= small,
        "blocks": not np.tril(t, -2).any(),
    }


def _of_polar(x: tr.Tensor, a: Array, scale: float, small: float) -> dict[str, bool]:
    u, p = map(_wide, tl.polar(x))
    return {
        "reconstruction": _near(u @ (p / scale), a, 2 * small),
        "Hermitian": not (p - p.conj().T).any(),
        "orthonormality": _departure(u if u.shape[0] >= u.shape[1] else u.conj().T) <= 2 * small,
    }


_CHECKS: Final[Mapping[str, Callable[..., dict[str, bool]]]] = {
    "svd": _of_svd("auto"),
    "gesvd": _of_svd("gesvd"),
    "jacobi": _of_svd("jacobi"),
    "qr": _of_qr(False),
    "positive qr": _of_qr(True),
    "eigh": _of_eigh,
    "cholesky": _of_cholesky,
    "lu": _of_lu,
    "ldl": _of_ldl,
    "schur": _of_schur,
    "polar": _of_polar,
}
_WHOLE: Final[Mapping[str, Callable[[tr.Tensor], tr.Tensor]]] = {
    "svdvals": tl.svdvals,
    "eigvalsh": tl.eigvalsh,
    "cholesky": tl.cholesky,
    "inv": tl.inv,
    "det": tl.det,
    "solve": lambda a: tl.solve(a, a[:, :1]),
    "positive r": lambda a: tl.qr(a, positive=True).r,
    "projector": lambda a: tl.polar(a).u,
}
"""Results that do not depend on which of several factors a method finds."""


def batches(rng: Random) -> None:
    """Each matrix of a batch has the result that it has alone; a bad one is named, and leaves the others' results."""
    draw = np.random.default_rng(rng.getrandbits(64))
    name, dtype = rng.choice(list(_WHOLE)), rng.choice(_DTYPES)
    size = rng.choice((1, 2, 3, 4, 5, 8, 12, 20, 34))
    batch = rng.choice(((1,), (2,), (3, 2), (9,), (4, 1, 5), (70,)))
    noise = _noise(draw, (size, size, *batch), dtype) / np.sqrt(size)
    stack = np.einsum("ij...,kj...->ik...", noise, noise.conj())
    stack = (stack + np.eye(size).reshape(size, size, *[1] * len(batch))).astype(dtype)
    function: Any = _WHOLE[name]
    whole = function(_laid_out(draw, stack)).to_numpy()
    bound = 64 * size**2 * float(np.finfo(dtype).eps)
    for index in rng.sample(list(np.ndindex(*batch)), min(3, int(np.prod(batch)))):
        alone = function(tr.asarray(np.asfortranarray(stack[(..., *index)]))).to_numpy()
        found = whole[(..., *index)]
        assert np.abs(found - alone).max(initial=0.0) <= bound * max(1.0, np.abs(alone).max(initial=0.0)), (
            name, dtype, size, batch, index,
        )  # fmt: skip
    if name in ("cholesky", "inv"):
        _failing(rng, getattr(tl, name), name, stack, whole, batch)


def _failing(rng: Random, function: Any, name: str, stack: Array, whole: Array, batch: tuple[int, ...]) -> None:
    bad = rng.sample(list(np.ndindex(*batch)), rng.randint(1, min(4, int(np.prod(batch)))))
    for index in bad:
        stack[(..., *index)] *= -1.0 if name == "cholesky" else 0.0
    x = tr.asarray(np.asfortranarray(stack))
    first = min(bad, key=lambda index: index[::-1])
    try:
        function(x)
        raise AssertionError(f"{name} of {bad} did not fail")
    except LinalgError as error:
        assert vars(error)["batch_index"] == first, (error, bad)
    result, status = function(x, check="mask")
    told = status.to_numpy()
    assert {index for index in np.ndindex(*batch) if told[index]} == set(bad)
    good = told == 0
    assert result.to_numpy()[..., good].tobytes() == whole[..., good].tobytes()


_PLACED: Final[Mapping[str, Callable[[tr.Tensor], Any]]] = {
    "svd": tl.svd,
    "qr": tl.qr,
    "eigh": tl.eigh,
    **_WHOLE,
    "complete qr": lambda a: tl.qr(a, mode="complete"),
    "full svd": lambda a: tl.svd(a, full=True),
    "eig": tl.eig,
    "lu": tl.lu,
    "ldl": tl.ldl,
    "schur": tl.schur,
    "pivoted qr": tl.qr_pivoted,
    "exponential": tl.expm,
    "root": tl.sqrtm,
    "logarithm": tl.logm,
    "triangle": lambda a: tl.triangular_solve(a, a[:, :1]),
    "factored": lambda a: tl.lu_solve(tl.lu_factor(a), a[:, :1]),
    "columns": lambda a: tl.qr_append(*tl.qr(a[:, :1]), a[:, :1]),
}
"""Functions of Hermitian positive definite matrices whose results do not depend on what else is in the batch."""


def places(rng: Random) -> None:
    """A matrix has the same bits at every place of a batch, beside whatever others, on one thread and on two."""
    draw = np.random.default_rng(rng.getrandbits(64))
    name, dtype = rng.choice(list(_PLACED)), rng.choice(_DTYPES)
    size, count = rng.choice((1, 2, 3, 4, 7, 8, 13, 16, 17, 24, 33, 50, 64)), rng.choice((6, 9, 17, 40))
    noise = _noise(draw, (size, size, count), dtype) / np.sqrt(size)
    stack = np.einsum("ijb,kjb->ikb", noise, noise.conj()) + np.eye(size)[..., None]
    stack = np.asfortranarray((stack * 10.0 ** draw.integers(-3, 4, count)).astype(dtype))
    order = draw.permutation(count)
    found = []
    for threads, given in ((1, stack), (2, np.asfortranarray(stack[..., order]))):
        with tr.set_threads(threads):
            parts = _PLACED[name](tr.asarray(given))
        found.append([part.to_numpy() for part in (parts if isinstance(parts, tuple) else (parts,))])
    for whole, moved in zip(*found, strict=True):
        assert np.array_equal(whole[..., order], moved, equal_nan=True), (name, dtype, size, count)


PROPERTIES: Final = (
    Property("linalg-factors", "factors give the matrix back, in order and orthonormal", factors, 50, 57_600),
    Property("linalg-batches", "a batch has the results and failures of its matrices alone", batches, 20, 10_000),
    Property("linalg-places", "neither place nor threads change a bit of a result", places, 30, 10_000),
)
