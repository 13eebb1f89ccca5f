"""Factors and inverses of small matrices that are written past the caches have the bits of those that are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("instruction_set")

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES: dict[str, Any] = {"F32": np.float32, "F64": np.float64, "C32": np.complex64, "C64": np.complex128}
FUNCTIONS: dict[str, Callable[[tr.Tensor], tuple[tr.Tensor, ...]]] = {
    "qr": lambda a: tuple(tl.qr(a)),
    "cholesky": lambda a: (tl.cholesky(a),),
    "inv": lambda a: (tl.inv(a),),
    "eigh": lambda a: tuple(tl.eigh(a)),
    "svd": lambda a: tuple(tl.svd(a)),
}
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture
def threshold() -> Iterator[Callable[[int], None]]:
    """Sets from how many bytes on results are written past the caches; as before afterwards."""

    def change(number: int) -> None:
        LIBRARY.set_streamed_bytes(number)
        tr.binding_cache.clear()  # kernels keep what they were made for

    former = LIBRARY.streamed_bytes()
    yield change
    change(former)


def definite(rows: int, count: int, dtype: str) -> Array:
    """Hermitian matrices [M, M, B] whose eigenvalues are M or more; each another one."""
    rng = np.random.default_rng(rows)
    x: Any = rng.standard_normal((count, rows, rows))
    if dtype[0] == "C":
        x = x + 1j * rng.standard_normal(x.shape)
    whole = x @ x.conj().swapaxes(1, 2) + rows * np.eye(rows)
    return np.asarray(np.asfortranarray(whole.transpose(1, 2, 0)), DTYPES[dtype])


def bits(results: tuple[tr.Tensor, ...]) -> list[bytes]:
    return [np.asfortranarray(result.to_numpy()).tobytes("F") for result in results]


@EACH_DTYPE
@pytest.mark.parametrize("rows", [2, 4, 5, 6, 8, 12, 15, 16, 17])  # whole lines of a cache, and others
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_past_the_cache_have_the_same_bits(
    name: str, rows: int, dtype: str, threshold: Callable[[int], None]
) -> None:
    for count in (8, 29):  # whole groups, and a rest
        a = tr.asarray(definite(rows, count, dtype))
        threshold(1 << 40)
        expected = bits(FUNCTIONS[name](a))
        threshold(0)
        assert bits(FUNCTIONS[name](a)) == expected


@EACH_DTYPE
def test_factors_past_the_cache_are_those_of_each_matrix(dtype: str, threshold: Callable[[int], None]) -> None:
    a = definite(8, 40, dtype)
    unit = np.finfo(DTYPES[dtype]).eps
    threshold(0)
    q, r = (x.to_numpy().transpose(2, 0, 1) for x in tl.qr(tr.asarray(a)))
    lower = tl.cholesky(tr.asarray(a)).to_numpy().transpose(2, 0, 1)
    stack = a.transpose(2, 0, 1)
    bound = 100 * unit * np.abs(stack).max()
    assert np.abs(q @ r - stack).max() < bound
    assert np.abs(lower @ lower.conj().swapaxes(1, 2) - stack).max() < bound
    assert (np.tril(r, -1) == 0).all()
    assert (np.triu(lower, 1) == 0).all()


@EACH_DTYPE
@pytest.mark.parametrize("rows", [5, 8, 11])
def test_qr_scales_with_its_columns(rows: int, dtype: str) -> None:
    powers = np.array([0, -30, 3, 20, -21, 21, 29, -20, 1, -12, 40])[:rows]
    a = definite(rows, 21, dtype)
    scaled = a * np.exp2(powers).astype(DTYPES[dtype])[None, :, None]
    q, r = (x.to_numpy() for x in tl.qr(tr.asarray(a)))
    other_q, other_r = (x.to_numpy() for x in tl.qr(tr.asarray(np.asfortranarray(scaled))))
    assert np.array_equal(other_q, q)
    assert np.array_equal(other_r, r * np.exp2(powers)[None, :, None])
