"""What `contract` prints: the network, the plan, the result, the time, and the comparison with a reference.

Every function returns text; nothing here prints. Flops count a multiplication and an addition as one each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import tensor_einsum
import tensor_runtime as tr
from ironstride.program.network_file import Drawn, Network, Reference, printable
from ironstride.program.operands import values_drawn
from ironstride.program.units import count_text, scientific, table
from tensor_core.dtypes import F64, FLOATING, DType
from tensor_core.formatting import readable_bytes

CHUNK = 2**20  # elements per piece of a norm, so that it takes no second copy of the result


def network_text(network: Network) -> str:
    """Name, operands and where they come from.

    >>> from pathlib import Path
    >>> drawn = (Drawn(3, "signed"),)
    >>> print(network_text(Network("trace", Path("trace.json"), "ii->", ((2, 2),), F64, {}, drawn, False, None)))
    trace: 1 operand, F64 (float64), 32 B
    operands: uniform on (-1, 1), seed 3
    """
    if network.drawn_by_default:
        source = f"no operands are given: {values_drawn(Drawn(0, 'uniform'), network.dtype)}, seed 0"
    else:
        kinds = sorted({_source(operand, network.dtype) for operand in network.operands})
        source = "operands: " + ", ".join(kinds or ["none"])
    operands = "1 operand" if len(network.shapes) == 1 else f"{len(network.shapes)} operands"
    size = f"{operands}, {network.dtype.name} ({network.dtype.numpy_name})"
    return f"{printable(network.name)[1:-1]}: {size}, {readable_bytes(network.operand_bytes)}\n{source}"


def _source(operand: object, dtype: DType) -> str:
    if isinstance(operand, Drawn):
        return f"{values_drawn(operand, dtype)}, seed {operand.seed}"
    return {"Values": "values in the file", "Stored": "files beside it"}[type(operand).__name__]


def plan_text(plan: tensor_einsum.Plan, origin: str) -> str:
    """The plan as a table of four rows, five where it is sliced; `origin` says where its order comes from.

    >>> print(plan_text(tensor_einsum.plan("ij,jk->ik", (2, 3), (3, 4)), "our planner"))
    plan (our planner)
      steps                 1
      flops                 48
      largest intermediate  8 elements, 64 B
      peak memory           64 B beside the operands
    """
    largest = plan.largest_intermediate
    rows = [
        ("steps", f"{len(plan.steps):,}"),
        ("flops", count_text(plan.flops, digits=6)),
        (
            "largest intermediate",
            f"{count_text(largest)} elements, {readable_bytes(largest * plan.output_dtype.itemsize)}",
        ),
        ("peak memory", f"{readable_bytes(plan.peak_bytes)} beside the operands"),
    ]
    if plan.sliced:
        cut = zip(plan.slices.labels, plan.slices.extents, strict=True)
        named = [printable(label)[1:-1] + ("" if extent == 1 else f" by {extent}") for label, extent in cut]
        rows.insert(1, ("slices", f"{plan.slices.count:,}, of {', '.join(named)}"))
    return f"plan ({origin})\n{table(rows, '<<')}"


def result_text(result: tr.Tensor) -> str:
    """A scalar's value, or shape and Frobenius norm.

    >>> result_text(tr.tensor(3.0)), result_text(tr.tensor([3.0, 4.0]))
    ('result: 3.0', 'result: F64 [2], norm 5')
    """
    if result.rank == 0:
        value = result.item()
        return f"result: {value!r}"
    factor, power = norm(result)
    return f"result: {result.dtype.name} {list(result.shape)}, norm {norm_text(factor, power)}"


def norm(x: tr.Tensor) -> tuple[float, float]:
    """Frobenius norm of x as (m, s): it is m * s, m the largest modulus, s between 1 and the root of the size.

    Neither number overflows for finite x. (0.0, 1.0) for a tensor of zeros and for an empty one; a NaN or an infinity
    in x makes m that NaN or infinity.

    >>> norm(tr.tensor([3e200, 4e200]))
    (4e+200, 1.25)
    """
    largest = 0.0
    for start in range(0, x.size, CHUNK):
        top = float(tr.max(_moduli(x, start)))
        if not math.isfinite(top):
            return top, 1.0
        largest = max(largest, top)
    if largest == 0:
        return 0.0, 1.0
    total = 0.0
    for start in range(0, x.size, CHUNK):
        scaled = tr.divide(_moduli(x, start), largest)
        total += float(tr.sum(tr.multiply(scaled, scaled)))
    return largest, math.sqrt(total)


def _moduli(x: tr.Tensor, start: int) -> tr.Tensor:
    piece = x.reshape((x.size,))[start : start + CHUNK]
    return tr.convert(tr.abs(piece if piece.dtype in FLOATING else tr.convert(piece, F64)), F64)


def norm_text(largest: float, ratio: float) -> str:
    """The product of the two as text, in full where a float holds it.

    >>> norm_text(4e200, 1.25), norm_text(1.5e308, 1e4)
    ('5e+200', '1.50000000000e+312')
    """
    product = largest * ratio
    if math.isfinite(product) or not math.isfinite(largest):
        return f"{product:.12g}"
    return scientific(ratio, math.log10(largest))


def search_text(record: tensor_einsum.SearchRecord) -> str:
    """How the order was searched, as a row below those of the plan.

    >>> found = tensor_einsum.plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
    >>> search_text(found.search)  # doctest: +ELLIPSIS
    '  search                ... s, ...'
    """
    tried = ", ".join(f"{one.times:,} × {one.method}" if one.times > 1 else one.method for one in record.tried)
    more = "searching longer is likely to pay" if record.would_pay else "searching longer would not pay"
    ended = {"exact": "nothing better exists", "interrupted": f"interrupted; {more}"}.get(record.stopped, more)
    limit = f" and {record.limit_seconds:.3f} s for the limit" if record.limit_seconds else ""
    return f"  search                {record.seconds:.3f} s{limit}, {tried}; {ended}"


def time_text(plan: tensor_einsum.Plan, seconds: Sequence[float]) -> str:
    """Seconds of the first call, which binds kernels, and of later ones; flops per second of the median of those.

    >>> product = tensor_einsum.plan("ij,jk->ik", (1000, 500), (500, 1000))
    >>> time_text(product, [0.1])
    'time: 0.100 s, 10.00 GFLOP/s'
    >>> time_text(product, [0.5, 0.1, 0.2, 0.1])
    'time: first 0.500 s, then 0.100 s (median of 3, 0.100 to 0.200), 10.00 GFLOP/s'
    """
    first, *later = seconds
    middle = median(later or [first])
    rate = plan.flops / middle / 1e9 if middle > 0 else 0.0
    if not later:
        return f"time: {first:.3f} s, {rate:.2f} GFLOP/s"
    digits = 3 if min(later) >= 0.01 else 6
    spread = f"median of {len(later)}, {min(later):.{digits}f} to {max(later):.{digits}f}"
    return f"time: first {first:.{digits}f} s, then {middle:.{digits}f} s ({spread}), {rate:.2f} GFLOP/s"


class Comparison(NamedTuple):
    """A result beside the known answer of its file."""

    reference: Reference
    found: float  # NaN where the result is no positive number
    difference: float
    agrees: bool


def compared(reference: Reference, result: tr.Tensor) -> Comparison:
    """What the reference says of a result, and whether the two agree to the file's tolerance.

    A result that is no positive number has no logarithm and so agrees with nothing; a complex one is a positive number
    where its imaginary part is 0.

    >>> compared(Reference("ln Z", 2.0, 1.0, 1.0, 1e-10, "by hand"), tr.tensor(math.e))[1:]
    (2.0, 0.0, True)
    """
    value: complex = complex(result.item()) if result.rank == 0 else math.nan
    positive = value.imag == 0 and value.real > 0
    found = (math.log(value.real) + reference.log_offset) / reference.divide_by if positive else math.nan
    difference = abs(found - reference.value)
    return Comparison(reference, found, difference, difference <= reference.tolerance)


def comparison_text(comparison: Comparison) -> str:
    """Three rows.

    >>> print(comparison_text(compared(Reference("ln Z", 2.0, 1.0, 1.0, 1e-10, "by hand"), tr.tensor(math.e))))
      ln Z        2.000000000000000
      reference   2.000000000000000  by hand
      difference  0.0e+00, within 1e-10
    """
    reference, found, difference, agrees = comparison
    quantity = printable(reference.quantity)[1:-1]
    rows = [
        (quantity, "none: the result is no positive number" if math.isnan(found) else f"{found:.15f}"),
        ("reference", f"{reference.value:.15f}  {printable(reference.source, 100)[1:-1]}"),
        ("difference", f"{difference:.1e}, {'within' if agrees else 'MORE THAN'} {reference.tolerance:.0e}"),
    ]
    return table(rows, "<<")


def steps_text(plan: tensor_einsum.Plan) -> str:
    """Every step of the plan, one line each; labels that would move the cursor are shown as question marks.

    >>> print(steps_text(tensor_einsum.plan("ij,jk->ik", (2, 3), (3, 4))))
    result  operands  kind      subscripts  shape   flops  bytes
         2       0 1  contract  ij,jk->ik   (2, 4)     48   64 B
    """
    _, steps = plan.table().split("\n\n", 1)
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in steps)
