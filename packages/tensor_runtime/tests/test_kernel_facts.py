"""Facts about kernels: stated by specs, asked by name, and the only list of what can be fused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.dtypes import REAL
from tensor_core.errors import ArgumentError, DivisionByZeroError, UnsupportedOperationError
from tensor_runtime.backends import kernel_facts
from tensor_runtime.backends.kernel_facts import ELEMENTWISE, UNSTATED, VIEW, KernelFacts, facts_of, state, stated
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.xp_tables import elementwise as rows
from tensor_runtime.contracts.views import ConvertParams
from tensor_runtime.dispatch.call import execute_binary, execute_unary, execute_with_params
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.dispatch.spec import ElementwiseSpec, OpSpec, ViewSpec
from tensor_runtime.testing.completeness import declared_specs
from tensor_runtime.testing.fused import fused_outcome
from tensor_runtime.testing.simulated_device import ProgramBackend


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test states is not known to the next one."""
    monkeypatch.setattr(kernel_facts, "_STATED", dict(kernel_facts._STATED))


def half(operands: Any, result: Any, params: Any) -> Any:
    """Half of an array, by the kernels of ``cpu``."""
    return tr.backend("cpu").bind("multiply", (operands[0], float), result, None)


def gap(operands: Any, result: Any, params: Any) -> Any:
    """The difference of two operands."""
    return tr.backend("cpu").bind("subtract", operands, result, None)


@pytest.fixture
def brought() -> Iterator[None]:
    """The kernels ``half`` and ``gap`` for the cpu, from outside."""
    registry.register_kernel("cpu", "outside_half", lambda *forms: lambda x: half(*forms)(x, 0.5))
    registry.register_kernel("cpu", "outside_gap", gap)
    yield
    registry.unregister_kernel("cpu", "outside_half")
    registry.unregister_kernel("cpu", "outside_gap")


class Aliased:
    """The cpu backend, with kernels under other names as well."""

    def __init__(self, **aliases: str) -> None:
        self.aliases = aliases

    def __getattr__(self, name: str) -> Any:
        return getattr(tr.backend("cpu"), name)

    def bind(self, name: str, *rest: Any) -> Any:
        return tr.backend("cpu").bind(self.aliases.get(name, name), *rest)

    def operations(self) -> frozenset[str]:
        return tr.backend("cpu").operations() | self.aliases.keys()


@pytest.fixture
def device() -> Iterator[ProgramBackend]:
    """A device that has programs and, itself, the kernels ``outside_minus`` and ``outside_sum``."""
    device = ProgramBackend(Aliased(outside_minus="negative", outside_sum="add"), "aliased")
    registry.register(device.name, device)
    yield device
    registry.unregister(device.name)


def test_a_kernel_of_which_nothing_is_stated_is_pure_and_not_elementwise() -> None:
    assert facts_of("unheard_of") == KernelFacts(elementwise=False, effect="pure", view=False, refuses=None)
    assert not facts_of("unheard_of").checks_values


def test_specs_state_the_facts_of_their_kernels() -> None:
    assert facts_of("floor") == ELEMENTWISE and facts_of("sum") == UNSTATED
    assert facts_of("transpose_view") == facts_of("mutable_view") == VIEW
    writing = {name for name, one in stated().items() if one.effect == "writes"}
    of_families = {name for name in writing if name == "add_into" or name.endswith("_overwriting")}  # where imported
    assert writing - of_families == {"copy_into", "put_along_axis"}
    assert {name for name, one in stated().items() if one.effect == "answers"} == {"nonzero", "unique"}
    assert all(
        facts_of(name).checks_values for name in ("floor_divide", "div", "pow", "cast", "take", "put_along_axis")
    )
    assert not any(facts_of(name).checks_values for name in ("floor_divide_unchecked", "add", "convert", "nonzero"))


def test_a_spec_tells_the_facts_of_the_kernel_that_it_binds() -> None:
    spec = OpSpec("wide", result_shape=lambda operation, shape: shape, kernel="outside_wide", facts=ELEMENTWISE)

    assert spec.facts is facts_of("outside_wide") is ELEMENTWISE
    assert facts_of("wide") is UNSTATED
    assert ViewSpec("outside_view", lambda form, params: (form.shape, form.strides)).facts == VIEW


def test_a_second_spec_of_a_kernel_need_state_nothing_and_may_not_contradict() -> None:
    def shape(operation: str, shape: Any) -> Any:
        return shape

    assert OpSpec("add", result_shape=shape).facts.elementwise
    state("add", KernelFacts(elementwise=True))  # as a module does that is imported anew
    with pytest.raises(ArgumentError, match=r"add: its facts are stated already.*: elementwise is True, not False"):
        OpSpec("add", result_shape=shape, facts=KernelFacts(effect="writes"))
    with pytest.raises(ArgumentError, match=r"floor_divide: its facts are stated already.*: refuses is .*zero_divisor"):
        OpSpec("floor_divide", result_shape=shape, facts=ELEMENTWISE)
    assert facts_of("add") == ELEMENTWISE


def test_elementwise_operations_have_one_to_three_operands() -> None:
    with pytest.raises(ArgumentError, match="four: an elementwise operation of 4 operands; accepted: 1, 2 or 3"):
        ElementwiseSpec("four", 4)
    assert facts_of("four") is UNSTATED


def test_every_row_of_an_array_namespace_is_an_elementwise_kernel_of_so_many_operands() -> None:
    specs = {spec.kernel: spec for spec in declared_specs().values() if isinstance(spec, ElementwiseSpec)}

    for operands, names in ((1, rows.UNARY), (2, rows.BINARY)):
        for name in names:
            specs[name].infer((tr.ones(2, dtype="Bool" if "logical" in name else "I32")._form,) * operands)
    assert not {*rows.UNARY, *rows.BINARY} - specs.keys()


def test_an_elementwise_kernel_from_outside_is_fused(brought: None) -> None:
    spec = ElementwiseSpec("outside_half", accepts=REAL, result_dtype=inexact)
    other = OpSpec("outside_gap", binary=True, result_shape=lambda operation, a, b: a, facts=ELEMENTWISE)
    x, y = tr.tensor([[1.0, 4.0], [9.0, 16.0]]), tr.tensor([[2.0, 2.0], [0.5, 8.0]])

    def function(x: tr.Tensor, y: tr.Tensor) -> tr.Tensor:
        return execute_binary(other, execute_unary(spec, tr.sqrt(x)), y) * y

    (found,) = fused_outcome(function, x, y)  # agrees with the function itself, also for views
    assert found.to_numpy().tolist() == [[-3.0, -2.0], [0.5, -48.0]]  # type: ignore[union-attr]
    fused_outcome(function, x.T, y[::-1])
    assert repr(tr.fuse(function).program(x, y)).startswith(
        "program on cpu: step by step, because the cpu backend itself has no kernel outside_half\n"
    )


def test_an_elementwise_kernel_that_nobody_brings_is_refused_by_its_name() -> None:
    spec = ElementwiseSpec("outside_half")

    for function in (lambda x: execute_unary(spec, x), tr.fuse(lambda x: execute_unary(spec, x) + 1)):
        with pytest.raises(UnsupportedOperationError, match="outside_half: the cpu backend has no such operation"):
            function(tr.ones(2))


def test_a_backend_that_has_the_kernel_itself_takes_it_into_its_programs(device: ProgramBackend) -> None:
    spec = ElementwiseSpec("outside_minus")
    fused = tr.fuse(lambda x: execute_unary(spec, x) + 1)

    found = fused(tr.to(tr.tensor([1.0, 2.0]), "aliased"))

    assert tr.download(found).to_nested() == [0.0, -1.0]
    assert device.runs == 1


def test_a_kernel_from_outside_of_which_nothing_is_stated_is_not_fused(brought: None) -> None:
    spec = OpSpec("outside_gap", binary=True, result_shape=lambda operation, a, b: a)

    with pytest.raises(UnsupportedOperationError, match="outside_gap: not in a fused function"):
        tr.fuse(lambda x: execute_binary(spec, x, x))(tr.ones(2))


def test_what_a_kernel_from_outside_refuses_keeps_it_out_of_one_kernel(device: ProgramBackend) -> None:
    def odd(kernel: str, operands: tuple[Any, ...], result: Any, params: Any) -> str | None:
        return None if operands[1] == 2 else f"{kernel} may meet an odd number"

    spec = ElementwiseSpec("add", 2, kernel="outside_sum", refuses=odd)
    x = tr.to(tr.ones(2), "aliased")

    for number, because in ((2, None), (3, "outside_sum may meet an odd number")):
        program = tr.fuse(lambda x, number=number: execute_binary(spec, x, number)).program(x)
        assert program.stepwise_because == because


def test_an_option_of_an_elementwise_kernel_keeps_it_out_of_one_kernel() -> None:
    x = tr.ones(2)

    assert tr.fuse(lambda x: tr.gelu(x)).program(x).stepwise_because == "gelu has the option 'none'"
    assert tr.fuse(lambda x: tr.convert(x, "C64")).program(x).stepwise_because is None
    assert tr.fuse(lambda x: tr.cast(x, "F32")).program(x).stepwise_because is None
    cast = facts_of("cast")
    for policy, because in (("error", "cast to integers has the policy 'error'"), ("wrap", None)):
        form = tr.ones(2, dtype="I32")._form
        assert cast.refuses is not None
        assert cast.refuses("cast", (x._form,), form, ConvertParams(policy)) == because  # type: ignore[arg-type]
    wrapped = tr.fuse(lambda x: tr.cast(x, "I32", "wrap"))
    assert wrapped.program(x).stepwise_because == "cast to integers has the policy 'wrap'"


def test_a_known_divisor_is_no_value_to_be_refused() -> None:
    x = tr.tensor([5, 7])

    assert tr.fuse(lambda x: x // 2).program(x).stepwise_because is None
    for function in (lambda x: x // 0, lambda x: x // x):
        because = tr.fuse(function).program(x).stepwise_because
        assert because == "floor_divide of integers refuses a zero divisor"
    with pytest.raises(DivisionByZeroError):
        tr.fuse(lambda x: x // 0)(x)


def test_kernels_that_answer_are_refused_where_there_are_no_elements() -> None:
    with pytest.raises(
        UnsupportedOperationError, match="nonzero: a fused function asks for the shape of a result that"
    ):
        tr.fuse(lambda x: tr.nonzero(x)[0])(tr.ones(2))
    with pytest.raises(
        UnsupportedOperationError, match=r"unique: the result's shape depends on the elements.* has none"
    ):
        tr.infer(tr.unique, (tr.F64, (3,)))


def test_params_that_say_nothing_more_are_those_of_execute(brought: None) -> None:
    spec = OpSpec(
        "outside_half", result_shape=lambda operation, shape, params: shape, takes_params=True, facts=ELEMENTWISE
    )
    x = tr.tensor([2.0, 4.0])

    (found,) = fused_outcome(lambda x: execute_with_params(spec, x, "gently") + 0, x)
    assert found.to_numpy().tolist() == [1.0, 2.0]  # type: ignore[union-attr]
