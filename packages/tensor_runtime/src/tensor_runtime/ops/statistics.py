"""Statistics over axes: ``mean``, ``var``, ``std``, ``norm``, and where extremes are: ``argmax``, ``argmin``.

``axis`` and ``keepdims`` as in ``tensor_runtime.ops.reduction``, and what eps and n are in bounds of the error; the arg
functions take one axis or None. Sums are made in the floating result's own type or a wider one (F64 for integers and
Bool), in the backend's order. Results are owned, compact and column-major.
"""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any, Final, SupportsIndex

from tensor_core.dtypes import ALL, I64, REAL, Bool, DType
from tensor_core.errors import ArgumentError, shortened
from tensor_core.foreign import number_of
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.arguments import as_axes, flag, whole
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import Axes, inexact, reduced
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops.reduction import reduced_nonempty
from tensor_runtime.static_types.results import index_dtype, inexact_component_dtype, inexact_dtype
from tensor_runtime.tensors.tensor import Tensor

Spread = tuple[Axes, bool, float]  # (axis, keepdims, correction or order)


def real_inexact(dtype: DType, /) -> DType:
    """F64 for integers and Bool, else the real type of one component.

    >>> from tensor_core import C32
    >>> real_inexact(C32), real_inexact(Bool)
    (F32, F64)
    """
    return inexact(dtype).component


def _position(dtype: DType, /) -> DType:
    return I64


def _spread_shape(operation: str, shape: Shape, params: Spread, /) -> Shape:
    return reduced(operation, shape, params[:2])


def _norm_shape(operation: str, shape: Shape, params: Spread, /) -> Shape:
    if params[2] == float("-inf"):
        return reduced_nonempty(operation, shape, params[:2])
    return reduced(operation, shape, params[:2])


_ORDERED: Final = REAL | {Bool}

MEAN: Final = OpSpec("mean", accepts=ALL, result_dtype=inexact, result_shape=reduced, takes_params=True)
VAR: Final = OpSpec("var", accepts=ALL, result_dtype=real_inexact, result_shape=_spread_shape, takes_params=True)
STD: Final = OpSpec("std", accepts=ALL, result_dtype=real_inexact, result_shape=_spread_shape, takes_params=True)
NORM: Final = OpSpec("norm", accepts=ALL, result_dtype=real_inexact, result_shape=_norm_shape, takes_params=True)
ARGMAX: Final = OpSpec(
    "argmax", accepts=_ORDERED, result_dtype=_position, result_shape=reduced_nonempty, takes_params=True
)
ARGMIN: Final = OpSpec(
    "argmin", accepts=_ORDERED, result_dtype=_position, result_shape=reduced_nonempty, takes_params=True
)


@inexact_dtype
def mean(a: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Arithmetic mean over axes: the sum divided by the number of elements. NaN of nothing, without a warning.

    The error is at most (33 + log2 n) eps times the mean of |a|.

    Args:
        a: any dtype.
        axis: one axis, a tuple of axes, None for all, () for none.
        keepdims: keep reduced axes with extent 1.

    Returns:
        F64 for integers and Bool, which are added in F64; else the operand's dtype. Both parts of a complex sum are
        divided on their own, so an infinite part leaves the other one alone.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> mean(tensor([[1, 2], [3, 4]]), axis=0)
    Tensor(F64, (2,), column-major, cpu)
     2.0  3.0
    """
    return execute_with_params(MEAN, a, (as_axes("mean", axis), flag("mean", "keepdims", keepdims)), out)


@inexact_component_dtype
def var(a: Tensor, /, axis: Axes = None, *, correction: float = 0, keepdims: bool = False, out: Out = None) -> Tensor:
    """Variance over axes: the mean of |a - mean(a)|², computed in two passes.

    With d = (34 + log2 n) eps, the error is at most d times the variance plus the square of d times the mean of |a|;
    the second term counts only where the elements vary by less than d of their size. The CPU backend computes F32 in
    F64, so that there nothing but the rounding of the result remains. Squares of deviations below 1e-154 (on the CPU in
    F32 too; elsewhere there below 1e-19) are subnormal or 0, and so is their mean; scale the operand first.

    Args:
        a: any dtype.
        axis: one axis, a tuple of axes, None for all, () for none.
        correction: the sum of squares over N elements is divided by max(N - correction, 0). 1 gives the unbiased
            estimate. NumPy calls it ``ddof``, and ``correction`` too.
        keepdims: keep reduced axes with extent 1.

    Returns:
        F64 for integers and Bool, the real type for complex operands, else the operand's dtype. Where the divisor is
        0: NaN, or infinity if the sum of squares is not 0.

    Raises:
        AxisError: an axis out of range or named twice.
        ArgumentError: a correction that is no finite Python number.

    Source: the two-pass algorithm; T. F. Chan, G. H. Golub and R. J. LeVeque, Algorithms for computing the sample
    variance, The American Statistician 37 (1983), 242-247.

    >>> x = tensor([1.0, 2.0, 3.0, 4.0])
    >>> var(x).item(), round(var(x, correction=1).item(), 6)
    (1.25, 1.666667)
    """
    return execute_with_params(
        VAR, a, (as_axes("var", axis), flag("var", "keepdims", keepdims), _correction("var", correction)), out
    )


@inexact_component_dtype
def std(a: Tensor, /, axis: Axes = None, *, correction: float = 0, keepdims: bool = False, out: Out = None) -> Tensor:
    """Standard deviation over axes: the square root of :func:`var`, which see; one rounding more.

    On the CPU, F32 and C32 are rounded after the root, so that small deviations keep their digits though their variance
    has none.

    >>> std(tensor([[1.0, 5.0], [3.0, 5.0]]), axis=0)
    Tensor(F64, (2,), column-major, cpu)
     1.0  0.0
    """
    return execute_with_params(
        STD, a, (as_axes("std", axis), flag("std", "keepdims", keepdims), _correction("std", correction)), out
    )


@index_dtype
def argmax(a: Tensor, /, axis: SupportsIndex | None = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Index of the largest element along an axis; of several, the first. NaN counts as largest. Exact.

    Args:
        a: real or Bool; complex numbers have no order.
        axis: one axis. None looks at all elements and counts them in **row-major** order, as NumPy does, whatever the
            storage: the index is into ``a.reshape(-1, order="C")``.
        keepdims: keep the axis, or all axes, with extent 1.

    Returns:
        I64.

    Raises:
        ArgumentError: the axis has extent 0, or is no int.
        AxisError: an axis out of range.

    >>> x = tensor([[1, 9, 3], [9, 5, 4]])
    >>> argmax(x).item(), argmax(x, axis=0).to_numpy().tolist()
    (1, [1, 0, 1])
    """
    return execute_with_params(
        ARGMAX, a, (None if axis is None else whole("argmax", "axis", axis), flag("argmax", "keepdims", keepdims)), out
    )


@index_dtype
def argmin(a: Tensor, /, axis: SupportsIndex | None = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Index of the smallest element along an axis; of several, the first. NaN counts as smallest.

    Arguments, order of counting and errors as for :func:`argmax`.

    >>> x = tensor([[7, 1, 3], [1, 5, 4]])
    >>> argmin(x).item(), argmin(x, axis=0).to_numpy().tolist()
    (1, [1, 0, 0])
    """
    return execute_with_params(
        ARGMIN, a, (None if axis is None else whole("argmin", "axis", axis), flag("argmin", "keepdims", keepdims)), out
    )


@inexact_component_dtype
def norm(a: Tensor, /, ord: float = 2, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Norm of the vector of elements along axes; with ``axis=None`` of all of them, whatever the rank.

    Norms of matrices (spectral, nuclear) belong to ``tensor_linalg``; the Frobenius norm is ``ord=2`` over two axes.

    Args:
        a: any dtype.
        ord: p. 2 for the square root of the sum of |a|²; 1 for the sum of |a|; infinity for the largest |a|, minus
            infinity for the smallest; 0 for the number of elements that are not 0; else (sum of |a|**p)**(1/p), which
            is no norm for p < 1.
        axis: one axis, a tuple of axes, None for all, () for none.
        keepdims: keep reduced axes with extent 1.

    Returns:
        F64 for integers and Bool, the real type for complex operands, else the operand's dtype. Nothing overflows
        or underflows on the way to a result that does not. NaN if an element is, except for order 0, which counts it.
        Of a complex element with one part NaN and the other infinite |a| is infinite, as C's hypot has it, and |a|²,
        of which the norm of order 2 is made, NaN, as NumPy has it. Of nothing: 0, for negative orders infinity.

        The error is at most (34 + log2 n) eps times the norm for orders 1 and 2 (one eps more for complex elements),
        none for infinity, minus infinity and 0, and ((38 + log2 n) / |p| + 6) eps times the norm for others.

    Raises:
        AxisError: an axis out of range or named twice.
        ArgumentError: an order that is NaN or no Python number; a reduced axis of extent 0 for minus infinity.

    >>> norm(tensor([3.0, -4.0])).item(), norm(tensor([3.0, -4.0]), 1).item(), norm(tensor([1e300, 0.0])).item()
    (5.0, 7.0, 1e+300)
    """
    return execute_with_params(NORM, a, (as_axes("norm", axis), flag("norm", "keepdims", keepdims), _order(ord)), out)


def _correction(operation: str, value: Any) -> float:
    number = _as_float(value)
    if not isfinite(number):
        raise ArgumentError(
            f"{operation}: correction is {shortened(value)}; accepted: a finite int or float",
            operation=operation,
            value=value,
        )
    return number


def _order(value: Any) -> float:
    if type(value) is int and value == 2:  # as nearly always
        return 2.0
    number = _as_float(value)
    if isnan(number):
        raise ArgumentError(
            f"norm: ord is {shortened(value)}; accepted: an int, a float, inf or -inf (norms of matrices are "
            "tensor_linalg's)",
            operation="norm",
            value=value,
        )
    return number


def _as_float(value: Any) -> float:
    """NaN for what is no float."""
    try:
        number = number_of(value)
        return float(number) if type(number) in (int, float) else float("nan")  # type: ignore[arg-type]
    except OverflowError:
        return float("nan")
