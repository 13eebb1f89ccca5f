"""Fused chains: the same results and errors as the function itself, on backends with and without programs."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from math import inf, nan
from threading import Barrier, Thread
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    BackendError,
    CastRangeError,
    DivisionByZeroError,
    DTypeError,
    OverlappingViewError,
    PlacementError,
    ReadOnlyError,
    ShapeError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result
from tensor_runtime.recording import ELEMENTWISE
from tensor_runtime.registry import registry
from tensor_runtime.testing.completeness import declared_specs
from tensor_runtime.testing.simulated import DeviceArray, SimulatedBackend


class Machine(SimulatedBackend):
    """A device that has programs as one kernel: it runs their steps with kernels of the real backend."""

    def __init__(self) -> None:
        super().__init__(tr.backend("cpu"), "machine")
        self.programs: list[Any] = []
        self.runs = 0
        self.failure: Exception | None = None

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, detail: Any, /) -> Kernel:
        if name != "elementwise_program":
            return super().bind(name, operands, result, detail)
        hash(detail)
        assert isinstance(result, Form) and result.is_compact and detail[-1][2] is result
        self.programs.append(detail)
        forms: list[Any] = [*operands]
        kernels = []
        for step, references, form in detail:
            assert form.is_compact and form.placement is result.placement
            kinds = tuple(forms[one] if type(one) is int else type(one[1]) for one in references)
            option = {"convert": "error", "cast": "error", "gelu": "none"}.get(step)
            kernels.append((super().bind(step, kinds, form, option), references))
            forms.append(form)

        def run(*arrays: Any) -> Any:
            self.runs += 1
            if self.failure is not None:
                raise self.failure
            values = [*arrays]
            for kernel, references in kernels:
                values.append(kernel(*[values[one] if type(one) is int else one[1] for one in references]))
            assert isinstance(values[-1], DeviceArray)
            return values[-1]

        return run

    def operations(self) -> frozenset[str]:
        return super().operations() | {"elementwise_program"}


@pytest.fixture
def machine() -> Iterator[Machine]:
    device = Machine()
    registry.register("machine", device)
    yield device
    registry.unregister("machine")


@pytest.fixture(params=["cpu", "machine"])
def place(request: pytest.FixtureRequest, machine: Machine) -> Any:
    return request.param


def host(x: tr.Tensor) -> Any:
    return tr.to(x, "cpu").to_numpy()


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives: its tensors on the host, or the class and message of its error."""
    try:
        value = call()
    except TensorError as error:
        return type(error), str(error)
    return [(x._form, host(x)) for x in (value if isinstance(value, tuple) else (value,))]


def agree(found: Any, expected: Any, rounding: float = 0.0) -> bool:
    """Whether two outcomes are one; elements may differ by a relative rounding, and NaN equals NaN."""
    if isinstance(found, tuple) or isinstance(expected, tuple):
        return bool(found == expected)
    forms = [form for form, _ in found] == [form for form, _ in expected]
    pairs = zip(found, expected, strict=True)
    return forms and all(np.allclose(a, b, rtol=rounding, atol=0.0, equal_nan=True) for (_, a), (_, b) in pairs)


def same(function: Callable[..., Any], *arguments: Any, rounding: float = 0.0) -> Any:
    """The outcome, which is the same for the function, for the fused one at first, and for the fused one again.

    What is wrong with dtypes and shapes is found before what is wrong with elements.
    """
    fused = tr.fuse(function)
    try:
        tr.infer(function, *arguments)
        expected = outcome(lambda: function(*arguments))
    except TensorError as error:
        expected = type(error), str(error)
    for _ in range(2):
        found = outcome(lambda: fused(*arguments))
        assert agree(found, expected, rounding), (found, expected)
    return expected


ROUNDING: Final = 1e-14  # of exp and sin, which a kernel for programs may compute in another way


def gauss(x: Any, y: Any, z: Any) -> Any:
    return tr.exp(-x * x) * tr.sin(y) + z


def test_a_chain_gives_what_the_function_gives(place: str, machine: Machine) -> None:
    x = tr.to(tr.tensor([[1.0, 2.0], [3.0, 4.0]]), place)

    same(gauss, x, x + 1, x * 2, rounding=ROUNDING)
    same(gauss, x, x[0], 2, rounding=ROUNDING)
    same(gauss, x.T, x[::-1, 1:], tr.to(tr.tensor(1.5), place), rounding=ROUNDING)
    same(gauss, x, tr.convert(x, "C64"), tr.cast(x, "F32"), rounding=1e-6)
    same(gauss, tr.to(tr.zeros((2, 0)), place), x[:, :1], True, rounding=ROUNDING)
    assert machine.runs == (10 if place == "machine" else 0)


def test_a_program_has_the_shape_that_backends_rely_on(machine: Machine) -> None:
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


def test_steps_that_a_result_does_not_need_are_left_out(machine: Machine) -> None:
    x = tr.to(tr.ones(2), "machine")

    def two(x: Any) -> Any:
        unused = tr.exp(x)
        return tr.sin(x), tr.cos(unused) if x.rank == 2 else tr.tan(x) + 1

    same(two, x, rounding=ROUNDING)
    assert [[name for name, _, _ in program] for program in machine.programs] == [["sin"], ["tan", "add"]]


def test_operands_that_a_result_does_not_need_are_left_out(machine: Machine) -> None:
    x = tr.to(tr.tensor([[1.0, 2.0], [3.0, 4.0]]), "machine")

    same(lambda x, y, z, n: (y - z, n * z), x, x[0], x[1] + 1, 3)
    assert [[operands for _, operands, _ in program] for program in machine.programs] == [[(0, 1)], [(1, 0)]]


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
    same(chain, *operands)


@given(chains(), some_operands())
def test_any_chain_gives_the_same_as_one_kernel(chain: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    device = Machine()
    registry.register("machine", device)
    try:
        same(chain, *[tr.to(one, "machine") if isinstance(one, tr.Tensor) else one for one in operands])
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


def test_numbers_are_arguments_by_type_and_never_baked_in(place: str, machine: Machine) -> None:
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
    same(lambda x, y: divmod(x, y), tr.tensor([7, -7]), tr.tensor([2, 2]))


def test_values_are_refused_with_the_error_of_the_operation(place: str) -> None:
    x = tr.to(tr.tensor([[1, 2], [0, 4]]), place)

    assert same(lambda x: 10 // x + 1, x)[0] is DivisionByZeroError
    assert same(lambda x, y: (x // y, x)[1] * 2, x, x)[0] is DivisionByZeroError  # also where the result needs it not
    assert same(lambda x, n: x % n, x, 0)[0] is DivisionByZeroError
    assert same(lambda x: x**-1, x)[0] is ArgumentError
    assert same(lambda x: tr.cast(x * 1e300, "I64"), x)[0] is CastRangeError
    assert same(lambda x, n: x + n, x, 2**70)[0] is CastRangeError
    assert same(lambda x: x * 2**70, x)[0] is CastRangeError
    same(lambda x, n: x < n, x, 2**70)


def test_what_cannot_fail_is_one_kernel(machine: Machine) -> None:
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


def test_a_kernel_that_fails_leaves_it_to_the_steps(machine: Machine) -> None:
    x = tr.to(tr.tensor([1.0, 2.0]), "machine")
    fused = tr.fuse(lambda x: (tr.exp(x) * 0) + x)
    several = tr.fuse(lambda x: (x, x + x))
    for failure in (ValueError("no"), CastRangeError("no"), MemoryError()):
        machine.failure = failure
        assert host(fused(x)).tolist() == [1.0, 2.0]
        assert host(several(x)[1]).tolist() == [2.0, 4.0]


def test_a_step_that_fails_is_an_error_of_our_tree() -> None:
    class Broken(SimulatedBackend):
        def bind(self, name: str, operands: Any, result: Any, detail: Any, /) -> Kernel:
            return (lambda *arrays: {}[name]) if name == "sin" else super().bind(name, operands, result, detail)

    registry.register("broken", Broken(tr.backend("cpu"), "broken", {"elementwise_program": "no"}))
    try:
        x = tr.to(tr.ones(2), "broken")
        with pytest.raises(BackendError, match="sin: the backend failed: KeyError: 'sin'"):
            tr.fuse(lambda x: tr.sin(tr.exp(x) + 1))(x)
    finally:
        registry.unregister("broken")


def test_a_backend_that_lacks_a_step_says_so() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "lacking", {"sin": "no table of sines", "elementwise_program": "no"})
    registry.register("lacking", device)
    try:
        x = tr.to(tr.ones(2), "lacking")
        same(lambda x: tr.exp(x) + 1, x, rounding=ROUNDING)
        with pytest.raises(UnsupportedOperationError, match="sin: no table of sines"):
            tr.fuse(lambda x: tr.sin(x) + 1)(x)
    finally:
        registry.unregister("lacking")


CAPTURED = tr.tensor([5.0, 6.0])
REFUSED: list[tuple[Callable[..., Any], type[TensorError], str]] = [
    (lambda x, a: x.T, UnsupportedOperationError, "transpose_view: not in a fused function; accepted there: elementw"),
    (lambda x, a: x[0], UnsupportedOperationError, "slice_view: not in a fused function"),
    (lambda x, a: tr.sum(x), UnsupportedOperationError, "sum: not in a fused function"),
    (lambda x, a: tr.softmax(x), UnsupportedOperationError, "softmax: not in a fused function"),
    (lambda x, a: x @ x, UnsupportedOperationError, "contract: not in a fused function"),
    (lambda x, a: x.mutable_view(), UnsupportedOperationError, "mutable_view: not in a fused function"),
    (lambda x, a: x + tr.full((), 1.0, placement=x.placement), UnsupportedOperationError, "full: not in a fused"),
    (lambda x, a: x * x[0].item(), UnsupportedOperationError, "slice_view: not in a fused function"),
    (lambda x, a: x * len(x.to_numpy()), UnsupportedOperationError, "asks for elements"),
    (lambda x, a: tr.download(x), UnsupportedOperationError, "download: a fused function asks for an element"),
    (lambda x, a: x * x.layout.offset, UnsupportedOperationError, "asks for the offset of a view"),
    (lambda x, a: tr.upload(tr.HostTensor.zeros((2,), tr.F64), x.placement), UnsupportedOperationError, "makes no ten"),
    (lambda x, a: x + CAPTURED, ArgumentError, "add: a fused function takes a tensor on cpu that is not one of its"),
    (lambda x, a: tr.where(x > 0, CAPTURED, x), ArgumentError, "where: a fused function takes a tensor on cpu"),
    (lambda x, a: tr.add(x, x, out=CAPTURED.mutable_view()), ArgumentError, "out: a fused function takes a tensor"),
    (lambda x, a: CAPTURED, ArgumentError, "the function returned: Tensor made elsewhere; accepted: a tensor made"),
    (lambda x, a: 3, ArgumentError, "the function returned: int; accepted"),
    (lambda x, a: (x, None), ArgumentError, "the function returned: NoneType"),
    (lambda x, a: [x], ArgumentError, "the function returned: list"),
    (lambda x, a: a, ArgumentError, "the function returned: NumberArgument"),
    (
        lambda x, a: x * (a + 1),
        UnsupportedOperationError,
        "__add__: a fused function asks for the value of an argument",
    ),
    (lambda x, a: x * (2 - a), UnsupportedOperationError, "__rsub__: .* that is a Python float"),
    (lambda x, a: x * -a, UnsupportedOperationError, "__neg__: a fused function asks for the value"),
    (lambda x, a: x * (a * a), UnsupportedOperationError, "__mul__: a fused function asks for the value"),
    (lambda x, a: x if a > 0 else -x, UnsupportedOperationError, "__gt__: a fused function asks for the value"),
    (lambda x, a: x if a else -x, UnsupportedOperationError, "__bool__: a fused function asks for the value"),
    (lambda x, a: x * float(a), UnsupportedOperationError, "__float__: a fused function asks for the value"),
    (lambda x, a: x * tr.exp(a), DTypeError, "exp: no operand is a tensor"),
    (lambda x, a: x * tr.cast(a, "F64"), UnsupportedOperationError, "an argument that is a Python float for a tensor"),
    (lambda x, a: x * a.rank, UnsupportedOperationError, "an argument that is a Python float for a tensor"),
    (lambda x, a: x @ a, ArgumentError, "matmul"),
    (lambda x, a: x & x, DTypeError, "bitwise_and: operands are F64, F64"),
    (lambda x, a: x.__setitem__(0, 1.0), ReadOnlyError, "read-only here"),
]


@pytest.mark.parametrize(("function", "error", "message"), REFUSED)
def test_what_is_no_chain_is_refused(
    function: Callable[..., Any], error: type[TensorError], message: str, place: str
) -> None:
    fused = tr.fuse(function)
    for _ in range(2):
        with pytest.raises(error, match=message):
            fused(tr.to(tr.tensor([1.0, 2.0]), place), 2.5)
    assert not len(fused._programs)


def test_the_truth_of_one_element_is_refused() -> None:
    with pytest.raises(UnsupportedOperationError, match="asks for an element, but it runs once for many calls"):
        tr.fuse(lambda x: x if x > 0 else -x)(tr.ones(()))


def test_arguments_are_tensors_and_numbers() -> None:
    fused = tr.fuse(lambda *arguments: arguments[0] + 1)
    for wrong in ("text", [1.0], None, tr.tensor([1.0]).to_numpy(), tr.tensor([1.0]).to_numpy()[0]):
        with pytest.raises(DTypeError, match=f"fuse: found an operand of type {type(wrong).__name__}; accepted: tens"):
            fused(tr.ones(2), wrong)
    for numbers in ((), (1, 2.0)):
        with pytest.raises(DTypeError, match="fuse: no operand is a tensor"):
            fused(*numbers)
    with pytest.raises(ArgumentError, match="fuse: found a int; accepted: a function of tensors"):
        tr.fuse(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        tr.fuse(lambda x, y: x + y)(tr.ones(2))


def test_operands_in_different_places_are_refused_as_ever(machine: Machine) -> None:
    x = tr.ones((2, 2))
    with pytest.raises(PlacementError, match=r"operands live in different places\n  operand 0: F64 \(2, 2\) on cpu"):
        tr.fuse(lambda x, y: (x + 1, y + 1))(x, tr.to(x, "machine"))


def test_shapes_that_do_not_broadcast_are_refused_as_ever() -> None:
    with pytest.raises(ShapeError, match=r"multiply: shapes \(2,\) and \(3,\) do not broadcast"):
        tr.fuse(lambda x, y: x * y)(tr.ones(2), tr.ones(3))


def test_exceptions_of_the_function_pass_and_nothing_is_kept() -> None:
    answers: list[Exception | None] = [LookupError("not today"), None]

    def moody(x: Any) -> Any:
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        return x + 1

    fused = tr.fuse(moody)
    with pytest.raises(LookupError, match="not today"):
        fused(tr.ones(2))
    assert host(fused(tr.ones(2))).tolist() == host(fused(tr.zeros(2) + 1)).tolist() == [2.0, 2.0]


def test_the_function_runs_once_for_each_combination_of_forms() -> None:
    runs = []
    fused = tr.fuse(lambda x, y: runs.append(x.shape) or x * y)  # type: ignore[func-returns-value]
    x = tr.ones((3, 4))
    for _ in range(3):
        fused(x, 2.0)
        fused(x[1:], 2.0)
        fused(x[:2], 3.0)  # the same form at another offset
        fused(x, x)

    assert runs == [(3, 4), (2, 4), (3, 4)]


def test_fused_functions_nest(machine: Machine) -> None:
    square = tr.fuse(lambda x: x * x)
    length = tr.fuse(lambda x, y, s: s * tr.sqrt(square(x) + square(y)))
    x = tr.to(tr.tensor([3.0, 6.0]), "machine")

    assert host(length(x, x + 1, 1.0)).tolist() == [5.0, host(length(x, x + 1, 1.0)).tolist()[1]]
    assert [name for name, _, _ in machine.programs[0]] == ["multiply", "multiply", "add", "sqrt", "multiply"]
    assert host(tr.fuse(tr.fuse(lambda x: x + 1))(x)).tolist() == [4.0, 7.0]


def test_a_fused_function_may_call_itself() -> None:
    @tr.fuse
    def lowered(x: Any, *rest: Any) -> Any:
        return lowered(x - rest[0], *rest[1:]) if rest else x

    x = tr.ones(2)
    assert lowered(x, x, 2 * x, 3.0).to_numpy().tolist() == [-5.0, -5.0]


def test_tensors_of_a_record_do_not_outlive_it() -> None:
    kept: list[Any] = []

    def leaking(x: Any) -> Any:
        kept.append(x)
        return kept[0] + x

    fused = tr.fuse(leaking)
    fused(tr.ones(2))
    for call in (lambda: fused(tr.ones(1)), lambda: tr.exp(kept[0])):
        with pytest.raises(ArgumentError, match="keeps no tensors from one call to the next"):
            call()  # type: ignore[no-untyped-call]
    with pytest.raises(ArgumentError, match="Tensor made elsewhere"):
        tr.fuse(lambda x: kept[0])(tr.ones(2))


def test_threads_may_call_a_fused_function_for_the_first_time_at_once() -> None:
    fused = tr.fuse(gauss)
    arguments = [[tr.full((n, 2), float(k)) for k in range(3)] for n in range(1, 9)]
    expected = [outcome(lambda one=one: gauss(*one)) for one in arguments]  # type: ignore[misc]
    barrier = Barrier(4)
    wrong: list[int] = []

    def run() -> None:
        barrier.wait()
        for n, one in enumerate(arguments):
            found = outcome(lambda one=one: fused(*one))  # type: ignore[misc]
            if not agree(found, expected[n], ROUNDING):
                wrong.append(n)

    threads = [Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(fused._programs) == len(arguments)


def test_out_receives_a_result(place: str) -> None:
    fused = tr.fuse(lambda x, a: x * 2 + a)
    x = tr.to(tr.tensor([1.0, 2.0, 3.0]), place)
    target = tr.to(tr.zeros(3), place)
    view = target.mutable_view()

    assert fused(x, 1, out=view) is view and host(target).tolist() == [3.0, 5.0, 7.0]
    assert fused(target, target, out=view) is view and host(target).tolist() == [9.0, 15.0, 21.0]
    assert tr.fuse(lambda x: x)(x, out=view) is view and host(target).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(OverlappingViewError):
        fused(target[:2], 1.0, out=view[1:])
    with pytest.raises(ReadOnlyError, match="out: found a Tensor"):
        fused(x, 1, out=target)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the function returns a tuple, and out= receives one tensor"):
        tr.fuse(lambda x: (x + 1, x))(x, out=view)


def test_inference_takes_fused_functions() -> None:
    fused = tr.fuse(gauss)

    assert tr.infer(fused, (tr.F32, (2, 1)), (tr.F64, (3,)), 1) == tr.tensor([[0.0] * 3] * 2)._form
    assert tr.infer(lambda x: tr.sum(fused(x, x, x), axis=0), (tr.F32, (10**6, 10**6))).nbytes == 4_000_000
    with pytest.raises(ShapeError, match="multiply: shapes"):
        tr.infer(fused, (tr.F64, (2,)), (tr.F64, (3,)), 1)


def test_programs_count_in_the_cache_and_leave_with_it() -> None:
    fused = tr.fuse(lambda x: x + 1 + 2 + 3)
    x = tr.ones((2, 2))
    fused(x), tr.add(x, x)
    before = tr.binding_cache.stats()
    fused(x.T)
    after = tr.binding_cache.stats()

    assert after.builds - before.builds >= 1 and after.bytes - before.bytes > 3600
    tr.binding_cache.clear()
    assert not len(fused._programs)
    assert fused(x).to_numpy().tolist() == [[7.0, 7.0], [7.0, 7.0]]


def test_the_cache_does_not_keep_a_fused_function_alive() -> None:
    class Model:
        def __call__(self, x: Any) -> Any:
            return x * 2

    model = Model()
    fused = tr.fuse(model)
    fused(tr.ones(2))
    seen = weakref.ref(model), weakref.ref(fused)
    del model, fused
    gc.collect()

    assert [one() for one in seen] == [None, None]


def test_a_program_can_be_read() -> None:
    fused = tr.fuse(lambda x, a: tr.where(x > 0.0, x // 3, a))
    x = tr.tensor([[1, 2, 3], [4, 5, 6]])

    assert repr(fused.program(x.T, 2.5)).splitlines()[1:] == [
        "  0  operand             I64 (3, 2), strides (2, 1)",
        "  1  operand             Python float",
        "  2  greater(0, 0.0)     Bool (3, 2)",
        "  3  floor_divide(0, 3)  I64 (3, 2)",
        "  4  where(2, 3, 1)      F64 (3, 2)",
        "result: 4",
    ]
    assert repr(tr.fuse(lambda x: x // x).program(x)).startswith(
        "program on cpu: step by step, because floor_divide of integers refuses a zero divisor\n"
    )


def test_a_fused_function_bears_the_functions_name_and_travels() -> None:
    fused = tr.fuse(gauss)

    assert fused.__name__ == "gauss" and repr(fused) == "<fused gauss>"  # type: ignore[attr-defined]
    x = tr.ones(2)
    for twin in (pickle.loads(pickle.dumps(fused)), copy.deepcopy(fused)):
        assert agree(outcome(lambda twin=twin: twin(x, x, 1)), outcome(lambda: fused(x, x, 1)))  # type: ignore[misc]


def test_every_elementwise_operation_can_be_recorded_and_nothing_else() -> None:
    elementwise = {"same_shape", "broadcast", "broadcast_three", "equal_shapes", "three_equal_shapes"}
    kernels = {
        spec.kernel
        for spec in declared_specs().values()
        if getattr(getattr(spec, "result_shape", None), "__name__", "") in elementwise and not spec.detailed  # type: ignore[union-attr]
    }

    assert kernels | {"convert", "cast", "gelu"} == ELEMENTWISE


def test_the_backend_of_records_is_listed_and_described() -> None:
    assert "recording" in [row.name for row in tr.backends()]
    backend = tr.backend("recording")
    assert backend.describe() == {"computes": "nothing; notes the steps of fused functions"}
    assert not backend.operations() and not backend.unsupported()
    backend.synchronize()
