"""Functions of complex elements that array namespaces compute without care near 0; ``xp`` is one of them.

Array in, array out; the error of both is a few rounding units of the magnitude of the result, wherever that is.
"""

from __future__ import annotations

from typing import Any


def log1p(xp: Any, z: Any, /) -> Any:
    """log(1 + z) on a vector.

    Near 0 the real part is log1p(x (2 + x) + y²) / 2; the modulus of 1 + z would round away what z adds to 1. Elsewhere
    it is the logarithm of that modulus.

    Source: W. Kahan, Branch cuts for complex elementary functions, in: The State of the Art in Numerical Analysis,
    1987, 165-211.

    >>> import numpy
    >>> log1p(numpy, numpy.array([1e-20 + 1e-30j]))
    array([1.e-20+1.e-30j])
    """
    x, y = z.real, z.imag
    size = xp.hypot(1 + x, y)
    result = xp.empty_like(z)
    result.imag = xp.arctan2(y, 1 + x)
    result.real = xp.log(size)
    near = (abs(x) < 0.5) & (abs(y) < 0.5)
    if near.any():
        u, v = x[near], y[near]
        result.real[near] = 0.5 * xp.log1p(u * (2 + u) + v * v)
    over = (size > xp.finfo(size.dtype).max) & xp.isfinite(x) & xp.isfinite(y)
    if over.any():
        result.real[over] = xp.log(xp.hypot(x[over] / 2, y[over] / 2)) + xp.log(xp.asarray(2, size.dtype))
    return result


def expm1(xp: Any, z: Any, /) -> Any:
    """exp(z) - 1 on a vector; 0 for either zero in place of the real part.

    Near the imaginary axis, where exp(z) may be near 1, it is expm1(x) cos(y) - 2 sin²(y / 2) + i exp(x) sin(y).

    >>> import numpy
    >>> expm1(numpy, numpy.array([1e-20 + 1e-30j, -0.0 + 0j]))
    array([1.e-20+1.e-30j, 0.e+00+0.e+00j])
    """
    near = (abs(z.real) <= 1) & xp.isfinite(z.imag)
    if near.all():
        return _expm1_near(xp, z)
    result = xp.exp(z)
    result.real -= 1
    if near.any():
        result[near] = _expm1_near(xp, z[near])
    return result


def _expm1_near(xp: Any, z: Any) -> Any:
    x, y = z.real, z.imag
    half = xp.sin(y / 2)
    result = xp.empty_like(z)
    result.real = xp.expm1(x) * xp.cos(y) - 2 * half * half + 0.0  # -0.0 + 0.0 is 0.0
    result.imag = xp.exp(x) * xp.sin(y)
    return result
