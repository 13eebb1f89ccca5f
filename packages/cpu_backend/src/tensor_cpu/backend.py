"""The backend object: a table from operation names to binders."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_core.errors import UnsupportedOperationError
from tensor_core.host_tensor import HostTensor
from tensor_cpu import (
    activations,
    arrays,
    assembling,
    checked,
    choosing,
    contraction,
    conversion,
    convolution,
    creation,
    elementwise,
    gathering,
    linalg,
    pooling,
    random,
    reduction,
    scans,
    scattering,
    slicing,
    sorting,
    statistics,
    views,
)
from tensor_cpu.arrays import Array
from tensor_cpu.native.binders import BINDERS as NATIVE_BINDERS
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceKind
from tensor_runtime.protocols import HostBackend, Kernel, Operand, Result

Binder = Callable[[tuple[Any, ...], Any, Any], Kernel]


def _unary(name: str) -> Binder:
    return lambda operands, result, detail: elementwise.bind_unary(name, operands[0], result)


def _binary(name: str) -> Binder:
    return lambda operands, result, detail: elementwise.bind_binary(name, operands, result)


def _reduction(name: str) -> Binder:
    return lambda operands, result, detail: reduction.bind_reduction(name, operands[0], result, detail)


def _one(bind: Callable[[Form, Form, Any], Kernel]) -> Binder:
    return lambda operands, result, detail: bind(operands[0], result, detail)


def _none(bind: Callable[[Form], Kernel]) -> Binder:
    return lambda operands, result, detail: bind(result)


_BINDERS: Final[Mapping[str, Binder]] = {
    **{name: _unary(name) for name in elementwise.UNARY},
    **{name: _binary(name) for name in elementwise.BINARY},
    **{name: _reduction(name) for name in reduction.REDUCTIONS},
    **checked.BINDERS,
    **choosing.BINDERS,
    **activations.BINDERS,
    "transpose_view": _one(views.bind_transpose),
    "reshape_view": _one(views.bind_reshape),
    "broadcast_view": _one(views.bind_restride),
    "diagonal_view": _one(views.bind_restride),
    "reverse_view": _one(views.bind_reverse),
    "slice_view": _one(views.bind_slice),
    "mutable_view": _one(views.bind_mutable),
    "copy": _one(views.bind_copy),
    "copy_into": lambda operands, result, detail: views.bind_copy_into(*operands),
    "overlaps": lambda operands, result, detail: views.bind_overlaps(*operands),
    "full": _none(creation.bind_full),
    "eye": _none(creation.bind_eye),
    "arange": _none(creation.bind_arange),
    "linspace": _none(creation.bind_linspace),
    **random.BINDERS,
    "convert": _one(conversion.bind_convert),
    "cast": _one(conversion.bind_cast),
    "contract": contraction.bind_contract,
    "relabel": contraction.bind_relabel,
    **linalg.BINDERS,
    **convolution.BINDERS,
    **pooling.BINDERS,
    **gathering.BINDERS,
    **scattering.BINDERS,
    **slicing.BINDERS,
    **sorting.BINDERS,
    **statistics.BINDERS,
    **scans.BINDERS,
    **assembling.BINDERS,
}


class CpuBackend:
    """NumPy on the host, on twins (see ``tensor_cpu.arrays``).

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> CpuBackend().bind("multiply", (form, form), form, None)(np.array([2.0, 3.0]), np.array([5.0, 7.0])).tolist()
    [10.0, 21.0]
    >>> CpuBackend().bind("untangle", (form,), form, None)
    Traceback (most recent call last):
    tensor_core.errors.UnsupportedOperationError: untangle: the cpu backend has no such operation
    """

    name: Final = "cpu"
    device_kind: Final = DeviceKind.Cpu

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, detail: Any, /) -> Kernel:
        """The kernel for exactly these forms.

        Raises:
            UnsupportedOperationError: this backend has no such operation, or a tensor has more than 64 axes.
        """
        forms: list[Operand] = [*operands, *(result if isinstance(result, tuple) else (result,))]
        for form in forms:
            if isinstance(form, Form):
                arrays.check_rank(name, form)
        binder = _BINDERS.get(name)
        if binder is None:
            raise UnsupportedOperationError(f"{name}: the cpu backend has no such operation", operation=name)
        native = NATIVE_BINDERS.get(name)
        kernel = None if native is None else native(operands, result, detail)
        return binder(operands, result, detail) if kernel is None else kernel

    def operations(self) -> frozenset[str]:
        """Every name with a binder."""
        return frozenset(_BINDERS)

    def unsupported(self) -> Mapping[str, str]:
        """Nothing is left out on purpose."""
        return {}

    def offset_of(self, array: Array, /) -> int:
        """Offset of the array's first element in its allocation, in elements."""
        return arrays.offset_of(array)

    def upload(self, source: HostTensor[Any], form: Form, /) -> Array:
        """A copy of a host tensor, as a twin."""
        return arrays.upload(source, form)

    def download(self, array: Array, form: Form, /) -> HostTensor[Any]:
        """A copy of a twin, as a host tensor."""
        return arrays.download(array, form)

    def borrow(self, source: Any, copy: bool | None, /) -> tuple[Array, Form] | None:
        """Twin and form of foreign memory."""
        return arrays.borrow(source, copy)

    def lend(self, array: Array, form: Form, /) -> Array:
        """The same memory with axes in the tensor's order."""
        return arrays.lend(array, form)

    def synchronize(self) -> None:
        """Nothing to wait for: every kernel has finished when it returns."""

    def describe(self) -> Mapping[str, str]:
        """Versions, BLAS libraries and threads, for ``doctor``."""
        import scipy
        from threadpoolctl import threadpool_info

        pools = (
            f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads" for pool in threadpool_info()
        )
        return {
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "blas": "; ".join(pools) or "none found",
            "machine": f"{platform.machine()}, {platform.system()}",
        }


def backend() -> HostBackend[Array]:
    """The backend of this process; the entry point calls it once.

    >>> backend().name
    'cpu'
    """
    return CpuBackend()
