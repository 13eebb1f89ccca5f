"""Decompositions by methods that NumPy lacks: QR iteration, and Jacobi's rotations for any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.checks import scale_away_from_limits, scaled
from tensor_cpu.kernels.linalg.factors import require_countable, stacked
from tensor_cpu.kernels.linalg.variants import hermitian
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import Array
from tensor_cpu.system import lapack
from tensor_runtime.errors import NotConvergedError
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result


def bind(name: str, operands: tuple[Operand, ...], result: Result, check: bool, driver: str = "auto") -> Kernel:
    """NumPy's kernel of a decomposition, or that of a driver; where "auto" fails, QR iteration.

    Args:
        name: a key of ``numpy.ROUTINES``.
        operands: see there, as for the result.
        result: a form, or a tuple of them.
        check: whether to check that the elements are finite.
        driver: of ``svd`` and ``svdvals`` "auto", "gesdd", "gesvd" or "jacobi"; of ``eigh`` "auto", "evd", "ev", "evr"
            or "jacobi".

    Raises:
        SizeLimitError: LAPACK's integers are too short for the shapes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, values = form_of(F64, (1, 1), CPU), form_of(F64, (1,), CPU)
    >>> bind("svd", (form,), (form, values, form), True, "jacobi")(np.array([[-2.0]]))[1].tolist()
    [2.0]
    """
    methods = _METHODS.get(name)
    if methods is None or driver in ("gesdd", "evd"):  # which are NumPy's
        return linalg.bind(name, operands, result, check)
    form = operands[0]
    if driver != "auto" and isinstance(form, Form):
        require_countable(name, form, hermitian.elements if name == "eigh" else _elements)
        if isinstance(result, tuple):
            return stacked(name, form, result, check, methods[driver])
        kernel = stacked(name, form, (result,), check, methods[driver])
        return lambda a: kernel(a)[0]
    first = linalg.bind(name, operands, result, check)
    second = "ev" if name == "eigh" else "gesvd"

    def either(a: Array) -> Any:
        try:
            return first(a)
        except NotConvergedError:
            if not np.isfinite(a).all():  # from which QR iteration may never return
                raise
        return bind(name, operands, result, False, second)(a)

    return either


def _elements(rows: int, columns: int) -> int:
    short, long = sorted((rows, columns))
    return 2 * long + 7 * short + 8 * short * max(short, long)


def gesvd(a: Array, u: Array, s: Array, vh: Array) -> int:
    """By reduction to two diagonals and QR iteration.

    >>> s = np.empty(1)
    >>> gesvd(np.array([[3.0, 4.0]]), np.empty((1, 2)), s, np.empty((1, 1))), s.tolist()
    (0, [5.0])
    """
    return _gesvd(a, s, "S", (u, a.shape[1], vh, len(s)))


def gesvd_values(a: Array, s: Array) -> int:
    """The values alone.

    >>> s = np.empty(1)
    >>> gesvd_values(np.array([[3.0, 4.0]]), s), s.tolist()
    (0, [5.0])
    """
    nothing = np.empty(1, a.dtype)
    return _gesvd(a, s, "N", (nothing, 1, nothing, 1))


def _gesvd(a: Array, s: Array, job: str, factors: tuple[Any, ...]) -> int:
    columns, rows = a.shape
    short, is_complex = len(s), a.dtype.kind == "c"
    routine = "zgesvd" if is_complex else "dgesvd"
    rest = (np.empty(5 * short),) if is_complex else ()
    power = scale_away_from_limits(a)
    call = partial(lapack.call, routine, job, job, rows, columns, a, rows, s, *factors)
    asked = np.zeros(1, a.dtype)
    call(asked, -1, *rest)
    size = max(int(asked[0].real), 1)
    info = call(np.empty(size, a.dtype), size, *rest)
    s[...] = scaled(s, power)
    return info


def jacobi(a: Array, u: Array, s: Array, vh: Array) -> int:
    """By one-sided rotations after two pivoted QR decompositions.

    >>> s = np.empty(1)
    >>> jacobi(np.array([[3.0, 4.0]]), np.empty((1, 2)), s, np.empty((1, 1))), s.tolist()
    (0, [5.0])
    """
    columns, rows = a.shape
    if rows >= columns:
        v = np.empty((columns, columns), a.dtype)
        info = _tall(a, u, s, v)
        vh[...] = v.T.conj()
        return info
    left, v = np.empty((rows, columns), a.dtype), np.empty((rows, rows), a.dtype)
    info = _tall(np.ascontiguousarray(a.T.conj()), left, s, v)  # of the adjoint
    u[...] = v
    vh[...] = left.T.conj()
    return info


def jacobi_values(a: Array, s: Array) -> int:
    """The values alone.

    >>> s = np.empty(1)
    >>> jacobi_values(np.array([[3.0, 4.0]]), s), s.tolist()
    (0, [5.0])
    """
    nothing = np.empty((1, 1), a.dtype)
    tall = a if a.shape[1] >= a.shape[0] else np.ascontiguousarray(a.T.conj())
    return _tall(tall, nothing, s, nothing, "N", "N")


def _tall(a: Array, u: Array, s: Array, v: Array, left: str = "U", right: str = "V") -> int:
    columns, rows = a.shape
    power = scale_away_from_limits(a)
    integers = lapack.integers(2 * rows + 4 * columns + 8)
    size = 2 * rows + 7 * columns + 2 * columns * columns + 64 * columns + 8
    jobs = ("F", left, right, "N", "N", "N")
    given = (*jobs, rows, columns, a, rows, s, u, rows, v, columns)
    if a.dtype.kind == "c":
        reals = np.empty(2 * rows + 8 * columns + 8)
        info = lapack.call("zgejsv", *given, np.empty(size, a.dtype), size, reals, len(reals), integers)
        scale = reals[:2]
    else:
        work = np.empty(size)
        info = lapack.call("dgejsv", *given, work, size, integers)
        scale = work[:2]
    s[...] = scaled(s * (scale[0] / scale[1]), power)
    return info


_METHODS: Final[Mapping[str, Mapping[str, Callable[..., int]]]] = {
    "svd": {"gesvd": gesvd, "jacobi": jacobi},
    "svdvals": {"gesvd": gesvd_values, "jacobi": jacobi_values},
    "eigh": {"ev": hermitian.ev, "evr": hermitian.evr, "jacobi": hermitian.jacobi},
}
BINDERS: Final[Mapping[str, Binder]] = {name: taking_fields(partial(bind, name)) for name in _METHODS}
