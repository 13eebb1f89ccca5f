"""Substitution by the library's BLAS beside NumPy's kernel of the same forms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_cpu.kernels.linalg.substitution import blas
from tensor_cpu.kernels.linalg.substitution import numpy as by_numpy
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.errors import NonFiniteError, SingularMatrixError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")

UPPER = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)


def system(dtype: DType, size: int, columns: int, batch: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Native arrays of well-conditioned matrices and of right-hand sides."""
    rng = np.random.default_rng(size + columns)
    a, b = (rng.standard_normal((*batch, n, size)) for n in (size, columns))
    if dtype.kind == "complex":
        a, b = a + 1j * rng.standard_normal(a.shape), b + 1j * rng.standard_normal(b.shape)
    return (a / (2 * size) + np.eye(size)).astype(dtype.numpy_name), b.astype(dtype.numpy_name)


def forms_of(dtype: DType, *arrays: Any) -> tuple[Form, ...]:
    """Forms of native arrays, with their strides."""
    return tuple(
        form_of(dtype, one.shape[::-1], CPU, tuple(step // one.itemsize for step in one.strides[::-1]))
        for one in arrays
    )


def read(a: Any, params: TriangularSolveParams) -> Any:
    """The transposed matrices op(A), with what is read of them."""
    turned = a.swapaxes(-1, -2)
    triangle = np.tril(turned) if params.lower else np.triu(turned)
    if params.unit_diagonal:
        places = np.arange(a.shape[-1])
        triangle[..., places, places] = 1
    op = triangle.swapaxes(-1, -2) if params.transpose else triangle
    return op.conj() if params.conjugate else op


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize(("size", "columns", "batch"), [(1, 4, ()), (20, 1, ()), (30, 3, (2,)), (17, 40, (2, 1))])
@pytest.mark.parametrize("layout", ["columns", "rows", "gaps", "steps"])
def test_solutions_are_those_of_the_triangle_that_is_read(
    dtype: DType, size: int, columns: int, batch: tuple[int, ...], layout: str
) -> None:
    a, b = system(dtype, size, columns, batch)
    if layout == "rows":
        a = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout in ("gaps", "steps"):
        wide = np.zeros((*batch, size, 3 * size), a.dtype)
        step = 2 if layout == "steps" else 1
        wide[..., : step * size : step] = a
        a = wide[..., : step * size : step]
    for options in product((False, True), repeat=4):
        params = TriangularSolveParams(*options)
        spoilt = a.copy() if layout == "columns" else a
        if layout == "columns":  # what is not read may be anything
            unread = np.tril(np.ones((size, size)), -1) if params.lower else np.triu(np.ones((size, size)), 1)
            spoilt[..., unread.astype(bool)] = np.nan
        forms = forms_of(dtype, spoilt, b)
        result = form_of(dtype, b.shape[::-1], CPU)
        for bind in (blas.bind, blas.bind_checked):
            kernel = bind(forms, result, params)
            if kernel is None:  # what is solved in lanes
                assert bind is blas.bind_checked and (size <= 16 or columns <= 2)
                continue
            before = spoilt.tobytes(), b.tobytes()
            found = kernel(spoilt, b)
            assert (spoilt.tobytes(), b.tobytes()) == before
            op = read(np.nan_to_num(spoilt), params).astype(np.complex128)
            left = op @ found.swapaxes(-1, -2) - b.swapaxes(-1, -2)
            bound = 2 * size * np.finfo(b.dtype).eps * (abs(op) @ abs(found.swapaxes(-1, -2)))
            assert (abs(left) <= bound).all()


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
def test_batches_broadcast(dtype: DType) -> None:
    a, b = system(dtype, 20, 4, (2, 2))
    wide = np.zeros((2, 2, 4, 40), b.dtype)
    wide[..., ::2] = b[..., ::-1]
    for x, y in ((a[1, 0], b), (a[:, :1], b), (a[:1, ::-1], b[:, ::-1]), (a, b[1, 0]), (a, wide[..., -2::-2])):
        forms = forms_of(dtype, x, y)
        kernel: Any = blas.bind_checked(forms, form_of(dtype, b.shape[::-1], CPU), UPPER)
        found = kernel(x, y)
        for index in np.ndindex(2, 2):
            one, sides = (np.broadcast_to(part, (2, 2, *part.shape[-2:]))[index].copy() for part in (x, y))
            alone = forms_of(dtype, one, sides)
            solve: Any = blas.bind(alone, alone[1], UPPER)
            assert found[index].tobytes() == solve(one, sides).tobytes()


@pytest.mark.parametrize("dtype", [F64, C64])
def test_vectors_are_solved_for(dtype: DType) -> None:
    a, b = system(dtype, 20, 1)
    params = UPPER._replace(transpose=True)  # what is not is read column by column
    forms = forms_of(dtype, a, b[0])
    kernel: Any = blas.bind_checked(forms, forms[1], params)
    expected: Any = blas.bind(forms_of(dtype, a, b), form_of(dtype, (20, 1), CPU), params)
    assert kernel(a, b[0]).tobytes() == expected(a, b).tobytes()


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize("layout", ["columns", "rows", "steps"])
def test_solutions_may_take_the_place_of_right_hand_sides(dtype: DType, layout: str) -> None:
    a, b = system(dtype, 20, 4, (3,))
    if layout == "rows":
        a = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    elif layout == "steps":
        a = np.repeat(a, 2, axis=-1)[..., ::2]
    forms = forms_of(dtype, a, b)
    for options in product((False, True), repeat=4):
        params = TriangularSolveParams(*options)
        expected = blas.bind(forms, forms[1], params)(a, b)  # type: ignore[arg-type, misc]
        sides = b.copy()
        assert blas.bind_in_place(forms, params)(a, sides) is sides  # type: ignore[arg-type, misc]
        assert sides.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [F32, C64])
def test_subnormal_numbers_on_a_diagonal_are_divided_by(dtype: DType) -> None:
    """Their reciprocals are infinite; the last matrix has one, and no right-hand side before it is lost."""
    a, b = system(dtype, 20, 4, (3,))
    least = np.finfo(b.dtype).tiny
    a[2, 7, 7], b[2, :, 7], b[2, :, 8:] = least / 4, least, 0
    forms = forms_of(dtype, a, b)
    for kernel in (blas.bind(forms, forms[1], UPPER), blas.bind_in_place(forms, UPPER)):  # type: ignore[arg-type]
        found = kernel(a, b.copy())  # type: ignore[misc]
        assert found[2, 0, 7] == 4.0 and np.isfinite(found).all()
        expected = by_numpy.bind_triangular_solve(forms, forms[1], UPPER)(a, b)  # type: ignore[arg-type]
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [C32, C64])
@pytest.mark.parametrize("columns", [1, 4])
def test_very_large_complex_numbers_on_a_diagonal_are_divided_by(dtype: DType, columns: int) -> None:
    """The square of their size is beyond the range, and so would be a part plus a part."""
    a, b = system(dtype, 20, columns, (2,))
    a[:] = np.eye(20)
    a[1, 7, 7] = huge = np.finfo(b.dtype).max * (0.9 + 0.9j)
    b[1, :, 7] = huge
    forms = forms_of(dtype, a, b)
    for options in product((False, True), repeat=3):
        params = TriangularSolveParams(*options, unit_diagonal=False)
        sides = np.conjugate(b) if params.conjugate else b
        bound: Any = [blas.bind(forms, forms[1], params), blas.bind_in_place(forms, params)]
        bound += [by_numpy.bind_triangular_solve(forms, forms[1], params)]  # type: ignore[arg-type]
        for kernel in bound:
            found = kernel(a, sides.copy())
            np.testing.assert_allclose(found[1, :, 7], 1.0, rtol=1e-6)
            assert found[0].tobytes() == sides[0].tobytes()


def test_what_cannot_be_solved_is_named() -> None:
    a, b = system(F64, 20, 4, (3,))
    forms = forms_of(F64, a, b)
    kernel: Any = blas.bind_checked(forms, forms[1], UPPER)
    for spoil, error, message in (
        (
            lambda a, b: a[1].__setitem__((4, 3), np.inf),
            NonFiniteError,
            r"operand a holds inf at element \(3, 4\) of the matrix at batch index \(1,\)",
        ),
        (
            lambda a, b: b[2].__setitem__((1, 9), np.nan),
            NonFiniteError,
            r"operand b holds nan at element \(9, 1\) of the matrix at batch index \(2,\)",
        ),
        (
            lambda a, b: a[2].__setitem__((5, 5), 0.0),
            SingularMatrixError,
            r"batch index \(2,\) has a zero on its diagonal",
        ),
    ):
        x, y = a.copy(), b.copy()
        spoil(x, y)
        with pytest.raises(error, match=message):
            kernel(x, y)
    unchecked: Any = blas.bind(forms, forms[1], UPPER)
    a[2, 5, 5] = 0.0
    assert not np.isfinite(unchecked(a, b)[2]).all()


def test_a_first_solution_imports_no_scipy(output: Callable[..., str]) -> None:
    said = output(
        "import sys, tensor_linalg, tensor_runtime as tr\n"
        "for sides in (1, 5):\n"
        "    x = tensor_linalg.cho_solve(tr.eye(70), tr.ones((70, sides)))\n"
        "print(x.shape, 'scipy.linalg' in sys.modules)"
    )
    assert said == "(70, 5) False"


def test_arguments_that_lead_outside_are_refused() -> None:
    good: dict[str, Any] = {
        "dtype": "F64", "sides": (4, 2), "batch": (3,), "a_strides": (16, 4, 1), "b_strides": (8, 4, 1),
        "shape": (3, 2, 4), "lower": True, "transpose": False, "conjugate": False, "unit_diagonal": False,
        "check": False, "fallback": print,
    }  # fmt: skip
    LIBRARY.bind_substitution(**good)
    bad: tuple[tuple[dict[str, Any], type[Exception], str], ...] = (
        ({"dtype": "I64"}, ValueError, "floating or complex"),
        ({"sides": (0, 2)}, ValueError, "none of them empty"),
        ({"batch": (0,)}, ValueError, "no shape of a batch"),
        ({"shape": (3, 2, 5)}, ValueError, "does not fit"),
        ({"a_strides": (4,)}, ValueError, "strides"),
        ({"a_strides": (1 << 61, 4, 1)}, OverflowError, "element"),
        ({"overwrite": True, "check": True}, ValueError, "unchecked right-hand sides without gaps"),
        ({"overwrite": True, "b_strides": (16, 8, 2)}, ValueError, "without gaps"),
        ({"overwrite": True, "b_strides": (0, 4, 1)}, ValueError, "without gaps"),
        (
            {
                "overwrite": True,
                "batch": (2, 3),
                "a_strides": (48, 16, 4, 1),
                "b_strides": (8, 16, 4, 1),
                "shape": (2, 3, 2, 4),
            },
            ValueError,
            "without gaps",
        ),
    )
    for change, error, message in bad:
        with pytest.raises(error, match=message):
            LIBRARY.bind_substitution(**(good | change))
