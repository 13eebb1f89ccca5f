"""The plan of a network, as the command line asks for it: searched, along a path of the file, or read from a file."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensor_einsum
from ironstride.program.network_file import Network, NetworkFileError, printable, read_text
from ironstride.program.output_paths import check_output_path
from ironstride.program.sources import ENDINGS
from tensor_core.errors import TensorError
from tensor_core.files.atomic_write import write_atomically
from tensor_einsum.notation.label_names import read_brackets


@dataclass(frozen=True)
class PlanOptions:
    """What the command line says of the plan; what it does not say is None."""

    path: str | None = None
    optimize: str | None = None
    seconds: float | None = None
    objective: str | None = None
    calibration: Path | None = None
    """An empty path stands for the file in the folder for settings."""
    memory: str | None = None
    slices: str | None = None
    load_plan: Path | None = None
    save_plan: Path | None = None


class PathError(TensorError, ValueError):
    """A path that the network file does not have."""


class EquationError(TensorError, ValueError):
    """What is wrong with an equation; ``below`` are lines that show where, the equation with carets."""


class OptionError(TensorError, ValueError):
    """Options of the command line that do not go together."""


@dataclass(frozen=True)
class Planned:
    """A plan, in words where its order comes from, and the seconds that finding it took."""

    plan: tensor_einsum.Plan
    origin: str
    seconds: float


def check_options(options: PlanOptions) -> None:
    """Refuse options that contradict each other, and a plan that could not be saved.

    Raises:
        OptionError: two ways to an order, or a goal of a search that is not made.
        OutputPathError: see `output_paths`.

    >>> check_options(PlanOptions(path="best", seconds=1.0))
    Traceback (most recent call last):
    ironstride.program.planning.OptionError: --path and --seconds are two ways to a plan; give one of them
    """
    ways = [
        name
        for name, given in (
            ("--load-plan", options.load_plan),
            ("--path", options.path),
            ("--optimize", None if options.optimize == "auto" and options.seconds else options.optimize),
            ("--seconds", options.seconds),
            ("--memory", options.memory if options.load_plan else None),
        )
        if given is not None
    ]
    if len(ways) > 1:
        raise OptionError(f"{ways[0]} and {ways[1]} are two ways to a plan; give one of them")
    for way in ("load_plan", "path"):
        for goal in ("objective", "calibration"):
            if getattr(options, way) is not None and getattr(options, goal) is not None:
                option = f"--{way.replace('_', '-')}"
                raise OptionError(f"{option} gives the order, and --{goal} says how one is searched; give one of them")
    for first, second, what in (
        ("objective", "calibration", "things to minimise"),
        ("memory", "slices", "ways to slices"),
    ):
        if getattr(options, first) and getattr(options, second):
            raise OptionError(f"--{first} and --{second} are two {what}; give one of them")
    if options.save_plan is not None:
        check_output_path("--save-plan", options.save_plan, [".json"])


def make_plan(network: Network, options: PlanOptions) -> Planned:
    """The plan that the options ask for.

    Raises:
        PathError: the file has no such path.
        NetworkFileError: format string, shapes and path do not fit together, or the plan is of another network.
        LoadError, FormatError: the calibration cannot be read.
        MemoryLimitError: no slices keep the memory; it names the smallest that some keep.
        OptionError: a label to slice that the network has not.

    >>> import tempfile
    >>> from ironstride.program.network_file import read_network
    >>> file = Path(tempfile.mkdtemp()) / "product.json"
    >>> _ = file.write_text('{"format_string": "ij,jk->ik", "shapes": [[2, 3], [3, 4]], "dtype": "F64"}')
    >>> make_plan(read_network(file), PlanOptions()).plan.flops
    48
    >>> make_plan(read_network(file), PlanOptions(path="best"))
    Traceback (most recent call last):
    ironstride.program.planning.PathError: --path best: the file has no such path; its paths: none
    """
    begun = time.perf_counter()
    if options.slices is not None:
        _sliced(_unsearched(network), options.slices)  # what cannot be cut is refused before the search
    plan, origin = _found(network, options)
    if options.slices is not None:
        plan = _sliced(plan, options.slices)
    return Planned(plan, origin, time.perf_counter() - begun)


def _found(network: Network, options: PlanOptions) -> tuple[tensor_einsum.Plan, str]:
    """The plan and where its order comes from, before labels are cut by name."""
    if options.load_plan is not None:
        return _loaded(network, options.load_plan), f"read from {options.load_plan.name}"
    optimize: object = "auto" if options.optimize is None else options.optimize
    origin = "our planner" if optimize in ("auto", "greedy") else f"search by {optimize}"
    if options.path is not None:
        if options.path not in network.paths:
            named = ", ".join(printable(name)[1:-1] for name in network.paths) or "none"
            raise PathError(f"--path {options.path}: the file has no such path; its paths: {named}")
        optimize, origin = network.paths[options.path], f"path {printable(options.path)[1:-1]} in the file"
    objective: object = options.objective or "time"
    if options.calibration is not None:
        file = options.calibration
        if file.parts and not file.exists():
            raise OptionError(f"--calibration: there is no file {str(file)!r}; without FILE it goes behind SOURCE")
        objective = tensor_einsum.read_calibration(file if file.parts else None)
    how = {"seconds": options.seconds, "objective": objective, "memory_limit": options.memory}
    return _planned(network, optimize=optimize, **how), origin


def _unsearched(network: Network) -> tensor_einsum.Plan:
    """A plan that takes no search, which says which labels the operands have, by whatever names."""
    return _planned(network, optimize=False)


def _planned(network: Network, **how: Any) -> tensor_einsum.Plan:
    """A plan of the network, or an error that says where its notation is wrong."""
    try:
        return tensor_einsum.plan(network.format_string, *network.shapes, dtype=network.dtype, **how)
    except tensor_einsum.MemoryLimitError:
        raise
    except TensorError as error:
        message, *drawn = str(error).splitlines()  # the equation with carets
        if not network.file.parts or network.file.suffix.lower() in ENDINGS:
            raise EquationError(message, below=tuple(drawn)) from None
        column = getattr(error, "column", None)
        where = f" (character {column + 1} of format_string)" if isinstance(column, int) else ""
        raise NetworkFileError(f"{message}{where}") from None


def _sliced(plan: tensor_einsum.Plan, text: str) -> tensor_einsum.Plan:
    """The plan with labels cut, as ``j,k=4`` says, or ``[left bond]=4``."""
    try:
        return plan.with_slices(_cuts(text))
    except TensorError as error:
        message, *_ = str(error).splitlines()  # the other lines show a caret
        raise OptionError(f"--slices {text}: {message}") from None


def _cuts(text: str) -> dict[str, int]:
    """The extents of parts by label, from what the command line says.

    Names in brackets are read as a notation reads them, so that they may have any character.

    >>> _cuts("j, k=4"), _cuts("[l,a],[b]=2"), _cuts("left bond=2")
    ({'j': 1, 'k': 4}, {'l,a': 1, 'b': 2}, {'left bond': 2})
    """
    cuts: dict[str, int] = {}
    blotted, brackets = read_brackets(text, "with_slices")
    end = -1
    for piece in blotted.split(","):
        begin, end = end + 1, end + 1 + len(piece)
        begin += len(piece) - len(piece.lstrip())
        bracket = brackets.get(begin)
        label, equals, extent = text[bracket.end if bracket else begin : end].strip().partition("=")
        rest, label = (label, bracket.name) if bracket else ("", label)
        if rest or not label or (equals and not re.fullmatch(r"\d{1,18}", extent, re.ASCII)):
            accepted = "labels, such as j,k or j=4 or [left bond]=4, of at most 18 digits"
            raise OptionError(f"found {text[begin:end]!r}; accepted: {accepted}")
        if label in cuts:
            raise OptionError(f"found {label!r} twice; accepted: each label once")
        cuts[label] = int(extent) if equals else 1
    return cuts


def _loaded(network: Network, file: Path) -> tensor_einsum.Plan:
    """The plan in a file, if it is one of this network."""
    try:
        plan = tensor_einsum.Plan.from_json(read_text(file, "plan"))
    except TensorError as error:
        raise NetworkFileError(f"--load-plan {file}: {error}") from None
    expected = _unsearched(network)
    for what in ("shapes", "dtypes", "subscripts"):
        if getattr(plan, what) != getattr(expected, what):
            raise NetworkFileError(f"--load-plan {file}: the plan is of another network: its {what} differ")
    return plan


def save_plan(plan: tensor_einsum.Plan, file: Path) -> None:
    """Write a plan as JSON; the file appears whole or not at all.

    Raises:
        SaveError: the system refused.
    """
    write_atomically(str(file), [plan.to_json().encode(), b"\n"])
