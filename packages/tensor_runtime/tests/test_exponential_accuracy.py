"""Elementary functions against sums and continued fractions in decimal numbers, where libraries lose digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import as_dtype

PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
)
SIZES = (1, 7, 300, 5000)


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with localcontext() as context:
        context.prec = 140
        yield


def complement(x: Decimal) -> Decimal:
    """erfc(x) by the series near 0, by Laplace's continued fraction beyond (Abramowitz and Stegun, 7.1.5, 7.1.14)."""
    if x < 3:
        total, term, k = Decimal(0), x, 0
        while abs(term) > Decimal(10) ** -80:
            total += term / (2 * k + 1)
            k += 1
            term = -term * x * x / k
        return 1 - 2 / PI.sqrt() * total
    fraction = Decimal(0)
    for k in range(400, 0, -1):
        fraction = Decimal(k) / 2 / (x + fraction)
    return (-x * x).exp() / PI.sqrt() / (x + fraction)


def gelu(x: Decimal) -> Decimal:
    return x * complement(-x / Decimal(2).sqrt()) / 2


def silu(x: Decimal) -> Decimal:
    return x / (1 + (-x).exp())


def sigmoid(x: Decimal) -> Decimal:
    return 1 / (1 + (-x).exp())


@pytest.mark.parametrize(
    ("name", "oracle", "ends"),
    [
        ("erfc", complement, {"F32": (-4.0, 10.1), "F64": (-4.0, 27.2)}),
        ("gelu", gelu, {"F32": (-14.4, 4.0), "F64": (-38.5, 4.0)}),
        ("silu", silu, {"F32": (-107.0, 4.0), "F64": (-751.0, 4.0)}),
        ("sigmoid", sigmoid, {"F32": (-103.0, 4.0), "F64": (-745.0, 4.0)}),
    ],
)
@pytest.mark.parametrize("dtype", ["F32", "F64"])
def test_tails_are_accurate_down_to_the_smallest_subnormal_number(
    name: str, oracle: Callable[[Decimal], Decimal], ends: dict[str, tuple[float, float]], dtype: str
) -> None:
    kind = np.dtype(as_dtype(dtype).numpy_name)
    low, high = ends[dtype]
    tail = np.linspace(low, high, 250)
    x = np.concatenate([tail, np.linspace(low, low + 2, 50) if low < -5 else np.linspace(high - 1, high, 50)])
    x = x.astype(kind)
    exact = [oracle(Decimal(float(value))) for value in x]
    assert any(0 < abs(float(value)) < np.finfo(kind).tiny for value in exact)  # subnormal ones are among them
    for size in SIZES:
        found = getattr(tr, name)(tr.asarray(np.resize(x, size)))
        for value, expected in zip(found.to_numpy()[:300], exact, strict=False):
            unit = Decimal(float(np.spacing(kind.type(abs(float(expected))))))
            assert abs(Decimal(float(value)) - expected) <= 8 * unit, (size, expected)


def turned(y: Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine by their series."""
    cosine, sine, term, k = Decimal(0), Decimal(0), Decimal(1), 0
    while abs(term) > Decimal(10) ** -135 or k < 5:
        cosine, sine = cosine + term, sine + term * y / (k + 1)
        term *= -y * y / ((k + 1) * (k + 2))
        k += 2
    return cosine, sine


def exponential(z: complex) -> tuple[Decimal, Decimal]:
    cosine, sine = turned(Decimal(z.imag))
    size = Decimal(z.real).exp()
    return size * cosine - 1, size * sine


def logarithm(z: complex) -> tuple[Decimal, Decimal]:
    """The angle is refined from that in floating point, whose error two steps square twice."""
    x, y = 1 + Decimal(z.real), Decimal(z.imag)
    square = x * x + y * y
    angle = Decimal(math.atan2(z.imag, float(x)))
    for _ in range(2):
        cosine, sine = turned(angle)
        angle += (y * cosine - x * sine) / (x * cosine + y * sine)
    return square.ln() / 2, angle


def complex_numbers(dtype: str) -> Iterator[complex]:
    """Near 0, near the circle on which |1 + z| = 1, near the zeros of exp(z) - 1, and elsewhere."""
    sizes = (0.0, 1e-40, 1e-20, 1e-9, 1e-5, 0.01, 0.3, 0.49, 0.51, 0.99) if dtype == "C64" else (0.0, 1e-30, 1e-9, 0.3)
    for x in sizes:
        for y in sizes:
            yield from (complex(x, y), complex(-x, y), complex(x, -y))
    for k in range(1, 24):
        angle = 0.26 * k
        yield complex(math.cos(angle) - 1, math.sin(angle))
        yield complex(-2 * math.sin(angle / 2) ** 2 + 1e-9, math.sin(angle))
    yield from (complex(1e-9, 2 * math.pi), complex(-1e-12, -2 * math.pi), complex(3, 2), complex(-0.9, 1e-3))


@pytest.mark.parametrize(("name", "oracle"), [("log1p", logarithm), ("expm1", exponential)])
@pytest.mark.parametrize("dtype", ["C32", "C64"])
def test_complex_results_keep_their_digits_wherever_they_are_small(name: str, oracle: Any, dtype: str) -> None:
    kind = np.dtype(as_dtype(dtype).numpy_name)
    z = np.array(list(complex_numbers(dtype)), dtype=kind)
    exact = [oracle(complex(value)) for value in z]
    eps = Decimal(float(np.finfo(kind).eps))
    for size in (len(z), 5000):
        found = getattr(tr, name)(tr.asarray(np.resize(z, size))).to_numpy()[: len(z)]
        for number, value, (real, imaginary) in zip(z, found, exact, strict=True):
            error = ((Decimal(float(value.real)) - real) ** 2 + (Decimal(float(value.imag)) - imaginary) ** 2).sqrt()
            assert error <= 4 * eps * (real * real + imaginary * imaginary).sqrt(), number


SPECIAL: dict[str, list[tuple[complex, tuple[float, float]]]] = {
    "log1p": [
        (complex(-1, 0.0), (-math.inf, 0.0)),
        (complex(2, math.inf), (math.inf, math.pi / 2)),
        (complex(2, math.nan), (math.nan, math.nan)),
        (complex(-math.inf, 3), (math.inf, math.pi)),
        (complex(math.inf, 3), (math.inf, 0.0)),
        (complex(-math.inf, math.inf), (math.inf, 3 * math.pi / 4)),
        (complex(math.inf, math.inf), (math.inf, math.pi / 4)),
        (complex(math.inf, math.nan), (math.inf, math.nan)),
        (complex(math.nan, 3), (math.nan, math.nan)),
        (complex(math.nan, math.inf), (math.inf, math.nan)),
        (complex(1.7e308, -1.7e308), (710.073414, -math.pi / 4)),
    ],
    "expm1": [
        (complex(0.0, 0.0), (0.0, 0.0)),
        (complex(-0.0, 0.0), (0.0, 0.0)),
        (complex(-0.0, -0.0), (0.0, -0.0)),
        (complex(2, math.inf), (math.nan, math.nan)),
        (complex(2, math.nan), (math.nan, math.nan)),
        (complex(math.inf, 0.0), (math.inf, 0.0)),
        (complex(-math.inf, 1), (-1.0, 0.0)),
        (complex(math.inf, 2), (-math.inf, math.inf)),
        (complex(-math.inf, math.inf), (-1.0, 0.0)),
        (complex(-math.inf, math.nan), (-1.0, 0.0)),
        (complex(math.inf, math.nan), (math.inf, math.nan)),
        (complex(math.nan, 0.0), (math.nan, 0.0)),
        (complex(math.nan, 2), (math.nan, math.nan)),
    ],
}


@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_special_complex_numbers_have_the_values_of_the_array_standard(name: str) -> None:
    for z, (real, imaginary) in SPECIAL[name]:
        found = getattr(tr, name)(tr.tensor([z])).to_numpy()[0]
        for part, expected in ((found.real, real), (found.imag, imaginary)):
            np.testing.assert_allclose(part, expected, rtol=1e-6)
            if expected == 0:
                assert math.copysign(1, part) == math.copysign(1, expected) or z.real == -math.inf


def test_expm1_stays_finite_where_the_exponential_alone_overflows() -> None:
    found = tr.expm1(tr.tensor([complex(710.0, 1.5)])).to_numpy()[0]
    expected = math.exp(700) * (math.exp(10) * math.cos(1.5))
    np.testing.assert_allclose(found.real, expected, rtol=1e-12)
