"""``check="mask"`` of least squares and triangles: shapes and bits of a call without it, sides, tolerances of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, DTypeError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
TOLERANCES = np.array([0.0, 0.5, 0.1, 0.9, 0.0])
GOOD = [0, 1, 3, 4]


def draw(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape)


def same(found: Any, expected: Any) -> bool:
    return found is expected or (
        found.shape == expected.shape and np.array_equal(found.to_numpy(), expected.to_numpy(), equal_nan=True)
    )


@pytest.mark.parametrize("driver", ["svd", "qr"])
@pytest.mark.parametrize(
    ("of_a", "of_b"), [((), (9,)), ((9,), ()), ((9,), (9,)), ((9,), (2, 9)), ((3, 1), (3, 4)), ((), ())]
)
@pytest.mark.parametrize("sides", [(5, 3), (3, 5), (8, 8)])
def test_least_squares_are_those_of_a_call_without_the_mask(
    sides: tuple[int, int], of_a: tuple[int, ...], of_b: tuple[int, ...], driver: str
) -> None:
    a, b = tr.tensor(draw(*sides, *of_a)), tr.tensor(draw(sides[0], 2, *of_b))

    plain = tl.lstsq(a, b, driver=driver)
    found = tl.lstsq(a, b, driver=driver, check="mask")

    assert all(map(same, found.result[2:], plain[2:]))
    assert found.result.solution.shape == plain.solution.shape
    assert found.result.residuals.shape == plain.residuals.shape
    np.testing.assert_allclose(found.result.solution.to_numpy(), plain.solution.to_numpy(), rtol=1e-11)
    assert found.status.shape == plain.solution.shape[2:] and not found.status.to_numpy().any()


@pytest.mark.parametrize("driver", ["svd", "qr"])
def test_a_bad_shared_operand_spoils_what_it_is_part_of(driver: str) -> None:
    a, b = draw(4, 3), draw(4, 2, 6)
    expected = tl.lstsq(tr.tensor(a), tr.tensor(b), driver=driver)
    b[1, 0, 2] = np.nan
    found = tl.lstsq(tr.tensor(a), tr.tensor(b), driver=driver, check="mask")
    assert found.status.tolist() == [0, 0, 1, 0, 0, 0]
    assert all(map(same, found.result[2:], expected[2:])), "they are of a alone"
    others = [0, 1, 3, 4, 5]
    assert same(found.result.solution[..., others], expected.solution[..., others])
    assert np.isnan(found.result.solution.to_numpy()[..., 2]).all()

    a[0, 0] = np.inf
    spoilt = tl.lstsq(tr.tensor(a), tr.tensor(b), driver=driver, check="mask")
    assert spoilt.status.tolist() == [1] * 6
    assert spoilt.result.singular_values is None or np.isnan(spoilt.result.singular_values.to_numpy()).all()


@pytest.mark.parametrize("name", ["pinv", "matrix_rank", "lstsq", "lstsq of many"])
def test_tolerances_of_each_matrix_go_with_it(name: str) -> None:
    a = draw(4, 4, 5)  # ranks 4, 2, 4, 1 and 4 by the tolerances
    bad = a.copy()
    bad[2, 1, 2] = np.nan
    b = tr.tensor(draw(4, 2, 3, 5) if "many" in name else draw(4, 2, 5))

    def run(x: Array, rtol: Any, **options: Any) -> Any:
        on = tr.tensor(x)
        return tl.lstsq(on, b, rtol=rtol, **options) if "lstsq" in name else getattr(tl, name)(on, rtol=rtol, **options)

    for rtol in (tr.tensor(TOLERANCES), tr.tensor(0.3)):
        plain, found = run(a, rtol), run(bad, rtol, check="mask")
        pairs = zip(found.result, plain, strict=True) if "lstsq" in name else [(found.result, plain)]
        for one, expected in pairs:
            np.testing.assert_allclose(one.to_numpy()[..., GOOD], expected.to_numpy()[..., GOOD], rtol=1e-11)
        assert (found.status.to_numpy() == [0, 0, 1, 0, 0]).all()
    with pytest.raises(ShapeError, match=r"rtol of shape \(3,\); accepted: a number, or one for each matrix"):
        run(a, tr.ones(3), check="mask")
    with pytest.raises(DTypeError, match="rtol is Bool"):
        run(a, tr.ones(5, "Bool"), check="mask")
    with pytest.raises(ArgumentError, match="rtol holds a number that is negative"):
        run(a, tr.full(5, -1.0), check="mask")


def test_least_squares_take_tolerances_of_each_matrix_beside_more_right_hand_sides() -> None:
    a, b = draw(4, 4, 5), draw(4, 2, 3, 5)
    found = tl.lstsq(tr.tensor(a), tr.tensor(b), rtol=tr.tensor(TOLERANCES))
    for one, rtol in enumerate(TOLERANCES):
        for row in range(3):
            expected, _, rank, _ = np.linalg.lstsq(a[..., one], b[..., row, one], rcond=rtol)
            assert found.rank.tolist()[one] == rank
            np.testing.assert_allclose(found.solution.to_numpy()[..., row, one], expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["F64", "C64"])
@pytest.mark.parametrize("options", [{}, {"transpose": True}, {"adjoint": True}, {"lower": True}], ids=str)
def test_triangles_on_the_right_have_a_status(dtype: str, options: dict[str, bool]) -> None:
    a, b = draw(4, 4, 5) + 3 * np.eye(4)[..., None], tr.convert(tr.tensor(draw(3, 4, 5)), dtype)
    plain = tl.triangular_solve(tr.convert(tr.tensor(a), dtype), b, side="right", **options)
    a[1, 1, 3] = 0.0
    a[2, 2, 0] = np.inf
    bad = tr.convert(tr.tensor(a), dtype)

    found = tl.triangular_solve(bad, b, side="right", check="mask", **options)

    assert found.status.tolist() == [1, 0, 0, 2, 0] and found.result.is_compact
    assert same(found.result[..., [1, 2, 4]], plain[..., [1, 2, 4]])
    assert np.isnan(found.result.to_numpy()[..., [0, 3]]).all()
    out = (tr.zeros(plain.shape, dtype), tr.zeros(5, "I32"))
    written = tl.triangular_solve(bad, b, side="right", check="mask", out=out, **options)
    assert written.result is out[0] and same(out[0], found.result) and same(out[1], found.status)
    with pytest.raises(ShapeError, match=r"b of shape \(4,\) has no rows"):
        tl.triangular_solve(tr.eye(4), tr.ones(4), side="right", check="mask")
