"""What quimb asks for by name, beside NumPy: leading batch axes, its cutoffs, its results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_linalg import quimb_table
from tensor_linalg.quimb_table import QUIMB
from tensor_runtime.errors import NotPositiveDefiniteError


def random(*shape: int) -> Any:
    rng = np.random.default_rng(len(shape) * 100 + shape[-1])
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def called(name: str, *arrays: Any, **options: Any) -> Any:
    found = QUIMB[name](*(tr.tensor(array) for array in arrays), **options)
    if isinstance(found, tuple):
        return tuple(None if one is None else one.to_numpy() for one in found)
    return found.to_numpy()


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_functions_with_numpys_names_have_numpys_batches_and_values(batch: tuple[int, ...]) -> None:
    x = random(*batch, 4, 4)
    positive = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(4)
    u, s, vh = called("linalg.svd", x[..., :3])
    assert u.shape == (*batch, 4, 3) and vh.shape == (*batch, 3, 3)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, x[..., :3], atol=1e-13)
    np.testing.assert_allclose(called("linalg.svdvals", x), np.linalg.svd(x, compute_uv=False), atol=1e-13)
    w, v = called("linalg.eigh", positive)
    np.testing.assert_allclose(positive @ v, v * w[..., None, :], atol=1e-12)
    np.testing.assert_allclose(called("linalg.eigvalsh", positive), np.linalg.eigvalsh(positive), atol=1e-12)
    u, s, vh = called("linalg.svd", x[..., :3], full_matrices=True)
    assert u.shape == (*batch, 4, 4)
    w, v = called("linalg.eig", x)
    np.testing.assert_allclose(x @ v, v * w[..., None, :], atol=1e-12)
    q, r = called("linalg.qr", x[..., :3])
    np.testing.assert_allclose(q @ r, x[..., :3], atol=1e-13)
    for name in ("cholesky", "inv", "det"):
        given = positive if name == "cholesky" else x
        wanted = getattr(np.linalg, name)(given)
        np.testing.assert_allclose(called(f"linalg.{name}", given), wanted, rtol=1e-10, atol=1e-11)
    upper = called("linalg.cholesky", positive, upper=True)
    np.testing.assert_allclose(np.conj(np.swapaxes(upper, -1, -2)) @ upper, positive, rtol=1e-10)
    np.testing.assert_allclose(called("linalg.pinv", x[..., :3]), np.linalg.pinv(x[..., :3]), rtol=1e-9)
    np.testing.assert_allclose(called("linalg.expm", x), scipy.linalg.expm(x), rtol=1e-9)
    b = random(*batch, 4, 2)
    np.testing.assert_allclose(called("linalg.solve", x, b), np.linalg.solve(x, b), rtol=1e-9)
    np.testing.assert_allclose(
        called("linalg.solve", x, b[(0,) * len(batch)][:, 0]), np.linalg.solve(x, b[(0,) * len(batch)][:, 0]), rtol=1e-9
    )
    assert called("linalg.norm", x) == pytest.approx(np.linalg.norm(x.ravel()))


@pytest.mark.parametrize("columns", [(), (2,)])
def test_least_squares_are_numpys(columns: tuple[int, ...]) -> None:
    a, b = random(5, 3), random(5, *columns)
    x, residuals, rank, s = called("linalg.lstsq", a, b)
    wanted = np.linalg.lstsq(a, b, rcond=None)
    np.testing.assert_allclose(x, wanted[0], rtol=1e-9)
    np.testing.assert_allclose(residuals, wanted[1].reshape(columns), rtol=1e-9)
    assert rank == wanted[2]
    np.testing.assert_allclose(s, wanted[3], rtol=1e-9)


def quimb_rank(s: Any, cutoff: float, mode: int) -> int:
    """quimb's rules, in plain NumPy: discard from the end as long as what is lost is not above the target."""
    if mode in (1, 2):
        return max(1, int(np.sum(s > cutoff * (s[0] if mode == 2 else 1))))
    power = 2 if mode in (3, 4) else 1
    target = cutoff * (np.sum(s**power) if mode in (4, 6) else 1)
    lost = np.cumsum(s[::-1] ** power)[::-1]
    return max(1, int(np.sum(lost > target)))


@pytest.mark.parametrize("name", ["svd_truncated", "svd_via_eig_truncated"])
@pytest.mark.parametrize("mode", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("absorb", [-1, 0, 1, None])
def test_truncated_decompositions_keep_what_quimb_keeps(name: str, mode: int, absorb: int | None) -> None:
    x = random(7, 5)
    s = np.linalg.svd(x, compute_uv=False)
    for cutoff, max_bond, renorm in ((0.5, -1, 0), (0.05, 3, 0), (-1.0, 2, 2), (-1.0, -1, 0)):
        left, values, right = called(
            name, x, cutoff=cutoff, cutoff_mode=mode, max_bond=max_bond, absorb=absorb, renorm=renorm
        )
        rank = quimb_rank(s, cutoff, mode) if cutoff > 0 else 5
        rank = min(rank, max_bond) if max_bond > 0 else rank
        assert left.shape == (7, rank) and right.shape == (rank, 5) and (values is None) == (absorb is not None)
        u, _, vh = np.linalg.svd(x, full_matrices=False)
        scale = np.linalg.norm(s) / np.linalg.norm(s[:rank]) if renorm else 1.0
        wanted = (u[:, :rank] * s[:rank] * scale) @ vh[:rank]
        np.testing.assert_allclose(left @ right if values is None else (left * values) @ right, wanted, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_stabilised_factors_have_a_positive_diagonal(shape: tuple[int, int]) -> None:
    x = random(*shape)
    q, none, r = called("qr_stabilized", x)
    assert none is None
    np.testing.assert_allclose(q @ r, x, atol=1e-13)
    low, none, q = called("lq_stabilized", x)
    np.testing.assert_allclose(low @ q, x, atol=1e-13)
    for factor in (r, low):
        diagonal = np.diag(factor)
        assert (diagonal.real > 0).all() and abs(diagonal.imag).max() < 1e-14
    for name in ("polar_right", "polar_left"):
        left, _, right = called(name, x)
        np.testing.assert_allclose(left @ right, x, atol=1e-13)


@pytest.mark.parametrize("absorb", [-1, 0, 1, None])
def test_randomized_decompositions_give_the_leading_values(absorb: int | None) -> None:
    x = random(9, 3) @ random(3, 7)
    u, s, vh = called("linalg.rsvd", x, k=3)
    np.testing.assert_allclose((u * s) @ vh, x, atol=1e-12)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False)[:3], rtol=1e-12)
    left, values, right = called("rsvd", x, max_bond=3, absorb=absorb)
    assert left.shape == (9, 3) and right.shape == (3, 7)
    np.testing.assert_allclose(left @ right if values is None else (left * values) @ right, x, atol=1e-12)
    left, _, right = called("rsvd", x, cutoff=1e-6, cutoff_mode=2, absorb=absorb)
    assert left.shape == (9, 3)
    left, _, right = called("rsvd", x, max_bond=50, absorb=absorb)
    assert right.shape == (7, 7)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_triangles_and_reflections_are_scipys(shape: tuple[int, int]) -> None:
    x = random(*shape)
    for found, wanted in zip(called("scipy.linalg.lu", x), scipy.linalg.lu(x), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)
    for found, wanted in zip(
        called("scipy.linalg.lu", x, permute_l=True), scipy.linalg.lu(x, permute_l=True), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-14)
    np.testing.assert_allclose(sorted(called("linalg.eigvals", x[:3, :3]), key=abs),
                               sorted(np.linalg.eigvals(x[:3, :3]), key=abs), rtol=1e-9)  # fmt: skip
    if shape[0] >= shape[1]:
        (packed, tau), _ = scipy.linalg.qr(x, mode="raw")
        q = scipy.linalg.qr(x, mode="economic")[0]
        np.testing.assert_allclose(called("linalg.householder_product", packed, tau), q, atol=1e-13)
    if shape == (4, 4):
        b = random(4, 2)
        for trans in (0, 1, 2, "N", "T", "C"):
            for lower in (False, True):
                found = called("scipy.linalg.solve_triangular", x, b, trans=trans, lower=lower)
                wanted = scipy.linalg.solve_triangular(x, b, trans=trans, lower=lower)
                np.testing.assert_allclose(found, wanted, rtol=1e-9)
        with pytest.raises(ArgumentError, match="trans 3"):
            QUIMB["scipy.linalg.solve_triangular"](tr.eye(2), tr.ones(2), trans=3)


def test_the_page_of_the_table_names_every_row() -> None:
    text = quimb_table.__doc__ or ""
    assert {name for name in QUIMB if f"``{name}``" not in text} == set()


def test_what_quimb_does_not_ask_for_is_refused() -> None:
    with pytest.raises(ArgumentError, match="cutoff_mode 7"):
        QUIMB["svd_truncated"](tr.ones((2, 3)), cutoff_mode=7)


ABSORBED: dict[Any, tuple[str, ...]] = {
    None: ("u", "s", "v"), 2: ("", "s", ""), -12: ("uq", "", ""), -11: ("", "", "v"), -10: ("us", "", ""),
    -1: ("us", "", "v"), 0: ("uq", "", "qv"), 1: ("u", "", "sv"), 10: ("u", "", ""), 11: ("", "", "sv"),
    12: ("", "", "qv"), "rfactor": ("", "", "sv"), "both": ("uq", "", "qv"), "U,s,VH": ("u", "s", "v"),
}  # fmt: skip
"""What quimb gives for each word and number: products of vectors, values and roots of values."""


@pytest.mark.parametrize("absorb", ABSORBED)
@pytest.mark.parametrize("name", ["svd_truncated", "svd_via_eig_truncated", "rsvd"])
def test_what_is_not_wanted_is_none_and_values_go_where_quimb_says(name: str, absorb: Any) -> None:
    x = random(6, 4)
    s = np.linalg.svd(x, compute_uv=False)[:3]
    found = called(name, x, max_bond=3, absorb=absorb)
    for part, form in zip(found, ABSORBED[absorb], strict=True):
        assert (part is None) == (not form)
        if form == "s":
            np.testing.assert_allclose(part, s, rtol=1e-7)
        elif form:
            gram = part.conj().T @ part if "u" in form else part @ part.conj().T
            power = 2 if "s" in form else 1 if "q" in form else 0
            np.testing.assert_allclose(gram, np.diag(s**power), atol=1e-6 * s[0] ** power)


@pytest.mark.parametrize("absorb", [-1, 0, 1, None])
@pytest.mark.parametrize("renorm", [1, 2])
def test_norms_that_are_kept_are_quimbs(absorb: int | None, renorm: int) -> None:
    x = random(2, 6, 4)
    s = np.linalg.svd(x, compute_uv=False)
    info = {"error": None}
    left, values, right = called("svd_truncated", x, max_bond=2, renorm=renorm, absorb=absorb, info=info)
    product = left @ right if values is None else (left * values[:, None]) @ right
    kept = np.linalg.svd(product, compute_uv=False)[:, :2]
    np.testing.assert_allclose(np.sum(kept**renorm, -1), np.sum(s**renorm, -1), rtol=1e-12)
    error: Any = info["error"]
    np.testing.assert_allclose(error.to_numpy(), np.sqrt(np.sum(s[:, 2:] ** 2, -1)), rtol=1e-12)


@pytest.mark.parametrize("cutoff", [-1.0, 0.02])
@pytest.mark.parametrize("mode", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", ["svd_truncated", "svd_via_eig_truncated", "rsvd"])
def test_the_error_that_is_told_is_that_of_the_product(name: str, mode: int, cutoff: float) -> None:
    x = random(9, 7) * 2.0 ** -np.arange(7)
    info: dict[str, Any] = {"error": None}
    left, _, right = called(name, x, max_bond=3, cutoff=cutoff, cutoff_mode=mode, info=info)
    np.testing.assert_allclose(info["error"].to_numpy(), np.linalg.norm(x - left @ right), rtol=1e-9)


def test_triangles_and_polar_factors_have_quimbs_sides_and_batches() -> None:
    x = random(2, 5, 3)
    for absorb, shapes in ((1, ((5, 3), (3, 3))), (-1, ((5, 3), (3, 3))), ("rfactor", (None, (3, 3)))):
        left, _, right = called("qr_stabilized", x, absorb=absorb)
        assert (left if left is None else left.shape[1:]) == shapes[0] and right.shape[1:] == shapes[1]
        if left is not None:
            np.testing.assert_allclose(left @ right, x, atol=1e-13)
            isometry = np.swapaxes(left.conj(), 1, 2) @ left if absorb == 1 else right @ np.swapaxes(right.conj(), 1, 2)
            np.testing.assert_allclose(isometry, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-13)
    for name in ("polar_right", "polar_left"):
        left, _, right = called(name, x)
        np.testing.assert_allclose(left @ right, x, atol=1e-13)
    for wrong in ({"absorb": 0}, {"absorb": "x"}, {"mode": 1}):
        with pytest.raises(ArgumentError, match="qr_stabilized: absorb"):
            QUIMB["qr_stabilized"](tr.ones((2, 3)), **wrong)
    with pytest.raises(ArgumentError, match="renorm 3"):
        QUIMB["svd_truncated"](tr.ones((2, 3)), renorm=3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axis": 1},
        {"axis": (0, 2), "keepdims": True},
        {"ord": 1, "axis": -1},
        {"ord": 2, "axis": (0, 1)},
        {"ord": "fro", "axis": (2, 1), "keepdims": True},
        {"ord": "nuc", "axis": (-1, 0)},
    ],
)
def test_norms_are_numpys(options: dict[str, Any]) -> None:
    x = random(4, 2, 3)
    np.testing.assert_allclose(called("linalg.norm", x, **options), np.linalg.norm(x, **options), rtol=1e-12)
    if "axis" not in options:
        for order in (1, 2, -2, np.inf, "nuc", "fro"):
            np.testing.assert_allclose(called("linalg.norm", x[0], ord=order), np.linalg.norm(x[0], order), rtol=1e-12)
        with pytest.raises(ArgumentError, match="ord 2 over axes"):
            called("linalg.norm", x, ord=2)


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize(("absorb", "kept"), [("both", "lr"), ("lsqrt", "l"), (12, "r")])
@pytest.mark.parametrize("shift", [True, False, 0.25, "auto"])
def test_cholesky_factors_hold_the_matrix_and_its_share_of_the_trace(
    batch: tuple[int, ...], absorb: Any, kept: str, shift: Any
) -> None:
    x = random(*batch, 4, 4)
    x = x @ np.conj(np.swapaxes(x, -1, -2))
    left, middle, right = called("cholesky_regularized", x, absorb=absorb, shift=shift)
    assert middle is None
    assert ((left is not None) * "l" + (right is not None) * "r") == kept
    lower = left if left is not None else np.conj(np.swapaxes(right, -1, -2))
    np.testing.assert_array_equal(lower, np.tril(lower))
    added = 0.25 * np.trace(x, axis1=-2, axis2=-1) if shift == 0.25 else np.zeros(batch)
    expected = x + np.asarray(added)[..., None, None] * np.eye(4)
    np.testing.assert_allclose(lower @ np.conj(np.swapaxes(lower, -1, -2)), expected, rtol=1e-11, atol=1e-12)


def test_a_matrix_on_the_border_is_shifted_where_that_is_asked_for() -> None:
    ones = np.ones((3, 3))
    with pytest.raises(NotPositiveDefiniteError):
        called("cholesky_regularized", ones, shift=False)
    for shift in (True, "auto"):
        left, _, right = called("cholesky_regularized", ones, shift=shift)
        np.testing.assert_allclose(left @ right, ones, atol=1e-14)
    with pytest.raises(ArgumentError, match="cholesky_regularized: absorb 'left'"):
        called("cholesky_regularized", ones, absorb="left")
