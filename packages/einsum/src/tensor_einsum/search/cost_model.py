"""The cost model: how long contractions take, by three rates per dtype; and what a search of an order minimises.

A contraction takes flops / ``flop_rate`` + elements moved / ``element_rate`` + ``step_seconds``, where it moves its two
operands and its result. Flops are those of a plan: a multiplication and an addition are one each, whatever the dtype.

The rates are constants that come with this package, or those of a calibration that the caller hands over. Nothing is
measured or read behind a caller's back, so a plan is the same in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import Any, Final, Literal, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, shortened
from tensor_einsum.search.problem import Objective

Minimize = Literal["seconds", "flops", "size", "mixture"]


class Rates(NamedTuple):
    """How fast one dtype is contracted: flops and elements in a second, and seconds that every step takes besides."""

    flop_rate: float
    element_rate: float
    step_seconds: float


class CostModel(NamedTuple):
    """Rates by dtype. ``digest`` names the calibration that they are from; it is empty for the constants shipped."""

    digest: str
    rates: tuple[tuple[str, Rates], ...]  # by name of the dtype

    def of(self, dtype: DType) -> Rates:
        """The rates of a dtype; where there are none, those of F64, or else the constants shipped for it.

        >>> from tensor_core import F64
        >>> SHIPPED.of(F64).step_seconds
        1e-06
        """
        for wanted in (dtype.name, "F64"):
            for name, rates in self.rates:
                if name == wanted:
                    return rates
        return SHIPPED.of(dtype)


SHIPPED: Final = CostModel(
    "",
    (
        ("Bool", Rates(1e11, 1e10, 1e-6)),
        ("C32", Rates(2.5e10, 2.5e9, 1e-6)),
        ("C64", Rates(1.2e10, 1.5e9, 1e-6)),
        ("F32", Rates(1e11, 5e9, 1e-6)),
        ("F64", Rates(5e10, 2e9, 1e-6)),
        ("I32", Rates(3e10, 5e9, 1e-6)),
        ("I64", Rates(1.2e10, 2e9, 1e-6)),
    ),
)
"""What ``calibrate`` found on two processors of a server with AVX-512, rounded down."""


class Target(NamedTuple):
    """What is minimised, and by which model time is estimated; part of a plan's key."""

    minimize: Minimize = "seconds"
    model: CostModel = SHIPPED
    element_flops: float = 64.0  # of a mixture: flops that moving one element counts as

    def objective(self, dtype: DType) -> Objective:
        """What the search is given, for contractions in one dtype.

        >>> from tensor_core import F64
        >>> Target("flops").objective(F64).minimize
        'flops'
        """
        return Objective(self.minimize, *self.model.of(dtype), self.element_flops)


TIME: Final = Target()
_NAMES: Final[Mapping[str, Minimize]] = {"time": "seconds", "flops": "flops", "size": "size"}


def read_objective(operation: str, objective: Any) -> Target:
    """What ``objective=`` says.

    Raises:
        ArgumentError: neither "time", "flops" nor "size", a calibration, or weights of a mixture.

    >>> read_objective("plan", {"flops": 1, "elements": 32}).element_flops
    32.0
    """
    if isinstance(objective, str) and objective in _NAMES:
        return TIME if objective == "time" else Target(_NAMES[objective])
    model = getattr(objective, "cost_model", None)
    if isinstance(model, CostModel):
        return Target(model=model)
    if isinstance(objective, Mapping) and {*objective} == {"flops", "elements"}:
        flops, elements = weights = objective["flops"], objective["elements"]
        # Comparing, unlike isfinite, takes ints of any length.
        known = all(type(weight) in (int, float) and weight <= float_info.max for weight in weights)
        if known and flops > 0 <= elements:
            return Target("mixture", element_flops=min(elements / flops, float_info.max))
    raise ArgumentError(
        f"{operation}: objective={shortened(objective)}; accepted: {', '.join(map(repr, _NAMES))}, a calibration, or "
        "weights such as {'flops': 1, 'elements': 64}: both of them, finite, of flops above 0 and of elements 0 or more"
    )
