"""What functions that are composed of others look at before they compute: dtypes, batch shapes, values.

A kernel's operands are checked by its spec and by the kernel; these are the same checks, with the same words, on
tensors of any backend. On tensors without elements (``tensor_runtime.infer``) nothing is looked at.
"""

from __future__ import annotations

from cmath import isfinite as finite
from typing import Any, Final

from tensor_core.dtypes import F64, DType
from tensor_core.errors import ArgumentError, DTypeError, PlacementError, TensorError, shortened
from tensor_core.foreign import number_of, python_number, refuse_masked
from tensor_core.promotion import promote
from tensor_core.shapes import Shape
from tensor_linalg.specs.linalg_spec import require_floating
from tensor_runtime.backends.meta import META_KIND
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.dispatch.spec import common_placement
from tensor_runtime.errors import (
    ForeignOperandError,
    NotConvergedError,
    SingularMatrixError,
    matrix_at,
    non_finite,
    of_matrix,
)
from tensor_runtime.ops.creation import to_numpy
from tensor_runtime.ops.gather_scatter import nonzero
from tensor_runtime.ops.logic import logical_not
from tensor_runtime.ops.reduction import SUM, any
from tensor_runtime.ops.reduction import all as all_of
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.views import broadcast_to, reshape_view
from tensor_runtime.placement import CPU, DeviceKind, is_stand_in
from tensor_runtime.tensors.tensor import Tensor, unwrap
from tensor_runtime.tensors.transfer import download

_ALL_AXES: Final = (None, False)


def floating(operation: str, *operands: Tensor) -> DType:
    """The promoted dtype of operands that are each F32, F64, C32 or C64.

    Raises:
        DTypeError: an integer or Bool tensor, or no tensor at all.

    >>> import tensor_runtime as tr
    >>> floating("lstsq", tr.ones(2, dtype="F32"), tr.ones(2, dtype="C64"))
    C64
    """
    dtypes = [unwrap(operation, operand)[0].dtype for operand in operands]
    require_floating(operation, dtypes)
    first = dtypes[0]
    return first if all(dtype is first for dtype in dtypes) else promote(*dtypes)


def require_together(operation: str, *operands: Tensor) -> None:
    """Raise where tensors live in different places.

    Raises:
        PlacementError: they do.

    >>> import tensor_runtime as tr
    >>> require_together("qr_append", tr.ones(2), tr.ones(3))
    """
    home = operands[0].placement
    for operand in operands:
        if operand.placement is not home:
            common_placement(operation, [unwrap(operation, one)[0] for one in operands])  # which tells of all


def promoted(operation: str, *operands: Tensor) -> tuple[Tensor, ...]:
    """The operands in their promoted dtype, which is F32, F64, C32 or C64.

    >>> import tensor_runtime as tr
    >>> [x.dtype for x in promoted("lstsq", tr.ones(2, dtype="F32"), tr.ones(2))]
    [F64, F64]
    """
    dtype = floating(operation, *operands)
    return tuple(x if x.dtype is dtype else convert(x, dtype) for x in operands)


def require_tensor(operation: str, what: str, x: Any, /) -> None:
    """Raise where an operand is no tensor, as every function of tensors does.

    Raises:
        ForeignOperandError: an array of another library, or anything else.

    >>> require_tensor("cg", "b", floating)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.ForeignOperandError: cg: b is a function; accepted: a tensor; asarray() makes one of an array
    """
    if not isinstance(x, Tensor):
        refuse_masked(operation, x)
        raise ForeignOperandError(
            f"{operation}: {what} is a {type(x).__name__}; accepted: a tensor; asarray() makes one of an array",
            operation=operation,
        )


def no_tensor(operation: str, found: str, x: Any, rest: str, /) -> TensorError:
    """The error about what is no tensor where something else might have been right: a function, or what one gives.

    Args:
        operation: the name that the error bears.
        found: where it was, such as "the operator is".
        x: what was there; an array of another library makes the error a ``ForeignOperandError``.
        rest: what the error says behind it.

    >>> no_tensor("cg", "the operator is", 3, "; accepted: a tensor")
    ArgumentError('cg: the operator is a int; accepted: a tensor')
    """
    refuse_masked(operation, x)
    lends = hasattr(x, "__array_interface__") or hasattr(x, "__array__") or hasattr(x, "__dlpack__")
    foreign = lends and number_of(x) is None
    kind: type[TensorError] = ForeignOperandError if foreign else ArgumentError
    return kind(f"{operation}: {found} a {type(x).__name__}{rest}", operation=operation)


def number(operation: str, what: str, value: Any, accepted: str = "a number from 0 on", least: float = 0.0) -> float:
    """A finite real number that a user wrote: Python's, or one of another library that equals it.

    Args:
        operation: the name that the error bears.
        what: the parameter that it is passed as.
        value: what the user wrote.
        accepted: the tail of the error's text.
        least: the smallest that is accepted.

    Raises:
        ArgumentError: no real number, one that is not finite or beyond F64, or one below ``least``.

    >>> number("split", "cutoff", 1)
    1.0
    """
    found = plain(value)
    try:
        if isinstance(found, (int, float)) and not isinstance(found, bool) and finite(found) and found >= least:
            return float(found)
    except OverflowError:
        pass
    raise ArgumentError(f"{operation}: {what} is {shortened(value)}; accepted: {accepted}", operation=operation)


def seed_of(operation: str, value: Any, /) -> int:
    """What random numbers are drawn from, as ``tensor_runtime.normal`` takes it.

    Raises:
        ArgumentError: no int from 0 to 2**64 - 1.

    >>> seed_of("randomized_svd", 7)
    7
    """
    try:
        found = whole(operation, "seed", value)
    except ArgumentError:
        found = -1
    if not 0 <= found < 2**64:
        raise ArgumentError(
            f"{operation}: seed is {shortened(value)}; accepted: an int from 0 to 2**64 - 1", operation=operation
        )
    return found


def plain(value: Any, /) -> int | float | complex | bool | None:
    """The Python number that a number of any library equals, an array or tensor of rank 0 too; None for no number.

    >>> from fractions import Fraction
    >>> plain(Fraction(1, 2)), plain("1") is None
    (0.5, True)
    """
    found = number_of(value)
    if found is not None:
        return found
    try:
        return python_number(value)
    except DTypeError:
        return None


def unit_of(dtype: DType, /) -> float:
    """The rounding unit, the distance from 1 to the next number.

    >>> from tensor_core import C32
    >>> unit_of(C32) == 2.0**-23
    True
    """
    return 2.0**-52 if dtype.component is F64 else 2.0**-23


def with_batch(x: Tensor, core_rank: int, batch: Shape, /) -> Tensor:
    """The operand with its batch axes broadcast to ``batch``, as a view.

    >>> import tensor_runtime as tr
    >>> with_batch(tr.ones((2, 2)), 2, (5,)).shape
    (2, 2, 5)
    """
    core = x.shape[:core_rank]
    if x.shape[core_rank:] == batch:
        return x
    missing = (1,) * (core_rank + len(batch) - x.rank)
    return broadcast_to(reshape_view(x, (*core, *missing, *x.shape[core_rank:])), (*core, *batch))


def holds(x: Tensor, /) -> bool:
    """Whether the one element of a Bool tensor is true: lent by the host, counted by a device; no element is moved.

    False where tensors have no elements, so that what depends on values is taken to go well.

    >>> import tensor_runtime as tr
    >>> holds(tr.any(tr.tensor([False, True])))
    True
    """
    device = x.placement.device
    if device is not None and device.kind is META_KIND:
        return False
    array = lent(x)
    if array is not None:
        return bool(array)  # a tenth of the time
    return nonzero(reshape_view(x, (1,)))[0].shape[0] == 1


def some(x: Tensor, /) -> bool:
    """Whether an element of a Bool tensor is true, as :func:`holds` says; of one element without a reduction.

    >>> import tensor_runtime as tr
    >>> some(tr.tensor([False, True])), some(tr.tensor(False))
    (True, False)
    """
    return holds(any(x) if x.rank else x)


def lent(x: Tensor, /) -> Any:
    """The array of a tensor on the host whose backend lends it, else None; no element is moved.

    >>> import tensor_runtime as tr
    >>> lent(tr.tensor(0.5)).item()
    0.5
    """
    device = x.placement.device
    if device is None or device.kind is not DeviceKind.Cpu or is_stand_in(x.placement):
        return None
    try:
        return to_numpy(x)
    except PlacementError:  # a backend that lends nothing
        return None


def sum_is_finite(x: Tensor, /) -> bool:
    """Whether the sum of all elements is finite, which one infinity or NaN would spoil; large elements may, too.

    False where tensors have no elements of their own.

    >>> import tensor_runtime as tr
    >>> sum_is_finite(tr.ones(2)), sum_is_finite(tr.tensor([1.0, float("nan")]))
    (True, False)
    """
    total = execute_with_params(SUM, x, _ALL_AXES) if x.rank else x
    if total.placement is CPU:
        return finite(total.to_numpy().item())  # a third of the time, and no element is moved
    return holds(isfinite(total))


def require_finite(operation: str, operand: str, x: Tensor, core_rank: int = 2) -> None:
    """Raise unless every element is finite; one word is read back from the device.

    Args:
        operation: the name that the error bears.
        operand: the parameter that it is passed as.
        x: shape [core axes..., B...].
        core_rank: how many leading axes are not batch axes.

    Raises:
        NonFiniteError: with ``batch_index`` and ``element_index`` of the first offender in column-major order.

    >>> import tensor_runtime as tr
    >>> require_finite("lstsq", "a", tr.ones((2, 2)))
    """
    if sum_is_finite(x):
        return
    wrong = logical_not(isfinite(x))
    if not holds(any(wrong)):
        return
    index = first(wrong)
    raise non_finite(operation, operand, index[:core_rank], index[core_rank:], repr(x[index].item()))


def require_range(operation: str, found: Tensor, what: str, remedy: str) -> None:
    """Raise where matrices that were computed are not finite, of which LAPACK makes NaN, or no end.

    Args:
        operation: the name that the error bears.
        found: shape [M, N, B...].
        what: of what a user asked for, that is too large.
        remedy: what he may do.

    Raises:
        NotConvergedError: with the batch index.

    >>> import tensor_runtime as tr
    >>> require_range("eigh", tr.eye(2), "the eigenvalues", "scale a")
    """
    if sum_is_finite(found):
        return
    beyond = logical_not(all_of(isfinite(found), (0, 1)))
    if not holds(any(beyond)):
        return
    batch = first(beyond)
    raise NotConvergedError(
        f"{operation}: {what}{of_matrix(batch)} are beyond the range of {found.dtype}; {remedy}",
        operation=operation,
        batch_index=batch,
        element_index=None,
    )


def require_regular(operation: str, bad: Tensor, found: str, instead: str) -> None:
    """Raise where a matrix is singular.

    Args:
        operation: the name that the error bears.
        bad: Bool of shape [B...].
        found: what was found, as the tail of "the matrix at batch index (3,) ...".
        instead: what to do.

    Raises:
        SingularMatrixError: with ``batch_index`` of the first such matrix in column-major order.

    >>> import tensor_runtime as tr
    >>> bad = tr.tensor([False, True])
    >>> require_regular("cho_solve", bad, "has a zero on its diagonal", "use pinv()")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.SingularMatrixError: cho_solve: the matrix at batch index (1,) has a zero on its diagonal; ...
    """
    if not some(bad):
        return
    batch = first(bad)
    raise SingularMatrixError(
        f"{operation}: {matrix_at(batch)} {found}; {instead}",
        operation=operation,
        batch_index=batch,
        element_index=None,
    )


def first(chosen: Tensor, /) -> tuple[int, ...]:
    """Index of the first true element in column-major order.

    >>> import tensor_runtime as tr
    >>> first(tr.tensor([[False, True], [True, False]]))
    (1, 0)
    """
    if not chosen.rank:
        return ()
    listed = zip(*(download(one).to_nested() for one in nonzero(chosen)), strict=True)
    return min(listed, key=lambda index: index[::-1])
