"""Sums of products with conjugates, made without a copy of them: vectors along any axis, in any layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, DType
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_einsum import einsum

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

BATCHES: tuple[tuple[int, ...], ...] = ((), (1,), (7,), (40,), (6, 5), (3, 1, 4))


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def whole(seed: int, shape: tuple[int, ...], dtype: DType) -> Any:
    values = np.random.default_rng(seed)
    return (values.integers(-9, 9, shape) + 1j * values.integers(-9, 9, shape)).astype(NUMPY_DTYPES[dtype])


@pytest.mark.parametrize("dtype", [C32, C64])
@pytest.mark.parametrize("length", [1, 3, 5, 8, 31, 100, 257])
def test_vecdot_equals_numpys_sums(length: int, dtype: DType) -> None:
    for batch in BATCHES:
        for axis in range(-len(batch) - 1, len(batch) + 1):
            shape = list(batch)
            shape.insert(axis % (len(batch) + 1), length)
            a, b = whole(1, tuple(shape), dtype), whole(2, tuple(shape), dtype)
            columns = np.asfortranarray(a)
            for x, y in ((a, b), (columns, b), (columns, np.asfortranarray(b)), (a[::-1], b), (a, b.real)):
                found = tr.vecdot(tr.asarray(x), tr.asarray(y), axis=axis).to_numpy()
                np.testing.assert_array_equal(found, (np.conj(x) * y).sum(axis=axis), strict=True)


def test_operands_that_broadcast() -> None:
    x, y = whole(3, (60,), C64), whole(4, (4, 6, 60), C64)
    for a, b in ((x, y), (y, x), (y[:1], y), (y, y[:, :1])):
        found = tr.vecdot(tr.asarray(a), tr.asarray(b)).to_numpy()
        np.testing.assert_array_equal(found, (np.conj(a) * b).sum(axis=-1))


def test_vectors_along_the_first_axis() -> None:
    x, y = whole(5, (33, 50), C64), whole(6, (33, 50), C64)
    found = tensor_linalg.vecdot(tr.asarray(x), tr.asarray(y)).to_numpy()
    np.testing.assert_array_equal(found, (np.conj(x) * y).sum(axis=0))


@pytest.mark.parametrize("subscripts", ["ij,ij->i", "ij,ij->j", "ij,jk->ik", "i,j->ij", "ijk,ijk->ik", "ki,kij->kj"])
def test_einsum_reads_either_operand_conjugated(subscripts: str) -> None:
    extents = {"i": 12, "j": 9, "k": 30}
    x, y = subscripts.split("->")[0].split(",")
    a, b = (whole(7, tuple(extents[label] for label in labels), C64) for labels in (x, y))
    for conjugated, factors in ((0, (a.conj(), b)), (1, (a, b.conj()))):
        found = einsum(subscripts, tr.asarray(a), tr.asarray(b), conj=conjugated).to_numpy()
        np.testing.assert_array_equal(found, np.einsum(subscripts, *factors))


def test_a_pair_kernel_conjugates_the_first_operand_of_the_call() -> None:
    a, b = whole(8, (20, 30), C64), whole(9, (20,), C64)
    kept = ((20, 30, 1, 30), (30, 1, 0, 1))
    plain, first = (LIBRARY.bind_pair("C64", (20, 30), kept, (), conjugated) for conjugated in (False, True))
    np.testing.assert_array_equal(plain(a, b), a * b[:, None])
    np.testing.assert_array_equal(first(a, b), a.conj() * b[:, None])
    turned = LIBRARY.bind_pair("C64", (20, 30), ((20, 1, 30, 30), (30, 0, 1, 1)), (), True)  # swapped within
    np.testing.assert_array_equal(turned(b, a), b.conj()[:, None] * a)
