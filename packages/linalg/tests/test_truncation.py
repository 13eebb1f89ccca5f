"""Truncated singular value decompositions beside NumPy: ranks, what is lost, multiplets, batches."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, UnsupportedOperationError

DTYPES = (tr.F32, tr.F64, tr.C32, tr.C64)
EPS = {tr.F32: 1.2e-7, tr.F64: 2.3e-16, tr.C32: 1.2e-7, tr.C64: 2.3e-16}


def with_values(values: list[float], rows: int = 9, columns: int = 7, seed: int = 3) -> tr.Tensor:
    """A real matrix with these singular values."""
    rng = np.random.default_rng(seed)
    u = np.linalg.qr(rng.normal(size=(rows, len(values))))[0]
    v = np.linalg.qr(rng.normal(size=(columns, len(values))))[0]
    return tr.tensor((u * values) @ v.T)


def numpy_rank(s: Any, cutoff: float, relative: bool, norm: float) -> int:
    """The definition, one value after the other."""
    for rank in range(1, len(s)):
        lost, whole = s[rank:], s
        weight, total = {1: (lost.sum(), whole.sum()), 2: ((lost**2).sum(), (whole**2).sum()), inf: (lost[0], s[0])}[
            norm
        ]
        if weight <= cutoff * (total if relative else 1):
            return rank
    return len(s)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm", [1, 2, inf])
@pytest.mark.parametrize("relative", [True, False])
def test_the_rank_is_the_smallest_that_loses_no_more_than_the_cutoff(dtype: Any, norm: float, relative: bool) -> None:
    a = tr.normal((8, 6), seed=11, dtype=dtype)
    s = np.linalg.svd(a.to_numpy(), compute_uv=False)
    for cutoff in (0.0, 0.01, 0.1, 0.3, 2.0, 20.0, 1e9):
        found = tl.svd_truncated(a, cutoff=cutoff, relative=relative, norm=norm)
        assert found.rank == numpy_rank(s, cutoff, relative, norm)
        assert found.u.shape == (8, found.rank) and found.vh.shape == (found.rank, 6)
        np.testing.assert_allclose(found.s.to_numpy(), s[: found.rank], rtol=20 * EPS[dtype])
        lost = (s[found.rank :] ** 2).sum()
        wanted = lost / (s**2).sum() if relative else lost
        np.testing.assert_allclose(float(found.discarded), wanted, rtol=200 * EPS[dtype])


def test_what_is_left_out_is_the_error_of_the_product() -> None:
    a = tr.normal((9, 7), seed=1, dtype="C64")
    u, s, vh, discarded, rank = tl.svd_truncated(a, max_rank=4, relative=False)
    error = np.linalg.norm(a.to_numpy() - (u.to_numpy() * s.to_numpy()) @ vh.to_numpy())
    assert rank == 4 and error == pytest.approx(float(discarded) ** 0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "rank"),
    [
        ({"cutoff": 1.5}, 4),
        ({"cutoff": 1.5, "multiplets": "cut"}, 3),
        ({"cutoff": 1.5, "max_rank": 3}, 3),
        ({"cutoff": 1.5, "max_rank": 3, "multiplets": "drop"}, 1),
        ({"max_rank": 2, "multiplets": "drop"}, 1),
        ({"max_rank": 2, "multiplets": "keep"}, 2),
        ({"max_rank": 4, "multiplets": "drop"}, 4),
    ],
)
@pytest.mark.parametrize("batched", [False, True])
def test_a_cutoff_tears_no_multiplet_apart(options: dict[str, Any], rank: int, batched: bool) -> None:
    a = with_values([5.0, 1.0, 1.0, 1.0, 0.1])
    if batched:
        a = tr.stack([a, a], axis=-1)
    found = tl.svd_truncated(a, relative=False, **options)
    assert found.rank == rank


def test_where_the_first_multiplet_is_larger_than_the_largest_rank_it_is_cut() -> None:
    assert tl.svd_truncated(tr.eye(4), max_rank=2, multiplets="drop").rank == 2


@pytest.mark.parametrize(
    "options", [{}, {"max_rank": 3}, {"cutoff": 0.05}, {"cutoff": 0.3, "norm": 1}, {"cutoff": 0.1, "norm": inf}]
)
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("renormalize", [True, False])
def test_a_batch_gets_the_rank_that_its_neediest_matrix_needs(
    options: dict[str, Any], relative: bool, renormalize: bool
) -> None:
    graded = tr.tensor([1.0, 0.3, 0.1, 0.03, 0.01]).reshape((1, 5))
    a = tr.stack([tr.normal((6, 5), seed=1), tr.normal((6, 5), seed=2) * graded, tr.zeros((6, 5))], axis=-1)
    options = {**options, "relative": relative}
    single = [tl.svd_truncated(a[..., k], **options) for k in range(3)]
    found = tl.svd_truncated(a, renormalize=renormalize, **options)
    assert found.rank == max(one.rank for one in single)
    for k in range(3):
        alone = tl.svd_truncated(a[..., k], max_rank=found.rank, relative=relative, renormalize=renormalize)
        np.testing.assert_allclose(found.s[:, k].to_numpy(), alone.s.to_numpy(), rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(float(found.discarded[k]), float(alone.discarded), rtol=1e-12, atol=1e-30)


def test_what_is_kept_can_be_given_the_norm_of_all() -> None:
    a = tr.normal((9, 7), seed=1)
    found = tl.svd_truncated(a, max_rank=3, renormalize=True)
    assert float(tr.norm(found.s)) == pytest.approx(float(tr.norm(a)), rel=1e-14)
    assert float(found.s[0] / found.s[2]) == pytest.approx(float(tl.svd(a).s[0] / tl.svd(a).s[2]), rel=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_squares_of_extreme_values_neither_overflow_nor_vanish(scale: float) -> None:
    a = with_values([4.0, 2.0, 1.0]) * scale
    found = tl.svd_truncated(a, cutoff=0.06)
    assert found.rank == 2 and float(found.discarded) == pytest.approx(1 / 21, rel=1e-12)


@pytest.mark.parametrize(("dtype", "least"), [("float32", 1e-25), ("float32", 1e-44), ("float64", 1e-170)])
@pytest.mark.parametrize("norm", [1, 2, inf])
@pytest.mark.parametrize("relative", [True, False])
def test_a_cutoff_of_zero_drops_only_what_is_exactly_zero(
    dtype: str, least: float, norm: float, relative: bool
) -> None:
    s = np.diag([1.0, least, 0.0]).astype(dtype)
    for a in (s, np.stack([s, s], axis=2)):
        assert tl.svd_truncated(tr.asarray(a), cutoff=0, norm=norm, relative=relative).rank == 2


@pytest.mark.parametrize("cutoff", [1e-52, 1e-48])
def test_a_batch_of_floats_keeps_what_one_matrix_keeps(cutoff: float) -> None:
    s = np.diag([1.0, 1e-25]).astype("float32")
    alone = tl.svd_truncated(tr.asarray(s), cutoff=cutoff)
    beside = tl.svd_truncated(tr.asarray(np.stack([s, s], axis=2)), cutoff=cutoff)
    assert alone.rank == beside.rank == (2 if cutoff < 1e-50 else 1)


def test_of_a_zero_matrix_one_value_stays_and_nothing_is_lost() -> None:
    found = tl.svd_truncated(tr.zeros((4, 3)), cutoff=0.5)
    assert (found.rank, found.s.to_numpy().tolist(), float(found.discarded)) == (1, [0.0], 0.0)


def test_the_factors_do_not_keep_the_discarded_vectors_alive() -> None:
    found = tl.svd_truncated(tr.normal((50, 40), seed=1), max_rank=2)
    assert all(one.is_compact and one.buffer.nbytes == one.nbytes for one in (found.u, found.s, found.vh))


@pytest.mark.parametrize(
    "options",
    [{"max_rank": 0}, {"max_rank": 1.5}, {"cutoff": -1.0}, {"cutoff": inf}, {"norm": 3}, {"multiplets": "all"}],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"svd_truncated: {next(iter(options))} is .*accepted: "):
        tl.svd_truncated(tr.eye(2), **options)


@pytest.mark.parametrize("driver", ["auto", "gesdd", "gesvd", "jacobi"])
def test_a_truncated_decomposition_takes_a_driver_and_a_gauge_by_name(driver: str) -> None:
    a = tr.normal((6, 5), seed=3, dtype="C64")
    found = tl.svd_truncated(a, max_rank=2, driver=driver, gauge="canonical")
    whole = tl.svd(a, driver=driver, gauge="canonical")
    assert (found.u.to_numpy() == whole.u.to_numpy()[:, :2]).all()
    assert (found.vh.to_numpy() == whole.vh.to_numpy()[:2]).all()
    largest = np.abs(found.u.to_numpy()).argmax(axis=0)
    assert (found.u.to_numpy()[largest, [0, 1]].imag == 0).all()
    for option in ("driver", "gauge"):
        wrong: Any = {option: "other"}
        with pytest.raises(ArgumentError, match=f"svd_truncated: {option} is 'other'"):
            tl.svd_truncated(a, **wrong)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 3, 2), (1, 3), (0, 3)], ids=str)
@pytest.mark.parametrize("renormalize", [False, True])
def test_forms_are_inferred_where_the_largest_rank_alone_decides(shape: tuple[int, ...], renormalize: bool) -> None:
    batch = tuple(range(2, len(shape)))
    functions: tuple[Any, ...] = (
        lambda x: tl.svd_truncated(x, max_rank=2, renormalize=renormalize),
        lambda x: tl.split(x, 0, 1, batch_axes=batch, max_rank=2, renormalize=renormalize),
        lambda x: tl.split(x, 0, 1, batch_axes=batch, max_rank=2, renormalize=renormalize, method="eigh"),
    )
    for function in functions:
        inferred, found = tr.infer(function, (tr.F64, shape)), function(tr.ones(shape))
        for form, part in zip(inferred, found, strict=True):
            assert form is tr.infer(lambda x: x, part) if isinstance(part, tr.Tensor) else form == part


@pytest.mark.parametrize("options", [{"cutoff": 0.1}, {"max_rank": 2, "multiplets": "drop"}], ids=str)
def test_no_form_is_inferred_where_values_decide(options: dict[str, Any]) -> None:
    for shape in ((3, 3), (3, 3, 2)):
        with pytest.raises(UnsupportedOperationError, match="has no elements"):
            tr.infer(lambda x: tl.svd_truncated(x, **options), (tr.F64, shape))
