"""Exponentials, logarithms, tangents and roots that are computed several at once, by every instruction set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

ENDS: Any = {
    "exp": {np.float32: (-87, 88), np.float64: (-708, 709)},
    "log": {np.float32: (1e-37, 1e37), np.float64: (1e-300, 1e300)},
    "tanh": {np.float32: (-11, 11), np.float64: (-23, 23)},
}
SPECIAL = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    5e-324,
    1e-310,
    1e-45,
    710.0,
    -746.0,
    89.0,
    -104.0,
    -103.9,
    2.0,
)


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def found(name: str, x: Any) -> Any:
    return getattr(tr, name)(tr.asarray(x)).to_numpy()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ENDS)
def test_errors_are_a_few_rounding_units(name: str, kind: Any) -> None:
    rng = np.random.default_rng(5)
    low, high = ENDS[name][kind]
    small = 10.0 ** rng.uniform(-30, 0, 20_000)
    parts = [small, rng.uniform(0.4, 2.1, 20_000), 1 + rng.uniform(-1e-3, 1e-3, 20_000)]
    if name == "log":
        parts.append(np.exp(rng.uniform(np.log(low), np.log(high), 20_000)))
    else:
        parts += [-small, rng.uniform(low, high, 20_000), rng.uniform(-1, 1, 20_000)]
    x = np.concatenate(parts).astype(kind)
    exact = getattr(np, name)(x.astype(np.longdouble))
    unit = np.spacing(np.abs(exact).astype(kind)).astype(np.longdouble)
    most = 2.5 if name == "tanh" and kind is np.float64 else 4
    assert np.max(np.abs(found(name, x).astype(np.longdouble) - exact) / unit) < most


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*ENDS, "sqrt"])
def test_ends_of_the_range_are_those_of_numpy_in_every_lane(name: str, kind: Any) -> None:
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL, dtype=kind)
        for shift in range(17):
            x = np.concatenate([np.full(shift, 0.5, kind), special, np.full(shift, 2.5, kind)])
            got, expected = found(name, x), getattr(np, name)(x)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
            number = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number])
            np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
            finite = np.isfinite(expected)
            assert np.all(np.abs(got[finite] - expected[finite]) <= 4 * np.spacing(np.abs(expected[finite])))


def test_roots_are_rounded_correctly_of_every_mantissa() -> None:
    for exponent in (126, 127):
        x = (np.arange(1 << 23, dtype=np.uint32) | np.uint32(exponent << 23)).view(np.float32)
        np.testing.assert_array_equal(found("sqrt", x), np.sqrt(x))
    rng = np.random.default_rng(6)
    x = rng.integers(0, 0x7F80_0000, 200_000, dtype=np.uint32).view(np.float32)
    np.testing.assert_array_equal(found("sqrt", x), np.sqrt(x))
    x = rng.integers(0, 0x7FF << 52, 200_000, dtype=np.uint64).view(np.float64)
    np.testing.assert_array_equal(found("sqrt", x), np.sqrt(x))
