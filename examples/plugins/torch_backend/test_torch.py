"""What the backend on PyTorch promises beside the conformance suite; skipped where PyTorch is missing."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

import tensor_runtime as tr
from tensor_core.errors import UnsupportedOperationError
from tensor_einsum import einsum
from tensor_linalg import cholesky, solve, svd
from tensor_runtime.errors import NotPositiveDefiniteError
from tensor_runtime.placement import Placement, as_placement
from tensor_runtime.testing.conformance import BackendConformance

torch = pytest.importorskip("torch", reason="PyTorch is missing; make test-plugins installs it")

PLACES = ["torch-cpu", *(["torch-cuda"] if torch.cuda.is_available() or os.environ.get("REQUIRE_GPU") == "1" else [])]


@pytest.fixture(scope="module", params=PLACES)
def placement(request: pytest.FixtureRequest) -> Placement:
    """Where the suite computes."""
    return as_placement(request.param)


class TestTorch(BackendConformance):
    """Every operation on every layout; what the backend lacks is refused with its reason."""


def test_views_share_and_what_runs_backwards_is_no_hidden_move(placement: Placement) -> None:
    x = tr.to(tr.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), placement)
    backwards = x[::-1, ::-1]
    with tr.trace_transfers() as log:
        total = einsum("ij,kj->ik", backwards, x)
        tr.copy_into(tr.mutable_view(x)[::-1, 0], backwards[:, 0])
    assert not log
    assert backwards._array.row is x._array.row
    assert total._array.row.device == x._array.row.device
    assert tr.download(total).to_nested() == [[28.0, 73.0], [10.0, 28.0]]
    assert tr.download(x).to_nested() == [[3.0, 2.0, 3.0], [6.0, 5.0, 6.0]]


def test_decompositions_and_their_errors(placement: Placement) -> None:
    a = tr.to(tr.tensor([[4.0, 1.0], [1.0, 3.0]]), placement)
    u, s, vh = svd(a)
    again = einsum("ij,j,jk->ik", u, s, vh)
    assert all(abs(x - y) < 1e-12 for x, y in zip(tr.download(again).to_flat(), [4.0, 1.0, 1.0, 3.0], strict=True))
    assert solve(a, a).placement is placement
    with pytest.raises(NotPositiveDefiniteError, match="cholesky: the matrix is not positive definite"):
        cholesky(-a)


def test_what_it_lacks_is_refused_with_the_reason(placement: Placement) -> None:
    with pytest.raises(UnsupportedOperationError, match=r"sort: the example has no kernel on torch\.sort"):
        tr.sort(tr.ones(3, placement=placement))
    reasons = tr.backend(str(placement).partition(":")[0]).unsupported()
    assert reasons["uniform"] != reasons["solve_toeplitz"] == "PyTorch has no solver of Toeplitz systems"


def test_square_roots_are_correctly_rounded(placement: Placement) -> None:
    numbers = [2.0, 3.0, 5e-324, 1e-310, 1.7e308, 0.1, 7.0, *(1.0 + k / 97 for k in range(400))]
    found = tr.download(tr.sqrt(tr.to(tr.tensor(numbers), placement))).to_flat()
    for number, root in zip(numbers, found, strict=True):
        unit = Fraction(root) * Fraction(1, 2**53)  # at least half a unit in the last place
        assert (Fraction(root) - unit) ** 2 <= Fraction(number) <= (Fraction(root) + unit) ** 2
