"""The view functions as methods: each gives another layout over the same memory, and reads no element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensor_core import views
from tensor_core.host.storage import Storage
from tensor_core.layout import TensorLayout
from tensor_core.slices import SliceSpec
from tensor_core.static_types import Generic, TypeVar

V = TypeVar("V", covariant=True)


class ViewMethods(Generic[V]):
    """A storage seen through a layout, and the methods that only rearrange the layout.

    ``V`` is the class of the views that they give; it says in ``_view`` how one is made.

    >>> from tensor_core import HostTensor
    >>> HostTensor.from_nested([[1, 2], [3, 4]]).transpose_view().reverse_view(0).to_nested()
    [[2, 4], [1, 3]]
    """

    __slots__ = ("__weakref__", "_layout", "_storage")

    _storage: Storage
    _layout: TensorLayout

    def _view(self, storage: Storage, layout: TensorLayout, /) -> V:
        raise NotImplementedError

    def _with_layout(self, layout: TensorLayout, /) -> V:
        return self._view(self._storage, layout)

    @property
    def layout(self) -> TensorLayout:
        """Shape, strides and offset in elements."""
        return self._layout

    def view(self) -> V:
        """The same elements as a view."""
        return self._with_layout(self._layout)

    def reshape_view(self, shape: Iterable[int] | int, /) -> V:
        """See :func:`tensor_core.reshape_view`."""
        return self._with_layout(views.reshape_view(self._layout, shape))

    def transpose_view(self, axes: Sequence[int] | None = None, /) -> V:
        """See :func:`tensor_core.transpose_view`."""
        return self._with_layout(views.transpose_view(self._layout, axes))

    def slice_view(self, specs: Sequence[SliceSpec], /) -> V:
        """See :func:`tensor_core.slice_view`."""
        return self._with_layout(views.slice_view(self._layout, specs))

    def broadcast_view(self, shape: Iterable[int] | int, /) -> V:
        """See :func:`tensor_core.broadcast_view`."""
        return self._with_layout(views.broadcast_view(self._layout, shape))

    def reverse_view(self, axes: Sequence[int] | int, /) -> V:
        """See :func:`tensor_core.reverse_view`."""
        return self._with_layout(views.reverse_view(self._layout, axes))

    def diagonal_view(self, first: int = 0, second: int = 1, /) -> V:
        """See :func:`tensor_core.diagonal_view`."""
        return self._with_layout(views.diagonal_view(self._layout, first, second))

    def window_view(self, window: Sequence[int] | int, axes: Sequence[int] | int, /) -> V:
        """See :func:`tensor_core.window_view`."""
        return self._with_layout(views.window_view(self._layout, window, axes))

    def squeeze_view(self, axes: Sequence[int] | int | None = None, /) -> V:
        """See :func:`tensor_core.squeeze_view`."""
        return self._with_layout(views.squeeze_view(self._layout, axes))

    def expand_view(self, axis: int, /) -> V:
        """See :func:`tensor_core.expand_view`."""
        return self._with_layout(views.expand_view(self._layout, axis))

    def compose_view(self, inner: TensorLayout, /) -> V:
        """See :func:`tensor_core.compose_view`."""
        return self._with_layout(views.compose_view(self._layout, inner))

    def as_readonly(self) -> V:
        """The same elements, not to be written through this view."""
        return self._view(Storage(self._storage.dtype, self._storage.raw.toreadonly()), self._layout)
