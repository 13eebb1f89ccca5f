"""Loops over LAPACK in C against NumPy's kernels, which stand behind them: same answers, same errors, any layout."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import C32, C64, F32, F64, DType
from tensor_core.errors import ArgumentError, BackendUnavailableError
from tensor_cpu.kernels.linalg import lapack
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.system import blas
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_runtime.errors import NonFiniteError, NotConvergedError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

pytestmark = [pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT), pytest.mark.usefixtures("threads")]

Array = np.ndarray[Any, np.dtype[Any]]
NAMES = tuple(lapack.BINDERS)
UNIQUE = (
    "cholesky",
    "solve",
    "inv",
    "det",
    "eigvalsh",
    "svdvals",
)  # decompositions with one answer; the others are tested by what they promise
FLOATING = pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
DTYPES = {dtype.numpy_name: dtype for dtype in (F32, F64, C32, C64)}


def form(tensor: Array) -> Form:
    """Of a tensor in its own order of axes, whatever its strides."""
    strides = tuple(stride // tensor.itemsize for stride in tensor.strides)
    return form_of(DTYPES[tensor.dtype.name], tensor.shape, CPU, strides)


def result_of(name: str, operands: tuple[Form, ...]) -> Any:
    a = operands[0]
    (m, n), batch, k = a.shape[:2], a.shape[2:], min(a.shape[:2])
    if name == "solve" and len(operands) == 2 and operands[1].rank > 1:
        batch = np.broadcast_shapes(batch, operands[1].shape[2:])

    def one(*shape: int, real: bool = False) -> Form:
        return form_of(a.dtype.component if real else a.dtype, shape, CPU)

    match name:
        case "svd":
            return one(m, k, *batch), one(k, *batch, real=True), one(k, n, *batch)
        case "qr":
            return one(m, k, *batch), one(k, n, *batch)
        case "eigh":
            return one(n, *batch, real=True), one(*a.shape)
        case "eigvalsh":
            return one(n, *batch, real=True)
        case "svdvals":
            return one(k, *batch, real=True)
        case "det":
            return one(*batch)
        case "solve":
            b = operands[1]
            return one(n) if b.rank == 1 else one(n, b.shape[1], *batch)
    return one(*a.shape)


def kernels(name: str, *tensors: Array, check: bool = True) -> tuple[Any, Any]:
    """NumPy's kernel and the native one."""
    operands = tuple(map(form, tensors))
    result = result_of(name, operands)
    return linalg.bind(name, operands, result, check), lapack.bind(name, operands, result, check)


def run(name: str, *tensors: Array, check: bool = True) -> Any:
    _, native = kernels(name, *tensors, check=check)
    return native(*[x.T for x in tensors])


def numbers(dtype: DType, shape: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asfortranarray((x if dtype in (C32, C64) else x.real).astype(dtype.numpy_name))


def matrices(name: str, dtype: DType, rows: int, columns: int, batch: tuple[int, ...], seed: int) -> Array:
    """Such as the operation wants, well conditioned."""
    if name not in ("svd", "svdvals", "qr"):
        columns = rows
    x = numbers(dtype, (rows, columns, *batch), seed)
    if name in ("cholesky", "eigh", "eigvalsh"):
        x = np.einsum("ij...,kj...->ik...", x, x.conj())
    if name in ("cholesky", "solve", "inv", "det"):
        x = x + 2 * rows * np.eye(rows).reshape(rows, rows, *[1] * len(batch))
    return np.asfortranarray(x.astype(dtype.numpy_name))


def laid_out(x: Array, order: list[int], steps: list[int]) -> Array:
    """The same elements in other memory: axes in another order, gaps, negative strides."""
    buffer = np.zeros([x.shape[axis] * abs(steps[axis]) for axis in order], x.dtype)
    view = buffer.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    view[...] = x
    return view


def close(found: Array, expected: Array) -> bool:
    unit = float(np.finfo(expected.dtype).eps)
    return bool(np.abs(found - expected).max(initial=0.0) <= 64 * unit * max(1.0, np.abs(expected).max(initial=0.0)))


def reconstructed(name: str, results: Any) -> Array:
    match name:
        case "svd":
            u, s, vh = (x.T for x in results)
            return np.asarray(np.einsum("ik...,k...,kj...->ij...", u, s, vh))
        case "qr":
            return np.asarray(np.einsum("ik...,kj...->ij...", results[0].T, results[1].T))
    values, vectors = (x.T for x in results)
    return np.asarray(np.einsum("ik...,k...,jk...->ij...", vectors, values, vectors.conj()))


@st.composite
def layouts(draw: st.DrawFn) -> tuple[str, Array]:
    name = draw(st.sampled_from([name for name in NAMES if name != "solve"]))
    dtype = draw(st.sampled_from([F32, F64, C32, C64]))
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=4)))
    x = matrices(name, dtype, draw(st.integers(1, 9)), draw(st.integers(1, 9)), batch, draw(st.integers(0, 99)))
    order = draw(st.permutations(range(x.ndim)))
    x = laid_out(x, order, draw(st.lists(st.sampled_from([1, 2, -1, -3]), min_size=x.ndim, max_size=x.ndim)))
    if draw(st.booleans()):
        x = np.broadcast_to(x[..., None], (*x.shape, draw(st.integers(1, 3))))  # a stride of 0
    return name, x


@given(layouts())
def test_every_layout_gives_what_numpy_gives(case: tuple[str, Array]) -> None:
    name, x = case
    before = x.copy()
    numpy, native = kernels(name, x)
    expected, found = numpy(x.T), native(x.T)
    if name in UNIQUE:
        expected, found = (expected,), (found,)
    assert repr(native) == f"<native kernel {name}>"
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert one.flags.c_contiguous and one.flags.writeable and not np.shares_memory(one, x)
        if name in UNIQUE or one.dtype != x.dtype:  # eigenvalues and singular values are unique too
            assert close(one, other)
    if name not in UNIQUE:
        assert close(reconstructed(name, found), before)
    assert x.tobytes() == before.tobytes()


@FLOATING
@pytest.mark.parametrize(
    "batches", [((), ()), ((4,), (4,)), ((), (3, 2)), ((2, 1), (1, 3)), ((3,), (2, 3)), ((2, 3), (3,))]
)
def test_solve_broadcasts_as_numpy_does(dtype: DType, batches: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for n, columns in product((1, 2, 7, 33), (1, 3)):
        a = matrices("solve", dtype, n, n, batches[0], n)
        b = np.asfortranarray(numbers(dtype, (2 * n, columns, *batches[1]), n + columns))[::-2]
        numpy, native = kernels("solve", a, b)

        assert repr(native) == "<native kernel solve>"
        assert close(native(a.T, b.T), numpy(a.T, b.T))
        assert native(a.T, b.T).shape == numpy(a.T, b.T).shape


@FLOATING
def test_solve_takes_vectors_of_any_stride(dtype: DType) -> None:
    a, b = matrices("solve", dtype, 5, 5, (), 1), numbers(dtype, (15,), 2)[::-3]
    numpy, native = kernels("solve", a, b)

    assert close(native(a.T, b.T), numpy(a.T, b.T))
    assert native(a.T, b.T).shape == (5,)


@FLOATING
@pytest.mark.parametrize("name", NAMES)
def test_large_stacks_give_the_same_bits_for_any_number_of_threads(name: str, dtype: DType, threads: int) -> None:
    x = matrices(name, dtype, 24, 17, (5, 9), 3)
    operands = (x, numbers(dtype, (24, 2, 5, 9), 4)) if name == "solve" else (x,)
    found = run(name, *operands)
    LIBRARY.set_threads(1)
    alone = run(name, *operands)

    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, alone)), strict=True):
        assert one.tobytes() == other.tobytes()
    if name not in UNIQUE:
        assert close(reconstructed(name, found), x)


SIDE = lapack.LARGEST_IN_LANES + 6
IN_FLOATS = pytest.mark.parametrize("dtype", [F32, C32])


def precise(x: Array) -> Array:
    return x.astype(np.result_type(x, np.float64))


@IN_FLOATS
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("power", [0, -100, 90])
def test_large_matrices_of_floats_are_as_good_as_floats_can_be(name: str, dtype: DType, power: int) -> None:
    """Numbers near the ends of the range of floats are computed in doubles."""
    shape = (SIDE, SIDE - 5) if name in ("svd", "svdvals", "qr") else (SIDE, SIDE)
    x = np.ldexp(1.0, power) * precise(matrices(name, dtype, *shape, (), power + 100))
    x = np.asfortranarray(x.astype(dtype.numpy_name))
    operands = (x, np.asfortranarray(x[:, :3])) if name == "solve" else (x,)
    numpy, native = kernels(name, *operands)
    found = native(*[one.T for one in operands])
    with np.errstate(over="ignore"):
        expected = numpy(*[one.T for one in operands])

    if name not in UNIQUE:
        size = np.abs(x).max()
        assert np.abs(reconstructed(name, tuple(map(precise, found))) - x).max() < SIDE * 2.0**-22 * size
    elif name != "det":
        size = np.abs(expected).max()
        assert np.abs(precise(found) - expected).max() < SIDE * 2.0**-22 * size
    elif np.isfinite(expected):
        assert abs(found - expected) <= SIDE * 2.0**-22 * abs(expected)
    else:
        assert not np.isfinite(found)


@IN_FLOATS
def test_large_matrices_are_computed_in_floats_and_those_of_lanes_in_doubles(dtype: DType) -> None:
    """Floats lose the 2**-30 that the second pivot has beside 1, and which the third one should keep."""
    a = np.asfortranarray(np.eye(SIDE, dtype=dtype.numpy_name))
    a[:3, :3] = [[1, -1, 0], [1, 2.0**-30, 1], [0, 1, 1 + 2.0**-20]]
    b = np.asfortranarray(np.eye(SIDE, 1, -2, dtype=dtype.numpy_name))

    assert run("solve", a, b)[0, 2] == 2.0**20
    small = np.asfortranarray(a[:-6, :-6])
    assert run("solve", small, np.asfortranarray(b[:-6]))[0, 2] == np.float32(2.0**20 / (1 + 2.0**-10))


@IN_FLOATS
@pytest.mark.parametrize("name", NAMES)
def test_a_matrix_that_needs_doubles_changes_nothing_for_its_neighbours(name: str, dtype: DType, threads: int) -> None:
    x = matrices(name, dtype, SIDE, SIDE, (7,), 5)
    x[..., 2] *= 2.0**-100
    x[..., 5] *= 2.0**100
    stack = (x, np.asfortranarray(x[:, :2])) if name == "solve" else (x,)
    found = run(name, *stack)
    found = found if isinstance(found, tuple) else (found,)

    for number in range(7):
        alone = run(name, *[np.asfortranarray(one[..., number]) for one in stack])
        for one, other in zip(found, alone if isinstance(alone, tuple) else (alone,), strict=True):
            assert one[number].tobytes() == other.tobytes()


@IN_FLOATS
def test_what_floats_refuse_may_be_fine_in_doubles(dtype: DType) -> None:
    """A matrix of whole numbers whose condition is 4e14."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61]
    lower = np.eye(SIDE)
    lower[:18, :18] -= np.tril(np.ones((18, 18)), -1)
    lower[:18] *= np.array(primes)[:, None]
    a = np.asfortranarray((lower @ lower.T).astype(dtype.numpy_name))

    assert np.abs(run("cholesky", a).T - lower).max() < 2.0**-10


@IN_FLOATS
@pytest.mark.parametrize("scale", [1.0, 2.0**-110])
def test_one_matrix_for_many_right_hand_sides_is_computed_in_floats_or_doubles(dtype: DType, scale: float) -> None:
    a, b = matrices("solve", dtype, SIDE, SIDE, (), 1), numbers(dtype, (SIDE, 2, 4), 2)
    a = np.asfortranarray(a * np.float32(scale))
    found = run("solve", a, b)

    assert found.shape == (4, 2, SIDE)
    expected = np.linalg.solve(precise(a), precise(b).transpose(2, 0, 1))
    assert np.abs(found.transpose(0, 2, 1) - expected).max() < SIDE * 2.0**-22 * np.abs(expected).max()


@pytest.mark.parametrize("dtype", [C32, C64])
@pytest.mark.parametrize("kind", ["dense", "of degree one", "diagonal", "zero", "scaled up", "scaled down"])
def test_complex_eigenvectors_made_of_real_ones_are_orthonormal_and_reconstruct(dtype: DType, kind: str) -> None:
    n = SIDE
    factor = precise(numbers(dtype, (n, n), 7))
    power = {"scaled up": 100, "scaled down": -100}.get(kind, 0) * (1 if dtype is C32 else 8)
    x = {"of degree one": np.outer(factor[0], factor[0].conj()), "diagonal": np.eye(n), "zero": np.zeros((n, n))}.get(
        kind, factor + factor.conj().T
    )
    a = np.asfortranarray((x * 2.0**power).astype(dtype.numpy_name))
    values, vectors = (precise(part.T) for part in run("eigh", a))
    unit = n * 4 * float(np.finfo(a.dtype).eps)

    assert (np.diff(values) >= 0).all()
    assert np.abs(vectors.conj().T @ vectors - np.eye(n)).max() < unit
    assert np.abs((vectors * values) @ vectors.conj().T - a).max() <= unit * np.abs(a).max()
    assert np.abs(values - np.linalg.eigvalsh(precise(a))).max() <= unit * np.abs(values).max()


def test_integers_come_out_exactly() -> None:
    lower = np.asfortranarray(np.tril(np.arange(1.0, 37.0).reshape(6, 6) % 4, -1) + np.eye(6))
    upper = np.asfortranarray(lower.T)

    assert run("det", 3 * upper).item() == 3**6
    assert run("det", np.asfortranarray((3 * upper)[[1, 0, 2, 3, 4, 5]])).item() == -(3**6)
    assert run("det", np.asfortranarray(1j * upper)).item() == -1.0
    assert (run("inv", upper).T @ upper).tolist() == np.eye(6).tolist()
    assert run("solve", upper, upper @ np.arange(6.0)).tolist() == np.arange(6.0).tolist()
    assert (run("cholesky", np.asfortranarray(4 * lower @ lower.T)).T / 2).tolist() == lower.tolist()


@pytest.mark.parametrize("phase", [1.0, 1j])
def test_products_of_pivots_neither_overflow_nor_vanish_on_the_way(phase: complex) -> None:
    sizes = np.array([2.0**1000, 2.0**900, 2.0**-1000, 2.0**-890])
    a = np.asfortranarray(np.diag(sizes * phase if phase != 1 else sizes))

    assert run("det", a).item() == 1024.0
    assert run("det", np.asfortranarray(a[:2, :2])).item() == np.inf * (phase**2).real
    assert run("det", np.asfortranarray(a[2:, 2:])).item() == 0.0


def test_a_determinant_is_zero_where_a_pivot_is_and_nan_where_an_element_is() -> None:
    a = np.asfortranarray(np.stack([np.ones((3, 3)), np.eye(3)], axis=-1))

    assert run("det", a).tolist() == [0.0, 1.0]
    a[1, 1, 1] = np.nan
    assert np.isnan(run("det", a, check=False)[1])


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


def test_cholesky_and_eigh_read_the_lower_triangle_alone() -> None:
    x = matrices("eigh", C64, 6, 6, (3,), 7)
    garbage = np.asfortranarray(np.where(np.triu(np.ones((6, 6)), 1)[..., None] == 1, 77.0 - 5.0j, x))

    assert run("eigh", garbage)[0].tolist() == run("eigh", x)[0].tolist()
    assert run("cholesky", garbage).tolist() == run("cholesky", x).tolist()


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
