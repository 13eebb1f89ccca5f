"""Operators that iterative methods are given: what they give in the same memory, between what spaces, and how large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr

N = 12
Map = Callable[[tr.Tensor], tr.Tensor]


def definite(dtype: str) -> tr.Tensor:
    g = tr.normal((N, N), seed=3, dtype=dtype)
    return tl.matmul(g, tl.mH(g)) * (1 / N) + tr.eye(N)


def in_one_buffer(a: tr.Tensor, batch: tuple[int, ...]) -> Map:
    """The product with a matrix, which is written to the same memory each time."""
    buffer = tr.mutable_view(tr.zeros((a.shape[0], *batch), dtype=a.dtype))

    def product(x: tr.Tensor) -> tr.Tensor:
        buffer[...] = tr.dot_general(a, x, contracting=((1,), (0,)))
        return buffer

    return product


def fresh(a: tr.Tensor, batch: tuple[int, ...]) -> Map:
    return lambda x: tr.dot_general(a, x, contracting=((1,), (0,)))


METHODS: dict[str, Callable[..., Any]] = {
    "cg": lambda a, inverse, b, **o: tl.cg(a, b, preconditioner=inverse, maxiter=3, **o),
    "minres": lambda a, inverse, b, **o: tl.minres(a, b, maxiter=6, **o),
    "gmres": lambda a, inverse, b, **o: tl.gmres(a, b, preconditioner=inverse, restart=3, maxiter=6, **o),
    "lsmr": lambda a, inverse, b, **o: tl.lsmr(a, b, adjoint=a, maxiter=6, **o),
    "eigsh": lambda a, inverse, b, **o: tl.eigsh(a, b, k=3, basis=9, **o),
    "eigsh near": lambda a, inverse, b, **o: tl.eigsh(a, b, k=3, basis=9, sigma=0.0, solve=inverse, **o),
    "eigs": lambda a, inverse, b, **o: tl.eigs(a, b, k=3, basis=9, **o),
    "svds": lambda a, inverse, b, **o: tl.svds(a, b, adjoint=a, k=3, basis=9, **o),
    "expm_multiply": lambda a, inverse, b, **o: tl.expm_multiply(a, b, **o),
}


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("name", METHODS)
def test_a_map_may_give_every_image_in_the_same_memory(name: str, batch: tuple[int, ...]) -> None:
    a, b = definite("C64"), tr.normal((N, *batch), seed=1, dtype="C64")
    inverse = tl.inv(a + tr.eye(N) * 0.1)
    wanted = METHODS[name](fresh(a, batch), fresh(inverse, batch), b, batch_rank=len(batch))

    found = METHODS[name](in_one_buffer(a, batch), in_one_buffer(inverse, batch), b, batch_rank=len(batch))

    for one, other in zip(found, wanted, strict=True):
        if isinstance(one, tr.Tensor):
            np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=1e-8, atol=1e-11)
        else:
            assert one == other
