"""The command `contract`: one network file from reading to the printed result.

Everything that can be refused is refused before the first operand exists: the file, the path, the output paths, and a
plan whose operands and intermediates would not fit into memory.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

import tensor_einsum
import tensor_runtime as tr
from ironstride import plot, report
from ironstride.network_file import Network, NetworkFileError, printable, read_network
from ironstride.operands import make_operands
from ironstride.output_paths import check_output_path, make_folder
from tensor_core.errors import TensorError
from tensor_core.formatting import readable_bytes
from tensor_runtime.backends.memory_limits import available_bytes


@dataclass(frozen=True)
class Options:
    """What the command line asks for beside the file itself."""

    path: str | None = None
    steps: bool = False
    output: Path | None = None
    plot: Path | None = None


class PathError(TensorError, ValueError):
    """A path that the network file does not have."""


class TooLargeError(TensorError, MemoryError):
    """A plan that does not fit into memory. Fields: `needed` and `available`, in bytes."""


def contract_file(file: Path, options: Options) -> bool:
    """Contract the network in `file` and print plan, result and time on stdout; progress goes to stderr.

    Returns:
        Whether the result agrees with the reference in the file; True if it has none.

    Raises:
        TensorError: the file, the plan, an output path or an operand cannot be used.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "two.json"
    >>> _ = file.write_text('{"format_string": "i->", "shapes": [[2]], "dtype": "int64", "operands": [[3, 4]]}')
    >>> contract_file(file, Options())  # doctest: +ELLIPSIS
    two: 1 operands, I64 (int64), 16 B
    operands: values in the file
    plan (our planner)
      steps                 1
      flops                 2
      largest intermediate  1 elements, 8 B
      peak memory           8 B beside the operands
    result: 7
    time: ... s, ... GFLOP/s
    True
    """
    _check_output_paths(options)
    network = read_network(file)
    print(report.network_text(network))
    plan = make_plan(network, options.path)
    print(report.plan_text(plan, options.path))
    if options.steps:
        print(report.steps_text(plan))
    check_memory(network, plan, available_bytes())
    sys.stdout.flush()
    operands = make_operands(network)
    started = time.perf_counter()
    result = _contract(plan, operands)
    seconds = time.perf_counter() - started
    del operands
    print(report.result_text(result))
    print(report.time_text(plan, seconds))
    agrees = True
    if network.reference is not None:
        text, agrees = report.reference_text(network.reference, result)
        print(text)
    _write(network, plan, result, options)
    return agrees


def _check_output_paths(options: Options) -> None:
    """Refuse output paths that could not be written, and a picture without matplotlib."""
    if options.output is not None:
        check_output_path("-o", options.output, [".npy"])
    if options.plot is not None:
        check_output_path("--plot", options.plot, plot.FORMATS)
        plot.require_matplotlib()


def make_plan(network: Network, path: str | None) -> tensor_einsum.Plan:
    """The plan along the path of that name in the file, or along a path of our own planner when `path` is None.

    Raises:
        PathError: the file has no such path.
        NetworkFileError: format string, shapes and path do not fit together.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "product.json"
    >>> _ = file.write_text('{"format_string": "ij,jk->ik", "shapes": [[2, 3], [3, 4]], "dtype": "F64"}')
    >>> make_plan(read_network(file), None).flops
    48
    >>> make_plan(read_network(file), "best")
    Traceback (most recent call last):
    ironstride.contract.PathError: --path best: the file has no such path; its paths: none
    """
    if path is not None and path not in network.paths:
        named = ", ".join(printable(name)[1:-1] for name in network.paths) or "none"
        raise PathError(f"--path {path}: the file has no such path; its paths: {named}")
    optimize = "auto" if path is None else network.paths[path]
    try:
        return tensor_einsum.plan(network.format_string, *network.shapes, dtype=network.dtype, optimize=optimize)
    except TensorError as error:
        message, *_ = str(error).splitlines()  # the other lines show a caret
        column = getattr(error, "column", None)
        where = f" (character {column + 1} of format_string)" if isinstance(column, int) else ""
        raise NetworkFileError(f"{message}{where}") from None


def check_memory(network: Network, plan: tensor_einsum.Plan, available: int | None) -> None:
    """Refuse a plan that needs more memory than there is; `available` is in bytes, None when unknown.

    Raises:
        TooLargeError: with both numbers, and the paths in the file, if another one might need less.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "product.json"
    >>> _ = file.write_text('{"format_string": "ij,jk->ik", "shapes": [[2, 3], [3, 4]], "dtype": "F64"}')
    >>> network = read_network(file)
    >>> check_memory(network, make_plan(network, None), available=208)
    >>> check_memory(network, make_plan(network, None), available=207)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ironstride.contract.TooLargeError: the plan needs at least 208 B (144 B for the operands, 64 B at the peak ...
    """
    needed = plan.peak_bytes + network.operand_bytes
    if available is None or needed <= available:
        return
    advice = ""  # no path makes the operands smaller
    if network.operand_bytes <= available and network.paths:
        advice = (
            f"; try another --path; paths in the file: {', '.join(printable(name)[1:-1] for name in network.paths)}"
        )
    raise TooLargeError(
        f"the plan needs at least {readable_bytes(needed)} ({readable_bytes(network.operand_bytes)} for the operands, "
        f"{readable_bytes(plan.peak_bytes)} at the peak for results of steps), but {readable_bytes(available)} are "
        f"available{advice}",
        needed=needed,
        available=available,
    )


def _contract(plan: tensor_einsum.Plan, operands: Sequence[tr.Tensor]) -> tr.Tensor:
    """The result of the plan, with a progress bar on stderr when that is a terminal.

    The bar advances by the flops of each step, because the last steps often take nearly all the time.
    """
    with tqdm(total=plan.flops, unit="flop", unit_scale=True, disable=None, leave=False) as bar:
        return plan(*operands, on_step=lambda done, _: bar.update(plan.steps[done - 1].flops))


def _write(network: Network, plan: tensor_einsum.Plan, result: tr.Tensor, options: Options) -> None:
    """Save and draw what the command line asks for; each file appears whole or not at all."""
    if options.output is not None:
        make_folder("-o", options.output)
        tr.save(options.output, result)
        print(f"saved {options.output}")
    if options.plot is not None:
        make_folder("--plot", options.plot)
        plot.draw_plan(report.plan_tree(plan), network.name, options.plot)
        print(f"drawn {options.plot}")
