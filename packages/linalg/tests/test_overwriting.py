"""``overwrite=``: operands that are given up, whose memory results may take; the same results, and less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, OverlappingViewError, ReadOnlyError
from tensor_core.errors import BackendContractError
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.backends.plugins.result_checks import CheckedResults
from tensor_runtime.errors import NonFiniteError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.testing.kernel_contracts import checked_results

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": tl.cholesky,
    "upper cholesky": lambda a, **o: tl.cholesky(a, upper=True, **o),
    "eigh": tl.eigh,
    "gauged eigh": lambda a, **o: tl.eigh(a, gauge="canonical", **o),
    "inv": tl.inv,
    "lu_factor": tl.lu_factor,
    "qr": tl.qr,
    "complete qr": lambda a, **o: tl.qr(a, mode="complete", **o),
    "svd": tl.svd,
    "full svd": lambda a, **o: tl.svd(a, full=True, **o),
    "svd by gesvd": lambda a, **o: tl.svd(a, driver="gesvd", **o),
}
TAKEN = {"cholesky": 0, "eigh": 1, "inv": 0, "lu_factor": 0, "qr": 0}
"""Which result takes the operand's memory, where a kernel can."""


def positive(dtype: str, size: int, *batch: int) -> Array:
    rng = np.random.default_rng(size)
    x = rng.standard_normal((size, size, *batch)) + (
        1j * rng.standard_normal((size, size, *batch)) if dtype[0] == "c" else 0
    )
    a = np.einsum("ij...,kj...->ik...", x, x.conj()) / size + np.eye(size).reshape(size, size, *[1] * len(batch))
    return np.asfortranarray(a.astype(dtype))


def parts(result: Any) -> list[tr.Tensor]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "batch"), [(3, ()), (0, ()), (3, (5,)), (70, ()), (66, (2,))])
def test_results_are_those_of_operands_that_are_kept(name: str, dtype: str, size: int, batch: tuple[int, ...]) -> None:
    a = positive(dtype, size, *batch)
    expected = [one.to_numpy() for one in parts(FUNCTIONS[name](tr.asarray(a, copy=True)))]
    found = FUNCTIONS[name](tr.asarray(a, copy=True), overwrite=True)
    for one, wanted in zip(parts(found), expected, strict=True):
        assert one.to_numpy().tobytes() == wanted.tobytes()
        assert one._form is tr.asarray(np.asfortranarray(wanted))._form


@pytest.mark.skipif(not AVAILABLE, reason="NumPy's kernels copy their operands")
@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_large_result_takes_the_memory_of_its_operand(name: str, batch: tuple[int, ...]) -> None:
    a = tr.copy(tr.asarray(positive("float64", 70, *batch)))
    memory = a.to_numpy()
    result = parts(FUNCTIONS[name](a, overwrite=True))[TAKEN[name]].to_numpy()
    assert np.shares_memory(result, memory)
    assert result.ctypes.data == memory.ctypes.data


@pytest.mark.skipif(not AVAILABLE, reason="NumPy's kernels copy their operands")
def test_the_operand_of_singular_values_is_scratch_and_that_of_a_system_takes_its_solution() -> None:
    given = positive("float64", 640)
    a = tr.copy(tr.asarray(given))
    u, s, vh = (one.to_numpy() for one in tl.svd(a, overwrite=True))
    assert (a.to_numpy() != given).any()
    assert np.allclose(u * s @ vh, given)
    given = positive("float64", 70)
    a, b = tr.copy(tr.asarray(given)), tr.ones((70, 3))
    kept = b.to_numpy()
    x = tl.solve(a, b, overwrite=True).to_numpy()
    assert x.ctypes.data == kept.ctypes.data
    assert np.allclose(given @ x, 1.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems_have_the_solutions_of_operands_that_are_kept(dtype: str) -> None:
    for size, batch in ((3, ()), (70, ()), (66, (2,))):
        a, b = positive(dtype, size, *batch), positive(dtype, size, *batch)[:, :2].copy(order="F")
        for sides in (b, b[:, 0].copy()) if not batch else (b,):
            expected = tl.solve(tr.asarray(a), tr.asarray(sides)).to_numpy()
            found = tl.solve(tr.asarray(a, copy=True), tr.asarray(sides, copy=True), overwrite=True)
            assert found.to_numpy().tobytes() == expected.tobytes()


SUBSTITUTIONS: dict[str, Callable[..., Any]] = {
    "upper": tl.triangular_solve,
    "lower": lambda a, b, **o: tl.triangular_solve(a, b, lower=True, **o),
    "transpose": lambda a, b, **o: tl.triangular_solve(a, b, transpose=True, **o),
    "adjoint": lambda a, b, **o: tl.triangular_solve(a, b, lower=True, adjoint=True, **o),
    "unit diagonal": lambda a, b, **o: tl.triangular_solve(a * 0.05, b, lower=True, unit_diagonal=True, **o),
    "cho_solve": lambda a, b, **o: tl.cho_solve(tl.cholesky(a), b, **o),
    "upper cho_solve": lambda a, b, **o: tl.cho_solve(tl.cholesky(a, upper=True), b, lower=False, **o),
    "lu_solve": lambda a, b, **o: tl.lu_solve(tl.lu_factor(a), b, **o),
    "transposed lu_solve": lambda a, b, **o: tl.lu_solve(tl.lu_factor(a), b, transpose=True, **o),
    "conjugate lu_solve": lambda a, b, **o: tl.lu_solve(tl.lu_factor(a), b, conjugate=True, **o),
}


@pytest.mark.parametrize("name", SUBSTITUTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_substitutions_take_right_hand_sides_and_leave_matrices(name: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    function = SUBSTITUTIONS[name]
    for size, columns, batch in ((3, 2, ()), (70, 130, ()), (66, 3, (2,)), (3, 0, (2,)), (5, 1, (40,))):
        a = tr.asarray(positive(dtype, size, *batch))
        before = a.to_numpy().copy()
        b = np.asfortranarray(rng.standard_normal((size, columns, *batch)).astype(dtype))
        sides = tr.copy(tr.asarray(b))
        expected = function(a, tr.asarray(b)).to_numpy()
        found = function(a, sides, overwrite=True).to_numpy()
        assert found.tobytes() == expected.tobytes()
        assert a.to_numpy().tobytes() == before.tobytes()
        if size > 65 and AVAILABLE and ("lu" not in name or columns > 64):
            assert np.shares_memory(found, sides.to_numpy())
    a = tr.asarray(positive(dtype, 70))
    vector = tr.ones(70, dtype=a.dtype)
    expected = function(a, tr.ones(70, dtype=a.dtype)).to_numpy()
    assert function(a, vector, overwrite=True).to_numpy().tobytes() == expected.tobytes()


def test_right_hand_sides_that_are_promoted_broadcast_or_transposed_are_left() -> None:
    a = tr.asarray(positive("float64", 70))
    cases: tuple[tuple[tr.Tensor, Any], ...] = (
        (tr.ones((70, 2), dtype="F32"), {}),
        (tr.ones((2, 70)), {"side": "right"}),
    )
    for sides, options in cases:
        expected = tl.triangular_solve(a, sides, **options).to_numpy()
        assert np.array_equal(tl.triangular_solve(a, tr.copy(sides), overwrite=True, **options).to_numpy(), expected)
    stack = tr.asarray(positive("float64", 70, 3))
    sides = tr.ones((70, 2))
    for function in (tl.triangular_solve, lambda x, b, **o: tl.lu_solve(tl.lu_factor(x), b, **o)):
        expected = function(stack, sides).to_numpy()
        assert np.array_equal(function(stack, sides, overwrite=True).to_numpy(), expected)


def test_substitutions_refuse_what_others_hold_and_what_the_matrix_is() -> None:
    a = tr.copy(tr.asarray(positive("float64", 70)))
    for name, function in SUBSTITUTIONS.items():
        with pytest.raises(ReadOnlyError, match="overwrite=True gives up a view"):
            function(a, tr.ones((70, 4))[:, 1:3], overwrite=True)
        with pytest.raises(tr.TensorError, match="overwrite is 'a'"):
            function(a, tr.ones((70, 4)), overwrite="a")
        if name in ("upper", "lower"):
            with pytest.raises(OverlappingViewError):
                function(a, a, overwrite=True)
    with pytest.raises(SingularMatrixError):
        tl.triangular_solve(tr.zeros((70, 70)), a, overwrite=True)
    assert (a.to_numpy() == positive("float64", 70)).all()


def test_columns_of_tall_matrices_take_their_place() -> None:
    a = np.asfortranarray(np.random.default_rng(0).standard_normal((90, 70)))
    expected = [one.to_numpy() for one in tl.qr(tr.asarray(a))]
    for given in (a, a.T):
        owned = tr.copy(tr.asarray(given))
        q, r = tl.qr(owned, overwrite=True)
        assert np.allclose(q.to_numpy() @ r.to_numpy(), given)
    found = tl.qr(tr.copy(tr.asarray(a)), overwrite=True)
    assert [one.to_numpy().tolist() for one in found] == [one.tolist() for one in expected]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_view_that_others_hold_is_refused_and_a_mutable_one_is_taken(name: str) -> None:
    whole = tr.copy(tr.asarray(positive("float64", 70, 2)))
    view = whole[..., 1]
    before = whole.to_numpy().copy()
    if not name.startswith(("upper", "complete", "full", "svd by")):
        with pytest.raises(ReadOnlyError, match="overwrite=True gives up a view"):
            FUNCTIONS[name](view, overwrite=True)
    assert (whole.to_numpy() == before).all()
    expected = [one.to_numpy().tolist() for one in parts(FUNCTIONS[name](tr.copy(view)))]
    found = FUNCTIONS[name](tr.mutable_view(whole)[..., 1].mutable_view(), overwrite=True)
    assert [one.to_numpy().tolist() for one in parts(found)] == expected
    assert (whole.to_numpy()[..., 0] == before[..., 0]).all()


def test_two_operands_that_share_elements_are_refused() -> None:
    a = tr.copy(tr.asarray(positive("float64", 3)))
    with pytest.raises(OverlappingViewError):
        tl.solve(a, a, overwrite=True)


def test_what_has_no_result_is_told_with_its_place() -> None:
    a = positive("float64", 70, 3)
    a[..., 1] *= -1.0
    with pytest.raises(NotPositiveDefiniteError, match=r"batch index \(1,\)"):
        tl.cholesky(tr.asarray(a, copy=True), overwrite=True)
    a[..., 2] = 0.0
    for call in (tl.inv, lambda x, **o: tl.solve(x, tr.ones((70, 1, 3)), **o)):
        with pytest.raises(SingularMatrixError, match=r"batch index \(2,\)"):
            call(tr.asarray(a, copy=True), overwrite=True)
    a[3, 4, 1] = np.nan
    for name in ("cholesky", "eigh", "inv", "lu_factor", "qr", "svd"):
        given = tr.asarray(a, copy=True)
        with pytest.raises(NonFiniteError, match=r"element \(3, 4\) of the matrix at batch index \(1,\)"):
            FUNCTIONS[name](given, overwrite=True)
        assert np.array_equal(given.to_numpy(), a, equal_nan=True)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("size", "bad"), [(64, 5), (65, 0), (65, 5), (65, 64), (300, 150), (300, 299)])
def test_the_block_that_is_not_positive_definite_is_named(size: int, bad: int, dtype: str, upper: bool) -> None:
    factor = np.tril(np.random.default_rng(size).integers(-1, 2, (size, size)), -1) + 4 * np.eye(size)
    for last in (-1.0, 0.0):  # of a factorisation in whole numbers
        signs = np.where(np.arange(size) == bad, last, 1.0)
        a = np.stack([factor @ factor.T, factor * signs @ factor.T], -1).astype(dtype, order="F")
        with pytest.raises(NotPositiveDefiniteError) as kept:
            tl.cholesky(tr.asarray(a), upper=upper)
        with pytest.raises(NotPositiveDefiniteError, match=f"the leading {bad + 1}x{bad + 1} block") as caught:
            tl.cholesky(tr.asarray(a, copy=True), upper=upper, overwrite=True)
        assert caught.value.element_index == (bad, bad) and caught.value.batch_index == (1,)
        assert str(caught.value) == str(kept.value)


def test_numbers_near_the_limits_have_the_results_that_they_have_elsewhere() -> None:
    for scale in (1e-300, 1e300):
        a = positive("float64", 70) * scale
        expected = tl.inv(tr.asarray(a)).to_numpy()
        assert tl.inv(tr.asarray(a, copy=True), overwrite=True).to_numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("size", [3, 70])
def test_results_pass_where_all_results_are_looked_at(size: int) -> None:
    a, b = positive("float64", size), np.asfortranarray(np.ones((size, 9)))
    x = tr.asarray(a)
    calls: list[Callable[[], Any]] = [
        *(lambda f=f: f(tr.asarray(a, copy=True), overwrite=True) for f in FUNCTIONS.values()),
        lambda: tl.solve(tr.asarray(a, copy=True), tr.asarray(b, copy=True), overwrite=True),
        lambda: tl.triangular_solve(x, tr.asarray(b, copy=True), lower=True, overwrite=True),
        lambda: tl.cho_solve(tl.cholesky(x), tr.asarray(b)),
        lambda: tl.lu_solve(tl.lu_factor(x), tr.asarray(b)),
        lambda: tl.solve(x, tr.asarray(b), condition=True),
    ]
    for call in calls:
        expected = [one.to_numpy().tobytes() for one in parts(call())]
        with checked_results():
            assert [one.to_numpy().tobytes() for one in parts(call())] == expected


def test_a_kernel_that_is_given_operands_up_and_gives_nothing_is_told() -> None:
    form = tr.eye(2)._form
    for found, said in ((None, "a NoneType"), (np.eye(3), r"an array of shape \(3, 3\)")):
        kernel = CheckedResults(tr.backend("cpu"), "inv_overwriting", form, lambda a, found=found: found)
        with pytest.raises(BackendContractError, match=f"^inv_overwriting: the cpu backend gave {said}"):
            kernel(np.eye(2))


def test_overwriting_is_a_flag_and_goes_with_outputs() -> None:
    with pytest.raises(tr.TensorError, match="overwrite is 'a'"):
        tl.inv(tr.eye(3), overwrite="a")  # type: ignore[call-overload]
    out = tr.zeros((70, 70))
    given = positive("float64", 70)
    assert tl.inv(tr.asarray(given, copy=True), overwrite=True, out=out) is out
    assert np.allclose(out.to_numpy() @ given, np.eye(70))


@pytest.mark.parametrize("options", [{}, {"driver": "ev"}, {"subset_by_index": (0, 1)}, {"b": tr.eye(3)}])
def test_every_call_of_eigh_looks_at_what_is_given_up(options: dict[str, Any]) -> None:
    a = np.diag([1.0, 2.0, 3.0])
    eigh: Any = tl.eigh
    expected = eigh(tr.asarray(a), **options)[0].to_numpy()
    owned = tr.asarray(a, copy=True)
    assert np.array_equal(eigh(owned, overwrite=True, **options)[0].to_numpy(), expected)
    with pytest.raises(ReadOnlyError, match="overwrite=True gives up a view"):
        eigh(tr.eye(4)[:3, :3], overwrite=True, **options)
    with pytest.raises(tr.TensorError, match="overwrite is 'a'"):
        eigh(tr.asarray(a), overwrite="a", **options)


@pytest.mark.parametrize("options", [{}, {"driver": "gesvd"}, {"full": True}, {"gauge": "canonical"}, {"check": False}])
def test_every_call_of_svd_looks_at_what_is_given_up(options: dict[str, Any]) -> None:
    a = np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    svd: Any = tl.svd
    expected = svd(tr.asarray(a), **options)
    found = svd(tr.asarray(a, copy=True), overwrite=True, **options)
    assert all(np.array_equal(one.to_numpy(), other.to_numpy()) for one, other in zip(found, expected, strict=True))
    with pytest.raises(ReadOnlyError, match="overwrite=True gives up a view"):
        svd(tr.eye(4)[:3, :2], overwrite=True, **options)
    with pytest.raises(tr.TensorError, match="overwrite is 'a'"):
        svd(tr.asarray(a), overwrite="a", **options)


MASKED: dict[str, Any] = {
    **{name: getattr(tl, name) for name in ("cholesky", "eigh", "inv", "lu_factor", "qr", "svd")},
    "solve": lambda a, **options: tl.solve(a, a, **options),
    "lu_solve": lambda a, **options: tl.lu_solve(tl.lu_factor(tr.eye(2)), a, **options),
    "cho_solve": lambda a, **options: tl.cho_solve(tr.eye(2), a, **options),
    "triangular_solve": lambda a, **options: tl.triangular_solve(tr.eye(2), a, **options),
}


@pytest.mark.parametrize("name", MASKED)
def test_beside_a_mask_an_overwrite_is_dropped_and_any_view_accepted(name: str) -> None:
    view = tr.eye(3)[:2, :2]

    found = MASKED[name](view, check="mask", overwrite=True)

    assert found.status.item() == 0
    assert view.to_numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(tr.TensorError, match=f"{name}: overwrite is 'a'"):
        MASKED[name](view, check="mask", overwrite="a")


@pytest.mark.parametrize(
    "call",
    [
        lambda a, flag: tl.cholesky(a, upper=True, overwrite=flag),
        lambda a, flag: tl.qr(a[:, :1], mode="complete", overwrite=flag),
        lambda a, flag: tl.inv(a, condition=True, overwrite=flag),
        lambda a, flag: tl.solve(a, tr.ones(2), condition=True, overwrite=flag),
    ],
)
def test_calls_that_leave_their_operand_look_at_it_all_the_same(call: Callable[[tr.Tensor, Any], Any]) -> None:
    held = tr.eye(4)
    with pytest.raises(ReadOnlyError, match="overwrite=True gives up a view that is not mutable"):
        call(held[::2, ::2], True)
    with pytest.raises(ArgumentError, match="overwrite is 2; accepted: True and False"):
        call(held[::2, ::2], 2)
    call(tr.mutable_view(held)[::2, ::2], True)
    assert held.to_numpy().tolist() == np.eye(4).tolist()


def test_views_and_memory_of_other_libraries_are_not_given_up() -> None:
    a = tr.copy(tr.asarray(positive("float64", 70)))
    lent = np.asfortranarray(positive("float64", 70))
    before, lent_before = a.to_numpy().copy(), lent.copy()
    for given in (a[:, :], a[...], a.T.T, a.reshape(70, 70), tr.asarray(lent), tr.from_dlpack(lent)):
        with pytest.raises(ReadOnlyError, match="overwrite=True gives up a view that is not mutable, or memory that"):
            tl.inv(given, overwrite=True)
        with pytest.raises(ReadOnlyError, match="inv: out is a view that is not mutable, or memory that"):
            tl.inv(tr.ones((70, 70)) + tr.eye(70), out=given)
    assert (a.to_numpy() == before).all() and (lent == lent_before).all()
