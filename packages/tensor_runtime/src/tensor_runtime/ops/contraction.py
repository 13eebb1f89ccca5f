"""Contractions of two tensors: ``matmul``, ``tensordot`` and ``dot_general``.

All three name which axes are summed and reduce to one kernel, ``contract``; in another algebra than plus-times to
``semiring_contract``. What these are bound with stands in ``tensor_runtime.contracts.contraction``.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Final

from tensor_core.dtypes import ALL
from tensor_core.errors import ArgumentError, ShapeError, UnsupportedOperationError, shortened
from tensor_core.shapes import Shape, normalize_axes
from tensor_runtime.algebras import PLUS_TIMES, Semiring, check_algebra, undefined_for
from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.contracts.contraction import ContractParams, Labels, SemiringContractParams
from tensor_runtime.dispatch.call import execute_binary, execute_pair
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec, check_operands
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand
from tensor_runtime.static_types.combined import product_dtype
from tensor_runtime.tensors.tensor import Tensor

Signature = tuple[Labels, Labels, Labels]  # of the first operand, of the second, of the result
AxisPairs = tuple[tuple[int, ...], tuple[int, ...]]


state("conj_contract")  # pure


def bind_conjugated(a: Form, b: Form, result: Form, params: ContractParams) -> Kernel:
    """The kernel of the sums of products of conj(a) and b.

    >>> from tensor_core import C64
    >>> from tensor_runtime.placement import CPU
    >>> x, y = form_of(C64, (2,), CPU), form_of(C64, (), CPU)
    >>> callable(bind_conjugated(x, x, y, ContractParams((0,), (0,), ())))
    True
    """
    try:
        return registry.bind("conj_contract", (a, b), result, params)
    except UnsupportedOperationError:
        conj, copy = conjugated(a)
        contract = registry.bind("contract", (copy, b), result, params)
        return with_workspace(_after_conj(conj, contract), copy.nbytes + workspace_of(contract))


def _after_conj(conj: Kernel, contract: Kernel) -> Kernel:
    return lambda x, y: contract(conj(x), y)


def conjugated(form: Form) -> Binding:
    """The kernel "conj", and the form of its result.

    >>> from tensor_core import C64
    >>> from tensor_runtime.placement import CPU
    >>> conjugated(form_of(C64, (2, 3), CPU, (3, 1)))[1].strides
    (1, 2)
    """
    result = form_of(form.dtype, form.shape, form.placement)
    return registry.bind("conj", (form,), result, None), result


class ContractionSpec(OpSpec):
    """An operation whose result is a sum of products over labelled axes.

    ``signature`` gives the labels from the operation's name, both shapes, and the params if there is one; it checks
    the shapes. With ``conjugated``, the first operand is read so, and its dtype is complex.
    """

    __slots__ = ("_signature",)

    def __init__(self, name: str, signature: Any, *, takes_params: bool = False, conjugated: bool = False) -> None:
        super().__init__(
            name,
            accepts=ALL,
            result_shape=self._shape,
            binary=not takes_params,
            takes_params=takes_params,
            kernel="conj_contract" if conjugated else "contract",
        )
        self._signature = signature

    def _labels(self, a: Shape, b: Shape, *params: Any) -> Signature:
        labels: Signature = self._signature(self.name, a, b, *params)
        return labels

    def _shape(self, operation: str, a: Shape, b: Shape, *params: Any) -> Shape:
        labels_a, labels_b, labels_out = self._labels(a, b, *params)
        extents = dict(zip((*labels_a, *labels_b), (*a, *b), strict=True))
        return tuple(extents[label] for label in labels_out)

    def _build(self, key: Any) -> Binding:
        operands, params = (key[:2], key[2:]) if isinstance(key, tuple) else ((key,), ())
        check_operands(self.name, operands)
        forms = [operand for operand in operands if isinstance(operand, Form)]
        if len(forms) != 2:
            raise ArgumentError(f"{self.name}: an operand is a Python number; multiply() scales a tensor")
        result = self.infer(operands, *params)
        labels = self._labels(forms[0].shape, forms[1].shape, *params)
        of_kernel = self._params_of_kernel(labels, *params)
        if self.kernel == "conj_contract":
            assert isinstance(result, Form)
            return bind_conjugated(forms[0], forms[1], result, of_kernel), result
        return registry.bind(self.kernel, operands, result, of_kernel), result

    def _params_of_kernel(self, labels: Signature, *params: Any) -> Any:
        return ContractParams(*labels)


class AlgebraSpec(ContractionSpec):
    """A contraction in an algebra; its params is a pair, that of the contraction and the algebra.

    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> axes = ((1,), (0,)), ((), ())
    >>> DOT_GENERAL_IN_ALGEBRA.infer((ones((2, 3))._form, ones((3, 4))._form), (axes, MAX_PLUS))
    Form(F64, (2, 4), cpu)
    """

    __slots__ = ()

    def __init__(self, name: str, signature: Any) -> None:
        super().__init__(name, signature, takes_params=True)
        self.kernel = "semiring_contract"

    def _labels(self, a: Shape, b: Shape, *params: Any) -> Signature:
        ((contraction, _),) = params
        return super()._labels(a, b, contraction)

    def infer(self, operands: tuple[Operand, ...], params: Any = None, /) -> Form | tuple[Form, ...]:
        """Form of the result; see ``OpSpec``.

        Raises:
            DTypeError: also a dtype that the algebra is not defined for.
        """
        result = super().infer(operands, params)
        algebra: Semiring = params[1]
        if isinstance(result, Form) and result.dtype not in algebra.accepts:
            raise undefined_for(self.name, algebra, [form.dtype for form in operands if isinstance(form, Form)])
        return result

    def _params_of_kernel(self, labels: Signature, *params: Any) -> Any:
        return SemiringContractParams(*labels, params[0][1])


def _matmul_labels(operation: str, a: Shape, b: Shape, /) -> Signature:
    if not a or not b:
        raise ShapeError(
            f"{operation}: shapes {a} and {b}; accepted: rank 1 or more (multiply() scales by a number)", shapes=(a, b)
        )
    if a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ShapeError(
            f"{operation}: shapes {a} and {b}; accepted: (..., m, k) and (..., k, n), but k is {a[-1]} and {b[-2:][0]}",
            shapes=(a, b),
        )
    rows, inner, columns = (
        0,
        1,
        2,
    )  # labels; batch axis k from the right is 3 + 2k, and 4 + 2k where it has extent 1 against n
    batch_a, batch_b = a[:-2], b[:-2]
    labels_a = (rows, inner) if len(a) > 1 else (inner,)
    labels_b = (inner, columns) if len(b) > 1 else (inner,)
    out: Labels = tuple(label for label in (*labels_a[:-1], *labels_b[1:]))
    for k in range(max(len(batch_a), len(batch_b))):
        m, n = (batch[-1 - k] if k < len(batch) else None for batch in (batch_a, batch_b))
        if m is not None and n is not None and m != n and 1 not in (m, n):
            raise ShapeError(
                f"{operation}: shapes {a} and {b}; the batch axes {batch_a} and {batch_b} do not broadcast; "
                "accepted: extents that are equal or 1, aligned at the last batch axis",
                shapes=(a, b),
            )
        shared, alone = 3 + 2 * k, 4 + 2 * k  # an extent 1 against n gets a label of its own, which is summed away
        if m is not None:
            labels_a = (alone if m == 1 and n not in (1, None) else shared, *labels_a)
        if n is not None:
            labels_b = (alone if n == 1 and m not in (1, None) else shared, *labels_b)
        out = (shared, *out)
    return labels_a, labels_b, out


def _pair_labels(operation: str, a: Shape, b: Shape, contracting: AxisPairs, batch: AxisPairs) -> Signature:
    """Labels of [free axes of a, free axes of b, batch axes]; axes already normalised."""
    for role, (of_a, of_b) in (("contracted", contracting), ("batch", batch)):
        if len(of_a) != len(of_b):
            raise ArgumentError(f"{operation}: {len(of_a)} {role} axes of a and {len(of_b)} of b; name as many of each")
        for p, q in zip(of_a, of_b, strict=True):
            if a[p] != b[q]:
                raise ShapeError(
                    f"{operation}: {role} axis {p} of a has extent {a[p]} but axis {q} of b has {b[q]}; "
                    f"shapes {a} and {b}",
                    shapes=(a, b),
                )
    for name, of_contracted, of_batch in (("a", contracting[0], batch[0]), ("b", contracting[1], batch[1])):
        both = set(of_contracted) & set(of_batch)
        if both:
            raise ArgumentError(f"{operation}: axis {min(both)} of {name} is both contracted and batch; choose one")
    labels_a = list(range(len(a)))
    labels_b = list(range(len(a), len(a) + len(b)))
    for p, q in zip((*contracting[0], *batch[0]), (*contracting[1], *batch[1]), strict=True):
        labels_b[q] = labels_a[p]
    paired_a, paired_b = {*contracting[0], *batch[0]}, {*contracting[1], *batch[1]}
    free_a = [labels_a[axis] for axis in range(len(a)) if axis not in paired_a]
    free_b = [labels_b[axis] for axis in range(len(b)) if axis not in paired_b]
    return tuple(labels_a), tuple(labels_b), (*free_a, *free_b, *(labels_a[axis] for axis in batch[0]))


def general_labels(operation: str, a: Shape, b: Shape, params: tuple[AxisPairs, AxisPairs], /) -> Signature:
    """Labels of a ``dot_general``: contracted and batch axes of both operands.

    >>> general_labels("dot_general", (2, 3), (3, 4), (((1,), (0,)), ((), ())))
    ((0, 1), (1, 3), (0, 3))
    """
    pairs = [
        (normalize_axes(of_a, len(a), operation), normalize_axes(of_b, len(b), operation)) for of_a, of_b in params
    ]
    return _pair_labels(operation, a, b, *pairs)


def _tensordot_labels(operation: str, a: Shape, b: Shape, axes: int | AxisPairs, /) -> Signature:
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(a), len(b)):
            raise ArgumentError(f"{operation}: {axes} axes of shapes {a} and {b}; accepted: 0 to {min(len(a), len(b))}")
        axes = (tuple(range(len(a) - axes, len(a))), tuple(range(axes)))
    return general_labels(operation, a, b, (axes, ((), ())))


MATMUL: Final = ContractionSpec("matmul", _matmul_labels)
TENSORDOT: Final = ContractionSpec("tensordot", _tensordot_labels, takes_params=True)
DOT_GENERAL: Final = ContractionSpec("dot_general", general_labels, takes_params=True)
DOT_GENERAL_IN_ALGEBRA: Final = AlgebraSpec("dot_general", general_labels)


@product_dtype
def matmul(a: Tensor, b: Tensor, /, out: Out = None) -> Tensor:
    """Matrix product, with NumPy's leading batch axes.

    ``tensor_linalg`` and :func:`dot_general` keep batch axes last.

    Args:
        a: shape [B..., M, K], or [K].
        b: shape [B..., K, N], or [K]. Batch axes broadcast.

    Returns:
        Shape [B..., M, N], without the axis of an operand of rank 1. Integers wrap; of Bool, the or of ands.

    Raises:
        ShapeError: the inner extents differ, the batch axes do not broadcast, or an operand has rank 0.

    >>> matmul(tensor([[1, 2], [3, 4]]), tensor([1, 1])).to_numpy().tolist()
    [3, 7]
    """
    return execute_binary(MATMUL, a, b, out)


@product_dtype
def tensordot(
    a: Tensor,
    b: Tensor,
    /,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    out: Out = None,
) -> Tensor:
    """Sum of products over pairs of axes, as in NumPy.

    Args:
        a: any shape.
        b: any shape.
        axes: a number n contracts the last n axes of ``a`` with the first n of ``b``, in order; a pair contracts the
            axes that it names of each.

    Returns:
        Shape [free axes of a, free axes of b].

    Raises:
        ShapeError: contracted axes of different extents.

    >>> tensordot(ones((2, 3)), ones((3, 4)), axes=1).shape
    (2, 4)
    """
    if isinstance(axes, int):
        return execute_pair(TENSORDOT, a, b, axes, out)
    of_a, of_b = axis_pairs("tensordot", axes)
    return execute_pair(TENSORDOT, a, b, (of_a, of_b), out)


@product_dtype
def dot_general(
    a: Tensor,
    b: Tensor,
    /,
    *,
    contracting: Sequence[Sequence[int] | int] = ((), ()),
    batch: Sequence[Sequence[int] | int] = ((), ()),
    out: Out = None,
    algebra: Semiring = PLUS_TIMES,
) -> Tensor:
    """Sum of products over pairs of axes, with batch axes trailing.

    ``matmul`` has leading batch axes, ``tensordot`` none.

    Args:
        a: any shape.
        b: any shape.
        contracting: (axes of a, axes of b), paired in order and summed.
        batch: (axes of a, axes of b), paired in order and kept.
        out: a mutable view that receives the result.
        algebra: what sums and products are, from ``tensor_runtime.algebras``. In ``MAX_PLUS``, each element is the
            largest of the sums a + b, and -inf where no axis element is contracted.

    Returns:
        Shape [free axes of a, free axes of b, batch axes].

    Raises:
        ShapeError: paired axes of different extents.
        ArgumentError: an axis in two roles, or unpaired; or ``algebra`` is none.
        AxisError: an axis out of range or named twice.
        DTypeError: a dtype that the algebra is not defined for.
        UnsupportedOperationError: the backend of the operands computes in plus-times only.

    >>> dot_general(ones((2, 3, 7)), ones((3, 5, 7)), contracting=([1], [0]), batch=([2], [2])).shape
    (2, 5, 7)
    >>> from tensor_runtime.algebras import MIN_PLUS
    >>> miles = tensor([[0.0, 3.0, 9.0], [3.0, 0.0, 4.0], [9.0, 4.0, 0.0]])
    >>> dot_general(miles, miles, contracting=(1, 0), algebra=MIN_PLUS).to_numpy().tolist()  # in at most two steps
    [[0.0, 3.0, 7.0], [3.0, 0.0, 4.0], [7.0, 4.0, 0.0]]
    """
    axes = (axis_pairs("dot_general", contracting), axis_pairs("dot_general", batch))
    if algebra is PLUS_TIMES:
        return execute_pair(DOT_GENERAL, a, b, axes, out)
    check_algebra("dot_general", algebra)
    return execute_pair(DOT_GENERAL_IN_ALGEBRA, a, b, (axes, algebra), out)


def axis_pairs(operation: str, axes: Sequence[Any], /) -> AxisPairs:
    """What a user wrote as a pair (axes of a, axes of b), as part of a key.

    >>> axis_pairs("dot_general", (1, [0]))
    ((1,), (0,))
    """
    try:
        of_a, of_b = axes
        return _axes_of(of_a), _axes_of(of_b)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{operation}: axes are {shortened(axes)}; accepted: a pair (axes of a, axes of b)"
        ) from None


def _axes_of(side: Any) -> tuple[int, ...]:
    return tuple(map(index, side)) if isinstance(side, (tuple, list)) else (index(side),)
