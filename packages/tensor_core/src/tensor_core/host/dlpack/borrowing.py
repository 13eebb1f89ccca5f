"""Memory of other libraries, taken from DLPack capsules.

Everything is checked before a capsule is taken; what is refused stays its producer's, and nothing has changed.
"""

from __future__ import annotations

from tensor_core.dtypes import DTYPE_NAMES, DType
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    ExchangeError,
    LayoutError,
    PlacementError,
    TensorError,
    shortened,
)
from tensor_core.foreign import refuse_masked
from tensor_core.host.dlpack.lending import HOST
from tensor_core.host.interchange import borrow_address, check_address
from tensor_core.host.storage import Storage
from tensor_core.layout import TensorLayout
from tensor_core.shapes import canonical_strides
from tensor_core.static_types import Any, Final

_MOST_AXES: Final = 64


def borrow_capsule(source: Any, copy: bool | None = None, /) -> tuple[Storage, TensorLayout]:
    """Storage and layout that share the memory which an object with ``__dlpack__`` lends.

    Read-only where the producer says so, and where it cannot say (before DLPack 1.0).

    Args:
        source: an array or tensor of any library, in the host's memory.
        copy: passed on to the producer: False shares or fails, True copies, None copies where the producer has to.

    Raises:
        DTypeError: no ``__dlpack__``, a mask, or an element type that is none of ours.
        PlacementError: the memory is a device's.
        ExchangeError: the producer refuses, or what it lends is malformed or newer than what is known here.

    Source: DLPack 1.1; the array API standard 2024.12, ``from_dlpack``.

    >>> from tensor_core import HostTensor
    >>> storage, layout = borrow_capsule(HostTensor.from_nested([[1, 2], [3, 4]]))
    >>> storage.elements(), layout
    ([1, 3, 2, 4], TensorLayout(shape=(2, 2), strides=(1, 2), offset=0))
    """
    check_on_host(source, copy)
    return _taken(_capsule_of(source, copy), type(source).__name__)


def lent_capsule(source: Any, copy: bool | None = None, /) -> object:
    """The capsule that an object with ``__dlpack__`` lends, checked, for a library that believes what it is told.

    Args:
        source: an array or tensor of any library, in the host's memory.
        copy: as for :func:`borrow_capsule`.

    Raises:
        DTypeError, PlacementError, ExchangeError, LayoutError: as by :func:`borrow_capsule`.

    >>> from tensor_core import HostTensor
    >>> type(lent_capsule(HostTensor.from_nested([1.0]))).__name__
    'PyCapsule'
    """
    check_on_host(source, copy)
    capsule = _capsule_of(source, copy)
    _checked(capsule, type(source).__name__)
    return capsule


def take_device_capsule(
    source: Any, device: tuple[int, int], stream: int | None, /
) -> tuple[DType, TensorLayout, int, bool, object]:
    """What an object with ``__dlpack__`` lends of a device's memory.

    Args:
        source: an array or tensor of any library.
        device: DLPack's name of where the memory has to be.
        stream: the one that will use it, as its producer is told; the producer lets it wait.

    Returns:
        Element type, shape and strides, address of the first element, whether it must not be written, and what gives
        the memory back when nobody holds it any more.

    Raises:
        DTypeError: an element type that is none of ours.
        ExchangeError: the producer refuses, or what it lends is malformed, elsewhere, or newer than what is known here.

    >>> from tensor_core import HostTensor
    >>> x = HostTensor.from_nested([[1, 2], [3, 4]])
    >>> dtype, layout, first, readonly, lease = take_device_capsule(x, (1, 0), None)
    >>> layout, first % 8, readonly
    (TensorLayout(shape=(2, 2), strides=(1, 2), offset=0), 0, False)
    """
    from tensor_core.host.dlpack import structures as c

    capsule = _capsule_of(source, None, stream)
    label, managed, (dtype, layout, first) = _checked(capsule, type(source).__name__, device)
    readonly = label == c.VERSIONED and bool(managed.flags & c.READ_ONLY)
    lease = _Lease(c.pointer_of(capsule, label), c.Deleter(managed.deleter) if managed.deleter else None)
    lease.taken = c.rename(capsule, c.USED[label]) == 0
    return dtype, layout, first, readonly, lease


def check_on_host(source: Any, copy: object = None, /) -> None:
    """Raise an error unless an object exchanges memory through DLPack, and the memory is the host's.

    Args:
        source: the object.
        copy: what the caller asks for, which has to be True, False or None.

    Raises:
        DTypeError: it has no ``__dlpack__``, or is a masked array, which lends its elements without the mask.
        PlacementError: the memory is a device's.
        ExchangeError: it tells no device.
        ArgumentError: another ``copy``.

    >>> from tensor_core import HostTensor
    >>> check_on_host(HostTensor.from_nested([1, 2]))
    """
    name = type(source).__name__
    if not any(copy is one for one in (None, True, False)):
        raise ArgumentError(f"from_dlpack: found copy={shortened(copy)}; accepted: None, True, False")
    if not (hasattr(source, "__dlpack__") and hasattr(source, "__dlpack_device__")):
        raise DTypeError(
            f"from_dlpack: found {name}; accepted: an array or tensor with __dlpack__ and __dlpack_device__"
        )
    refuse_masked("from_dlpack", source)
    try:
        kind, number = source.__dlpack_device__()
        device = int(kind), int(number)
    except TensorError:
        raise
    except Exception as error:  # each library fails in its own words
        raise ExchangeError(f"from_dlpack: {name} tells no device: {type(error).__name__}: {error}") from error
    if device != HOST:
        raise PlacementError(
            f"from_dlpack: {name} lies on DLPack's device {device}; accepted: the host, {HOST}; nothing is moved "
            "silently: move it with its own library first"
        )


def _capsule_of(source: Any, copy: bool | None, stream: int | None = None) -> object:
    from tensor_core.host.dlpack import structures as c

    asked: dict[str, Any] = {"max_version": c.VERSION} if copy is None else {"max_version": c.VERSION, "copy": copy}
    of_stream = {} if stream is None else {"stream": stream}
    try:
        try:
            return source.__dlpack__(**of_stream, **asked)
        except TypeError:  # a producer from before DLPack 1.0
            if copy is None:
                return source.__dlpack__(**of_stream)
            raise
    except (TensorError, MemoryError):
        raise
    except Exception as error:  # each library refuses in its own words
        raise ExchangeError(
            f"from_dlpack: {type(source).__name__} lends nothing: {type(error).__name__}: {error}"
        ) from error


def _taken(capsule: Any, name: str) -> tuple[Storage, TensorLayout]:
    from tensor_core.host.dlpack import structures as c

    label, managed, (dtype, layout, first) = _checked(capsule, name)
    readonly = label == c.UNVERSIONED or bool(managed.flags & c.READ_ONLY)
    lease = _Lease(c.pointer_of(capsule, label), c.Deleter(managed.deleter) if managed.deleter else None)
    borrowed = borrow_address(dtype, layout, first, readonly, lease)
    lease.taken = c.rename(capsule, c.USED[label]) == 0
    return borrowed


def _checked(
    capsule: Any, name: str, device: tuple[int, int] = HOST
) -> tuple[bytes, Any, tuple[DType, TensorLayout, int]]:
    """Label of a capsule, its structure, and what that describes, which can be."""
    from tensor_core.host.dlpack import structures as c

    if type(capsule).__name__ != "PyCapsule":
        raise ExchangeError(f"from_dlpack: {name} gave a {type(capsule).__name__}; accepted: a capsule")
    label = c.name_of(capsule)
    if label not in (c.VERSIONED, c.UNVERSIONED):
        raise ExchangeError(
            f"from_dlpack: {name} gave a capsule named {label!r}; accepted: {c.VERSIONED!r} and {c.UNVERSIONED!r}, once"
        )
    structure: Any = c.Versioned if label == c.VERSIONED else c.Unversioned
    managed = structure.from_address(c.pointer_of(capsule, label))
    if structure is c.Versioned and managed.major != c.VERSION[0]:
        raise ExchangeError(
            f"from_dlpack: {name} speaks DLPack {managed.major}.{managed.minor}; accepted: {c.VERSION[0]}.x"
        )
    dtype, layout, first = _described(managed.tensor, c, device)
    check_address(dtype, layout, first)
    return label, managed, (dtype, layout, first)


class _Lease:
    """Memory of a producer, given back when nobody holds the lease any more."""

    def __init__(self, address: int, deleter: Any) -> None:
        self.address, self.deleter, self.taken = address, deleter, False

    def __del__(self) -> None:
        if self.taken and self.deleter is not None:
            self.deleter(self.address)


def _described(info: Any, c: Any, device: tuple[int, int]) -> tuple[DType, TensorLayout, int]:
    """Element type, layout and address of the first element, or an error of what is wrong with them."""
    if (info.device.kind, info.device.number) != device:
        wanted = "the host" if device == HOST else device
        raise ExchangeError(
            f"from_dlpack: the capsule is of device {(info.device.kind, info.device.number)}, not {wanted}"
        )
    found = info.dtype.code, info.dtype.bits, info.dtype.lanes
    dtype = next((dtype for dtype, facts in c.ELEMENT_TYPES.items() if facts == found), None)
    if dtype is None:
        kind = c.NAMES.get(found[0], f"code {found[0]} of ")
        lanes = "" if found[2] == 1 else f" in {found[2]} lanes"
        raise DTypeError(
            f"from_dlpack: the element type is {kind}{found[1]}{lanes}; accepted: {DTYPE_NAMES}; convert it first"
        )
    rank = info.rank
    if not 0 <= rank <= _MOST_AXES or (rank and not info.shape):
        raise ExchangeError(
            f"from_dlpack: {rank} axes{'' if rank < 1 else ' without extents'}; accepted: 0 to {_MOST_AXES}"
        )
    shape = tuple(info.shape[axis] for axis in range(rank))
    if any(extent < 0 for extent in shape):
        raise ExchangeError(f"from_dlpack: extents {shape}; accepted: no negative ones")
    try:
        layout = (
            TensorLayout(shape, canonical_strides(shape, tuple(info.strides[axis] for axis in range(rank))))
            if rank and info.strides
            else TensorLayout.row_major(shape)
        )
    except LayoutError as error:
        raise ExchangeError(f"from_dlpack: {error}") from error
    if layout.size and not info.data:
        raise ExchangeError(f"from_dlpack: {layout.size} elements at address 0")
    return dtype, layout, (info.data or 0) + info.byte_offset
