"""Exponentials and square roots of small matrices: each kernel beside sums of longer numbers, alone and in batches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import I32
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import form_of

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES: dict[str, Any] = {"F32": np.float32, "F64": np.float64, "C32": np.complex64, "C64": np.complex128}
COUNT = 19
native = pytest.mark.skipif(not AVAILABLE, reason="needs the extension")


def tensor(a: Array) -> tr.Tensor:
    return tr.asarray(np.asfortranarray(a))


def numbers(side: int, dtype: str, size: float = 1.0, count: int = COUNT) -> Array:
    rng = np.random.default_rng(side)
    a = rng.standard_normal((side, side, count)) * size
    complex_ones = DTYPES[dtype]().dtype.kind == "c"
    return np.asarray(a + 1j * rng.standard_normal(a.shape) * size if complex_ones else a, DTYPES[dtype])


def long_exponential(a: Array) -> Array:
    """The series in longer numbers, after many halvings."""
    wide: Any = a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)
    halvings = max(0, int(np.ceil(np.log2(np.abs(wide).sum(axis=1).max(initial=0) + 1e-30)))) + 6
    x = term = np.eye(len(a), dtype=wide.dtype)
    for k in range(1, 30):
        term = term.dot(wide / np.longdouble(2) ** halvings) / k
        x = x + term
    for _ in range(halvings):
        x = x.dot(x)
    return np.asarray(x)


@lru_cache(maxsize=8)
def long_exponentials(side: int, dtype: str, size: float) -> list[Array]:
    """Those of some numbers; every kernel and instruction set takes its turn with them."""
    a = numbers(side, dtype, size / side**0.5)
    return [long_exponential(a[..., k]) for k in range(COUNT)]


def kernels(name: str, a: Array) -> list[Any]:
    """NumPy's kernel and the one that is bound, on one matrix or a batch."""
    x = tensor(a)
    form, status = x._form, form_of(I32, a.shape[2:], x.placement)
    result: Any = (form, status) if name == "sqrtm_iterated" else form
    numpys = bind_numpy(name, (form,), result, (True,))(x._array)
    best = tr.backend("cpu").bind(name, (form,), result, (True,))(x._array)
    return [numpys, best]


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("side", [2, 3, 5, 8, 9, 16])
@pytest.mark.parametrize("dtype", ["F64", "C64"])
def test_exponentials_of_similar_matrices_are_similar_however_large(dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    a = numbers(side, dtype)
    scales = 2.0 ** np.random.default_rng(side).integers(-250, 250, (side, 1, COUNT))
    similar = a * scales / scales.swapaxes(0, 1)
    for one in (slice(None), 3):
        for x, y in zip(kernels("expm", similar[..., one]), kernels("expm", a[..., one]), strict=True):
            expected, back = y.T, (scales.swapaxes(0, 1) / scales)[..., one]  # the kernels' arrays are transposed
            np.testing.assert_allclose(x.T * back, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("side", [1, 2, 3, 4, 5, 8, 9, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_exponentials_have_the_digits_of_the_series(dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    for size, units in ((1e-4, 8.0), (0.1, 8.0), (0.3, 8.0), (2.0, 400.0), (12.0, 20000.0)):
        a = numbers(side, dtype, size / side**0.5)
        unit = float(np.finfo(DTYPES[dtype]).eps) * (units if np.finfo(DTYPES[dtype]).eps < 1e-10 else 4)
        for found in kernels("expm", a):
            for k, expected in enumerate(long_exponentials(side, dtype, size)):
                assert np.abs(found[k].T - expected).max() <= unit * np.abs(expected).max()
    tr.binding_cache.clear()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("side", [1, 2, 3, 5, 8, 13, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_of_roots_are_the_matrices(dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    x = numbers(side, dtype)
    a = np.einsum("ijb,kjb->ikb", x, x.conj()) + x / 4 + 2 * np.eye(side)[..., None]
    a = (a * np.array([1e-9, 1.0, 1e9])[np.arange(COUNT) % 3]).astype(DTYPES[dtype])
    for root, status in kernels("sqrtm_iterated", a):
        assert not status.any()
        wide = root.astype(np.clongdouble)
        square = (wide @ wide).transpose(2, 1, 0)
        missed = np.abs(square - a).max(axis=(0, 1)) / np.abs(a).max(axis=(0, 1))
        assert missed.max() <= 300 * float(np.finfo(DTYPES[dtype]).eps)
        values = np.linalg.eigvals(root.swapaxes(-1, -2))
        assert (values.real > 0).all()
    tr.binding_cache.clear()


@native
@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("side", [1, 2, 3, 4, 5, 7, 8, 9, 12, 16])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [tl.expm, tl.sqrtm])
def test_a_matrix_has_the_same_bits_in_every_batch_and_place(function: Any, dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    a = numbers(side, dtype) * np.asarray(10.0 ** (np.arange(COUNT) % 5 - 3), DTYPES[dtype]().real.dtype)
    if function is tl.sqrtm:
        a = np.asarray(np.einsum("ijb,kjb->ikb", a, a.conj()) + np.eye(side)[..., None], DTYPES[dtype])
    whole = function(tensor(a)).to_numpy()
    for size in (1, 2, 5, 8, 9):
        for start in (0, 3, COUNT - size):
            part = function(tensor(a[..., start : start + size])).to_numpy()
            assert part.tobytes("F") == whole[..., start : start + size].tobytes("F")
    assert function(tensor(a[..., 4])).to_numpy().tobytes("F") == whole[..., 4].tobytes("F")
    tr.binding_cache.clear()


@pytest.mark.usefixtures("instruction_set")
def test_exponentials_of_what_has_a_closed_form() -> None:
    tr.binding_cache.clear()
    shift = np.eye(6, k=1)
    steps = 1.0 / np.array([1, 1, 2, 6, 24, 120])
    far = np.diag([0.0, 1e200], 1)[:2, :2] + np.array([[0.0, 1e200], [0.0, 0.0]])
    jordan = 700 * np.eye(3) + np.eye(3, k=1)
    for scale in (1.0, 2.0**-600, 2.0**100):
        power = np.array([[steps[j - i] * scale ** (j - i) if j >= i else 0.0 for j in range(6)] for i in range(6)])
        for found in kernels("expm", shift * scale):
            assert np.abs(found.T - power).max() <= 1e-13 * power.max()
    for found in kernels("expm", far):
        assert np.allclose(found.T, np.eye(2) + far, rtol=1e-15, atol=0)
    for found in kernels("expm", jordan):
        expected = np.exp(700.0) * np.array([[1, 1, 0.5], [0, 1, 1], [0, 0, 1]])
        assert np.allclose(found.T, expected, rtol=1e-12, atol=0)
    for found in kernels("expm", np.diag([-1e5, 0.0, 1.0])):
        assert found.diagonal().tolist() == pytest.approx([0.0, 1.0, np.e], rel=1e-10)
    tr.binding_cache.clear()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_or_spoils_its_own_matrix_alone(bad: float) -> None:
    tr.binding_cache.clear()
    a = numbers(3, "F64")
    expected = tl.expm(tensor(a)).to_numpy()
    spoilt = a.copy()
    spoilt[1, 2, 7] = bad
    with pytest.raises(tl.NonFiniteError, match=r"expm: operand a holds .* at element \(1, 2\) .*index \(7,\)"):
        tl.expm(tensor(spoilt))
    with pytest.raises(tl.NonFiniteError, match=r"sqrtm: operand a holds .* at element \(1, 2\)"):
        tl.sqrtm(tensor(spoilt[..., 7]))
    found = tl.expm(tensor(spoilt), check=False).to_numpy()
    assert np.isnan(found[..., 7]).all()
    others = np.arange(COUNT) != 7
    assert found[..., others].tobytes("F") == expected[..., others].tobytes("F")
    assert np.isnan(tl.expm(tensor(spoilt[..., 7]), check=False).to_numpy()).all()
    tr.binding_cache.clear()


@pytest.mark.usefixtures("instruction_set")
def test_roots_that_there_are_not_have_a_status_and_leave_the_others_alone() -> None:
    tr.binding_cache.clear()
    a = np.stack([np.diag([4.0, 9.0]), np.zeros((2, 2)), np.diag([-1.0, 4.0]), np.eye(2, k=1), 4 * np.eye(2)], -1)
    for root, status in kernels("sqrtm_iterated", a):
        assert status.tolist() == [0, 2, 2, 2, 0]
        assert root[[0, 4]].round(12).tolist() == [[[2.0, 0.0], [0.0, 3.0]], [[2.0, 0.0], [0.0, 2.0]]]
        alone = kernels("sqrtm_iterated", a[..., 2])
        assert [int(one[1]) for one in alone] == [2, 2]
    turned = tl.sqrtm(tensor(a[..., [0, 2]].astype(complex))).to_numpy()
    assert turned[..., 1].round(12).tolist() == [[1j, 0j], [0j, 2 + 0j]]
    tr.binding_cache.clear()


@native
@pytest.mark.parametrize("sides", [(17, 17), (2, 3), (0, 0)])
def test_larger_matrices_and_rectangles_are_not_bound(sides: tuple[int, int]) -> None:
    for name in ("expm", "sqrtm"):
        with pytest.raises(ValueError, match="no lanes for"):
            LIBRARY.bind_batched_simd(name, "F64", sides, 0, 1, (), True, print)


def test_views_and_empty_batches_are_taken() -> None:
    a = numbers(4, "C64")
    turned = tl.expm(tl.mT(tensor(a))[..., ::2]).to_numpy()
    assert np.allclose(turned, tl.expm(tensor(a)).to_numpy().swapaxes(0, 1)[..., ::2], rtol=1e-12)
    for shape in ((0, 0), (3, 3, 0), (0, 0, 2)):
        assert tl.expm(tr.zeros(shape)).shape == shape
        assert tl.sqrtm(tr.zeros(shape)).shape == shape
