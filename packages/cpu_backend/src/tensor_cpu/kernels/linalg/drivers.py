"""Decompositions by methods that NumPy lacks: QR iteration, and Jacobi's rotations for any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.factors import require_countable, stacked
from tensor_cpu.kernels.linalg.methods import hermitian, singular
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import Array
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


_METHODS: Final[Mapping[str, Mapping[str, Callable[..., int]]]] = {
    "svd": {"gesvd": singular.gesvd, "jacobi": singular.jacobi},
    "svdvals": {"gesvd": singular.gesvd_values, "jacobi": singular.jacobi_values},
    "eigh": {"ev": hermitian.ev, "evr": hermitian.evr, "jacobi": hermitian.jacobi},
}
BINDERS: Final[Mapping[str, Binder]] = {name: taking_fields(partial(bind, name)) for name in _METHODS}
