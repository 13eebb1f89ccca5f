"""``check="mask"`` of norms, of truncated and randomized decompositions, and of splits, which have one rank."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_linalg.masking import MaskedResult
from tensor_runtime.errors import NotConvergedError

Array = np.ndarray[Any, np.dtype[Any]]
MARK = 777.0
"""An element that makes an iteration fail, where a test says so."""
METHODS = ("svd", "eigh", "qr", "lq", "rq", "polar")
OPERATIONS: dict[str, Callable[..., Any]] = {
    "largest": lambda a, **o: tl.matrix_norm(a, 2, **o),
    "nuclear": lambda a, **o: tl.norm(a, "nuc", **o),
    "randomized_svd": lambda a, **o: tl.randomized_svd(a, 2, seed=1, **o),
    "randomized_eigh": lambda a, **o: tl.randomized_eigh(a, 2, seed=1, **o),
    "svd_truncated": lambda a, **o: tl.svd_truncated(a, max_rank=2, **o),
    "cutoff": lambda a, **o: tl.svd_truncated(a, cutoff=1e-3, **o),
    "drop": lambda a, **o: tl.svd_truncated(a, max_rank=2, multiplets="drop", renormalize=True, **o),
    **{f"split by {m}": lambda a, m=m, **o: _split(a, method=m, **o) for m in METHODS},
    "split, absorbed": lambda a, **o: _split(a, absorb="both", cutoff=1e-3, **o),
    "split by eigh, absorbed": lambda a, **o: _split(a, method="eigh", absorb="left", max_rank=2, **o),
}
EACH = pytest.mark.parametrize("name", OPERATIONS)


def _split(a: tr.Tensor, **options: Any) -> Any:
    return tl.split(a, 0, 1, batch_axes=tuple(range(2, a.rank)), **options)


def arrays(result: Any) -> Iterator[Array]:
    for one in result if isinstance(result, tuple) else (result,):
        if isinstance(one, tr.Tensor):
            yield one.to_numpy()


def matrices(dtype: str, *batch: int) -> Array:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3, 4, *batch)) + (1j * rng.standard_normal((3, 4, *batch)) if dtype[0] == "c" else 0)
    return np.asfortranarray(x[:, :3].astype(dtype))


@EACH
@pytest.mark.parametrize(("dtype", "batch"), [("float32", (6,)), ("complex128", (2, 3)), ("complex64", (5,))])
@pytest.mark.parametrize("place", ["cpu", "sim:0"])
def test_the_others_have_the_bits_that_they_have_without_the_bad_ones(
    name: str, dtype: str, batch: tuple[int, ...], place: str
) -> None:
    a = matrices(dtype, *batch)
    function = OPERATIONS[name]
    expected = [tr.to(one, "cpu").to_numpy() for one in _results(function(tr.to(tr.asarray(a), place)))]
    flat = a.reshape(3, 3, -1, order="F")
    flat[1, 1, 1], flat[2, 0, 3] = np.nan, np.inf
    result, status = function(tr.to(tr.asarray(a), place), check="mask")
    codes = tr.to(status, "cpu").to_numpy()
    assert codes.dtype == np.int32 and codes.shape == batch
    assert codes.ravel(order="F").tolist() == [0, 1, 0, 1, 0, 0][: codes.size]
    found = [tr.to(one, "cpu").to_numpy() for one in _results(result)]
    for one, wanted in zip(found, expected, strict=True):
        assert one.dtype == wanted.dtype and one.shape == wanted.shape
        assert one[..., codes == 0].tobytes() == wanted[..., codes == 0].tobytes()
        assert np.isnan(one[..., codes != 0]).all()


def _results(result: Any) -> list[tr.Tensor]:
    return [one for one in (result if isinstance(result, tuple) else (result,)) if isinstance(one, tr.Tensor)]


@EACH
def test_a_matrix_alone_none_at_all_and_forms_without_data_have_a_status(name: str) -> None:
    function = OPERATIONS[name]
    a = tr.asarray(matrices("float64"))
    result, status = function(a, check="mask")
    assert status.shape == () and status.item() == 0
    assert [one.tolist() for one in arrays(result)] == [one.tolist() for one in arrays(function(a))]
    bad, status = function(a * float("nan"), check="mask")
    assert status.item() == 1 and all(np.isnan(one).all() for one in arrays(bad))
    assert function(tr.zeros((3, 3, 0)), check="mask").status.shape == (0,)
    assert function(tr.zeros((3, 3, 2)), check="mask").status.to_numpy().tolist() == [0, 0]
    with pytest.raises(ArgumentError, match="check is 'masks'"):
        function(a, check="masks")
    with pytest.raises(DTypeError):
        function(tr.ones((3, 3), dtype="I64"), check="mask")
    if "split" not in name and name != "nuclear":
        with pytest.raises(ShapeError):
            function(tr.ones(3), check="mask")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decompositions in which the mark makes a matrix fail."""
    svd_module = sys.modules["tensor_linalg.decompositions.svd"]  # whose name its function has
    computed = svd_module.execute_parts

    def execute(spec: Any, a: tr.Tensor, params: Any, *kind: type) -> Any:
        marked = (a.to_numpy() == MARK).any((0, 1))
        if marked.any():
            index = tuple(int(i[0]) for i in np.nonzero(marked)) if marked.ndim else ()
            raise NotConvergedError("svd: the iteration did not converge", operation="svd", batch_index=index)
        return computed(spec, a, params, *kind)

    monkeypatch.setattr(svd_module, "execute_parts", execute)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(
    "name", ["svd_truncated", "cutoff", "drop", "split by svd", "split, absorbed", "split by polar"]
)
def test_an_iteration_that_fails_costs_its_matrix_alone(name: str) -> None:
    a = matrices("float64", 5)
    expected = list(arrays(OPERATIONS[name](tr.asarray(a))))
    a[0, 0, 2], a[0, 1, 4] = MARK, np.nan
    result, status = OPERATIONS[name](tr.asarray(a), check="mask")
    assert status.to_numpy().tolist() == [0, 0, 2, 0, 1]
    for one, wanted in zip(arrays(result), expected, strict=True):
        np.testing.assert_array_equal(one[..., [0, 1, 3]], wanted[..., [0, 1, 3]])
        assert np.isnan(one[..., [2, 4]]).all()
    with pytest.raises(
        NotConvergedError,
        match=rf"^{'split' if 'split' in name else 'svd_truncated'}: (of operand tensor, )?the iteration",
    ):
        OPERATIONS[name](tr.asarray(a[..., :3]))


@pytest.mark.parametrize("method", ["svd", "eigh"])
def test_the_rank_is_that_which_the_others_need(method: str) -> None:
    scales = np.array([[1.0, 1.0, 1.0], [1e-9, 0.5, 0.5], [1e-9, 1e-9, 0.5]])  # ranks 1, 2 and 3
    a = np.asfortranarray(np.einsum("ij,jb->ijb", np.eye(3), scales))
    for bad, rank in (([2], 2), ([1, 2], 1), ([0, 1, 2], 1), ([], 3)):
        spoilt = a.copy(order="F")
        spoilt[0, 2, bad] = np.nan
        options: dict[str, Any] = {"cutoff": 1e-10, "check": "mask"}
        found = tl.split(tr.asarray(spoilt), 0, 1, method=method, batch_axes=2, **options)
        assert found.result.left.shape == (3, rank, 3)
        truncated = tl.svd_truncated(tr.asarray(spoilt), **options)
        assert truncated.result.rank == rank and truncated.result.s.shape == (rank, 3)
        good = [k for k in range(3) if k not in bad]
        discarded = found.result.discarded.to_numpy()
        expected = (np.sort(scales, 0)[: 3 - rank, good] ** 2).sum(0) / (scales[:, good] ** 2).sum(0)
        np.testing.assert_allclose(discarded[good], expected, atol=1e-15)
        assert np.isnan(discarded[bad]).all()


def test_orders_that_take_any_element_flag_no_matrix() -> None:
    fine = matrices("float64", 3)
    a = fine.copy()
    a[0, 0, 1] = np.inf
    for order in ("fro", 1, -1, float("inf"), float("-inf")):
        found = tl.matrix_norm(tr.asarray(a), order, check="mask")
        assert found.status.to_numpy().tolist() == [0, 0, 0]
        expected = tl.matrix_norm(tr.asarray(fine), order).to_numpy()  # of the others what it is without the infinity
        expected[1] = np.linalg.norm(a[..., 1], order)
        np.testing.assert_array_equal(found.result.to_numpy()[[0, 2]], expected[[0, 2]])
        np.testing.assert_allclose(found.result.to_numpy()[1], expected[1], rtol=1e-15)
    vector = tl.norm(tr.tensor([3, 4]), check="mask")
    assert vector.result.item() == 5.0 and vector.status.item() == 0
    assert tl.norm(tr.ones((2, 2, 4), dtype="I32"), check="mask").result.dtype is tr.F64


def test_results_and_status_are_written_where_they_are_wanted() -> None:
    a = tr.asarray(matrices("float64", 4))
    status = tr.full((4,), 9, dtype="I32")
    s, left = tr.zeros((2, 4)), tr.zeros((3, 2, 4))
    found = tl.svd_truncated(
        a,
        max_rank=2,
        check="mask",
        out=MaskedResult(tl.TruncatedSVDResult(None, s, None, None, 0), status),
    )
    assert found.status is status and found.result.s is s and found.result.rank == 2
    assert status.to_numpy().tolist() == [0] * 4
    wanted = tl.svd_truncated(a, max_rank=2)
    np.testing.assert_array_equal(s.to_numpy(), wanted.s.to_numpy())
    split = tl.split(
        a, 0, 1, batch_axes=2, max_rank=2, check="mask",
        out=MaskedResult(tl.SplitResult(left, None, None, None), None),
    )  # fmt: skip
    assert split.result.left is left
    np.testing.assert_array_equal(left.to_numpy(), wanted.u.to_numpy())
    norms = tr.zeros(4)
    assert tl.matrix_norm(a, 2, check="mask", out=MaskedResult(norms, status)).result is norms
    with pytest.raises(ArgumentError, match="svd_truncated: out is"):
        tl.svd_truncated(a, check="mask", out=MaskedResult((s,), status))
    with pytest.raises(ArgumentError, match="svd_truncated: out is a Tensor"):
        tl.svd_truncated(a, check="mask", out=s)
