"""Functions that write every image into the same memory: iterations give what they give of others, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr

N = 24
Map = Callable[[tr.Tensor], tr.Tensor]
Maker = Callable[[tr.Tensor], Map]


def product(a: tr.Tensor, x: tr.Tensor) -> tr.Tensor:
    return tr.dot_general(a, x, contracting=((1,), (0,)))


def fresh(a: tr.Tensor) -> Map:
    return lambda x: product(a, x)


def in_one_buffer() -> Maker:
    """Maps that all write into one memory for each shape of an image; what was there before is spoiled first."""
    buffers: dict[tuple[int, ...], Any] = {}

    def made(a: tr.Tensor) -> Map:
        def applied(x: tr.Tensor) -> tr.Tensor:
            image = product(a, x)
            buffer = buffers.setdefault(image.shape, tr.mutable_view(tr.zeros(image.shape, dtype=image.dtype)))
            buffer[...] = float("nan")
            buffer[...] = image
            return buffer

        return applied

    return made


def definite(dtype: str) -> tr.Tensor:
    g = tr.normal((N, N), seed=3, dtype=dtype)
    return tl.matmul(g, tl.mH(g)) * (1 / N) + tr.eye(N)


def near_the_shift() -> tr.Tensor:
    """Eigenvalues 1 to N, of which three are so near to 5 that their inverses dwarf the others."""
    values = tr.asarray(
        [5.0 + 2e-9 if k == 9 else 5.0 - 3e-9 if k == 10 else 5.0 + 7e-9 if k == 4 else k + 1.0 for k in range(N)]
    )
    q = tl.qr(tr.normal((N, N), seed=7)).q
    return tl.matmul(q * tr.expand_dims(values, 0), tl.mH(q))


def shifted(made: Maker, b: tr.Tensor, a: tr.Tensor, sigma: float, **options: Any) -> Any:
    inverse = tl.inv(a - tr.eye(N) * sigma)
    return tl.eigsh(made(a), b, k=5, sigma=sigma, solve=made(inverse), maxiter=3000, **options)


def solver(method: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    def run(made: Maker, b: tr.Tensor, a: tr.Tensor, **options: Any) -> Any:
        return method(made(a), b, **more, **options)

    return run


def preconditioned(method: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    def run(made: Maker, b: tr.Tensor, a: tr.Tensor, **options: Any) -> Any:
        inverse = made(tl.inv(a + tr.eye(N) * 0.5))
        return method(made(a), b, x0=b, preconditioner=inverse, **more, **options)

    return run


def adjoined(method: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    def run(made: Maker, b: tr.Tensor, a: tr.Tensor, **options: Any) -> Any:
        return method(made(a), b, adjoint=made(tl.mH(a)), **more, **options)

    return run


METHODS: dict[str, Callable[..., Any]] = {
    "eigsh": solver(tl.eigsh, k=3, basis=11),
    "eigsh LA": solver(tl.eigsh, k=3, basis=11, which="LA"),
    "eigsh LM": solver(tl.eigsh, k=3, basis=11, which="LM"),
    "eigsh one by one": solver(tl.eigsh, k=3, basis=11, multiplets=False),
    "eigsh sigma": lambda made, b, a, **o: shifted(made, b, a, 0.3, basis=12, **o),
    "eigsh near sigma": lambda made, b, a, **o: shifted(made, b, near_the_shift(), 5.0, **o),
    "eigs": solver(tl.eigs, k=3, basis=11),
    "eigs SM": solver(tl.eigs, k=3, basis=11, which="SM"),
    "svds": adjoined(tl.svds, k=3, basis=11),
    "svds SM": adjoined(tl.svds, k=3, basis=11, which="SM"),
    "cg": solver(tl.cg, tol=1e-13),
    "cg preconditioned": preconditioned(tl.cg, tol=1e-13),
    "minres": solver(tl.minres, shift=0.1, tol=1e-13),
    "gmres": solver(tl.gmres, restart=4, tol=1e-13),
    "gmres preconditioned": preconditioned(tl.gmres, restart=3, tol=1e-13),
    "lsmr": adjoined(tl.lsmr, damp=0.1),
    "expm_multiply": solver(tl.expm_multiply, basis=5),
    "expm_multiply hermitian": solver(tl.expm_multiply, t=-2j, hermitian=True, basis=9),
}


class Told:
    """A callback that keeps what it is told, and what that was when it was told."""

    def __init__(self) -> None:
        self.kept: list[tuple[tr.Tensor, list[Any]]] = []

    def __call__(self, progress: Any) -> None:
        for one in (progress.residuals, progress.values):
            if one is not None:
                self.kept.append((one, one.to_numpy().tolist()))


@pytest.mark.parametrize("dtype", ["F64", "C64"])
@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("name", METHODS)
def test_images_in_the_same_memory_are_as_good_as_others(name: str, batch: tuple[int, ...], dtype: str) -> None:
    a, b, told = definite(dtype), tr.normal((N, *batch), seed=1, dtype=dtype), Told()
    wanted = METHODS[name](fresh, b, a, batch_rank=len(batch))

    found = METHODS[name](in_one_buffer(), b, a, batch_rank=len(batch), callback=told)

    for one, other in zip(found, wanted, strict=True):
        if isinstance(one, tr.Tensor):
            np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())
        else:
            assert one == other
    assert told.kept and all(one.to_numpy().tolist() == then for one, then in told.kept)


@pytest.mark.parametrize("which", ["LM", "SM"])
@pytest.mark.parametrize("shape", [(7, N), (N, 7)])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_so_are_those_of_maps_between_two_spaces(batch: tuple[int, ...], shape: tuple[int, int], which: str) -> None:
    a, x0 = tr.normal(shape, seed=2), tr.normal((shape[1], *batch), seed=1)

    def found(made: Maker) -> Any:
        return tl.svds(made(a), x0, adjoint=made(tl.mH(a)), k=3, which=which, batch_rank=len(batch))

    def fitted(made: Maker) -> Any:
        b = tr.normal((shape[0], *batch), seed=4)
        return tl.lsmr(made(a), b, adjoint=made(tl.mH(a)), batch_rank=len(batch))

    for method in (found, fitted):
        for one, other in zip(method(in_one_buffer()), method(fresh), strict=True):
            if isinstance(one, tr.Tensor):
                np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())
            else:
                assert one == other


@pytest.mark.parametrize("batch", [(), (2,)])
def test_eigenvectors_near_a_shift_are_those_of_the_map_that_solves_in_one_memory(batch: tuple[int, ...]) -> None:
    a = near_the_shift()

    found = shifted(in_one_buffer(), tr.normal((N, *batch), seed=3), a, 5.0, batch_rank=len(batch))

    vectors, values = found.eigenvectors.to_numpy(), found.eigenvalues.to_numpy()
    assert found.converged
    np.testing.assert_allclose(a.to_numpy() @ vectors, vectors * values, atol=1e-5)
