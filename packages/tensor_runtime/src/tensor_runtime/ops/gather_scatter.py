"""Elements chosen by index values: ``take``, ``gather``, ``scatter``, the ``*_along_axis`` pair, ``nonzero``.

Indices are I32 or I64 tensors beside the operand. NumPy's functions (``take``, ``take_along_axis``,
``put_along_axis``) count a negative index from the end, once; ``gather`` and ``scatter`` take none. An index out of
range is an error that names the first such index in column-major order, never clipped, whatever the result's size.
On a device, the check is a status word that the host waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, SupportsIndex

from tensor_core.dtypes import ALL, I64, REAL, Bool
from tensor_core.errors import DTypeError, ReadOnlyError, ShapeError
from tensor_core.shapes import Shape, broadcast_shapes, normalize_axis
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.contracts.gather_scatter import SliceOptions
from tensor_runtime.dispatch.arguments import choice, whole, wholes
from tensor_runtime.dispatch.call import execute_pair, execute_several, execute_several_into
from tensor_runtime.dispatch.data_dependent import DependentSpec, Results, execute_dependent
from tensor_runtime.dispatch.index_checked import IndexedSpec
from tensor_runtime.dispatch.out import Out
from tensor_runtime.form import Form
from tensor_runtime.ops import native_calls
from tensor_runtime.ops.creation import listed
from tensor_runtime.ops.slice_geometry import gather_geometry, scatter_geometry
from tensor_runtime.static_types.results import same_dtype_into
from tensor_runtime.tensors.tensor import Number, Tensor, TypedTensorViewMut, unwrap

_LEADING: Final = SliceOptions()
SCATTER_MODES: Final = ("replace", "add", "multiply", "min", "max")


def _taken(operation: str, shape: Shape, indices: Shape, axis: int | None) -> Shape:
    if axis is None:
        return indices
    axis = normalize_axis(axis, len(shape), operation)
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def along_axis(operation: str, shape: Shape, indices: Shape, axis: SupportsIndex | None, /) -> Shape:
    """Shape of what is taken along an axis: that of the indices, broadcast against the operand beside the axis.

    >>> along_axis("take_along_axis", (2, 3), (1, 5), 1)
    (2, 5)
    """
    if axis is None:
        if len(indices) != 1:
            raise ShapeError(f"{operation}: indices of shape {indices} with axis=None; accepted: rank 1", shape=indices)
        return indices
    if len(shape) != len(indices):
        raise ShapeError(
            f"{operation}: an operand of shape {shape} and indices of shape {indices}; accepted: equal ranks",
            shapes=(shape, indices),
        )
    axis = normalize_axis(axis, len(shape), operation)
    try:
        beside = broadcast_shapes(_without(shape, axis), _without(indices, axis))
    except ShapeError:
        raise ShapeError(
            f"{operation}: an operand of shape {shape} and indices of shape {indices}; "
            f"accepted: extents that are equal or 1 beside axis {axis}",
            shapes=(shape, indices),
        ) from None
    return (*beside[:axis], indices[axis], *beside[axis:])


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def _put(operation: str, shape: Shape, indices: Shape, values: Shape, axis: int | None) -> Shape:
    target = along_axis(operation, shape, indices, axis)
    kept = shape if axis is None else (*target[: axis % len(shape)], shape[axis], *target[axis % len(shape) + 1 :])
    if kept != shape:
        raise ShapeError(
            f"{operation}: indices of shape {indices} are larger than shape {shape} beside axis {axis}; "
            "accepted: extents equal to the operand's, or 1",
            shapes=(shape, indices),
        )
    try:
        fits = bool(broadcast_shapes(values, target) == target)
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{operation}: values of shape {values} do not broadcast to {target}, the shape of the places named",
            shapes=(values, target),
        )
    return shape


def scattered(operation: str, shape: Shape, indices: Shape, updates: Shape, params: tuple[str, SliceOptions]) -> Shape:
    """Shape rule of ``scatter``: the operand's, once indices and updates fit.

    >>> scattered("scatter", (3,), (2,), (2,), ("add", SliceOptions()))
    (3,)
    """
    scatter_geometry(operation, shape, indices, updates, params[1])
    return shape


class ScatterSpec(IndexedSpec):
    """A scatter, of which some modes need an order, and complex numbers have none.

    >>> x = tensor([1j, 2j])
    >>> SCATTER.infer((x._form, tensor([0])._form, x._form), ("min", SliceOptions()))
    Traceback (most recent call last):
    tensor_core.errors.DTypeError: scatter: mode 'min' of C64 (complex128); accepted: Bool, F32, F64, I32, I64
    """

    __slots__ = ()

    def infer(self, operands: Any, params: Any = None, /) -> Form | tuple[Form, ...]:
        """Form of the result; see ``OpSpec``."""
        mode, dtype = params[0], operands[0].dtype
        if mode in ("min", "max") and dtype not in REAL | {Bool}:
            raise DTypeError(f"{self.name}: mode {mode!r} of {dtype}; accepted: Bool, F32, F64, I32, I64")
        return super().infer(operands, params)


TAKE: Final = IndexedSpec("take", result_shape=_taken)
TAKE_ALONG_AXIS: Final = IndexedSpec("take_along_axis", result_shape=along_axis)
PUT_ALONG_AXIS: Final = IndexedSpec("put_along_axis", result_shape=_put, effect="writes")
GATHER: Final = IndexedSpec("gather", result_shape=lambda *asked: gather_geometry(*asked).shape)
SCATTER: Final = ScatterSpec("scatter", result_shape=scattered)


@same_dtype_into
def take(
    x: Tensor, /, indices: Tensor | Sequence[int], axis: SupportsIndex | None = None, *, out: Out = None
) -> Tensor:
    """Elements, or slices, at the indices given; NumPy's function.

    With ``axis=0`` this is :func:`gather` along the leading axis, except that negative indices count from the end.

    Args:
        x: any dtype and layout, shape [N0, N1, ...].
        indices: I32 or I64, any shape [I...], from -N to N - 1 along the axis; a negative one counts from the end. A
            list of ints goes where ``x`` is.
        axis: the axis that is indexed; None counts the elements of ``x`` in row-major order, the last axis fastest.
            (``take(x.reshape(-1), indices, 0)`` counts them as they are stored, column-major.)

    Returns:
        An owned tensor of the dtype of ``x``; the indices' axes stand in place of the axis: shape
        [N before the axis, I..., N after it], or [I...] with axis None.

    Raises:
        IndexingError: an index out of range; ``position`` and ``value`` are the first such one.
        AxisError: an axis out of range.
        DTypeError: indices that are no integers.

    >>> x = tensor([[1, 2, 3], [4, 5, 6]])
    >>> take(x, tensor([0, -1]), axis=1).to_numpy().tolist(), take(x, tensor(2)).item()
    ([[1, 3], [4, 6]], 3)
    """
    if not isinstance(indices, Tensor):
        indices = listed("take", indices, x)
    return execute_pair(TAKE, x, indices, None if axis is None else whole("take", "axis", axis), out)


@same_dtype_into
def take_along_axis(x: Tensor, /, indices: Tensor, axis: SupportsIndex | None = -1, *, out: Out = None) -> Tensor:
    """For each line along an axis, the elements at that line's own indices; NumPy's function.

    ``take_along_axis(x, argsort(x, axis), axis)`` is ``sort(x, axis)``.

    Args:
        x: any dtype and layout.
        indices: I32 or I64, of the rank of ``x``; extents beside the axis are equal to those of ``x`` or 1, on either
            side. A negative index counts from the end.
        axis: the axis that is indexed; None counts the elements of ``x`` in row-major order, and indices have rank 1.

    Returns:
        An owned tensor of the dtype of ``x``; along the axis, the extent of the indices; beside it, the broadcast one.

    Raises:
        IndexingError: an index out of range; ``position`` and ``value`` are the first such one.
        ShapeError: ranks that differ, or extents that do not broadcast.
        AxisError: an axis out of range.
        DTypeError: indices that are no integers.

    >>> take_along_axis(tensor([[10, 20], [30, 40]]), tensor([[1], [0]]), axis=1).to_numpy().tolist()
    [[20], [30]]
    """
    along = None if axis is None else whole("take_along_axis", "axis", axis)
    return execute_pair(TAKE_ALONG_AXIS, x, indices, along, out)


def put_along_axis(
    view: TypedTensorViewMut[Any], indices: Tensor, values: Tensor | Number, /, axis: SupportsIndex | None = -1
) -> None:
    """Write values, for each line along an axis, at that line's own indices; NumPy's function, in place as there.

    :func:`scatter` gives a new tensor instead. Nothing is written when an index is out of range. Where indices or
    values share memory with the view, the result is as if they had been copied first.

    Args:
        view: what ``mutable_view()`` returns.
        indices: I32 or I64, of the rank of ``view``; extents beside the axis are equal to those of ``view`` or 1. A
            negative index counts from the end. Of indices that name one place, the last in column-major order wins.
        values: a number, or a tensor that broadcasts to the places named and converts to the view's dtype.
        axis: the axis that is indexed; None counts the elements in row-major order, and indices have rank 1.

    Raises:
        ReadOnlyError: the first operand is not a mutable view.
        IndexingError: an index out of range.
        ShapeError: shapes that do not fit.
        LossyConversionError: the view's dtype cannot hold the values; ``cast`` first.

    >>> x = zeros((2, 2))
    >>> put_along_axis(x.mutable_view(), tensor([[1], [0]]), 5.0, axis=1)
    >>> x.to_numpy().tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    name = "put_along_axis"
    if not isinstance(view, TypedTensorViewMut):
        raise ReadOnlyError(
            f"{name}: the first operand is a {type(view).__name__}; accepted: what mutable_view() returns "
            "(scatter() gives a new tensor)"
        )
    if not isinstance(values, Tensor):
        from tensor_runtime.ops.creation import full

        values = full((), values, dtype=view.dtype, placement=view.placement)
    form, array = view._form, view._array
    (form_i, array_i), (form_v, array_v) = unwrap(name, indices), unwrap(name, values)
    kernel, _ = PUT_ALONG_AXIS.bindings[form, form_i, form_v, None if axis is None else whole(name, "axis", axis)]
    call_translated(name, None, kernel, array, array_i, array_v)


@same_dtype_into
def gather(
    x: Tensor,
    indices: Tensor,
    /,
    *,
    offset_axes: Sequence[int] | int | None = None,
    collapsed_axes: Sequence[int] | int | None = None,
    start_axes: Sequence[int] | int | None = None,
    vector_axis: int | None = None,
    slice_sizes: Sequence[int] | int | None = None,
    out: Out = None,
) -> Tensor:
    """Slices of equal sizes whose places are index values.

    Without options it gathers along the leading axis: [D0, D1, ...] with indices [I...] gives [I..., D1, ...], where
    element (i..., d...) is ``x[indices[i...], d...]``.

    Args:
        x: any dtype and layout.
        indices: I32 or I64. Along ``vector_axis`` lie the components of one index; the other axes are batch axes.
        offset_axes: axes of the result that run inside a slice, ascending, one for each axis of ``x`` that is not
            collapsed (StableHLO: ``offset_dims``). None: the last ones.
        collapsed_axes: axes of ``x`` of slice size 1 that the result leaves out (``collapsed_slice_dims``). None: the
            start axes.
        start_axes: the axis of ``x`` along which each component runs (``start_index_map``); along the other axes,
            slices start at 0. None: axis 0.
        vector_axis: axis of the indices that holds the components; their rank says that each element is a whole
            index (``index_vector_dim``). None: the rank if there is one start axis, else the last axis.
        slice_sizes: of a slice, for each axis of ``x``. None: 1 along collapsed axes, the whole extent along others.

    Returns:
        An owned tensor of the dtype of ``x``: the slices' axes at ``offset_axes``, the batch axes elsewhere, in order.

    Raises:
        IndexingError: a start outside 0 to N - size; ``position`` and ``value`` are the first such one. StableHLO
            clamps; here nothing is clipped and nothing wraps.
        ShapeError, AxisError, ArgumentError: options that do not fit.
        DTypeError: indices that are no integers.

    >>> x = tensor([[1, 2], [3, 4], [5, 6]])
    >>> gather(x, tensor([2, 0])).to_numpy().tolist()
    [[5, 6], [1, 2]]
    >>> gather(x, tensor([[0, 1], [1, 0]]), start_axes=(0, 1)).to_numpy().tolist()
    [2, 3]
    >>> gather(x, tensor([0, 1]), collapsed_axes=(), slice_sizes=(2, 1)).to_numpy().tolist()
    [[[1], [3]], [[3], [5]]]
    """
    options = _slice_options("gather", offset_axes, collapsed_axes, start_axes, vector_axis, slice_sizes)
    return execute_pair(GATHER, x, indices, options, out)


def gather_at(x: Tensor, indices: Tensor, options: SliceOptions, /) -> Tensor:
    """A gather whose options are put together already, for indexing: they may count from the end.

    >>> gather_at(tensor([5, 6, 7]), tensor([0, -1]), SliceOptions(from_end=True)).to_numpy().tolist()
    [5, 7]
    """
    return execute_pair(GATHER, x, indices, options)


def scatter(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    /,
    *,
    mode: str,
    offset_axes: Sequence[int] | int | None = None,
    collapsed_axes: Sequence[int] | int | None = None,
    start_axes: Sequence[int] | int | None = None,
    vector_axis: int | None = None,
    out: Out = None,
) -> Tensor:
    """Copy of ``x`` with slices of it combined with updates: the counterpart of :func:`gather`.

    Without options it scatters along the leading axis: slice ``updates[i...]`` goes to ``x[indices[i...]]``.
    ``put_along_axis`` and ``mutable_view(x)[...] = y`` write in place.

    Args:
        x: any dtype and layout.
        indices: as for :func:`gather`.
        updates: shaped like what ``gather`` with the same options would give; its slices may be smaller than ``x``
            along axes that are not collapsed. Its dtype converts to that of ``x``.
        mode: what becomes of an element and an update that name one place:

            * "replace": the update; of several, the last in column-major order of ``updates``.
            * "add", "multiply": sum or product of the element and every update, in the dtype of ``x``: integers wrap,
              Bool is or and and, the order of floating operations is the backend's.
            * "min", "max": the least or the greatest of the element and every update; NaN if there is one, and which
              of two zeros is the backend's. Not for complex numbers.
        offset_axes: axes of ``updates`` that run inside a slice (StableHLO: ``update_window_dims``).
        collapsed_axes: axes of ``x`` that ``updates`` leaves out (``inserted_window_dims``).
        start_axes: as for :func:`gather` (``scatter_dims_to_operand_dims``).
        vector_axis: as for :func:`gather` (``index_vector_dim``).

    Returns:
        An owned tensor of the shape and dtype of ``x``.

    Raises:
        IndexingError: a start out of range; ``position`` and ``value`` are the first such one. StableHLO drops
            such updates.
        ShapeError, AxisError, ArgumentError: options or updates that do not fit, or another mode.
        DTypeError: indices that are no integers, or an order of complex numbers.
        LossyConversionError: the updates' dtype can hold values that the dtype of ``x`` cannot.

    >>> scatter(zeros((3,)), tensor([0, 2, 0]), tensor([1, 2, 3]), mode="add").to_numpy().tolist()
    [4.0, 0.0, 2.0]
    >>> scatter(zeros((3,)), tensor([0, 2, 0]), tensor([1, 2, 3]), mode="replace").to_numpy().tolist()
    [3.0, 0.0, 2.0]
    """
    mode = choice("scatter", "mode", mode, tuple(SCATTER_MODES))
    options = _slice_options("scatter", offset_axes, collapsed_axes, start_axes, vector_axis, None)
    if out is not None:
        return execute_several_into(SCATTER, out, (x, indices, updates), (mode, options))
    return execute_several(SCATTER, (x, indices, updates), (mode, options))


def _slice_options(operation: str, offset: Any, collapsed: Any, start: Any, vector: Any, sizes: Any) -> SliceOptions:
    if offset is collapsed is start is vector is sizes is None:
        return _LEADING

    def axes(name: str, given: Any) -> tuple[int, ...] | None:
        return None if given is None else wholes(operation, name, given)

    return SliceOptions(
        axes("offset_axes", offset),
        axes("collapsed_axes", collapsed),
        axes("start_axes", start),
        None if vector is None else whole(operation, "vector_axis", vector),
        axes("slice_sizes", sizes),
    )


def _positions(operation: str, form: Form, params: None, count: int) -> Results:
    if not form.rank:
        raise ShapeError(f"{operation}: the operand has rank 0 and no index; reshape it to (1,) first")
    return ((I64, (count,)),) * form.rank


NONZERO: Final = DependentSpec("nonzero", accepts=ALL, results=_positions)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Indices of the elements that are not zero; NumPy's function.

    Args:
        x: any dtype and layout, rank 1 or more. NaN is not zero; a complex number is zero when both parts are.

    Returns:
        One owned I64 tensor of shape [count] per axis of ``x``: the k-th elements of all together are the k-th index,
        in row-major order, the last axis fastest, as in NumPy. The count is a value: the host waits for it.

    Raises:
        ShapeError: rank 0.

    >>> [axis.to_numpy().tolist() for axis in nonzero(tensor([[0, 7], [8, 9]]))]
    [[0, 1, 1], [1, 0, 1]]
    """
    return _nonzero(x)


@native_calls.standing_in(globals())
def _nonzero(x: Any) -> tuple[Tensor, ...]:
    return execute_dependent(NONZERO, x, None)
