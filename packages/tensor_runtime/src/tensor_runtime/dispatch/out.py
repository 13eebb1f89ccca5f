"""Writing into a tensor that the caller gives: what ``out=`` and ``copy_into`` have in common.

``out`` is a mutable view, or an owned tensor, of exactly the result's shape, in the operands' place, whose dtype can
hold the result. It may be one of the operands, element for element; an output that shares only a part of an operand's
elements, or the same ones in another order, is refused. Everything is checked first, or else the result is computed
first, so that nothing is written when anything is wrong.

Here the result is computed, then copied; a large elementwise one piece by piece (:func:`written_in_pieces`). Where
native calls serve (``ops.native_calls``), the kernel writes it at once to an output of just the result's form, and
nothing is allocated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from math import ceil
from typing import Any, Final

from tensor_core.errors import OverlappingViewError, ReadOnlyError, ShapeError, TensorError
from tensor_core.layout import TensorLayout, is_injective
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import call_translated, fail
from tensor_runtime.backends.kernel_facts import VIEW, KernelFacts, state
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.overlap import overlap_test
from tensor_runtime.dispatch.spec import OpSpec, check_convertible, common_placement
from tensor_runtime.form import Form
from tensor_runtime.placement import is_stand_in
from tensor_runtime.tensors.tensor import Tensor, TypedTensorViewMut, blank, owns, unwrap

Out = Tensor | None
"""The parameter ``out``: a mutable view or an owned tensor; None for a fresh result."""


_NUMBERS: Final = (bool, int, float, complex)
_LEAST_IN_PIECES: Final = 1 << 20  # bytes of a result
_PIECE_BYTES: Final = 1 << 18


def _bind_writing(key: tuple[str, Form, Form]) -> Binding:
    operation, target, source = key
    common_placement(operation, (target, source))
    if source.shape != target.shape:
        raise ShapeError(
            f"{operation}: the view has shape {target.shape} and its new elements {source.shape}; "
            "accepted: equal shapes",
            shapes=(target.shape, source.shape),
        )
    check_convertible(operation, source, target.dtype)
    return registry.bind("copy_into", (target, source), target, None), target


def _bind_injective(form: Form) -> Binding:
    return registry.bind("mutable_view", (form,), form, None), is_injective(TensorLayout(form.shape, form.strides))


def _bind_overlap(key: tuple[Form, Form]) -> Binding:
    common_placement("out", key)
    return overlap_test(*key), registry.backend_for(key[0].placement).location_of


def _written_to(operation: str, target: Form, source: Form) -> Binding:
    """What writes a result to ``out``; bound once for all operations, whose errors name the one that was called."""
    try:
        return _WRITING["out", target, source]
    except TensorError as error:
        if isinstance(error, ShapeError):
            raise ShapeError(
                f"{operation}: out has shape {target.shape} and the result {source.shape}; accepted: equal shapes",
                operation=operation,
                shapes=(target.shape, source.shape),
            ) from None
        raise _named(operation, error) from None


def _overlapping(operation: str, target: Form, operand: Form) -> Binding:
    try:
        return _OVERLAP[target, operand]
    except TensorError as error:
        raise _named(operation, error) from None


def _named(operation: str, error: TensorError) -> TensorError:
    """The error of a binding that operations share, in the name of one."""
    message = str(error).replace("out:", f"{operation}: out:", 1)
    return type(error)(message, **{**vars(error), "operation": operation})


def _located(operation: str, locate: Callable[[Any], tuple[Hashable, int]], array: Any) -> tuple[Hashable, int]:
    try:
        space, address = locate(array)
        return space, operator.index(address)
    except Exception as error:
        fail(operation, error)


state("copy_into", KernelFacts(effect="writes"))
_WRITING: Final = BindingTable(_bind_writing)
state("mutable_view", VIEW)
_INJECTIVE: Final = BindingTable(_bind_injective)  # a kernel that refuses read-only memory; whether it is injective
_OVERLAP: Final = BindingTable(_bind_overlap)


def mutable_view_of(x: Tensor, /) -> TypedTensorViewMut[Any]:
    """View of the same elements that may be written; errors as for ``mutable_view``.

    >>> mutable_view_of(zeros((2,))).shape
    (2,)
    """
    form, array = unwrap("mutable_view", x)
    kernel, injective = _INJECTIVE[form]
    if not injective:
        raise OverlappingViewError(
            f"mutable_view: strides {form.strides} name some elements of shape {form.shape} twice; copy() first"
        )
    view: TypedTensorViewMut[Any] = blank(TypedTensorViewMut)
    view._form = form
    view._array = call_translated("mutable_view", None, kernel, array)
    return view


def as_target(operation: str, out: Any, /) -> TypedTensorViewMut[Any]:
    """What is written to where ``out`` is given: itself if it is a mutable view, else a view of all of an owned tensor.

    Here and below, errors bear the name of the operation that was called.

    A tensor is owned whose memory was made for it: no view, not even one of all of a tensor, and nothing that another
    library lends.

    Raises:
        ReadOnlyError: a view that is not mutable, memory that was lent to us read-only, or no tensor at all.

    >>> x = zeros((2, 3))
    >>> as_target("add", x).shape
    (2, 3)
    >>> as_target("add", x[:, :2])
    Traceback (most recent call last):
        ...
    tensor_core.errors.ReadOnlyError: add: out is a view that is not mutable, or memory that another library lends; \
accepted: an owned tensor, or what mutable_view() returns
    """
    if isinstance(out, TypedTensorViewMut):
        return out
    if isinstance(out, Tensor):
        try:
            target = mutable_view_of(out)
        except ReadOnlyError as error:
            message = str(error).replace("mutable_view:", f"{operation}: out:", 1)
            raise ReadOnlyError(message, **{**vars(error), "operation": operation}) from None
        except OverlappingViewError:  # a broadcast, so a view
            target = None
        if target is not None and owns(out):
            return target
    what = "a view that is not mutable, or memory that another library lends"
    what = what if isinstance(out, Tensor) else f"of type {type(out).__name__}"
    message = f"{operation}: out is {what}; accepted: an owned tensor, or what mutable_view() returns"
    raise ReadOnlyError(message, operation=operation)


def write(view: TypedTensorViewMut[Any], source: Tensor, operation: str = "copy_into", /) -> None:
    """Write every element of ``source`` into a mutable view of the same shape; errors as for ``copy_into``.

    >>> x = zeros((2,))
    >>> write(x.mutable_view(), tensor([1, 2]))
    >>> x.to_numpy().tolist()
    [1.0, 2.0]
    """
    if not isinstance(view, TypedTensorViewMut):
        raise ReadOnlyError(
            f"{operation}: found a {type(view).__name__} to write; accepted: what mutable_view() returns"
        )
    kernel, _ = _WRITING[operation, view._form, source._form]
    call_translated(operation, None, kernel, view._array, source._array)


def write_result(operation: str, target: TypedTensorViewMut[Any], result: Tensor, /) -> None:
    """Write every element of a result into what :func:`as_target` gives; errors as for :func:`written`.

    >>> x = zeros((2,))
    >>> write_result("add", mutable_view_of(x), tensor([1.0, 2.0]))
    >>> x.to_numpy().tolist()
    [1.0, 2.0]
    """
    kernel, _ = _written_to(operation, target._form, result._form)
    call_translated(operation, None, kernel, target._array, result._array)


def written(operation: str, out: Tensor, result: Tensor, /, *operands: object) -> Tensor:
    """The tensor given as ``out``, with a result of these operands written into it.

    Raises:
        ReadOnlyError: ``out`` is neither a mutable view nor an owned tensor.
        ShapeError: it has another shape than the result.
        LossyConversionError: its dtype cannot hold the result's.
        OverlappingViewError: it shares some elements with an operand, but is not that operand element for element.
        PlacementError: it lives in another place.

    >>> x = tensor([1.0, 2.0])
    >>> written("add", x.mutable_view(), tensor([5.0, 6.0]), x).to_numpy().tolist(), x.to_numpy().tolist()
    ([5.0, 6.0], [5.0, 6.0])
    """
    target = as_target(operation, out)
    check_apart(operation, target, *operands)
    write_result(operation, target, result)
    return out


def written_in_pieces(spec: OpSpec, out: object, run: Callable[..., Tensor], /, *operands: Any) -> bool:
    """Whether a large elementwise result was written to ``out`` in pieces; False where it is to be made as a whole.

    So nothing as large as the result is allocated for an output of another layout or dtype, and each piece is still in
    the processor's cache when it is copied. On devices, where each piece would be a launch, the result is made as a
    whole, and so it is by operations that may refuse values: nothing is written when they do. A lack of memory, or an
    interruption, may leave pieces written.

    Args:
        spec: the operation.
        out: as for ``tensor_runtime.dispatch.out.written``, and so are the errors.
        run: gives a result from operands.
        operands: tensors that broadcast, and numbers.

    >>> from tensor_runtime.dispatch.call import execute_binary
    >>> from tensor_runtime.ops.arithmetic import ADD
    >>> x, wide = ones((300, 500)), zeros((300, 1000))
    >>> target = wide.mutable_view()[:, ::2]
    >>> written_in_pieces(ADD, target, lambda a, b: execute_binary(ADD, a, b), x, 1.0), wide[2, :3].to_numpy().tolist()
    (True, [2.0, 0.0, 2.0])
    """
    if not isinstance(out, Tensor) or not serves_in_pieces(out._form):
        return False
    facts = spec.facts
    if not facts.elementwise or facts.effect != "pure" or facts.checks_values:
        return False
    tensors = [one for one in operands if isinstance(one, Tensor)]
    if not all(isinstance(one, Tensor) or type(one) in _NUMBERS for one in operands):
        return False
    if not tensors or any(one._form.placement is not out._form.placement for one in tensors):
        return False
    found = spec.infer(tuple(one._form if isinstance(one, Tensor) else type(one) for one in operands))
    if not isinstance(found, Form) or found is out._form:
        return False
    target = as_target(spec.name, out)
    check_apart(spec.name, target, *operands)
    check_fits(spec.name, target, found)
    write_in_pieces(spec.name, target, found.nbytes, run, *operands)
    return True


def serves_in_pieces(form: Form, /) -> bool:
    """Whether an elementwise result is better written piece by piece to an output of this form: a large one on a host.

    >>> serves_in_pieces(zeros((2,))._form)
    False
    """
    if form.size * max(form.dtype.itemsize, 4) < _LEAST_IN_PIECES or is_stand_in(form.placement):
        return False
    return hasattr(registry.backend_for(form.placement), "lend")


def write_in_pieces(
    operation: str, target: TypedTensorViewMut[Any], nbytes: int, run: Callable[..., Tensor], /, *operands: Any
) -> None:
    """Write an elementwise result of the target's shape piece by piece; nothing is checked here.

    Args:
        operation: what errors of kernels name.
        target: with one axis or more.
        nbytes: of the result, which decides how many pieces there are.
        run: gives a result from operands, or from a piece of each.
        operands: tensors that broadcast to the target's shape, and numbers.

    >>> x = ones((2, 3))
    >>> write_in_pieces("multiply", x.mutable_view(), 2 << 18, lambda a, b: a * b, x, 3.0)
    >>> x.to_numpy().tolist()
    [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]
    """
    shape, rank = target._form.shape, target._form.rank
    pieces = ceil(nbytes / _PIECE_BYTES)
    axis = rank - 1 if shape[-1] >= pieces else max(range(rank), key=shape.__getitem__)
    step = ceil(shape[axis] / pieces)
    for begin in range(0, shape[axis], step):
        parts = [_part(one, axis - rank, begin, begin + step) for one in operands]
        write_result(operation, _part(target, axis - rank, begin, begin + step), run(*parts))


def _part(operand: Any, axis: int, begin: int, end: int) -> Any:
    """What of an operand belongs to a piece of the result; the axis counts from the end."""
    if not isinstance(operand, Tensor) or operand._form.rank < -axis or operand._form.shape[axis] == 1:
        return operand
    return operand[(*[slice(None)] * (operand._form.rank + axis), slice(begin, end))]


def check_fits(operation: str, target: TypedTensorViewMut[Any], form: Form, /) -> None:
    """Refuse an output that cannot receive a result of this form: errors as for :func:`written`.

    >>> check_fits("add", mutable_view_of(zeros((2,))), zeros((2,), dtype="F32")._form)
    """
    _ = _written_to(operation, target._form, form)


def written_each(
    operation: str, outs: Sequence[Tensor | None], results: Sequence[Tensor], /, *operands: object
) -> tuple[Tensor, ...]:
    """As :func:`written` for several results; None in the place of an output stands for a fresh result.

    Every output is looked at before the first one is written.

    Raises:
        OverlappingViewError: besides, two outputs share elements.

    >>> x, y = zeros((2,)), zeros((2,))
    >>> _ = written_each("modf", (x, None, y), (tensor([1.0, 2.0]), tensor([3.0]), tensor([4.0, 5.0])))
    >>> x.to_numpy().tolist(), y.to_numpy().tolist()
    ([1.0, 2.0], [4.0, 5.0])
    """
    targets: list[TypedTensorViewMut[Any] | None] = []
    for out, result in zip(outs, results, strict=True):
        target = None if out is None else as_target(operation, out)
        if target is not None:
            check_apart(operation, target, *operands)
            check_distinct(operation, target, *(other for other in targets if other is not None))
            check_fits(operation, target, result._form)
        targets.append(target)
    for target, result in zip(targets, results, strict=True):
        if target is not None:
            write_result(operation, target, result)
    return tuple(result if out is None else out for out, result in zip(outs, results, strict=True))


def check_distinct(operation: str, target: Tensor, /, *others: object) -> None:
    """Refuse an output that shares an element with another one.

    Raises:
        OverlappingViewError: it does.

    >>> check_distinct("modf", zeros((3,)), zeros((3,)))
    """
    check_apart(operation, target, *others)
    for other in (one for one in others if isinstance(one, Tensor)):
        _, locate = _overlapping(operation, target._form, other._form)
        same_form = target._form is other._form and target.size
        if same_form and _located(operation, locate, target._array) == _located(operation, locate, other._array):
            message = f"{operation}: two outputs are the same elements; give each memory of its own"
            raise OverlappingViewError(message, operation=operation)


def check_apart(operation: str, target: Tensor, /, *operands: object) -> None:
    """Refuse an output that shares elements with an operand without being that operand element for element.

    Raises:
        OverlappingViewError: it does.

    >>> x = zeros((3,))
    >>> check_apart("add", x, x), check_apart("add", x[:1], x[1:])
    (None, None)
    """
    place = None
    for operand in operands:
        if isinstance(operand, Tensor) and operand is not target:
            overlaps, locate = _overlapping(operation, target._form, operand._form)
            if place is None:
                place = _located(operation, locate, target._array)
            space, address = _located(operation, locate, operand._array)
            if space == place[0] and overlaps(place[1], address):
                raise OverlappingViewError(
                    f"{operation}: out shares a part of an operand's elements, or all in another order; "
                    "write into the operand itself, or into other memory",
                    operation=operation,
                )
