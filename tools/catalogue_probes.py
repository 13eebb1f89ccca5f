"""What calls of conformance cases show of an operation: dtypes, kernels, backends.

A case is called without elements, which is quick and takes any dtypes. Where elements decide, it is called on a device
that computes as ``cpu`` does, with its elements brought into the dtypes asked for.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple
from warnings import catch_warnings

import tensor_runtime as tr
from tensor_core.dtypes import DType
from tensor_core.errors import BackendError, DTypeError, TensorError, UnsupportedOperationError
from tensor_runtime.backends.meta import MetaBackend
from tensor_runtime.backends.plugins.families import family_table
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import form_of
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Kernel, Operand, Result
from tensor_runtime.tensors.tensor import Tensor, wrap
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.simulated_device import SimulatedBackend

UNKNOWN: Final = ()
"""Of a case whose elements, brought into another dtype, are no operands: a singular matrix, say."""


class Probe(NamedTuple):
    """Where cases are called: without elements, and with them where these decide."""

    kernels: set[str]  # of the operation, as they are bound
    without: Placement
    with_elements: Placement


class TracingDevice(MetaBackend):
    """A device without elements that notes which kernels are bound.

    >>> device = TracingDevice()
    >>> _ = device.bind("add", (), (), None)
    >>> device.kernels
    {'add'}
    """

    name = "catalogue"  # type: ignore[misc]
    device_kind = DeviceKind.other("catalogue")  # type: ignore[misc]

    def __init__(self, lacking: str = "") -> None:
        self._lacking = lacking
        self.kernels: set[str] = set()

    def placements(self) -> tuple[Placement, ...]:
        """Its only device."""
        return (Placement(MemoryKind.Device, DeviceId(self.device_kind, 0)),)

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """Note the name.

        Raises:
            UnsupportedOperationError: it is the one kernel that the device lacks.
        """
        if name == self._lacking:
            raise UnsupportedOperationError(f"{name}: not here", operation=name)
        self.kernels.add(name)
        return super().bind(name, operands, result, params)

    def operations(self) -> frozenset[str]:
        """Where it lacks a kernel, those of the CPU backend, so that a rule can stand in."""
        return tr.backend("cpu").operations() - {self._lacking} if self._lacking else frozenset()


class ComputingDevice(SimulatedBackend):
    """A device that computes as ``cpu`` does, and notes which kernels are bound."""

    def __init__(self, lacking: str, kernels: set[str]) -> None:
        super().__init__(tr.backend("cpu"), "computing catalogue", {lacking: "not here"} if lacking else None)
        self._kernels = kernels

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """Note the name, if the device has it."""
        kernel = super().bind(name, operands, result, params)
        self._kernels.add(name)
        return kernel


@contextmanager
def probing(lacking: str = "") -> Iterator[Probe]:
    """Two devices, known to the registry inside the block.

    >>> with probing() as probe:
    ...     _ = tr.zeros(2, placement=probe.without)
    >>> probe.kernels
    {'full'}
    """
    tracing = TracingDevice(lacking)
    computing = ComputingDevice(lacking, tracing.kernels)
    for device in (tracing, computing):
        registry.register(device.name, device)
    try:
        yield Probe(tracing.kernels, tracing.placements()[0], computing.placement())
    finally:
        for device in (tracing, computing):
            registry.unregister(device.name)


def called(case: Case, dtypes: Mapping[int, DType], probe: Probe, /) -> tuple[DType, ...] | None:
    """Dtypes of the results, of operands some of which get other dtypes; None if these are refused.

    >>> from tensor_runtime.testing.cases import all_cases
    >>> case = next(case for case in all_cases() if case.operation == "unique_counts")
    >>> with probing() as probe:
    ...     called(case, {0: tr.I32}, probe)
    (I32, I64)
    """
    forms = [form_of(dtypes.get(at, host.dtype), host.shape, probe.without) for at, host in enumerate(case.operands)]
    try:
        return _dtypes(_given(case, [wrap(form, None) for form in forms] or [probe.without]))
    except BackendError:  # elements decide
        pass
    except TensorError:
        return None
    there = probe.with_elements
    try:
        whole = [
            tr.cast(tr.upload(host), form.dtype, overflow="saturate")
            for host, form in zip(case.operands, forms, strict=True)
        ]
        return _dtypes(_given(case, [tr.to(operand, there) for operand in whole] or [there]))
    except DTypeError:
        return None
    except TensorError:
        return UNKNOWN


def _given(case: Case, arguments: Sequence[Any]) -> Any:
    """What a family's function gives, of which the case may compare a part; else what the case gives."""
    code = _code_of(case.operation)
    given: list[Any] = []

    def note(frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and frame.f_code is code:
            given.append(value)

    with catch_warnings(action="ignore"):
        sys.setprofile(note if code else None)
        try:
            value = case.call(*arguments)
        finally:
            sys.setprofile(None)
    return given[-1] if given else value


@cache
def _code_of(operation: str) -> CodeType | None:
    """The Python code of a family's function."""
    prefix, _, name = operation.partition(".")
    if prefix not in {family.name for family in tr.families() if name in family.operations}:
        return None
    return getattr(inspect.unwrap(family_table.function(name)), "__code__", None)


def _dtypes(value: Any) -> tuple[DType, ...]:
    if isinstance(value, tuple):
        return tuple(dtype for one in value for dtype in _dtypes(one))
    return (value.dtype,) if isinstance(value, Tensor) else ()


def backends_text(cases: Iterable[Case], /) -> str:
    """Backends that compute the cases, by computing them.

    >>> from tensor_runtime.testing.cases import all_cases
    >>> backends_text([case for case in all_cases() if case.id == "add-F64"])
    'cpu, sim'
    """
    found = []
    for row in tr.backends():
        try:
            backend: Any = tr.backend(row.name)
        except TensorError:  # cannot be used here, so what it has is not known
            continue
        if backend.operations():
            outcomes = {_computes(case, backend.placements()[0]) for case in cases}
            found += [row.name if outcomes == {True} else f"{row.name} in part"] if True in outcomes else []
    return ", ".join(found) or "none"


def _computes(case: Case, place: Placement) -> bool:
    operands: list[Any] = [tr.upload(host, place) for host in case.operands]
    try:
        with catch_warnings(action="ignore"):
            case.call(*operands or [place])
    except UnsupportedOperationError:
        return False
    return True
