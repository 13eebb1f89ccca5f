"""The command line: which commands there are, and their options. Nothing heavy is imported here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

REFUSED: Final = 2
DONE: Final = 0

_CONTRACT: Final = """Contract a network: plan, check that it fits into memory, contract, and print the result with its
time. Several files are contracted one after the other; those that hold no network are skipped."""
_PLAN: Final = """Plan a contraction and show what it costs. No operand is read or made."""
_CALIBRATE: Final = (
    """Measure how fast this machine contracts, and write the rates to a file that --calibration takes."""
)
_SOURCE: Final = """network files (docs/network-file.md), text files with an equation and shapes (.txt), or an equation
with the shapes of its operands: 'ij,jk->ik' 2x3 3x4"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help goes through the program's own stream.

    >>> try:
    ...     Parser(prog="ironstride", report=print).parse_args(["--what"])
    ... except SystemExit as end:
    ...     end.code
    unrecognized arguments: --what (see ironstride --help)
    2
    """

    def __init__(self, *, report: Callable[[object], None], **options: Any) -> None:
        super().__init__(**options)
        self._report = report

    def print_help(self, file: Any = None) -> None:
        """Write the help; argparse itself passes over a stream that takes nothing."""
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        """End the program with one line."""
        self._report(f"{message} (see {self.prog} --help)")
        sys.exit(REFUSED)


class _Version(argparse.Action):
    def __call__(self, *_: object, **__: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print("ironstride", version("ironstride"), flush=True)
        except PackageNotFoundError:
            print("ironstride (not installed)")
        sys.exit(DONE)


def parser_of(report: Callable[[object], None], /) -> Parser:
    """The parser of all commands; ``report`` prints one line of an error.

    >>> parser_of(print).parse_args(["plan", "ij,jk->ik", "2x3", "3x4", "--seconds", "1.5"]).seconds
    1.5
    """
    parser = Parser(prog="ironstride", description="Contract tensor networks.", report=report)
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    contract = commands.add_parser("contract", help="contract a network", description=_CONTRACT, report=report)
    _add_source(contract)
    _add_planning(contract)
    contract.add_argument("--threads", metavar="N", type=_positive, help="threads of kernels; default: all processors")
    contract.add_argument(
        "--repeat", metavar="N", type=_positive, default=1, help="contract so often, and tell first and later times"
    )
    contract.add_argument(
        "--checkpoint", metavar="FILE", type=Path, help="keep the sum of slices there, and go on from it after a stop"
    )
    contract.add_argument("-o", "--output", metavar="OUT.npy", type=Path, help="save the result")
    _add_showing(contract)

    plan = commands.add_parser("plan", help="plan a contraction", description=_PLAN, report=report)
    _add_source(plan)
    _add_planning(plan)
    _add_showing(plan)

    calibrate = commands.add_parser(
        "calibrate", help="measure this machine for the planner", description=_CALIBRATE, report=report
    )
    calibrate.add_argument("-o", "--output", metavar="FILE.json", type=Path, help="default: in the folder for settings")
    calibrate.add_argument("--seconds", type=_seconds, default=20.0, help="about how long to measure (20)")
    calibrate.add_argument("--threads", metavar="N", type=_positive, help="threads of kernels; default: all processors")

    commands.add_parser("doctor", help="versions, backends and their status, BLAS, threads", report=report)
    return parser


def _add_source(command: argparse.ArgumentParser) -> None:
    command.add_argument("sources", metavar="SOURCE", nargs="+", help=_SOURCE)
    command.add_argument("--dtype", metavar="NAME", help="of all operands, such as F32 or complex128")


def _add_planning(command: argparse.ArgumentParser) -> None:
    command.add_argument("--path", metavar="NAME", help="take this path from the file instead of searching one")
    command.add_argument(
        "--optimize", metavar="NAME", help="how to search: auto, greedy, or a search of opt_einsum, such as optimal"
    )
    command.add_argument("--seconds", type=_seconds, help="search so long; Ctrl-C ends the search alone")
    command.add_argument("--objective", choices=("time", "flops", "size"), help="what the search minimises (time)")
    command.add_argument(
        "--calibration",
        metavar="FILE",
        nargs="?",
        type=Path,
        const=Path(),
        help="estimate time by what `calibrate` wrote",
    )
    command.add_argument("--memory", metavar="SIZE", help="contract in slices that take no more, such as 2GiB")
    command.add_argument(
        "--slices", metavar="LABELS", help="cut these labels: j,k into parts of extent 1, j=4 into parts of 4"
    )
    command.add_argument("--load-plan", metavar="PLAN.json", type=Path, help="take a plan that --save-plan wrote")
    command.add_argument("--save-plan", metavar="PLAN.json", type=Path, help="save the plan")


def _add_showing(command: argparse.ArgumentParser) -> None:
    command.add_argument("--steps", action="store_true", help="list every step of the plan")
    command.add_argument("--plot", metavar="PLAN.svg", type=Path, help="draw the plan (.svg, .png or .pdf)")
    command.add_argument("--json", action="store_true", help="print JSON, one line for each network")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {text}; accepted: 1 or more")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"found {text}; accepted: a number of seconds above 0")
    return number
