"""Memory of devices of CUDA from other libraries, and for them: DLPack and ``__cuda_array_interface__``, both ways.

Nothing is copied unless it has to be, and the host waits for nothing: streams wait for each other. Memory that the host
reads, too, is waited for before it is lent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.dtypes import C32, C64, DTYPE_NAMES, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import ArgumentError, DTypeError, ExchangeError, shortened
from tensor_core.host.dlpack.borrowing import take_device_capsule
from tensor_core.host.dlpack.lending import export_device_capsule, is_unversioned
from tensor_core.host.interchange import check_address
from tensor_core.layout import TensorLayout, is_injective
from tensor_core.shapes import canonical_strides
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.device.api import Stream
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import compact
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement

DEVICE_TYPE: Final = 2
"""DLPack's number of CUDA's devices."""
DEFAULT_STREAM: Final = 1
"""What both protocols call CUDA's default stream, as 0 might mean no stream at all."""
UNORDERED: Final = -1
"""With this in place of a stream, a consumer says that it takes care of the order itself."""
ELEMENT_TYPES: Final[Mapping[str, DType]] = {
    "<f4": F32,
    "<f8": F64,
    "<c8": C32,
    "<c16": C64,
    "<i4": I32,
    "<i8": I64,
    "|b1": Bool,
}
"""Element types by their names in ``__cuda_array_interface__``."""
_DLPACK_TYPES: Final[Mapping[MemoryKind, int]] = {MemoryKind.PinnedHost: 3, MemoryKind.Managed: 13}
"""kDLCUDAHost, kDLCUDAManaged."""
_NAMES: Final[Mapping[DType, str]] = {dtype: name for name, dtype in ELEMENT_TYPES.items()}

Borrowed = tuple[DType, TensorLayout, int, bool, object]
"""Element type, shape and strides, address of the first element, whether it must not be written, what holds it."""


class CudaBackend(DeviceBackend):
    """Devices of CUDA, whose memory other libraries know by its addresses.

    >>> CudaBackend.__mro__[1].__name__
    'DeviceBackend'
    """

    def __init__(self, api: CupyApi, kind: DeviceKind, /, *, device_type: int = DEVICE_TYPE) -> None:
        super().__init__(api, kind)
        self.cupy = api
        self._device_type = device_type
        self._defaults: dict[int, Stream] = {}

    def dlpack_device(self, placement: Placement, /) -> tuple[int, int]:
        """DLPack's name of a device."""
        return self._dlpack_type(placement.memory_kind), self.executor(placement).ordinal

    def _dlpack_type(self, kind: MemoryKind) -> int:
        return _DLPACK_TYPES.get(kind, self._device_type)

    def borrow(self, source: Any, copy: bool | None, dtype: DType | None = None, /) -> tuple[DeviceArray, Form] | None:
        """The array and form of another library's memory; None where it names none.

        Raises:
            ExchangeError: ``copy=False``, and the memory must not be written; or what the library says is malformed.
            DTypeError: an element type that is none of ours.
        """
        if hasattr(source, "__dlpack_device__"):
            device = tuple(map(int, source.__dlpack_device__()))
            executor = self._executor_of(device[1])
            found = take_device_capsule(source, (self._device_type, device[1]), self.api.handle(executor.stream()))
        elif hasattr(source, "__cuda_array_interface__"):
            facts = source.__cuda_array_interface__
            executor = self._executor_of(self.cupy.ordinal_of(facts["data"][0]) if facts["data"][0] else 0)
            found = described(facts, source)
            self._let_wait(executor, facts.get("stream"))
        else:
            return None
        return self._taken(executor, found, copy)

    def _executor_of(self, ordinal: int) -> Executor:
        return self.executor(self._place(ordinal))

    def _default_stream(self, ordinal: int) -> Stream:
        found = self._defaults.get(ordinal)
        return (
            self._defaults.setdefault(ordinal, self.api.stream_of(ordinal, DEFAULT_STREAM)) if found is None else found
        )

    def _place(self, ordinal: int) -> Placement:
        return Placement(MemoryKind.Device, DeviceId(self.device_kind, ordinal))

    def _let_wait(self, executor: Executor, handle: int | None) -> None:
        """Let the current stream wait for what another library's stream was given."""
        if handle is not None:
            theirs = self.api.stream_of(executor.ordinal, handle)
            self.api.wait(executor.stream(), self.api.record(theirs))

    def _taken(self, executor: Executor, found: Borrowed, copy: bool | None) -> tuple[DeviceArray, Form]:
        dtype, layout, first, readonly, lease = found
        if readonly and copy is False:
            raise ExchangeError("asarray: the elements must not be written, so it takes a copy, and copy=False")
        if layout.size and first % min(dtype.itemsize, 16):
            raise ExchangeError(f"asarray: {first:#x} is no address of elements of {dtype.name}; copy them first")
        reach = [(extent - 1) * stride for extent, stride in zip(layout.shape, layout.strides, strict=True)]
        low, high = (sum(limit(0, one) for one in reach) * dtype.itemsize for limit in (min, max))
        nbytes = high - low + dtype.itemsize if layout.size else 0
        form = form_of(dtype, layout.shape, self._place(executor.ordinal), layout.strides)
        array = executor.foreign(first + (low if nbytes else 0), nbytes, first, dtype.itemsize, lease)
        return self._copied(array, form) if readonly or copy else (array, form)

    def _copied(self, array: DeviceArray, form: Form) -> tuple[DeviceArray, Form]:
        fresh = compact(form)
        copied: DeviceArray = bind_step(self.executor(form.placement), "copy", (form,), fresh, None)(array)
        return copied, fresh

    def lend_dlpack(
        self, array: DeviceArray, form: Form, stream: int | None, max_version: Any, copy: bool | None, /
    ) -> object:
        """A DLPack capsule of the same memory, for which the consumer's stream waits; arguments as ``__dlpack__``.

        Raises:
            ExchangeError: ``copy=False``, and a stride runs backwards, which other libraries do not take.
            ArgumentError: the stream 0, which the protocol excludes.
        """
        if stream == 0 or (stream is not None and stream < UNORDERED):
            raise ArgumentError(f"__dlpack__: stream is {stream}; accepted: None, -1, 1, 2, and a stream's address")
        backwards = any(stride < 0 for stride in form.strides)
        if backwards and copy is False:
            raise ExchangeError(
                f"dlpack: strides {form.strides} run backwards, which other libraries do not take, so it takes a copy, "
                "and copy=False; pass copy=None",
                strides=form.strides,
            )
        if backwards or copy:
            array, form = self._copied(array, form)
        if stream != UNORDERED:
            theirs = self.api.stream_of(array.allocation.ordinal, stream or DEFAULT_STREAM)
            self.api.wait(theirs, self.api.record(array.allocation.writer))
            array.allocation.users.add(theirs)  # the memory is not used again before it is through with it
            if array.allocation.kind is not MemoryKind.Device:
                self.api.synchronize(array.allocation.writer)  # the host may read it, and waits for no stream
        layout = TensorLayout(form.shape, form.strides)
        device = self._dlpack_type(array.allocation.kind), array.allocation.ordinal
        return export_device_capsule(
            *(form.dtype, layout, array.address, device, array),
            unversioned=is_unversioned(max_version),
            copied=bool(backwards or copy),
        )

    def lend_cuda_interface(self, array: DeviceArray, form: Form, /) -> dict[str, object]:
        """What ``__cuda_array_interface__`` tells of the same memory; strides that run backwards stay so.

        Nobody tells the stream that will use it. It waits for CUDA's default stream, as most do, or else its work has
        to be done before the tensor goes.
        """
        layout = TensorLayout(form.shape, form.strides)
        array.allocation.users.add(self._default_stream(array.allocation.ordinal))
        return {
            "shape": form.shape,
            "typestr": _NAMES[form.dtype],
            "data": (array.address if form.size else 0, not is_injective(layout)),
            "strides": tuple(stride * form.dtype.itemsize for stride in form.strides),
            "stream": self.api.handle(array.allocation.writer) or DEFAULT_STREAM,
            "version": 3,
        }


def described(facts: Mapping[str, Any], owner: object, /) -> Borrowed:
    """What an object says of its memory by ``__cuda_array_interface__``.

    Raises:
        DTypeError: an element type that is none of ours.
        ExchangeError: a mask, or facts that are malformed.

    >>> facts = {"shape": (2, 3), "typestr": "<f8", "data": (1 << 40, False), "version": 3}
    >>> described(facts, None)[1]
    TensorLayout(shape=(2, 3), strides=(3, 1), offset=0)
    """
    dtype = ELEMENT_TYPES.get(facts["typestr"])
    if dtype is None:
        raise DTypeError(
            f"asarray: the element type is {shortened(facts['typestr'])}; accepted: {DTYPE_NAMES}; convert it first"
        )
    if facts.get("mask") is not None:
        raise ExchangeError("asarray: the memory has a mask; fill in what it hides first")
    shape, steps = tuple(facts["shape"]), facts.get("strides")
    if steps is None:
        layout = TensorLayout.row_major(shape)
    elif any(step % dtype.itemsize for step in steps):
        raise ExchangeError(f"asarray: strides of {tuple(steps)} bytes are no multiples of {dtype.itemsize}")
    else:
        layout = TensorLayout(shape, canonical_strides(shape, tuple(step // dtype.itemsize for step in steps)))
    first, readonly = facts["data"]
    check_address(dtype, layout, first)
    return dtype, layout, first, bool(readonly), owner
