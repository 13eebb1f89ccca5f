"""Rules ``lower.NAME`` that ask for one another: where no kernel ends the circle, the error names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement

REASON = "the device has no such unit"


@pytest.fixture
def rule() -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    """Registers a rule "lower" for the length of a test."""
    names = []

    def registered(operation: str, function: Callable[..., Any]) -> None:
        tr.register_rule("lower", operation, function)
        names.append(operation)

    yield registered
    for name in names:
        registry.unregister_rule("lower", name)


def test_a_rule_that_asks_for_its_own_operation_is_refused(
    lacking: Callable[..., Placement], rule: Callable[..., None]
) -> None:
    rule("sqrt", lambda x, params: tr.sqrt(x))

    with pytest.raises(UnsupportedOperationError, match="in a circle: sqrt -> sqrt; odd needs a kernel for one of"):
        tr.sqrt(tr.ones(2, placement=lacking("sqrt")))


def test_rules_that_ask_for_one_another_are_refused_with_their_circle(
    lacking: Callable[..., Placement], rule: Callable[..., None]
) -> None:
    rule("sin", lambda x, params: tr.cos(x) + 1.0)
    rule("cos", lambda x, params: tr.exp(tr.tan(x)))
    rule("tan", lambda x, params: tr.sin(x) / 2.0)
    x = tr.ones(2, placement=lacking("sin", "cos", "tan"))

    with pytest.raises(UnsupportedOperationError) as caught:
        tr.sin(x)
    assert str(caught.value) == (
        f"sin: {REASON}; the rule lower.sin would stand in, but rules ask for one another in a circle: "
        "sin -> cos -> tan -> sin; odd needs a kernel for one of them"
    )
    with pytest.raises(UnsupportedOperationError, match="in a circle: tan -> sin -> cos -> tan; odd"):
        tr.tan(x)


def test_a_circle_of_rules_behind_another_rule_is_refused_too(
    lacking: Callable[..., Placement], rule: Callable[..., None]
) -> None:
    rule("sqrt", lambda x, params: tr.sin(x))
    rule("sin", lambda x, params: tr.cos(x))
    rule("cos", lambda x, params: tr.sin(x))

    with pytest.raises(UnsupportedOperationError, match="in a circle: sqrt -> sin -> cos -> sin; odd"):
        tr.sqrt(tr.ones(2, placement=lacking("sqrt", "sin", "cos")))


def test_a_rule_that_asks_for_its_own_operation_without_end_is_refused(
    lacking: Callable[..., Placement], rule: Callable[..., None]
) -> None:
    rule("sqrt", lambda x, params: tr.sqrt(tr.concatenate([x, x[:1]]))[: x.shape[0]] * 2.0)

    with pytest.raises(UnsupportedOperationError, match=r"circle: sqrt -> sqrt -> .*sqrt; odd needs a kernel"):
        tr.sqrt(tr.ones(2, placement=lacking("sqrt")))


def test_a_kernel_ends_the_circle_of_two_rules(lacking: Callable[..., Placement], rule: Callable[..., None]) -> None:
    rule("sin", lambda x, params: tr.cos(x) * 2.0)
    rule("cos", lambda x, params: tr.sin(x))

    x = tr.zeros(2, placement=lacking("sin"))

    assert tr.to(tr.sin(x), "cpu").to_numpy().tolist() == [2.0, 2.0]


def test_a_rule_may_ask_for_its_own_operation_with_fewer_axes(
    lacking: Callable[..., Placement], rule: Callable[..., None]
) -> None:
    rule("sin", lambda x, params: tr.concatenate([tr.sin(x[..., :1]), x[..., 1:]], -1) if x.shape[-1] > 1 else x + 1.0)
    x = tr.zeros((2, 3), placement=lacking("sin"))

    assert tr.to(tr.sin(x), "cpu").to_numpy().tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
