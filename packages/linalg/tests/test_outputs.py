"""``out=``: results in tensors that the caller gives, for one result and for named tuples of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, OverlappingViewError, ReadOnlyError, ShapeError, TensorError

A = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 0.25], [0.5, 0.25, 6.0]])
B = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
V = np.array([1.0, 2.0, 3.0])
CALLS: dict[str, Callable[..., Any]] = {
    "matmul": lambda **o: tl.matmul(tr.asarray(A), tr.asarray(B), **o),
    "matvec": lambda **o: tl.matvec(tr.asarray(A), tr.asarray(V), **o),
    "vecdot": lambda **o: tl.vecdot(tr.asarray(V), tr.asarray(V), **o),
    "outer": lambda **o: tl.outer(tr.asarray(V), tr.asarray(V), **o),
    "solve": lambda **o: tl.solve(tr.asarray(A), tr.asarray(B), **o),
    "solve told of its condition": lambda **o: tl.solve(tr.asarray(A), tr.asarray(B), condition=True, **o),
    "masked solve": lambda **o: tl.solve(tr.asarray(A), tr.asarray(B), check="mask", **o),
    "inv": lambda **o: tl.inv(tr.asarray(A), **o),
    "masked inv": lambda **o: tl.inv(tr.asarray(A), check="mask", **o),
    "triangular_solve": lambda **o: tl.triangular_solve(tr.asarray(A), tr.asarray(B), **o),
    "triangular_solve from the right": lambda **o: tl.triangular_solve(
        tr.asarray(A), tr.asarray(B.T), side="right", **o
    ),
    "cho_solve": lambda **o: tl.cho_solve(tr.asarray(A), tr.asarray(B), **o),
    "lu_solve": lambda **o: tl.lu_solve(tl.lu_factor(tr.asarray(A)), tr.asarray(V), **o),
    "pinv": lambda **o: tl.pinv(tr.asarray(B), **o),
    "lstsq": lambda **o: tl.lstsq(tr.asarray(B), tr.asarray(V), **o),
    "lstsq by qr": lambda **o: tl.lstsq(tr.asarray(B), tr.asarray(V), driver="qr", **o),
    "solve_banded": lambda **o: tl.solve_banded((0, 0), tr.asarray(V[None]), tr.asarray(V), **o),
    "solveh_banded": lambda **o: tl.solveh_banded(tr.asarray(np.abs(V)[None]), tr.asarray(V), **o),
    "solve_toeplitz": lambda **o: tl.solve_toeplitz(tr.asarray(V[::-1].copy()), tr.asarray(V), **o),
    "tensorsolve": lambda **o: tl.tensorsolve(tr.asarray(A), tr.asarray(V), **o),
    "tensorinv": lambda **o: tl.tensorinv(tr.asarray(A), 1, **o),
    "svd": lambda **o: tl.svd(tr.asarray(B), **o),
    "full svd": lambda **o: tl.svd(tr.asarray(B), full=True, gauge="canonical", **o),
    "masked svd": lambda **o: tl.svd(tr.asarray(B), check="mask", **o),
    "svdvals": lambda **o: tl.svdvals(tr.asarray(B), **o),
    "qr": lambda **o: tl.qr(tr.asarray(B), **o),
    "positive qr": lambda **o: tl.qr(tr.asarray(B), positive=True, **o),
    "masked qr": lambda **o: tl.qr(tr.asarray(B), check="mask", **o),
    "rq": lambda **o: tl.rq(tr.asarray(B), **o),
    "lq": lambda **o: tl.lq(tr.asarray(B), **o),
    "ql": lambda **o: tl.ql(tr.asarray(B), **o),
    "qr_pivoted": lambda **o: tl.qr_pivoted(tr.asarray(B), **o),
    "qr_append": lambda **o: tl.qr_append(*tl.qr(tr.asarray(B)), tr.asarray(V[:, None]), **o),
    "eigh": lambda **o: tl.eigh(tr.asarray(A), **o),
    "masked eigh": lambda **o: tl.eigh(tr.asarray(A), check="mask", **o),
    "eigvalsh": lambda **o: tl.eigvalsh(tr.asarray(A), **o),
    "eig": lambda **o: tl.eig(tr.asarray(A), **o),
    "masked eig": lambda **o: tl.eig(tr.asarray(A), check="mask", **o),
    "eigvals": lambda **o: tl.eigvals(tr.asarray(A), **o),
    "schur": lambda **o: tl.schur(tr.asarray(A), **o),
    "hessenberg": lambda **o: tl.hessenberg(tr.asarray(A), **o),
    "cholesky": lambda **o: tl.cholesky(tr.asarray(A), **o),
    "upper cholesky": lambda **o: tl.cholesky(tr.asarray(A), upper=True, **o),
    "ldl": lambda **o: tl.ldl(tr.asarray(A), **o),
    "lu": lambda **o: tl.lu(tr.asarray(B), **o),
    "complete lu": lambda **o: tl.lu(tr.asarray(B), pivoting="complete", **o),
    "lu_factor": lambda **o: tl.lu_factor(tr.asarray(B), **o),
    "polar": lambda **o: tl.polar(tr.asarray(B), **o),
    "randomized_svd": lambda **o: tl.randomized_svd(tr.asarray(B), 1, seed=0, **o),
    "randomized_eigh": lambda **o: tl.randomized_eigh(tr.asarray(A), 1, seed=0, **o),
    "split": lambda **o: tl.split(tr.expand_dims(tr.asarray(A), 2), (0,), absorb="right", max_rank=2, **o),
    "split by qr": lambda **o: tl.split(tr.asarray(B), 0, method="qr", **o),
    "orth": lambda **o: tl.orth(tr.asarray(B), **o),
    "null_space": lambda **o: tl.null_space(tr.asarray(B.T), **o),
    "det": lambda **o: tl.det(tr.asarray(A), **o),
    "slogdet": lambda **o: tl.slogdet(tr.asarray(A), **o),
    "norm": lambda **o: tl.norm(tr.asarray(B), **o),
    "vector_norm": lambda **o: tl.vector_norm(tr.asarray(B), **o),
    "matrix_norm": lambda **o: tl.matrix_norm(tr.asarray(B), "nuc", **o),
    "largest row": lambda **o: tl.matrix_norm(tr.asarray(B), float("inf"), **o),
    "cond": lambda **o: tl.cond(tr.asarray(A), **o),
    "cond by the inverse": lambda **o: tl.cond(tr.asarray(A), 1, **o),
    "matrix_rank": lambda **o: tl.matrix_rank(tr.asarray(B), **o),
    "matrix_power": lambda **o: tl.matrix_power(tr.asarray(A), 3, **o),
    "no power": lambda **o: tl.matrix_power(tr.asarray(A), 1, **o),
    "multi_dot": lambda **o: tl.multi_dot([tr.asarray(A), tr.asarray(B)], **o),
    "expm": lambda **o: tl.expm(tr.asarray(A), **o),
    "sinm": lambda **o: tl.sinm(tr.asarray(A), **o),
    "cosm": lambda **o: tl.cosm(tr.asarray(A), **o),
    "sqrtm": lambda **o: tl.sqrtm(tr.asarray(A), **o),
    "hermitian sqrtm": lambda **o: tl.sqrtm(tr.asarray(A), hermitian=True, **o),
    "logm": lambda **o: tl.logm(tr.asarray(A), **o),
    "funm": lambda **o: tl.funm(tr.asarray(A), tr.exp, **o),
    "trace": lambda **o: tl.trace(tr.asarray(A), **o),
    "cross": lambda **o: tl.cross(tr.asarray(V), tr.asarray(V[::-1].copy()), **o),
    "kron": lambda **o: tl.kron(tr.asarray(A), tr.asarray(B), **o),
    "block_diag": lambda **o: tl.block_diag(tr.asarray(A), tr.asarray(B), **o),
    "vander": lambda **o: tl.vander(tr.asarray(V), **o),
}


def operation(name: str) -> str:
    """The function that a call is of."""
    said = {"largest row": "matrix_norm", "no power": "matrix_power"}
    return said.get(name) or next(word for word in name.split() if word in tl.__all__)


def targets_like(result: Any, made: Callable[[tr.Tensor], tr.Tensor]) -> Any:
    if result is None:
        return None
    if isinstance(result, tuple):
        return type(result)._make(targets_like(one, made) for one in result)  # type: ignore[attr-defined]
    return made(result)


def leaves(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [leaf for one in result if one is not None for leaf in leaves(one)]
    return [result]


@pytest.mark.parametrize("name", CALLS)
def test_results_are_written_where_the_caller_says(name: str) -> None:
    expected = CALLS[name]()
    owned = targets_like(expected, lambda one: tr.zeros(one.shape, dtype=one.dtype))
    strided = targets_like(
        expected, lambda one: tr.mutable_view(tr.zeros((*one.shape, 2), dtype=one.dtype))[..., 1].mutable_view()
    )
    for out in (owned, strided):
        found = CALLS[name](out=out)
        assert type(found) is type(out)
        for one, target, wanted in zip(leaves(found), leaves(out), leaves(expected), strict=True):
            assert one is target
            assert one.to_numpy().tolist() == wanted.to_numpy().tolist()


@pytest.mark.parametrize("name", CALLS)
def test_targets_of_another_shape_or_read_only_are_refused_and_nothing_is_written(name: str) -> None:
    expected = CALLS[name]()
    last = leaves(expected)[-1]
    count = len(leaves(expected))
    for spoilt, error in (
        (tr.zeros((*last.shape, 2), dtype=last.dtype), ShapeError),
        (tr.zeros((*last.shape, 2), dtype=last.dtype)[..., 1], ReadOnlyError),
    ):
        made: list[tr.Tensor] = []

        def target(one: tr.Tensor, spoilt: tr.Tensor = spoilt, made: list[tr.Tensor] = made) -> tr.Tensor:
            made.append(spoilt if len(made) == count - 1 else tr.full(one.shape, 7, dtype=one.dtype))
            return made[-1]

        with pytest.raises(error, match=rf"^{operation(name)}: out "):
            CALLS[name](out=targets_like(expected, target))
        for one in made[:-1]:
            assert (one.to_numpy() == 7).all()


def test_a_result_may_take_the_place_of_its_operand_but_not_of_a_part_of_it() -> None:
    a = tr.asarray(A.copy(order="F"))
    a_copy = tr.copy(a)
    assert tl.inv(a_copy, out=a_copy) is a_copy
    assert np.allclose(a_copy.to_numpy() @ A, np.eye(3))
    q, r = tr.copy(a), tr.zeros((3, 3))
    found = tl.qr(q, out=tl.QRResult(q, r))
    assert np.allclose(found.q.to_numpy() @ found.r.to_numpy(), A)
    whole = tr.zeros((3, 4))
    view = tr.mutable_view(whole)
    view[:, :3] = a
    with pytest.raises(OverlappingViewError):
        tl.inv(whole[:, :3], out=view[:, 1:].mutable_view())


def test_a_field_may_be_left_out_and_no_two_targets_may_share_elements() -> None:
    a = tr.asarray(A)
    s = tr.zeros(3)
    found = tl.svd(a, out=tl.SVDResult(None, s, None))  # type: ignore[arg-type]
    assert found.s is s
    assert np.allclose(found.u.to_numpy() * s.to_numpy() @ found.vh.to_numpy(), A)
    q = tr.zeros((3, 3))
    with pytest.raises(OverlappingViewError, match="two outputs"):
        tl.qr(a, out=tl.QRResult(q, q))
    both = tr.mutable_view(tr.zeros((3, 4)))
    with pytest.raises(OverlappingViewError):
        tl.qr(a, out=tl.QRResult(both[:, :3].mutable_view(), both[:, 1:].mutable_view()))
    assert (both.to_numpy() == 0).all()


@pytest.mark.parametrize("out", [3, [1, 2], (1, 2), tr.zeros((3, 3))])
def test_what_is_no_tuple_of_targets_is_refused(out: Any) -> None:
    with pytest.raises(TensorError, match="out"):
        tl.svd(tr.asarray(A), out=out)
    with pytest.raises(TensorError, match="out"):
        tl.det(tr.asarray(A), out=out)


def test_a_target_for_what_is_not_there_is_refused() -> None:
    out = tl.LstsqResult(tr.zeros(2), tr.zeros(()), tr.zeros((), dtype="I64"), tr.zeros(2))
    with pytest.raises(ArgumentError, match="singular_values"):
        tl.lstsq(tr.asarray(B), tr.asarray(V), driver="qr", out=out)


def test_wider_targets_take_narrow_results_and_narrow_ones_refuse_wide() -> None:
    narrow = tr.asarray(A.astype("float32"))
    wide = tr.zeros((), dtype="F64")
    assert tl.det(narrow, out=wide) is wide
    assert wide.item() == tl.det(narrow).item()
    with pytest.raises(TensorError, match="out"):
        tl.det(tr.asarray(A), out=tr.zeros((), dtype="F32"))


def test_a_truncated_decomposition_goes_to_targets_of_its_rank_and_to_no_others() -> None:
    a = tr.asarray(A)
    expected = tl.svd_truncated(a, max_rank=2)
    u, vh = tr.zeros((3, 2)), tr.zeros((2, 3))
    found = tl.svd_truncated(a, max_rank=2, out=tl.TruncatedSVDResult(u, None, vh, None, 0))  # type: ignore[arg-type]
    assert found.u is u
    assert found.vh is vh
    assert found.rank == 2
    for one, wanted in zip(found[:4], expected[:4], strict=True):
        assert one.to_numpy().tolist() == wanted.to_numpy().tolist()
    u = tr.zeros((3, 2))
    with pytest.raises(ShapeError):
        tl.svd_truncated(a, max_rank=2, out=found._replace(u=u, vh=tr.zeros((1, 3))))
    assert not u.to_numpy().any()
    with pytest.raises(ArgumentError, match="accepted: a TruncatedSVDResult"):
        tl.svd_truncated(a, out=(u, vh))  # type: ignore[arg-type]
    left = tr.zeros((3, 1))
    with pytest.raises(ShapeError):
        tl.split(a, 0, max_rank=2, out=tl.SplitResult(left, None, left, None))  # type: ignore[arg-type]


@pytest.mark.parametrize("check", [True, False, "mask"])
def test_targets_of_eigh_share_nothing_with_the_second_matrix(check: Any) -> None:
    buffer = tr.asarray(np.array([[1.0, 0.0, 7.0], [0.0, 1.0, 8.0]]))
    b, target = buffer[:, :2], tr.mutable_view(buffer)[:, 1:]
    out: Any = ((None, target), None) if check == "mask" else (None, target)
    with pytest.raises(OverlappingViewError, match=r"^eigh: "):
        tl.eigh(tr.asarray(A[:2, :2]), b, check=check, out=out)
    assert np.array_equal(buffer.to_numpy(), [[1.0, 0.0, 7.0], [0.0, 1.0, 8.0]])


PAIRS: dict[str, Callable[..., Any]] = {
    name: CALLS[name] for name in ("qr", "rq", "lq", "ql", "eigh", "eig", "slogdet", "polar", "svd", "lu")
}


@pytest.mark.parametrize("name", PAIRS)
def test_targets_beside_a_mask_are_those_of_result_and_status(name: str) -> None:
    found = PAIRS[name]()
    kind, fields = type(found).__name__, ", ".join(found._fields)
    wanted = rf"accepted: a MaskedResult of tensors \(result: a {kind} of tensors \({fields}\), status\), with None"
    for out, told in ((found, f"a {kind}"), (tuple(found), f"a tuple of {len(found)}"), (found[0], "a Tensor")):
        with pytest.raises(ArgumentError, match=f"^{name}: out is {told}; {wanted}"):
            PAIRS[name](check="mask", out=out)
    with pytest.raises(
        ArgumentError, match=rf"^{name}: out is a tuple of 7; accepted: a {kind} of tensors \({fields}\)"
    ):
        PAIRS[name](check="mask", out=((None,) * 7, None))
    first = targets_like(found, lambda one: tr.zeros(one.shape, dtype=one.dtype))
    given = tl.MaskedResult(first, None)  # type: ignore[arg-type]
    result, status = PAIRS[name](check="mask", out=given)
    assert all(one is target for one, target in zip(result, first, strict=True)) and status.item() == 0
    assert all(np.array_equal(one.to_numpy(), wanted.to_numpy()) for one, wanted in zip(first, found, strict=True))
    whole = PAIRS[name](check="mask", out=(None, tr.zeros((), dtype="I32")))
    assert isinstance(whole, tl.MaskedResult) and whole.status.item() == 0
