"""The view functions as methods: each gives another layout over the same memory, and reads no element."""

from __future__ import annotations

from tensor_core import views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Generic, TypeVar

    from tensor_core.dtypes import TensorScalar
    from tensor_core.host_view import HostTensorView
    from tensor_core.layout import TensorLayout
    from tensor_core.slices import SliceSpec

    # Covariant: a HostTensor[F64] is a Tensor, which is a HostTensor[TensorScalar]; writes are checked when they run.
    T = TypeVar("T", bound=TensorScalar, covariant=True)

    class Typed(Generic[T]):
        """What makes a class generic in its element type."""

        __slots__ = ()

else:  # importing typing would cost more than the rest of this package
    T = None

    class Typed:
        """What makes a class generic in its element type."""

        __slots__ = ()
        __class_getitem__ = classmethod(type(list[int]))


class ViewMethods(Typed[T]):
    """The methods that only rearrange metadata.

    >>> from tensor_core import HostTensor
    >>> HostTensor.from_nested([[1, 2], [3, 4]]).transpose_view().reverse_view(0).to_nested()
    [[2, 4], [1, 3]]
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def layout(self) -> TensorLayout: ...
        def _with_layout(self, layout: TensorLayout, /) -> HostTensorView[T]: ...

    def view(self) -> HostTensorView[T]:
        """The same elements as a view."""
        return self._with_layout(self.layout)

    def reshape_view(self, shape: Iterable[int] | int, /) -> HostTensorView[T]:
        """See :func:`tensor_core.reshape_view`."""
        return self._with_layout(views.reshape_view(self.layout, shape))

    def transpose_view(self, axes: Sequence[int] | None = None, /) -> HostTensorView[T]:
        """See :func:`tensor_core.transpose_view`."""
        return self._with_layout(views.transpose_view(self.layout, axes))

    def slice_view(self, specs: Sequence[SliceSpec], /) -> HostTensorView[T]:
        """See :func:`tensor_core.slice_view`."""
        return self._with_layout(views.slice_view(self.layout, specs))

    def broadcast_view(self, shape: Iterable[int] | int, /) -> HostTensorView[T]:
        """See :func:`tensor_core.broadcast_view`."""
        return self._with_layout(views.broadcast_view(self.layout, shape))

    def reverse_view(self, axes: Sequence[int] | int, /) -> HostTensorView[T]:
        """See :func:`tensor_core.reverse_view`."""
        return self._with_layout(views.reverse_view(self.layout, axes))

    def diagonal_view(self, first: int = 0, second: int = 1, /) -> HostTensorView[T]:
        """See :func:`tensor_core.diagonal_view`."""
        return self._with_layout(views.diagonal_view(self.layout, first, second))

    def window_view(self, window: Sequence[int] | int, axes: Sequence[int] | int, /) -> HostTensorView[T]:
        """See :func:`tensor_core.window_view`."""
        return self._with_layout(views.window_view(self.layout, window, axes))

    def squeeze_view(self, axes: Sequence[int] | int | None = None, /) -> HostTensorView[T]:
        """See :func:`tensor_core.squeeze_view`."""
        return self._with_layout(views.squeeze_view(self.layout, axes))

    def expand_view(self, axis: int, /) -> HostTensorView[T]:
        """See :func:`tensor_core.expand_view`."""
        return self._with_layout(views.expand_view(self.layout, axis))

    def compose_view(self, inner: TensorLayout, /) -> HostTensorView[T]:
        """See :func:`tensor_core.compose_view`."""
        return self._with_layout(views.compose_view(self.layout, inner))
