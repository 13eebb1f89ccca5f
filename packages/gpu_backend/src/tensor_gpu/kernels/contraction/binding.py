"""The kernels of contractions, by what ``choice`` decides: the library, a provider, or a program of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.contraction.choice import OuterProduct, ProviderProduct, contraction_of, plan_contraction
from tensor_gpu.kernels.contraction.direct import bind_outer, bind_sum
from tensor_gpu.kernels.contraction.products import bind_by_provider, bind_product
from tensor_gpu.kernels.contraction.unary import bind_unary_sum
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import Binder, compact
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.protocols import Kernel


def bind_contract(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Sums of products of two operands.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.contracts.contraction import ContractParams
    >>> bench = Bench()
    >>> x, y = bench.put([[1.0, 2.0], [3.0, 4.0]]), bench.put([[0.0, 1.0], [1.0, 0.0]])
    >>> bench.run("contract", x, y, params=ContractParams((0, 1), (1, 2), (0, 2)))
    [[2.0, 1.0], [4.0, 3.0]]
    """
    kernel = _bind(executor, operands, result, params, conjugated=False)
    assert kernel is not None
    return kernel


def _bind(
    executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, *, conjugated: bool
) -> Kernel | None:
    """The kernel that is chosen; None where the first operand's conjugates have to be written for it."""
    a, b, kept = params
    outer = False
    if 0 not in (result.size, *(form.size for form in operands)):
        found = contraction_of(operands, (a, b), result, kept)
        plan = plan_contraction(executor, found, result, conjugated=conjugated)
        if isinstance(plan, ProviderProduct):
            return bind_by_provider(executor, plan, found, operands, (a, b), result)
        if isinstance(plan, MatrixProduct):
            return bind_product(executor, plan, found, operands, (a, b), result, conjugated=conjugated)
        outer = isinstance(plan, OuterProduct)
    if conjugated:
        return None
    return (bind_outer if outer else bind_sum)(executor, operands, (a, b), result, kept)


def bind_conj_contract(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """The same of the first operand's conjugates: the library reads them so, or they are written first.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.contracts.contraction import ContractParams
    >>> bench = Bench()
    >>> x = bench.put([1j, 2.0])
    >>> bench.run("conj_contract", x, x, result=bench.form((), x.form.dtype), params=ContractParams((0,), (0,), ()))
    (5+0j)
    """
    product = _bind(executor, operands, result, params, conjugated=True)
    if product is not None:
        return product
    first, second = operands
    copied = compact(first)
    conj = bind_step(executor, "conj", (first,), copied, None)
    kernel = bind_contract(executor, (copied, second), result, params)
    return lambda x, y: kernel(conj(x), y)


def bind_unary_einsum(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Diagonals, sums and a permutation of one operand.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_einsum.contracts import UnaryEinsumParams
    >>> bench = Bench()
    >>> x, matrix = bench.put([1.0, 2.0]), bench.form((2, 2))
    >>> bench.run("unary_einsum", x, result=matrix, params=UnaryEinsumParams((0,), (0, 0)))
    [[1.0, 0.0], [0.0, 2.0]]
    """
    labels, kept = params
    return bind_unary_sum(executor, operands[0], labels, result, kept)


def bind_semiring_contract(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Sums of products of two operands in another algebra.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0])
    >>> bench.run("semiring_contract", x, x, result=bench.form(()), params=((0,), (0,), (), MAX_PLUS))
    4.0
    """
    a, b, kept, algebra = params
    return bind_sum(executor, operands, (a, b), result, kept, algebra)


def bind_semiring_unary_einsum(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Diagonals, sums and a permutation of one operand in another algebra.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.algebras import MIN_PLUS
    >>> bench = Bench()
    >>> bench.run("semiring_unary_einsum", bench.put([1.0, 2.0]), result=bench.form(()), params=((0,), (), MIN_PLUS))
    1.0
    """
    labels, kept, algebra = params
    return bind_sum(executor, operands, (labels,), result, kept, algebra)


BINDERS: Final[Mapping[str, Binder]] = {
    "contract": bind_contract,
    "conj_contract": bind_conj_contract,
    "semiring_contract": bind_semiring_contract,
    "semiring_unary_einsum": bind_semiring_unary_einsum,
    "unary_einsum": bind_unary_einsum,
}
