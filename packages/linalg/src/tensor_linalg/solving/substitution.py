"""Substitution for matrices and right-hand sides whose batch shapes broadcast, with a look at what is read."""

from __future__ import annotations

from tensor_linalg.operands import promoted, require_finite, require_regular, with_batch
from tensor_linalg.solving.sharing import sharing_of
from tensor_linalg.specs.overwriting import TRIANGULAR_SOLVE_OVERWRITING
from tensor_linalg.specs.solving import TRIANGULAR_SOLVE_CHECKED, solve_shape
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.errors import LinalgError
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.diagonals import extract_diagonal, tril, triu
from tensor_runtime.ops.reduction import any
from tensor_runtime.ops.views import expand_dims, squeeze
from tensor_runtime.primitives.linalg import triangular_solve as substitute
from tensor_runtime.tensors.tensor import Tensor, owned, unwrap


def substituted(
    operation: str,
    a: Tensor,
    b: Tensor,
    lower: bool,
    transpose: bool,
    conjugate: bool,
    unit_diagonal: bool,
    check: bool,
    gives_up: bool = False,
) -> Tensor:
    """The x with op(A) x = b for the shapes and batches that ``solve`` accepts, and with its errors.

    Where b is given up, its memory may be that of x. What is checked is refused as by ``triangular_solve``.

    >>> import tensor_runtime as tr
    >>> a, b = tr.tensor([[2.0]]), tr.tensor([4.0])
    >>> substituted("cho_solve", a, b, True, False, False, False, True).to_numpy().tolist()
    [2.0]
    """
    params = lower, transpose, conjugate, unit_diagonal
    shared = sharing_of(unwrap(operation, a)[0], unwrap(operation, b)[0], in_place=gives_up)
    if check and not gives_up:
        if shared is None:
            return execute_pair(TRIANGULAR_SOLVE_CHECKED, a, b, params)
        try:
            x = execute_pair(TRIANGULAR_SOLVE_CHECKED, shared.once(a, 2), shared.as_columns(b), params)
        except LinalgError:
            check_triangle(operation, a, b, lower, unit_diagonal)  # which names the place in what was given
            raise
        return shared.from_columns(x)
    a, b = promoted(operation, a, b)
    shape = solve_shape(operation, a.shape, b.shape, check)
    if check:
        check_triangle(operation, a, b, lower, unit_diagonal)
    batch, vector = shape[2:], b.rank == 1
    own = gives_up and b.shape[2:] == batch
    if shared is not None:
        a, b = shared.once(a, 2), shared.as_columns(b)
    else:
        a, b = with_batch(a, 2, batch), with_batch(expand_dims(b, 1) if vector else b, 2, batch)
    options = {"lower": lower, "transpose": transpose, "conjugate": conjugate, "unit_diagonal": unit_diagonal}
    x = (replaced if own else substitute)(a, b, **options)
    if shared is not None:
        return shared.from_columns(x)
    return owned(squeeze(x, 1)) if vector else x


def check_triangle(operation: str, a: Tensor, b: Tensor, lower: bool, unit_diagonal: bool) -> None:
    """Raise where an element that is read is not finite, or the diagonal that is read has a zero.

    Raises:
        NonFiniteError, SingularMatrixError: as :func:`triangular_solve`.

    >>> import tensor_runtime as tr
    >>> check_triangle("cho_solve", tr.eye(2), tr.ones(2), True, False)
    """
    require_finite(operation, "a", what_is_read(a, lower, unit_diagonal))
    require_finite(operation, "b", b, min(2, b.rank))
    if not unit_diagonal:
        zero = any(equal(extract_diagonal(a), 0.0), -1)
        require_regular(operation, zero, "has a zero on its diagonal", "pinv() and lstsq() solve without")


def what_is_read(a: Tensor, lower: bool, unit_diagonal: bool) -> Tensor:
    """What substitution reads of matrices; zeros elsewhere.

    >>> import tensor_runtime as tr
    >>> what_is_read(tr.ones((2, 2)), True, True).to_numpy().tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    beside = 1 if unit_diagonal else 0
    return tril(a, -beside, axes=(0, 1)) if lower else triu(a, beside, axes=(0, 1))


def replaced(a: Tensor, b: Tensor, /, *, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool) -> Tensor:
    """What the primitive ``triangular_solve`` gives, whose memory may be that of ``b``, which is given up.

    >>> import tensor_runtime as tr
    >>> options = {"lower": True, "transpose": False, "conjugate": False, "unit_diagonal": False}
    >>> replaced(tr.tensor([[2.0]]), tr.tensor([[4.0]]), **options).to_numpy().tolist()
    [[2.0]]
    """
    return execute_pair(TRIANGULAR_SOLVE_OVERWRITING, a, b, (lower, transpose, conjugate, unit_diagonal))
