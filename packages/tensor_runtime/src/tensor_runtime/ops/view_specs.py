"""What views are, as specs: from an operand's form, and what the user wrote, to the form over the same elements.

The rules are those of ``tensor_core.views``; ``tensor_runtime.ops.views`` calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensor_core import views
from tensor_core.layout import TensorLayout
from tensor_core.shapes import normalize_axes
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.dispatch.spec import ViewSpec
from tensor_runtime.form import Form, Shape


def _layout(form: Form) -> TensorLayout:
    return TensorLayout(form.shape, form.strides)


def _parts(layout: TensorLayout) -> tuple[Shape, Shape]:
    return layout.shape, layout.strides


def _transposed(form: Form, axes: tuple[int, ...] | None) -> tuple[Shape, Shape]:
    return _parts(views.transpose_view(_layout(form), axes))


def _reshaped(form: Form, shape: Shape) -> tuple[Shape, Shape]:
    return _parts(views.reshape_view(_layout(form), shape))


@naming("broadcast_view", own="broadcast_to")
def _broadcast(form: Form, shape: Shape) -> tuple[Shape, Shape]:
    return _parts(views.broadcast_view(_layout(form), shape))


def _reversed(form: Form, axes: tuple[int, ...]) -> tuple[Shape, Shape]:
    return _parts(views.reverse_view(_layout(form), axes))


def _diagonal(form: Form, axes: tuple[int, int]) -> tuple[Shape, Shape]:
    return _parts(views.diagonal_view(_layout(form), *axes))


TRANSPOSE_VIEW: Final = ViewSpec("transpose_view", _transposed)
RESHAPE_VIEW: Final = ViewSpec("reshape_view", _reshaped)
BROADCAST_VIEW: Final = ViewSpec("broadcast_view", _broadcast)
REVERSE_VIEW: Final = ViewSpec("reverse_view", _reversed)
DIAGONAL_VIEW: Final = ViewSpec("diagonal_view", _diagonal)


class _ReshapingSpec(ViewSpec):
    """What is a view of another shape, which is made of the operand's shape and of what the user wrote."""

    __slots__ = ("shape_of",)

    def __init__(self, name: str, shape_of: Callable[[Shape, Any], Shape]) -> None:
        self.name, self.shape_of, self.result_layout = name, shape_of, self._arranged
        self.bindings = BindingTable(self._build)
        self.found = self.bindings.found

    @property
    def kernel(self) -> str:
        """The name that backends bind."""
        return RESHAPE_VIEW.name

    def _arranged(self, form: Form, params: Any) -> tuple[Shape, Shape]:
        return _reshaped(form, self.shape_of(form.shape, params))

    def _build(self, key: tuple[Form, Any]) -> Binding:
        form, params = key
        return RESHAPE_VIEW.bindings[form, self.shape_of(form.shape, params)]


@naming("squeeze_view", own="squeeze")
def _squeezed(shape: Shape, axes: tuple[int, ...] | None) -> Shape:
    return views.squeeze_view(TensorLayout(shape), axes).shape


def _expanded(shape: Shape, places: tuple[int, ...]) -> Shape:
    result = list(shape)
    for place in sorted(normalize_axes(places, len(shape) + len(places), "expand_dims")):
        result.insert(place, 1)
    return tuple(result)


SQUEEZE: Final = _ReshapingSpec("squeeze", _squeezed)
EXPAND_DIMS: Final = _ReshapingSpec("expand_dims", _expanded)
