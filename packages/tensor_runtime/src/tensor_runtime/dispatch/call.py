"""The only path from a public function to a kernel.

    binding table of the operation, keyed by the operands' forms  →  bound kernel  →  wrapped once

Each function here is the hot path of one kind of call: look up, call, wrap. Where the look-up finds nothing, the call
goes the long way, where everything is checked: the binding may not be there yet, an operand may be a Python number,
whose *type* then stands in for its form, or no operand at all. Whatever the kernel raises becomes an error of our tree;
no kernel is called twice. A ``try`` costs nothing while nothing is raised.

``out``, where there is one, is a mutable view or an owned tensor that receives the result
(``tensor_runtime.dispatch.out``). The functions ``*_into`` compute the result and write it there; native ones, which
compute it there at once where they can, may stand for them (``ops.native_calls``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, TypeVar, overload

from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.error_translation import MISSES, call_translated, fail
from tensor_runtime.backends.meta import kernels_called, note_output
from tensor_runtime.dispatch.out import Out, as_target, written, written_in_pieces
from tensor_runtime.dispatch.spec import OpSpec, ViewSpec, plain_operand
from tensor_runtime.placement import is_stand_in
from tensor_runtime.tensors.tensor import Number, Tensor, blank, unwrap, wrap

PartsT = TypeVar("PartsT", bound=tuple[Any, ...])
"""A named tuple of tensors."""


def execute_unary(spec: OpSpec, a: Tensor, out: Out = None, /) -> Tensor:
    """One operand, no options.

    >>> from tensor_runtime.ops.exponential import SQRT
    >>> execute_unary(SQRT, tensor([9.0])).item()
    3.0
    """
    if out is not None:
        try:
            return unary_into(spec, out, a)
        except MemoryError as error:
            fail(spec.name, error, out._form)
    result: Tensor = blank(Tensor)
    try:
        kernel, result._form = spec.found[a._form]
    except MISSES:
        pass
    else:
        try:
            result._array = kernel(a._array)
        except Exception as error:
            fail(spec.name, error, result._form)
        return result
    form, array = unwrap(spec.name, a)
    kernel, found = spec.bindings[form]
    return wrap(found, call_translated(spec.name, found, kernel, array))


def execute_binary(spec: OpSpec, a: Tensor | Number, b: Tensor | Number, out: Out = None, /) -> Tensor:
    """Two operands, of which one may be a Python number.

    >>> from tensor_runtime.ops.arithmetic import ADD
    >>> execute_binary(ADD, tensor([1.0]), tensor([2.0])).item(), execute_binary(ADD, 1, tensor([2.0])).item()
    (3.0, 3.0)
    """
    if out is not None:
        try:
            return binary_into(spec, out, a, b)
        except MemoryError as error:
            fail(spec.name, error, out._form)
    result: Tensor = blank(Tensor)
    try:
        kernel, result._form = spec.found[a._form][b._form]  # type: ignore[union-attr]
    except MISSES:
        pass
    else:
        try:
            result._array = kernel(a._array, b._array)  # type: ignore[union-attr]
        except Exception as error:
            fail(spec.name, error, result._form)
        return result
    return execute_mixed(spec, a, b)


def execute_mixed(spec: OpSpec, a: Tensor | Number, b: Tensor | Number, /) -> Tensor:
    """The long way of two operands; the only way when one of them is known to be a Python number.

    >>> from tensor_runtime.ops.arithmetic import ADD
    >>> execute_mixed(ADD, tensor([1.0]), 2).item()
    3.0
    """
    key_a, x = (a._form, a._array) if isinstance(a, Tensor) else (type(a), a)
    key_b, y = (b._form, b._array) if isinstance(b, Tensor) else (type(b), b)
    result: Tensor = blank(Tensor)
    try:
        kernel, result._form = spec.found[key_a][key_b]
    except MISSES:
        pass
    else:
        try:
            result._array = kernel(x, y)
        except Exception as error:
            fail(spec.name, error, result._form)
        return result
    plain = plain_operand(a), plain_operand(b)
    if plain[0] is not a or plain[1] is not b:  # scalars of NumPy, or of subclasses of Python's numbers
        return execute_mixed(spec, *plain)
    kernel, found = spec.bindings[key_a, key_b]
    return wrap(found, call_translated(spec.name, found, kernel, x, y))


def execute_ternary(
    spec: OpSpec, a: Tensor | Number, b: Tensor | Number, c: Tensor | Number, out: Out = None, /
) -> Tensor:
    """Three operands, of which some may be Python numbers.

    >>> from tensor_runtime.ops.selection import WHERE
    >>> execute_ternary(WHERE, tensor([True, False]), tensor([1, 2]), 0).to_numpy().tolist()
    [1, 0]
    """
    if out is not None:
        try:
            return ternary_into(spec, out, a, b, c)
        except MemoryError as error:
            fail(spec.name, error, out._form)
    result: Tensor = blank(Tensor)
    try:
        kernel, result._form = spec.found[a._form, b._form, c._form]  # type: ignore[union-attr]
    except MISSES:
        pass
    else:
        try:
            result._array = kernel(a._array, b._array, c._array)  # type: ignore[union-attr]
        except Exception as error:
            fail(spec.name, error, result._form)
        return result
    key_a, x = (a._form, a._array) if isinstance(a, Tensor) else (type(a), a)
    key_b, y = (b._form, b._array) if isinstance(b, Tensor) else (type(b), b)
    key_c, z = (c._form, c._array) if isinstance(c, Tensor) else (type(c), c)
    try:
        kernel, found = spec.found[key_a, key_b, key_c]
    except KeyError:
        plain = plain_operand(a), plain_operand(b), plain_operand(c)
        if plain[0] is not a or plain[1] is not b or plain[2] is not c:
            return execute_ternary(spec, *plain)
        kernel, found = spec.bindings[key_a, key_b, key_c]
    return wrap(found, call_translated(spec.name, found, kernel, x, y, z))


def execute_with_params(spec: OpSpec | ViewSpec, a: Tensor, params: Hashable, out: Out = None, /) -> Tensor:
    """One operand and hashable params, such as the axes of a reduction or of a view.

    >>> from tensor_runtime.ops.reduction import SUM
    >>> execute_with_params(SUM, ones((2, 3)), (0, False)).shape
    (3,)
    """
    if out is not None:
        try:
            return params_into(spec, out, params, a)
        except MemoryError as error:
            fail(spec.name, error, out._form)
    result: Tensor = blank(Tensor)
    if spec.shares:
        result._borrowed = True
    try:
        kernel, result._form = spec.found[a._form, params]
    except MISSES:
        pass
    else:
        try:
            result._array = kernel(a._array)
        except Exception as error:
            fail(spec.name, error, result._form)
        return result
    form, array = unwrap(spec.name, a)
    kernel, result._form = spec.bindings[form, params]
    result._array = call_translated(spec.name, result._form, kernel, array)
    return result


def execute_pair(spec: OpSpec, a: Tensor, b: Tensor, params: Hashable, out: Out = None, /) -> Tensor:
    """Two tensors and hashable params, such as the axes of a contraction.

    >>> from tensor_runtime.ops.contraction import TENSORDOT
    >>> execute_pair(TENSORDOT, ones((2, 3)), ones((3, 4)), 1).shape
    (2, 4)
    """
    if out is not None:
        unwrap(spec.name, b)  # None would stand for no operand
        try:
            return params_into(spec, out, params, a, b)
        except MemoryError as error:
            fail(spec.name, error, out._form)
    result: Tensor = blank(Tensor)
    try:
        kernel, result._form = spec.found[a._form, b._form, params]
    except MISSES:
        pass
    else:
        try:
            result._array = kernel(a._array, b._array)
        except Exception as error:
            fail(spec.name, error, result._form)
        return result
    (form_a, array_a), (form_b, array_b) = unwrap(spec.name, a), unwrap(spec.name, b)
    kernel, found = spec.bindings[form_a, form_b, params]
    return wrap(found, call_translated(spec.name, found, kernel, array_a, array_b))


def execute_several(spec: OpSpec, operands: Sequence[Tensor], params: Hashable, /, *arguments: Any) -> Tensor:
    """Any number of tensors and params, one result; further arguments go to the kernel and are part of no key.

    >>> from tensor_runtime.ops.slicing import DYNAMIC_SLICE
    >>> execute_several(DYNAMIC_SLICE, (tensor([1, 2, 3, 4]),), (2,), (1,)).to_numpy().tolist()
    [2, 3]
    """
    try:
        kernel, found = spec.found[(*[operand._form for operand in operands], params)]
    except MISSES:
        pairs = [unwrap(spec.name, operand) for operand in operands]
        kernel, found = spec.bindings[(*[form for form, _ in pairs], params)]
    return wrap(found, call_translated(spec.name, found, kernel, *[operand._array for operand in operands], *arguments))


def execute_several_into(spec: OpSpec, out: Tensor, operands: Sequence[Tensor], params: Hashable, /) -> Tensor:
    """Any number of tensors and params, and where the result goes.

    >>> from tensor_runtime.ops.joining import STACK
    >>> execute_several_into(STACK, zeros((2, 1)), (tensor([1.0]), tensor([2.0])), 0).to_numpy().tolist()
    [[1.0], [2.0]]
    """
    try:
        return several_into(spec, out, operands, params)
    except MemoryError as error:
        fail(spec.name, error, out._form)


@overload
def execute_parts(spec: OpSpec, a: Tensor, params: Hashable, /) -> tuple[Tensor, ...]: ...
@overload
def execute_parts(spec: OpSpec, a: Tensor, params: Hashable, kind: type[PartsT], /) -> PartsT: ...
def execute_parts(spec: OpSpec, a: Tensor, params: Hashable, kind: type[Any] = tuple, /) -> Any:
    """One operand and hashable params, such as a decomposition has; several results.

    They come in a tuple, or in a named tuple of the class given, which has a field for each.

    >>> from tensor_runtime.dispatch.spec import OpSpec
    >>> shapes = lambda name, a, params: ((a[0], 1), (1, a[1]))
    >>> thin = OpSpec("qr", result_dtype=lambda dtype: (dtype,) * 2, result_shape=shapes, takes_params=True)
    >>> [part.shape for part in execute_parts(thin, ones((2, 1)), (False,))]
    [(2, 1), (1, 1)]
    """
    try:
        kernel, forms = spec.found[a._form, params]
    except MISSES:
        return execute_many(spec, (a,), params, kind)
    try:
        arrays = kernel(a._array)
    except Exception as error:
        fail(spec.name, error, forms)
    return tuple.__new__(kind, map(wrap, forms, arrays))


@overload
def execute_many(spec: OpSpec, operands: Sequence[Tensor], params: Hashable, /) -> tuple[Tensor, ...]: ...
@overload
def execute_many(spec: OpSpec, operands: Sequence[Tensor], params: Hashable, kind: type[PartsT], /) -> PartsT: ...
def execute_many(spec: OpSpec, operands: Sequence[Tensor], params: Hashable, kind: type[Any] = tuple, /) -> Any:
    """The same of any number of tensors.

    >>> from tensor_runtime.dispatch.spec import OpSpec
    >>> shapes = lambda name, a, params: ((a[0], 1), (1, a[1]))
    >>> thin = OpSpec("qr", result_dtype=lambda dtype: (dtype,) * 2, result_shape=shapes, takes_params=True)
    >>> [part.shape for part in execute_many(thin, [ones((2, 1))], (False,))]
    [(2, 1), (1, 1)]
    """
    pairs = [unwrap(spec.name, operand) for operand in operands]
    kernel, forms = spec.bindings[(*[form for form, _ in pairs], params)]
    arrays = call_translated(spec.name, forms, kernel, *[array for _, array in pairs])
    return tuple.__new__(kind, map(wrap, forms, arrays))


def unary_into(spec: OpSpec, out: Tensor, a: Tensor, /) -> Tensor:
    """``out``, after the result of one operand was written to it.

    >>> from tensor_runtime.ops.exponential import SQRT
    >>> unary_into(SQRT, zeros(1), tensor([9.0])).item()
    3.0
    """
    if written_in_pieces(spec, out, partial(execute_unary, spec), a):
        return out
    return _received(spec.name, out, execute_unary(spec, a), a)


def binary_into(spec: OpSpec, out: Tensor, a: Tensor | Number, b: Tensor | Number, /) -> Tensor:
    """The same of two operands.

    >>> from tensor_runtime.ops.arithmetic import ADD
    >>> binary_into(ADD, zeros(1), tensor([9.0]), 1).item()
    10.0
    """
    if written_in_pieces(spec, out, partial(execute_binary, spec), a, b):
        return out
    return _received(spec.name, out, execute_binary(spec, a, b), a, b)


def ternary_into(spec: OpSpec, out: Tensor, a: Tensor | Number, b: Tensor | Number, c: Tensor | Number, /) -> Tensor:
    """The same of three operands.

    >>> from tensor_runtime.ops.selection import WHERE
    >>> ternary_into(WHERE, zeros(1), tensor([True]), tensor([9.0]), 1).item()
    9.0
    """
    if written_in_pieces(spec, out, partial(execute_ternary, spec), a, b, c):
        return out
    return _received(spec.name, out, execute_ternary(spec, a, b, c), a, b, c)


def params_into(
    spec: OpSpec | ViewSpec, out: Tensor, params: Hashable, a: Tensor, b: Tensor | None = None, /
) -> Tensor:
    """The same of one operand or two, with params.

    >>> from tensor_runtime.ops.reduction import SUM
    >>> params_into(SUM, zeros(2), (0, False), ones((3, 2))).to_numpy().tolist()
    [3.0, 3.0]
    """
    if b is None:
        return _received(spec.name, out, execute_with_params(spec, a, params), a)
    assert isinstance(spec, OpSpec)
    return _received(spec.name, out, execute_pair(spec, a, b, params), a, b)


def several_into(spec: OpSpec, out: Tensor, operands: Sequence[Tensor], params: Hashable, /) -> Tensor:
    """The same of any number of operands, with params.

    >>> from tensor_runtime.ops.joining import STACK
    >>> several_into(STACK, zeros((1, 1)), (tensor([1.0]),), 0).to_numpy().tolist()
    [[1.0]]
    """
    return _received(spec.name, out, execute_several(spec, operands, params), *operands)


def bound_into(binding: Binding, out: Tensor, operands: Sequence[Tensor], /) -> bool:
    """Whether a kernel that is bound already wrote its result to ``out`` at once; here none does.

    The tensors are those that it is bound for, and ``out`` was looked at. Where nothing was written, the result is to
    be made, and copied.

    >>> from tensor_runtime.ops.exponential import SQRT
    >>> x = tensor([9.0])
    >>> bound_into(SQRT.bindings[x._form], zeros(1), [x]) in (False, True)
    True
    """
    return False


def is_free(out: Tensor, operands: Sequence[Tensor], /) -> bool:
    """Whether ``out`` may be written, and shares no memory with the operands; here nobody knows, and it is False.

    >>> is_free(zeros(1), [zeros(1)]) in (False, True)
    True
    """
    return False


def _received(operation: str, out: Tensor, result: Tensor, /, *operands: object) -> Tensor:
    """``out`` with the result written into it; without elements, what a kernel may spare is noted apart."""
    form = result._form
    if not is_stand_in(form.placement) or getattr(out, "_form", None) is not form:
        return written(operation, out, result, *operands)
    with kernels_called():  # that it can be written is no step of the call
        as_target(operation, out)
    note_output(form)
    return out
