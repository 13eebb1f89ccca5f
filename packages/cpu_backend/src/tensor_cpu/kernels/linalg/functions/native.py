"""Exponentials and square roots of small matrices by our own kernels (csrc/linalg).

Groups of matrices lie in the lanes of vector registers, those that are left over have their rows there; a matrix has
the same bits, whatever it is beside. NumPy's kernel stands behind, for the error that names what is not finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_cpu.kernel_table import NativeBinder, bind_numpy
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

TAKES: Final = "matrices of up to 16 rows"
_LARGEST: Final = 16
"""Rows of the largest matrices."""
_ROUTINES: Final = {"expm": "expm", "sqrtm_iterated": "sqrtm"}


def bind(name: str, operands: tuple[Any, ...], result: Any, check: bool) -> Kernel | None:
    """The kernel for these forms, or None where the matrices are not small.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2, 2), CPU)
    >>> bind("expm", (form,), form, True)(np.array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    (a,) = operands
    if not isinstance(a, Form) or a.dtype not in FLOATING or not 0 < a.shape[0] <= _LARGEST or not a.size:
        return None
    results = result if isinstance(result, tuple) else (result,)
    kernel = LIBRARY.bind_batched_simd(
        _ROUTINES[name],
        a.dtype.name,
        sides=(a.shape[0], a.shape[0]),
        right=0,
        count=prod(a.shape[2:]),
        results=tuple((form.shape[::-1], form.dtype.name) for form in results),
        single=not isinstance(result, tuple),
        fallback=bind_numpy(name, operands, result, (check,)),
        check=check,
    )
    if a.is_compact:
        return kernel
    return with_workspace(lambda array: kernel(np.ascontiguousarray(array)), workspace_of(kernel) + a.nbytes)


BINDERS: Final[Mapping[str, NativeBinder]] = {name: taking_fields(partial(bind, name)) for name in _ROUTINES}
