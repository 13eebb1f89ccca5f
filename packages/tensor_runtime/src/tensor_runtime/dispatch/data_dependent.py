"""Operations whose result's extent depends on the values of the operand.

Such a kernel returns its arrays and the extent that it found, as ``protocols.Counted``; the forms are made from that
after it has run. On a device this is a status word that the host waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

from tensor_core.dtypes import ALL, DType
from tensor_core.shapes import Shape, element_count
from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.kernel_facts import KernelFacts
from tensor_runtime.backends.meta import no_elements
from tensor_runtime.backends.registry import registry
from tensor_runtime.contracts.contract import bound_params
from tensor_runtime.dispatch.spec import OpSpec, check_operands
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Counted, Operand
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap

Results = tuple[tuple[DType, Shape], ...]
ResultRule = Callable[[str, Form, Any, int], Results]
_MOST_KEPT: Final = 64  # results' forms of one operation; making one takes longer than finding what is not 0 in a line


class DependentSpec(OpSpec):
    """An operation on one tensor with results of which one extent, the count, depends on its values.

    Args:
        name: what the user calls, and what backends bind.
        accepts: dtypes accepted.
        results: from the operation's name, the operand's form, the params and the count to each result's dtype and
            shape.

    The count is at most the operand's number of elements. Backends are bound with the forms of the largest results.

    >>> from tensor_runtime.ops.gather_scatter import NONZERO
    >>> form = zeros((2, 3))._form
    >>> NONZERO.infer((form,), None)
    (Form(I64, (6,), cpu), Form(I64, (6,), cpu))
    >>> NONZERO.forms(form, None, 4)[0]
    Form(I64, (4,), cpu)
    """

    __slots__ = ("_kept", "_results")

    def __init__(self, name: str, *, accepts: frozenset[DType] = ALL, results: ResultRule) -> None:
        super().__init__(
            name,
            accepts=accepts,
            result_shape=self._largest,
            takes_params=True,
            facts=KernelFacts(effect="answers"),
        )
        self._results = results
        self._kept: dict[tuple[Form, Any, int], tuple[Form, ...]] = {}

    def infer(self, operands: tuple[Operand, ...], params: Any = None, /) -> tuple[Form, ...]:
        """Forms of the largest results that the operand's form allows: every check on metadata, no data."""
        self.common_dtype(operands)
        form = operands[0]
        assert isinstance(form, Form)
        return self.forms(form, params, element_count(form.shape))

    def forms(self, form: Form, params: Any, count: int, /) -> tuple[Form, ...]:
        """Forms of the results once the count is known."""
        known = self._kept.get((form, params, count))
        if known is not None:
            return known
        made = tuple(
            form_of(dtype, shape, form.placement) for dtype, shape in self._results(self.name, form, params, count)
        )
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[form, params, count] = made
        return made

    def _largest(self, operation: str, shape: Shape, params: Any, /) -> tuple[Shape, ...]:
        raise NotImplementedError  # infer() does not ask

    def _build(self, key: Any) -> Binding:
        check_operands(self.name, key[:-1])
        form, params = key
        largest = self.infer((form,), params)
        return registry.bind(self.kernel, (form,), largest, bound_params(self.kernel, params)), largest


def execute_dependent(spec: DependentSpec, a: Tensor, params: Hashable, /) -> tuple[Tensor, ...]:
    """One operand and params; one extent of the results is found by the kernel.

    >>> from tensor_runtime.ops.gather_scatter import NONZERO
    >>> execute_dependent(NONZERO, tensor([0, 7, 8]), None)[0].to_numpy().tolist()
    [1, 2]
    """
    form, array = unwrap(spec.name, a)
    binding = spec.found.get((form, params))
    kernel, largest = spec.bindings[form, params] if binding is None else binding
    counted = call_translated(spec.name, largest, kernel, array)
    if not isinstance(counted, Counted):
        raise no_elements(spec.name, form)
    return tuple(map(wrap, spec.forms(form, params, counted.count), counted.arrays))
