"""What the program prints with `--json`: one object for each network, on one line.

Numbers are plain; counts that no float holds exactly stay ints. Sizes count elements unless their name says bytes.
What is not finite becomes text where the object is written, as a norm is that is finite and that no float holds.
"""

from __future__ import annotations

import math
from typing import Any

import tensor_einsum
import tensor_runtime as tr
from ironstride.program.network_file import Network
from ironstride.program.planning import Planned
from ironstride.program.report import Comparison, norm, norm_text


def plan_document(network: Network, planned: Planned, every_step: bool = False) -> dict[str, Any]:
    """Network and plan, and how the plan was searched.

    Args:
        network: what is contracted.
        planned: its plan.
        every_step: list the steps, too.

    >>> from ironstride.program.planning import PlanOptions, make_plan
    >>> from ironstride.program.sources import networks_of
    >>> network = networks_of(["ij,jk->ik", "2x3", "3x4"])[0]
    >>> plan_document(network, make_plan(network, PlanOptions()))["plan"]["flops"]
    48
    """
    plan = planned.plan
    return {
        "name": network.name,
        "operands": len(network.shapes),
        "operand_bytes": network.operand_bytes,
        "dtype": network.dtype.name,
        "plan": {
            **({"every_step": _steps(plan)} if every_step else {}),
            "origin": planned.origin,
            "steps": len(plan.steps),
            "flops": plan.flops,
            "largest_intermediate": plan.largest_intermediate,
            "peak_bytes": plan.peak_bytes,
            "path": plan.path,
            "slices": {
                "count": plan.slices.count,
                "labels": dict(zip(plan.slices.labels, plan.slices.extents, strict=True)),
            },
        },
        "search": None if plan.search is None else _search_document(plan.search),
        "seconds": {"plan": planned.seconds},
    }


def _steps(plan: tensor_einsum.Plan) -> list[dict[str, Any]]:
    """Operands are numbered from 0, and each result takes the next number."""
    return [
        {
            "result": number,
            "operands": step.operands,
            "kind": step.kind,
            "subscripts": step.subscripts,
            "shape": step.shape,
            "flops": step.flops,
            "bytes": step.bytes,
        }
        for number, step in enumerate(plan.steps, len(plan.shapes))
    ]


def _search_document(record: tensor_einsum.SearchRecord) -> dict[str, Any]:
    return {
        **record._asdict(),
        "tried": [one._asdict() for one in record.tried],
        "history": [one._asdict() for one in record.history],
    }


def norm_value(largest: float, ratio: float, /) -> float | str:
    """The product of the two; as text where it is finite and beyond what a float holds.

    >>> norm_value(3.0, 2.0), norm_value(1.5e308, 1e4), norm_value(float("inf"), 1.0)
    (6.0, '1.50000000000e+312', inf)
    """
    product = largest * ratio
    return product if math.isfinite(product) or not math.isfinite(largest) else norm_text(largest, ratio)


def result_document(result: tr.Tensor) -> dict[str, Any]:
    """Dtype and shape, and the value of a scalar or the norm of what is none.

    >>> result_document(tr.tensor([3.0, 4.0]))
    {'dtype': 'F64', 'shape': [2], 'norm': 5.0}
    """
    document: dict[str, Any] = {"dtype": result.dtype.name, "shape": list(result.shape)}
    if result.rank:
        document["norm"] = norm_value(*norm(result))
        return document
    value = result.item()
    document["value"] = [value.real, value.imag] if isinstance(value, complex) else value
    return document


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The reference of the file, what the result makes of its quantity, None where it makes nothing, and the verdict.

    >>> from ironstride.program.network_file import Reference
    >>> from ironstride.program.report import compared
    >>> reference = Reference("ln Z", 2.0, 0.0, 1.0, 1e-10, "by hand")
    >>> comparison_document(compared(reference, tr.tensor(-1.0)))  # doctest: +NORMALIZE_WHITESPACE
    {'quantity': 'ln Z', 'value': 2.0, 'tolerance': 1e-10, 'source': 'by hand', 'found': None, 'difference': None,
     'agrees': False}
    """
    reference, found, difference, agrees = comparison
    return {
        "quantity": reference.quantity,
        "value": reference.value,
        "tolerance": reference.tolerance,
        "source": reference.source,
        "found": None if math.isnan(found) else found,
        "difference": None if math.isnan(difference) else difference,
        "agrees": agrees,
    }
