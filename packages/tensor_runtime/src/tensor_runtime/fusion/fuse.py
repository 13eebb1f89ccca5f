"""Fused chains: a function of elementwise operations as one kernel.

The function is run once for each combination of operand forms, on the backend ``tracing``; what it did is a program
(``tensor_runtime.fusion.program``), bound like any operation and kept in a binding table. Later calls find it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, update_wrapper
from operator import attrgetter
from typing import Any, Final
from weakref import ref

from tensor_core.errors import (
    ArgumentError,
    BackendError,
    OutOfMemoryError,
    PlacementError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import MISSES, fail
from tensor_runtime.backends.tracing import TRACING, Node, Trace, elements_refused
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.dispatch.spec import PYTHON_NUMBERS, check_operands, common_placement, plain_operand
from tensor_runtime.form import Form, form_of
from tensor_runtime.fusion.program import Program
from tensor_runtime.fusion.scalar_tracer import number_argument
from tensor_runtime.protocols import Operand
from tensor_runtime.tensors.tensor import Number, Tensor, blank, wrap

_FORM: Final = attrgetter("_form")
_ARRAY: Final = attrgetter("_array")
_STEP_BYTES: Final = 1200  # of a bound program, as of a binding


class _ProgramTable(BindingTable):
    """Programs by their operands' forms; a longer one counts for more."""

    __slots__ = ()

    def cost(self, key: Any, binding: Binding, /) -> int:
        return super().cost(key, (binding[0], None)) + _STEP_BYTES * len(binding[1].steps)


def _build_of(fused: ref[Fused], key: tuple[Operand, ...]) -> Binding:
    alive = fused()
    assert alive is not None  # whoever looks a program up holds it
    return alive._build(key)


class Fused:
    """A function of tensors and Python numbers that computes in one kernel; made by :func:`fuse`.

    >>> double = Fused(lambda x: x + x)
    >>> double(tensor([1, 2])).to_numpy().tolist()
    [2, 4]
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function, updated=())
        self._function = function
        # The cache of all bindings holds the table, so the table must not hold the function, nor what that holds.
        self._programs = _ProgramTable(partial(_build_of, ref(self)))
        self._found = self._programs.found
        self._numbers = False  # whether an argument was ever a Python number; without, keys are made faster

    def __call__(self, *arguments: Any, out: Out = None) -> Any:
        """What the function returns for these arguments; ``out`` receives a result that is one tensor."""
        result: Tensor = blank(Tensor)
        try:
            if self._numbers:
                kernel, program = self._found[_key(arguments)]
                arrays: Iterable[Any] = _arrays(arguments)
            else:
                kernel, program = self._found[tuple(map(_FORM, arguments))]
                arrays = map(_ARRAY, arguments)
        except MISSES:
            pass
        else:
            result._form = program.form
            try:
                result._array = kernel(*arrays)
            except Exception as error:
                result._array = _stepwise(program, _arrays(arguments), error)
            if program.form is None:
                return _packed(program, arguments, result._array, out)
            return result if out is None else written("fuse", out, result, *arguments)
        return self._long_way(arguments, out)

    def program(self, *arguments: Tensor | Number) -> Program:
        """The steps traced for arguments of these forms, and whether they are one kernel; computes nothing.

        >>> fuse(lambda x, y: x * y + 1).program(ones((2, 3)), ones(3)).steps[-1].name
        'add'
        """
        program: Program = self._programs[_key(arguments)][1]
        return program

    def __repr__(self) -> str:
        return f"<fused {getattr(self._function, '__qualname__', self._function)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return fuse, (self._function,)

    def _long_way(self, arguments: tuple[Any, ...], out: Out) -> Any:
        arguments = tuple(map(plain_operand, arguments))
        key = _key(arguments)
        binding = self._programs.get(key)
        if binding is None:
            if any(isinstance(form, Form) and form.placement is TRACING for form in key):
                result = self._function(*arguments)  # inside another fused function, whose record takes the steps
                return result if out is None else written("fuse", out, result, *arguments)
            binding = self._programs[key]
        program: Program = binding[1]
        found = _run(program, _arrays(arguments))
        if program.form is None:
            return _packed(program, arguments, found, out)
        result = wrap(program.form, found)
        return result if out is None else written("fuse", out, result, *arguments)

    def _build(self, key: tuple[Operand, ...]) -> Binding:
        check_operands("fuse", key)
        home = common_placement("fuse", key)
        tracing = Trace(len(key))
        operands = [_stand_in(form, Node(tracing, number)) for number, form in enumerate(key)]
        try:
            value = self._function(*operands)
        except (PlacementError, AttributeError) as error:
            refusal = _refusal(error)
            if refusal is None:
                raise
            raise refusal from error
        finally:
            tracing.closed = True
        several = isinstance(value, tuple)
        results = tuple(_number(one, tracing) for one in (value if several else (value,)))
        steps = tuple(step._replace(form=form_of(step.form.dtype, step.form.shape, home)) for step in tracing.steps)
        pack = getattr(type(value), "_make", tuple) if several else None
        program = Program(key, steps, results, pack)
        self._numbers = self._numbers or not all(isinstance(form, Form) for form in key)
        return program.kernel, program


def fuse(function: Callable[..., Any], /) -> Fused:
    """The function as one kernel: computes the same, without a tensor for each step.

    The function takes tensors and Python numbers by position and returns a tensor or a tuple of them. It is built of
    elementwise operations on its arguments: operators, and functions such as ``exp``, ``where``, ``clip``, ``convert``.
    For each combination of forms (dtype, shape, layout, placement; of a number its type) it runs once, and what it did
    is kept; so a number that it reads from elsewhere is read then, and side effects happen then. Placement, dtypes and
    shapes are checked as they always are. Where the placement's backend has no kernel for whole programs, and where a
    step may refuse values, the steps run one by one, with the same results and errors.

    Make it once, at module level or as a decorator: each fused function has programs of its own, which count in
    ``binding_cache``. Inside another fused function, it becomes a part of that one's program.

    Args:
        function: called with stand-ins for its arguments, whose dtype and shape can be asked for.

    Returns:
        A callable of the same arguments, and ``out=`` where the result is one tensor; ``program(*arguments)`` shows
        the steps. An argument that is returned as it is, is returned itself.

    Raises:
        ArgumentError: the function cannot be called. When it is called: it returned something else than tensors, or
            took a tensor that is not one of its arguments.
        UnsupportedOperationError: when it is called: an operation in it is no elementwise one (a view, a reduction, a
            product of tensors), or it asked for an element, or for the value of an argument that is a Python number.

    >>> @fuse
    ... def bump(x, height):
    ...     return height / (1 + x * x)
    >>> bump(tensor([0.0, 1.0, 3.0]), 2)
    Tensor(F64, (3,), column-major, cpu)
     2.0  1.0  0.2
    """
    if not callable(function):
        raise ArgumentError(f"fuse: found a {type(function).__name__}; accepted: a function of tensors")
    return Fused(function)


def _key(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([one._form if isinstance(one, Tensor) else type(one) for one in arguments])


def _arrays(arguments: tuple[Any, ...]) -> list[Any]:
    return [one._array if isinstance(one, Tensor) else one for one in arguments]


def _stand_in(form: Operand, node: Node) -> Tensor:
    if isinstance(form, Form):
        return wrap(form_of(form.dtype, form.shape, TRACING, form.strides), node)
    return number_argument(form, node)


def _number(value: Any, tracing: Trace) -> int:
    """Number of the operand or step that a function returned."""
    node = getattr(value, "_array", None) if isinstance(value, Tensor) else None
    if type(node) is Node and node.tracing is tracing and isinstance(value._form, Form):
        return node.number
    found = "Tensor made elsewhere" if type(value) is Tensor else type(value).__name__
    raise ArgumentError(
        f"fuse: the function returned: {found}; accepted: a tensor made from its arguments, or a tuple of such tensors"
    )


def _refusal(error: PlacementError | AttributeError) -> TensorError | None:
    """What a function did wrong, where the error only says what became of it beside stand-ins; None: the error does."""
    if isinstance(error, AttributeError):
        number = next((kind for kind in PYTHON_NUMBERS if kind is error.obj), None)
        if number is None:
            return None
        return UnsupportedOperationError(
            f"fuse: the function takes an argument that is a Python {number.__name__} for a tensor; accepted: "
            "elementwise operations beside a tensor"
        )
    operation = getattr(error, "operation", "fuse")
    others = [place for place in getattr(error, "placements", ()) if place is not TRACING]
    if others and len(others) < len(getattr(error, "placements", ())):
        return ArgumentError(
            f"{operation}: a fused function takes a tensor on {others[0]} that is not one of its arguments; "
            "pass it as one",
            operation=operation,
        )
    if getattr(error, "placement", None) is TRACING:
        return elements_refused(operation, "elements")
    return None


def _run(program: Program, arrays: list[Any]) -> Any:
    """What the program's kernel returns; where it refuses a value, what its steps return."""
    try:
        return program.kernel(*arrays)
    except Exception as error:
        return _stepwise(program, arrays, error)


def _stepwise(program: Program, arrays: list[Any], error: Exception) -> Any:
    """What the steps return where the one kernel refused a value: they raise what the function raises, or know better.

    Anything else is a fault of the kernel or a lack of memory, which steps that succeed would hide.
    """
    refused = isinstance(error, TensorError) and not isinstance(error, (BackendError, OutOfMemoryError))
    if not refused or program.stepwise_because is not None:  # the steps themselves have failed
        fail("fuse", error, program.made)
    results = program.stepwise(*arrays)
    return results if program.form is None else results[0]


def _packed(program: Program, arguments: tuple[Any, ...], arrays: tuple[Any, ...], out: Out) -> Any:
    """What a function returns that gives several results, or one of its arguments."""
    first = len(program.operands)
    made: dict[int, Tensor] = {}
    for number, array in zip(program.results, arrays, strict=True):
        if number not in made:
            made[number] = arguments[number] if number < first else wrap(program.form_of(number), array)
    results = tuple([made[number] for number in program.results])
    if program.pack is None:
        return results[0] if out is None else written("fuse", out, results[0], *arguments)
    if out is not None:
        raise ArgumentError("fuse: the function returns a tuple, and out= receives one tensor; write with copy_into()")
    return program.pack(results)
