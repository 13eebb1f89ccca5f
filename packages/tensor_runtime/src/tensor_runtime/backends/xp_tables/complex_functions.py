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
    result = xp.log1p(z)
    near = (abs(x) < 0.5) & (abs(y) < 0.5)
    if near.any():
        xp.copyto(result.real, 0.5 * xp.log1p(x * (x + 2) + y * y), where=near)
    if xp.isposinf(result.real).any():
        over = xp.isposinf(result.real) & xp.isfinite(z)  # the modulus alone has left the range
        result.real[over] = xp.log(xp.hypot(x[over] / 2, y[over] / 2)) + xp.log(xp.asarray(2, x.dtype))
    return result


def expm1(xp: Any, z: Any, /) -> Any:
    """exp(z) - 1 on a vector; 0 for either zero in place of the real part.

    The namespace computes expm1(x) cos(y) - 2 sin²(y / 2) + i exp(x) sin(y), which is accurate, but not for infinities
    and near the end of the range.

    >>> import numpy
    >>> expm1(numpy, numpy.array([1e-20 + 1e-30j, -0.0 + 0j]))
    array([1.e-20+1.e-30j, 0.e+00+0.e+00j])
    """
    result = xp.expm1(z)
    result.real += 0.0  # -0.0 + 0.0 is 0.0
    far = ~((abs(z.real) < (700 if z.dtype.itemsize == 16 else 85)) & xp.isfinite(z.imag))
    if far.any():
        values = xp.exp(z[far])
        values.real -= 1
        result[far] = values
    return result
