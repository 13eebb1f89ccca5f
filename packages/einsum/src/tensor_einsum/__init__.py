"""Einsum and its plans, on any backend of ``tensor_runtime``.

``einsum`` contracts; ``plan`` decides first, from shapes alone, and shows what it costs. Paths come from
a search of our own, from opt_einsum or cotengra, or from the caller; only steps of one or two operands are executed.
"""

from __future__ import annotations

import tensor_runtime as _tensor_runtime  # noqa: F401  # before its modules: threads wait in one order then
from tensor_einsum.api import einsum, plan
from tensor_einsum.errors import ExtentError, LabelTypeError, MemoryLimitError, PathError, PlotError, SubscriptsError
from tensor_einsum.execution.progress import Progress
from tensor_einsum.measure_rates import calibrate
from tensor_einsum.plans.plan import Plan, plan_cache
from tensor_einsum.search.calibration import Calibration, read_calibration
from tensor_einsum.search.problem import SearchRecord
from tensor_einsum.steps.steps import Step
from tensor_einsum.version import __version__ as __version__

__all__ = [
    "Calibration",
    "ExtentError",
    "LabelTypeError",
    "MemoryLimitError",
    "PathError",
    "Plan",
    "PlotError",
    "Progress",
    "SearchRecord",
    "Step",
    "SubscriptsError",
    "calibrate",
    "einsum",
    "plan",
    "plan_cache",
    "read_calibration",
]


def __dir__() -> list[str]:
    """The public names: modules and helpers are none."""
    return sorted((*__all__, "__version__"))
