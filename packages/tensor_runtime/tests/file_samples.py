"""Tensors of every kind for tests of files, and what they show."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensor_runtime as tr
from tensor_core.dtypes import DType

Array = np.ndarray[Any, Any]
NAMED = ["npz", "safetensors"]
KINDS = ["rank 0", "empty", "owned", "row-major", "reversed view", "offset view", "repeated view"]


def elements(shape: tuple[int, ...], dtype: DType) -> Array:
    count = int(np.prod(shape))
    values = np.arange(count) % 2 if dtype.kind == "bool" else np.arange(count) * 1.25 - 7
    made: Array = np.asarray(values).astype(dtype.numpy_name).reshape(shape)
    return np.asarray(made * (1 + 0.5j), made.dtype) if dtype.kind == "complex" else made


def sample(kind: str, dtype: DType) -> tuple[tr.Tensor, Array]:
    """A tensor of a kind, and what it shows."""
    whole = elements({"rank 0": (), "empty": (3, 0, 2)}.get(kind, (3, 4, 2)), dtype).astype(dtype.numpy_name)
    x = tr.asarray(whole)
    if kind == "row-major":
        return tr.asarray(whole.T.copy(order="F")).T, whole
    if kind == "reversed view":
        return x[::-1, ::-2, ::-1], whole[::-1, ::-2, ::-1]
    if kind == "offset view":
        return x[1:, 1:3], whole[1:, 1:3]
    if kind == "repeated view":
        return tr.broadcast_to(x[:1], (3, 4, 2)), np.broadcast_to(whole[:1], (3, 4, 2))
    return x, whole


def same(x: tr.Tensor, a: Array) -> bool:
    found = x.to_numpy()
    return found.dtype == a.dtype and found.shape == a.shape and found.tobytes() == a.tobytes()


def holds(format: str, dtype: DType) -> bool:
    return format != "safetensors" or dtype is not tr.C64
