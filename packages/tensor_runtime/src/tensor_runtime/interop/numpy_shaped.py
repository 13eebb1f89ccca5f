"""NumPy's functions under NumPy's names, with NumPy's parameters and row-major reshapes, over tensors.

For libraries that look functions up by these names. Most are those of ``tensor_runtime`` or of its array API as they
are; what is written here differs from both. Arrays of NumPy's that meet a tensor in a product are taken as tensors:
SciPy's iterative solvers hand over their vectors so. They are on the host, and nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import tensor_runtime as tr
from tensor_core.dtypes import DTYPES
from tensor_core.foreign import number_of
from tensor_runtime import array_api
from tensor_runtime.interop.random_numbers import Generator, normal, uniform
from tensor_runtime.ops.names_elsewhere import OURS
from tensor_runtime.tensors.tensor import Tensor


def _operand(x: Any) -> Any:
    foreign = not isinstance(x, Tensor) and hasattr(x, "__array_interface__") and number_of(x) is None
    return tr.asarray(x) if foreign else x


def _meeting(function: Callable[..., Any]) -> Callable[..., Any]:
    def meeting(*operands: Any, **options: Any) -> Any:
        return function(*map(_operand, operands), **options)

    return meeting


def _joining(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def joining(arrays: Iterable[Any], axis: int | None = 0) -> Tensor:
        return function([_operand(one) for one in arrays], axis)

    return joining


def reshape(x: Tensor, shape: int | Sequence[int]) -> Tensor:
    """Another shape, with the elements in row-major order.

    >>> reshape(tr.tensor([[1, 2, 3], [4, 5, 6]]), (3, 2)).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    return x.reshape(shape, order="C")


def ravel(x: Tensor) -> Tensor:
    """The elements in a row, in row-major order."""
    return x.reshape(-1, order="C")


def diag(x: Tensor, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix of a diagonal.

    >>> diag(tr.tensor([1, 2])).tolist(), diag(tr.tensor([[1, 2], [3, 4]])).tolist()
    ([[1, 0], [0, 2]], [1, 4])
    """
    return tr.embed_diagonal(x, k) if x.ndim == 1 else tr.extract_diagonal(x, k)


def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements whose indices on two axes differ by ``offset``, along a last axis."""
    return tr.extract_diagonal(x, offset, (axis1, axis2))


def indices(dimensions: Sequence[int]) -> Tensor:
    """The index of each element on each axis, along a first axis.

    >>> indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    return tr.stack(tr.meshgrid(*map(tr.arange, dimensions), indexing="ij"))


def take(x: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    """The parts at indices along an axis; without one, elements in row-major order.

    >>> take(tr.tensor([[1, 2], [3, 4]]), [1, 2]).tolist()
    [2, 3]
    """
    places = indices if isinstance(indices, Tensor) else tr.asarray(indices)
    return tr.take(ravel(x), places, 0) if axis is None else tr.take(x, places, axis)


def repeat(x: Tensor, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
    """Every element so often in a row; without an axis, in row-major order."""
    return tr.repeat(ravel(x), repeats, 0) if axis is None else tr.repeat(x, repeats, axis)


def cumulated(function: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """A running sum or product along an axis; without one, in row-major order.

    >>> cumulated(tr.cumsum)(tr.tensor([[1, 2], [3, 4]])).tolist()
    [1, 3, 6, 10]
    """

    def along(x: Tensor, axis: int | None = None) -> Tensor:
        return function(ravel(x), 0) if axis is None else function(x, axis)

    return along


def outer(a: Any, b: Any) -> Tensor:
    """Products of every element of the one with every element of the other, as a matrix."""
    return tr.outer(ravel(_operand(a)), ravel(_operand(b)))


def vdot(a: Any, b: Any) -> Tensor:
    """The sum of the products of all elements, those of the first conjugated.

    >>> vdot(tr.tensor([1j, 2.0]), tr.tensor([1j, 1.0])).item()
    (3+0j)
    """
    return tr.vecdot(ravel(_operand(a)), ravel(_operand(b)))


def clip(x: Tensor, a_min: Any = None, a_max: Any = None) -> Tensor:
    """Elements no less than one bound and no more than the other."""
    return tr.clip(x, a_min, a_max)


def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """View with the axes in another order, reversed without one."""
    return tr.transpose(x, axes)


def get_dtype_name(x: Tensor) -> str:
    """NumPy's name of the element type.

    >>> get_dtype_name(tr.ones(2))
    'float64'
    """
    return x.dtype.numpy_name


def array(data: object, dtype: Any = None) -> Tensor:
    """A tensor of its own, of numbers, lists, arrays or tensors."""
    return array_api.asarray(data, dtype=dtype, copy=True)


NUMPY_SHAPED: Final[Mapping[str, Any]] = {
    **{theirs: getattr(tr, ours) for theirs, ours in OURS.items() if theirs != "copyto"},
    **{dtype.numpy_name: dtype for dtype in DTYPES},
    "arange": array_api.arange,
    "array": array,
    "asarray": array_api.asarray,
    "astype": array_api.astype,
    "clip": clip,
    "concatenate": _joining(tr.concatenate),
    "cumprod": cumulated(tr.cumprod),
    "cumsum": cumulated(tr.cumsum),
    "diag": diag,
    "diagonal": diagonal,
    "dot": _meeting(tr.dot),
    "einsum": _meeting(tr.einsum),
    "empty": array_api.empty,
    "empty_like": array_api.empty_like,
    "eye": array_api.eye,
    "finfo": array_api.finfo,
    "full": array_api.full,
    "full_like": array_api.full_like,
    "get_dtype_name": get_dtype_name,
    "identity": array_api.eye,
    "iinfo": array_api.iinfo,
    "indices": indices,
    "kron": _meeting(tr.kron),
    "linspace": array_api.linspace,
    "matmul": _meeting(tr.matmul),
    "matrix_transpose": array_api.matrix_transpose,
    "ones": array_api.ones,
    "ones_like": array_api.ones_like,
    "outer": outer,
    "random.default_rng": Generator,
    "random.normal": normal,
    "random.uniform": uniform,
    "ravel": ravel,
    "repeat": repeat,
    "reshape": reshape,
    "stack": _joining(tr.stack),
    "take": take,
    "tensordot": _meeting(tr.tensordot),
    "to_numpy": tr.to_numpy,
    "transpose": transpose,
    "vdot": vdot,
    "zeros": array_api.zeros,
    "zeros_like": array_api.zeros_like,
}
"""Functions and element types by NumPy's names, where ``tensor_runtime`` has no namesake that will do."""
