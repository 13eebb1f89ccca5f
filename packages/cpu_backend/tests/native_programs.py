"""Programs of one operation, and numbers that functions are tried on: what tests of the elementwise machine share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_runtime.form import Form

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-310, -5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, 709.8, -745.2, 1e22, 3e5)


def bound(name: str, forms: tuple[Any, ...], result: Form) -> Any:
    """The machine's kernel for one operation, whatever the size."""
    from tensor_cpu.kernels.elementwise import native  # a test without the extension imports this module, too

    return native.bind_program(forms, result, ((name, tuple(range(len(forms))), result),))
