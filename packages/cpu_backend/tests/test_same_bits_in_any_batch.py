"""A matrix has the same results, to the bit, and the same error, in every batch and place, whatever is beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import C32, C64, F32, F64, I64
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.kernels.linalg import batched_simd
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.errors import NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("NumPy's kernels alone are not the same in every batch", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("instruction_set")

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., tuple[tr.Tensor, ...]]

DTYPES: dict[str, Any] = {"F32": np.float32, "F64": np.float64, "C32": np.complex64, "C64": np.complex128}
COUNT = 33
FUNCTIONS: dict[str, Function] = {
    "solve": lambda a, b: (tl.solve(a, b),),
    "inv": lambda a, b: (tl.inv(a),),
    "det": lambda a, b: (tl.det(a),),
    "slogdet": lambda a, b: tuple(tl.slogdet(a)),
}
ROTATIONS: dict[str, Callable[[tr.Tensor], tuple[tr.Tensor, ...]]] = {
    "svd": lambda a: tuple(tl.svd(a)),
    "svdvals": lambda a: (tl.svdvals(a),),
    "eigh": lambda a: tuple(tl.eigh(a)),
    "eigvalsh": lambda a: (tl.eigvalsh(a),),
}
UNCHECKED: dict[str, Callable[[tr.Tensor], tuple[tr.Tensor, ...]]] = {
    "inv": lambda a: (tl.inv(a, check=False),),
    "det": lambda a: (tl.det(a, check=False),),
    "slogdet": lambda a: tuple(tl.slogdet(a, check=False)),
    "solve": lambda a: (tl.solve(a, a, check=False),),
    "qr": lambda a: tuple(tl.qr(a, check=False)),
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


@pytest.mark.parametrize(
    "shape",
    [
        (1, 1),
        (2, 2),
        (5, 5),
        (6, 6),
        (7, 7),
        (8, 8),
        (9, 9),
        (15, 15),
        (16, 16),
        (8, 5),
        (6, 8),
        (7, 6),
        (3, 9),
        (9, 6),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROTATIONS)
def test_rotations_find_the_same_bits_in_every_batch_and_place(name: str, dtype: str, shape: tuple[int, int]) -> None:
    if name.startswith("eig") and shape[0] != shape[1]:
        shape = shape[:1] * 2
    tr.binding_cache.clear()  # bindings that other instruction sets made
    function = ROTATIONS[name]
    a = matrices(max(shape), dtype)[: shape[0], : shape[1]].copy(order="F")
    a[:, shape[1] // 2, 3::7] = 0  # and some that are singular, some graded, some of one value
    a[..., 4::7] *= np.asarray(10.0 ** -np.arange(shape[1]), a.dtype)[:, None]
    a[..., 5::7] = np.eye(*shape)[..., None]
    if name.startswith("eig"):
        a = np.asfortranarray(a + a.conj().swapaxes(0, 1))
    expected = [bits(function(tensor(a)), place) for place in range(COUNT)]
    for size in (1, 2, 3, 7, 8, 9):
        for start in (0, 3, COUNT - size):
            part = function(tensor(a[..., start : start + size]))
            assert [bits(part, place) for place in range(size)] == expected[start : start + size]
    for place in range(12):
        alone = function(tensor(a[..., place]))
        assert [np.asfortranarray(result.to_numpy()).tobytes("F") for result in alone] == expected[place]
    tr.binding_cache.clear()


@pytest.mark.parametrize(
    "shape",
    [*((side, side) for side in (1, 4, 5, 6, 8, 13, 16, 17, 33, 64)), (8, 5), (5, 7), (9, 5), (3, 20), (64, 2)],
)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cholesky", "qr"])
def test_factors_have_the_same_bits_in_every_batch_and_place(name: str, dtype: str, shape: tuple[int, int]) -> None:
    tr.binding_cache.clear()
    a = matrices(max(shape), dtype, 27)[: shape[0], : shape[1]].copy(order="F")
    a[:, shape[1] // 2, 3::7] = 0
    a[..., 4::7] *= np.asarray(10.0 ** -np.arange(shape[1]), a.dtype)[:, None]
    if name == "cholesky":
        a = matrices(shape[0], dtype, 27)
        a = np.asfortranarray(np.einsum("ikb,jkb->ijb", a, a.conj()) + np.eye(shape[0])[..., None].astype(a.dtype))
        a[np.triu_indices(shape[0], 1)] = 7
    function: Function = {"cholesky": lambda x: (tl.cholesky(x),), "qr": lambda x: tuple(tl.qr(x))}[name]
    whole = function(tensor(a))
    expected = [bits(whole, place) for place in range(27)]
    for start, size in ((0, 1), (4, 1), (26, 1), (2, 3), (11, 8), (9, 10), (5, 16), (2, 24)):
        part = function(tensor(a[..., start : start + size]))
        assert [bits(part, place) for place in range(size)] == expected[start : start + size]
    alone = function(tensor(a[..., 10]))
    assert [np.asfortranarray(result.to_numpy()).tobytes("F") for result in alone] == expected[10]
    tr.binding_cache.clear()


@pytest.mark.parametrize("side", [7, 8, 16])
@pytest.mark.parametrize("dtype", ["F32", "F64", "C64"])
@pytest.mark.parametrize("name", ROTATIONS)
def test_rotations_by_many_large_angles_find_the_same_bits_alone(name: str, dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    rng = np.random.default_rng(0)
    # Some of these matrices shorten a column to less than a sixteenth, which is then scaled on the way.
    real, imaginary = (np.where(rng.random((side, side, 65)) < 0.5, 1.0, -1.0) for _ in range(2))
    a = np.asfortranarray(real + (1j * imaginary if dtype == "C64" else 0), DTYPES[dtype])
    if name.startswith("eig"):
        a = np.asfortranarray(a + a.conj().swapaxes(0, 1))
    whole = ROTATIONS[name](tensor(a))
    for place in range(65):
        alone = ROTATIONS[name](tensor(a[..., place : place + 1]))
        assert bits(alone, 0) == bits(whole, place)
    tr.binding_cache.clear()


@pytest.mark.parametrize("side", [2, 5, 6, 8, 9, 16])
@pytest.mark.parametrize("name", ROTATIONS)
def test_zeros_have_the_same_signs_in_every_place(name: str, side: int) -> None:
    tr.binding_cache.clear()
    signs = np.random.default_rng(side).choice([0.0, -0.0], (side, side))
    a = np.repeat((np.tril(signs) + np.tril(signs, -1).T)[..., None], 9, axis=2)
    a[0, 0] = 1.0
    whole = ROTATIONS[name](tensor(np.asfortranarray(a)))
    assert [bits(whole, place) for place in range(9)] == [bits(whole, 0)] * 9
    tr.binding_cache.clear()


@pytest.mark.parametrize("side", [17, 32, 33, 64])
@pytest.mark.parametrize("name", ROTATIONS)
def test_larger_matrices_have_the_same_bits_in_batches_of_so_many_and_more(name: str, side: int) -> None:
    tr.binding_cache.clear()
    fewest = batched_simd.fewest(name, side)
    a = matrices(side, "C64", 11)
    a = np.asfortranarray(a + a.conj().swapaxes(0, 1))
    whole = ROTATIONS[name](tensor(a))
    for start, size in ((0, fewest), (11 - fewest, fewest), (3, 8)):
        part = ROTATIONS[name](tensor(a[..., start : start + size]))
        assert [bits(part, place) for place in range(size)] == [bits(whole, start + place) for place in range(size)]
    tr.binding_cache.clear()


@pytest.mark.parametrize("count", [1025, 2049])
def test_masked_results_are_those_of_the_whole_batch(count: int) -> None:
    a = matrices(17, "F64", 5)[..., np.arange(count) % 5]
    masked = tl.svdvals(tensor(a), check="mask")
    assert masked.result.to_numpy().tobytes() == tl.svdvals(tensor(a)).to_numpy().tobytes()


@pytest.mark.parametrize("side", [2, 8, 16, 24])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNCHECKED)
def test_a_matrix_that_is_not_finite_changes_no_other(name: str, dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    function = UNCHECKED[name]
    a = matrices(side, dtype)
    before = function(tensor(a))
    expected = [bits(before, place) for place in range(COUNT)]
    spoilt = a.copy()
    spoilt[side - 1, 0, 5], spoilt[0, 0, 20] = np.nan, np.inf
    found = function(tensor(spoilt))
    others = [place for place in range(COUNT) if place not in (5, 20)]
    assert [bits(found, place) for place in others] == [expected[place] for place in others]
    first = function(tensor(spoilt[..., 5:6]))
    assert not all(np.isfinite(part.to_numpy()).all() for part in first)
    assert all(
        np.array_equal(part.to_numpy()[..., 5], one.to_numpy()[..., 0], equal_nan=True)
        for part, one in zip(found, first, strict=True)
    )
    tr.binding_cache.clear()


BATCHES = [((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ()), ((2, 3), (2, 3))]
"""Of matrices and of right-hand sides."""


def without_check(name: str, a: Array, b: Array) -> Array:
    if name == "solve":
        return tl.solve(tensor(a), tensor(b), check=False).to_numpy()
    kind, _, option = name.partition(" ")
    options: dict[str, Any] = {"lower": kind == "lower", **({option: True} if option else {})}
    return tl.triangular_solve(tensor(a), tensor(b), check=False, **options).to_numpy()


@pytest.mark.parametrize("side", [1, 5, 20, 66])
@pytest.mark.parametrize("dtype", ["F32", "C64"])
@pytest.mark.parametrize("name", ["solve", "lower", "upper", "lower transpose", "upper unit_diagonal"])
def test_a_system_that_is_not_finite_changes_no_other_whatever_is_broadcast(name: str, dtype: str, side: int) -> None:
    tr.binding_cache.clear()
    rng = np.random.default_rng(side)
    for of_a, of_b in BATCHES:
        a = rng.standard_normal((side, side, *of_a)).astype(DTYPES[dtype])
        a[np.arange(side), np.arange(side)] += 9
        b = rng.standard_normal((side, 2, *of_b)).astype(DTYPES[dtype])
        before = without_check(name, a, b)
        for spoilt in (a, b):
            kept = spoilt.copy()
            spoilt[(-1, 0, *(-1 for _ in spoilt.shape[2:]))] = np.nan
            fine = np.isfinite(spoilt).all((0, 1)) & np.ones((2, 3), bool)
            found = without_check(name, a, b)
            assert found[..., fine].tobytes() == before[..., fine].tobytes()
            spoilt[...] = kept
    tr.binding_cache.clear()


def test_an_error_beside_a_system_that_is_not_finite_names_the_place_of_its_matrix() -> None:
    a, b = np.repeat(np.eye(4)[..., None], 3, axis=2), np.ones((4, 1, 2, 3))
    a[0, 1, 0], a[..., 2] = np.inf, 0
    with pytest.raises(SingularMatrixError, match=r"batch index \(2,\)"):
        tl.solve(tensor(a), tensor(b), check=False)
    a[..., 2], b[0, 0, 1, 1] = np.eye(4), np.nan
    assert np.isfinite(tl.solve(tensor(a), tensor(b), check=False).to_numpy()).all((0, 1)).tolist() == [
        [False, True, True],
        [False, False, True],
    ]


def test_an_error_beside_a_matrix_that_is_not_finite_names_its_own_place() -> None:
    a = matrices(4, "F64")
    a[..., 3], a[..., 7] = np.nan, 0
    with pytest.raises(SingularMatrixError, match="7"):
        tl.inv(tensor(a), check=False)
    definite = np.asfortranarray(np.repeat(np.eye(4)[..., None], COUNT, axis=2))
    definite[..., 6], definite[..., 9] = np.nan, -1
    with pytest.raises(NotPositiveDefiniteError, match="9"):
        tl.cholesky(tensor(definite), check=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_without_the_extension_is_the_same_in_every_batch(dtype: str) -> None:
    a = matrices(5, dtype, 200).transpose(2, 1, 0)
    kind = {"F32": F32, "F64": F64, "C32": C32, "C64": C64}[dtype]

    def factors(stack: Array) -> tuple[Array, ...]:
        batch = stack.shape[:-2]
        forms = (form_of(kind, (5, 5, *batch), CPU), form_of(I64, (5, *batch), CPU))
        kernel: Any = bind_numpy("lu_factor", forms[:1], forms, (True,))
        return tuple(kernel(stack))

    packed, rows = factors(np.ascontiguousarray(a))
    for place in (0, 1, 2, 199):
        alone = factors(np.ascontiguousarray(a[place]))
        assert alone[0].tobytes() == packed[place].tobytes()
        assert alone[1].tobytes() == rows[place].tobytes()
