"""Calls of fused functions: what is refused, what is kept, and what travels."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any, Final

import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    OverlappingViewError,
    PlacementError,
    ReadOnlyError,
    ShapeError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_runtime.backends.kernel_facts import stated
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.completeness import declared_specs
from tensor_runtime.testing.fused import disagreement, fused_outcome, outcome
from tensor_runtime.testing.simulated_device import ProgramBackend, SimulatedBackend

ULPS: Final = 64  # of exp and sin, which a kernel for programs may compute in another way


def host(x: tr.Tensor) -> Any:
    return tr.to(x, "cpu").to_numpy()


def gauss(x: Any, y: Any, z: Any) -> Any:
    return tr.exp(-x * x) * tr.sin(y) + z


def test_a_backend_that_lacks_a_step_says_so() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "lacking", {"sin": "no table of sines", "elementwise_program": "no"})
    registry.register("lacking", device)
    try:
        x = tr.to(tr.ones(2), "lacking")
        fused_outcome(lambda x: tr.exp(x) + 1, x, ulps=ULPS)
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
    (lambda x, a: tr.add(x, x, out=CAPTURED.mutable_view()), ArgumentError, "^add: a fused function takes a tensor"),
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
    (lambda x, a: x.__setitem__(0, 1.0), ReadOnlyError, "a tensor is read-only"),
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
    with pytest.raises(UnsupportedOperationError, match="asks for the truth of an argument, but it runs once"):
        tr.fuse(lambda x: x if x > 0 else -x)(tr.ones(()))


def test_arguments_are_tensors_and_numbers() -> None:
    fused = tr.fuse(lambda *arguments: arguments[0] + 1)
    for wrong in ("text", [1.0], None, tr.tensor([1.0]).to_numpy()):
        with pytest.raises(DTypeError, match=f"fuse: found an operand of type {type(wrong).__name__}; accepted: tens"):
            fused(tr.ones(2), wrong)
    for numbers in ((), (1, 2.0)):
        with pytest.raises(DTypeError, match="fuse: no operand is a tensor"):
            fused(*numbers)
    with pytest.raises(ArgumentError, match="fuse: found a int; accepted: a function of tensors"):
        tr.fuse(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        tr.fuse(lambda x, y: x + y)(tr.ones(2))


def test_operands_in_different_places_are_refused_as_ever(machine: ProgramBackend) -> None:
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


def test_fused_functions_nest(machine: ProgramBackend) -> None:
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
            if disagreement(found, expected[n], ULPS):
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
    assert fused(x, 1, out=target) is target and host(target).tolist() == [3.0, 5.0, 7.0]
    with pytest.raises(ReadOnlyError, match="out"):
        fused(x, 1, out=target[::-1])
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
    for copied in (pickle.loads(pickle.dumps(fused)), copy.deepcopy(fused)):
        assert disagreement(outcome(lambda copied=copied: copied(x, x, 1)), outcome(lambda: fused(x, x, 1))) is None  # type: ignore[misc]


def test_every_elementwise_operation_can_be_stated_elementwise_and_nothing_else() -> None:
    elementwise = {"same_shape", "broadcast", "broadcast_three", "equal_shapes", "three_equal_shapes"}
    kernels = {
        spec.kernel
        for spec in declared_specs().values()
        if getattr(getattr(spec, "result_shape", None), "__name__", "") in elementwise and not spec.takes_params  # type: ignore[union-attr]
    }

    stated_elementwise = {name for name, facts in stated().items() if facts.elementwise}
    assert kernels | {"convert", "cast", "gelu", "elementwise_program"} == stated_elementwise


def test_the_backend_of_records_is_listed_and_described() -> None:
    assert "tracing" in [row.name for row in tr.backends()]
    backend = tr.backend("tracing")
    assert backend.describe() == {"computes": "nothing; notes the steps of fused functions"}
    assert not backend.operations() and not backend.unsupported()
    backend.synchronize()


@pytest.mark.parametrize("whole", [[1, 2], [True, False]])
def test_a_whole_number_to_a_complex_power_is_fused(whole: list[int]) -> None:
    x = tr.tensor(whole)
    assert disagreement(outcome(lambda: tr.fuse(lambda q: q**1j)(x)), outcome(lambda: x**1j)) is None


@pytest.mark.parametrize("shape", [(12,), (1,), ()])
@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("bool", lambda x: x if x > 0 else -x),
        ("item", lambda x: x * x.item()),
        ("float", lambda x: x * float(x)),
        ("int", lambda x: x * int(x)),
        ("complex", lambda x: x * complex(x)),
        ("index", lambda x: [x, x][x]),
        ("tolist", lambda x: x.tolist()),
        ("format", lambda x: f"{x:.3f}"),
    ],
)
def test_what_asks_for_elements_is_told_to_choose_with_where(name: str, ask: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(UnsupportedOperationError, match=rf"^{name}: a fused function asks for .*choose with where"):
        tr.fuse(ask)(tr.ones(shape))
