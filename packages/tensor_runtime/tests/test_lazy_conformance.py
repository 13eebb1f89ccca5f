"""A backend that puts everything off passes the conformance suite, and really puts it off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensor_runtime as tr
from lazy_device import LazyBackend
from tensor_core.errors import CastRangeError
from tensor_einsum import einsum
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.conformance import BackendConformance


@pytest.fixture(scope="module")
def lazy() -> Iterator[LazyBackend]:
    made = LazyBackend(tr.backend("cpu"), "lazy")
    tr.register_backend("lazy", made)
    yield made
    registry.unregister("lazy")


@pytest.fixture(scope="module")
def placement(lazy: LazyBackend) -> Placement:
    return lazy.placement()


class TestLazyConformance(BackendConformance):
    layouts = ("as given",)


def numbers(x: tr.Tensor) -> object:
    return tr.download(x).to_nested()


def test_nothing_runs_before_somebody_looks(lazy: LazyBackend) -> None:
    x = tr.to(tr.tensor([[1.0, 2.0], [3.0, 4.0]]), "lazy")
    lazy.ran = 0
    y = einsum("ij,jk,kl->il", x, x, x.T[::-1]) + 1.0
    unused = tr.exp(y)
    assert lazy.ran == 0
    assert numbers(y) == [[25.0, 59.0], [53.0, 127.0]]
    ran = lazy.ran
    assert ran > 3
    assert unused._array.call.done is False
    product = y @ x
    assert lazy.ran == ran
    assert numbers(product) == [[202.0, 286.0], [434.0, 614.0]]


def test_what_was_read_before_a_write_is_what_was_there(lazy: LazyBackend) -> None:
    x = tr.to(tr.tensor([1.0, 2.0, 3.0]), "lazy")
    lazy.ran = 0
    target = tr.mutable_view(x)
    before, backwards = x + 0.0, x[::-1]
    tr.copy_into(target[:2], x[1:] * 10.0)
    between = x + 0.0
    tr.copy_into(target[2:], between[:1])

    assert lazy.ran == 0
    assert numbers(x + 0.0) == [20.0, 30.0, 20.0]
    assert numbers(between) == [20.0, 30.0, 3.0]
    assert numbers(before) == [1.0, 2.0, 3.0]
    assert numbers(backwards) == [20.0, 30.0, 20.0]


def test_what_answers_and_what_refuses_values_runs_at_once(lazy: LazyBackend) -> None:
    x = tr.to(tr.tensor([0.0, 2.0, 3e10]), "lazy")
    (places,) = tr.nonzero(x)

    assert places.shape == (2,)
    with pytest.raises(CastRangeError):
        tr.cast(x, tr.I32)


def test_a_long_chain_needs_no_recursion(lazy: LazyBackend) -> None:
    x = tr.zeros((2,), placement="lazy")
    for _ in range(5000):
        x = x + 1.0

    assert numbers(x) == [5000.0, 5000.0]
