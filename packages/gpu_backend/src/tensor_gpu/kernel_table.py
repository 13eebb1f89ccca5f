"""The kernel table: which module binds each kernel. A module is imported when one of its kernels is bound."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.linalg.decompositions import UNSUPPORTED
from tensor_gpu.kernels.planning import Binder
from tensor_runtime.backends.kernel_facts import stated
from tensor_runtime.contracts.contract import CONTRACTS
from tensor_runtime.protocols import Kernel, Operand, Result

MODULES: Final = (
    "arithmetic",
    "contraction.binding",
    "conversion",
    "creation",
    "division",
    "elementwise",
    "gather_scatter.gather",
    "gather_scatter.scatter",
    "indexing",
    "joining.diagonals",
    "joining.joining",
    "joining.padding",
    "joining.slicing",
    "linalg.decompositions",
    "linalg.singular_values",
    "linalg.solving",
    "random",
    "reduction.reduction",
    "reduction.scan",
    "sort.selection",
    "sort.sort",
    "views",
    "windows.convolution",
    "windows.pooling",
)
"""Modules of ``tensor_gpu.kernels`` with a table ``BINDERS``."""
LACKING: Final = "no kernel for devices yet"
SOLVING: Final = "linalg."
"""Where the modules are whose kernels call ``solver``. Kernels that call ``gemm`` do without where it is missing."""


def unsupported(missing: Mapping[str, str] = MappingProxyType({}), /) -> Mapping[str, str]:
    """Kernels that the runtime knows of and that cannot be bound, each with the reason.

    Args:
        missing: libraries that the device lacks, as its properties say.

    >>> "add" in unsupported(), unsupported()["schur"]
    (False, 'libraries of devices have no such routine for stacks; to() the tensor to the host first')
    """
    known = CONTRACTS.keys() | stated().keys()
    lacked = dict.fromkeys(solving(), missing["solver"]) if "solver" in missing else {}
    return {**dict.fromkeys(known - rows().keys(), LACKING), **UNSUPPORTED, **lacked}


@cache
def rows() -> Mapping[str, Binder]:
    """Every kernel there is, with what binds it.

    >>> "add" in rows()
    True
    """
    found: dict[str, Binder] = {}
    for module in MODULES:
        found.update(import_module(f"tensor_gpu.kernels.{module}").BINDERS)
    return found


@cache
def solving() -> frozenset[str]:
    """Every kernel that calls ``solver``.

    >>> "svd" in solving(), "add" in solving()
    (True, False)
    """
    modules = [import_module(f"tensor_gpu.kernels.{module}") for module in MODULES if module.startswith(SOLVING)]
    return frozenset(name for module in modules for name in module.BINDERS)


def bind(executor: Executor, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
    """The kernel for exactly these forms.

    Raises:
        UnsupportedOperationError: there is no such kernel.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bind(Bench().executor, "untangle", (), Bench().form(()), None)
    Traceback (most recent call last):
    tensor_core.errors.UnsupportedOperationError: untangle: no kernel for devices yet
    """
    binder, missing = rows().get(name), executor.properties().missing
    if binder is None or ("solver" in missing and name in solving()):
        raise UnsupportedOperationError(f"{name}: {unsupported(missing).get(name, LACKING)}", operation=name)
    return binder(executor, operands, result, params)
