"""Verification without execution: the form of a result, from the forms of the operands.

``infer`` runs the public function itself on the backend ``meta``, whose kernels do nothing. So it makes every check
on metadata that a call makes, for every operation there is, and none on elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, BackendUnavailableError, PlacementError
from tensor_core.shapes import as_shape
from tensor_runtime.backends.meta import META_DEVICE
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU, Placement, as_placement, is_stand_in, stand_in
from tensor_runtime.tensors.free_tensors import with_free_tensors
from tensor_runtime.tensors.tensor import Tensor, blank, wrap


def infer(function: Callable[..., Any], /, *arguments: object, **options: object) -> Any:
    """Form of what ``function`` would return, without data and without computing.

    Args:
        function: any function of this library, or one of yours that calls them.
        arguments: as the function takes them. In place of a tensor, also inside lists and tuples, may stand a pair
            (dtype, shape) such as ``(F64, (2, 3))``, which is a compact tensor on ``cpu``, or a form. A tensor
            stands for its form, and so do tensors that the function finds in its closure or its module. Others, such
            as those that it makes, are what they are, and computed with.
        options: keyword arguments of the function; a tensor may be given as above.

    Returns:
        A form where the function returns a tensor, in the function's own tuples; anything else as it is. The form's
        placement is that of the operands, or the one asked for.

    Raises:
        TensorError: whatever the function raises for these dtypes, shapes and placements.
        UnsupportedOperationError: the result depends on elements, as ``item`` and ``nonzero`` do.

    >>> import tensor_runtime as tr
    >>> infer(tr.add, (tr.F64, (2, 3)), (tr.I32, (3,)))
    Form(F64, (2, 3), cpu)
    >>> infer(tr.zeros, (10**6, 10**6), dtype="F32").nbytes
    4000000000000
    >>> infer(tr.add, (tr.F64, (2, 3)), (tr.F64, (2, 4)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.ShapeError: add: shapes (2, 3) and (2, 4) do not broadcast; accepted: ...
    """
    call, places = on_meta(function, arguments, options)
    return _lowered(call(), places)


def on_meta(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any], /
) -> tuple[Callable[[], Any], dict[Placement, Placement]]:
    """The call of ``function`` with tensors without elements, and the real placement of each of theirs.

    >>> import tensor_runtime as tr
    >>> call, places = on_meta(tr.exp, ((tr.F64, (2,)),), {})
    >>> call().placement, places[call().placement]
    (meta:0 (cpu), cpu)
    """
    if not callable(function):
        raise ArgumentError(f"infer: found a {type(function).__name__} first; accepted: a function, then its arguments")
    while type(function) is partial:
        arguments, options = (*function.args, *arguments), {**function.keywords, **options}
        function = function.func
    stand_ins: dict[Placement, Placement] = {}  # those of operands; empty where tensors are made from nothing
    done: dict[int, Any] = {}
    lifted = [_lifted(argument, stand_ins, done) for argument in arguments]
    given = {name: _lifted(option, stand_ins, done) for name, option in options.items()}
    if "placement" in options or (not stand_ins and _takes_placement(function)):
        given["placement"] = _stand_in(as_placement(options.get("placement", CPU)), stand_ins)
    without_elements = with_free_tensors(function, lambda found: _lifted(found, stand_ins, done))

    def call() -> Any:
        try:
            return without_elements(*lifted, **given)
        except PlacementError as error:
            met = getattr(error, "placements", ())
            if not any(map(is_stand_in, met)) or all(map(is_stand_in, met)):
                raise
            raise PlacementError(
                "infer: the function uses a tensor with elements that is none of its arguments; pass it as one",
                operation="infer",
            ) from error

    return call, {meta: place for place, meta in stand_ins.items()}


def _lifted(value: Any, stand_ins: dict[Placement, Placement], done: dict[int, Any]) -> Any:
    """The value with every tensor, form and pair (dtype, shape) in it replaced by a tensor without elements.

    ``done`` has lists and tuples by their identity, so that one that is met again, perhaps within itself, is one again.
    """
    if id(value) in done:
        return done[id(value)]
    kind = type(value)
    if kind is tuple and len(value) == 2 and isinstance(value[0], DType):
        value = form_of(value[0], as_shape(value[1]), CPU)
    elif kind is list:
        parts = done[id(value)] = []
        parts.extend([_lifted(one, stand_ins, done) for one in value])
        return parts
    elif kind is tuple:
        within = tuple([_lifted(one, stand_ins, done) for one in value])
        return done.setdefault(id(value), within)  # a tuple in a list that it holds is there already
    if isinstance(value, Tensor):
        result: Tensor = blank(type(value))  # a mutable view stays one
        result._form, result._array = _moved(value._form, stand_ins), None
        if hasattr(value, "_borrowed"):
            result._borrowed = True
        return result
    return wrap(_moved(value, stand_ins), None) if isinstance(value, Form) else value


def _moved(form: Form, stand_ins: dict[Placement, Placement]) -> Form:
    return form_of(form.dtype, form.shape, _stand_in(form.placement, stand_ins), form.strides)


def _stand_in(place: Placement, stand_ins: dict[Placement, Placement]) -> Placement:
    """A placement on ``meta`` for each real one, so that operands in different places are still refused."""
    if place.device is META_DEVICE:
        return place
    if place is not CPU:
        try:
            registry.backend_for(place)  # refused here as anywhere else where its backend lacks it
        except BackendUnavailableError:
            if place.device is None:
                raise
            # but what needs no elements can be asked of a device that this machine lacks
    return stand_ins.setdefault(place, stand_in(place, META_DEVICE))


def _lowered(value: Any, places: dict[Placement, Placement]) -> Any:
    """The value with every tensor in it replaced by its form at the real placement."""
    if isinstance(value, Tensor):
        form = value._form
        return form_of(form.dtype, form.shape, places.get(form.placement, form.placement), form.strides)
    if isinstance(value, tuple) and not isinstance(value, (Form, Placement)):
        parts = [_lowered(one, places) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return [_lowered(one, places) for one in value] if type(value) is list else value


def _takes_placement(function: Callable[..., Any]) -> bool:
    from inspect import signature  # costs a millisecond to import

    try:
        return "placement" in signature(function).parameters
    except (TypeError, ValueError):
        return False
