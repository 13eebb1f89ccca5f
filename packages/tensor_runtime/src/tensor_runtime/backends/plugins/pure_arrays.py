"""Writing where arrays cannot be written: new elements by pure kernels, put in place of the old ones.

A backend whose arrays are promises, or that drops and reorders what it computes, says ``only_pure``
(``protocols.DeviceBackend``). The registry then serves its placements by a :class:`PureArrays`. An array there is a
:class:`Cell`: the elements of a tensor, or a view, which knows the cell that it is of and the kernels that lead there.
A write gives that cell new elements, so that every view of it shows them, and ``out=``, ``view[...] = x`` and ``scan``
mean the same as everywhere.

``copy_into`` is done here: what the whole cell is given, it holds; what a part of it is given, a ``scatter`` places.
Another kernel that writes has a rule ``pure.NAME``: called as a rule ``lower``, it gives the new elements of the first
operand, compact. Where there is no such rule, the operation is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import I64, DType
from tensor_core.errors import UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import element_count
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.meta import KernelRequest
from tensor_runtime.backends.plugins.lowering import bound_rule
from tensor_runtime.backends.plugins.rules import RuleTable
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.contracts.contract import bound_params
from tensor_runtime.contracts.gather_scatter import SliceOptions
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Backend, Counted, Kernel, Operand, Result

PURE: Final = "pure"
"""The kind of a rule that gives the elements which a kernel would have written."""


class Link(NamedTuple):
    """A view kernel on the way from a cell to a view of it."""

    kernel: Kernel
    name: str
    operand: Form
    result: Form
    params: Any
    arguments: tuple[Any, ...]


class Cell:
    """An array of a tensor: the backend's own one, which may be replaced, or a view of another cell.

    >>> Cell(zeros(2)._form, "array").read()
    'array'
    """

    __slots__ = ("base", "chain", "form", "offset", "seen", "value", "writes")

    def __init__(self, form: Form, value: Any = None, base: Cell | None = None, chain: tuple[Link, ...] = ()) -> None:
        self.form = form
        self.value = value
        self.base = base
        self.chain = chain
        self.writes = 0  # how often it was given new elements
        self.seen = -1  # after how many of them a view was computed
        self.offset: int | None = None

    def read(self) -> Any:
        """The backend's array of its elements now."""
        base = self.base
        if base is not None and self.seen != base.writes:
            value = base.value
            for link in self.chain:
                value = link.kernel(value, *link.arguments)
            self.value, self.seen = value, base.writes
        return self.value


def _read(argument: Any) -> Any:
    return argument.read() if type(argument) is Cell else argument


class PureArrays:
    """A backend of arrays that cannot be written, as one of arrays that can.

    Args:
        backend: one that says ``only_pure``.
        rules: where the rules ``pure.NAME`` are.

    >>> from tensor_runtime import backend
    >>> place = PureArrays(backend("cpu"), RuleTable(lambda: []))
    >>> form = zeros(2)._form
    >>> x = place.upload(HostTensor.from_nested([1.0, 2.0]), form)
    >>> place.bind("copy_into", (form, form), form, None)(x, place.upload(HostTensor.from_nested([3.0, 4.0]), form))
    >>> place.download(x, form).to_nested()
    [3.0, 4.0]
    """

    def __init__(self, backend: Any, rules: RuleTable) -> None:
        self.backend = backend
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        """Whatever needs no array is the backend's own; what needs one is so with what a cell holds."""
        if name in _HIDDEN:
            raise AttributeError(name)
        found = getattr(self.backend, name)
        return found if name not in _OF_ARRAYS else lambda array, *rest: found(_read(array), *rest)

    def operations(self) -> frozenset[str]:
        """The backend's own, and those that write."""
        own: frozenset[str] = self.backend.operations()
        return own | {"copy_into", "mutable_view"} | self._rules.operations(PURE)

    def unsupported(self) -> Mapping[str, str]:
        """What the backend lacks, but for what is done here."""
        here = self.operations()
        return {name: reason for name, reason in self.backend.unsupported().items() if name not in here}

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The backend's kernel on what cells hold; for one that writes, kernels that compute what it would."""
        if name == "mutable_view":
            return lambda cell: cell
        if facts_of(name).effect == "writes":
            return self._writing(name, operands, params)
        return self.adapted(self.backend.bind(name, operands, result, params), name, operands, result, params)

    def adapted(
        self, kernel: Kernel, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /
    ) -> Kernel:
        """A kernel of the backend's arrays as one of cells; somebody else may have brought it."""
        if facts_of(name).effect == "writes":
            return self._writing(name, operands, params)
        first = operands[0] if operands else None
        if facts_of(name).view and isinstance(result, Form) and isinstance(first, Form):
            form, operand = result, first
            if form is operand:  # all elements, in the same order
                return lambda cell, *arguments: cell

            def view(cell: Cell, *arguments: Any) -> Cell:
                link = Link(kernel, name, operand, form, params, arguments)
                return Cell(form, None, cell.base or cell, (*cell.chain, link))

            return view
        forms = result if isinstance(result, tuple) else (result,)

        def call(*arguments: Any) -> Any:
            found = kernel(*map(_read, arguments))
            if isinstance(found, Counted):
                return Counted(tuple(map(Cell, forms, found.arrays)), found.count)
            return tuple(map(Cell, forms, found)) if isinstance(result, tuple) else Cell(forms[0], found)

        return with_workspace(call, workspace_of(kernel))

    def _writing(self, name: str, operands: tuple[Operand, ...], params: Any) -> Kernel:
        """A kernel that gives the first operand's cell the elements which the one of this name would write."""
        target, *rest = operands
        assert isinstance(target, Form)
        if name == "copy_into":
            (source,) = rest
            assert isinstance(source, Form)
            return self._placing(target, source, lambda cell, given: given)
        rule = self._rules.find(PURE, name)
        if rule is None:
            raise UnsupportedOperationError(
                f"{name}: it writes, and arrays of the {self.backend.name} backend cannot be written; no rule "
                f"{PURE}.{name} says what it would write",
                operation=name,
            )
        fresh = form_of(target.dtype, target.shape, target.placement)
        return self._placing(target, fresh, bound_rule(rule, KernelRequest(name, operands, fresh, params)))

    def _placing(self, target: Form, source: Form, computed: Callable[..., Cell]) -> Kernel:
        kernels: dict[Any, Kernel] = {}

        def write(cell: Cell, *arguments: Any) -> None:
            value = _read(computed(cell, *arguments))
            base = cell.base or cell
            if not element_count(target.shape):
                return
            if not cell.chain:
                value = self._as(kernels, base.form, source, value)
            else:
                positions = self._positions(cell)
                there = _of(I64, target)
                line = form_of(base.form.dtype, (element_count(base.form.shape),), base.form.placement)
                flat = self._kernel(kernels, "reshape_view", (base.form,), line, line.shape)(base.value)
                scatter = self._kernel(kernels, "scatter", (line, there, source), line, ("replace", SliceOptions()))
                value = scatter(flat, positions, value)
                value = self._kernel(kernels, "reshape_view", (line,), base.form, base.form.shape)(value)
            base.value = value
            base.writes += 1

        return write

    def _as(self, kernels: dict[Any, Kernel], form: Form, source: Form, value: Any) -> Any:
        """An array of the form of a whole cell."""
        if source.dtype is not form.dtype:
            return self._kernel(kernels, "convert", (source,), form, "error")(value)
        return value if source.is_compact else self._kernel(kernels, "copy", (source,), form, None)(value)

    def _kernel(self, kernels: dict[Any, Kernel], name: str, operands: tuple[Form, ...], result: Form, key: Any) -> Any:
        found = kernels.get((name, *operands, result))
        if found is None:
            found = self.backend.bind(name, operands, result, bound_params(name, key))
            kernels[name, *operands, result] = found
        return found

    def _positions(self, cell: Cell) -> Any:
        """Of each element of a view, its place among those of the cell that it is of, as the backend's array."""
        assert cell.base is not None
        count = element_count(cell.base.form.shape)
        form = _of(I64, cell.base.form)
        value = self.backend.upload(HostTensor.from_flat(range(count), form.shape, I64), form)
        for link in cell.chain:
            kernel = self.backend.bind(link.name, (_of(I64, link.operand),), _of(I64, link.result), link.params)
            value = kernel(value, *link.arguments)
        return value

    def offset_of(self, array: Cell, /) -> int:
        """Of a whole cell 0; of a view, where its kernels lead from there."""
        if not array.chain or not element_count(array.form.shape):
            return 0
        if array.offset is None:
            form = _of(I64, array.form)
            self.backend.synchronize()
            host: HostTensor[Any] = self.backend.download(self._positions(array), form)
            array.offset = int(host[(0,) * len(form.shape)])
        return array.offset

    def location_of(self, array: Cell, /) -> tuple[Hashable, int]:
        """Each cell is a space of its own."""
        return array.base or array, self.offset_of(array) * array.form.dtype.itemsize

    def upload(self, source: HostTensor[Any], form: Form, /) -> Cell:
        """A cell of what the backend holds then."""
        return Cell(form, self.backend.upload(source, form))


def writable(backend: Backend[Any], rules: RuleTable, serving: Iterable[Any], /) -> Backend[Any]:
    """A backend of arrays that can be written: itself, or the :class:`PureArrays` that stands for it.

    Args:
        backend: as it was loaded.
        rules: where the rules ``pure.NAME`` are.
        serving: backends that serve some placement already; one of them stands for all placements of a backend.

    >>> from tensor_runtime import backend
    >>> writable(backend("cpu"), RuleTable(lambda: []), ()) is backend("cpu")
    True
    """
    if not getattr(backend, "only_pure", False):
        return backend
    stand_in: Any = PureArrays(backend, rules)
    known = (one for one in serving if type(one) is PureArrays and one.backend is backend)
    return next(known, stand_in)


def on_cells(
    backend: Any, kernel: Kernel, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /
) -> Kernel:
    """A kernel that somebody brought for a backend's arrays, as one for those that tensors hold there.

    >>> from tensor_runtime import backend
    >>> on_cells(backend("cpu"), max, "larger", (), zeros(2)._form, None)
    <built-in function max>
    """
    return backend.adapted(kernel, name, operands, result, params) if type(backend) is PureArrays else kernel


def _of(dtype: DType, form: Form) -> Form:
    return form_of(dtype, form.shape, form.placement, form.strides)


_HIDDEN: Final = frozenset({"bind_sequence", "native_call", "begin_upload", "transfer", "borrow", "borrow_dlpack"})
"""Optional methods that give arrays; the runtime does without them."""
_OF_ARRAYS: Final = frozenset({"download", "begin_download", "lend", "lend_dlpack", "lend_cuda_interface"})
"""Methods that are given an array first."""
