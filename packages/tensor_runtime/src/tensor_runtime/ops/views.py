"""Views: new forms over the same elements, and the two functions that copy instead.

Every ``*_view`` and every function with a NumPy name here returns a view that shares storage with its operand,
whatever the size, unless its docstring says otherwise. The rules are those of ``tensor_core.views``; this module
binds them to backends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, SupportsIndex

from tensor_core import views
from tensor_core.errors import ArgumentError, ShapeError, ViewRequiresCopyError
from tensor_core.layout import TensorLayout
from tensor_core.shapes import Shape, as_permutation, as_shape, normalize_axes
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.dispatch.arguments import axes_key, completed_shape, whole
from tensor_runtime.dispatch.call import execute_unary, execute_with_params
from tensor_runtime.dispatch.spec import ElementwiseSpec, ViewSpec
from tensor_runtime.form import Form
from tensor_runtime.ops import native_calls
from tensor_runtime.ops.orders import is_line, moved
from tensor_runtime.static_types.results import same_dtype
from tensor_runtime.tensors.tensor import Tensor, owned, unwrap


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
        self.shares = True
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
COPY: Final = ElementwiseSpec("copy")


@same_dtype
def transpose_view(a: Tensor, axes: Sequence[SupportsIndex] | None = None, /) -> Tensor:
    """View with the axes in another order: axis k of the result is axis ``axes[k]`` of the operand.

    Args:
        a: shape [N0, N1, ...].
        axes: a permutation, negative axes counting from the end; None reverses all axes.

    Raises:
        AxisError: not a permutation of the axes.

    >>> transpose_view(zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _in_order(a, axes)


@native_calls.standing_in(globals(), "transposed")
def _in_order(a: Any, axes: Any) -> Tensor:
    return execute_with_params(TRANSPOSE_VIEW, a, None if axes is None else axes_key("transpose", axes))


@same_dtype
def transpose(a: Tensor, /, axes: Sequence[SupportsIndex] | None = None) -> Tensor:
    """NumPy's name for :func:`transpose_view`: shares the elements.

    >>> transpose(zeros((2, 3))).shape
    (3, 2)
    """
    return _in_order(a, axes)


@same_dtype
def reversed_axes(a: Tensor, /) -> Tensor:
    """The property ``x.T``: a view with all axes reversed.

    >>> reversed_axes(zeros((2, 3, 4))).shape
    (4, 3, 2)
    """
    return execute_with_params(TRANSPOSE_VIEW, a, None)


@same_dtype
def permute_axes(a: Tensor, /, axes: Sequence[SupportsIndex]) -> Tensor:
    """View with the axes in the order given; :func:`transpose_view` with the order required.

    >>> permute_axes(zeros((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    if type(axes) is not tuple or type(a) is not Tensor:
        axes = as_permutation(axes, unwrap("permute_axes", a)[0].rank)
    return _in_order(a, axes)


@same_dtype
def move_axes(
    a: Tensor, source: SupportsIndex | Sequence[SupportsIndex], destination: SupportsIndex | Sequence[SupportsIndex], /
) -> Tensor:
    """View with some axes moved to other places; the others keep their order. NumPy calls it ``moveaxis``.

    Args:
        a: any layout.
        source: one axis or several.
        destination: where each of them stands in the result.

    Raises:
        AxisError: an axis out of range or named twice.
        ArgumentError: not as many destinations as sources.

    >>> move_axes(zeros((2, 3, 4)), 0, -1).shape, move_axes(zeros((2, 3, 4)), (0, 1), (1, 2)).shape
    ((3, 4, 2), (4, 2, 3))
    """
    if type(source) is type(destination) is int and type(a) is Tensor:
        return transpose(a, moved(a._form.rank, source, destination))
    form, _ = unwrap("move_axes", a)
    of = normalize_axes(axes_key("move_axes", source), form.rank, "move_axes")
    to = normalize_axes(axes_key("move_axes", destination), form.rank, "move_axes")
    if len(of) != len(to):
        raise ArgumentError(
            f"move_axes: {len(of)} axes {of} to {len(to)} places {to}; give one place per axis", operation="move_axes"
        )
    order = [axis for axis in range(form.rank) if axis not in of]
    for place, axis in sorted(zip(to, of, strict=True)):
        order.insert(place, axis)
    return transpose_view(a, tuple(order))


@same_dtype
def reshape_view(a: Tensor, shape: SupportsIndex | Sequence[SupportsIndex], /) -> Tensor:
    """View of another shape with the elements in the same column-major order.

    Args:
        a: any layout.
        shape: the same number of elements; one extent may be -1, which stands for what is left.

    Raises:
        ViewRequiresCopyError: the layout does not allow it; ``to_contiguous`` makes the copy.
        ShapeError: another number of elements.

    >>> reshape_view(zeros((2, 3, 4)), (6, -1)).shape
    (6, 4)
    """
    form, _ = unwrap("reshape_view", a)
    return execute_with_params(RESHAPE_VIEW, a, completed_shape("reshape_view", form.shape, shape))


@same_dtype
def reshape(a: Tensor, shape: SupportsIndex | Sequence[SupportsIndex], /, *, order: str = "F") -> Tensor:
    """Tensor of another shape with the elements in the same order; the method ``x.reshape``.

    Shares the elements where the layout allows it, and makes one compact copy where it does not.

    Args:
        a: any layout.
        shape: the same number of elements; one extent may be -1.
        order: "F" counts elements column-major, the first axis fastest, as tensors are stored; "C" counts them
            row-major, the last axis fastest, as NumPy's reshape does by default.

    Raises:
        ShapeError: another number of elements.
        ArgumentError: another order.

    >>> x = tensor([[1, 2], [3, 4]])
    >>> reshape(x, (4,)).to_numpy().tolist(), reshape(x, 4, order="C").to_numpy().tolist()
    ([1, 3, 2, 4], [1, 2, 3, 4])
    """
    form, _ = unwrap("reshape", a)
    if order == "C" and type(shape) is int and shape == -1:  # a line
        turned = a if form.rank < 2 else transpose(a)
        return _reshaped_or_copied(turned, (form.size,))
    target = completed_shape("reshape", form.shape, shape)
    if order == "C":  # row-major is column-major with the axes reversed, on both sides
        return transpose_view(_reshaped_or_copied(transpose_view(a), target[::-1]))
    if order != "F":
        raise ArgumentError(f"reshape: order is {order!r}; accepted: 'F' (column-major) and 'C' (row-major)")
    return _reshaped_or_copied(a, target)


def _reshaped_or_copied(a: Tensor, shape: Shape) -> Tensor:
    if len(shape) == 1 and not is_line(a._form):  # known in a twentieth of the time of being refused
        return owned(execute_with_params(RESHAPE_VIEW, copy(a), shape))
    try:
        return execute_with_params(RESHAPE_VIEW, a, shape)
    except ViewRequiresCopyError:
        return owned(execute_with_params(RESHAPE_VIEW, copy(a), shape))


@same_dtype
def broadcast_to(a: Tensor, /, shape: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
    """Read-only view of a larger shape, aligned at the last axis; repeated elements have stride 0.

    Raises:
        ShapeError: an extent is neither equal nor 1.

    >>> broadcast_to(tensor([1, 2]), (3, 2)).strides
    (0, 1)
    """
    return execute_with_params(BROADCAST_VIEW, a, as_shape(shape))


@same_dtype
def broadcast_in_dim(
    a: Tensor, shape: SupportsIndex | Sequence[SupportsIndex], axes: SupportsIndex | Sequence[SupportsIndex], /
) -> Tensor:
    """Read-only view of another shape, of which the caller says where each axis of the operand goes.

    Args:
        a: any layout.
        shape: of the result.
        axes: axis k of the operand becomes axis ``axes[k]`` of the result, in any order; its extent is the same there,
            or 1 and repeated. The operand is repeated along all others.

    Raises:
        AxisError: an axis out of range of the result, or named twice.
        ArgumentError: not one axis of the result per axis of the operand.
        ShapeError: an extent is neither equal nor 1.

    Source: the operation ``broadcast_in_dim`` of StableHLO.

    >>> broadcast_in_dim(tensor([1, 2]), (2, 3), 0).to_numpy().tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    form, _ = unwrap("broadcast_in_dim", a)
    wanted = as_shape(shape)
    places = normalize_axes(axes_key("broadcast_in_dim", axes), len(wanted), "broadcast_in_dim")
    if len(places) != form.rank:
        raise ArgumentError(
            f"broadcast_in_dim: {len(places)} axes {places} for shape {form.shape}; give one axis of the result for "
            "each of the operand's",
            operation="broadcast_in_dim",
        )
    aligned = [1] * len(wanted)
    for axis, (place, extent) in enumerate(zip(places, form.shape, strict=True)):
        if extent not in (1, wanted[place]):
            raise ShapeError(
                f"broadcast_in_dim: axis {axis} of shape {form.shape} goes to axis {place} of {wanted}; "
                "accepted: equal extents, or 1",
                operation="broadcast_in_dim",
                shapes=(form.shape, wanted),
            )
        aligned[place] = extent
    ordered = transpose_view(a, tuple(sorted(range(form.rank), key=places.__getitem__)))
    return broadcast_to(execute_with_params(RESHAPE_VIEW, ordered, tuple(aligned)), wanted)


@same_dtype
def reverse_view(a: Tensor, axes: SupportsIndex | Sequence[SupportsIndex], /) -> Tensor:
    """View that runs backwards along the axes named.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> reverse_view(tensor([1, 2, 3]), 0).to_numpy().tolist()
    [3, 2, 1]
    """
    return execute_with_params(REVERSE_VIEW, a, axes_key("reverse_view", axes))


@same_dtype
def diagonal_view(a: Tensor, first: int = 0, second: int = 1, /) -> Tensor:
    """View of the elements whose indices on two axes are equal; the diagonal comes last.

    Args:
        a: shape [..., N, ..., N, ...].
        first: one of the two axes.
        second: the other, of the same extent.

    Raises:
        ShapeError: the extents differ.
        AxisError: the axes coincide or are out of range.

    >>> diagonal_view(tensor([[1, 2], [3, 4]])).to_numpy().tolist()
    [1, 4]
    """
    places = whole("diagonal_view", "first", first), whole("diagonal_view", "second", second)
    return execute_with_params(DIAGONAL_VIEW, a, places)


@same_dtype
def squeeze(a: Tensor, /, axis: SupportsIndex | Sequence[SupportsIndex] | None = None) -> Tensor:
    """View without the axes named, which have extent 1; None removes every such axis.

    Raises:
        ShapeError: an axis named has another extent.

    >>> squeeze(zeros((1, 3, 1)), 0).shape
    (3, 1)
    """
    return _squeeze(a, axis)


@same_dtype
def expand_dims(a: Tensor, /, axis: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
    """View with a new axis of extent 1 at ``axis``, or at each of several places of the result.

    Raises:
        AxisError: an axis out of range of the result, or named twice.

    >>> expand_dims(zeros((2, 3)), -1).shape, expand_dims(zeros((2, 3)), (0, 2)).shape
    ((2, 3, 1), (1, 2, 1, 3))
    """
    return _expand_dims(a, axis)


@same_dtype
def copy(a: Tensor, /) -> Tensor:
    """Owned, compact, column-major copy in the same place.

    >>> copy(tensor([[1, 2], [3, 4]]).T).is_compact
    True
    """
    return execute_unary(COPY, a)


@same_dtype
def to_contiguous(a: Tensor, /) -> Tensor:
    """The operand itself when it is compact, else a compact copy in the same place.

    >>> x = zeros((2, 3))
    >>> to_contiguous(x) is x, to_contiguous(x.T).strides
    (True, (1, 3))
    """
    return a if unwrap("to_contiguous", a)[0].is_compact else copy(a)


@native_calls.standing_in(globals())
def _squeeze(a: Any, axis: Any) -> Tensor:
    return execute_with_params(SQUEEZE, a, None if axis is None else axes_key("squeeze", axis))


@native_calls.standing_in(globals())
def _expand_dims(a: Any, axis: Any) -> Tensor:
    return execute_with_params(EXPAND_DIMS, a, axes_key("expand_dims", axis))
