"""A kernel that fails is called once, and what it raises never looks like a binding that is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    BackendError,
    CastRangeError,
    OutOfMemoryError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_einsum import einsum, plan
from tensor_linalg import svd
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import ProgramBackend, SimulatedBackend


class Failing(SimulatedBackend):
    """A device whose kernels count their calls and raise ``error``, when it is set."""

    def __init__(self) -> None:
        super().__init__(tr.backend("cpu"), "failing", {"elementwise_program": "steps are to be seen"})
        self.error: Exception | None = None
        self.calls: list[str] = []

    def bind(self, name: str, *rest: Any) -> Callable[..., Any]:
        kernel = super().bind(name, *rest)

        def counted(*arguments: Any) -> Any:
            self.calls.append(name)
            if self.error is not None:
                raise self.error
            return kernel(*arguments)

        return counted


@pytest.fixture(scope="module")
def device() -> Iterator[Failing]:
    made = Failing()
    tr.register_backend("failing", made)
    yield made
    registry.unregister("failing")


def at(device: Failing, *shape: int) -> tr.Tensor:
    return tr.to(tr.ones(shape), device.placement())


CHAIN = plan("ij,jk,kl,lm->im", *[(2, 2)] * 4)


def polynomial(x: tr.Tensor) -> tr.Tensor:
    return x * x + 1.0


FUSED = tr.fuse(polynomial)

CALLS: dict[str, Callable[[tr.Tensor], Any]] = {
    "unary": tr.negative,
    "binary": lambda x: tr.add(x, x),
    "operator": lambda x: x * x,
    "number": lambda x: x + 1.0,
    "number by function": lambda x: tr.multiply(2.0, x),
    "ternary": lambda x: tr.clip(x, x, x),
    "ternary with numbers": lambda x: tr.clip(x, 0.0, 1.0),
    "params": lambda x: tr.sum(x, axis=0),
    "view": lambda x: x.T,
    "pair": lambda x: tr.tensordot(x, x, axes=1),
    "several": lambda x: tr.concatenate([x, x]),
    "arguments": lambda x: tr.roll(x, 1),
    "many": svd,
    "conversion": lambda x: tr.cast(x, tr.I64),
    "creation": lambda x: tr.ones((7, 7), placement=x.placement),
    "einsum of one": lambda x: einsum("ij->ji", x),
    "einsum of two": lambda x: einsum("ij,jk->ik", x, x),
    "einsum of three": lambda x: einsum("ij,jk,kl->il", x, x, x),
    "einsum of four": lambda x: einsum("ij,jk,kl,lm->im", x, x, x, x),
    "einsum interleaved": lambda x: einsum(x, (0, 1), x, (1, 2), (0, 2)),
    "plan": lambda x: CHAIN(x, x, x, x),
    "fused, step by step": FUSED,
}


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), AttributeError("_form"), TypeError("unhashable"), RuntimeError("no power"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_that_fails_is_called_once(device: Failing, name: str, error: Exception) -> None:
    x = at(device, 2, 2)
    CALLS[name](x)  # the bindings are there now
    device.calls.clear()
    device.error = error
    try:
        with pytest.raises(TensorError) as caught:
            CALLS[name](x)
    finally:
        device.error = None

    assert len(device.calls) == 1
    assert caught.type is (OutOfMemoryError if isinstance(error, MemoryError) else BackendError)
    assert caught.value.__cause__ is error
    assert isinstance(error, MemoryError) or str(error) in str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_an_error_of_our_own_passes_unchanged_after_one_call(device: Failing, name: str) -> None:
    x = at(device, 2, 2)
    CALLS[name](x)
    error = BackendError("busy")
    device.calls.clear()
    device.error = error
    try:
        with pytest.raises(BackendError) as caught:
            CALLS[name](x)
    finally:
        device.error = None

    assert caught.value is error
    assert len(device.calls) == 1


@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_that_fails_in_its_first_call_is_called_once(device: Failing, name: str) -> None:
    x = at(device, 2, 2)
    tr.binding_cache.clear()
    device.calls.clear()
    device.error = KeyError("x")
    try:
        with pytest.raises(BackendError, match="KeyError: 'x'"):
            CALLS[name](x)
    finally:
        device.error = None

    assert len(device.calls) == 1


@pytest.mark.parametrize("name", CALLS)
def test_a_lack_of_memory_says_the_same_in_the_first_call_and_in_later_ones(device: Failing, name: str) -> None:
    x = at(device, 2, 2)
    tr.binding_cache.clear()
    device.error = MemoryError()
    said = []
    try:
        for _ in range(2):
            with pytest.raises(OutOfMemoryError) as caught:
                CALLS[name](x)
            said.append(str(caught.value))
    finally:
        device.error = None

    assert said[0] == said[1]
    assert re.search(r"the result of [1-9]\d* bytes|whose result takes \d+ B", said[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda place: tr.zeros((3, 5), placement=place),
        lambda place: tr.full((3, 5), 2.0, placement=place),
        lambda place: tr.uniform((3, 5), seed=1, placement=place),
        lambda place: tr.normal((3, 5), seed=1, placement=place),
        lambda place: tr.integers((3, 5), 0, 9, seed=1, placement=place),
    ],
)
def test_a_lack_of_memory_for_a_new_tensor_says_its_bytes(device: Failing, make: Callable[[Any], tr.Tensor]) -> None:
    device.error = MemoryError()
    try:
        for _ in range(2):
            with pytest.raises(OutOfMemoryError, match="not enough memory for the result of 120 bytes"):
                make(device.placement())
    finally:
        device.error = None


@pytest.fixture
def machine() -> Iterator[ProgramBackend]:
    made = ProgramBackend(tr.backend("cpu"), "machine")
    tr.register_backend("machine", made)
    yield made
    registry.unregister("machine")


PAIR = tr.fuse(lambda x: (x, polynomial(x)))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("fused", [FUSED, PAIR], ids=["one result", "several"])
@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (KeyError("x"), BackendError, "fuse: the backend failed: KeyError: 'x'"),
        (ValueError("no"), BackendError, "fuse: the backend failed: ValueError: no"),
        (MemoryError(), OutOfMemoryError, "fuse: not enough memory for the result of 32 bytes or a workspace"),
        (OutOfMemoryError("full"), OutOfMemoryError, "full"),
        (BackendError("busy"), BackendError, "busy"),
        (UnsupportedOperationError("not of this shape"), UnsupportedOperationError, "not of this shape"),
    ],
)
def test_what_a_fused_kernel_raises_is_never_hidden_by_its_steps(
    machine: ProgramBackend, error: Exception, kind: type[TensorError], message: str, fused: Any, first: bool
) -> None:
    x = tr.to(tr.ones((2, 2)), machine.placement())
    if not first:
        fused(x)
    machine.runs, machine.failure = 0, error
    with pytest.raises(kind) as caught:
        fused(x)
    assert (caught.type, str(caught.value), machine.runs) == (kind, message, 1)
    assert caught.value is error or caught.value.__cause__ is error


def test_a_fused_kernel_that_refuses_a_value_is_called_once_before_its_steps_run(machine: ProgramBackend) -> None:
    x = tr.to(tr.ones((2, 2)), machine.placement())
    FUSED(x)
    machine.runs, machine.failure = 0, CastRangeError("no")
    assert tr.to(FUSED(x), "cpu").to_numpy().tolist() == [[2.0, 2.0]] * 2
    assert machine.runs == 1


def test_what_is_wrong_with_a_call_is_no_consequence_of_a_missing_binding() -> None:
    for wrong in (
        lambda: tr.add(tr.ones((2,)), "x"),  # type: ignore[arg-type]
        lambda: tr.negative("x"),  # type: ignore[arg-type]
        lambda: tr.sum(tr.ones((2,)), axis=7),
        lambda: einsum("ij->", tr.ones((2,))),
        lambda: FUSED("x"),
    ):
        with pytest.raises(TensorError) as caught:
            wrong()
        chain: BaseException | None = caught.value
        while chain is not None:
            assert isinstance(chain, TensorError)
            chain = chain.__context__
