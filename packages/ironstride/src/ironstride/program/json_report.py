"""What the program prints with `--json`: one object for each network, on one line.

Numbers are plain; counts that no float holds exactly stay ints. Sizes count elements unless their name says bytes.
"""

from __future__ import annotations

import math
from typing import Any

import tensor_einsum
import tensor_runtime as tr
from ironstride.program.network_file import Network
from ironstride.program.planning import Planned
from ironstride.program.report import norm


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
        **{name: _finite(value) for name, value in record._asdict().items()},
        "tried": [one._asdict() for one in record.tried],
        "history": [one._asdict() for one in record.history],
    }


def _finite(value: object) -> object:
    """JSON has no infinity, which is the logarithm of 0."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def result_document(result: tr.Tensor) -> dict[str, Any]:
    """Dtype and shape, and the value of a scalar or the norm of what is none.

    >>> result_document(tr.tensor([3.0, 4.0]))
    {'dtype': 'F64', 'shape': [2], 'norm': 5.0}
    """
    document: dict[str, Any] = {"dtype": result.dtype.name, "shape": list(result.shape)}
    if result.rank:
        largest, ratio = norm(result)
        document["norm"] = _finite(largest * ratio)
        return document
    value = result.item()
    document["value"] = [_finite(value.real), _finite(value.imag)] if isinstance(value, complex) else _finite(value)
    return document
