"""Rules ``lower.NAME``: on a device without the kernel the operation gives what it promises, or says why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import BackendContractError, BackendError, PluginConflictError, UnsupportedOperationError
from tensor_runtime.backends.plugins.rules import LOWER
from tensor_runtime.backends.registry import registry
from tensor_runtime.doctor import report
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.placement import Placement
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.simulated_device import SimulatedBackend

LOWERED = sorted(registry.rules.operations(LOWER))
CASES = [case for case in all_cases() if case.operation in LOWERED]
REASON = "the device has no such unit"


class Reticent(SimulatedBackend):
    """Lacks kernels without listing them, so that the conformance suite takes no refusal for an answer."""

    def unsupported(self) -> Mapping[str, str]:
        return {}


@pytest.fixture(scope="module")
def bare() -> Iterator[Placement]:
    """A device that lacks every kernel that has a rule."""
    device = Reticent(tr.backend("cpu"), "bare", dict.fromkeys(LOWERED, REASON))
    tr.register_backend("bare", device)
    yield device.placement()
    registry.unregister("bare")


@pytest.fixture
def square() -> Iterator[None]:
    """A rule for the kernel "sqrt" that gives what the test puts in."""
    yield
    registry.unregister_rule("lower", "sqrt")


def test_the_composite_operations_have_rules() -> None:
    wanted = {"gelu", "silu", "softplus", "softmax", "log_softmax", "mean", "var", "std", "norm"}

    assert wanted <= set(LOWERED)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_device_without_the_kernel_gives_what_every_backend_must(case: Case, bare: Placement) -> None:
    check_case(case, bare)


NUMBERS = np.concatenate(
    [
        np.linspace(-40, 40, 321),
        np.random.default_rng(7).normal(0, 3, 200),
        [0.0, -0.0, 1e-30, -1e-30, 1e30, -1e30, 104.0, -104.0, np.inf, -np.inf, np.nan],
    ]
)
ELEMENTWISE: dict[str, tuple[Callable[[tr.Tensor], tr.Tensor], Callable[[Any], Any]]] = {
    "sigmoid": (tr.sigmoid, lambda x: 8 + 0 * x),
    "silu": (tr.silu, lambda x: 10 + 0 * x),
    "softplus": (tr.softplus, lambda x: 8 + 0 * x),
    "relu": (tr.relu, lambda x: 0 * x),
    "gelu": (tr.gelu, lambda x: 12 + 0 * x),
    "gelu tanh": (
        lambda x: tr.gelu(x, approximate="tanh"),
        lambda x: 10 + 8 * np.abs(0.7978845608028654 * (x + 0.044715 * x**3)),
    ),
}


@pytest.mark.parametrize("dtype", [tr.F32, tr.F64])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_elementwise_rule_agrees_with_the_kernel_within_its_bound(
    name: str, dtype: tr.DType, bare: Placement
) -> None:
    call, bound = ELEMENTWISE[name]
    x = tr.asarray(NUMBERS, dtype=tr.F64, copy=True)
    x = tr.cast(x, dtype)
    own = call(x).to_numpy().astype(float)
    found = tr.to(call(tr.to(x, bare)), "cpu").to_numpy().astype(float)
    unit, tiny = float(np.finfo(dtype.numpy_name).eps), float(np.finfo(dtype.numpy_name).smallest_subnormal)
    values = np.nan_to_num(x.to_numpy().astype(float), posinf=0, neginf=0).clip(-200, 200)
    with np.errstate(invalid="ignore"):
        allowed = unit * bound(values) * np.abs(own) + tiny * (1 + np.abs(values))
        near = np.abs(found - own) <= allowed

    assert np.all(near | (found == own) | (np.isnan(found) & np.isnan(own)))


LINES: dict[str, Callable[[tr.Tensor], tr.Tensor]] = {
    "softmax": lambda x: tr.softmax(x, 0),
    "log_softmax": lambda x: tr.log_softmax(x, 0),
    "mean": lambda x: tr.mean(x, 0),
    "var": lambda x: tr.var(x, 0, correction=1),
    "std": lambda x: tr.std(x, 0),
    **{f"norm {p}": lambda x, p=p: tr.norm(x, p, 0) for p in (2, 1, 0, 3, 0.5, -1, -2.5, np.inf, -np.inf)},  # type: ignore[misc]
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in LINES
        for dtype in (tr.F32, tr.F64, tr.I64, tr.Bool, *(() if "softmax" in name else (tr.C32, tr.C64)))
    ],
)
def test_a_rule_over_axes_agrees_with_the_kernel_within_its_bound(name: str, dtype: tr.DType, bare: Placement) -> None:
    x = tr.normal((1000, 3), seed=3, dtype=dtype if dtype.kind in ("float", "complex") else tr.F64)
    if dtype.kind in ("int", "bool"):
        x = tr.cast(x * 2, dtype)
    own = LINES[name](x).to_numpy()
    found = tr.to(LINES[name](tr.to(x, bare)), "cpu").to_numpy()
    unit = float(np.finfo(own.dtype).eps)

    assert found.dtype == own.dtype
    assert np.abs(found - own).max() <= 100 * unit * max(np.abs(own).max(), 1)


@pytest.mark.parametrize("order", [2, 3, 0.5])
@pytest.mark.parametrize("size", [1e-300, 1e300, 5e-324])
def test_a_lowered_norm_neither_overflows_nor_underflows(order: float, size: float, bare: Placement) -> None:
    x = tr.tensor([size, 0.0, size])

    assert tr.norm(tr.to(x, bare), order).item() == pytest.approx(tr.norm(x, order).item(), rel=1e-14)


def test_extremes_of_a_lowered_norm_are_those_of_the_kernel(bare: Placement) -> None:
    for order in (2, 1, 0, 3, 0.5, -1, np.inf, -np.inf):
        for line in ([0.0, 0.0], [0.0, 1.0], [np.inf, 1.0], [np.nan, np.inf], [np.inf, np.inf], [0.0, np.inf]):
            x = tr.tensor(line)
            np.testing.assert_equal(tr.norm(tr.to(x, bare), order).item(), tr.norm(x, order).item())
        if order != -np.inf:
            assert tr.norm(tr.zeros((0,), placement=bare), order).item() == tr.norm(tr.zeros((0,)), order).item()


def test_a_lowered_operation_writes_into_out_and_is_inferred_and_moves_nothing(bare: Placement) -> None:
    x = tr.to(tr.tensor([[1.0, 3.0], [2.0, 6.0]]), bare)
    with tr.trace_transfers() as log:
        out = tr.zeros((2,), placement=bare)
        assert tr.mean(x, axis=1, out=out.mutable_view()).placement is bare  # type: ignore[arg-type]

    assert not log
    assert tr.to(out, "cpu").to_numpy().tolist() == [2.0, 4.0]
    assert tr.infer(tr.softmax, x).shape == (2, 2)


def test_the_listings_say_for_what_rules_stand_in(lacking: Callable[..., Placement]) -> None:
    lacking("softmax", "sqrt", "mean")
    status = next(row.status for row in tr.backends() if row.name == "odd")
    lines, healthy = report(registry)
    origin = next(offer.origin for offer in registry.rules.offers() if offer.operation == "mean")

    assert status == "ready, with rules for mean, softmax"
    assert healthy
    about = lines[lines.index("backend odd for odd, from this process") :]
    lacks = [line.split(maxsplit=2) for line in about[: about.index("")] if line.startswith("  lacks ")]
    assert lacks == [
        ["lacks", "mean", f"{REASON}; the rule lower.mean of {origin} stands in"],
        ["lacks", "softmax", f"{REASON}; the rule lower.softmax of {origin} stands in"],
        ["lacks", "sqrt", REASON],
    ]
    assert any(line.split()[:2] == ["lower", "gelu,"] for line in lines)


def test_without_a_rule_the_backends_reason_is_the_error(lacking: Callable[..., Placement]) -> None:
    x = tr.ones(2, placement=lacking("sqrt"))

    with pytest.raises(UnsupportedOperationError) as caught:
        tr.sqrt(x)
    assert str(caught.value) == f"sqrt: {REASON}"


def test_a_missing_rule_of_a_familys_operation_names_the_family(lacking: Callable[..., Placement]) -> None:
    import tensor_linalg

    x = tr.ones((2, 2), placement=lacking("svd"))

    with pytest.raises(UnsupportedOperationError, match=r"no rule lower\.svd of the family linalg stands in for it"):
        tensor_linalg.svd(x)
    with pytest.raises(UnsupportedOperationError, match=r"svd: there is no rule vjp\.svd of the family linalg; a pack"):
        registry.rule("vjp", "svd")


def test_a_rule_that_needs_what_the_backend_lacks_as_well_says_so(lacking: Callable[..., Placement]) -> None:
    x = tr.ones(2, placement=lacking("softmax", "exp"))

    with pytest.raises(UnsupportedOperationError, match=f"softmax: {REASON}; the rule lower.softmax would stand in, "):
        tr.softmax(x)
    with pytest.raises(UnsupportedOperationError, match="asks for exp, which odd lacks as well"):
        tr.softmax(x)


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda x, params: tr.sum(x), BackendContractError, r"gives Form\(F64, \(\), .*; accepted: Form\(F64, \(2,\)"),
        (lambda x, params: tr.cast(x, "F32"), BackendContractError, r"gives Form\(F32"),
        (lambda x, params: tr.reverse_view(x, 0), BackendContractError, r"strides=\(-1,\)"),
        (lambda x, params: 3.0, BackendContractError, "gives float; accepted"),
        (lambda x, params: (x, x), BackendContractError, "gives tuple; accepted"),
        (lambda x, params: x * tr.sum(x).item(), BackendContractError, "depends on elements"),
        (lambda x: x, BackendError, "the backend failed: TypeError"),
    ],
)
def test_a_rule_that_breaks_its_contract_is_refused_when_it_is_bound(
    rule: Callable[..., Any], error: type[Exception], message: str, lacking: Callable[..., Placement], square: None
) -> None:
    tr.register_rule("lower", "sqrt", rule)

    with pytest.raises(error, match=message):
        tr.sqrt(tr.ones(2, placement=lacking("sqrt")))


def test_a_rule_of_several_results_and_of_python_numbers_runs(lacking: Callable[..., Placement]) -> None:
    from tensor_runtime.dispatch.call import execute_many
    from tensor_runtime.dispatch.dtype_rules import Shape
    from tensor_runtime.dispatch.spec import OpSpec

    def shapes(operation: str, a: Shape, params: object) -> tuple[Shape, Shape]:
        return a, ()

    both = OpSpec("both", result_dtype=lambda one: (one, one), result_shape=shapes, takes_params=True)
    tr.register_rule("lower", "both", lambda x, params: (x + params, tr.sum(x)))
    tr.register_rule("lower", "subtract", lambda x, y, params: tr.add(x, tr.negative(y) if params is None else y))
    try:
        x = tr.to(tr.tensor([1.0, 2.0]), lacking("subtract"))
        shifted, total = execute_many(both, (x,), 10)
        assert (tr.to(shifted, "cpu").to_numpy().tolist(), total.item()) == ([11.0, 12.0], 3.0)
        assert tr.to(tr.subtract(5.0, x), "cpu").to_numpy().tolist() == [4.0, 3.0]
    finally:
        registry.unregister_rule("lower", "both")
        registry.unregister_rule("lower", "subtract")


def test_a_rule_is_used_only_while_it_is_registered(lacking: Callable[..., Placement], square: None) -> None:
    x = tr.to(tr.tensor([4.0]), lacking("sqrt"))
    tr.register_rule("lower", "sqrt", lambda x, params: tr.pow(x, 0.5))
    assert tr.sqrt(x).item() == 2.0
    registry.unregister_rule("lower", "sqrt")

    with pytest.raises(UnsupportedOperationError):
        tr.sqrt(x)


def test_a_kernel_that_others_bring_comes_before_the_rule_and_its_refusal_stands(
    lacking: Callable[..., Placement],
) -> None:
    def bind(operands: Any, result: Any, params: Any) -> Callable[..., Any]:
        if operands[0].rank != 1:
            raise UnsupportedOperationError("mean: vectors only", operation="mean")
        return lambda x: x

    x = tr.to(tr.tensor([[1.0, 3.0]]), lacking("mean"))
    assert tr.mean(x).item() == 2.0
    tr.register_kernel("odd", "mean", bind)
    try:
        with pytest.raises(UnsupportedOperationError, match=r"^mean: vectors only$"):
            tr.mean(x)
    finally:
        registry.unregister_kernel("odd", "mean")


def test_two_rules_of_one_name_are_a_conflict() -> None:
    with pytest.raises(PluginConflictError, match=r"the rule lower\.mean is there already, from ironstride"):
        tr.register_rule("lower", "mean", lambda x, params: x)


def test_a_fused_function_is_refused_in_its_own_words_where_a_rule_exists() -> None:
    with pytest.raises(
        UnsupportedOperationError, match=r"mean: not in a fused function; accepted there: elem.*after it$"
    ):
        tr.fuse(lambda x: x + tr.mean(x))(tr.ones(3))


@pytest.mark.parametrize("rule", [lambda a, params: a, lambda a, params: a[:]])
def test_a_rule_that_gives_its_operands_memory_is_refused(rule: Any, lacking: Callable[..., Placement]) -> None:
    x = tr.to(tr.tensor([1.0, 2.0]), lacking("positive"))
    tr.register_rule("lower", "positive", rule)
    try:
        with pytest.raises(BackendContractError, match=r"positive: the rule lower\.positive computes nothing"):
            tr.positive(x)
    finally:
        registry.unregister_rule("lower", "positive")


def test_a_kernel_with_arguments_at_run_time_takes_no_rule(lacking: Callable[..., Placement]) -> None:
    place = lacking("roll")
    tr.register_rule("lower", "roll", lambda a, params: a)
    try:
        with pytest.raises(BackendContractError, match="roll: its kernel is given shifts at run time, which no rule"):
            tr.roll(tr.to(tr.tensor([1.0, 2.0]), place), 1)
    finally:
        registry.unregister_rule("lower", "roll")


@pytest.mark.parametrize("order", [1e300, -1e300])
@pytest.mark.parametrize("elements", [[0.0, 0.0], [2.0, 1.0], [float("inf"), 1.0]])
def test_a_lowered_norm_of_a_huge_order_is_that_of_the_kernel(
    order: float, elements: list[float], bare: Placement
) -> None:
    x = tr.cast(tr.tensor(elements), tr.F32)
    assert tr.norm(tr.to(x, bare), ord=order).item() == tr.norm(x, ord=order).item()


def test_an_error_inside_a_rule_is_not_taken_for_a_foreign_operand(lacking: Callable[..., Placement]) -> None:
    x = tr.to(tr.tensor([1.0]), lacking("add"))
    tr.register_rule("lower", "add", lambda a, b, params: tr.subtract(a, "b"))
    try:
        with pytest.raises(ForeignOperandError, match="subtract"):
            x + 1.0
    finally:
        registry.unregister_rule("lower", "add")
