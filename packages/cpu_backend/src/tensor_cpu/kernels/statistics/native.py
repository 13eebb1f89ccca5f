"""Native means, variances and norms: sums in double over any axes, without a temporary array (csrc/reduction).

The sums are cascaded as those of :mod:`tensor_cpu.kernels.reduction.native` are. What has no long neighbours is left to
:mod:`tensor_cpu.kernels.statistics.numpy`, which goes through it block by block.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tensor_core.dtypes import C32, C64, F32, F64, FLOATING, I32, I64, Bool, DType
from tensor_cpu.kernel_table import NativeBinder, bind
from tensor_cpu.kernels.reduction.folding import BLOCK
from tensor_cpu.kernels.reduction.native import (
    MOST_COPIED,
    Axis,
    axes_of,
    bind_reduction,
    has_long_neighbours,
    loops_of,
    short_lines,
)
from tensor_cpu.kernels.scan.native import line_binder
from tensor_cpu.kernels.statistics import numpy as statistics
from tensor_cpu.storage import NUMPY_DTYPES, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.workspaces import with_workspace
from tensor_runtime.dispatch.dtype_rules import Axes, reduced_axes
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand

if TYPE_CHECKING:
    from tensor_runtime.contracts.reduction import NormParams, ReduceParams, SpreadParams

TAKES: Final = "along axes with long neighbours, or few elements; of what is no float, copies in F64"
_MOST_SIZES: Final = 1 << 21  # elements of an operand whose sizes are kept as a whole, to be added up or compared
_TINY: Final = 1 << 10  # elements of an operand that is folded here although its neighbours are few
_PARTS: Final[Mapping[DType, DType]] = {C32: F32, C64: F64}


class _Sums(NamedTuple):
    """Wide folds of one operand: its real elements, where the axes lie, and how many sums there are."""

    dtype: DType
    start: int
    axes: list[Axis]
    number: int

    def kernel(self, fold: str, dtype: DType = F64, divisor: float = 1.0, root: bool = False) -> Kernel:
        """Of a vector of folds, as the kept axes come in the result, divided, and rooted if wanted."""
        return self._kernel(fold, (self.number,), dtype, divisor, root)

    def kernel_of(self, result: Form, fold: str, root: bool = False) -> Kernel:
        """Of the result itself, where every fold is an element of it."""
        return self._kernel(fold, result.shape[::-1], result.dtype, 1.0, root)

    def _kernel(self, fold: str, shape: tuple[int, ...], dtype: DType, divisor: float, root: bool) -> Kernel:
        loops = loops_of(self.start, self.axes)
        kernel: Kernel = LIBRARY.bind_reduce(fold, self.dtype.name, shape, dtype.name, loops, divisor, root)
        return kernel


def _sums(name: str, form: Form, result: Form, axis: Axes, *, join_parts: bool) -> _Sums | None:
    """None where there is nothing to add up, or no long neighbours; unless joined, parts are the fastest axis."""
    if not AVAILABLE or form.size == 0 or result.size == form.size:
        return None
    dtype, shape, strides = form.dtype, form.shape, form.strides
    reduced, number = reduced_axes(name, form.rank, axis), result.size
    if dtype in _PARTS:
        dtype, shape, strides = _PARTS[dtype], (2, *shape), (1, *(2 * stride for stride in strides))
        reduced = tuple(axis + 1 for axis in reduced)
        if join_parts:
            reduced = (0, *reduced)
        else:
            number *= 2
    if dtype not in (F32, F64):
        return None
    start, axes = axes_of(shape, strides, reduced)
    if has_long_neighbours(axes) or (form.size <= _TINY and axes[-1].stride == 1):
        return _Sums(dtype, start, axes, number)
    return None


def _short(
    fold: str, name: str, form: Form, result: Form, axis: Axes, divisor: float = 1.0, root: bool = False
) -> Kernel | None:
    """The kernel of sums of short lines of real elements; None of other ones."""
    if not AVAILABLE or form.size <= _TINY or result.size == form.size or form.dtype not in (F32, F64):
        return None
    start, axes = axes_of(form.shape, form.strides, reduced_axes(name, form.rank, axis))
    return short_lines(fold, form.dtype, result, start, axes, divisor, root)


def bind_mean(operands: tuple[Operand, ...], result: Any, params: ReduceParams, /) -> Kernel | None:
    """The kernel of a mean: the native sum, divided by the number of elements.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_mean((form_of(F64, (300, 100), CPU),), form_of(F64, (100,), CPU), (0, False))
    >>> kernel is None or kernel(np.full((100, 300), 7.0))[7].item() == 7
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    if form.dtype not in FLOATING:
        return _mean_of_counts(form, result, params) or _of_floats("mean", form, result, params)
    short = _short("mean", "mean", form, result, params[0], form.size // max(result.size, 1))
    if short is not None:
        return short
    total = bind_reduction("sum", form, result, params)
    if total is None:
        return None
    count = NUMPY_DTYPES[result.dtype.component].type(form.size // result.size)
    if form.dtype in _PARTS:  # a division by a + 0j would spoil infinities
        part = NUMPY_DTYPES[result.dtype.component]

        def mean_of_parts(x: Any) -> Any:
            sums = total(x)
            parts = sums.reshape(-1).view(part)
            np.divide(parts, count, out=parts)
            return sums

        return ignoring_fp_errors(mean_of_parts)

    def mean(x: Any) -> Any:
        sums = total(x)
        return np.divide(sums, count, out=sums)

    return ignoring_fp_errors(mean)


def _mean_of_counts(form: Form, result: Form, params: ReduceParams) -> Kernel | None:
    """Of I32 and Bool: their sums, which I64 holds as they are, divided; None of other ones."""
    if not AVAILABLE or form.dtype not in (I32, Bool) or form.size == 0:
        return None
    sums = form_of(I64, result.shape, result.placement)
    total, count = bind("sum", (form,), sums, params), float(form.size // result.size)
    return ignoring_fp_errors(lambda x: np.divide(total(x), count, out=empty(result)))


def _of_floats(name: str, form: Form, result: Form, params: Any) -> Kernel | None:
    """The kernel of what is no float, of a copy in F64."""
    wide = form_of(F64, form.shape, form.placement)
    if not AVAILABLE or form.size == 0 or result.dtype is not F64 or wide.nbytes > MOST_COPIED:
        return None
    convert, kernel = bind("convert", (form,), wide, None), bind(name, (wide,), result, params)
    return with_workspace(lambda x: kernel(convert(x)), wide.nbytes)


def bind_spread(name: str, operands: tuple[Operand, ...], result: Any, params: SpreadParams, /) -> Kernel | None:
    """The kernel of a variance or a standard deviation: two passes over the operand, the second about the means.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_spread("var", (form_of(F64, (300, 2), CPU),), form_of(F64, (2,), CPU), (0, False, 0.0))
    >>> kernel is None or kernel(np.tile([1.0, 5.0], (2, 150))).tolist() == [4.0, 4.0]
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    if form.dtype not in FLOATING:
        return _of_floats(name, form, result, params)
    axis, _, correction = params
    root, count = name == "std", form.size // max(result.size, 1)
    divisor = max(count - correction, 0.0)
    short = _short("spread", name, form, result, axis, divisor, root)
    sums = _sums(name, form, result, axis, join_parts=False) if short is None else None
    if sums is None:
        return short
    shape = result.shape[::-1]
    means = sums.kernel("total", divisor=count)
    if form.dtype not in _PARTS:
        squares = sums.kernel("deviations", result.dtype, divisor, root)
        return lambda x: squares(x, means(x)).reshape(shape)
    squares_of_parts = sums.kernel("deviations", divisor=divisor or 1.0)

    def spread(x: Any) -> Any:
        squares = squares_of_parts(x, means(x))
        whole = np.add(squares[0::2], squares[1::2])
        if not divisor:  # the parts apart would be 0 / 0 where one of them is constant
            np.divide(whole, 0.0, out=whole)
        if root:  # before it is rounded to F32, which has no room for the square of a small number
            np.sqrt(whole, out=whole)
        out = empty(result)
        out[...] = whole.reshape(shape)
        return out

    return ignoring_fp_errors(spread)


def bind_norm(operands: tuple[Operand, ...], result: Any, params: NormParams, /) -> Kernel | None:
    """The kernel of the norms of order 2, for real elements of order 1 and infinity, and of others of few elements.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_norm((form_of(F64, (100, 2), CPU),), form_of(F64, (2,), CPU), (0, False, 2.0))
    >>> kernel is None or kernel(np.full((2, 100), 0.5)).tolist() == [5.0, 5.0]
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    if form.dtype not in FLOATING:
        return _of_floats("norm", form, result, params)
    axis, _, order = params
    if order not in (1, 2, inf) or (order != 2 and form.dtype in _PARTS):
        return _by_steps(form, result, params)
    short = _short("squares", "norm", form, result, axis, 1.0, True) if order == 2 else None
    if short is not None:
        return short if result.dtype is F32 else _in_range(short, form, result, params)
    sums = _sums("norm", form, result, axis, join_parts=True)
    if sums is None:
        if order != 2:
            return _by_steps(form, result, params)
        parts = _sums("norm", form, result, axis, join_parts=False) if form.dtype in _PARTS else None
        return None if parts is None else _norm_of_parts(parts.kernel("squares"), form, result, params)
    if order != 2:
        return sums.kernel_of(result, "sizes" if order == 1 else "largest")
    roots = sums.kernel_of(result, "squares", True)
    # The squares of F32 never leave the range of F64.
    return roots if result.dtype is F32 else _in_range(roots, form, result, params)


def _by_steps(form: Form, result: Form, params: NormParams) -> Kernel | None:
    """The kernel of a norm that takes its steps one by one; None of too many elements, which go block by block.

    Sizes are F64, whose range no number of F32 leaves, and are divided by the one that decides before they are raised.
    """
    axis, _, order = params
    if not AVAILABLE or not 0 < form.size <= (_MOST_SIZES if order in (1, inf, -inf) else BLOCK):
        return None
    reduced = reduced_axes("norm", form.rank, axis)
    shape = tuple(1 if place in reduced else extent for place, extent in enumerate(form.shape))
    sizes, few = form_of(F64, form.shape, form.placement), form_of(F64, shape, form.placement)
    workspace, folds = 3 * sizes.nbytes, (axis, True)
    rounded, transposed = NUMPY_DTYPES[result.dtype], result.shape[::-1]
    if order == 0:
        truths, counts = form_of(Bool, form.shape, form.placement), form_of(I64, shape, form.placement)
        differ, count = bind("not_equal", (form, int), truths, None), bind("sum", (truths,), counts, folds)
        return with_workspace(lambda x: count(differ(x, 0)).astype(rounded).reshape(transposed), truths.nbytes)
    measure = _sizes(form, sizes)
    if order in (1, inf, -inf):
        fold = bind("sum" if order == 1 else "max" if order > 0 else "min", (sizes,), few, folds)
        folded = ignoring_fp_errors(lambda x: fold(measure(x)).astype(rounded, copy=False).reshape(transposed))
        return with_workspace(folded, workspace)
    decide = bind("max" if order > 0 else "min", (sizes,), few, folds)
    divide, power = bind("divide", (sizes, few), sizes, None), bind("pow", (sizes, float), sizes, None)
    total, root = bind("sum", (sizes,), few, folds), bind("pow", (few, float), few, None)
    multiply = bind("multiply", (few, few), few, None)
    inside = LIBRARY.lie_inside

    def norm(x: Any) -> Any:
        lengths = measure(x)
        scale = decide(lengths)
        if not inside(scale, 0.0):
            scale = np.where((scale > 0) & (scale < inf), scale, 1.0)
        sums = total(power(divide(lengths, scale), order))
        return multiply(root(sums, 1 / order), scale).astype(rounded, copy=False).reshape(transposed)

    return with_workspace(ignoring_fp_errors(norm), workspace)


def _sizes(form: Form, sizes: Form) -> Kernel:
    """The kernel of the sizes of elements in F64, without a copy of them in F64 or C64 where they are that."""
    wide = form_of(C64 if form.dtype in _PARTS else F64, form.shape, form.placement)
    if form.dtype is wide.dtype:
        return bind("abs", (form,), sizes, None)
    convert, measure = bind("convert", (form,), wide, None), bind("abs", (wide,), sizes, None)
    return lambda x: measure(convert(x))


def _norm_of_parts(squares_of_parts: Kernel, form: Form, result: Form, params: NormParams) -> Kernel:
    """Norms of complex elements whose neighbours are other norms': the parts are added up apart."""
    dtype, shape = NUMPY_DTYPES[result.dtype], result.shape[::-1]

    def roots(x: Any) -> Any:
        squares = squares_of_parts(x)
        whole = np.add(squares[0::2], squares[1::2])
        return np.sqrt(whole, out=whole).astype(dtype, copy=False).reshape(shape)

    checked = ignoring_fp_errors(roots)
    return checked if result.dtype is F32 else _in_range(checked, form, result, params)


def _in_range(roots: Kernel, form: Form, result: Form, params: NormParams) -> Kernel:
    """The norms; of those of which a square has left the range or lost digits by scaled elements."""
    scaled = statistics.bind_norm((form,), result, params)
    lowest, inside = sqrt(statistics.lowest_sum(result, form.size // result.size)), LIBRARY.lie_inside

    def norms(x: Any) -> Any:
        found = roots(x)
        if inside(found, lowest) or not x.any():  # zeros have norms of zero, such as a residual at the end
            return found
        return np.where((found > lowest) & (found < inf), found, scaled(x))

    return norms


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "mean": bind_mean,
    "var": lambda operands, result, params: bind_spread("var", operands, result, params),
    "std": lambda operands, result, params: bind_spread("std", operands, result, params),
    "norm": bind_norm,
    "argmax": line_binder("argmax"),
    "argmin": line_binder("argmin"),
}
