"""The first, the second, the third ... call of a backend fails, until an operation needs no more.

After each failure the operands hold the bits that they held, nothing was written into an output, and the same call
succeeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import BackendError, OutOfMemoryError
from tensor_einsum import einsum, plan
from tensor_linalg import cholesky, eigh, expm, lstsq, pinv, qr, slogdet, solve, svd, svdvals
from tensor_runtime.algebras import MAX_PLUS
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend


class Faulty(SimulatedBackend):
    """A device whose n-th call of a kernel raises, if ``fails_at`` is n."""

    def __init__(self) -> None:
        super().__init__(tr.backend("cpu"), "faulty")
        self.calls = 0
        self.fails_at = 0
        self.error: Exception = RuntimeError("no power")

    def bind(self, name: str, *rest: Any) -> Callable[..., Any]:
        kernel = super().bind(name, *rest)

        def counted(*arguments: Any) -> Any:
            self.calls += 1
            if self.calls == self.fails_at:
                raise self.error
            return kernel(*arguments)

        return counted


@pytest.fixture(scope="module")
def device() -> Iterator[Faulty]:
    made = Faulty()
    tr.register_backend("faulty", made)
    yield made
    registry.unregister("faulty")


A = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]
CHAIN = plan("ij,jk,kl,lm->im", *[(3, 3)] * 4)
OPERATIONS: dict[str, Callable[[tr.Tensor], Any]] = {
    "einsum of two": lambda x: einsum("ij,jk->ik", x, x),
    "einsum of five": lambda x: einsum("ij,jk,kl,lm,mn->in", x, x, x, x, x),
    "einsum with diagonals and sums": lambda x: einsum("ii,jk,kj->i", x, x, x),
    "einsum with a hyperedge": lambda x: einsum("ij,ik,il->jkl", x, x, x),
    "plan": lambda x: CHAIN(x, x, x, x),
    "max_plus": lambda x: einsum("ij,jk,kl->il", x, x, x, algebra=MAX_PLUS),
    "cholesky": cholesky,
    "eigh": eigh,
    "expm": expm,
    "lstsq": lambda x: lstsq(x, x),
    "pinv": pinv,
    "qr": qr,
    "slogdet": slogdet,
    "solve": lambda x: solve(x, x),
    "svd": svd,
    "svdvals": svdvals,
    "fused": tr.fuse(lambda x: tr.exp(x) * x + 1.0),
    "softmax": lambda x: tr.softmax(x, axis=0),
    "concatenate": lambda x: tr.concatenate([x, x.T[::-1]]),
}


def bits(found: Any) -> list[bytes]:
    parts = found if isinstance(found, tuple) else (found,)
    return [tr.download(part).tobytes() for part in parts if isinstance(part, tr.Tensor)]


def until_it_succeeds(device: Faulty, call: Callable[[], Any], unchanged: Callable[[], object]) -> int:
    """How many times the call failed; what it then gave is what it had given before any failure."""
    expected, before = bits(call()), unchanged()
    failures = 0
    while True:
        device.calls, device.fails_at = 0, failures + 1
        try:
            found = call()
        except (BackendError, OutOfMemoryError) as error:
            failures += 1
            assert error.__cause__ is device.error or error is device.error
        else:
            assert bits(found) == expected
            return failures
        finally:
            device.fails_at = 0
        assert unchanged() == before
        assert bits(call()) == expected


@pytest.mark.parametrize("error", [RuntimeError("no power"), MemoryError()], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_call_that_fails_at_any_kernel_leaves_nothing_behind(device: Faulty, name: str, error: Exception) -> None:
    device.error = error
    x = tr.to(tr.tensor(A), device.placement())

    failures = until_it_succeeds(device, lambda: OPERATIONS[name](x), lambda: bits(x))

    assert failures >= 1


@pytest.mark.parametrize("name", ["einsum", "add"])
def test_an_output_is_written_whole_or_not_at_all(device: Faulty, name: str) -> None:
    device.error = RuntimeError("no power")
    x = tr.to(tr.tensor(A), device.placement())
    out = tr.mutable_view(tr.zeros((3, 3), placement=device.placement()))
    calls: dict[str, Callable[[], Any]] = {
        "einsum": lambda: einsum("ij,jk,kl->il", x, x, x, out=out),
        "add": lambda: tr.add(x, x.T, out=out),
    }
    expected = bits(calls[name]())
    failures = 0
    while True:
        tr.copy_into(out, tr.full((3, 3), 7.0, placement=device.placement()))
        before = bits(out)
        device.calls, device.fails_at = 0, failures + 1
        try:
            calls[name]()
        except BackendError:
            failures += 1
        else:
            break
        finally:
            device.fails_at = 0
        assert bits(out) == before
    assert failures >= 1
    assert bits(out) == expected
