"""The only path from a public function to a kernel.

    binding table of the operation, keyed by the operands' forms  →  bound kernel  →  wrapped once

Each function here is the hot path of one kind of call: look up, call, wrap. Reading ``_form`` fails for a Python
number, which costs nothing while operands are tensors; the *type* of the number then stands in for its form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tensor_core.errors import BackendError, OutOfMemoryError, TensorError
from tensor_runtime.spec import OpSpec, ViewSpec
from tensor_runtime.tensor import Number, Tensor, unwrap


def execute_unary(spec: OpSpec, a: Tensor, /) -> Tensor:
    """One operand, no options."""
    try:
        key = a._form
    except AttributeError:
        key, _ = unwrap(spec.name, a)
    result = Tensor()
    kernel, result._form = spec.bindings[key]
    try:
        result._array = kernel(a._array)
    except TensorError:
        raise
    except Exception as error:
        raise translated(spec.name, error) from error
    return result


def execute_binary(spec: OpSpec, a: Tensor | Number, b: Tensor | Number, /) -> Tensor:
    """Two operands, of which one may be a Python number."""
    try:
        key = a._form, b._form  # type: ignore[union-attr]
    except AttributeError:
        return _with_number(spec, a, b)
    result = Tensor()
    kernel, result._form = spec.bindings[key]
    try:
        result._array = kernel(a._array, b._array)  # type: ignore[union-attr]
    except TensorError:
        raise
    except Exception as error:
        raise translated(spec.name, error) from error
    return result


def execute_detail(spec: OpSpec | ViewSpec, a: Tensor, detail: Hashable, /) -> Tensor:
    """One operand and a hashable detail, such as the axes of a reduction or of a view."""
    try:
        key = a._form, detail
    except AttributeError:
        key = unwrap(spec.name, a)[0], detail
    result = Tensor()
    kernel, result._form = spec.bindings[key]
    try:
        result._array = kernel(a._array)
    except TensorError:
        raise
    except Exception as error:
        raise translated(spec.name, error) from error
    return result


def execute_pair(spec: OpSpec, a: Tensor, b: Tensor, detail: Hashable, /) -> Tensor:
    """Two tensors and a hashable detail, such as the axes of a contraction."""
    (form_a, array_a), (form_b, array_b) = unwrap(spec.name, a), unwrap(spec.name, b)
    result = Tensor()
    kernel, result._form = spec.bindings[form_a, form_b, detail]
    result._array = guarded(spec.name, kernel, array_a, array_b)
    return result


def execute_many(spec: OpSpec, operands: Sequence[Tensor], detail: Hashable, /) -> tuple[Tensor, ...]:
    """Any number of tensors and a detail; several results."""
    pairs = [unwrap(spec.name, operand) for operand in operands]
    kernel, forms = spec.bindings[(*[form for form, _ in pairs], detail)]
    arrays = guarded(spec.name, kernel, *[array for _, array in pairs])
    results = []
    for form, array in zip(forms, arrays, strict=True):
        result = Tensor()
        result._form = form
        result._array = array
        results.append(result)
    return tuple(results)


def guarded(operation: str, kernel: Callable[..., Any], /, *arguments: Any) -> Any:
    """Call a kernel; whatever it raises becomes an error of our tree."""
    try:
        return kernel(*arguments)
    except TensorError:
        raise
    except Exception as error:
        raise translated(operation, error) from error


def translated(operation: str, error: Exception, /) -> TensorError:
    """The error of our tree that stands for one that a kernel let escape."""
    if isinstance(error, MemoryError):
        return OutOfMemoryError(
            f"{operation}: not enough memory for the result or a workspace: {error}", operation=operation
        )
    return BackendError(f"{operation}: the backend failed: {type(error).__name__}: {error}", operation=operation)


def _with_number(spec: OpSpec, a: Tensor | Number, b: Tensor | Number) -> Tensor:
    result = Tensor()
    if isinstance(a, Tensor):
        kernel, result._form = spec.bindings[a._form, type(b)]
        result._array = guarded(spec.name, kernel, a._array, b)
    elif isinstance(b, Tensor):
        kernel, result._form = spec.bindings[type(a), b._form]
        result._array = guarded(spec.name, kernel, a, b._array)
    else:
        spec.bindings[type(a), type(b)]  # refuses, naming what it found
    return result
