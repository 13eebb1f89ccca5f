"""Bindings: from the operands' forms to the kernel that the backend bound to them.

A binding is the plain tuple (kernel, form of the result). All tables of bindings share one budget in bytes
(``bounded_cache``), and a binding counts for what its kernel keeps alive: closures, what partials carry, the objects
behind them, and arrays. Kernels are functions, partials, methods, or objects of compiled code, which may say their size
by ``__sizeof__``. Functions without a closure, classes and modules belong to the program, and forms to whoever names
them: none counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from sys import getsizeof
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from tensor_core.dtypes import DType
from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, Placement

Binding = tuple[Callable[..., Any], Any]  # (kernel, result form or forms): unpacking a NamedTuple is slower

_BINDING_BYTES: Final = 900  # a key, a result form, entries of tables; measured with tracemalloc on common operations
_AXIS_BYTES: Final = 64

binding_cache: Final = BoundedCache("binding_cache")
"""The bindings of this process; ``.stats()``, ``.set_limit()``, ``.clear()``."""


class BindingTable(CacheTable[Binding]):
    """Bindings by key: ``table[key]`` builds what is not there with the function given.

    >>> table = BindingTable(lambda key: (len, key), BoundedCache("demo"))
    >>> table["form"], "form" in table.found
    ((<built-in function len>, 'form'), True)
    """

    __slots__ = ("_build",)

    def __init__(self, build: Callable[[Any], Binding], cache: BoundedCache = binding_cache) -> None:
        super().__init__(cache)
        self._build = build

    def __getitem__(self, key: Any) -> Binding:
        binding = self.get(key)
        return self.insert(key, self._build(key)) if binding is None else binding

    def cost(self, key: Any, binding: Binding, /) -> int:
        """Bytes that a binding counts for, with all that its kernel keeps alive."""
        return binding_bytes(key, binding)


class PairTable(BindingTable):
    """Bindings by keys of two parts, held as rows: ``found[first][second]``.

    Two look-ups by identity cost 30 to 45 ns less than one by a tuple, which has to be made, hashed and compared.

    >>> table = PairTable(lambda key: (max, key[0]), BoundedCache("demo"))
    >>> table["a", "b"], table.found["a"]["b"]
    ((<built-in function max>, 'a'), (<built-in function max>, 'a'))
    """

    __slots__ = ()

    def __len__(self) -> int:
        return sum(map(len, self.found.values()))

    def get(self, key: Any, /) -> Binding | None:
        """The binding of a pair, if there is one."""
        first, second = key
        row: dict[Any, Binding] = self.found.get(first, {})
        return row.get(second)

    def keep(self, key: Any, binding: Binding, /) -> Binding:
        """Add a binding unless there is one; return the one that is kept."""
        first, second = key
        kept: Binding = self.found.setdefault(first, {}).setdefault(second, binding)
        return kept

    def drop(self, key: Any, /) -> Binding | None:
        """Remove a binding and return it, and its row with the last one."""
        first, second = key
        row: dict[Any, Binding] = self.found.get(first, {})
        binding = row.pop(second, None)
        if not row:
            self.found.pop(first, None)
        return binding


def binding_bytes(key: Any, binding: Binding, /) -> int:
    """Bytes that a binding counts for; its key is charged for the axes of its forms and the parts of its tuples.

    >>> binding_bytes(((0, 1), (1, 2)), (len, None))
    1156
    """
    axes, waiting = 0, [key]
    for part in waiting:  # grows on the way
        if isinstance(part, tuple):
            waiting += part
        else:
            axes += len(getattr(part, "shape", ())) or 1
    return _BINDING_BYTES + _AXIS_BYTES * axes + held_bytes(binding[0])


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
    if kind in _FREE:
        return 0
    if kind in _LEAVES:
        return getsizeof(kernel)
    total, waiting = 0, [kernel]
    seen: set[int] = set()
    while waiting:  # no recursion: what a kernel holds may be nested deeper than Python calls
        one = waiting.pop()
        kind = type(one)
        if kind in _FREE:
            continue
        if kind in _LEAVES:
            total += getsizeof(one)
        elif id(one) not in seen and len(seen) <= _MOST:
            seen.add(id(one))
            total += _own_bytes(one, kind, waiting)
    return total


def _own_bytes(one: Any, kind: type, waiting: list[Any]) -> int:
    """Bytes of one object by itself; what it holds is put to what waits."""
    if kind is FunctionType:
        cells = one.__closure__ or ()
        for cell in cells:
            try:
                waiting.append(cell.cell_contents)
            except ValueError:  # a name that is not bound yet
                continue
        waiting += one.__defaults__ or ()
        if one.__kwdefaults__:
            waiting += one.__kwdefaults__.values()
        return _FUNCTION + _CELL * len(cells) if cells else 0
    size = getsizeof(one)
    if kind is tuple or kind is list or kind is set or kind is frozenset:
        waiting += one
    elif kind is dict:
        waiting += one.values()
    elif kind is partial:
        waiting += one.func, one.args, one.keywords
    elif kind is MethodType:
        waiting.append(one.__self__)
    else:
        has_bytes, names = _LOOKS.get(kind) or _look(kind)
        if kind in _FREE:  # as it turned out just now
            return 0
        if has_bytes:  # an array: where it owns its elements, getsizeof may not see them
            if one.base is None:
                owned: int = one.nbytes
                return max(owned, size)
            waiting.append(one.base)
            return size
        waiting += [getattr(one, name, None) for name in names]
        if isinstance(one, tuple):
            waiting += one
    return size


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
