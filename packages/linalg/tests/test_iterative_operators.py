"""Operators that iterative methods are given: between what spaces, how large, and which are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_runtime.errors import ForeignOperandError

Map = Callable[[tr.Tensor], tr.Tensor]


def product(a: tr.Tensor) -> Map:
    return lambda x: tr.dot_general(a, x, contracting=((1,), (0,)))


@pytest.mark.parametrize("which", ["LM", "SM"])
@pytest.mark.parametrize("dtype", ["F64", "C64"])
@pytest.mark.parametrize("shape", [(2, 5), (1, 7), (5, 2), (12, 30), (30, 12)])
def test_singular_triplets_are_those_of_the_smaller_space(shape: tuple[int, int], dtype: str, which: str) -> None:
    a = tr.normal(shape, seed=2, dtype=dtype)
    m, turned = a.to_numpy(), tl.mH(a)
    values = np.linalg.svd(m, compute_uv=False)
    for k in {1, 2, min(shape)} & {*range(1, min(shape) + 1)}:
        wanted = values[:k] if which == "LM" else values[-k:]
        results = [tl.svds(a, k=k, which=which)]
        for batch in ((), (1,), (4,))[: 2 if shape[1] < 4 else 3]:
            x0, back = tr.normal((shape[1], *batch), seed=1), product(turned)
            options: dict[str, Any] = {"k": k, "which": which, "batch_rank": len(batch)}
            results.append(tl.svds(product(a), x0, adjoint=back, **options))
            results.append(tl.svds(product(a), x0 * 0.0, adjoint=back, **options))
        for found in results:
            u, s, vh = (part.to_numpy() for part in (found.u, found.s, found.vh))
            assert found.converged
            np.testing.assert_allclose(s, wanted, rtol=1e-9)
            np.testing.assert_allclose(m @ vh.conj().T, u * s, atol=1e-9)
            np.testing.assert_allclose(u.conj().T @ m, s[:, None] * vh, atol=1e-6)
            np.testing.assert_allclose(u.conj().T @ u, np.eye(k), atol=1e-12)
            np.testing.assert_allclose(vh @ vh.conj().T, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("dtype", ["F64", "C64"])
@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (6, 6), (20, 30), (30, 20)])
def test_of_values_of_zero_the_vectors_that_are_found_first_are_right(shape: tuple[int, int], dtype: str) -> None:
    rank = min(shape) - 2
    a = tl.matmul(tr.normal((shape[0], rank), seed=5, dtype=dtype), tr.normal((rank, shape[1]), seed=6, dtype=dtype))
    m = a.to_numpy()
    for k in (1, 2):
        found = tl.svds(a, k=k, which="SM")
        u, s, v = found.u.to_numpy(), found.s.to_numpy(), found.vh.to_numpy().conj().T
        images = m.conj().T @ u if shape[0] < shape[1] else m @ v
        assert found.converged
        np.testing.assert_allclose(s, np.zeros(k), atol=1e-6)
        np.testing.assert_allclose(images, 0.0 * images, atol=1e-6)
        for vectors in (u, v):
            np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(k), atol=1e-12)


def test_singular_values_to_a_smaller_space_take_one_product_more_and_stop_at_any() -> None:
    a = tr.normal((8, 20), seed=2)
    m = a.to_numpy()
    for limit in range(2, 12):
        calls = 0

        def product(x: tr.Tensor, limit: int = limit) -> tr.Tensor:
            nonlocal calls
            calls += 1
            if calls == limit + 2:
                raise KeyboardInterrupt
            return tl.matvec(a, x)

        options: dict[str, Any] = {"adjoint": lambda y: tl.matvec(a.T, y), "k": 2, "tol": 1e-14}
        found = tl.svds(product, tr.normal((20,), seed=1), **options)
        assert found.interrupted is (limit < 8) and found.converged is (limit >= 8)
        assert calls == 1 + found.iterations + found.interrupted
        u, s, vh = (part.to_numpy() for part in (found.u, found.s, found.vh))
        np.testing.assert_allclose(u.T @ m, s[:, None] * vh, atol=1e-10)
        limited = tl.svds(a, tr.normal((20,), seed=1), k=2, tol=1e-14, maxiter=limit)
        assert limited.iterations == min(limit, 8) and not limited.interrupted


@pytest.mark.parametrize("kind", ["F", "C"])
@pytest.mark.parametrize(("bits", "power"), [(64, -1030), (64, 1010), (64, 1019), (32, -136), (32, 123)])
def test_minute_and_huge_maps_are_iterated_as_others_are(bits: int, power: int, kind: str) -> None:
    dtype, near = f"{kind}{bits}", 1e-3 if bits == 32 else 1e-9  # 13 bits are left at 2^-136
    turn = 1j if kind == "C" else 1.0
    general = np.array([[1.0, turn], [3.0 * turn, 5.0]])
    hermitian = np.array([[3.0, turn], [np.conj(turn), 2.0]])

    def scaled(x: Any, by: int = power) -> tr.Tensor:
        halves = tr.asarray(np.asarray(x) * 2.0 ** (by // 2)) * 2.0 ** (by - by // 2)
        return tr.cast(halves, dtype)

    def restored(x: tr.Tensor) -> Any:
        wide = tr.cast(x, "C64" if x.dtype.kind == "complex" else "F64").to_numpy()
        return wide * 2.0 ** (-power // 2) * 2.0 ** (-power - -power // 2)

    start = tr.normal((2, 2), seed=1, dtype=dtype)
    values = np.linalg.eigvalsh(hermitian)
    for x0 in (start[:, 0], start):
        found = tl.eigsh(scaled(hermitian), x0, k=2)
        np.testing.assert_allclose(restored(found.eigenvalues), values, rtol=near)
        several = tl.eigs(scaled(hermitian), x0, k=2)
        np.testing.assert_allclose(restored(several.eigenvalues), values[::-1], rtol=near, atol=near)
        assert found.converged and several.converged
        singular = tl.svds(scaled(general), x0, k=2)
        np.testing.assert_allclose(restored(singular.s), np.linalg.svd(general, compute_uv=False), rtol=1e-4)
    for a, solvers in ((hermitian, (tl.cg, tl.minres, tl.gmres, tl.lsmr)), (general, (tl.gmres, tl.lsmr))):
        for solve in solvers:
            solved = solve(scaled(a), scaled(np.ones(2)))
            assert solved.converged
            np.testing.assert_allclose(solved.x.to_numpy(), np.linalg.solve(a, np.ones(2)), rtol=2e-3)


def integers(x: tr.Tensor) -> tr.Tensor:
    return tr.ones(x.shape, dtype="I64")


def nothing(x: tr.Tensor) -> Any:
    return None


REFUSING: dict[str, Callable[[Any], Any]] = {
    "cg": lambda a: tl.cg(a, tr.ones(6)),
    "minres": lambda a: tl.minres(a, tr.ones(6)),
    "gmres": lambda a: tl.gmres(a, tr.ones(6)),
    "lsmr": lambda a: tl.lsmr(a, tr.ones(6), adjoint=lambda x: x),
    "eigsh": lambda a: tl.eigsh(a, tr.ones(6)),
    "eigs": lambda a: tl.eigs(a, tr.ones(6)),
    "svds": lambda a: tl.svds(a, tr.ones(6), adjoint=lambda x: x),
    "expm_multiply": lambda a: tl.expm_multiply(a, tr.ones(6)),
}


@pytest.mark.parametrize("name", REFUSING)
def test_an_operator_of_integers_and_an_image_of_integers_are_errors_of_the_dtype(name: str) -> None:
    for dtype in ("I32", "I64", "Bool"):
        with pytest.raises(DTypeError, match=f"{name}: the operator is {dtype}.*; accepted: C32, C64, F32"):
            REFUSING[name](tr.ones((6, 6), dtype=dtype))
    with pytest.raises(DTypeError, match=rf"{name}: the operator gave I64 of shape \(6,\) .*; accepted: a floating or"):
        REFUSING[name](integers)
    with pytest.raises(ArgumentError, match=rf"{name}: the operator gave a NoneType for a tensor of shape \(6,\)"):
        REFUSING[name](nothing)


def test_an_image_of_an_adjoint_is_an_error_of_what_is_wrong_with_it() -> None:
    methods: list[tuple[str, Callable[..., Any]]] = [("lsmr", tl.lsmr), ("svds", tl.svds)]
    for name, method in methods:
        with pytest.raises(DTypeError, match=f"{name}: adjoint gave I64 .* accepted: a floating or complex tensor$"):
            method(lambda x: x, tr.ones(6), adjoint=integers)
        with pytest.raises(DTypeError, match=f"{name}: adjoint is I64"):
            method(lambda x: x, tr.ones(6), adjoint=tr.ones((6, 6), dtype="I64"))
        with pytest.raises(ArgumentError, match=f"{name}: adjoint gave a NoneType"):
            method(lambda x: x, tr.ones(6), adjoint=nothing)
        with pytest.raises(ShapeError, match=f"{name}: adjoint gave F64 .* whose last axes are"):
            method(lambda x: x, tr.ones((6, 2)), adjoint=lambda x: x[:, 0], batch_rank=1)


OTHERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cg": ("the preconditioner", lambda other: tl.cg(tr.eye(6), tr.ones(6), preconditioner=other)),
    "gmres": ("the preconditioner", lambda other: tl.gmres(tr.eye(6), tr.ones(6), preconditioner=other)),
    "eigsh": ("solve", lambda other: tl.eigsh(tr.eye(6), tr.ones(6), sigma=0.5, solve=other)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_map_beside_the_operator_is_refused_by_its_own_name(name: str) -> None:
    called, method = OTHERS[name]
    with pytest.raises(ArgumentError, match=f"{name}: {called} is a str; accepted: a function"):
        method("s")
    with pytest.raises(ArgumentError, match=f"{name}: {called} gave a NoneType"):
        method(nothing)
    with pytest.raises(DTypeError, match=f"{name}: {called} gave I64"):
        method(integers)
    with pytest.raises(ShapeError, match=rf"{name}: {called} is F64 of shape \(4, 4\), for vectors of shape \(6,\)"):
        method(tr.eye(4))
    with pytest.raises(tl.NonFiniteError, match=f"{name}: (the operator, )?{called}(, b)? or the start holds NaN"):
        method(lambda x: x * float("nan"))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", [tl.cg, tl.gmres])
def test_a_column_of_a_preconditioner_that_is_not_finite_is_told_by_its_name(method: Any, value: float) -> None:
    with pytest.raises(tl.NonFiniteError, match="the operator, the preconditioner, b or the start holds NaN"):
        method(tr.eye(6), tr.ones((6, 2)), preconditioner=lambda x: x * tr.tensor([1.0, value]))


@pytest.mark.parametrize("wrong", [np.eye(6), None, "A"], ids=["array", "none", "text"])
@pytest.mark.parametrize("name", REFUSING)
def test_what_is_no_map_is_told_to_become_a_tensor_before_an_adjoint_is_asked_for(name: str, wrong: Any) -> None:
    kinds = f"{name}: the operator is a {type(wrong).__name__}; accepted: a function .*, or a tensor .* asarray"
    with pytest.raises(ForeignOperandError if isinstance(wrong, np.ndarray) else ArgumentError, match=kinds):
        getattr(tl, name)(wrong, tr.ones(6))


@pytest.mark.parametrize(
    ("shape", "given", "options"),
    [
        ((3,), (3,), {}),
        ((6, 6, 1), (6,), {}),
        ((6, 3, 2), (6,), {}),
        ((3, 2, 2, 1, 2), (3, 2), {}),
        ((2, 3, 2, 3), (6,), {}),
        ((6, 6), (6, 2), {"batch_rank": 2}),
        ((), (3,), {}),
    ],
)
def test_least_squares_take_tensors_with_as_many_axes_on_either_side(
    shape: tuple[int, ...], given: tuple[int, ...], options: dict[str, int]
) -> None:
    with pytest.raises(ShapeError) as caught:
        tl.lsmr(tr.ones(shape), tr.ones(given), **options)
    assert f"lsmr: the operator has shape {shape}, for b of shape {given}; accepted: a tensor [*shape" in str(
        caught.value
    )


def test_least_squares_of_a_number_are_those_of_numbers() -> None:
    assert tl.lsmr(tr.tensor(2.0), tr.tensor(3.0)).x.item() == 1.5
    assert tl.lsmr(tr.tensor(2.0), tr.tensor([2.0, 6.0]), batch_rank=1).x.tolist() == [1.0, 3.0]


def test_a_matrix_of_least_squares_and_its_adjoint_are_refused_as_they_were_given() -> None:
    b = tr.ones(5)
    with pytest.raises(ShapeError, match=r"lsmr: the operator is F64 of shape \(6, 4\), .* F64 of shape \(5, 4\)"):
        tl.lsmr(tr.ones((6, 4)), b)
    with pytest.raises(DTypeError, match=r"lsmr: the operator is Bool of shape \(5, 4\)"):
        tl.lsmr(tr.ones((5, 4), dtype="Bool"), b)
    with pytest.raises(ShapeError, match=r"lsmr: adjoint is F64 of shape \(5, 4\), .* F64 of shape \(4, 5\)"):
        tl.lsmr(tr.ones((5, 4)), b, adjoint=tr.ones((5, 4)))
    with pytest.raises(ShapeError, match=r"lsmr: adjoint is F64 of shape \(5, 4\), for vectors of shape \(5,\)"):
        tl.lsmr(lambda x: x, b, adjoint=tr.ones((5, 4)))
    with pytest.raises(DTypeError, match=r"lsmr: adjoint is I64 of shape \(5, 5\)"):
        tl.lsmr(lambda x: x, b, adjoint=tr.ones((5, 5), dtype="I64"))
    with pytest.raises(ShapeError, match=r"lsmr: adjoint gave F64 of shape \(5,\) .* complex tensor of shape \(4,\)"):
        tl.lsmr(tr.ones((5, 4)), b, adjoint=lambda y: y)
