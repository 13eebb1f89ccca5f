"""Systems without right-hand sides, whose matrices are looked at all the same; and what structured ones refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, np.dtype[Any]]
SYSTEMS: dict[str, Callable[..., Any]] = {
    "solve": lambda bands, b, **o: tl.solve(tr.embed_diagonal(tr.move_axes(bands[1], 0, -1)), b, **o),
    "solve_banded": lambda bands, b, **o: tl.solve_banded((1, 1), bands, b, **o),
    "solve_toeplitz": lambda bands, b, **o: tl.solve_toeplitz(tr.concatenate([bands[1, :1], bands[0, 1:]]), b, **o),
}


class ByRules(SimulatedBackend):
    """Lacks the kernels of structured systems, which have rules."""

    def unsupported(self) -> Mapping[str, str]:
        return {}


@pytest.fixture(scope="module")
def by_rules() -> Iterator[Placement]:
    lacking = dict.fromkeys(("solve_banded", "solve_toeplitz"), "no such unit")
    device = ByRules(tr.backend("cpu"), "structured-by-rules", lacking)
    tr.register_backend("structured-by-rules", device)
    yield device.placement()
    registry.unregister("structured-by-rules")


@pytest.fixture(params=["cpu", "by rules"])
def place(request: pytest.FixtureRequest, by_rules: Placement) -> Placement:
    return tr.CPU if request.param == "cpu" else by_rules


def multiples(value: float, size: int, *batch: int) -> Array:
    """Three diagonals of identities, but for the last, of which the last element, or all, are ``value``."""
    found = np.zeros((3, size, *batch))
    found[1] = 1.0
    found[(1, slice(None), *(-1 for _ in batch))] = value
    return found


@pytest.mark.parametrize("name", ["solve_banded", "solve_toeplitz"])
@pytest.mark.parametrize("size", [1, 3, 40])
@pytest.mark.parametrize(
    ("batch", "sides", "status"),
    [
        ((), (0,), 2),
        ((), (1, 0), []),
        ((), (0, 2), [2, 2]),
        ((2,), (0,), [0, 2]),
        ((2,), (0, 2), [0, 2]),
        ((2, 1), (0, 3), [[0, 0, 0], [2, 2, 2]]),
        ((2, 1), (2, 0), [[], []]),
    ],
    ids=str,
)
def test_singular_matrices_are_named_without_right_hand_sides(
    name: str, size: int, batch: tuple[int, ...], sides: tuple[int, ...], status: Any, place: Placement
) -> None:
    b = tr.zeros((size, *sides), placement=place)
    last = tuple(extent - 1 for extent in batch)
    fine, singular, bad = (tr.to(tr.asarray(multiples(value, size, *batch)), place) for value in (2.0, 0.0, np.nan))
    run = SYSTEMS[name]

    with pytest.raises(tl.SingularMatrixError, match=rf"^{name}: the matrix ") as found:
        run(singular, b)
    assert vars(found.value)["batch_index"] == last
    with pytest.raises(tl.NonFiniteError, match=rf"^{name}: ") as spoilt:
        run(bad, b)
    assert vars(spoilt.value)["batch_index"] == last
    assert tr.to(run(singular, b, check="mask").status, tr.CPU).tolist() == status
    assert (tr.to(run(bad, b, check="mask").status, tr.CPU).to_numpy() == np.minimum(status, 1)).all()
    whole = (*b.shape[:2], *np.broadcast_shapes(batch, b.shape[2:]))
    assert run(fine, b).shape == run(fine, b, check="mask").result.shape == whole
    assert run(fine, b, check=False).shape == whole


@pytest.mark.parametrize("name", ["solve", "solve_banded", "solve_toeplitz"])
def test_matrices_beside_an_empty_batch_are_looked_at(name: str, place: Placement) -> None:
    singular, b = tr.to(tr.asarray(multiples(0.0, 3, 1)), place), tr.zeros((3, 1, 0), placement=place)
    with pytest.raises(tl.SingularMatrixError, match=rf"^{name}: the matrix at batch index \(0,\)"):
        SYSTEMS[name](singular, b)


def test_an_empty_batch_of_matrices_is_none_that_is_singular(place: Placement) -> None:
    for name in ("solve_banded", "solve_toeplitz"):
        bands = tr.zeros((3, 3, 0), placement=place)
        assert SYSTEMS[name](bands, tr.ones((3, 2, 1), placement=place)).shape == (3, 2, 0)
        assert SYSTEMS[name](bands, tr.ones((3, 2), placement=place), check="mask").status.shape == (0,)
        with pytest.raises(tl.NonFiniteError, match=rf"^{name}: operand b holds nan"):
            SYSTEMS[name](bands, tr.full((3, 2, 1), float("nan"), placement=place))


def test_a_singular_matrix_that_sides_share_is_named_in_its_own_batch(place: Placement) -> None:
    singular = tr.to(tr.asarray(multiples(0.0, 3, 2)), place)
    for name in ("solve_banded", "solve_toeplitz"):
        for batch, index in (((2,), (1,)), ((4, 2), (1,)), ((4, 1), (1,))):
            with pytest.raises(tl.SingularMatrixError, match=rf"^{name}: the matrix at batch index \(1,\)") as found:
                SYSTEMS[name](singular, tr.ones((3, 1, *batch), placement=place))
            assert vars(found.value)["batch_index"] == index


def test_solutions_of_shared_matrices_by_a_rule_are_those_of_the_kernel(by_rules: Placement) -> None:
    bands = tr.normal((3, 5, 2, 1), seed=3) + tr.tensor([0.0, 9.0, 0.0]).reshape((3, 1, 1, 1))
    b = tr.normal((5, 2, 4, 1, 3), seed=4)
    for name in ("solve_banded", "solve_toeplitz"):
        here = SYSTEMS[name](bands, b)
        there = tr.to(SYSTEMS[name](tr.to(bands, by_rules), tr.to(b, by_rules)), tr.CPU)
        assert there.shape == here.shape
        assert np.abs(there.to_numpy() - here.to_numpy()).max() < 1e-14


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_toeplitz_systems_at_the_ends_of_the_range_have_their_digits(dtype: str, place: Placement) -> None:
    last = int(np.finfo(dtype).maxexp)
    column, right = np.array([4.0, 1.0, 0.5, 0.25]), np.array([[1.0, 3.0], [2.0, -1.0], [0.0, 0.5], [1.0, 2.0]])
    wanted = np.linalg.solve(column[np.abs(np.subtract.outer(range(4), range(4)))], right)
    for power in (-last - 6, -last, 0, last - 4):  # of the first the reciprocal is beyond the range
        for sides in (power, 0, -last - 6, last - 4):
            x = power - sides  # and its solution is within it, or is nothing that the dtype has
            if abs(x) > last - 6:
                continue
            c, b = (np.ldexp(array, k).astype(dtype) for array, k in ((column, power), (right, sides)))
            found = tl.solve_toeplitz(tr.to(tr.tensor(c), place), tr.to(tr.tensor(b), place))
            near = np.asarray(tr.to(found, tr.CPU).to_numpy(), dtype="complex128") * np.ldexp(1.0, x)
            assert np.abs(near - wanted).max() < 100 * float(np.finfo(dtype).eps), (power, sides)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_lies_outside_of_a_banded_matrix_must_be_finite(value: float, place: Placement) -> None:
    bands = multiples(2.0, 3)
    bands[0, 0] = value
    ab, b = tr.to(tr.asarray(bands), place), tr.ones(3, placement=place)

    with pytest.raises(tl.NonFiniteError, match=r"^solve_banded: operand ab holds (nan|inf) at element \(0, 0\)"):
        tl.solve_banded((1, 1), ab, b)
    assert tr.to(tl.solve_banded((1, 1), ab, b, check="mask").status, tr.CPU).item() == 1
    assert tr.to(tl.solve_banded((1, 1), ab, b, check=False), tr.CPU).tolist() == [0.5, 0.5, 0.5]
    bands[0, 0] = 0.0
    with pytest.raises(tl.NonFiniteError, match=rf"^solve_banded: operand b holds {value} at element \(1,\)"):
        tl.solve_banded((1, 1), tr.to(tr.asarray(bands), place), tr.to(tr.tensor([1.0, value, 1.0]), place))


@pytest.mark.parametrize("name", ["solve_banded", "solve_toeplitz"])
def test_ill_conditioned_matrices_are_warned_of_without_right_hand_sides(name: str) -> None:
    bands = [[0.0, 0.0, 0.0], [1.0, 1.0, 1e-17], [0.0, 0.0, 0.0]]  # a diagonal
    if name == "solve_toeplitz":
        bands = [[1.0] * 3, [1.0 + 2**-52] * 3, [1.0] * 3]
    with pytest.warns(tl.IllConditionedWarning, match=name):
        SYSTEMS[name](tr.tensor(bands), tr.zeros((3, 0)), condition=True)
