"""QR, eigenvalues and singular values of small matrices in vector lanes, over families known to break such methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensor_core.dtypes import C32, C64, F32, F64
from tensor_cpu.kernels.linalg import batched_simd
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.errors import NonFiniteError, NotConvergedError
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.usefixtures("instruction_set")

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = {"float32": F32, "float64": F64, "complex64": C32, "complex128": C64}
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES)
EACH_NAME = pytest.mark.parametrize("name", ["eigh", "qr", "svd"])
SHAPES = [(m, n) for m in (1, 2, 3, 4, 5, 7, 8, 13, 16) for n in (1, 2, 3, 4, 6, 8, 13, 16)]
LARGER = [(17, 17), (18, 40), (33, 20), (2, 24), (24, 1), (32, 32), (64, 64)]


def bind(name: str, stack: Array, check: bool = True, *, with_lanes: bool = True) -> Any:
    """The kernel for a batch [B, M, N] of matrices, ours or NumPy's."""
    count, rows, columns = stack.shape
    short, dtype = min(rows, columns), DTYPES[stack.dtype.name]
    left, right = form_of(dtype, (rows, short, count), CPU), form_of(dtype, (short, columns, count), CPU)
    values, operand = form_of(dtype.component, (short, count), CPU), form_of(dtype, (rows, columns, count), CPU)
    result = {"svd": (left, values, right), "qr": (left, right), "eigh": (values, left)}[name]
    kernel = (batched_simd if with_lanes else linalg).bind(name, (operand,), result, check)
    assert kernel is not None
    return kernel


def run(name: str, stack: Array, check: bool = True) -> list[Array]:
    """The factors of each matrix of a batch [B, M, N], in binary64."""
    found = bind(name, stack, check)(np.ascontiguousarray(stack.swapaxes(1, 2)))
    assert all(part.flags.c_contiguous and part.flags.writeable for part in found)
    return [wide(part if part.ndim == 2 else part.swapaxes(1, 2)) for part in found]


def wide(x: Array) -> Array:
    return np.asarray(x.astype(np.result_type(x.dtype, np.float64)))


def adjoint(x: Array) -> Array:
    return np.asarray(x.conj().swapaxes(-1, -2))


def family(dtype: str, rows: int, columns: int) -> Array:
    """A batch of matrices, one or more of each awkward kind."""
    rng = np.random.default_rng([rows, columns])
    noise = rng.standard_normal((8, rows, columns)) + 1j * rng.standard_normal((8, rows, columns))
    noise = noise if "complex" in dtype else noise.real
    i, j, two = np.arange(rows)[:, None], np.arange(columns), min(rows, columns, 2)
    narrow = dtype in ("float32", "complex64")
    power = 30 if narrow else 150
    graded_columns, graded_rows = 10.0 ** np.linspace(-power, power, columns), 10.0 ** np.linspace(power, -power, rows)
    kinds = [
        *noise[:3],
        np.zeros((rows, columns)),
        -np.zeros((rows, columns)),
        np.eye(rows, columns),
        np.eye(rows, columns, 1),
        np.fliplr(np.eye(rows, columns)),
        np.ones((rows, columns)),
        np.triu(np.ones((rows, columns))),
        (-1.0) ** (i + j),
        1.0 / (1.0 + i + j),
        noise[3][:, :1] @ noise[4][:1],  # of rank one
        noise[3][:, :two] @ noise[4][:two],
        noise[5] * (i != rows // 2) * (j != columns // 2),  # a row and a column of zeros
        np.where((i == rows - 1) & (j == 0), -3.0, 0.0),
        np.linalg.qr(noise[6])[0] @ np.linalg.qr(noise[7][:columns, :columns])[0] if rows >= columns else noise[6],
        noise[0] * 10.0 ** -np.linspace(0.0, 12.0, columns),
        noise[0] * graded_columns,
        noise[1] * graded_rows[:, None],
        np.diag(graded_rows)[:, :columns] if rows >= columns else np.diag(graded_columns)[:rows],
        noise[2] * (1e37 if narrow else 1e306),
        noise[2] * (1e-37 if narrow else 1e-307),
        noise[2] * (1e-43 if narrow else 1e-322),  # subnormal
    ]
    return np.stack([np.asarray(kind).astype(dtype) for kind in kinds])


def unit_scale(stack: Array) -> tuple[Array, Array]:
    """Each matrix divided by its largest part, and those parts."""
    parts = np.maximum(np.abs(stack.real), np.abs(stack.imag)).max(axis=(1, 2), keepdims=True)
    parts[parts == 0.0] = 1.0
    return divided(stack, parts), parts


def divided(x: Array, by: Array) -> Array:
    return np.asarray(x.real / by + 1j * (x.imag / by) if np.iscomplexobj(x) else x / by)


def bound(dtype: str, *sides: int) -> float:
    return float(np.finfo(dtype).eps) * 8 * max(sides)


def assert_equal_matrices(found: Array, expected: Array, dtype: str, scale: Array) -> None:
    spacing = 64 * float(np.finfo(dtype).smallest_subnormal) / scale
    norm = np.linalg.norm(expected, axis=(1, 2), keepdims=True)  # at most 16 of matrices of side 16
    assert (
        np.abs(found - expected) <= bound(dtype, *expected.shape[1:]) * np.maximum(1.0, norm / 16.0) + spacing
    ).all()


def assert_orthonormal(x: Array, dtype: str) -> None:
    assert np.abs(adjoint(x) @ x - np.eye(x.shape[-1])).max() <= bound(dtype, *x.shape[1:])


@EACH_DTYPE
@pytest.mark.parametrize(("rows", "columns"), SHAPES + LARGER)
def test_svd_reconstructs_with_orthonormal_factors_and_descending_values(dtype: str, rows: int, columns: int) -> None:
    a = family(dtype, rows, columns)
    expected, scale = unit_scale(wide(a))
    u, s, vh = run("svd", a)

    assert_equal_matrices((u * (s[:, None] / scale)) @ vh, expected, dtype, scale)
    assert_orthonormal(u, dtype)
    assert_orthonormal(adjoint(vh), dtype)
    assert (s >= 0.0).all()
    assert (np.diff(s) <= 0.0).all()


@EACH_DTYPE
@pytest.mark.parametrize(("rows", "columns"), SHAPES + LARGER)
def test_qr_reconstructs_with_orthonormal_columns_and_a_triangle(dtype: str, rows: int, columns: int) -> None:
    a = family(dtype, rows, columns)
    expected, scale = unit_scale(wide(a))
    q, r = run("qr", a)

    assert_equal_matrices(q @ divided(r, scale), expected, dtype, scale)
    assert_orthonormal(q, dtype)
    assert (np.tril(r, -1) == 0.0).all()


@EACH_DTYPE
@pytest.mark.parametrize("side", [*range(1, 17), 17, 24, 33, 64])
def test_eigh_reconstructs_with_orthonormal_vectors_and_ascending_values(dtype: str, side: int) -> None:
    a = family(dtype, side, side)
    a = a / 2 + adjoint(a / 2)
    expected, scale = unit_scale(wide(a))
    w, v = run("eigh", a)

    assert_equal_matrices((v * (w[:, None] / scale)) @ adjoint(v), expected, dtype, scale)
    assert_orthonormal(v, dtype)
    assert (np.diff(w) >= 0.0).all()


@EACH_DTYPE
@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 1), (3, 3), (4, 4), (8, 8), (7, 3), (3, 7), (16, 16), (17, 24), (64, 64)]
)
def test_qr_has_the_signs_of_lapack(dtype: str, rows: int, columns: int) -> None:
    a = np.tile(family(dtype, rows, columns)[:3], (2, 1, 1))
    q, r = run("qr", a)
    expected_q, expected_r = np.linalg.qr(wide(a))

    assert np.abs(q - expected_q).max() <= 100 * bound(dtype, rows, columns)
    assert np.abs(r - expected_r).max() <= 100 * bound(dtype, rows, columns)
    assert (np.diagonal(r, 0, 1, 2).imag[:, : min(rows, columns) - (rows <= columns)] == 0.0).all()


def test_qr_leaves_triangles_as_they_are() -> None:
    a = np.triu(np.random.default_rng(0).standard_normal((9, 5, 5)))
    q, r = run("qr", a)

    assert (q == np.eye(5)).all()
    assert (r == a).all()


@EACH_DTYPE
@EACH_NAME
@pytest.mark.parametrize("side", [1, 2, 3, 4, 7, 8, 16, 17, 33, 64])
def test_no_finite_matrix_is_handed_over_to_numpy(
    name: str, side: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*transposed: Array) -> None:
        raise AssertionError("handed over")

    monkeypatch.setattr(linalg, "bind", lambda *arguments: refuse)
    a = family(dtype, side, side)

    assert len(run(name, a / 2 + adjoint(a / 2) if name == "eigh" else a)) >= 2


@EACH_DTYPE
@EACH_NAME
@pytest.mark.parametrize(("side", "counts"), [(3, range(1, 35)), (20, (6, 8, 13, 31))])
def test_a_matrix_has_the_same_factors_in_batches_of_any_length(
    name: str, dtype: str, side: int, counts: Sequence[int]
) -> None:
    a = np.concatenate([family(dtype, side, side), family(dtype, side, side)[::-1]])
    whole = run(name, a)

    for count in counts:
        for part, result in zip(run(name, a[:count]), whole, strict=True):
            np.testing.assert_array_equal(part, result[:count])


@EACH_NAME
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_long_batches(name: str, threads: int) -> None:
    a = np.random.default_rng(0).standard_normal((5001, 4, 4))
    former = LIBRARY.threads()
    expected = run(name, a)
    try:
        LIBRARY.set_threads(threads)
        found = run(name, a)
    finally:
        LIBRARY.set_threads(former)
    assert all((x == y).all() for x, y in zip(found, expected, strict=True))


@EACH_DTYPE
def test_eigh_reads_the_lower_triangle_and_the_real_diagonal(dtype: str) -> None:
    a = family(dtype, 5, 5)[:9]
    a = a + adjoint(a)
    garbage = np.where(np.triu(np.ones((5, 5)), 1) == 1, 1e30, a).astype(dtype)
    if "complex" in dtype:
        garbage += (5j * np.eye(5)).astype(dtype)

    for found, expected in zip(run("eigh", garbage), run("eigh", a), strict=True):
        np.testing.assert_array_equal(found, expected)


@EACH_DTYPE
def test_values_of_diagonals_are_their_elements(dtype: str) -> None:
    diagonal = np.array([3.0, -1.0, 0.0, 2.0, -1.0, 1e-20, 7.0], dtype)
    a = np.repeat(np.diag(diagonal)[None], 3, axis=0)

    assert run("eigh", a)[0].tolist() == [sorted(wide(diagonal).real.tolist())] * 3
    assert run("svd", a)[1].tolist() == [sorted(np.abs(wide(diagonal)).tolist(), reverse=True)] * 3


def test_small_values_of_graded_matrices_are_accurate() -> None:
    rng = np.random.default_rng(0)
    scale = 10.0 ** -np.arange(0.0, 40.0, 8.0)
    well = np.eye(5) + 0.1 * rng.standard_normal((20, 5, 5))
    s = run("svd", well * scale)[1]
    w = run("eigh", (well + adjoint(well)) * scale * scale[:, None])[0]

    # The product of all singular values, or eigenvalues, is the determinant.
    assert np.abs(s.prod(axis=1) / (np.abs(np.linalg.det(well)) * scale.prod()) - 1.0).max() < 1e-13
    expected = np.linalg.det(well + adjoint(well)) * scale.prod() ** 2
    assert np.abs(w.prod(axis=1) / expected - 1.0).max() < 1e-13


@EACH_DTYPE
@EACH_NAME
@pytest.mark.parametrize("bad", [0, 8, 18])
def test_the_first_element_that_is_not_finite_is_named(name: str, bad: int, dtype: str) -> None:
    a = np.ones((19, 3, 3), dtype)
    a[bad, 1, 2] = np.nan
    a[bad + 1 :, 0, 0] = np.inf

    with pytest.raises(NonFiniteError, match=rf"{name}: operand a holds .*nan.* at element \(1, 2\)") as info:
        run(name, a)
    assert info.value.batch_index == (bad,)


@pytest.mark.parametrize(("rows", "of_svd", "of_eigh"), [(16, 1, 1), (17, 3, 3), (32, 3, 3), (33, 5, 4), (64, 5, 4)])
def test_large_matrices_go_into_lanes_when_there_are_enough_of_them(rows: int, of_svd: int, of_eigh: int) -> None:
    for name, dtype, fewest in (
        ("svd", F64, of_svd),
        ("svd", C64, of_svd),
        ("eigh", F32, of_eigh),
        ("eigh", C32, of_eigh),
    ):
        for count in range(1, 7):
            a = form_of(dtype, (rows, rows, count), CPU)
            values = form_of(dtype.component, (rows, count), CPU)
            result = (values, a) if name == "eigh" else (a, values, a)
            assert (batched_simd.bind(name, (a,), result, True) is not None) == (count >= fewest)


def test_without_the_check_values_that_are_not_finite_go_to_numpy() -> None:
    a = np.repeat(np.eye(3)[None], 19, axis=0)
    a[11, 1, 1] = np.nan

    with pytest.raises(NotConvergedError, match=r"svd: the iteration of the matrix at batch index \(11,\)"):
        run("svd", a, check=False)
    for name in ("qr", "eigh"):
        expected = bind(name, a, False, with_lanes=False)(a.swapaxes(1, 2).copy())
        for found, part in zip(run(name, a, check=False), expected, strict=True):
            np.testing.assert_array_equal(found, part if part.ndim == 2 else part.swapaxes(1, 2))


@EACH_DTYPE
@pytest.mark.parametrize("name", ["eigvalsh", "svdvals"])
def test_values_alone_are_those_that_come_with_vectors(name: str, dtype: str) -> None:
    for rows, columns in SHAPES:
        if name == "eigvalsh" and rows != columns:
            continue
        stack = family(dtype, rows, columns)
        if name == "eigvalsh":
            stack = (stack / 2 + adjoint(stack) / 2).astype(dtype)
        count, short = len(stack), min(rows, columns)
        operand = form_of(DTYPES[dtype], (rows, columns, count), CPU)
        values = form_of(DTYPES[dtype].component, (short, count), CPU)
        kernel: Any = batched_simd.bind(name, (operand,), values, True)
        found = wide(kernel(np.ascontiguousarray(stack.swapaxes(1, 2))))
        expected = run("eigh", stack)[0] if name == "eigvalsh" else run("svd", stack)[1]

        size = np.abs(expected).max(axis=1, keepdims=True)
        assert (np.abs(found - expected) <= 8 * max(rows, columns) * float(np.finfo(dtype).eps) * size).all()
        assert ((found[:, 1:] >= found[:, :-1]) if name == "eigvalsh" else (found[:, 1:] <= found[:, :-1])).all()
