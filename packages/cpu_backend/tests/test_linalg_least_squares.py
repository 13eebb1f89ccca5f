"""Least squares of small and tall matrices: what NumPy finds, for every batch, rank and instruction set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.kernels.linalg import batched_simd
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_linalg.solving.least_squares import by_singular_values
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

Array = np.ndarray[Any, np.dtype[Any]]
EACH_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
SHAPES = [(1, 1), (4, 4), (6, 3), (3, 7), (8, 8), (16, 16), (64, 5), (5, 33), (80, 3), (130, 30), (140, 67)]


@pytest.fixture(autouse=True)
def _bindings_of_each_instruction_set(instruction_set: str) -> None:
    tr.binding_cache.clear()


def draw(dtype: str, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)
    return np.asfortranarray(x.astype(dtype))


def problems(dtype: str, rows: int, columns: int, right: int, count: int) -> tuple[Array, Array]:
    """Random ones; every fifth of rank 1, some of rank 0."""
    a, b = draw(dtype, rows, columns, count), draw(dtype, rows, right, count)
    a[..., 2::5] = a[:, :1, 2::5] * np.arange(1, columns + 1)[:, None]
    a[..., 7::9] = 0
    return a, b


def solved(a: Array, b: Array, **options: Any) -> list[Array]:
    found = tl.lstsq(tr.asarray(a), tr.asarray(b), **options)
    assert found.singular_values is not None
    return [part.to_numpy() for part in (found.solution, found.residuals, found.rank, found.singular_values)]


@EACH_DTYPE
@pytest.mark.parametrize("shape", SHAPES)
def test_solutions_residuals_ranks_and_values_are_numpys(dtype: str, shape: tuple[int, int]) -> None:
    a, b = problems(dtype, *shape, 2, 19)
    unit = float(np.finfo(dtype).eps) * max(shape)
    x, residuals, rank, values = solved(a, b)
    wide = np.result_type(dtype, np.float64)

    assert (x.dtype, residuals.dtype, values.dtype) == (a.dtype, a.real.dtype, a.real.dtype)
    for k in range(19):
        one, sides = a[..., k].astype(wide), b[..., k].astype(wide)
        expected, _, expected_rank, expected_values = np.linalg.lstsq(one, sides, rcond=unit)
        assert rank[k] == expected_rank
        assert np.abs(values[:, k] - expected_values).max() <= 8 * unit * max(expected_values[0], 1)
        condition = expected_values[0] / expected_values[expected_rank - 1] if expected_rank else 1.0
        size = max(1.0, float(np.abs(expected).max()))
        assert np.abs(x[..., k] - expected).max() <= 8 * unit * size * condition**2
        left = sides - one @ x[..., k]
        assert (
            np.abs(residuals[:, k] - (np.abs(left) ** 2).sum(0)).max()
            <= 64 * unit * (1 + np.abs(sides).max() ** 2) * size
        )


@EACH_DTYPE
@pytest.mark.parametrize("shape", [(3, 2), (8, 8), (5, 11), (20, 7), (80, 3), (130, 12), (200, 20), (150, 66)])
def test_a_matrix_has_the_same_bits_in_every_batch_and_place(dtype: str, shape: tuple[int, int]) -> None:
    a, b = problems(dtype, *shape, 3, 19)
    whole = solved(a, b)
    for start, size in ((0, 1), (7, 1), (18, 1), (3, 2), (0, 3), (5, 8), (9, 10)):
        part = solved(a[..., start : start + size], b[..., start : start + size])
        for one, every in zip(part, whole, strict=True):
            assert one.tobytes("F") == np.asfortranarray(every[..., start : start + size]).tobytes("F")
    for one, every in zip(solved(a[..., 4], b[..., 4]), whole, strict=True):
        assert one.tobytes("F") == np.asfortranarray(every[..., 4]).tobytes("F")


@EACH_DTYPE
def test_a_tall_matrix_keeps_its_bits_beside_one_near_the_end_of_the_range(dtype: str) -> None:
    a, b = draw(dtype, 90, 4, 6), draw(dtype, 90, 2, 6)
    alone = solved(a[..., 0], b[..., 0])
    a[..., 2] *= np.finfo(dtype).max / 8
    for one, every in zip(alone, solved(a, b), strict=True):
        assert one.tobytes("F") == np.asfortranarray(every[..., 0]).tobytes("F")


def test_right_hand_sides_for_several_matrices_are_those_of_each() -> None:
    a, b = draw("float64", 6, 3, 2, 5), draw("float64", 6, 2, 5)
    each = solved(a, np.asfortranarray(np.broadcast_to(b[:, :, None], (6, 2, 2, 5))))
    shared = solved(a[:, :, :1], np.asfortranarray(np.broadcast_to(b[:, :, None], (6, 2, 2, 5))))

    assert all((one == other).all() for one, other in zip(solved(a, b), each, strict=True))
    assert shared[2].shape == (1, 5)
    np.testing.assert_allclose(shared[0][:, :, 0], each[0][:, :, 0], atol=1e-13)
    np.testing.assert_allclose(shared[0][:, :, 1], each[0][:, :, 0] * 0 + solved(a[:, :, 0], b)[0], atol=1e-13)
    np.testing.assert_allclose(solved(a[..., 0, 0], b)[0][..., 0], each[0][:, :, 0, 0], atol=1e-13)


@EACH_DTYPE
@pytest.mark.parametrize("size", ["tiny", "large"])
@pytest.mark.parametrize(("rows", "columns"), [(90, 3), (150, 70)])
def test_tall_matrices_at_the_ends_of_the_range_are_solved(dtype: str, rows: int, columns: int, size: str) -> None:
    a, b = draw(dtype, rows, columns, 2), draw(dtype, rows, 2, 2)
    expected = solved(a, b)[0]
    limits = np.finfo(dtype)
    scale = limits.smallest_normal * 4 if size == "tiny" else limits.max / 64
    a, b = np.asfortranarray(a * scale), np.asfortranarray(b * scale)

    np.testing.assert_allclose(solved(a, b)[0], expected, rtol=300 * limits.eps, atol=30 * limits.eps)


@EACH_DTYPE
def test_any_scale_is_borne(dtype: str) -> None:
    a, b = draw(dtype, 5, 3, 9), draw(dtype, 5, 2, 9)
    powers = (2.0**-1000, 2.0**1000) if dtype in ("float64", "complex128") else (2.0**-90, 2.0**90)
    for power in powers:
        scale = a.real.dtype.type(power)
        x = solved(a, b)[0]
        assert (solved(np.asfortranarray(a * scale), np.asfortranarray(b * scale))[0] == x).all()
        values = solved(np.asfortranarray(a * scale), b)[3]
        assert (values == solved(a, b)[3] * scale).all()


def test_the_tolerance_is_a_part_of_the_largest_value() -> None:
    a = np.asfortranarray(np.repeat(np.diag([8.0, 2.0, 1.0])[..., None], 9, axis=2))
    b = np.asfortranarray(np.ones((3, 1, 9)))
    for rtol, rank in ((0.0, 3), (0.125, 2), (0.2, 2), (0.25, 1), (2.0, 0)):
        x, residuals, found, _ = solved(a, b, rtol=rtol)
        assert (found == rank).all()
        assert (residuals == 3 - rank).all()
        assert (x[:, 0] == np.array([0.125, 0.5, 1.0] * (np.arange(3) < rank))[:, None]).all()
        of_each = solved(a, b, rtol=tr.full(9, rtol))
        np.testing.assert_allclose(of_each[0], x, atol=1e-15)
        assert (of_each[2] == rank).all()


@pytest.mark.parametrize("rows", [5, 80])
def test_what_is_not_finite_is_named_masked_or_left_alone(rows: int) -> None:
    a, b = problems("float64", rows, 3, 2, 19)
    expected = solved(a, b)
    a[4, 1, 6], b[3, 0, 11] = np.inf, np.nan
    with pytest.raises(NonFiniteError, match=r"lstsq: operand a holds inf at element \(4, 1\) .*batch index \(6,\)"):
        solved(a, b)
    with pytest.raises(NonFiniteError, match=r"lstsq: operand b holds nan at element \(3, 0\) .*batch index \(11,\)"):
        solved(np.where(np.isfinite(a), a, 0), b)
    masked = tl.lstsq(tr.asarray(a), tr.asarray(b), check="mask")
    others = [k for k in range(19) if k not in (6, 11)]
    assert np.flatnonzero(masked.status.to_numpy()).tolist() == [6, 11]
    found = [part.to_numpy() for part in masked.result if part is not None]
    assert all((one[..., others] == other[..., others]).all() for one, other in zip(found, expected, strict=True))
    a[4, 1, 6] = 1
    expected, others = solved(a, np.where(np.isfinite(b), b, 0)), [k for k in range(19) if k != 11]
    unchecked = solved(a, b, check=False)
    assert all((one[..., others] == other[..., others]).all() for one, other in zip(unchecked, expected, strict=True))


@pytest.mark.parametrize(
    "shapes", [((17, 17, 3), (17, 1, 3)), ((65, 2, 3), (65, 1, 3)), ((4, 3), (4, 17)), ((4, 3, 1), (4, 1, 5))]
)
def test_what_is_not_for_lanes_goes_by_singular_values(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (draw("float64", *shape) for shape in shapes)
    operands, result = forms(a, b)
    assert batched_simd.bind_lstsq(operands, result, 1e-15, True) is None
    parts = by_singular_values(tr.asarray(a), tr.asarray(b), 1e-15, True)
    for found, expected in zip(solved(a, b), parts, strict=True):
        np.testing.assert_allclose(found, expected.to_numpy(), atol=1e-12)


def test_numpys_kernel_finds_the_same() -> None:
    a, b = problems("complex128", 6, 4, 2, 19)
    operands, result = forms(a, b)
    numpys = bind_numpy("lstsq", operands, result, (1e-14, True))(a.T, b.T)
    for found, expected in zip(solved(a, b), numpys, strict=True):
        np.testing.assert_allclose(found, expected.T, atol=1e-12)


def forms(a: Array, b: Array) -> tuple[tuple[Form, ...], tuple[Form, ...]]:
    operands = tuple(tr.asarray(x)._form for x in (a, b))
    batch = np.broadcast_shapes(a.shape[2:], b.shape[2:])
    right, real = b.shape[1], operands[0].dtype.component
    return operands, (
        form_of(operands[0].dtype, (a.shape[1], right, *batch), CPU),
        form_of(real, (right, *batch), CPU),
        form_of(tr.I64, a.shape[2:], CPU),
        form_of(real, (min(a.shape[:2]), *a.shape[2:]), CPU),
    )


def test_lanes_refuse_long_triangles_and_many_columns() -> None:
    for sides, right in (((17, 17), 1), ((4, 4), 17), ((4, 4), 0), ((65, 4), 1)):
        with pytest.raises(ValueError, match="no lanes for"):
            LIBRARY.bind_batched_simd("lstsq", "F64", sides, right, 1, (), False, print)
