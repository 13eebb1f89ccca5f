"""Contractions of a real and a complex operand: exact on whole numbers, whichever parts are multiplied together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensor_cpu.kernels.contraction.choice import _bind
from tensor_cpu.kernels.contraction.cuts import real_parts
from tensor_cpu.kernels.contraction.cuts.real_parts import in_real_parts
from tensor_runtime.backends.shared.axes import Operand, row_major
from tensor_runtime.backends.workspaces import workspace_of

Array = np.ndarray[Any, Any]
COMPLEX = {"float32": "complex64", "float64": "complex128"}
CASES = [("ij,j->i", 70, 60), ("ji,j->i", 70, 60), ("ij,jk->ik", 70, 60), ("bij,jb->ib", 9, 40), ("ij,ij->", 70, 60)]


def operand(labels: str, array: Array) -> Operand:
    strides = tuple(step // array.itemsize for step in array.strides)
    return Operand(tuple(map(ord, labels)), array.shape, strides, array.dtype.name)


@pytest.mark.parametrize("most", [0, 10 << 20])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("step", [1, -1, 3])
@pytest.mark.parametrize(("subscripts", "first", "second"), CASES)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_products_of_parts_are_products(
    dtype: str, subscripts: str, first: int, second: int, step: int, swapped: bool, most: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(real_parts, "_READ_TWICE", most)
    rng = np.random.default_rng(1)
    extents = {"i": first, "j": second, "k": 3, "b": 7}
    (left, right), out = subscripts.split("->")[0].split(","), subscripts.split("->")[1]
    a = rng.integers(-9, 10, [extents[label] for label in left]).astype(dtype)
    parts = rng.integers(-9, 10, (2, *[extents[label] * abs(step) for label in right]))
    b = (parts[0] + 1j * parts[1]).astype(COMPLEX[dtype])[(slice(None, None, step),) * len(right)]
    x, y = operand(left, a), operand(right, b)
    result = row_major(tuple(map(ord, out)), tuple(extents[label] for label in out), COMPLEX[dtype])

    kernel = _bind(y, x, result) if swapped else _bind(x, y, result)

    found = kernel(b, a) if swapped else kernel(a, b)
    assert found.dtype == b.dtype
    np.testing.assert_array_equal(found, np.einsum(subscripts, a, b))
    if out and in_real_parts(x, y, result) is not None:
        assert workspace_of(kernel) < a.size * b.itemsize  # the real operand is not converted


def test_only_a_large_real_operand_beside_a_complex_one_of_the_same_precision_is_left_as_it_is() -> None:
    matrix, vector = row_major((0, 1), (90, 80), "float64"), row_major((1,), (80,), "complex128")
    result = row_major((0,), (90,), "complex128")
    assert in_real_parts(matrix, vector, result) is not None
    assert in_real_parts(matrix._replace(dtype="float32"), vector, result) is None
    assert in_real_parts(matrix._replace(dtype="int64"), vector, result) is None
    assert in_real_parts(matrix._replace(dtype="complex128"), vector, result) is None
    assert in_real_parts(matrix._replace(shape=(9, 80)), vector, result) is None
    assert in_real_parts(matrix, vector, row_major((0, 1), (90, 80), "complex128")) is None


def test_an_infinite_part_leaves_the_other_one_as_it_is() -> None:
    a, b = np.ones((90, 80)), np.ones(80, complex)
    b[3] = complex(np.inf, 2)
    x, y, result = operand("ij", a), operand("j", b), row_major((ord("i"),), (90,), "complex128")
    found = _bind(x, y, result)(a, b)
    np.testing.assert_array_equal(found.real, np.full(90, np.inf))
    np.testing.assert_array_equal(found.imag, np.full(90, 2.0))
