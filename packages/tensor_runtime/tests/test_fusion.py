"""Fused chains: the same results and errors as the function itself, on backends with and without programs."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    BackendError,
    CastRangeError,
    DivisionByZeroError,
    TensorError,
)
from tensor_runtime.backends.registry import registry
from tensor_runtime.protocols import Kernel
from tensor_runtime.testing.fused import fused_outcome
from tensor_runtime.testing.simulated_device import ProgramBackend, SimulatedBackend


def host(x: tr.Tensor) -> Any:
    return tr.to(x, "cpu").to_numpy()


ULPS: Final = 64  # of exp and sin, which a kernel for programs may compute in another way


def gauss(x: Any, y: Any, z: Any) -> Any:
    return tr.exp(-x * x) * tr.sin(y) + z


def test_a_chain_gives_what_the_function_gives(place: str, machine: ProgramBackend) -> None:
    x = tr.to(tr.tensor([[1.0, 2.0], [3.0, 4.0]]), place)

    fused_outcome(gauss, x, x + 1, x * 2, ulps=ULPS)
    fused_outcome(gauss, x, x[0], 2, ulps=ULPS)
    fused_outcome(gauss, x.T, x[::-1, 1:], tr.to(tr.tensor(1.5), place), ulps=ULPS)
    fused_outcome(gauss, x, tr.convert(x, "C64"), tr.cast(x, "F32"), ulps=ULPS)
    fused_outcome(gauss, tr.to(tr.zeros((2, 0)), place), x[:, :1], True, ulps=ULPS)
    assert machine.runs == (10 if place == "machine" else 0)


def test_a_program_has_the_shape_that_backends_rely_on(machine: ProgramBackend) -> None:
    x = tr.to(tr.ones((2, 3)), "machine")
    row = x[0]

    tr.fuse(lambda a, b, c: tr.where(a > b, a * 2.5, c) - a)(x, row, 7)

    (program,) = machine.programs
    assert [(name, operands) for name, operands, _ in program] == [
        ("greater", (0, 1)),
        ("multiply", (0, ("constant", 2.5))),
        ("where", (3, 4, 2)),
        ("subtract", (5, 0)),
    ]
    assert [(form.dtype, form.shape) for _, _, form in program] == [(tr.Bool, (2, 3))] + [(tr.F64, (2, 3))] * 3


def test_steps_that_a_result_does_not_need_are_left_out(machine: ProgramBackend) -> None:
    x = tr.to(tr.ones(2), "machine")

    def two(x: Any) -> Any:
        unused = tr.exp(x)
        return tr.sin(x), tr.cos(unused) if x.rank == 2 else tr.tan(x) + 1

    fused_outcome(two, x, ulps=ULPS)
    assert [[name for name, _, _ in program] for program in machine.programs] == [["sin"], ["tan", "add"]]


def test_operands_that_a_result_does_not_need_are_left_out(machine: ProgramBackend) -> None:
    x = tr.to(tr.tensor([[1.0, 2.0], [3.0, 4.0]]), "machine")

    fused_outcome(lambda x, y, z, n: (y - z, n * z), x, x[0], x[1] + 1, 3)
    assert [[operands for _, operands, _ in program] for program in machine.programs] == [[(0, 1)], [(1, 0)]]


def test_a_number_that_only_smaller_steps_use_leaves_one_kernel(place: str) -> None:
    x = tr.to(tr.tensor([[1.0, 2.0], [3.0, 4.0]]), place)
    fused = tr.fuse(lambda x, row, n: (row + n) * x)

    for _ in range(2):
        assert host(fused(x, x[0], 3)).tolist() == [[4.0, 10.0], [12.0, 20.0]]
    fused_outcome(lambda n, x, row, m: (row * n - m) + x, 2, x, x[0], 3)


WAYS: tuple[Callable[..., Any], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: tr.maximum(a, b),
    lambda a, b: tr.where(a < b, a, b),
    lambda a, b: tr.clip(a, -2, b),
    lambda a, b: a // b,
    lambda a, b: a % 3,
    lambda a, b: tr.floor_divide(a, b, check=False),
    lambda a, b: a**2,
    lambda a, b: -a,
    lambda a, b: abs(a),
    lambda a, b: tr.convert(a, "F64"),
    lambda a, b: tr.cast(a, "I32"),
    lambda a, b: tr.cast(a, "I32", overflow="wrap"),
    lambda a, b: tr.cast(a, "F32"),
    lambda a, b: tr.real(a),
    lambda a, b: a == b,
    lambda a, b: a / b,
    lambda a, b: tr.sqrt(a),
    lambda a, b: tr.gelu(a),
    lambda a, b: tr.gelu(a, approximate="tanh"),
    lambda a, b: tr.floor(a),
    lambda a, b: tr.copy(a),
    lambda a, b: tr.primitives.mul(a, a),
)


@st.composite
def chains(draw: st.DrawFn) -> Callable[..., Any]:
    """A function of three operands: up to eight steps, each of two values met before."""
    count = draw(st.integers(1, 8))
    steps = [
        (draw(st.sampled_from(WAYS)), draw(st.integers(0, 99)), draw(st.integers(0, 99)))
        for _ in range(count)
    ]  # fmt: skip

    def chain(*operands: Any) -> Any:
        values = [*operands]
        for way, i, j in steps:
            tensors = values[:2] + values[3:]  # the third operand may be a number
            values.append(way(tensors[-1 - i % len(tensors)], values[-1 - j % len(values)]))
        return values[-1]

    return chain


@st.composite
def some_operands(draw: st.DrawFn) -> tuple[Any, ...]:
    """Small whole numbers of mixed dtypes, in shapes that broadcast, as views or compact; the last may be a number."""

    def operand(shape: tuple[int, ...]) -> tr.Tensor:
        whole = [draw(st.integers(-3, 4)) for _ in range(24)]
        x = tr.reshape_view(tr.tensor(whole), (2, 3, 4))
        x = x[tuple(slice(None, None, draw(st.sampled_from([1, -1]))) for _ in range(3))]
        x = tr.broadcast_to(x[:1, :1, :1], (2, 3, 4)) if draw(st.booleans()) else x
        return tr.cast(x, draw(st.sampled_from(["F64", "F32", "I32", "I64", "Bool"])))[shape]

    full, line = (slice(None),) * 3, (0, slice(None), slice(None))
    picks: list[Any] = [full, full, line, (slice(0, 1), 1, slice(None)), (0, 0, 0), (slice(0, 0), 0, slice(0, 1))]
    last = draw(st.one_of(st.sampled_from([True, 2, -1, 0.5, inf, nan]), st.none()))
    first, second, third = (operand(draw(st.sampled_from(picks))) for _ in range(3))
    return first, second, third if last is None else last


@given(chains(), some_operands())
def test_any_chain_gives_the_same_bits_and_the_same_errors(
    chain: Callable[..., Any], operands: tuple[Any, ...]
) -> None:
    fused_outcome(chain, *operands)


@given(chains(), some_operands())
def test_any_chain_gives_the_same_as_one_kernel(chain: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    device = ProgramBackend(tr.backend("cpu"), "machine")
    registry.register("machine", device)
    try:
        fused_outcome(chain, *[tr.to(one, "machine") if isinstance(one, tr.Tensor) else one for one in operands])
    finally:
        registry.unregister("machine")


@given(chains(), some_operands())
def test_inference_agrees_with_the_call(chain: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    fused = tr.fuse(chain)
    try:
        expected = fused(*operands)._form
    except TensorError:
        return
    assert tr.infer(fused, *operands) is expected


def test_whole_numbers_are_exact_through_a_long_chain(place: str) -> None:
    def collatz(x: Any) -> Any:
        for _ in range(300):
            x = tr.where(x == 1, x, tr.where(x % 2 == 0, x // 2, 3 * x + 1))
        return x

    assert host(tr.fuse(collatz)(tr.to(tr.arange(1, 30), place))).tolist() == [1] * 29


def test_numbers_are_arguments_by_type_and_never_baked_in(place: str, machine: ProgramBackend) -> None:
    fused = tr.fuse(lambda x, a, b: (x + a) * b)
    x = tr.to(tr.tensor([1, 2]), place)

    assert host(fused(x, 1, 2)).tolist() == [4, 6]
    assert host(fused(x, 10, 3)).tolist() == [33, 36]
    assert host(fused(x, 0.5, 2)).tolist() == [3.0, 5.0]
    assert host(fused(1, x, 2)).tolist() == [4, 6]
    assert host(tr.fuse(lambda c, x, y: tr.where(c, x, y))(False, x, x + 1)).tolist() == [2, 3]
    assert len(fused._programs) == 3
    assert len(machine.programs) == (4 if place == "machine" else 0)


def test_an_argument_that_is_returned_is_returned_itself(place: str) -> None:
    x = tr.to(tr.ones(3), place)
    mutable = tr.to(tr.ones(3), place).mutable_view()

    assert tr.fuse(lambda x: x)(x) is x
    assert tr.fuse(lambda x, y: (y, x * y, x))(x, mutable)[0] is mutable
    twice = tr.fuse(lambda x: (x + 1,) * 2)(x)
    assert twice[0] is twice[1]


def test_tuples_keep_their_class() -> None:
    class Pair(NamedTuple):
        low: Any
        high: Any

    pair = tr.fuse(lambda x: Pair(x - 1, x + 1))(tr.tensor([1.0]))

    assert type(pair) is Pair and pair.high.item() == 2.0
    assert tr.fuse(lambda x: ())(tr.tensor([1.0])) == ()
    fused_outcome(lambda x, y: divmod(x, y), tr.tensor([7, -7]), tr.tensor([2, 2]))


def test_values_are_refused_with_the_error_of_the_operation(place: str) -> None:
    x = tr.to(tr.tensor([[1, 2], [0, 4]]), place)

    assert fused_outcome(lambda x: 10 // x + 1, x)[0] is DivisionByZeroError
    assert (
        fused_outcome(lambda x, y: (x // y, x)[1] * 2, x, x)[0] is DivisionByZeroError
    )  # also where the result needs it not
    assert fused_outcome(lambda x, n: x % n, x, 0)[0] is DivisionByZeroError
    assert fused_outcome(lambda x: x**-1, x)[0] is ArgumentError
    assert fused_outcome(lambda x: tr.cast(x * 1e300, "I64"), x)[0] is CastRangeError
    assert fused_outcome(lambda x, n: x + n, x, 2**70)[0] is CastRangeError
    assert fused_outcome(lambda x: x * 2**70, x)[0] is CastRangeError
    fused_outcome(lambda x, n: x < n, x, 2**70)


def test_what_cannot_fail_is_one_kernel(machine: ProgramBackend) -> None:
    x = tr.to(tr.tensor([[1, 2], [0, 4]]), "machine")
    real = tr.convert(x, "F64")

    def one_kernel(function: Callable[..., Any], *arguments: Any) -> bool:
        return tr.fuse(function).program(*arguments).stepwise_because is None

    assert one_kernel(lambda x: x // 2 % 3, x) and one_kernel(lambda x: x // x, real)
    assert one_kernel(lambda x: x**2, x) and one_kernel(lambda x, n: x**n, real, -1)
    assert one_kernel(lambda x: tr.cast(x, "F32"), real) and one_kernel(lambda x: tr.cast(x, "I64"), x)
    assert one_kernel(lambda x: tr.floor_divide(x, x, check=False), x)
    assert not one_kernel(lambda x, n: x // n, x, 2) and not one_kernel(lambda x: x // 0, x)
    assert not one_kernel(lambda x, n: x**n, x, 2) and not one_kernel(tr.gelu, real)
    assert not one_kernel(lambda x: tr.cast(x, "I32"), real)


def test_a_kernel_that_refuses_a_value_leaves_it_to_the_steps(machine: ProgramBackend) -> None:
    x = tr.to(tr.tensor([1.0, 2.0]), "machine")
    fused = tr.fuse(lambda x: (tr.exp(x) * 0) + x)
    several = tr.fuse(lambda x: (x, x + x))
    for failure in (DivisionByZeroError("no"), CastRangeError("no"), ArgumentError("no")):
        machine.failure = failure
        assert host(fused(x)).tolist() == [1.0, 2.0]
        assert host(several(x)[1]).tolist() == [2.0, 4.0]


def test_a_step_that_fails_is_an_error_of_our_tree() -> None:
    class Broken(SimulatedBackend):
        def bind(self, name: str, operands: Any, result: Any, params: Any, /) -> Kernel:
            return (lambda *arrays: {}[name]) if name == "sin" else super().bind(name, operands, result, params)

    registry.register("broken", Broken(tr.backend("cpu"), "broken", {"elementwise_program": "no"}))
    try:
        x = tr.to(tr.ones(2), "broken")
        with pytest.raises(BackendError, match="sin: the backend failed: KeyError: 'sin'"):
            tr.fuse(lambda x: tr.sin(tr.exp(x) + 1))(x)
    finally:
        registry.unregister("broken")
