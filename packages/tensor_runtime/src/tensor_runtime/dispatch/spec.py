"""Specifications: what an operation accepts and what it gives, without data.

A spec holds the name under which backends bind the operation, the dtypes accepted, the rule for the result's dtype and
the rule for its shape. Its binding table is filled on demand: a miss checks placement, dtypes and shapes once, then
asks the backend for a kernel. Nothing here touches an element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tensor_core.dtypes import ALL, DType
from tensor_core.errors import ArgumentError, DTypeError, LossyConversionError, PlacementError
from tensor_core.foreign import number_of, refuse_masked
from tensor_core.promotion import can_convert, promote, promote_scalar
from tensor_core.shapes import Shape
from tensor_runtime.backends.bindings import Binding, BindingTable, PairTable
from tensor_runtime.backends.kernel_facts import VIEW, KernelFacts, Reason, facts_of, state
from tensor_runtime.backends.registry import registry
from tensor_runtime.contracts.contract import bound_params
from tensor_runtime.dispatch.dtype_rules import broadcast, broadcast_three, same_shape
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Operand

_INSTEAD: Final = {
    ("negative", "bool"): "; write ~x",
    ("subtract", "bool"): "; write x ^ y",
    **{
        (f"bitwise_{name}", kind): f"; write logical_{'not' if name == 'invert' else name}()"
        for name in ("and", "or", "xor", "invert")
        for kind in ("float", "complex")
    },
}
"""What to write of operands of a kind that an operation does not accept."""
PYTHON_NUMBERS: Final[frozenset[type]] = frozenset({bool, int, float, complex})
"""The exact types that stand in for a form; subclasses and NumPy scalars are converted first."""
_EXPLICIT: Final = {"bool": "bool(x)", "int": "int(x)", "float": "x.real", "complex": "complex(x)"}

ShapeRule = Callable[..., Shape | tuple[Shape, ...]]


def same(dtype: DType, /) -> DType:
    """The result has the operands' common dtype."""
    return dtype


class BoundSpec:
    """What every call looks up: the operation's name, and its bindings by forms; ``found`` is their dictionary.

    Results of one that ``shares`` are views of the operand.
    """

    __slots__ = ("bindings", "found", "name", "shares")

    bindings: BindingTable | PairTable
    found: dict[Any, Any]
    name: str
    shares: bool


class OpSpec(BoundSpec):
    """An operation, declared once.

    Args:
        name: what the user calls, and what backends bind.
        accepts: dtypes accepted, after promotion of all operands to their common dtype.
        result_dtype: from the common dtype to the result's, or to a tuple for several results.
        result_shape: from the operands' shapes, then the params if there is one, to the result's shape or shapes.
        binary: exactly two operands and no params; the table is then a table of pairs, as ``execute_binary`` expects.
        takes_params: the last part of a key is params (axes, options; hashable), not an operand.
        kernel: the name that backends bind, where it differs from ``name``.
        facts: what is true of that kernel on every backend (``backends.kernel_facts``), stated by one of the
            specs that bind it; None where another states them, or where it is pure and not elementwise.

    Identity is equality. The table ``bindings`` is keyed by the operands' forms, followed by the params; ``found`` is
    its dictionary, which the hot paths read directly.

    >>> spec = OpSpec("negative", result_shape=lambda operation, shape: shape)
    >>> spec.infer((zeros((2, 3))._form,))
    Form(F64, (2, 3), cpu)
    """

    __slots__ = ("accepts", "kernel", "result_dtype", "result_shape", "takes_params")

    def __init__(
        self,
        name: str,
        *,
        accepts: frozenset[DType] = ALL,
        result_dtype: Callable[[DType], DType | tuple[DType, ...]] = same,
        result_shape: ShapeRule,
        binary: bool = False,
        takes_params: bool = False,
        kernel: str | None = None,
        facts: KernelFacts | None = None,
    ) -> None:
        self.name = name
        self.shares = False
        self.accepts = accepts
        self.result_dtype = result_dtype
        self.result_shape = result_shape
        self.takes_params = takes_params
        self.kernel = kernel or name
        if facts is not None:
            state(self.kernel, facts)
        self.bindings = (PairTable if binary else BindingTable)(self._build)
        self.found = self.bindings.found

    def __repr__(self) -> str:
        return f"OpSpec({self.name!r})"

    @property
    def facts(self) -> KernelFacts:
        """What is known of the kernel that backends bind."""
        return facts_of(self.kernel)

    def infer(self, operands: tuple[Operand, ...], params: object = None, /) -> Form | tuple[Form, ...]:
        """Form of the result, or forms of several: every check on metadata, no data.

        Raises:
            PlacementError: operands in different places.
            DTypeError: a dtype that the operation does not accept.
            ShapeError: shapes that do not fit.
        """
        home = common_placement(self.name, operands)
        dtype = self.result_dtype(self.common_dtype(operands))
        shapes = [operand.shape if isinstance(operand, Form) else () for operand in operands]
        shape = self.result_shape(self.name, *shapes, *((params,) if self.takes_params else ()))
        if isinstance(dtype, tuple):
            return tuple(form_of(one, extents, home) for one, extents in zip(dtype, shape, strict=True))  # type: ignore[arg-type]
        return form_of(dtype, shape, home)  # type: ignore[arg-type]

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        """Promotion of all operands, checked against ``accepts``."""
        common = promote(*[operand.dtype for operand in operands if isinstance(operand, Form)])
        for operand in operands:
            if not isinstance(operand, Form):
                common = promote_scalar(common, operand)
        if common not in self.accepts:
            found = ", ".join(
                str(operand.dtype) if isinstance(operand, Form) else operand.__name__ for operand in operands
            )
            accepted = ", ".join(sorted(dtype.name for dtype in self.accepts))
            are = "operand is" if len(operands) == 1 else "operands are"
            remedy = _INSTEAD.get((self.name, common.kind), "")
            raise DTypeError(f"{self.name}: {are} {found}; accepted: {accepted}{remedy}", operation=self.name)
        return common

    def _build(self, key: Any) -> Binding:
        parts = key if isinstance(key, tuple) else (key,)
        operands, params = (parts[:-1], parts[-1]) if self.takes_params else (parts, None)
        check_operands(self.name, operands)
        result = self.infer(operands, params)
        return registry.bind(self.kernel, operands, result, bound_params(self.kernel, params)), result


class ElementwiseSpec(OpSpec):
    """An operation whose result's elements each depend on the operands' elements at their own index.

    So its result has the operands' broadcast shape, and it may be a step of a fused function.

    Args:
        name: what the user calls, and what backends bind.
        operands: how many there are, 1 to 3.
        accepts: dtypes accepted, after promotion of all operands to their common dtype.
        result_dtype: from the common dtype to the result's.
        kernel: the name that backends bind, where it differs from ``name``.
        refuses: which values are refused, see ``tensor_runtime.backends.kernel_facts``; None where none is.

    >>> spec = ElementwiseSpec("add", 2)
    >>> spec.infer((zeros((2, 1))._form, ones(3)._form))
    Form(F64, (2, 3), cpu)
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        operands: int = 1,
        /,
        *,
        accepts: frozenset[DType] = ALL,
        result_dtype: Callable[[DType], DType] = same,
        kernel: str | None = None,
        refuses: Reason | None = None,
    ) -> None:
        if operands not in (1, 2, 3):
            raise ArgumentError(f"{name}: an elementwise operation of {operands!r} operands; accepted: 1, 2 or 3")
        super().__init__(
            name,
            accepts=accepts,
            result_dtype=result_dtype,
            result_shape=(same_shape, broadcast, broadcast_three)[operands - 1],
            binary=operands == 2,
            kernel=kernel,
            facts=KernelFacts(elementwise=True, refuses=refuses),
        )


class ViewSpec(BoundSpec):
    """An operation that only rearranges metadata: its result shares the operand's elements.

    Args:
        name: what the user calls, and what backends bind.
        result_layout: from the operand's form and the params to the view's shape and strides.
    """

    __slots__ = ("result_layout",)

    def __init__(self, name: str, result_layout: Callable[[Form, Any], tuple[Shape, Shape]]) -> None:
        self.name = name
        self.shares = True
        self.result_layout = result_layout
        state(name, VIEW)
        self.bindings = BindingTable(self._build)
        self.found = self.bindings.found

    def __repr__(self) -> str:
        return f"ViewSpec({self.name!r})"

    @property
    def kernel(self) -> str:
        """The name that backends bind."""
        return self.name

    @property
    def facts(self) -> KernelFacts:
        """What is known of the kernel that backends bind."""
        return facts_of(self.name)

    def _build(self, key: tuple[Form, Any]) -> Binding:
        form, params = key
        shape, strides = self.result_layout(form, params)
        view = form_of(form.dtype, shape, form.placement, strides)
        return registry.bind(self.name, (form,), view, bound_params(self.name, params)), view


def plain_operand(operand: Any, /) -> Any:
    """A scalar that is no plain Python number as the one it equals; any other operand as it is.

    >>> class Price(float):
    ...     pass
    >>> type(plain_operand(Price(2.5))).__name__, plain_operand("x")
    ('float', 'x')
    """
    number = number_of(operand)
    return operand if number is None else number


def check_operands(operation: str, operands: Sequence[object], /) -> None:
    """Refuse what is neither a form nor one of the four Python number types, before anything is cached.

    >>> check_operands("add", (int, float))
    Traceback (most recent call last):
        ...
    tensor_runtime.errors.ForeignOperandError: add: no operand is a tensor; make one with tensor()
    """
    for operand in operands:
        if not isinstance(operand, Form) and operand not in PYTHON_NUMBERS:
            name = operand.__name__ if isinstance(operand, type) else type(operand).__name__
            refuse_masked(operation, operand)
            raise ForeignOperandError(
                f"{operation}: found an operand of type {name}; accepted: tensors, and Python's bool, int, float and "
                "complex; asarray() makes a tensor of an array",
                operation=operation,
            )
    if not any(isinstance(operand, Form) for operand in operands):
        raise ForeignOperandError(f"{operation}: no operand is a tensor; make one with tensor()", operation=operation)


def common_placement(operation: str, operands: Sequence[Operand], /) -> Placement:
    """The one placement of all operands.

    Raises:
        PlacementError: they differ; the message lists every operand with its placement, and the call that mends it.

    >>> common_placement("add", (zeros(2)._form, float))
    cpu
    """
    forms = [(position, form) for position, form in enumerate(operands) if isinstance(form, Form)]
    home = forms[0][1].placement
    if all(form.placement is home for _, form in forms):
        return home
    lines = [f"  operand {position}: {form.dtype.name} {form.shape} on {form.placement}" for position, form in forms]
    raise PlacementError(
        f"{operation}: operands live in different places\n"
        + "\n".join(lines)
        + f"\nnothing was moved; use to(x, {str(home)!r}), or upload() and download()",
        operation=operation,
        placements=tuple(form.placement for _, form in forms),
    )


def check_convertible(operation: str, source: Form | type, target: DType, /) -> None:
    """Refuse a conversion that is not in the promotion lattice; a Python number adopts ``target`` when its kind can.

    >>> from tensor_core import F64, I64
    >>> check_convertible("copy_into", float, I64)
    Traceback (most recent call last):
        ...
    tensor_core.errors.LossyConversionError: copy_into: float to I64 can lose values; write int(x) for a number
    """
    if isinstance(source, Form):
        allowed, name = can_convert(source.dtype, target), str(source.dtype)
    else:
        allowed, name = source in PYTHON_NUMBERS and promote_scalar(target, source) is target, source.__name__
    if not allowed:
        explicit = f"cast(x, {target.name}) does it all the same"
        if not isinstance(source, Form):  # cast takes tensors; a Python number has Python's own
            explicit = f"write {_EXPLICIT[target.kind]} for a number"
            if source is complex and target.kind == "int":
                explicit = "write int(x.real) for a number"
        raise LossyConversionError(
            f"{operation}: {name} to {target} can lose values; {explicit}",
            operation=operation,
            target=target,
        )
