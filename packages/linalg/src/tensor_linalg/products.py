"""Products of matrices and vectors over trailing batch axes: ``matmul matvec vecdot outer mT mH``.

A tensor ``[M, K, B...]`` is one M x K matrix for every batch index, ``[K, B...]`` one vector. Batch shapes are equal or
broadcast among themselves, aligned at the last axis; a matrix without batch axes meets every matrix of the other
operand. ``tensor_runtime.matmul`` and ``@`` keep NumPy's leading batch axes instead.

Every dtype is accepted: integers wrap, and products of Bool are ands, sums ors. Each product is one contraction of the
backend; no operand is copied to bring its axes in order.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import C32, C64
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape
from tensor_linalg.specs.shapes import matrix_axes
from tensor_runtime.contracts.contraction import Labels
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.arithmetic import conj
from tensor_runtime.ops.contraction import ContractionSpec, Signature
from tensor_runtime.ops.views import transpose_view
from tensor_runtime.static_types.combined import product_dtype
from tensor_runtime.static_types.results import same_dtype
from tensor_runtime.tensors.tensor import Tensor, unwrap

_FIRST_BATCH_LABEL: Final = 3  # after the labels of rows, inner axis and columns


class _TrailingProduct:
    """The labels of a product whose operands have core axes first and batch axes last."""

    __slots__ = ("accepted", "core_a", "core_b", "core_result")

    def __init__(self, core_a: Labels, core_b: Labels, core_result: Labels, accepted: str) -> None:
        self.core_a, self.core_b, self.core_result = core_a, core_b, core_result
        self.accepted = accepted

    def __call__(self, operation: str, a: Shape, b: Shape, /) -> Signature:
        ranks = len(self.core_a), len(self.core_b)
        extents: dict[int, int] = {}
        pairs = (*zip(self.core_a, a, strict=False), *zip(self.core_b, b, strict=False))
        fits = len(a) >= ranks[0] and len(b) >= ranks[1]
        if not fits or any(extents.setdefault(label, extent) != extent for label, extent in pairs):
            raise ShapeError(
                f"{operation}: shapes {a} and {b} do not fit; accepted: {self.accepted}, batch axes last",
                operation=operation,
                shapes=(a, b),
            )
        return self._with_batch(operation, a[ranks[0] :], b[ranks[1] :])

    def _with_batch(self, operation: str, batch_a: Shape, batch_b: Shape) -> Signature:
        """Batch axis k from the right is 3 + 2k; where it has extent 1 against n it is 4 + 2k, and summed away."""
        of_a, of_b, of_result = [], [], []
        for k in range(max(len(batch_a), len(batch_b))):
            m, n = (batch[-1 - k] if k < len(batch) else None for batch in (batch_a, batch_b))
            if m is not None and n is not None and m != n and 1 not in (m, n):
                raise ShapeError(
                    f"{operation}: batch shapes {batch_a} of a and {batch_b} of b do not broadcast; "
                    "accepted: extents that are equal or 1, aligned at the last axis",
                    operation=operation,
                    shapes=(batch_a, batch_b),
                )
            shared = _FIRST_BATCH_LABEL + 2 * k
            if m is not None:
                of_a.append(shared + 1 if m == 1 and n not in (1, None) else shared)
            if n is not None:
                of_b.append(shared + 1 if n == 1 and m not in (1, None) else shared)
            of_result.append(shared)
        return (
            (*self.core_a, *reversed(of_a)),
            (*self.core_b, *reversed(of_b)),
            (*self.core_result, *reversed(of_result)),
        )


MATMUL: Final = ContractionSpec("matmul", _TrailingProduct((0, 1), (1, 2), (0, 2), "[M, K, B...] and [K, N, B...]"))
MATVEC: Final = ContractionSpec("matvec", _TrailingProduct((0, 1), (1,), (0,), "[M, K, B...] and [K, B...]"))
_INNER: Final = _TrailingProduct((1,), (1,), (), "[K, B...] and [K, B...]")
VECDOT: Final = ContractionSpec("vecdot", _INNER)
CONJ_VECDOT: Final = ContractionSpec("vecdot", _INNER, conjugated=True)
OUTER: Final = ContractionSpec("outer", _TrailingProduct((0,), (2,), (0, 2), "[M, B...] and [N, B...]"))


@product_dtype
def matmul(a: Tensor, b: Tensor, /, *, out: Out = None) -> Tensor:
    """Products of matrices, batch axes last.

    ``tensor_runtime.matmul`` and ``@`` keep NumPy's leading batch axes.

    Args:
        a: shape [M, K, B...].
        b: shape [K, N, B...]; batch shapes broadcast among themselves, aligned at the last axis.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [M, N, B...], of the promoted dtype; owned and compact.

    Raises:
        ShapeError: an operand has fewer than two axes, the inner extents differ, or the batch shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> import tensor_runtime as tr
    >>> matmul(tr.ones((2, 3, 5)), tr.ones((3, 4))).shape
    (2, 4, 5)
    """
    return execute_binary(MATMUL, a, b, out)


@product_dtype
def matvec(a: Tensor, x: Tensor, /, *, out: Out = None) -> Tensor:
    """Products of matrices and vectors, batch axes last.

    Args:
        a: shape [M, K, B...].
        x: shape [K, B...]; batch shapes broadcast among themselves, aligned at the last axis.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [M, B...], of the promoted dtype; owned and compact.

    Raises:
        ShapeError: ``a`` has fewer than two axes or ``x`` none, the inner extents differ, or the batch shapes do not
            broadcast.
        PlacementError: the operands live in different places.

    >>> import tensor_runtime as tr
    >>> matvec(tr.tensor([[1, 2], [3, 4]]), tr.tensor([[1, 0], [0, 1]])).to_numpy().tolist()
    [[1, 2], [3, 4]]
    """
    return execute_binary(MATVEC, a, x, out)


@product_dtype
def vecdot(x: Tensor, y: Tensor, /, *, out: Out = None) -> Tensor:
    """Inner products of vectors, sum of conj(x) y over the first axis, batch axes last.

    Args:
        x: shape [K, B...]; complex elements are conjugated.
        y: shape [K, B...]; batch shapes broadcast among themselves, aligned at the last axis.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [B...], of the promoted dtype; owned and compact.

    Raises:
        ShapeError: an operand has no axes, the extents of the first axes differ, or the batch shapes do not broadcast.
        PlacementError: the operands live in different places.

    Source: Python array API standard, ``vecdot``, which has its vectors along the last axis.

    >>> import tensor_runtime as tr
    >>> vecdot(tr.tensor([1.0, 1j]), tr.tensor([1.0, 1j])).item()
    (2+0j)
    """
    conjugated = getattr(x, "dtype", None) in (C32, C64)
    return execute_binary(CONJ_VECDOT if conjugated else VECDOT, x, y, out)


@product_dtype
def outer(x: Tensor, y: Tensor, /, *, out: Out = None) -> Tensor:
    """Outer products of vectors, x yᵀ without conjugation, batch axes last.

    Args:
        x: shape [M, B...].
        y: shape [N, B...]; batch shapes broadcast among themselves, aligned at the last axis.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [M, N, B...], of the promoted dtype; owned and compact.

    Raises:
        ShapeError: an operand has no axes, or the batch shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> import tensor_runtime as tr
    >>> outer(tr.tensor([1, 2]), tr.tensor([3, 4])).to_numpy().tolist()
    [[3, 4], [6, 8]]
    """
    return execute_binary(OUTER, x, y, out)


@same_dtype
def mT(a: Tensor, /) -> Tensor:  # noqa: N802 - the standard's name
    """Transposed matrices, as a view: [M, N, B...] gives [N, M, B...].

    Args:
        a: shape [M, N, B...], any dtype.

    Raises:
        ShapeError: fewer than two axes.

    >>> import tensor_runtime as tr
    >>> mT(tr.zeros((2, 3, 7))).shape
    (3, 2, 7)
    """
    return _turned("mT", a)


@same_dtype
def mH(a: Tensor, /) -> Tensor:  # noqa: N802 - beside mT
    """Conjugated and transposed matrices: [M, N, B...] gives [N, M, B...].

    Args:
        a: shape [M, N, B...], any dtype.

    Returns:
        A view where ``a`` is real; else a tensor of its own.

    Raises:
        ShapeError: fewer than two axes.

    >>> import tensor_runtime as tr
    >>> mH(tr.tensor([[1.0, 2j]])).to_numpy().tolist()
    [[(1-0j)], [-2j]]
    """
    return _conjugated(_turned("mH", a))


def _turned(operation: str, a: Tensor) -> Tensor:
    form, _ = unwrap(operation, a)
    matrix_axes(operation, form.shape)
    return transpose_view(a, (1, 0, *range(2, form.rank)))


def _conjugated(x: Tensor) -> Tensor:
    """``x`` itself where it is real, or no tensor, which whatever it is given to refuses."""
    return conj(x) if getattr(x, "dtype", None) in (C32, C64) else x
