"""Decompositions of many small matrices: one launch for all, right for awkward ones, and the source means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from gpu_programs.building import compiler
from gpu_programs.comparing import difference
from gpu_programs.recording import recorded
from gpu_programs.running import Hosted
from gpu_programs.sampling import Sample, programs_of
from tensor_core.errors import BackendUnavailableError
from tensor_runtime.errors import NotConvergedError

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = [(1, 1), (2, 1), (1, 3), (5, 3), (3, 5), (40, 17), (16, 70)]


def matrices(dtype: str, rows: int, columns: int, scale: float = 1.0) -> Array:
    """Drawn ones; one of zeros, one with two equal columns, one with a row of zeros, one of whole numbers."""
    draw = np.random.default_rng(rows * 100 + columns)
    x = draw.standard_normal((rows, columns, 5))
    if dtype.startswith("complex"):
        x = x + 1j * draw.standard_normal(x.shape)
    x[:, :, 1] = 0
    x[:, -1, 2] = x[:, 0, 2]
    x[-1, :, 3] = 0
    x[:, :, 4] = np.round(x[:, :, 4])
    return (x * scale).astype(dtype)


def first(x: Any) -> Array:
    """A result with its batch axis first, in double precision."""
    found = np.moveaxis(tr.to(x, "cpu").to_numpy(), -1, 0)
    return found.astype(np.result_type(found, np.float64))


def far(found: Array, expected: Array, dtype: str) -> float:
    """The largest deviation, in rounding units of the largest number expected."""
    return float(np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-300) / np.finfo(dtype).eps)


def identity(columns: Array) -> Array:
    return columns.conj().swapaxes(1, 2) @ columns


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("power", [0, -1, 1])
def test_awkward_matrices_are_decomposed(dtype: str, shape: tuple[int, int], power: int) -> None:
    scale = (1e18 if dtype in ("float32", "complex64") else 1e150) ** power
    x = matrices(dtype, *shape, scale)
    on_device = tr.to(tr.tensor(x), "sim:0")
    given = np.moveaxis(x.astype(np.result_type(x, np.float64)) / scale, -1, 0)

    q, r = map(first, tl.qr(on_device))
    u, s, vh = map(first, tl.svd(on_device))

    ones = np.broadcast_to(np.eye(min(shape)), (5, min(shape), min(shape)))
    assert far(q @ (r / scale), given, dtype) < 40
    assert np.array_equal(np.triu(r), r)
    assert far((u * (s / scale)[:, None, :]) @ vh, given, dtype) < 40
    assert far(s / scale, np.linalg.svd(given, compute_uv=False), dtype) < 40
    for columns in (q, u, vh.conj().swapaxes(1, 2)):
        assert far(identity(columns), ones, dtype) < 40


def test_small_singular_values_keep_their_digits() -> None:
    draw = np.random.default_rng(3)
    sizes = 10.0 ** -np.arange(0, 40, 5)
    x = np.stack([np.linalg.qr(draw.standard_normal((8, 8)))[0] * sizes for _ in range(3)], axis=-1)

    _, s, _ = tl.svd(tr.to(tr.tensor(x), "sim:0"))

    assert np.allclose(tr.to(s, "cpu").to_numpy(), sizes[:, None], rtol=1e-13, atol=0)


@pytest.mark.parametrize("last", [None, 1e-150], ids=["of half the rank", "graded"])
def test_rotations_go_on_as_long_as_columns_are_of_many_sizes(last: float | None) -> None:
    x = np.random.default_rng(7).standard_normal((64, 64, 2))
    x *= (np.arange(64) < 32 if last is None else np.logspace(0, np.log10(last), 64))[:, None, None]

    _, s, _ = map(first, tl.svd(tr.to(tr.tensor(x), "sim:0")))

    assert far(s, np.linalg.svd(np.moveaxis(x, -1, 0), compute_uv=False), "float64") < 100


def test_all_of_a_stack_are_one_launch() -> None:
    counts = tr.backend("sim").api.counts
    x = tr.to(tr.uniform((8, 6, 100), seed=1), "sim:0")
    tr.synchronize("sim:0")
    for decompose, launches in ((tl.qr, 2), (tl.svd, 1)):
        before = counts.copy()
        decompose(x, check=False)
        tr.synchronize("sim:0")
        spent = counts - before
        assert spent["solvers"] == 0
        assert spent["launches"] <= launches + 2, "a copy of the operand, and for svd a look at the infos"


def test_numbers_that_are_none_end() -> None:
    x = tr.to(tr.where(tr.eye(3)[..., None] > 0, float("nan"), tr.ones((3, 3, 2))), "sim:0")
    with pytest.raises(NotConvergedError, match=r"svd: the iteration of the matrix at batch index \(0,\)"):
        tl.svd(x, check=False)


def test_the_sources_have_the_bits_of_their_meanings() -> None:
    try:
        compiler()
    except BackendUnavailableError as error:
        pytest.skip(f"sources are not run on the host: {error}")
    with recorded("stacks") as recording:
        for dtype in DTYPES:
            for shape in ((2, 1), (3, 4), (34, 3)):
                x = tr.to(tr.tensor(matrices(dtype, *shape)), recording.place)
                tl.qr(x)
                tl.svd(x)
        launches = recording.launches()
    found = [Sample("qr or svd", one) for one in launches if one.launch.program.entry in ("householder", "jacobi")]
    with Hosted(programs_of(found)) as hosted:
        left = hosted.run([sample.noted for sample in found])

    assert len(found) == len(DTYPES) * 3 * 2
    differing = [difference(sample.noted, memory) for sample, memory in zip(found, left, strict=True)]
    assert differing == [None] * len(found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bases_of_matrices_that_are_nearly_of_rank_one_are_orthonormal(dtype: str) -> None:
    """Their other columns are rounding errors, whose products have squares that single precision does not hold."""
    draw = np.random.default_rng(3)
    given = np.stack([np.outer(*draw.standard_normal((2, extent))) for extent in (7,) * 40], -1).astype(dtype)
    u, s, vh = (first(one) for one in tl.svd(tr.to(tr.tensor(given), "sim:0"), driver="jacobi"))

    for columns in (u, vh.conj().swapaxes(1, 2)):
        assert far(identity(columns), np.broadcast_to(np.eye(7), (40, 7, 7)), dtype) <= 40
    x = np.moveaxis(given, -1, 0).astype(np.result_type(given, np.float64))
    assert far((u * s[:, None, :]) @ vh, x, dtype) <= 40
