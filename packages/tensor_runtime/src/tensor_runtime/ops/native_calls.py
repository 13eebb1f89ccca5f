"""Calls that the backend of the host makes faster than Python can: views, creation, elements as Python numbers.

Each function named here exists in Python and says what the call does. A backend with ``native_call``
(``protocols.CallingBackend``) gives functions that do the same for its usual tensors without a step of Python, and hand
everything else, mistakes included, to the one in Python. They stand in its place while that backend serves ``cpu``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, update_wrapper
from inspect import unwrap
from typing import Any, Final, TypeVar

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.error_translation import fail
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch import call
from tensor_runtime.dispatch.spec import BoundSpec
from tensor_runtime.form import Form
from tensor_runtime.placement import CPU, Placement
from tensor_runtime.protocols import CallParts
from tensor_runtime.tensors.tensor import Tensor, TypedTensorViewMut
from tensor_runtime.tensors.transfer import TRANSFERS

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Put = Callable[[Any], None]
"""Puts a function, native or not, where calls find it."""

_TABLE: Final[CacheTable[Any]] = CacheTable(binding_cache)
_PARTS: Final = CallParts(
    tensor=Tensor,
    mutable_view=TypedTensorViewMut,
    form=Form,
    spec=BoundSpec,
    placement=CPU,
    found=_TABLE.found,
    insert=_TABLE.insert,
    fail=fail,
    transfers=TRANSFERS,
    dtypes=(F32, F64, C32, C64, I32, I64, Bool),
)
_PLACES: Final[list[tuple[str, Any, Put]]] = []


def place(name: str, function: Callable[..., Any], put: Put, /) -> None:
    """Say which function a native one may stand for, and where it is put.

    Args:
        name: of the call, as the backend knows it.
        function: in Python.
        put: called with what is to be called from now on.
    """
    _PLACES.append((name, function, put))


def standing_in(module: dict[str, Any], name: str = "", /) -> Callable[[FunctionT], FunctionT]:
    """Decorator of a function in whose place in its module a native call may stand.

    Args:
        module: its globals.
        name: of the call; "" for that of the function, underscores aside.

    >>> standing_in({}).__name__
    'placed'
    """

    def placed(function: FunctionT) -> FunctionT:
        own = function.__name__
        place(name or own.strip("_"), function, partial(module.__setitem__, own))
        return function

    return placed


def serve(placement: Placement, backend: Any, /) -> None:
    """Take the native calls of a backend that serves a placement from now on; None takes them away.

    >>> serve(CPU, registry.backend_for(CPU))
    """
    if placement is not CPU:
        return
    make = getattr(backend, "native_call", None)
    for name, function, put in _PLACES:
        native = make(name, function, _PARTS) if make else None
        put(function if native is None else update_wrapper(native, function))


def attribute(name: str, own: property, call: Any, /) -> Any:
    """What stands for a property of the class of tensors while a native call answers it.

    >>> attribute("rank", property(len, doc="Axes."), len).__doc__
    'Axes.'
    """
    make = getattr(call, "as_attribute", None)
    return make(name, own.__doc__ or "") if make else property(call, doc=own.__doc__)


def take_slot(call: Any, /) -> None:
    """Let Python find a native call, which is a method of the class of tensors already, without looking it up.

    >>> take_slot(len)
    """
    take = getattr(call, "take_slot", None)
    if take:
        take()


def _put_everywhere(name: str, function: Callable[..., Any], current: Callable[..., Any]) -> None:
    """Put a function of ``dispatch.call`` wherever a module has taken it from there, so that no call looks for it."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if name in names and unwrap(names[name]) is function:
            names[name] = current


for _name in ("unary", "binary", "mixed", "ternary", "with_params", "pair", "several", "parts", "many"):
    _function = getattr(call, f"execute_{_name}")
    place(_function.__name__, _function, partial(_put_everywhere, _function.__name__, _function))
for _name in ("unary_into", "binary_into", "ternary_into", "params_into", "several_into", "bound_into", "is_free"):
    place(_name, getattr(call, _name), partial(setattr, call, _name))
registry.on_serving(serve)
