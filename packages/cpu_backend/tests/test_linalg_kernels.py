"""The linear algebra kernels on transposed arrays: what comes back is compact, owned, right, and never a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensor_core import C32, C64, F32, F64, DType, SizeLimitError
from tensor_cpu.kernels.linalg import checks
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.limits.powers import scaled
from tensor_runtime.errors import NonFiniteError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, np.dtype[Any]]
FLOATING = pytest.mark.parametrize("dtype", [F32, F64, C32, C64])


def form(dtype: DType, *shape: int) -> Form:
    return form_of(dtype, shape, CPU)


def random(dtype: DType, *shape: int) -> Array:
    """A tensor in its own order of axes, column-major, so that ``.T`` is its transposed array."""
    rng = np.random.default_rng(len(shape))
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asfortranarray((x if dtype in (C32, C64) else x.real).astype(dtype.numpy_name))


def positive(dtype: DType, size: int, *batch: int) -> Array:
    x = random(dtype, size, size, *batch)
    x = np.einsum("ij...,kj...->ik...", x, x.conj()) + size * np.eye(size).reshape(size, size, *[1] * len(batch))
    return np.asfortranarray(x.astype(dtype.numpy_name))


def run(name: str, *tensors: Array, check: bool = True) -> Any:
    """Bind and call; the form of the result matters only by being one or several."""
    operands = tuple(form(DTYPES[x.dtype.name], *x.shape) for x in tensors)
    result = (
        operands[0] if name in ("cholesky", "solve", "inv", "det") else (operands[0],) * (3 if name == "svd" else 2)
    )
    return linalg.bind(name, operands, result, check)(*[x.T for x in tensors])


DTYPES = {dtype.numpy_name: dtype for dtype in (F32, F64, C32, C64)}


def close(found: Array, expected: Array) -> bool:
    unit = float(np.finfo(expected.dtype).eps)
    return bool(np.abs(found - expected).max(initial=0.0) <= 64 * unit * max(1.0, np.abs(expected).max(initial=0.0)))


def is_owned_transposed(array: Array, dtype: DType, *shape: int) -> bool:
    """Compact and writable, with the dtype and the shape of the tensor."""
    flags = array.flags
    return (array.dtype.name, array.shape) == (dtype.numpy_name, shape[::-1]) and flags.c_contiguous and flags.writeable


@FLOATING
@pytest.mark.parametrize(("rows", "columns"), [(4, 3), (3, 4), (1, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3), (0,)])
def test_svd_gives_transposed_arrays_of_its_factors(
    dtype: DType, rows: int, columns: int, batch: tuple[int, ...]
) -> None:
    a = random(dtype, rows, columns, *batch)
    short = min(rows, columns)
    u, s, vh = run("svd", a)

    assert is_owned_transposed(u, dtype, rows, short, *batch)
    assert is_owned_transposed(s, dtype.component, short, *batch)
    assert is_owned_transposed(vh, dtype, short, columns, *batch)
    assert close(np.einsum("ik...,k...,kj...->ij...", u.T, s.T, vh.T), a)


@FLOATING
@pytest.mark.parametrize(("rows", "columns"), [(4, 3), (3, 4), (1, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3), (0,)])
def test_qr_gives_transposed_arrays_of_its_factors(
    dtype: DType, rows: int, columns: int, batch: tuple[int, ...]
) -> None:
    a = random(dtype, rows, columns, *batch)
    short = min(rows, columns)
    q, r = run("qr", a)

    assert is_owned_transposed(q, dtype, rows, short, *batch)
    assert is_owned_transposed(r, dtype, short, columns, *batch)
    assert close(np.einsum("ik...,kj...->ij...", q.T, r.T), a)


@FLOATING
@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3), (0,)])
def test_the_routines_for_square_matrices_give_transposed_arrays(
    dtype: DType, size: int, batch: tuple[int, ...]
) -> None:
    a, b = positive(dtype, size, *batch), random(dtype, size, 2, *batch)
    values, vectors = run("eigh", a)
    factor, x = run("cholesky", a), run("solve", a, b)
    inverse, determinant = run("inv", a), run("det", a)

    assert is_owned_transposed(values, dtype.component, size, *batch)
    assert is_owned_transposed(vectors, dtype, size, size, *batch)
    assert is_owned_transposed(factor, dtype, size, size, *batch)
    assert is_owned_transposed(x, dtype, size, 2, *batch)
    assert is_owned_transposed(inverse, dtype, size, size, *batch)
    assert is_owned_transposed(determinant, dtype, *batch)
    v, lower = vectors.T, factor.T
    assert close(np.einsum("ik...,k...,jk...->ij...", v, values.T, v.conj()), a)
    assert close(np.einsum("ik...,jk...->ij...", lower, lower.conj()), a)
    assert close(np.einsum("ij...,jk...->ik...", a, x.T), b)
    identity = np.broadcast_to(np.eye(size).reshape(size, size, *[1] * len(batch)), a.shape).astype(a.dtype)
    assert close(np.einsum("ij...,jk...->ik...", a, inverse.T), identity)
    assert close(determinant, np.asarray(np.prod(values, axis=-1)).astype(determinant.dtype))


@pytest.mark.parametrize("name", ["svd", "qr", "eigh", "cholesky", "solve", "inv", "det"])
def test_results_share_no_memory_with_operands_that_are_read_only(name: str) -> None:
    a = positive(F64, 3, 4)
    a.flags.writeable = False
    results = run(name, a, a) if name == "solve" else run(name, a)

    for result in results if isinstance(results, tuple) else (results,):
        assert result.flags.writeable
        assert not np.shares_memory(result, a)


@pytest.mark.parametrize("name", ["svd", "qr", "eigh", "cholesky", "inv", "det"])
def test_batch_axes_in_any_order_still_give_compact_results(name: str) -> None:
    a = np.asarray(positive(F64, 3, 2, 4, 5).transpose(0, 1, 4, 2, 3))[..., ::-1]
    results = run(name, a)

    for result in results if isinstance(results, tuple) else (results,):
        assert result.flags.c_contiguous


def test_one_matrix_for_a_batch_of_columns_is_factored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, ...]] = []
    real = np.linalg.solve

    def counted(a: Array, b: Array) -> Array:
        calls.append(a.shape + b.shape)
        return real(a, b)

    monkeypatch.setattr(np.linalg, "solve", counted)

    run("solve", positive(F64, 3), random(F64, 3, 2, 4, 5))

    assert calls == [(3, 3, 3, 40)]


def test_no_error_state_of_the_caller_matters() -> None:
    tiny, large = (np.full((1, 1), 1e-30, "float32", order="F"), np.full((1, 1), 1e30, "float32", order="F"))

    with np.errstate(all="raise"):
        assert run("solve", tiny, large).tolist() == [[np.inf]]
        assert run("svd", np.zeros((2, 2), "float32", order="F"))[1].tolist() == [0.0, 0.0]


def test_a_diagnosis_leaves_the_good_matrices_before_the_first_bad_one() -> None:
    a = positive(F64, 3, 10, 20)
    a[:, :, 7, 13] = a[:, :, 8, 13] = a[:, :, 0, 14] = 0.0

    with pytest.raises(NotPositiveDefiniteError) as indefinite:
        run("cholesky", a)
    with pytest.raises(SingularMatrixError) as singular:
        run("solve", a, a)
    assert indefinite.value.batch_index == singular.value.batch_index == (7, 13)


def test_the_smallest_bad_leading_block_is_named() -> None:
    for order in range(1, 9):
        a = np.asfortranarray(np.eye(8))
        a[order - 1, order - 1] = -1.0
        with pytest.raises(NotPositiveDefiniteError, match=f"leading {order}x{order} block") as info:
            run("cholesky", a)
        assert info.value.element_index == (order - 1, order - 1)


def test_the_check_is_part_of_the_binding() -> None:
    a = np.asfortranarray(np.full((2, 2), np.nan))

    with pytest.raises(NonFiniteError, match=r"qr: operand a holds nan at element \(0, 0\)"):
        run("qr", a)
    assert np.isnan(run("qr", a, check=False)[1]).any()


@pytest.mark.parametrize(
    ("name", "shapes", "elements"),
    [
        ("svd", [(30_000, 30_000)], 5 * 30_000**2 + 7 * 30_000),
        ("svd", [(2**20, 1100)], 2 * 1100 * 2**20 + 2 * 1100**2 + 1100),
        ("qr", [(2**20, 2**11)], 2**31),
        ("eigh", [(40_000, 40_000)], 2 * 40_000**2 + 6 * 40_000 + 1),
        ("cholesky", [(2**16, 2**16)], 2**32),
        ("solve", [(2, 2), (2, 2**15, 2**15)], 2**31),
        ("inv", [(2**16, 2**16)], 2**32),
        ("det", [(2**16, 2**16, 3)], 2**32),
    ],
)
def test_what_32_bit_lapack_cannot_count_is_refused_before_anything_runs(
    name: str, shapes: list[tuple[int, ...]], elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "lapack_limit", lambda: 2**31 - 1)
    operands = tuple(form(F64, *shape) for shape in shapes)

    with pytest.raises(SizeLimitError, match=rf"{name}: shape \(.*\) needs {elements} elements .* 32-bit integers"):
        linalg.bind(name, operands, operands[0], True)


def test_batches_do_not_count_against_the_lapack_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "lapack_limit", lambda: 2**31 - 1)
    operands = (form(F64, 4, 4, 2**28), form(F64, 4, 1, 2**28))

    assert callable(linalg.bind("solve", operands, operands[1], True))


@pytest.mark.parametrize("dtype", [F64, C64])
@pytest.mark.parametrize("powers", [(1000, -1000), (1020, -1010), (-1000, 990)])
def test_determinants_of_rows_of_all_sizes_do_not_overflow_on_the_way(dtype: DType, powers: tuple[int, int]) -> None:
    a = random(dtype, 6, 6, 3)
    scales = np.repeat(powers, 3)[:, None, None]
    graded = np.asfortranarray(scaled(a, scales))
    found = run("det", graded)
    np.testing.assert_allclose(scaled(found, -3 * sum(powers)), run("det", a), rtol=1e-10)
