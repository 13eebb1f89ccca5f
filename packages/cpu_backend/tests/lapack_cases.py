"""Stacks of matrices for loops over LAPACK, and NumPy's kernel beside the native one for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensor_core import C32, C64, F32, F64, DType
from tensor_cpu.kernels.linalg import lapack
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, np.dtype[Any]]
NAMES = tuple(lapack.BINDERS)
UNIQUE = (
    "cholesky",
    "solve",
    "inv",
    "det",
    "eigvalsh",
    "svdvals",
)  # decompositions with one answer; the others are tested by what they promise
FLOATING = pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
DTYPES = {dtype.numpy_name: dtype for dtype in (F32, F64, C32, C64)}


def form(tensor: Array) -> Form:
    """Of a tensor in its own order of axes, whatever its strides."""
    strides = tuple(stride // tensor.itemsize for stride in tensor.strides)
    return form_of(DTYPES[tensor.dtype.name], tensor.shape, CPU, strides)


def result_of(name: str, operands: tuple[Form, ...]) -> Any:
    a = operands[0]
    (m, n), batch, k = a.shape[:2], a.shape[2:], min(a.shape[:2])
    if name == "solve" and len(operands) == 2 and operands[1].rank > 1:
        batch = np.broadcast_shapes(batch, operands[1].shape[2:])

    def one(*shape: int, real: bool = False) -> Form:
        return form_of(a.dtype.component if real else a.dtype, shape, CPU)

    match name:
        case "svd":
            return one(m, k, *batch), one(k, *batch, real=True), one(k, n, *batch)
        case "qr":
            return one(m, k, *batch), one(k, n, *batch)
        case "eigh":
            return one(n, *batch, real=True), one(*a.shape)
        case "eigvalsh":
            return one(n, *batch, real=True)
        case "svdvals":
            return one(k, *batch, real=True)
        case "det":
            return one(*batch)
        case "solve":
            b = operands[1]
            return one(n) if b.rank == 1 else one(n, b.shape[1], *batch)
    return one(*a.shape)


def kernels(name: str, *tensors: Array, check: bool = True) -> tuple[Any, Any]:
    """NumPy's kernel and the native one."""
    operands = tuple(map(form, tensors))
    result = result_of(name, operands)
    return linalg.bind(name, operands, result, check), lapack.bind(name, operands, result, check)


def run(name: str, *tensors: Array, check: bool = True) -> Any:
    _, native = kernels(name, *tensors, check=check)
    return native(*[x.T for x in tensors])


def numbers(dtype: DType, shape: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asfortranarray((x if dtype in (C32, C64) else x.real).astype(dtype.numpy_name))


def matrices(name: str, dtype: DType, rows: int, columns: int, batch: tuple[int, ...], seed: int) -> Array:
    """Such as the operation wants, well conditioned."""
    if name not in ("svd", "svdvals", "qr"):
        columns = rows
    x = numbers(dtype, (rows, columns, *batch), seed)
    if name in ("cholesky", "eigh", "eigvalsh"):
        x = np.einsum("ij...,kj...->ik...", x, x.conj())
    if name in ("cholesky", "solve", "inv", "det"):
        x = x + 2 * rows * np.eye(rows).reshape(rows, rows, *[1] * len(batch))
    return np.asfortranarray(x.astype(dtype.numpy_name))


def close(found: Array, expected: Array) -> bool:
    unit = float(np.finfo(expected.dtype).eps)
    return bool(np.abs(found - expected).max(initial=0.0) <= 64 * unit * max(1.0, np.abs(expected).max(initial=0.0)))


def reconstructed(name: str, results: Any) -> Array:
    match name:
        case "svd":
            u, s, vh = (x.T for x in results)
            return np.asarray(np.einsum("ik...,k...,kj...->ij...", u, s, vh))
        case "qr":
            return np.asarray(np.einsum("ik...,kj...->ij...", results[0].T, results[1].T))
    values, vectors = (x.T for x in results)
    return np.asarray(np.einsum("ik...,k...,jk...->ij...", vectors, values, vectors.conj()))


SIDE = lapack.LARGEST_IN_LANES + 6
