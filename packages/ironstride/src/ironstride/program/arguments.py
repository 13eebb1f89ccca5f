"""The command line: which commands there are, and their options. Nothing heavy is imported here."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

N = TypeVar("N", int, float)

REFUSED: Final = 2
DONE: Final = 0

_SOURCE: Final = """network files (docs/network-file.md), text files with an equation and shapes (.txt), or an equation
with the shapes of its operands: 'ij,jk->ik' 2x3 3x4"""


_OF_PYTHON: Final = (
    (re.compile(r"dtype='(\w+)' converts"), r"ironstride convert --dtype \1 converts"),
    (re.compile(r" \(check=False [^()]*\)"), ""),
    (re.compile(r"; or overflow='\w+' or '\w+'"), ""),
    (re.compile(r"^set_threads: count is"), "--threads is"),
)  # what errors advise that no command takes, and what a command does instead


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
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **options})
        self._report = report

    def print_help(self, file: Any = None) -> None:
        """Write the help; argparse itself passes over a stream that takes nothing."""
        (file or sys.stdout).write(self.format_help())

    def _parse_optional(self, arg_string: str) -> Any:
        """No option is what begins as an equation of scalars does."""
        return None if arg_string.startswith("->") else super()._parse_optional(arg_string)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What argparse finds; what a command does not know is told beside the help of that command."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._end(f"unrecognized arguments: {' '.join(unknown)}", getattr(found, "command", None))
        return found

    def error(self, message: str) -> NoReturn:
        """End the program with one line."""
        self._end(message)

    def _end(self, message: str, command: str | None = None) -> NoReturn:
        self._report(f"{message} (see {self.prog}{f' {command}' if command else ''} --help)")
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
    parser = Parser(
        prog="ironstride",
        description="Contract tensor networks, look into files of tensors, and measure this machine.",
        epilog=_shown("ironstride COMMAND --help", "ironstride svd x.npy --cutoff 1e-12"),
        report=report,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, short: str, long: str, *examples: str) -> argparse.ArgumentParser:
        text = textwrap.fill(" ".join(long.split()), 100)
        return commands.add_parser(name, help=short, description=text, epilog=_shown(*examples), report=report)

    contract = command(
        "contract",
        "contract a network",
        """Contract a network: plan, check that it fits into memory, contract, and print the result with its time.
        Several files are contracted one after the other; those that hold no network are skipped.""",
        "ironstride contract 'ij,jk->ik' 2000x30 30x4000 -o product.npy",
        "ironstride contract network.json --memory 1GiB --plot plan.svg",
    )
    _add_source(contract)
    _add_planning(contract)
    _add_threads(contract)
    contract.add_argument(
        "--repeat", metavar="N", type=_positive, default=1, help="contract so often, and tell first and later times"
    )
    contract.add_argument(
        "--checkpoint", metavar="FILE", type=_file, help="keep the sum of slices there, and go on from it after a stop"
    )
    contract.add_argument("-o", "--output", metavar="OUT.npy", type=_file, help="save the result")
    _add_showing(contract)

    plan = command(
        "plan",
        "plan a contraction",
        "Plan a contraction and show what it costs. No operand is read or made.",
        "ironstride plan 'ab,bc,cd->ad' 2000x30 30x4000 4000x50 --steps",
        "ironstride plan network.json --seconds 10 --save-plan plan.json",
    )
    _add_source(plan)
    _add_planning(plan)
    _add_showing(plan)

    _add_tensor_commands(command)
    _add_machine_commands(command)
    return parser


def as_options(message: str) -> str:
    """What an error of the libraries says, with what a shell has in the place of arguments of Python.

    >>> as_options("load: the elements are float16; dtype='F32' converts them")
    'load: the elements are float16; ironstride convert --dtype F32 converts them'
    >>> as_options("svd: found nan; accepted: finite values only (check=False skips this check)")
    'svd: found nan; accepted: finite values only'
    """
    for pattern, instead in _OF_PYTHON:
        message = pattern.sub(instead, message)
    return message


def _add_tensor_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    """What works on files of tensors."""
    info = command(
        "info",
        "what is in a file of tensors",
        """Name, dtype, shape, order and size of every tensor of a file. Elements are read where its format needs that.
        Of a raw file, the options are compared with its size.""",
        "ironstride info weights.npz",
        "ironstride info a.bin --raw F64 --shape 200x300 --order F",
        "ironstride info x.npy --json",
    )
    info.add_argument("file", metavar="FILE", type=_file, help="its ending says the format")
    _add_reading(info)
    _add_json(info)

    convert = command(
        "convert",
        "tensors of a file in another format or dtype",
        """Write the tensors of one file to another; endings say the formats. Another dtype is refused where values
        could be lost, unless --cast says that they may. The new file appears whole or not at all.""",
        "ironstride convert weights.npz first.npy --name layer1",
        "ironstride convert x.npy single.npy --dtype F32 --cast",
        "ironstride convert record.bin x.npy --raw F64 --shape 200x300 --order F --offset 4   # of Fortran",
        "ironstride convert x.npy x.bin --to-raw F   # elements and nothing else, for Fortran and Julia",
    )
    convert.add_argument("source", metavar="A", type=_file, help="the file to read")
    convert.add_argument("target", metavar="B", type=_file, help="the file to write; one that is there is replaced")
    _add_name(convert)
    convert.add_argument("--dtype", metavar="NAME", help="of the new file, such as F32 or complex128")
    convert.add_argument("--cast", action="store_true", help="to that dtype even if values are lost")
    _add_reading(convert)
    _add_writing(convert)
    _add_json(convert)

    svd = command(
        "svd",
        "the spectrum of a tensor, and what truncating it costs",
        """Singular values of a tensor, cut in two: some axes count the rows of a matrix, the others its columns. Shows
        the relative error of keeping the largest of them, their entropy, and the rank that a cutoff keeps.""",
        "ironstride svd x.npy --rows 0,1 --cutoff 1e-12",
        "ironstride svd state.npz --name psi --plot spectrum.svg",
    )
    svd.add_argument("file", metavar="FILE", type=_file, help="a file of tensors")
    _add_name(svd)
    svd.add_argument(
        "--rows", metavar="AXES", type=_axes, default=(0,), help="axes that count the rows, such as 0,2 (0); '' is none"
    )
    svd.add_argument(
        "--cutoff",
        metavar="SHARE",
        type=_error,
        help="find the rank that split(cutoff=) keeps: this share of the sum of all squares may be lost",
    )
    svd.add_argument("--plot", metavar="FILE.svg", type=_file, help="draw the spectrum (.svg, .png or .pdf)")
    _add_reading(svd)
    _add_json(svd)


def _add_machine_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    """What is about this machine and this installation."""
    bench = command(
        "bench",
        "measure this machine beside NumPy",
        """A minute of everyday work: elementwise functions, products, contractions and batches of small matrices,
        beside NumPy in turns. Below 1 ours is faster.""",
        "ironstride bench",
        "ironstride bench --seconds 10 --threads 1 --json",
    )
    bench.add_argument("--seconds", type=_seconds, default=60.0, help="about how long to measure (60)")
    _add_threads(bench)
    _add_json(bench)

    calibrate = command(
        "calibrate",
        "measure this machine for the planner",
        """Measure how fast this machine contracts, and write the rates to a file that --calibration takes; or which
        routines of a device are the fastest, and write the table that its backend takes.""",
        "ironstride calibrate && ironstride contract network.json --calibration",
        "ironstride calibrate --device cuda:0 --seconds 300 -o drivers.json",
    )
    calibrate.add_argument("--device", metavar="PLACE", help="measure a device, such as cuda:0; takes -o")
    calibrate.add_argument(
        "-o", "--output", metavar="FILE.json", type=_file, help="default: in the folder for settings"
    )
    calibrate.add_argument("--seconds", type=_seconds, default=20.0, help="about how long to measure (20)")
    _add_threads(calibrate)
    _add_json(calibrate)

    doctor = command(
        "doctor",
        "versions, backends and their status, BLAS, threads",
        "What is installed, which backends work, and what they compute with. Status 1: something is broken.",
        "ironstride doctor",
        "ironstride doctor --json",
    )
    _add_json(doctor)

    completion = command(
        "completion",
        "a script that completes commands and options in a shell",
        "Print the script that makes a shell complete commands and options.",
        'eval "$(ironstride completion bash)"   # in ~/.bashrc; zsh takes the same, in ~/.zshrc after compinit',
        "ironstride completion fish > ~/.config/fish/completions/ironstride.fish",
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def _shown(*examples: str) -> str:
    """Examples below the help."""
    return "\n  ".join([f"example{'s' if len(examples) > 1 else ''}:", *examples])


def _add_name(command: argparse.ArgumentParser) -> None:
    command.add_argument("--name", metavar="NAME", help="this tensor of a file that holds several")


def _add_reading(command: argparse.ArgumentParser) -> None:
    """What the ending of a name does not say of the file that is read."""
    group = command.add_argument_group(
        "a file whose ending says nothing",
        "Raw files hold elements and nothing else, as Fortran, C and Julia write them: --raw, --shape and --order.",
    )
    group.add_argument("--format", metavar="NAME", help="npy, npz, safetensors, hdf5, mat, mat73 or zarr")
    group.add_argument(
        "--raw", metavar="DTYPE", help="a raw file of such elements: F64, complex64, float16, uint8, ..."
    )
    group.add_argument("--shape", metavar="2x3", help="of the tensor in a raw file; () is that of rank 0")
    group.add_argument("--order", choices=("F", "C"), help="F column-major (Fortran, Julia), C row-major (C, NumPy)")
    group.add_argument(
        "--offset", metavar="BYTES", type=_bytes, help="where the elements begin; then more may follow them, too"
    )
    group.add_argument("--byteorder", choices=("little", "big"), help="of the elements in a raw file (little)")


def _add_writing(command: argparse.ArgumentParser) -> None:
    """What the ending of a name does not say of the file that is written."""
    group = command.add_argument_group("a new file whose ending says nothing")
    group.add_argument("--to-format", metavar="NAME", help="npy, npz, safetensors, hdf5, mat, mat73 or zarr")
    group.add_argument("--to-raw", choices=("F", "C"), help="elements and nothing else: F column-major, C row-major")
    group.add_argument("--to-byteorder", choices=("little", "big"), help="of the elements in a raw file (little)")


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON, on one line")


def _add_threads(command: argparse.ArgumentParser) -> None:
    command.add_argument("--threads", metavar="N", type=_positive, help="threads of kernels; default: all processors")


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
        type=_file,
        const=Path(),
        help="estimate time by what `calibrate` wrote; without FILE it goes behind SOURCE",
    )
    command.add_argument("--memory", metavar="SIZE", help="contract in slices that take no more, such as 2GiB")
    command.add_argument(
        "--slices",
        metavar="LABELS",
        help="cut these labels: j,k into parts of extent 1, j=4 into parts of 4; [left bond] is a longer name",
    )
    command.add_argument("--load-plan", metavar="PLAN.json", type=_file, help="take a plan that --save-plan wrote")
    command.add_argument("--save-plan", metavar="PLAN.json", type=_file, help="save the plan")


def _add_showing(command: argparse.ArgumentParser) -> None:
    command.add_argument("--steps", action="store_true", help="list every step of the plan")
    command.add_argument("--plot", metavar="PLAN.svg", type=_file, help="draw the plan (.svg, .png or .pdf)")
    command.add_argument("--json", action="store_true", help="print JSON, one line for each network")


def _positive(text: str) -> int:
    return _number(text, int, lambda number: number >= 1, "1 or more")


def _seconds(text: str) -> float:
    return _number(text, float, lambda number: 0 < number < inf, "a number of seconds above 0")


def _bytes(text: str) -> int:
    return _number(text, int, lambda number: number >= 0, "a number of bytes, 0 or more")


def _error(text: str) -> float:
    return _number(text, float, lambda number: 0 <= number < inf, "a number from 0 on")


def _number(text: str, kind: Callable[[str], N], holds: Callable[[N], bool], accepted: str) -> N:
    with suppress(ValueError):
        number = kind(text)
        if holds(number):
            return number
    raise argparse.ArgumentTypeError(f"found {text}; accepted: {accepted}")


def _axes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text}; accepted: numbers of axes, such as 0,2") from None


def _file(text: str) -> Path:
    if not text:  # which Path would make the folder where the program runs
        raise argparse.ArgumentTypeError("it is empty; accepted: the name of a file")
    return Path(text)
