"""Matrices for kernels that compute one in each vector lane, and how far their results may be off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensor_core.dtypes import C32, C64, F32, F64
from tensor_cpu.kernels.linalg import batched_simd
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = {"float32": F32, "float64": F64, "complex64": C32, "complex128": C64}
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES)
EACH_SIDE = pytest.mark.parametrize("side", [*range(1, 17), 17, 24, 33])
SQUARE = sorted(set(batched_simd.BINDERS) & {"cholesky", "solve", "inv", "det", "eigh"})
RIGHT = 3


def forms(name: str, *tensors: Array) -> tuple[tuple[Form, ...], Any]:
    """Forms of the operands and of the results."""
    operands = tuple(
        form_of(DTYPES[x.dtype.name], x.shape, CPU, tuple(s // x.itemsize for s in x.strides)) for x in tensors
    )
    dtype, shape = operands[0].dtype, operands[-1].shape
    if name == "eigh":
        return operands, (form_of(dtype.component, shape[1:], CPU), form_of(dtype, shape, CPU))
    return operands, form_of(dtype, shape[2:] if name == "det" else shape, CPU)


def run(name: str, *tensors: Array, check: bool = True) -> tuple[Array, ...]:
    """The native kernel's results as tensors, matrix axes first, in binary64."""
    operands, result = forms(name, *tensors)
    kernel = batched_simd.bind(name, operands, result, check)
    assert kernel is not None
    found = kernel(*[x.T for x in tensors])
    results, expected = (found, result) if isinstance(result, tuple) else ((found,), (result,))
    for array, form in zip(results, expected, strict=True):
        assert (array.shape, DTYPES[array.dtype.name]) == (form.shape[::-1], form.dtype)
        assert array.flags.c_contiguous
        assert array.flags.writeable
    return tuple(wide(array.T) for array in results)


def wide(x: Array) -> Array:
    return np.asarray(x.astype(np.result_type(x.dtype, np.float64)))


def draw(dtype: str, *shape: int, seed: int = 0) -> Array:
    """A random column-major tensor."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    if "complex" in dtype:
        x = x + 1j * rng.standard_normal(shape)
    return np.asfortranarray(x.astype(dtype))


def matrices(name: str, dtype: str, side: int, *batch: int) -> Array:
    """Random square matrices; Hermitian positive definite ones where the operation wants them."""
    x = wide(draw(dtype, side, side, *batch))
    if name in ("cholesky", "eigh"):
        x = np.einsum("ik...,jk...->ij...", x, x.conj())
    return np.asfortranarray((x + unit(side, len(batch))).astype(dtype))


def unit(side: int, batch_rank: int) -> Array:
    return np.eye(side).reshape(side, side, *[1] * batch_rank)


def product(x: Array, y: Array) -> Array:
    return np.asarray(np.einsum("ij...,jk...->ik...", x, y))


def bound(dtype: str, side: int) -> float:
    return float(np.finfo(dtype).eps) * 8 * side**2


def residuals(name: str, a: Array, results: tuple[Array, ...], b: Array) -> float:
    """The largest error of what a routine promises, relative to the sizes of what it multiplied, for each matrix."""
    a, b, x = wide(a), wide(b), results[0]
    if name == "cholesky":
        error, size = product(x, x.conj().swapaxes(0, 1)) - a, largest(a)
    elif name == "solve":
        error, size = product(a, x) - b, largest(a) * largest(x) + largest(b)
    elif name == "inv":
        error, size = product(a, x) - unit(a.shape[0], a.ndim - 2), largest(a) * largest(x)
    else:
        stack = np.moveaxis(a, (0, 1), (-2, -1))
        exact = np.linalg.det(stack)
        condition = np.linalg.cond(stack) if a.size else np.ones(exact.shape)
        error, size = np.asarray(x - exact)[None, None], np.abs(exact) * condition
    return float((np.abs(error) / size).max(initial=0.0))


def largest(x: Array) -> Array:
    return np.asarray(np.abs(x).max(axis=(0, 1), initial=1e-300))
