"""What the decompositions refuse, and how they say it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import DTypeError, ShapeError, TensorError
from tensor_linalg.contracts import CheckParams
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.errors import ForeignOperandError

OPERATIONS: dict[str, Callable[..., Any]] = {
    "svd": tl.svd,
    "qr": tl.qr,
    "eigh": tl.eigh,
    "cholesky": tl.cholesky,
    "solve": lambda a, **options: tl.solve(a, a, **options),
    "inv": tl.inv,
    "det": tl.det,
}
EACH = pytest.mark.parametrize("name", OPERATIONS)


def identities(*batch: int, dtype: str = "float64") -> np.ndarray[Any, np.dtype[Any]]:
    return np.array(np.broadcast_to(np.eye(3, dtype=dtype).reshape(3, 3, *[1] * len(batch)), (3, 3, *batch)))


@EACH
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_first_element_that_is_not_finite_is_named(name: str, value: float, dtype: str) -> None:
    x = identities(10, 100, dtype=dtype)
    x[1, 2, 3, 41] = value
    x[0, 0, 4, 41] = value

    with pytest.raises(
        tl.NonFiniteError, match=rf"{name}: operand a holds .* at element \(1, 2\) of the matrix at batch index"
    ) as info:
        OPERATIONS[name](tr.asarray(x))
    assert info.value.operation == name
    assert info.value.batch_index == (3, 41)
    assert info.value.element_index == (1, 2)


@EACH
def test_an_imaginary_part_that_is_not_finite_counts(name: str) -> None:
    x = identities(dtype="complex128")
    x[2, 1] = complex(0.0, np.nan)

    with pytest.raises(
        tl.NonFiniteError, match=rf"{name}: operand a holds nanj at element \(2, 1\); accepted: finite"
    ) as info:
        OPERATIONS[name](tr.asarray(x))
    assert info.value.batch_index == ()


def test_views_report_the_index_of_the_view() -> None:
    x = identities(5)
    x[0, 1, 0] = np.nan

    with pytest.raises(tl.NonFiniteError) as info:
        tl.svd(tr.asarray(x)[::-1, :, ::-1])
    assert (info.value.element_index, info.value.batch_index) == ((2, 1), (4,))


def test_solve_names_the_operand_that_is_not_finite() -> None:
    b = np.ones((3, 2, 4))
    b[2, 1, 3] = np.inf

    with pytest.raises(tl.NonFiniteError, match="solve: operand b holds inf at element") as info:
        tl.solve(tr.asarray(identities(4)), tr.asarray(b))
    assert (info.value.operand, info.value.element_index, info.value.batch_index) == ("b", (2, 1), (3,))
    with pytest.raises(tl.NonFiniteError, match=r"solve: operand b holds nan at element \(1,\); accepted"):
        tl.solve(tr.eye(2), tr.tensor([0.0, float("nan")]))


@pytest.mark.parametrize("options", [{}, {"overwrite": True}, {"lower": False}], ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_cho_solve_names_the_operand_that_is_not_finite(options: dict[str, Any], value: float) -> None:
    factor, b = identities(4), np.ones((3, 2, 4))
    b[2, 1, 3] = value
    with pytest.raises(tl.NonFiniteError, match="cho_solve: operand b holds") as info:
        tl.cho_solve(tr.asarray(factor), tr.tensor(b), **options)
    assert (info.value.operation, info.value.operand) == ("cho_solve", "b")
    assert (info.value.element_index, info.value.batch_index) == ((2, 1), (3,))
    factor[1, 1, 2] = value
    with pytest.raises(tl.NonFiniteError, match="cho_solve: operand factor holds") as info:
        tl.cho_solve(tr.asarray(factor), tr.tensor(b), **options)
    assert (info.value.operation, info.value.operand) == ("cho_solve", "factor")
    assert (info.value.element_index, info.value.batch_index) == ((1, 1), (2,))
    with pytest.raises(tl.SingularMatrixError, match="cho_solve: of operand factor, the matrix has a zero on its"):
        tl.cho_solve(tr.zeros((3, 3)), tr.ones((3, 1)), **options)


@pytest.mark.parametrize("check", [True, False, "mask"])
def test_cho_solve_calls_its_first_operand_factor(check: Any) -> None:
    with pytest.raises(DTypeError, match="cho_solve: operand factor is I64"):
        tl.cho_solve(tr.eye(2, dtype="I64"), tr.ones(2), check=check)
    with pytest.raises(ShapeError, match=r"cho_solve: factor of shape \(2, 2\) and b of shape \(3,\) do not fit"):
        tl.cho_solve(tr.eye(2), tr.ones(3), check=check)
    with pytest.raises(ShapeError, match=r"cho_solve: batch shapes \(3,\) of factor and \(4,\) of b do not"):
        tl.cho_solve(tr.ones((2, 2, 3)), tr.ones((2, 1, 4)), check=check)


def test_without_the_check_values_that_are_not_finite_pass() -> None:
    x = np.eye(2)
    x[0, 1] = np.nan

    assert np.isnan(tl.qr(tr.asarray(x), check=False).r.to_numpy()).any()
    assert tl.cholesky(tr.asarray(x), check=False).to_numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_an_iteration_that_does_not_converge_names_the_matrix() -> None:
    x = identities(10, 100)
    x[1, 1, 7, 30] = np.nan

    with pytest.raises(
        tl.NotConvergedError, match=r"svd: the iteration of the matrix at batch index \(7, 30\) did not"
    ) as info:
        tl.svd(tr.asarray(x), check=False)
    assert info.value.batch_index == (7, 30)
    assert isinstance(info.value, ValueError)
    with pytest.raises(tl.NotConvergedError, match=r"^svd: the iteration did not converge"):
        tl.svd(tr.asarray(x[..., 7, 30]), check=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "shape", [(3, 3), (5, 3), (3, 5), (8, 8), (16, 16), (40, 40), (100, 90), (4, 4, 2), (20, 30, 2)]
)
def test_singular_values_beside_an_infinity_that_nobody_looked_for_end(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x[(1, 0, 1)[: len(shape)]] = np.inf  # beside which LAPACK's iteration goes on for ever

    at = " of the matrix at batch index (1,)" if len(shape) == 3 else ""
    for find in (tl.svd, tl.svdvals):
        with pytest.raises(
            tl.NotConvergedError, match=escape(f"the iteration{at} did not converge: it holds NaN or inf")
        ):
            find(tr.asarray(x), check=False)


@pytest.mark.parametrize("bad", [0, 1, 499, 998, 999])
def test_one_matrix_of_a_thousand_that_is_not_positive_definite_is_named(bad: int) -> None:
    x = identities(1000)
    x[1, 1, bad] = -1.0

    with pytest.raises(tl.NotPositiveDefiniteError) as info:
        tl.cholesky(tr.asarray(x))
    assert info.value.batch_index == (bad,)
    assert info.value.element_index == (1, 1)
    assert str(info.value) == (
        f"cholesky: the leading 2x2 block of the matrix at batch index ({bad},) is not positive definite; "
        "accepted: Hermitian positive definite matrices, of which the lower triangle is read"
    )


@pytest.mark.parametrize("bad", [0, 1, 499, 998, 999])
def test_one_matrix_of_a_thousand_that_is_singular_is_named(bad: int) -> None:
    x = identities(10, 100)
    x[:, :, bad % 10, bad // 10] = 1.0

    with pytest.raises(tl.SingularMatrixError, match=r"is exactly singular; lstsq\(\) gives") as info:
        tl.solve(tr.asarray(x), tr.asarray(np.ones((3, 1, 10, 100))))
    assert info.value.batch_index == (bad % 10, bad // 10)
    with pytest.raises(tl.SingularMatrixError, match=rf"inv: the matrix at .* \({bad % 10}, {bad // 10}\) is exactly"):
        tl.inv(tr.asarray(x))


def test_of_several_bad_matrices_the_first_in_storage_order_is_named() -> None:
    x = identities(4, 5)
    x[0, 0, 3, 1] = x[0, 0, 1, 2] = -1.0

    with pytest.raises(tl.NotPositiveDefiniteError) as info:
        tl.cholesky(tr.asarray(x))
    assert info.value.batch_index == (3, 1)


def test_a_single_matrix_has_an_empty_batch_index() -> None:
    with pytest.raises(tl.SingularMatrixError, match=r"^solve: the matrix is exactly singular") as singular:
        tl.solve(tr.zeros((2, 2)), tr.zeros((2,)))
    with pytest.raises(tl.SingularMatrixError, match=r"^inv: the matrix is exactly singular; pinv\(\) gives"):
        tl.inv(tr.zeros((2, 2)))
    with pytest.raises(
        tl.NotPositiveDefiniteError, match=r"^cholesky: the leading 1x1 block is not positive definite"
    ) as indefinite:
        tl.cholesky(tr.zeros((2, 2)))
    assert singular.value.batch_index == indefinite.value.batch_index == ()


def test_a_singular_matrix_shared_by_a_batch_is_named_in_its_own_batch() -> None:
    with pytest.raises(tl.SingularMatrixError) as info:
        tl.solve(tr.zeros((2, 2)), tr.zeros((2, 1, 5)))
    assert info.value.batch_index == ()


@EACH
@pytest.mark.parametrize("dtype", ["I32", "I64", "Bool"])
def test_integers_are_refused_and_convert_is_named(name: str, dtype: str) -> None:
    with pytest.raises(
        DTypeError,
        match=rf"{name}: operand.* is {escape(str(dtype))}; accepted: C32, C64, F32, F64; convert\(x, F64\) first",
    ):
        OPERATIONS[name](tr.zeros((2, 2), dtype=dtype))


def test_solve_refuses_an_integer_beside_a_float() -> None:
    with pytest.raises(DTypeError, match="solve: operand b is I64"):
        tl.solve(tr.eye(2), tr.zeros((2,), dtype="I64"))


@EACH
def test_fewer_than_two_axes_are_refused(name: str) -> None:
    with pytest.raises(
        ShapeError,
        match=rf"{name}: operand of shape \(3,\) holds no matrices; accepted: \[M, N, B...\], batch axes last",
    ):
        OPERATIONS[name](tr.zeros((3,)))
    with pytest.raises(ShapeError, match=r"operand of shape \(\) holds no matrices"):
        OPERATIONS[name](tr.zeros(()))


@pytest.mark.parametrize("name", ["eigh", "cholesky", "solve", "inv", "det"])
def test_matrices_that_are_not_square_are_refused(name: str) -> None:
    with pytest.raises(
        ShapeError, match=rf"{name}: operand of shape \(2, 3\) holds 2x3 matrices, which are not square"
    ):
        OPERATIONS[name](tr.zeros((2, 3)))
    with pytest.raises(ShapeError, match="moves leading batch axes to the end"):
        OPERATIONS[name](tr.zeros((10, 3, 3)))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (
            (3, 3),
            (2,),
            r"a of shape \(3, 3\) and b of shape \(2,\) do not fit; accepted: b of shape \[N\] or \[N, M, B...\] with",
        ),
        ((3, 3), (), r"b of shape \(\) do not fit"),
        ((3, 3, 3), (3,), r"accepted: b of shape \[N, M, B...\] with N = 3; expand_dims\(b, 1\) adds the column axis"),
        ((3, 3, 5), (2, 3, 5), "with N = 3"),
        ((3, 3, 5), (3, 1, 4), r"batch shapes \(5,\) of a and \(4,\) of b do not broadcast"),
    ],
)
def test_right_hand_sides_that_do_not_fit_are_refused(a: tuple[int, ...], b: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        tl.solve(tr.zeros(a), tr.zeros(b))


@EACH
def test_what_is_not_a_tensor_is_refused(name: str) -> None:
    with pytest.raises(TensorError, match="asarray"):
        OPERATIONS[name]([[1.0]])


def test_errors_survive_pickle_with_their_fields() -> None:
    with pytest.raises(tl.NotPositiveDefiniteError) as info:
        tl.cholesky(tr.asarray(-identities(2)))
    copy = pickle.loads(pickle.dumps(info.value))

    assert type(copy) is tl.NotPositiveDefiniteError
    assert str(copy) == str(info.value)
    assert (copy.operation, copy.batch_index, copy.element_index) == ("cholesky", (0,), (0, 0))


def test_what_a_decomposition_may_refuse_is_stated() -> None:
    form = tr.ones((2, 2))._form
    stated = {
        (name, check): facts_of(name).refuses(name, (form,), form, CheckParams(check))  # type: ignore[misc]
        for name in ("qr", "solve")
        for check in (True, False)
    }

    assert stated["qr", True] == "qr refuses elements that are not finite" and stated["qr", False] is None
    assert stated["solve", False] == "solve refuses matrices that have no result"


@pytest.mark.parametrize("name", ["svd", "svdvals", "eig", "schur"])
def test_an_iteration_that_fails_for_nan_says_so(name: str) -> None:
    a = tr.uniform((3, 3, 2), seed=1).mutable_view()
    a[0, 1, 1] = np.nan
    with pytest.raises(
        tl.NotConvergedError, match=rf"^{name}: .*index \(1,\) did not converge: it holds NaN or infinity"
    ):
        getattr(tl, name)(a, check=False)


@pytest.mark.parametrize("size", [3, 70])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_sides_on_the_right_are_told_as_they_were_given(size: int, batch: tuple[int, ...]) -> None:
    sides = np.ones((5, size, *batch), order="F")
    sides[4, 0], sides[0, 1] = np.inf, np.nan  # the first of b, and the first of its transpose

    with pytest.raises(tl.NonFiniteError, match=r"operand b holds inf at element \(4, 0\)") as found:
        tl.triangular_solve(tr.eye(size), tr.asarray(sides), side="right")

    assert (vars(found.value)["element_index"], vars(found.value)["batch_index"]) == ((4, 0), (0,) * len(batch))


@pytest.mark.parametrize("check", [True, False, "mask"])
@pytest.mark.parametrize("of_a", [(3, 3), (3, 3, 2)])
def test_shapes_of_sides_on_the_right_are_told_as_they_were_given(of_a: tuple[int, ...], check: Any) -> None:
    words = escape(
        f"triangular_solve: a of shape {of_a} and b of shape (3, 5) do not fit; "
        "accepted: b of shape [M, N, B...] with N = 3 for side='right'"
    )
    with pytest.raises(ShapeError, match=f"^{words}$") as found:
        tl.triangular_solve(tr.ones(of_a), tr.ones((3, 5)), side="right", check=check)

    assert vars(found.value)["shapes"] == (of_a, (3, 5))
    with pytest.raises(ShapeError, match="2x3 matrices, which are not square"):
        tl.triangular_solve(tr.ones((2, 3)), tr.ones((3, 5)), side="right", check=check)
    with pytest.raises(ForeignOperandError):
        tl.triangular_solve([1.0], tr.ones(3), side="right", check=check)  # type: ignore[call-overload]


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("sides", [(), (2,), (2, 4)], ids=str)
@pytest.mark.parametrize("tolerance", ["one", "each"])
def test_least_squares_name_a_place_that_the_right_hand_sides_have(
    size: int, sides: tuple[int, ...], tolerance: str
) -> None:
    b = np.ones((size, *sides))
    place = (1, *(1,) * len(sides))
    b[place] = np.nan
    for batch in ((),) if not sides else ((), (4,), (5, 4)):
        a = tr.copy(tr.broadcast_to(tr.eye(size).reshape((size, size, *(1,) * len(batch))), (size, size, *batch)))
        rtol = 1e-9 if tolerance == "one" else tr.full(batch, 1e-9)
        with pytest.raises(tl.NonFiniteError, match="lstsq: operand b holds nan") as found:
            tl.lstsq(a, tr.asarray(b), rtol=rtol)
        facts = vars(found.value)
        assert (facts["element_index"], facts["batch_index"]) == (place[:2], place[2:])
