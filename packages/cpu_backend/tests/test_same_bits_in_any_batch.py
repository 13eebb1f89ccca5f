"""A matrix has the same solution, inverse and determinant, to the bit, and the same error, in every batch and place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.errors import SingularMatrixError

if not AVAILABLE:
    pytest.skip("NumPy's kernels alone are not the same in every batch", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("instruction_set")

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., tuple[tr.Tensor, ...]]

DTYPES = {"F32": np.float32, "F64": np.float64, "C32": np.complex64, "C64": np.complex128}
COUNT = 33
FUNCTIONS: dict[str, Function] = {
    "solve": lambda a, b: (tl.solve(a, b),),
    "inv": lambda a, b: (tl.inv(a),),
    "det": lambda a, b: (tl.det(a),),
    "slogdet": lambda a, b: tuple(tl.slogdet(a)),
}


def tensor(array: Array) -> tr.Tensor:
    return tr.asarray(np.asfortranarray(array))


def matrices(side: int, dtype: str, count: int = COUNT) -> Array:
    """Random ones, regular for sure; every third of whole numbers, so that pivots tie."""
    rng = np.random.default_rng(side)
    a = rng.integers(-3, 4, (side, side, count)) + 0.0
    a[..., 1::3] = rng.standard_normal(a[..., 1::3].shape)
    a[..., 2::3] = rng.standard_normal(a[..., 2::3].shape)
    whole: Any = a if DTYPES[dtype]().imag.dtype == DTYPES[dtype] else a + 1j * a[::-1]
    whole[np.arange(side), np.arange(side)[::-1]] += 10 * side
    return np.asarray(whole, DTYPES[dtype])


def bits(results: tuple[tr.Tensor, ...], place: int) -> list[bytes]:
    return [np.asfortranarray(result.to_numpy()[..., place]).tobytes("F") for result in results]


@pytest.mark.parametrize("side", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 48, 63, 64])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_matrix_has_the_same_bits_in_every_batch_and_place(name: str, dtype: str, side: int) -> None:
    tr.binding_cache.clear()  # bindings that other instruction sets made
    function = FUNCTIONS[name]
    a = matrices(side, dtype)
    b = np.random.default_rng(1).standard_normal((side, 3, COUNT)).astype(DTYPES[dtype])
    whole = function(tensor(a), tensor(b))
    expected = [bits(whole, place) for place in range(COUNT)]
    for size in (1, 2, 7, 8, 9):
        for start in (0, 1, 5, COUNT - size):
            part = function(tensor(a[..., start : start + size]), tensor(b[..., start : start + size]))
            assert [bits(part, place) for place in range(size)] == expected[start : start + size]
    alone = function(tensor(a[..., 4]), tensor(b[..., 4]))
    assert [np.asfortranarray(result.to_numpy()).tobytes("F") for result in alone] == expected[4]
    tr.binding_cache.clear()


def refuses(function: Callable[..., Any], *operands: tr.Tensor) -> bool:
    try:
        function(*operands)
    except SingularMatrixError:
        return True
    return False


@pytest.mark.parametrize("side", [5, 8, 13, 17, 32, 64])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_singular_matrix_is_refused_alike_in_every_batch(dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    rng = np.random.default_rng(side)
    regular = matrices(side, dtype, 9)
    for trial in range(24):  # a row is a combination of others: exactly, but seldom so after rounding
        a: Array = rng.integers(-9, 10, (side, side)).astype(DTYPES[dtype])
        if np.iscomplexobj(a):
            a += 1j * rng.integers(-9, 10, (side, side))
        a[trial % side] = 3 * a[(trial + 1) % side] - 2 * a[(trial + 2) % side]
        b = tensor(np.ones((side, 1), DTYPES[dtype]))
        alone = tl.det(tensor(a)).to_numpy() == 0
        assert refuses(tl.inv, tensor(a)) == alone
        assert refuses(tl.solve, tensor(a), b) == alone
        assert np.isneginf(tl.slogdet(tensor(a))[1].to_numpy()) == alone
        for place in (0, 3, 8):
            batch = regular.copy()
            batch[..., place] = a
            assert (tl.det(tensor(batch)).to_numpy()[place] == 0) == alone
            assert refuses(tl.inv, tensor(batch)) == alone
            assert refuses(tl.inv, tensor(batch[..., place : place + 1])) == alone
            assert refuses(tl.solve, tensor(batch), tensor(np.ones((side, 1, 9), DTYPES[dtype]))) == alone
    tr.binding_cache.clear()
