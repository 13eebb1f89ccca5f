"""Reading and writing the elements of a storage through a layout; whole, one by one, and as Python objects.

Indices mean what they mean in Python and NumPy, whatever the order in memory is.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensor_core import views
from tensor_core.dtypes import Bool, DType
from tensor_core.errors import (
    AxisError,
    DTypeError,
    OverlappingViewError,
    ReadOnlyError,
    ShapeError,
    ViewRequiresCopyError,
)
from tensor_core.formatting import format_tensor, format_tensor_html
from tensor_core.host.dlpack import lending
from tensor_core.host.interchange import export_interface
from tensor_core.host.nested import nest, storage_of_nested
from tensor_core.host.storage import Storage, copy_elements
from tensor_core.host.view_methods import V, ViewMethods
from tensor_core.layout import TensorLayout, element_offset, is_injective
from tensor_core.promotion import can_convert
from tensor_core.scalar_conversion import to_element
from tensor_core.shapes import Order, ordered_strides
from tensor_core.static_types import Any, ClassVar


class HostElements(ViewMethods[V]):
    """What owned tensors and views have in common.

    ``==`` compares whole tensors, as for Python's lists: one bool, by :meth:`equals`. A view can be written, so it has
    no hash.
    """

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._storage.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._layout.shape

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self._layout.rank

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._layout.size

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take when compact."""
        return self.size * self.dtype.itemsize

    @property
    def readonly(self) -> bool:
        """Whether writing is refused."""
        return self._storage.readonly

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return export_interface(self._storage, self._layout)

    def __buffer__(self, flags: int, /) -> memoryview[Any]:
        from tensor_core.host.buffers import exported

        return exported(self._storage, self._layout)  # the interpreter refuses what the flags do not allow

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A DLPack capsule of the elements, for the ``from_dlpack`` of another library.

        The memory is shared, and kept alive until the other library is done with it. A copy is lent, column-major,
        where strides run backwards, and where elements must not be written and the consumer, older than DLPack 1.0,
        cannot be told so.

        Args:
            stream: None; the host has no streams.
            max_version: the newest version of DLPack that the consumer reads; None before 1.0.
            dl_device: the device that the consumer wants it on; None or the host, (1, 0).
            copy: True copies, False shares or fails, None shares where that can be.

        Raises:
            ExchangeError: the memory cannot be shared as asked.
            ArgumentError: another stream, or a malformed argument.
        """
        readonly = self.readonly or not is_injective(self._layout)
        copied = lending.must_copy(
            self._layout.strides,
            readonly=readonly,
            stream=stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=copy,
        )
        storage, layout = (self._in_order("F"), TensorLayout(self.shape)) if copied else (self._storage, self._layout)
        unversioned = lending.is_unversioned(max_version)
        return lending.export_capsule(storage, layout, unversioned=unversioned, copied=copied)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's name of the host."""
        return lending.HOST

    def __getitem__(self, index: Any) -> Any:
        """An element as a Python number where every axis has an int, a view otherwise.

        Slices wrap and clip as Python's do.

        Raises:
            IndexingError: out of range, too many indices, or an index of another kind.
        """
        layout = views.index_view(self._layout, index)
        items = index if type(index) is tuple else (index,)
        if len(items) == self.rank and not any(
            isinstance(item, slice) or item is None or item is Ellipsis for item in items
        ):
            return self._storage.read(layout.offset)
        return self._with_layout(layout)

    def __setitem__(self, index: Any, value: object) -> None:
        """Write a number, nested lists, or another host tensor's elements; the value broadcasts.

        Raises:
            ReadOnlyError: the memory is read-only.
            OverlappingViewError: two indices name one element.
            DTypeError: this element type does not hold the value's; nothing is narrowed implicitly.
        """
        target = views.index_view(self._layout, index)
        if self.readonly:
            raise ReadOnlyError("write: the memory is read-only; copy() it first")
        if not is_injective(target):
            raise OverlappingViewError(
                f"write: two indices of {target!r} may name one element; write to the tensor it came from",
                layout=target,
            )
        if not isinstance(value, HostElements):
            if target.rank == 0 and not isinstance(value, (list, tuple, range)):
                self._storage.write(target.offset, to_element(value, self.dtype))
                return
            source, layout = storage_of_nested(value, self.dtype)
        else:
            layout = TensorLayout(value.shape)
            if value.dtype is self.dtype:
                source = value._in_order("F")  # a copy, so that a[1:] = a[:-1] moves elements without repeating one
            elif can_convert(value.dtype, self.dtype):
                source = Storage.of(self.dtype, value.to_flat())
            else:
                raise DTypeError(f"write: {value.dtype} into {self.dtype}; cast it first")
        copy_elements(self._storage, target, source, views.broadcast_view(layout, target.shape))

    def item(self) -> Any:
        """The only element.

        Raises:
            ShapeError: there is not exactly one.

        >>> from tensor_core import I64, HostTensorView
        >>> HostTensorView(Storage.of(I64, [7]), TensorLayout((1, 1))).item()
        7
        """
        if self.size != 1:
            raise ShapeError(
                f"item: shape {self.shape} has {self.size} elements; accepted: exactly one", shape=self.shape
            )
        return self._storage.read(self._layout.offset)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(
                f"truth value: shape {self.shape} has {self.size} elements; accepted: exactly one", shape=self.shape
            )
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise AxisError("len: rank 0 has no axes; use item() or x[()]")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Elements at rank 1, views of one rank less beyond."""
        if not self.shape:
            raise AxisError("iteration: rank 0 has no axes; use item() or x[()]")
        return iter([self[k] for k in range(self.shape[0])])

    def __contains__(self, value: object) -> bool:
        return value in self._row_major_elements()

    def equals(self, other: object, /) -> bool:
        """Whether element type, shape and all elements are equal; a NaN equals nothing, not even itself.

        >>> from tensor_core import I64, HostTensorView
        >>> one = HostTensorView(Storage.of(I64, [1, 2]), TensorLayout((2,)))
        >>> one.equals(one.reverse_view(0)), one.equals(one.copy())
        (False, True)
        """
        return (
            isinstance(other, HostElements)
            and self.dtype is other.dtype
            and self.shape == other.shape
            and all(a == b for a, b in zip(self._row_major_elements(), other._row_major_elements(), strict=True))
        )

    def __eq__(self, other: object) -> bool:
        return self.equals(other) if isinstance(other, HostElements) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def to_nested(self) -> Any:
        """Lists in lists, with ``x.to_nested()[i][j] == x[i, j]``; a number at rank 0.

        >>> from tensor_core import I64, HostTensorView
        >>> HostTensorView(Storage.of(I64, [1, 2, 3, 4]), TensorLayout((2, 2))).to_nested()
        [[1, 3], [2, 4]]
        """
        return nest(self._row_major_elements(), self.shape)

    def to_list(self) -> Any:
        """:meth:`to_nested` under the name that other libraries use."""
        return self.to_nested()

    def to_flat(self, *, order: Order = "F") -> list[Any]:
        """The elements in a row; undoes ``HostTensor.from_flat``.

        Args:
            order: "F", the first index runs fastest (column-major), or "C", the last does (row-major).

        >>> from tensor_core import I64, HostTensorView
        >>> x = HostTensorView(Storage.of(I64, [1, 2, 3, 4]), TensorLayout((2, 2)))
        >>> x.to_flat(), x.to_flat(order="C")
        ([1, 2, 3, 4], [1, 3, 2, 4])
        """
        return self._in_order(order).elements()

    def as_slice(self) -> memoryview[Any]:
        """The elements in column-major order as flat memory, shared; complex ones as pairs of components.

        A byte of a Bool that another library wrote may be any number; all but 0 are true.

        Raises:
            ViewRequiresCopyError: they do not lie column-major without gaps.

        >>> from tensor_core import I64, HostTensorView
        >>> HostTensorView(Storage.of(I64, [1, 2, 3]), TensorLayout((2,), None, 1)).as_slice().tolist()
        [2, 3]
        """
        if not self._layout.is_compact:
            raise ViewRequiresCopyError(
                f"as_slice: {self._layout!r} is not contiguous; to_contiguous() first", layout=self._layout
            )
        parts = 2 if self.dtype.kind == "complex" else 1
        return self._storage.components[self._layout.offset * parts : (self._layout.offset + self.size) * parts]

    def tobytes(self, *, order: Order = "F") -> bytes:
        r"""The elements in column-major order, or row-major with ``order="C"``; in native byte order.

        >>> from tensor_core import HostTensorView
        >>> HostTensorView(Storage.of(Bool, [True, False]), TensorLayout((2,), (-1,), 1)).tobytes()
        b'\x00\x01'
        """
        if order == "F" and self._layout.is_compact and self.dtype is not Bool:
            return self.as_slice().tobytes()
        return self._in_order(order).raw.tobytes()

    def __repr__(self) -> str:
        header = f"{type(self).__name__} {self.dtype} {self.shape}"
        return format_tensor(header, self.dtype, self.shape, self._read)

    def _repr_html_(self) -> str:
        header = f"{type(self).__name__} {self.dtype} ({self.dtype.numpy_name}) {self.shape}"
        return format_tensor_html(header, self.dtype, self.shape, self._read)

    def _read(self, index: tuple[int, ...]) -> Any:
        return self._storage.read(element_offset(self._layout, index))

    def _row_major_elements(self) -> list[Any]:
        return self._in_order("C").elements()

    def _in_order(self, order: str) -> Storage:
        compact = TensorLayout(self.shape, ordered_strides(self.shape, order))
        storage = Storage.zeros(self.dtype, self.size)
        copy_elements(storage, compact, self._storage, self._layout)
        storage.normalise()
        return storage
