"""How devices compute an operation on given forms: what ``tensor_runtime.explain`` asks."""

from __future__ import annotations

from typing import Any, Final

from tensor_gpu import kernel_table
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.contraction.choice import (
    Contraction,
    DirectSum,
    OuterProduct,
    Plan,
    ProviderProduct,
    contraction_of,
    described,
    plan_contraction,
)
from tensor_gpu.kernels.linalg.drivers import chosen_driver
from tensor_gpu.tables.drivers import PROGRAMS
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.shared.axes import join
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.form import Form
from tensor_runtime.protocols import KernelChoice, Operand, Result

_CONTRACTIONS: Final = ("contract", "conj_contract")
_ANY: Final = 0  # threads: as many as the device has


def explain(
    executor: Executor, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /
) -> KernelChoice:
    """The kernel that is bound to these forms.

    Raises:
        UnsupportedOperationError: there is none.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form = bench.form((256, 256))
    >>> explain(bench.executor, "contract", (form, form), form, ((0, 1), (1, 2), (0, 2))).kernel
    'matrix product by the library'
    >>> explain(bench.executor, "add", (form, form), form, None).kernel
    'program'
    >>> [explain(bench.executor, "inv", (x,), x, (True,)).kernel for x in (form, bench.form((8, 8, 1000)))]
    ['routine of the library', 'program']
    """
    kernel_table.bind(executor, name, operands, result, params)
    if name in _CONTRACTIONS and isinstance(result, Form) and result.size:
        forms = [one for one in operands if isinstance(one, Form)]
        if all(form.size for form in forms):
            return _contraction(executor, name, forms, result, params)
    if facts_of(name).view:
        return KernelChoice("a view", _ANY)
    driver = chosen_driver(executor, name, operands, result, params)
    by_library = name in kernel_table.solving() and driver not in PROGRAMS
    notes = () if driver is None else (f"the driver is {driver!r}; the table of drivers is {executor.drivers.digest}",)
    return KernelChoice("routine of the library" if by_library else "program", _ANY, notes=notes)


def _contraction(executor: Executor, name: str, forms: list[Form], result: Form, params: Any) -> KernelChoice:
    a, b, kept = params
    found, conjugated = contraction_of(forms, (a, b), result, kept), name == "conj_contract"
    plan = plan_contraction(executor, found, result, conjugated=conjugated)
    notes = [
        f"operand {place} is summed over axes that nothing else has, first"
        for place, sums in enumerate(found.sums)
        if sums and not isinstance(plan, DirectSum)
    ]
    workspace = 0
    if isinstance(plan, MatrixProduct):
        workspace = plan.workspace_bytes(*found.summed, found.result)
        notes += _copies(plan)
    notes += [f"estimated at {plan.cost / 1000:.3g} µs", *_provider(executor, plan, found, conjugated)]
    return KernelChoice(_in_words(plan), _ANY, workspace, tuple(notes), plan.cost * 1e-9)


def _in_words(plan: Plan) -> str:
    if isinstance(plan, ProviderProduct):
        return f"contraction by {plan.provider.name}"
    if isinstance(plan, MatrixProduct):
        return "matrix product by the library"
    return "program of products" if isinstance(plan, OuterProduct) else "program that sums products"


def _copies(plan: MatrixProduct) -> list[str]:
    notes = [
        f"operand {place} is copied first: the library does not read its axes, or its type, as they lie"
        for place, copied in enumerate((plan.copies_first, plan.copies_second))
        if copied
    ]
    if plan.permutes_result:
        notes.append("the product is computed in another order of axes and then permuted")
    return notes


def _provider(executor: Executor, plan: Plan, found: Contraction, conjugated: bool) -> list[str]:
    """Why no provider contracts what it might."""
    if isinstance(plan, ProviderProduct | OuterProduct):
        return []
    x, y = found.summed
    call = described(join(x, y, found.result), found.result, conjugated=conjugated)
    return [f"providers of contractions: {executor.providers.told(executor.ordinal, call)}"]
