"""What is no argument at all is refused by an error of this tree, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
    SizeLimitError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_linalg.decompositions.lu import LUFactors
from tensor_runtime.backends.registry import registry
from tensor_runtime.errors import ForeignOperandError, NonFiniteError
from tensor_runtime.testing.simulated_device import SimulatedBackend

_A = tr.tensor([[4.0, 1.0], [1.0, 3.0]])
_B = tr.tensor([1.0, 2.0])
_ARRAY: Any = np.eye(2)
_HUGE = 10**400


@pytest.mark.parametrize("name", ["svd", "qr", "eigh", "cholesky", "inv", "solve"])
def test_an_array_as_check_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match="check is"):
        getattr(tl, name)(*((_A, _B) if name == "solve" else (_A,)), check=_ARRAY)


@pytest.mark.parametrize("name", [name for name in tl.__all__ if "check: " in str(getattr(tl, name).__doc__)])
def test_a_wrong_check_is_answered_with_what_the_function_accepts(name: str) -> None:
    function = getattr(tl, name)
    operands: dict[str, tuple[Any, ...]] = {
        "lu_solve": (tl.lu_factor(_A), _B),
        "matrix_power": (_A, -1),
        "funm": (_A, tr.exp),
        "qr_append": (*tl.qr(_A[:, :1]), _B[:, None]),
        "solve_banded": ((0, 0), _B[None], _B),
        "solveh_banded": (_B[None] * _B[None] + 1.0, _B),
        "split": (_A, 0),
        "tensorinv": (_A, 1),
        **dict.fromkeys(("randomized_svd", "randomized_eigh"), (_A, 1)),
        **dict.fromkeys(("solve", "lstsq", "triangular_solve", "cho_solve", "tensorsolve"), (_A, _B)),
        "solve_toeplitz": (_B, _B),
    }
    given = operands.get(name, (_A,))
    options: dict[str, Any] = {"seed": 0} if name.startswith("randomized") else {}
    if name in ("orth", "null_space"):  # whose shapes are values
        for wrong in ("maks", "mask"):
            with pytest.raises(ArgumentError, match=rf"^{name}: check is '{wrong}'; accepted: True and False$"):
                function(*given, check=wrong)
        return
    with pytest.raises(ArgumentError, match=rf"^{name}: check is 'maks'; accepted: True, False and 'mask'$"):
        function(*given, check="maks", **options)
    assert function(*given, check="mask", **options).status.shape == ()


@pytest.mark.parametrize("name", ["svd", "eigh", "eig", "schur", "svd_truncated", "split"])
def test_a_wrong_gauge_is_answered_with_every_gauge_that_there_is(name: str) -> None:
    given: tuple[Any, ...] = (_A, 0) if name == "split" else (_A,)
    for wrong in (_ARRAY, "first"):
        with pytest.raises(ArgumentError, match=rf"(?s)^{name}: gauge is .*; accepted: 'raw', 'canonical', a tensor$"):
            getattr(tl, name)(*given, gauge=wrong)
    assert getattr(tl, name)(*given, gauge=tr.eye(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.qr(_A, mode=_ARRAY),
        lambda: tl.svd(_A, driver=_ARRAY),
        lambda: tl.pinv(_A, driver=_ARRAY),
        lambda: tl.svd(_A, gauge=_ARRAY),
        lambda: tl.eigh(_A, gauge=_ARRAY),
        lambda: tl.matrix_norm(_A, _ARRAY),
        lambda: tl.cond(_A, _ARRAY),
        lambda: tl.split(_A, 0, 1, absorb=_ARRAY),
        lambda: tl.split(_A, 0, 1, positive=_ARRAY),
        lambda: tl.svd_truncated(_A, norm=_ARRAY),
        lambda: tl.minres(_A, _B, shift=_ARRAY),
        lambda: tl.minres(_A, _B, shift=float("nan")),
        lambda: tl.eigsh(_A, sigma=0.5, which="LA"),
    ],
)
def test_an_array_or_a_nan_as_an_option_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match="accepted"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.pinv(_A, rtol=_HUGE),
        lambda: tl.qr_pivoted(_A, rtol=_HUGE),
        lambda: tl.cg(_A, _B, tol=_HUGE),
        lambda: tl.svd_truncated(_A, cutoff=_HUGE),
        lambda: tl.eigsh(_A, sigma=_HUGE),
        lambda: tl.expm_multiply(_A, _B, _HUGE),
    ],
)
def test_an_int_beyond_every_float_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match="accepted"):
        call()


@pytest.mark.parametrize("rtol", [np.float64(0.5), 0.5])
def test_a_number_of_numpy_is_a_tolerance(rtol: float) -> None:
    assert tl.matrix_rank(tr.tensor([[1.0, 0.0], [0.0, 0.4]]), rtol=rtol).item() == 1


@pytest.mark.parametrize("wrong", [None, 3, "x", _ARRAY, _A])
def test_what_is_no_function_is_refused_before_anything_is_computed(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="function is a"):
        tl.funm(_A, wrong)
    if wrong is not None and wrong is not _A:
        with pytest.raises(ForeignOperandError if wrong is _ARRAY else ArgumentError, match="adjoint is a"):
            tl.lsmr(_A, _B, adjoint=wrong)


@pytest.mark.parametrize("wrong", [None, 3, "x", (), (1,), _ARRAY, _A, (_A, 3), (_A, _ARRAY[0])])
def test_factors_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(TensorError, match="lu_solve"):
        tl.lu_solve(wrong, _B)


@pytest.mark.parametrize("wrong", [None, 3, _A, lambda x: x])
def test_a_product_of_what_is_no_sequence_is_refused(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="multi_dot: found a"):
        tl.multi_dot(wrong)


def test_scalars_have_no_columns_to_append_to() -> None:
    with pytest.raises(ShapeError, match="qr_append"):
        tl.qr_append(tr.ones(()), tr.ones(()), tr.ones(()))


def test_a_vandermonde_matrix_beyond_every_memory_is_refused_at_once() -> None:
    with pytest.raises(SizeLimitError):
        tl.vander(_B, 2**70)


def test_gauges_and_drivers_may_be_strings_made_at_run_time() -> None:
    raw, auto = "".join(["r", "aw"]), "".join(["au", "to"])
    assert np.array_equal(tl.svd(_A, gauge=raw, driver=auto).u.to_numpy(), tl.svd(_A).u.to_numpy())
    assert np.array_equal(tl.eigh(_A, gauge=raw)[1].to_numpy(), tl.eigh(_A)[1].to_numpy())


def test_a_shift_that_is_an_eigenvalue_is_told_as_such() -> None:
    with pytest.raises(tl.SingularMatrixError, match="eigsh: the matrix less sigma is exactly singular"):
        tl.eigsh(tr.tensor([[1.0, 2.0], [2.0, 4.0]]), sigma=0.0)


@pytest.mark.parametrize("result", [tl.slogdet(_A), tl.lstsq(_A, _B), tl.inv(_A, check="mask")])
def test_results_print_one_field_after_the_other(result: Any) -> None:
    lines = repr(result).split("\n")
    assert lines[0] == f"{type(result).__name__}:"
    assert [line.split(":")[0].strip() for line in lines if line.startswith("  ") and line[2] != " "] == [
        *result._fields
    ]


@pytest.mark.parametrize("name", ["eigsh", "eigs", "svds", "gmres", "expm_multiply"])
def test_maps_that_give_infinities_are_told_as_such(name: str) -> None:
    options: dict[str, Any] = {"adjoint": lambda x: x} if name == "svds" else {}
    with pytest.raises(tl.NonFiniteError, match=f"{name}: the operator(, b)? or the start holds NaN"):
        getattr(tl, name)(lambda x: x * float("inf"), tr.ones(3), **options)


def test_residuals_of_a_batch_of_matrices_with_one_right_hand_side_are_each_matrix_its_own() -> None:
    a, b = np.random.default_rng(0).standard_normal((4, 2, 4)), np.random.default_rng(1).standard_normal((4, 4))
    found = tl.lstsq(tr.tensor(a), tr.tensor(b))
    for k in range(4):
        alone = np.linalg.lstsq(a[..., k], b, rcond=None)
        assert np.allclose(found.solution.to_numpy()[..., k], alone[0])
        assert np.allclose(found.residuals.to_numpy()[..., k], alone[1])


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-310])
def test_gram_matrices_neither_overflow_nor_vanish(scale: float) -> None:
    x = np.random.default_rng(0).standard_normal((4, 5)) * scale
    found, expected = (tl.split(tr.tensor(x), 0, 1, method=method, max_rank=2) for method in ("eigh", "svd"))
    assert np.allclose(found.s.to_numpy() / scale, expected.s.to_numpy() / scale, rtol=1e-4, atol=0)
    assert abs(found.discarded.item() - expected.discarded.item()) < 1e-4


@pytest.mark.parametrize("method", ["svd", "eigh", "qr", "lq", "rq", "polar"])
def test_what_is_not_finite_is_named_by_its_place_in_the_tensor(method: str) -> None:
    x = np.ones((2, 3, 4))
    x[1, 2, 3] = np.nan
    with pytest.raises(tl.NonFiniteError, match=r"split: operand tensor holds (nan|inf) at .*\(1, 2, 3\)"):
        tl.split(tr.tensor(x), (0, 1), 2, method=method)
    with pytest.raises(tl.NonFiniteError, match=r"svd_truncated: operand a holds (nan|inf) at .*\(1, 3\)"):
        tl.svd_truncated(tr.tensor(x[:, 2]))


def test_a_list_as_right_hand_side_is_refused_on_either_side() -> None:
    right: Any = [1.0, 2.0]
    for side in ("left", "right"):
        with pytest.raises(TensorError, match="triangular_solve: found list"):
            tl.triangular_solve(_A, right, side=side)


@pytest.mark.parametrize("function", [tl.matrix_rank, tl.pinv, tl.qr_pivoted, tl.orth, tl.null_space])
@pytest.mark.parametrize("rtol", [-1.0, float("nan"), float("inf")])
def test_tolerances_in_a_tensor_are_looked_at(function: Callable[..., Any], rtol: float) -> None:
    with pytest.raises(ArgumentError, match="negative or not finite"):
        function(_A, rtol=tr.tensor(rtol))


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(
    ("rtol", "counted"), [(1e300, 0), (1e38, 0), (1.0, 0), (2**62, 0), (0.25, 2), (1e-300, 4), (0, 4)]
)
def test_tolerances_in_a_tensor_are_those_that_numbers_are(batch: tuple[int, ...], rtol: float, counted: int) -> None:
    one = np.diag([1.0, 2.0**-1, 2.0**-2, 2.0**-3])
    for dtype in ("float32", "float64"):
        a = tr.asarray(np.broadcast_to(one.astype(dtype).reshape(4, 4, *[1] * len(batch)), (4, 4, *batch)))
        b, tolerance = tr.ones((4, 1, *batch), dtype=a.dtype), tr.full(batch, rtol)
        kept = np.diag([1.0 / x if k < counted else 0.0 for k, x in enumerate(np.diag(one))])
        for value in (rtol, tolerance):
            assert (tl.matrix_rank(a, rtol=value).to_numpy() == counted).all()
            assert (tl.matrix_rank(a, rtol=value, check="mask").result.to_numpy() == counted).all()
            assert (tl.qr_pivoted(a, rtol=value).rank.to_numpy() == counted).all()
            assert (tl.qr_pivoted(a, rtol=value, check="mask").result.rank.to_numpy() == counted).all()
            fit = tl.lstsq(a, b, rtol=value)
            assert (fit.rank.to_numpy() == counted).all()
            for k in np.ndindex(batch):
                np.testing.assert_allclose(tl.pinv(a, rtol=value).to_numpy()[:, :, *k], kept, atol=1e-5)
                np.testing.assert_allclose(fit.solution.to_numpy()[:, 0, *k], np.diag(kept), atol=1e-5)
            if not batch:
                assert tl.orth(a, rtol=value).shape == (4, counted)
                assert tl.null_space(a, rtol=value).shape == (4, 4 - counted)
        with pytest.raises(ArgumentError, match="negative or not finite"):
            tl.matrix_rank(a, rtol=tr.full(batch, -1e-300))


@pytest.mark.parametrize("function", [tl.orth, tl.null_space])
def test_a_tolerance_is_looked_at_where_there_is_no_element(function: Callable[..., Any]) -> None:
    with pytest.raises(ArgumentError, match="rtol is 'x'"):
        function(tr.zeros((0, 3)), rtol="x")


def test_a_matrix_whose_upper_triangle_is_read_is_said_to_be_so() -> None:
    with pytest.raises(tl.NotPositiveDefiniteError, match="of which the upper triangle is read"):
        tl.cholesky(tr.tensor([[1.0, 2.0], [0.0, 1.0]]), upper=True)


def test_a_backend_that_cannot_look_at_values_is_told_of_and_not_taken_for_one_without_values() -> None:
    poor = SimulatedBackend(tr.backend("cpu"), "blind", {"nonzero": "no such unit"})
    tr.register_backend("blind", poor)
    try:
        with pytest.raises(UnsupportedOperationError, match="no such unit"):
            tl.sinm(tr.to(_A, poor.placement()))
    finally:
        registry.unregister("blind")


@pytest.mark.parametrize("call", [tl.pinv, tl.matrix_rank, lambda x: tl.pinv(x, hermitian=True)])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_singular_values_of_what_is_not_finite_are_refused_in_the_name_of_the_caller(call: Any, value: float) -> None:
    for shape in ((4, 4, 8), (17, 17, 8)):
        a = np.zeros(shape, order="F")
        a[2, 1, 5] = value
        with pytest.raises(NonFiniteError, match="pinv|matrix_rank") as caught:  # noqa: RUF043
            call(tr.asarray(a))
        assert caught.value.batch_index == (5,) and caught.value.element_index == (2, 1)


@pytest.mark.parametrize("value", [None, 0, "no", np.array([1, 2])])
def test_whether_to_overwrite_is_true_or_false(value: Any) -> None:
    with pytest.raises(ArgumentError, match="overwrite"):
        tl.svd(tr.ones((2, 2)), overwrite=value)


@pytest.mark.parametrize("order", [[0, 7], [0, 0], [-1, 0], [1, 2]])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("size", [2, 70])
def test_solving_with_factors_refuses_a_permutation_that_is_none(order: list[int], transpose: bool, size: int) -> None:
    whole = tr.tensor([*order, *range(2, size)])
    one = LUFactors(tr.eye(size), whole)
    several = LUFactors(tr.stack([tr.eye(size)] * 2, axis=-1), tr.stack([tr.arange(size), whole], axis=-1))
    for factors in (one, several):
        with pytest.raises(
            ArgumentError, match=f"lu_solve: the permutation does not hold each row from 0 to {size - 1}"
        ):
            tl.lu_solve(factors, tr.ones((size, 1)), transpose=transpose)
    assert tl.lu_solve(LUFactors(tr.eye(2), tr.tensor([1, 0])), tr.tensor([1.0, 2.0])).tolist() == [2.0, 1.0]


def test_ends_of_an_interval_beyond_the_range_are_refused() -> None:
    with pytest.raises(ArgumentError, match="eigh: subset_by_value is"):
        tl.eigh(tr.eye(3), subset_by_value=(-(10**400), 10**400))


@pytest.mark.parametrize("rtol", [tr.tensor(1 + 1j), tr.tensor(True)])
def test_tolerances_are_real_tensors(rtol: tr.Tensor) -> None:
    runs: list[Callable[..., Any]] = [tl.pinv, tl.matrix_rank, lambda a, rtol: tl.lstsq(a, tr.ones(2), rtol=rtol)]
    for run in runs:
        with pytest.raises(DTypeError, match=f"rtol is {rtol.dtype.name}; accepted: "):
            run(tr.eye(2), rtol=rtol)
    assert tl.matrix_rank(tr.eye(2), rtol=tr.tensor(0)).item() == 2


def test_cross_products_of_truth_values_are_refused_by_their_name() -> None:
    bools = tr.tensor([True, False, True])
    with pytest.raises(DTypeError, match="cross: operands are Bool; accepted: C32, C64, F32, F64, I32, I64"):
        tl.cross(bools, bools)
    assert tl.cross(bools, tr.tensor([0, 1, 0])).tolist() == [-1, 0, 1]


def test_the_first_element_of_a_row_of_a_toeplitz_matrix_is_not_read() -> None:
    c, row = tr.tensor([2.0, 1.0]), tr.tensor([float("nan"), 1.0])
    nothing = tr.zeros((2, 0))
    assert tl.solve_toeplitz(c, nothing, row).shape == (2, 0)
    assert tl.solve_toeplitz(c, tr.zeros((2, 0, 3)), row, check="mask").status.tolist() == [0, 0, 0]
    with pytest.raises(tl.NonFiniteError, match=r"operand r holds nan at element \(1,\)"):
        tl.solve_toeplitz(c, nothing, tr.tensor([1.0, float("nan")]))
    with pytest.raises(tl.NonFiniteError, match=r"operand r holds nan at element \(1,\)"):
        tl.solve_toeplitz(c, tr.ones(2), tr.tensor([float("nan"), float("nan")]))
