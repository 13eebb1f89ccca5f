"""The command line: arguments, exit statuses, and errors as one line.

Exit statuses: 0 done; 1 the result misses the reference in the file; 2 the input or the command cannot be used;
130 interrupted (Ctrl-C); 141 the reader of the output went away. Nothing heavy is imported before the arguments are
known to be right.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

DONE: Final = 0
MISSED: Final = 1
REFUSED: Final = 2
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
LONGEST: Final = 600  # characters of an error message


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status; `argv` defaults to the command line.

    Raises:
        SystemExit: after `--help`, `--version` and wrong arguments, as argparse does.
    """
    try:
        _open_streams()
        try:
            return _run(_parser().parse_args(argv))
        finally:  # after --help too: what Python itself cannot flush at its end, it reports in its own words
            sys.stdout.flush()
    except KeyboardInterrupt:
        print_error("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _abandon(sys.stdout)
        return PIPE_CLOSED
    except OSError as error:  # a full disk behind stdout
        print_error(f"the output cannot be written: {error.strerror or error}")
        _abandon(sys.stdout)
        return REFUSED


def _open_streams() -> None:
    """Make both streams take whatever is printed: a name in the file must not end the program, nor `>&-`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller; the next file opened would get its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the program
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon(stream: TextIO) -> None:
    """Python flushes its streams once more when it ends; give this one somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_error(message: object) -> None:
    r"""One line on stderr, whatever line breaks and control characters the message has.

    >>> from contextlib import redirect_stderr
    >>> with redirect_stderr(sys.stdout):
    ...     print_error("two\nlines")
    ironstride: two lines
    """
    line = " ".join(str(message).split())
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."
    try:
        print("ironstride:", "".join(c if c.isprintable() else "?" for c in line), file=sys.stderr)
    except OSError:  # nobody can be told, but the exit status stands
        _abandon(sys.stderr)


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        (file or sys.stdout).write(self.format_help())  # argparse itself passes over a stream that takes nothing

    def error(self, message: str) -> NoReturn:
        print_error(f"{message} (see {self.prog} --help)")
        sys.exit(REFUSED)


class _Version(argparse.Action):
    def __call__(self, *_: object, **__: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print("ironstride", version("ironstride"), flush=True)
        except PackageNotFoundError:
            print("ironstride (not installed)")
        sys.exit(DONE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="ironstride", description="Contract tensor networks.")
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    contract = commands.add_parser("contract", help="contract the network in a file", description=_CONTRACT)
    contract.add_argument("files", metavar="FILE", nargs="+", type=Path, help="a network file (docs/network-file.md)")
    contract.add_argument("--path", metavar="NAME", help="take this path from the file instead of searching one")
    contract.add_argument("--steps", action="store_true", help="list every step of the plan")
    contract.add_argument("-o", "--output", metavar="OUT.npy", type=Path, help="save the result")
    contract.add_argument("--plot", metavar="PLAN.svg", type=Path, help="draw the plan (.svg, .png or .pdf)")
    commands.add_parser("doctor", help="versions, backends and their status, BLAS, threads")
    return parser


_CONTRACT: Final = """Contract the network in a file: plan, check that it fits into memory, contract, and print the
result with its time. Several files are contracted one after the other; those that hold no network are skipped."""


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "doctor":
        from tensor_runtime import doctor

        return doctor.main()
    if len(arguments.files) > 1 and (arguments.output or arguments.plot):
        print_error("-o and --plot take one FILE, because each file would overwrite the last")
        return REFUSED
    return _contract_all(arguments)


def _contract_all(arguments: argparse.Namespace) -> int:
    from ironstride.contract import Options, contract_file
    from ironstride.network_file import NotANetworkError
    from tensor_core.errors import TensorError

    options = Options(arguments.path, arguments.steps, arguments.output, arguments.plot)
    statuses: list[int] = []
    for file in arguments.files:
        if statuses:
            print()
        try:
            statuses.append(DONE if contract_file(file, options) else MISSED)
        except NotANetworkError as error:
            print_error(f"{file}: skipped: {error}")
        except (TensorError, MemoryError, RecursionError, OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, TensorError) and error.filename is None:
                raise  # of stdout: files have names
            print_error(f"{file}: {str(error) or 'out of memory'}")
            statuses.append(REFUSED)
    return max(statuses, default=REFUSED)


if __name__ == "__main__":
    sys.exit(main())
