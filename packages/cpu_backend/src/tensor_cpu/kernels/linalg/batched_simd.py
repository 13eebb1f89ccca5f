"""Native linear algebra for batches of small matrices, each in one lane of a vector register (csrc/linalg).

NumPy's kernel for the same forms stands behind every one of these: whenever a matrix is not finite, not positive
definite or does not converge, the native kernel hands its operands over, so that results and errors are those of
:mod:`tensor_cpu.kernels.linalg.numpy`; of a batch, Cholesky factors of the matrices that lanes refuse and no others.
Whether a matrix is exactly singular is decided here, by the elimination in lanes: LAPACK may round a pivot of zero to
something else, and a matrix must not be regular in one batch and singular in another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log, prod
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import C32, C64, F64, FLOATING, DType
from tensor_core.errors import TensorError
from tensor_cpu.kernel_table import NativeBinder, bind_numpy
from tensor_cpu.kernels.linalg import drivers, least_squares
from tensor_cpu.kernels.linalg.checks import not_positive_definite, nothing_behind
from tensor_cpu.kernels.linalg.lapack import LARGEST_IN_LANES
from tensor_cpu.kernels.linalg.limits.powers import scaled, side_powers
from tensor_cpu.kernels.linalg.refusals import powers_before_lanes, refused, refusing, refusing_singular
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.errors import NotPositiveDefiniteError
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "batches of small matrices, of up to 64 rows, that fill the lanes of a register"
LARGEST: Final[Mapping[str, int]] = dict.fromkeys(
    ("cholesky", "det", "eigh", "eigvalsh", "inv", "qr", "slogdet", "solve", "svd", "svdvals"), LARGEST_IN_LANES
)
"""Rows or columns of the largest matrices for which lanes are faster than LAPACK."""

_LONGEST: Final = 64
"""Rows or columns of least-squares problems with a short side of up to ``_SMALL``."""

_SMALL: Final = 16
"""Rows or columns up to which a group of matrices stays in the first-level cache."""

_ROTATED: Final[Mapping[DType, int]] = {C32: 12}
"""Rows or columns, of the shorter side, up to which singular values and eigenvalues are found by rotations, where those
are fewer than ``_SMALL``. Beyond, two diagonals take less time. Values that are small beside the norm may have fewer
digits then; of C32, which is computed in C64, those down to 2⁻²⁹ of the largest have all of theirs in any case."""

_ALONE: Final = ("cholesky", "qr")
"""Done here for every number of matrices, one by one where they do not fill the lanes: with the same bits. Rotations of
small matrices are, too."""

_FEWEST: Final[Mapping[str, tuple[int, int]]] = {"svd": (3, 5), "svdvals": (3, 4), "eigh": (3, 4), "eigvalsh": (2, 3)}
"""Matrices in a batch with which a group of them is done before they are one by one: of up to 32 rows, and of more."""

_COUNTS_ALL: Final = 2.0**-300
"""The part of the largest singular value below which one may count that lanes lose (``linalg_lstsq.h``)."""

_SPLIT: Final = range(2, 5)
"""Sides of systems whose many right-hand sides are cut into parts."""
_WIDE: Final = 1200
"""Numbers in the right-hand sides of one such system with which cutting them into parts begins to pay."""
_ELIMINATIONS: Final = ("det", "inv", "slogdet", "solve")
"""Done here for every number of matrices, one by one where they do not fill the lanes: with the same bits, and the same
pivots of zero."""


def bind(name: str, operands: tuple[Operand, ...], result: Result, check: bool, driver: str = "auto") -> Kernel | None:
    """The kernel for these forms, or None where the matrices are not small, or too few, or their batches differ.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2, 2), CPU)
    >>> bind("cholesky", (form,), form, True)(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    >>> large = form_of(F64, (200, 200), CPU)
    >>> bind("cholesky", (large,), large, True) is None
    True
    """
    forms = [operand for operand in operands if isinstance(operand, Form)]
    if len(forms) != len(operands) or driver not in ("auto", "jacobi"):
        return None
    if driver == "jacobi" and max(forms[0].shape[:2]) > _SMALL:
        return None
    numpys = drivers.bind(name, operands, result, check, driver)
    results = result if isinstance(result, tuple) else (result,)
    a = forms[0]
    rows, columns, batch = a.shape[0], a.shape[1], a.shape[2:]
    count, right = prod(batch), 0
    if any(form.dtype is not a.dtype for form in forms) or a.dtype not in FLOATING:
        return None
    if len(forms) == 2:
        b = forms[1].shape
        right = prod(b[1:2])
        if b[2:] != batch:
            return None
    if not (0 < rows <= LARGEST[name] and 0 < columns <= LARGEST[name] and count and (right or len(forms) == 1)):
        return None
    if name in _ELIMINATIONS:
        if count == 1 and is_cut(rows, right):
            return None
    elif name not in _ALONE and not fills_lanes(name, max(rows, columns), count):
        return None
    bind_lanes = partial(
        LIBRARY.bind_batched_simd,
        name,
        a.dtype.name,
        sides=(rows, columns),
        right=right,
        count=count,
        results=tuple((form.shape[::-1], form.dtype.name) for form in results),
        single=not isinstance(result, tuple),
        jacobi=_SMALL if driver == "jacobi" else _ROTATED.get(a.dtype, _SMALL),
    )
    behind = numpys
    if name in _ELIMINATIONS:
        regular = numpys if name == "slogdet" else refusing_singular(name, numpys)
        behind = _rescaling(name, regular, numpys, bind_lanes)
    elif name == "cholesky" and count > 1:
        behind = _looking_again(behind, a, bind_lanes)
    if not check and batch:
        behind = sparing(behind, bind_lanes)
    kernel = bind_lanes(fallback=behind)
    return kernel if all(form.is_compact for form in forms) else compacting(kernel)


def fewest(name: str, side: int) -> int:
    """How many matrices, with so many rows or columns, a batch has that is decomposed in lanes.

    >>> fewest("svd", 16), fewest("svd", 17), fewest("svd", 64)
    (1, 3, 5)
    """
    return 1 if side <= _SMALL else _FEWEST[name][side > 32]


def fills_lanes(name: str, side: int, count: int, /) -> bool:
    """Whether so many matrices, with so many rows or columns, are decomposed in lanes.

    >>> fills_lanes("eigh", 64, 3), fills_lanes("eigh", 64, 4), fills_lanes("eigh", 65, 4)
    (False, True, False)
    """
    return side <= LARGEST[name] and count >= fewest(name, side)


def sparing(behind: Kernel, bind_lanes: Callable[..., Kernel], /) -> Kernel:
    """What stands behind lanes that check nothing: of a batch it takes the matrices that are not finite and no others.

    These neither cost the others time nor change their results; lanes take the identity in their place.

    >>> inverses = sparing(lambda x: np.full_like(x, np.nan), lambda fallback: np.linalg.inv)
    >>> inverses(np.array([[[2.0]], [[np.inf]]])).ravel().tolist()
    [0.5, nan]
    """

    def kernel(*arrays: Any) -> Any:
        spoilt = ~np.logical_and.reduce([np.isfinite(array).all(axis=(-2, -1)) for array in arrays])
        if not spoilt.any():
            return behind(*arrays)
        return apart(spoilt, arrays, bind_lanes(fallback=behind), behind)

    return kernel


def apart(spoilt: Array, arrays: Sequence[Array], lanes: Kernel, behind: Kernel, /) -> Any:
    """What ``behind`` gives of the matrices of a batch that are spoilt, and ``lanes`` of all others.

    >>> numbers = np.array([[[2.0]], [[3.0]]])
    >>> apart(np.array([False, True]), [numbers], lambda x: -x, lambda x: 10 * x).ravel().tolist()
    [-2.0, 30.0]
    """
    if spoilt.all():
        return behind(*arrays)
    regular = [array.copy() for array in arrays]
    for array in regular:
        array[spoilt] = np.eye(*array.shape[-2:])
    found = lanes(*regular)
    try:
        others = behind(*(array[spoilt] for array in arrays))
    except TensorError:
        for array, given in zip(regular, arrays, strict=True):
            array[...] = np.eye(*array.shape[-2:])
            array[spoilt] = given[spoilt]
        return behind(*regular)  # which raises, and names the place in the whole batch
    several = isinstance(found, tuple)
    for part, other in zip(found if several else (found,), others if several else (others,), strict=True):
        part[spoilt] = other
    return found


def _looking_again(behind: Kernel, form: Form, bind_lanes: Callable[..., Kernel]) -> Kernel:
    """What stands behind lanes that refuse a matrix of a batch: of those that they refuse it takes the factors.

    Factors of the others stay those from lanes, which take the identity in place of those that they refuse.
    """

    def kernel(a: Any) -> Any:
        one = np.eye(a.shape[-1])
        matrices = a.reshape(-1, *one.shape)
        spoilt = refused(matrices, partial(refusing, "cholesky", form)).reshape(a.shape[:-2])
        spoilt |= ~np.isfinite(a).all(axis=(-2, -1))
        if spoilt.all():
            return behind(a)
        try:
            others = behind(a[spoilt])
        except NotPositiveDefiniteError as error:
            told: Any = error
            where = np.argwhere(spoilt)[told.batch_index]
            raise not_positive_definite(told.element_index[0] + 1, tuple(map(int, where[::-1]))) from None
        except TensorError:
            return behind(a)  # which raises, and names the place in the whole batch
        regular = a.copy()
        regular[spoilt] = one
        found = bind_lanes(fallback=behind)(regular)
        found[spoilt] = others
        return found

    return kernel


def _rescaling(name: str, behind: Kernel, numpys: Kernel, bind_lanes: Callable[..., Kernel]) -> Kernel:
    """What stands behind an elimination in lanes, which leaves numbers near the limits alone: they are scaled first.

    NumPy's kernel takes those of which rows and columns want powers of their own.
    """

    def kernel(*arrays: Any) -> Any:
        if not all(np.isfinite(array).all() for array in arrays):
            return behind(*arrays)
        powers, spread = powers_before_lanes(arrays[0])
        if spread.any():
            return apart(spread, arrays, bind_lanes(fallback=kernel), numpys)
        return rescaled(name, bind_lanes(fallback=behind, check=False), powers, arrays)

    return kernel


@ignoring_fp_errors
def rescaled(name: str, kernel: Kernel, powers: Any, arrays: tuple[Any, ...]) -> Any:
    """The result, for which the powers [..., 1, 1] of two are taken out of each matrix and given back.

    Args:
        name: of an elimination.
        kernel: which computes, without a look at how large numbers are.
        powers: of :func:`powers_before_lanes`, None included; right-hand sides may have some where matrices have none.
        arrays: finite operands.

    >>> rescaled("inv", np.linalg.inv, np.array([[-1060]]), (np.array([[2.0**-1060]]),)).tolist()
    [[inf]]
    """
    powers = np.zeros((1, 1), int) if powers is None else powers
    a = scaled(arrays[0], -powers)
    if name == "inv":
        return scaled(kernel(a), -powers)
    if name == "det":
        return scaled(kernel(a), a.shape[-1] * powers[..., 0, 0])
    if name == "slogdet":
        sign, logarithm = kernel(a)
        shift = (a.shape[-1] * log(2.0)) * powers[..., 0, 0]
        return sign, np.asarray(logarithm + shift)  # of one matrix the sum is a scalar
    if arrays[1].ndim == 1:
        powers = powers.reshape(1)
    of_sides = side_powers(arrays[1], powers)
    return scaled(kernel(a, scaled(arrays[1], -of_sides)), of_sides - powers)


def is_cut(side: int, right: int) -> bool:
    """Whether so many right-hand sides of one system are cut into parts.

    >>> is_cut(3, 1000), is_cut(8, 1000)
    (True, False)
    """
    return side in _SPLIT and right * side > _WIDE


def bind_lstsq(operands: tuple[Operand, ...], result: Result, rtol: float, check: bool) -> Kernel | None:
    """The kernel of small matrices, each with few right-hand sides of its own, or None for others.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> result = (form, form_of(F64, (1,), CPU), form_of(I64, (), CPU), form_of(F64, (1,), CPU))
    >>> [part.tolist() for part in bind_lstsq((form, form), result, 0.0, True)(np.array([[2.0]]), np.array([[4.0]]))]
    [[[2.0]], [0.0], 1, [2.0]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or not isinstance(result, tuple) or a.dtype is not b.dtype:
        return None
    (rows, columns, *batch), right = a.shape, b.shape[1]
    if a.dtype not in FLOATING or result[0].shape[2:] != a.shape[2:] or not (a.size and b.size):
        return None
    if max(rows, columns) > _LONGEST or min(rows, columns) > _SMALL or right > _SMALL:
        return None
    bind_lanes = partial(
        LIBRARY.bind_batched_simd,
        "lstsq",
        a.dtype.name,
        sides=(rows, columns),
        right=right,
        count=prod(batch),
        results=tuple((form.shape[::-1], form.dtype.name) for form in result),
        single=False,
        tolerance=rtol,
    )
    behind = least_squares.bind(operands, result, rtol, check, bind_svd=bind_numpy)
    if rtol < _COUNTS_ALL and a.dtype in (F64, C64):
        behind = _with_all_values(behind, (a, b), result, rtol, bind_lanes)
    kernel = bind_lanes(fallback=behind if check or not batch else sparing(behind, bind_lanes))
    if a.is_compact and b.is_compact and a.shape[2:] == b.shape[2:]:
        return kernel
    of_b = (*result[0].shape[:1:-1], right, rows)

    def spread(x: Any, y: Any) -> Any:
        missing = (1,) * (len(of_b) - y.ndim)
        y = np.broadcast_to(y.reshape(*y.shape[:-2], *missing, *y.shape[-2:]), of_b)
        return kernel(np.ascontiguousarray(x), np.ascontiguousarray(y))

    return spread


def _with_all_values(
    behind: Kernel,
    operands: Sequence[Form],
    result: tuple[Form, ...],
    rtol: float,
    bind_lanes: Callable[..., Kernel],
) -> Kernel:
    """What stands behind lanes that refuse graded matrices, of which squares of small values are lost to them.

    Those have the values that ``svd`` finds, one by one; all others keep theirs.
    """
    batch = len(operands[0].shape) - 2
    of_one = [form_of(form.dtype, form.shape[: form.rank - batch], form.placement) for form in result]
    a, b = (form_of(form.dtype, form.shape[:2], form.placement) for form in operands)
    solve_one: Any = least_squares.bind((a, b), tuple(of_one), rtol, False)
    shapes = tuple((form.shape[::-1], form.dtype.name) for form in of_one)
    taken: Any = bind_lanes(count=1, results=shapes, fallback=nothing_behind)

    def each(x: Any, y: Any) -> Any:
        if x.ndim == 2:
            return solve_one(x, y)
        return tuple(map(np.stack, zip(*map(solve_one, x, y), strict=True)))

    def kernel(x: Any, y: Any) -> Any:
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return behind(x, y)
        pairs = zip(x.reshape(-1, *x.shape[-2:]), y.reshape(-1, *y.shape[-2:]), strict=True)
        graded = np.array([taken(*pair) is None for pair in pairs]).reshape(x.shape[:-2])
        return apart(graded, (x, y), bind_lanes(fallback=behind), each) if graded.any() else behind(x, y)

    return kernel


def compacting(kernel: Kernel, first: int = 0, /) -> Kernel:
    """The same for operands of which those from ``first`` on are views.

    >>> compacting(lambda *arrays: [array.strides for array in arrays], 1)(np.eye(2).T, np.eye(2)[:, :1])
    [(8, 16), (8, 8)]
    """
    return lambda *arrays: kernel(*arrays[:first], *map(np.ascontiguousarray, arrays[first:]))


BINDERS: Final[Mapping[str, NativeBinder]] = {
    **{name: taking_fields(partial(bind, name)) for name in LARGEST},
    "lstsq": taking_fields(bind_lstsq),
}
