"""A backend that gives something else than it was asked for is told by name, in the mode that looks at results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, BackendContractError
from tensor_runtime.backends.plugins import result_checks
from tensor_runtime.backends.registry import registry
from tensor_runtime.protocols import Kernel, Operand, Result
from tensor_runtime.testing.kernel_contracts import checked_results
from tensor_runtime.testing.simulated_device import DeviceArray, SimulatedBackend


class LyingBackend(SimulatedBackend):
    """Gives what ``lie`` makes of the true result of ``sqrt``, and of a few kernels more."""

    lie: Callable[[Any], Any] = staticmethod(lambda found: found)

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        kernel = super().bind(name, operands, result, params)
        if name not in ("sqrt", "sort", "copy_into", "nonzero", "transpose_view"):
            return kernel
        return lambda *arrays: self.lie(kernel(*arrays))


@pytest.fixture(scope="module")
def liar() -> Iterator[LyingBackend]:
    backend = LyingBackend(tr.backend("cpu"), "liar", devices=2)
    tr.register_backend("liar", backend)
    try:
        yield backend
    finally:
        registry.unregister("liar")


def inside(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda found: DeviceArray(change(found.inside))


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (inside(lambda array: array[:-1]), r"an array of shape \(1, 3\), bound to \(2, 3\)"),
        (inside(lambda array: array.astype("float32")), "an array of float32, bound to float64"),
        (inside(lambda array: array.T.copy().T), "an array of strides"),
        (inside(lambda array: array.tolist()), "an array a list, no array"),
        (lambda found: found.inside, "a ndarray"),
        (lambda found: None, "a NoneType"),
        (lambda found: (found, found), "a tuple"),
    ],
)
def test_a_lie_is_told_with_backend_operation_expected_and_found(
    liar: LyingBackend, lie: Callable[[Any], Any], said: str
) -> None:
    x = tr.to(tr.tensor([[1.0, 4.0], [9.0, 16.0], [25.0, 36.0]]), "liar:0")
    out = tr.mutable_view(tr.zeros((3, 2), placement="liar:0"))
    liar.lie = lie
    try:
        with checked_results():
            with pytest.raises(BackendContractError, match=rf"^sqrt: the liar backend gave {said}") as caught:
                tr.sqrt(x)
            with pytest.raises(BackendContractError):
                tr.sqrt(x, out=out)
    finally:
        liar.lie = staticmethod(lambda found: found)
    assert (caught.value.operation, caught.value.backend) == ("sqrt", "liar")
    assert caught.value.expected is x._form
    assert "expected Form(F64, (3, 2), liar:0)" in str(caught.value)
    assert tr.download(out).to_nested() == [[0.0, 0.0]] * 3
    assert tr.download(tr.sqrt(x)).to_nested() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: tr.copy_into(tr.mutable_view(tr.zeros(3, placement="liar:0")), x), "copy_into: .* writes into"),
        (tr.nonzero, "nonzero: .* where it counts"),
        (tr.transpose, "transpose_view: .* gave a int"),
    ],
)
def test_kernels_that_write_count_or_view_are_looked_at(
    liar: LyingBackend, call: Callable[[tr.Tensor], Any], said: str
) -> None:
    x = tr.to(tr.tensor([1.0, 2.0, 3.0]), "liar:0")
    liar.lie = lambda found: 7
    try:
        with checked_results(), pytest.raises(BackendContractError, match=said):
            call(x if call is not tr.transpose else tr.full((2, 2), 1.0, placement="liar:0"))
    finally:
        liar.lie = staticmethod(lambda found: found)


def test_without_the_mode_kernels_are_what_the_backend_gave(liar: LyingBackend) -> None:
    form = tr.ones(2)._form
    backend = tr.backend("cpu")
    bound = backend.bind("exp", (form,), form, None)

    assert registry.bind("exp", (form,), form, None).__class__ is bound.__class__
    with checked_results():
        kernel = registry.bind("exp", (form,), form, None)
        assert type(kernel) is result_checks.CheckedResults
        assert re.sub(r" at 0x\w+", "", repr(kernel)) == re.sub(r" at 0x\w+", "", repr(bound))


def test_what_a_true_backend_gives_passes() -> None:
    with checked_results():
        x = tr.tensor([[4.0, 1.0], [9.0, 16.0]])
        assert tr.sum(tr.sort(x.T, axis=0)[::-1] + x).item() == 60.0
        assert tr.nonzero(x)[0].shape == (4,)


def test_the_variable_is_read_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(result_checks.VARIABLE, "1")
    assert result_checks.asked_for()
    monkeypatch.setenv(result_checks.VARIABLE, "yes")
    with pytest.raises(ArgumentError, match="accepted: 0, 1, or unset"):
        result_checks.asked_for()
