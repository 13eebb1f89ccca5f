"""Host tensors: owned, compact column-major elements in host memory, and views of them under any layout.

A tensor comes from nested lists, from flat data in an order that is said, or from another library's memory. Whatever
strides it, gives a :class:`HostTensorView`, which shares its memory; ``copy`` and ``to_contiguous`` give owned tensors.

>>> x = HostTensor.from_nested([[1, 2, 3], [4, 5, 6]])
>>> x
HostTensor I64 (2, 3)
 1  2  3
 4  5  6
>>> x[1, 2], x.as_slice().tolist()
(6, [1, 4, 2, 5, 3, 6])
"""

from __future__ import annotations

from collections.abc import Iterable

from tensor_core.dtypes import F64, DTypeLike, TensorScalar, as_dtype
from tensor_core.errors import DTypeError, LayoutError, ShapeError, shortened
from tensor_core.host.dlpack.borrowing import borrow_capsule
from tensor_core.host.elements import HostElements
from tensor_core.host.interchange import RAW_FORMATS, borrow, buffer_of, convertible, dtype_of_buffer
from tensor_core.host.nested import numbers_and_dtype, storage_of_nested
from tensor_core.host.storage import Storage, check_parts
from tensor_core.layout import TensorLayout, validate_layout
from tensor_core.shapes import Order, as_shape, element_count, ordered_strides
from tensor_core.static_types import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Covariant: a HostTensor[F64] is a HostTensor[TensorScalar]; writes are checked when they run.
T = TypeVar("T", bound=TensorScalar, covariant=True)
S = TypeVar("S", bound=TensorScalar)


class HostTensorView(HostElements["HostTensorView[T]"], Generic[T]):
    """Elements of a storage, seen through a layout.

    Args:
        storage: the memory.
        layout: shape, strides and offset in elements; every element has to lie inside the storage.

    Raises:
        OutOfBoundsLayoutError: the layout reaches outside the storage.
        SizeLimitError: it needs numbers beyond int64.

    >>> from tensor_core import I64
    >>> HostTensorView(Storage.of(I64, [1, 2, 3]), TensorLayout((3,), (-1,), 2)).to_nested()
    [3, 2, 1]
    """

    __slots__ = ()

    def __init__(self, storage: Storage, layout: TensorLayout) -> None:
        check_parts("HostTensorView", storage, layout)
        validate_layout(layout, len(storage), storage.dtype.itemsize)
        self._storage = storage
        self._layout = layout

    def _view(self, storage: Storage, layout: TensorLayout, /) -> HostTensorView[T]:
        return HostTensorView(storage, layout)

    @classmethod
    def borrow(cls, source: object, /) -> HostTensorView[Any]:
        """A view of another library's array, or of any C-contiguous buffer; the memory is shared and kept alive.

        Raises:
            DTypeError: no array and no buffer, or of an element type that is none of ours.
            ViewRequiresCopyError: strides that count no whole elements.

        >>> HostTensorView.borrow(memoryview(bytearray(16)).cast("d")).to_nested()
        [0.0, 0.0]
        """
        return HostTensorView(*borrow(source))

    @classmethod
    def from_dlpack(cls, source: object, /, *, copy: bool | None = None) -> HostTensorView[Any]:
        """A view of what another library lends through DLPack; see ``host.dlpack.borrowing`` for what is refused.

        With ``copy=True`` it is a copy, with False shared memory or an error, else either.

        Raises:
            DTypeError, PlacementError, ExchangeError: not lent, or no host memory of an element type of ours.

        >>> HostTensorView.from_dlpack(HostTensor.from_nested([[1, 2], [3, 4]])).to_nested()
        [[1, 2], [3, 4]]
        """
        return HostTensorView(*borrow_capsule(source, copy))

    def typed(self, dtype: type[S], /) -> HostTensorView[S]:
        """The object itself, with its element type known to the type checker.

        Raises:
            DTypeError: it has another element type.

        >>> from tensor_core import I64
        >>> HostTensorView(Storage.of(I64, [7]), TensorLayout((1,))).typed(I64).to_nested()
        [7]
        """
        if self.dtype is not as_dtype(dtype):
            raise DTypeError(f"typed: found {self.dtype}; accepted: {dtype}, as asked for; convert() or cast() first")
        return self  # type: ignore[return-value]

    def copy(self) -> HostTensor[T]:
        """An owned, writable, compact tensor with these elements.

        >>> from tensor_core import I64
        >>> HostTensorView(Storage.of(I64, [1, 2]), TensorLayout((2,), (-1,), 1)).copy().as_slice().tolist()
        [2, 1]
        """
        return HostTensor(self._in_order("F"), TensorLayout(self.shape))

    def to_contiguous(self) -> HostTensor[T]:
        """An owned compact tensor with these elements; an owned tensor is its own."""
        return self.copy()

    def __copy__(self) -> HostTensor[T]:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> HostTensor[T]:
        return self.copy()

    def __reduce_ex__(self, protocol: object) -> Any:
        return _view_of, (self.copy(),)


# The second overload of each method below is chosen only where the first one contradicts the type that the result is
# assigned to; it keeps the checker from falling through to the dynamic one.
class HostTensor(HostTensorView[T]):
    """Owned elements, column-major without gaps.

    Made by the class methods; the constructor takes a storage of exactly the right length.

    Raises:
        LayoutError: the layout is not compact over the whole storage.
    """

    __slots__ = ()

    def __init__(self, storage: Storage, layout: TensorLayout) -> None:
        check_parts("HostTensor", storage, layout)
        if layout.size != len(storage) or layout.offset or not layout.is_compact:
            raise LayoutError(
                f"HostTensor: {layout!r} over {len(storage)} elements; accepted: compact, from the first to the last; "
                "HostTensorView takes other layouts",
                layout=layout,
            )
        super().__init__(storage, TensorLayout(layout.shape))

    @overload
    @classmethod
    def zeros(cls, shape: Iterable[int] | int, dtype: type[S]) -> HostTensor[S]: ...
    @overload
    @classmethod
    def zeros(cls, shape: Iterable[int] | int, dtype: type[TensorScalar]) -> HostTensor[TensorScalar]: ...  # type: ignore[overload-cannot-match]
    @overload
    @classmethod
    def zeros(cls, shape: Iterable[int] | int, dtype: DTypeLike = F64) -> HostTensor[Any]: ...
    @classmethod
    def zeros(cls, shape: Iterable[int] | int, dtype: DTypeLike = F64) -> HostTensor[Any]:
        """A tensor of zeros (False for Bool).

        Raises:
            SizeLimitError: more bytes than int64 counts.
            OutOfMemoryError: not enough memory.

        >>> HostTensor.zeros((2, 2), F64).to_nested()
        [[0.0, 0.0], [0.0, 0.0]]
        """
        layout, element = TensorLayout(shape), as_dtype(dtype)
        validate_layout(layout, layout.size, element.itemsize)
        return HostTensor(Storage.zeros(element, layout.size), layout)

    @overload
    @classmethod
    def from_nested(cls, nested: object, dtype: type[S]) -> HostTensor[S]: ...
    @overload
    @classmethod
    def from_nested(cls, nested: object, dtype: type[TensorScalar]) -> HostTensor[TensorScalar]: ...  # type: ignore[overload-cannot-match]
    @overload
    @classmethod
    def from_nested(cls, nested: object, dtype: DTypeLike | None = None) -> HostTensor[Any]: ...
    @classmethod
    def from_nested(cls, nested: object, dtype: DTypeLike | None = None) -> HostTensor[Any]:
        """A tensor of nested lists: element (i, j) is ``nested[i][j]``.

        Args:
            nested: a number, or equally long lists in lists; tensors and arrays of rank 0 are numbers.
            dtype: None takes the type in which all numbers meet: Bool, I64, F64 or C64 for Python's, and the
                element types of tensors and arrays of rank 0 among them; F64 without any.

        Raises:
            ShapeError: ragged lists; the message says where.
            DTypeError, CastRangeError: ``dtype`` does not hold an element.

        >>> HostTensor.from_nested([[1, 2.5], [3, 4]]).dtype
        F64
        """
        return HostTensorView(*storage_of_nested(nested, None if dtype is None else as_dtype(dtype))).copy()

    @overload
    @classmethod
    def from_flat(
        cls, data: Iterable[object], shape: Iterable[int] | int, dtype: type[S], *, order: Order = "F"
    ) -> HostTensor[S]: ...
    @overload
    @classmethod
    def from_flat(  # type: ignore[overload-cannot-match]
        cls, data: Iterable[object], shape: Iterable[int] | int, dtype: type[TensorScalar], *, order: Order = "F"
    ) -> HostTensor[TensorScalar]: ...
    @overload
    @classmethod
    def from_flat(
        cls, data: Iterable[object], shape: Iterable[int] | int, dtype: DTypeLike | None = None, *, order: Order = "F"
    ) -> HostTensor[Any]: ...
    @classmethod
    def from_flat(
        cls, data: Iterable[object], shape: Iterable[int] | int, dtype: DTypeLike | None = None, *, order: Order = "F"
    ) -> HostTensor[Any]:
        """A tensor of numbers in a row.

        Args:
            data: one number per element.
            dtype: None takes the type in which all numbers meet.
            order: "F", the first index runs fastest (column-major), or "C", the last does (row-major).

        Raises:
            ShapeError: another number of elements.

        >>> HostTensor.from_flat([1, 2, 3, 4], (2, 2), order="C").to_nested()
        [[1, 2], [3, 4]]
        """
        try:
            elements = list(data)
        except TypeError:
            raise DTypeError(f"from_flat: found {shortened(data)}; accepted: an iterable of numbers") from None
        extents = as_shape(shape)
        if len(elements) != element_count(extents):
            raise ShapeError(
                f"from_flat: {len(elements)} numbers for shape {extents}; accepted: exactly {element_count(extents)}",
                shape=extents,
            )
        numbers, natural = numbers_and_dtype(elements) if dtype is None else (elements, as_dtype(dtype))
        storage = Storage.of(natural, numbers)
        return _in_order(storage, extents, order)

    @overload
    @classmethod
    def from_buffer(
        cls, source: object, dtype: type[S], shape: Iterable[int] | int | None = None, *, order: Order = "F"
    ) -> HostTensor[S]: ...
    @overload
    @classmethod
    def from_buffer(  # type: ignore[overload-cannot-match]
        cls,
        source: object,
        dtype: type[TensorScalar],
        shape: Iterable[int] | int | None = None,
        *,
        order: Order = "F",
    ) -> HostTensor[TensorScalar]: ...
    @overload
    @classmethod
    def from_buffer(
        cls,
        source: object,
        dtype: DTypeLike | None = None,
        shape: Iterable[int] | int | None = None,
        *,
        order: Order = "F",
    ) -> HostTensor[Any]: ...
    @classmethod
    def from_buffer(
        cls,
        source: object,
        dtype: DTypeLike | None = None,
        shape: Iterable[int] | int | None = None,
        *,
        order: Order = "F",
    ) -> HostTensor[Any]:
        """A copy of an array or buffer of any strides; ``HostTensorView.borrow`` shares memory instead.

        Args:
            source: an object with ``__array_interface__`` or the buffer protocol.
            dtype: None takes the source's own, which has to be equal otherwise; plain bytes need one. An array of an
                element type that is none of ours (unsigned, 8 or 16 bits, half precision, swapped bytes) is converted
                where ``dtype`` holds all its values; unsigned integers of 64 bits go to F64 and C64, which round.
            shape: None takes the source's own, with its indices. Given, the source is read as flat data.
            order: of flat data: "F", the first index runs fastest, or "C", the last does.

        Raises:
            DTypeError: the source has another element type, or a mask.
            LossyConversionError: ``dtype`` does not hold all values of an array's type.
            ShapeError: another number of elements.

        >>> HostTensor.from_buffer(memoryview(bytearray(16)).cast("d"), shape=(1, 2)).to_nested()
        [[0.0, 0.0]]
        """
        wanted = None if dtype is None else as_dtype(dtype)
        source = convertible(source, wanted)
        if isinstance(source, HostTensorView) or hasattr(source, "__array_interface__"):
            own = HostTensorView.borrow(source).copy()
        else:
            buffer = buffer_of(source)
            raw = wanted is not None and buffer.format in RAW_FORMATS
            found = wanted if wanted is not None and raw else dtype_of_buffer(buffer)
            data = bytearray(buffer.tobytes("F"))
            extents = (len(data) // found.itemsize,) if raw else tuple(buffer.shape or ())
            own = HostTensor.wrap_bytes(data, extents, found)
            own._storage.normalise()
        if wanted is not None and own.dtype is not wanted:
            raise DTypeError(f"from_buffer: the source holds {own.dtype}; accepted: {wanted}, as asked for")
        if shape is None:
            return own
        extents = as_shape(shape)
        if own.size != element_count(extents):
            raise ShapeError(
                f"from_buffer: {own.size} elements for shape {extents}; accepted: equal numbers", shape=extents
            )
        return _in_order(own._storage, extents, order)

    @overload
    @classmethod
    def wrap_bytes(cls, buffer: Buffer, shape: Iterable[int] | int, dtype: type[S]) -> HostTensor[S]: ...
    @overload
    @classmethod
    def wrap_bytes(  # type: ignore[overload-cannot-match]
        cls, buffer: Buffer, shape: Iterable[int] | int, dtype: type[TensorScalar]
    ) -> HostTensor[TensorScalar]: ...
    @overload
    @classmethod
    def wrap_bytes(cls, buffer: Buffer, shape: Iterable[int] | int, dtype: DTypeLike) -> HostTensor[Any]: ...
    @classmethod
    def wrap_bytes(cls, buffer: Buffer, shape: Iterable[int] | int, dtype: DTypeLike) -> HostTensor[Any]:
        """A tensor over contiguous bytes in column-major order, without copying; read-only where the buffer is.

        Raises:
            LayoutError: the buffer has another length, or is not contiguous.

        >>> HostTensor.wrap_bytes(bytearray(16), (2,), F64).to_nested()
        [0.0, 0.0]
        """
        layout, element = TensorLayout(shape), as_dtype(dtype)
        validate_layout(layout, layout.size, element.itemsize)
        storage = Storage(element, buffer)
        if len(storage) != layout.size:
            found = f"{storage.raw.nbytes} bytes for shape {layout.shape} of {element}"
            wanted = layout.size * element.itemsize
            raise LayoutError(f"wrap_bytes: {found}; accepted: exactly {wanted}", shape=layout.shape)
        made: HostTensor[Any] = HostTensor.__new__(HostTensor)  # what the constructor would ask was asked above
        made._storage, made._layout = storage, layout
        return made

    @property
    def raw(self) -> memoryview:
        """The bytes of all elements in column-major order; writable unless the tensor is read-only.

        A byte of a Bool that another library wrote, in memory given to ``wrap_bytes``, may be any number; all but 0 are
        true.
        """
        return self._storage.raw

    def normalised(self) -> HostTensor[T]:
        """The tensor itself; of Bool, a copy when a byte is neither 0 nor 1.

        >>> from tensor_core import Bool
        >>> HostTensor.wrap_bytes(bytes([0, 255]), 2, Bool).normalised().raw.tolist()
        [0, 1]
        """
        return self if self._storage.is_normal else self.copy()

    def to_contiguous(self) -> HostTensor[T]:
        """The tensor itself; ``copy()`` copies."""
        return self

    def typed(self, dtype: type[S], /) -> HostTensor[S]:
        """The object itself, with its element type known to the type checker.

        Raises:
            DTypeError: it has another element type.

        >>> HostTensor.zeros(2).typed(F64).dtype
        F64
        """
        super().typed(dtype)
        return self  # type: ignore[return-value]

    def __reduce_ex__(self, protocol: object) -> Any:
        return HostTensor, (self._storage, self._layout)


def _in_order(storage: Storage, shape: tuple[int, ...], order: str) -> HostTensor[Any]:
    layout = TensorLayout(shape, ordered_strides(shape, order))
    return HostTensor(storage, layout) if layout.is_compact else HostTensorView(storage, layout).copy()


def _view_of(tensor: HostTensor[T]) -> HostTensorView[T]:
    return tensor.view()
