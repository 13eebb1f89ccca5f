"""What loops over LAPACK refuse, or leave to NumPy, and which library they call."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lapack_cases import FLOATING, NAMES, kernels, matrices
from tensor_core import F64, DType
from tensor_core.errors import ArgumentError, BackendUnavailableError
from tensor_cpu.kernels.linalg import lapack
from tensor_cpu.system import blas
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_runtime.errors import NonFiniteError, NotConvergedError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

pytestmark = [pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT), pytest.mark.usefixtures("threads")]


@FLOATING
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_element_that_is_not_finite_is_named_as_numpy_names_it(name: str, dtype: DType, value: float) -> None:
    x = matrices(name, dtype, 5, 5, (6, 7), 5)
    x[3, 1, 4, 2] = value
    operands = (matrices("solve", dtype, 5, 5, (6, 7), 6), x) if name == "solve" else (x,)
    numpy, native = kernels(name, *operands)

    with pytest.raises(NonFiniteError) as expected:
        numpy(*[x.T for x in operands])
    with pytest.raises(NonFiniteError) as found:
        native(*[x.T for x in operands])
    assert str(found.value) == str(expected.value)
    assert found.value.batch_index == (4, 2)


def test_what_lapack_refuses_is_explained_as_numpy_explains_it() -> None:
    bad = np.array(np.broadcast_to(np.eye(4).reshape(4, 4, 1, 1), (4, 4, 5, 30)), order="F")
    bad[2, 2, 3, 17] = bad[2, 2, 4, 17] = 0.0
    bad[2, 2, 3, 20] = -1.0
    lost = bad.copy(order="F")
    lost[1, 1, 2, 8] = np.nan

    for name, operands, error, index in (
        ("cholesky", (bad,), NotPositiveDefiniteError, (3, 17)),
        ("inv", (bad,), SingularMatrixError, (3, 17)),
        ("solve", (bad, bad), SingularMatrixError, (3, 17)),
        ("svd", (lost,), NotConvergedError, (2, 8)),
    ):
        numpy, native = kernels(name, *operands, check=name != "svd")
        with pytest.raises(error) as expected:
            numpy(*[x.T for x in operands])
        with pytest.raises(error) as found:
            native(*[x.T for x in operands])
        assert str(found.value) == str(expected.value)
        assert found.value.batch_index == index


@pytest.mark.parametrize("name", NAMES)
def test_matrices_without_elements_are_left_to_numpy(name: str) -> None:
    for shape in ((0, 0), (3, 3, 0), (0, 0, 4)):
        x = np.zeros(shape, order="F")
        assert kernels(name, *([x, x] if name == "solve" else [x]))[1] is None


def test_what_the_library_cannot_count_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = blas.open_blas()._replace(integer_bits=32)
    monkeypatch.setattr(lapack, "open_blas", lambda: narrow)
    large = form_of(F64, (2**16, 2**16), CPU)
    one = form_of(F64, (2, 2), CPU), form_of(F64, (2, 2**15, 2**15), CPU)

    assert narrow.limit == 2**31 - 1
    assert lapack.bind("cholesky", (large,), large, True) is None
    assert lapack.bind("solve", one, one[1], True) is None


def test_a_kernel_refuses_what_is_no_array() -> None:
    native: Any = kernels("inv", np.eye(2, order="F"))[1]

    with pytest.raises(TypeError, match="a native kernel takes arrays"):
        native([[1.0]])
    with pytest.raises(TypeError, match="takes 1 positional"):
        native(np.eye(2), np.eye(2))


def test_a_plan_that_makes_no_sense_is_refused() -> None:
    blas.open_blas()
    good = ("inv", "F64", 2, 2, 0, (), (2, 1), (0, 0), (((2, 2), "F64"),), True, print)
    wrong_results: list[Any] = [(), (((2, 3), "F64"),), (((2, 2), "F32"),), (((2, 2, 2), "F64"),)]
    for position, bad in (
        *((0, "invert"), (1, "I64"), (1, "F16"), (2, 0), (2, 3), (4, 1), (5, (-1,)), (6, (1,)), (6, (3, 2, 1))),
        *((8, results) for results in wrong_results),
    ):
        with pytest.raises(ValueError):
            LIBRARY.bind_lapack(*good[:position], bad, *good[position + 1 :])  # type: ignore[arg-type, call-arg]
    with pytest.raises(ValueError, match="no shape of a batch"):
        LIBRARY.bind_lapack(*good[:5], (1 << 62, 4), *good[6:])  # type: ignore[arg-type, call-arg]
    with pytest.raises(OverflowError):
        LIBRARY.bind_lapack(*good[:5], (1 << 60,), *good[6:])  # type: ignore[arg-type, call-arg]
    with pytest.raises(OSError, match="nowhere"):
        LIBRARY.blas_open("/nowhere/liblapack.so", "", "_", 64, False)
    with pytest.raises(KeyError, match="sgemm"):
        LIBRARY.blas_provide(({},))
    with pytest.raises(ValueError, match="no capsule"):
        LIBRARY.blas_provide(({"sgemm": print},))
    with pytest.raises(TypeError):
        LIBRARY.blas_provide((None,))
    if blas.open_blas().name in ("own", "numpy"):
        with pytest.raises(RuntimeError, match="open already"):
            blas._from_numpy()
    assert LIBRARY.blas_open(str(LIBRARY.__file__), "no_", "_", 64, False) == "no_sgemm_"


@pytest.mark.parametrize("choice", ["own", "numpy", "scipy"])
def test_the_environment_chooses_the_library(
    choice: str, program: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    code = (  # with matrices too large for vector lanes
        "import numpy as np, tensor_linalg as tl, tensor_runtime as tr; from tensor_cpu.system import blas\n"
        "wide = np.eye(20); wide[:2, :2] = [[4.0, 1.0], [2.0, 3.0]]; a = tr.asarray(wide)\n"
        "wide = tr.asarray(np.eye(200)); assert (tr.matmul(wide, wide) - wide).to_numpy().max() == 0.0\n"
        "parts = (tl.inv(a), tl.det(a), tl.solve(a, tr.full((20,), 5.0)), *tl.svd(a), *tl.qr(a), *tl.eigh(a))\n"
        "inverse, number, x = (part.to_numpy().round(9) for part in parts[:3])\n"
        "print(blas.opened().name, [inverse[:2, :2].tolist(), number.tolist(), x[:2].tolist()])"
    )
    done = program(code, TENSOR_CPU_BLAS=choice)

    if "no such library" not in done.stderr:  # NumPy may be built with another
        assert done.stdout.strip() == f"{choice} [[[0.3, -0.1], [-0.2, 0.4]], 10.0, [1.0, 1.0]]", done.stderr


def test_a_library_that_does_not_exist_is_an_error_that_says_what_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_opened", None)
    monkeypatch.setenv(blas.VARIABLE, "atlas")
    with pytest.raises(ArgumentError, match="TENSOR_CPU_BLAS is 'atlas'; accepted: own, numpy, scipy, mkl, or unset"):
        blas.open_blas()
    assert blas.describe().startswith("none: TENSOR_CPU_BLAS is 'atlas'")

    monkeypatch.setenv(blas.VARIABLE, "mkl")
    monkeypatch.setattr(blas, "_mkl_library", lambda: None)
    with pytest.raises(BackendUnavailableError, match=r"pip install ironstride-tensor-cpu\[mkl\]"):
        blas.open_blas()
