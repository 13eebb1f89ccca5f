"""What no function takes is refused beside ``check="mask"`` as without: of the same shape, in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, DTypeError, ShapeError
from tensor_linalg.masking import masked
from tensor_runtime import Tensor
from tensor_runtime.errors import LinalgError

SQUARE: tuple[str, ...] = (
    "cholesky",
    "cosm",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "hessenberg",
    "inv",
    "ldl",
    "logm",
)
SQUARE += ("randomized_eigh", "schur", "sinm", "slogdet", "sqrtm")
ANY: tuple[str, ...] = (
    "lq",
    "lu",
    "lu_factor",
    "matrix_norm",
    "matrix_rank",
    "pinv",
    "polar",
    "ql",
    "qr",
    "qr_pivoted",
    "rq",
    "svd",
)
ANY += ("svd_truncated", "svdvals")
OPTIONS: dict[str, dict[str, Any]] = {"svd_truncated": {"cutoff": 0.1}, "randomized_eigh": {"rank": 3, "seed": 1}}
OF_ONE: dict[str, Callable[..., Any]] = {
    **{name: lambda a, name=name, **o: getattr(tl, name)(a, **OPTIONS.get(name, {}), **o) for name in SQUARE + ANY},
    "cond": lambda a, **o: tl.cond(a, 1, **o),
    "norm": lambda a, **o: tl.norm(a, "nuc", **o),
    "logm of Hermitian ones": lambda a, **o: tl.logm(a, hermitian=True, **o),
    "funm": lambda a, **o: tl.funm(a, tr.exp, **o),
    "funm of what gives another shape": lambda a, **o: tl.funm(a, lambda x: x[:1], **o),
    "matrix_power": lambda a, **o: tl.matrix_power(a, -2, **o),
    "some eigenvalues": lambda a, **o: tl.eigh(a, subset_by_index=(0, 1), **o),
    "matrix_rank with tolerances": lambda a, **o: tl.matrix_rank(a, rtol=tr.full(3, 0.1), **o),
    "randomized_svd": lambda a, **o: tl.randomized_svd(a, 9, seed=1, **o),
}
OF_TWO: dict[str, Callable[..., Any]] = {
    "solve": tl.solve,
    "lstsq": tl.lstsq,
    "lstsq by qr": lambda a, b, **o: tl.lstsq(a, b, driver="qr", **o),
    "cho_solve": tl.cho_solve,
    "triangular_solve": tl.triangular_solve,
    "triangular_solve on the right": lambda a, b, **o: tl.triangular_solve(a, b, side="right", **o),
    "generalized eigh": tl.eigh,
    "solve_banded": lambda a, b, **o: tl.solve_banded((1, 0), a, b, **o),
    "solveh_banded": tl.solveh_banded,
}
SHAPES = [(), (3,), (2, 3), (0, 2, 3), (2, 3, 4), (2, 3, 2, 2), (4, 3, 2, 2, 2), (2, 2, 5, 3), (2, 2)]


def refused(call: Callable[[], object]) -> tuple[type[Exception], str] | None:
    """What is wrong with shapes or dtypes; of values nothing is asked here."""
    try:
        call()
    except LinalgError:
        return None
    except (ShapeError, DTypeError, ArgumentError) as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("dtype", ["F64", "C32", "I64", "Bool"])
@pytest.mark.parametrize("name", OF_ONE)
def test_an_operand_is_refused_as_without_a_mask(name: str, dtype: str) -> None:
    operands = [tr.cast(tr.ones(shape), dtype) for shape in SHAPES]
    told = [refused(lambda a=a: OF_ONE[name](a, check=True)) for a in operands]  # type: ignore[misc]

    assert any(told)
    assert [refused(lambda a=a: OF_ONE[name](a, check="mask")) for a in operands] == told  # type: ignore[misc]


@pytest.mark.parametrize("name", OF_TWO)
def test_two_operands_are_refused_as_without_a_mask(name: str) -> None:
    pairs = [(tr.ones(first), tr.ones(second)) for first in SHAPES for second in SHAPES]
    told = [refused(lambda pair=pair: OF_TWO[name](*pair, check=True)) for pair in pairs]  # type: ignore[misc]

    assert any(told)
    assert [refused(lambda pair=pair: OF_TWO[name](*pair, check="mask")) for pair in pairs] == told  # type: ignore[misc]


def test_matrices_whose_batch_axes_lead_are_told_how_to_move_them() -> None:
    with pytest.raises(ShapeError, match=r"operand of shape \(2, 3, 2, 2\) .*; batch_last\(x, 2\) moves") as caught:
        tl.eigh(tr.ones((2, 3, 2, 2)), check="mask")
    assert caught.value.__suppress_context__


def test_a_shape_that_only_a_part_of_the_batch_has_is_told_as_it_is() -> None:
    calls = []

    def fails_once(x: Tensor) -> tuple[Tensor, ...]:
        calls.append(x.shape)
        if len(calls) == 1:
            raise ShapeError("of the part", operation="copy", shape=x.shape)
        return (tr.copy(x),)

    with pytest.raises(ShapeError, match=r"^of the part$"):
        masked(fails_once, "copy", tr.ones((2, 2, 3, 4)))
    assert calls == [(2, 2, 12), (2, 2, 3, 4)]
