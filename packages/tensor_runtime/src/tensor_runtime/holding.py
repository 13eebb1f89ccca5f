"""How many bytes a bound kernel keeps alive: closures, what partials carry, the objects behind them, and arrays.

Kernels are functions, partials, methods, or objects of compiled code, which may say their size by ``__sizeof__``.
Functions without a closure, classes and modules belong to the program, and forms to whoever names them: none counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from sys import getsizeof
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from tensor_core.dtypes import DType
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, Placement

_FREE: Final[set[type]] = {
    *(bool, int, float, complex, str, type(None), slice, range, type, ModuleType, BuiltinFunctionType),
    *(DType, Form, Placement, DeviceId, DeviceKind),
}
"""Of bounded size, or shared with the program; grows by classes of functions that are."""
_MOST: Final = 10_000
"""Objects looked at; a kernel that holds more says so by ``__sizeof__``, or is charged for these only."""


def held_bytes(kernel: Any, /) -> int:
    """Bytes that live as long as a kernel does, without what every program has anyway. Takes 0.2 to 5 µs.

    >>> large = bytes(5000)
    >>> closing = (lambda held: lambda: held)(large)
    >>> held_bytes(len), held_bytes(closing) > 5000, held_bytes(partial(max, large)) > 5000
    (0, True, True)
    """
    kind = type(kernel)
    return getsizeof(kernel) if kind in _LEAVES else 0 if kind in _FREE else _held(kernel, kind, set())


def _held(one: Any, kind: type, seen: set[int]) -> int:
    if id(one) in seen or len(seen) > _MOST:
        return 0
    seen.add(id(one))
    if kind is FunctionType:
        cells = one.__closure__ or ()
        total = _FUNCTION + _CELL * len(cells) if cells else 0
        for cell in cells:
            try:
                part = cell.cell_contents
            except ValueError:  # a name that is not bound yet
                continue
            kind = type(part)
            if kind not in _FREE:
                total += getsizeof(part) if kind in _LEAVES else _held(part, kind, seen)
        if one.__defaults__:
            total += _all(one.__defaults__, seen)
        return total + _all(one.__kwdefaults__.values(), seen) if one.__kwdefaults__ else total
    total = getsizeof(one)
    if kind is tuple or kind is list or kind is set or kind is frozenset:
        return total + _all(one, seen)
    if kind is dict:
        return total + _all(one.values(), seen)
    if kind is partial:
        return total + _all((one.func, one.args, one.keywords), seen)
    if kind is MethodType:
        return total + _all((one.__self__,), seen)
    has_bytes, names = _LOOKS.get(kind) or _look(kind)
    if kind in _FREE:  # as it turned out just now
        return 0
    if has_bytes:  # an array: where it owns its elements, getsizeof may not see them
        return total + (max(one.nbytes - total, 0) if one.base is None else _all((one.base,), seen))
    total += _all([getattr(one, name, None) for name in names], seen)
    return total + _all(one, seen) if isinstance(one, tuple) else total


def _all(parts: Iterable[Any], seen: set[int]) -> int:
    total = 0
    for part in parts:
        kind = type(part)
        if kind not in _FREE:
            total += getsizeof(part) if kind in _LEAVES else _held(part, kind, seen)
    return total


_FUNCTION: Final = getsizeof(lambda: None) + getsizeof((None,))
_CELL: Final = getsizeof((lambda x: lambda: x)(0).__closure__[0])  # type: ignore[index]
_LOOKS: Final[dict[type, tuple[bool, tuple[str, ...]]]] = {}
"""Of classes met so far: whether their objects are arrays, and under which names they hold others."""
_LEAVES: Final[set[type]] = {bytes, bytearray}
"""Classes whose objects say their whole size themselves, as those of compiled code do."""


def _look(kind: type) -> tuple[bool, tuple[str, ...]]:
    if "__name__" in vars(kind) and callable(kind.__call__):  # functions of the program, such as NumPy's
        _FREE.add(kind)
    has_bytes = hasattr(kind, "nbytes") and hasattr(kind, "base")
    names = tuple(slot for base in kind.__mro__ for slot in getattr(base, "__slots__", ()) if type(slot) is str)
    if getattr(kind, "__dictoffset__", 0):
        names += ("__dict__",)
    if not (has_bytes or names or issubclass(kind, tuple)):
        _LEAVES.add(kind)
    return _LOOKS.setdefault(kind, (has_bytes, names))
