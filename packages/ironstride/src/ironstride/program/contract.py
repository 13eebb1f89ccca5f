"""The command `contract`: one network from reading to the printed result.

Everything that can be refused is refused before the first operand exists: the file, the path, the output paths, and a
plan whose operands and intermediates would not fit into memory.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from tqdm import tqdm

import tensor_einsum
import tensor_runtime as tr
from ironstride.program import json_report, report
from ironstride.program.json_text import json_text
from ironstride.program.network_file import Network, printable
from ironstride.program.operands import make_operands, operand_files
from ironstride.program.output_paths import check_apart, check_inputs_kept, check_output_path, make_folder
from ironstride.program.planning import OptionError, Planned, PlanOptions, check_options, make_plan, save_plan
from ironstride.program.printing import Printer
from ironstride.program.sources import read_source
from tensor_core.errors import TensorError
from tensor_core.formatting import readable_bytes
from tensor_einsum.pictures import drawing
from tensor_einsum.pictures.tree import tree_of
from tensor_einsum.search.options import bytes_of
from tensor_runtime.backends.memory_limits import available_bytes


@dataclass(frozen=True)
class Options:
    """What the command line asks for beside the network itself."""

    planning: PlanOptions = field(default_factory=PlanOptions)
    dtype: str | None = None
    steps: bool = False
    output: Path | None = None
    plot: Path | None = None
    threads: int | None = None
    repeat: int = 1
    checkpoint: Path | None = None
    json: bool = False


class TooLargeError(TensorError, MemoryError):
    """A plan that does not fit into memory. Fields: `needed` and `available`, in bytes."""


def contract_source(source: Path | Network, options: Options) -> bool:
    """Contract the network of a source and print plan, result and times on stdout; progress goes to stderr.

    Returns:
        Whether the result agrees with the reference in the file; True if it has none.

    Raises:
        TensorError: the file, the plan, an output path or an operand cannot be used.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "two.json"
    >>> _ = file.write_text('{"format_string": "i->", "shapes": [[2]], "dtype": "int64", "operands": [[3, 4]]}')
    >>> contract_source(file, Options())  # doctest: +ELLIPSIS
    two: 1 operand, I64 (int64), 16 B
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
    with (
        tr.set_threads(options.threads) if options.threads else nullcontext(),
        Printer(goes_on=bool(_outputs(options))) as printer,
    ):
        return _contract_source(source, options, printer)


def _contract_source(source: Path | Network, options: Options, printer: Printer) -> bool:
    network, planned = plan_source(source, options, printer)
    plan = planned.plan
    check_memory(network, plan, available_bytes())
    operands = make_operands(network)
    result, seconds = _contract(plan, operands, options)
    del operands
    comparison = None if network.reference is None else report.compared(network.reference, result)
    if options.json:
        document = json_report.plan_document(network, planned, options.steps)
        document["result"] = json_report.result_document(result)
        document["seconds"] |= {"first": seconds[0], "later": seconds[1:]}
        if comparison is not None:
            document["reference"] = json_report.comparison_document(comparison)
        printer(json_text(document))
    else:
        printer(report.result_text(result))
        printer(report.time_text(plan, seconds))
        if comparison is not None:
            printer(report.comparison_text(comparison))
    if options.output is not None:
        make_folder("-o", options.output)
        tr.save(options.output, result)
    _write(network, plan, options, printer)
    return comparison is None or comparison.agrees


def show_plan(source: Path | Network, options: Options) -> bool:
    """Plan the network of a source and print what that costs; nothing is contracted, and True is returned.

    Raises:
        TensorError: the file, the plan or an output path cannot be used.

    >>> from ironstride.program.sources import networks_of
    >>> show_plan(networks_of(["ij,jk->ik", "2x3", "3x4"])[0], Options())
    equation: 2 operands, F64 (float64), 144 B
    plan (our planner)
      steps                 1
      flops                 48
      largest intermediate  8 elements, 64 B
      peak memory           64 B beside the operands
    True
    """
    with Printer(goes_on=bool(_outputs(options))) as printer:
        network, planned = plan_source(source, options, printer, operands=False)
        if options.json:
            printer(json_text(json_report.plan_document(network, planned, options.steps)))
        _write(network, planned.plan, options, printer)
    return True


def plan_source(
    source: Path | Network, options: Options, printer: Printer, *, operands: bool = True
) -> tuple[Network, Planned]:
    """Read a source and plan it, and print both unless JSON is asked for.

    Raises:
        TensorError: the file, the plan or an output path cannot be used.

    >>> from ironstride.program.sources import networks_of
    >>> plan_source(networks_of(["i,i->", "3", "3"])[0], Options(json=True), Printer(goes_on=False))[1].plan.flops
    6
    """
    _check_output_paths(options)
    outputs = _outputs(options)
    check_apart(outputs)
    file = source.file if isinstance(source, Network) else source
    read = file, options.planning.load_plan, options.planning.calibration
    check_inputs_kept(outputs, [one for one in read if one is not None])
    network = read_source(source, options.dtype)
    check_inputs_kept(outputs, operand_files(network))
    if not options.json:
        text = report.network_text(network)
        printer(text if operands else text.splitlines()[0])
    planned = make_plan(network, options.planning)
    if not options.json:
        printer(report.plan_text(planned.plan, planned.origin))
        if planned.plan.search is not None:
            printer(report.search_text(planned.plan.search))
        if options.steps:
            printer(report.steps_text(planned.plan))
    return network, planned


def _outputs(options: Options) -> list[tuple[str, Path]]:
    """Option and path of each file that is written."""
    files = {
        "--checkpoint": options.checkpoint,
        "--save-plan": options.planning.save_plan,
        "-o": options.output,
        "--plot": options.plot,
    }
    return [(option, file) for option, file in files.items() if file is not None]


def _check_output_paths(options: Options) -> None:
    """Refuse options that contradict each other, paths that could not be written, a picture without matplotlib."""
    check_options(options.planning)
    if options.checkpoint is not None:
        check_output_path("--checkpoint", options.checkpoint, [])
        if options.repeat > 1:
            raise OptionError("--checkpoint and --repeat: a contraction that goes on has no later times; give one")
    if options.output is not None:
        check_output_path("-o", options.output, [".npy"])
    if options.plot is not None:
        check_output_path("--plot", options.plot, drawing.FORMATS)
        drawing.require_matplotlib()


def check_memory(network: Network, plan: tensor_einsum.Plan, available: int | None) -> None:
    """Refuse a plan that needs more memory than there is; `available` is in bytes, None when unknown.

    Raises:
        TooLargeError: with both numbers, and the paths in the file, if another one might need less.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "product.json"
    >>> _ = file.write_text('{"format_string": "ij,jk->ik", "shapes": [[2, 3], [3, 4]], "dtype": "F64"}')
    >>> network = read_source(file, None)
    >>> plan = make_plan(network, PlanOptions()).plan
    >>> check_memory(network, plan, available=208)
    >>> check_memory(network, plan, available=207)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ironstride.program.contract.TooLargeError: the plan needs at least 208 B (144 B for the operands, 64 B at ...
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
        f"{readable_bytes(plan.peak_bytes)} at the peak for intermediates and workspaces), but "
        f"{readable_bytes(available)} are available{advice}",
        needed=needed,
        available=available,
    )


def _contract(
    plan: tensor_einsum.Plan, operands: Sequence[tr.Tensor], options: Options
) -> tuple[tr.Tensor, list[float]]:
    """The result of the plan and the seconds of each call, with a progress bar on stderr when that is a terminal.

    The bar advances by flops, because the last steps often take nearly all the time.
    """
    result: Any = None
    seconds: list[float] = []
    keep: dict[str, Any] = {}
    if options.checkpoint is not None and plan.sliced:
        make_folder("--checkpoint", options.checkpoint)
        keep["checkpoint"] = options.checkpoint
    bar_of_flops = tqdm(total=plan.flops * options.repeat, unit="flop", unit_scale=True, disable=None, leave=False)
    with _ended_by_exceptions() if keep else nullcontext(), bar_of_flops as bar:

        def show(now: tensor_einsum.Progress) -> None:
            bar.update((len(seconds) + now.share) * plan.flops - bar.n)

        shown: dict[str, Any] = {} if bar.disable else {"progress": show}  # which would take time of small steps
        for _ in range(options.repeat):
            del result  # whose memory the next one takes
            begun = time.perf_counter()
            result = plan(*operands, **shown, **keep)
            seconds.append(time.perf_counter() - begun)
    return result, seconds


@contextmanager
def _ended_by_exceptions() -> Iterator[None]:
    """SIGTERM and SIGHUP, which end the process at once, end it as an exception does, behind what has to be saved.

    A second one ends it at once. Those that are ignored, as by ``nohup``, or somebody else's, are left as they are.
    """

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        sys.exit(128 + number)

    named = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    mine = current_thread() is main_thread()  # only that one may ask for signals
    ending = [number for number in named if mine and signal.getsignal(number) is signal.SIG_DFL]
    for number in ending:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _write(network: Network, plan: tensor_einsum.Plan, options: Options, printer: Printer) -> None:
    """Save and draw what the command line asks for; each file appears whole or not at all."""
    written = [("saved", options.output)]
    if options.planning.save_plan is not None:
        make_folder("--save-plan", options.planning.save_plan)
        save_plan(plan, options.planning.save_plan)
        written.append(("saved", options.planning.save_plan))
    if options.plot is not None:
        make_folder("--plot", options.plot)
        memory = options.planning.memory
        limit = None if memory is None else bytes_of("--memory", memory)
        drawing.draw_plan(tree_of(plan, limit), network.name, options.plot)
        written.append(("drawn", options.plot))
    if not options.json:
        for what, file in written:
            if file is not None:
                printer(f"{what} {file}")
