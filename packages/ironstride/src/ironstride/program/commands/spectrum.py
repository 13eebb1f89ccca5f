"""The command `svd`: the spectrum of a tensor cut in two, and what truncating it costs.

The error of keeping r of the singular values is the root of the sum of the squares of the others, over that of all: the
smallest relative error, in the Frobenius norm, that any approximation of rank r has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensor_linalg as tl
import tensor_runtime as tr
from ironstride.pictures.spectra import entropy, plot_spectrum, rank_for, truncation_errors
from ironstride.program.commands.info import shape_text
from ironstride.program.commands.reading import Reading
from ironstride.program.commands.tensor_files import read_one
from ironstride.program.json_report import norm_value
from ironstride.program.json_text import json_text
from ironstride.program.output_paths import check_inputs_kept, check_output_path, make_folder
from ironstride.program.report import norm
from ironstride.program.units import table
from tensor_core.dtypes import F64, FLOATING
from tensor_core.errors import TensorError
from tensor_einsum.pictures import drawing


@dataclass(frozen=True)
class Asked:
    """What the command line asks for; `rows` are the axes that count the rows."""

    file: Path
    name: str | None = None
    rows: tuple[int, ...] = (0,)
    cutoff: float | None = None
    plot: Path | None = None
    json: bool = False
    reading: Reading = field(default_factory=Reading)


class AxesError(TensorError, ValueError):
    """Axes that do not cut a tensor in two."""


class RangeError(TensorError, ValueError):
    """Values that no axis of a picture reaches."""


def svd(asked: Asked) -> bool:
    """Print the singular values of a tensor, cut in two groups of axes, and the error of each rank.

    Returns:
        True.

    Raises:
        TensorError: the file cannot be read, or the tensor cannot be cut so.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> tr.save(file, tr.tensor([[3.0, 0.0], [0.0, 4.0]]))
    >>> svd(Asked(file, cutoff=0.37))
    2x2 as a matrix of 2x2: 2 singular values
      largest   4.0
      smallest  3.0
      norm      5.0
      entropy   0.653418
      cutoff    0.37: rank 1, error 6.000e-01
      rank  singular value  error
         1    4.000000e+00  6.000e-01
         2    3.000000e+00  0.000e+00
    True
    """
    if asked.plot is not None:
        check_output_path("--plot", asked.plot, drawing.FORMATS)
        check_inputs_kept([("--plot", asked.plot)], [asked.file])
        drawing.require_matplotlib()
    _, x = read_one(asked.file, asked.reading, asked.name)
    values, unit, shape = spectrum(x, asked.rows)
    if asked.plot is not None and values and math.isinf(values[0] * unit):
        raise RangeError("--plot: the largest singular value is beyond what a float holds")
    document: dict[str, Any] = {
        "shape": list(x.shape),
        "matrix": list(shape),
        "singular_values": [norm_value(value, unit) for value in values],
        "errors": truncation_errors(values),
        "norm": norm_value(math.hypot(*values), unit),
        "entropy": entropy(values),
        "cutoff": asked.cutoff,
        "rank": None if asked.cutoff is None else rank_for(values, asked.cutoff),
    }
    print(json_text(document) if asked.json else _text(document))
    if asked.plot is not None:
        make_folder("--plot", asked.plot)
        plot_spectrum([value * unit for value in values], asked.plot, cutoff=asked.cutoff)
        if not asked.json:
            print(f"drawn {asked.plot}")
    return True


def spectrum(x: tr.Tensor, rows: Sequence[int]) -> tuple[list[float], float, tuple[int, int]]:
    """Singular values, the largest first, in a unit, which is 1 but near the end of the range; and the matrix's shape.

    Raises:
        AxesError: an axis twice, one that is not there, or a tensor of rank 0.

    >>> spectrum(tr.tensor([[[2]], [[0]]]), (0,))
    ([2.0], 1.0, (2, 1))
    >>> spectrum(tr.tensor([1.5 * 2.0**1023]), (0,))
    ([1.5], 8.98846567431158e+307, (1, 1))
    """
    if not x.rank or not all(-x.rank <= axis < x.rank for axis in rows):
        raise AxesError(f"--rows {','.join(map(str, rows))}: the tensor has {x.rank} axes, {shape_text(x.shape)}")
    first = [axis % x.rank for axis in rows]
    if len(set(first)) < len(first):
        raise AxesError(f"--rows {','.join(map(str, rows))}: an axis is there twice")
    second = [axis for axis in range(x.rank) if axis not in first]
    height, width = (math.prod(x.shape[axis] for axis in group) for group in (first, second))
    y = x if x.dtype in FLOATING else tr.convert(x, F64)
    matrix = tr.to_contiguous(tr.permute_axes(y, [*first, *second])).reshape((height, width))
    largest, ratio = norm(matrix)
    unit = 1.0
    if math.isfinite(largest) and not largest * ratio < (2.0**1023 if y.dtype.component is F64 else 2.0**127):
        unit = 2.0 ** (math.frexp(largest)[1] - 1)
        matrix = tr.divide(matrix, unit)
    found: Any = tl.svdvals(matrix)
    return [float(value) for value in found.tolist()], unit, (height, width)


def _number(value: float | str, form: str) -> str:
    """As it is asked for; what no float holds has its text already."""
    return value if isinstance(value, str) else f"{value:{form}}"


def _text(found: dict[str, Any]) -> str:
    values, errors = found["singular_values"], found["errors"]
    shape = f"{shape_text(tuple(found['shape']))} as a matrix of {shape_text(tuple(found['matrix']))}"
    head = f"{shape}: {len(values)} singular value{'s' * (len(values) != 1)}"
    if not values:
        return head
    numbers = ("largest", values[0]), ("smallest", values[-1]), ("norm", found["norm"])
    rows = [(name, _number(value, ".10")) for name, value in numbers]
    rows.append(("entropy", f"{found['entropy']:.6f}"))
    if found["rank"] is not None:
        rows.append(("cutoff", f"{found['cutoff']}: rank {found['rank']}, error {errors[found['rank'] - 1]:.3e}"))
    last = len(values)
    shown = sorted({rank for power in range(last.bit_length()) for rank in (2**power, 3 * 2**power // 2)} | {last})
    listed = [
        (str(rank), _number(values[rank - 1], ".6e"), f"{errors[rank - 1]:.3e}") for rank in shown if rank <= last
    ]
    return f"{head}\n{table(rows, '<<')}\n{table([('rank', 'singular value', 'error'), *listed], '>><')}"
