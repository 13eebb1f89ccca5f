"""The command line: arguments, exit statuses, and errors as one line, with an equation to blame below it.

Exit statuses: 0 done; 1 the result misses the reference in the file; 2 the input or the command cannot be used;
130 interrupted (Ctrl-C); 141 the reader of the output went away. Nothing heavy is imported before the arguments are
known to be right.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from ironstride.program.arguments import DONE, REFUSED, as_options, parser_of

if TYPE_CHECKING:
    from ironstride.program.commands.reading import Reading

MISSED: Final = 1
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
            return _run(parser_of(print_error).parse_args(argv))
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


def print_error(message: object, below: Sequence[str] = ()) -> None:
    r"""One line on stderr, whatever line breaks and control characters the message has; then the lines ``below``.

    >>> from contextlib import redirect_stderr
    >>> with redirect_stderr(sys.stdout):
    ...     print_error("two\nlines")
    ironstride: two lines
    """
    line = " ".join(str(message).split())
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."
    try:
        for text in (f"ironstride: {line}", *below):
            print("".join(c if c.isprintable() else "?" for c in text), file=sys.stderr)
    except OSError:  # nobody can be told, but the exit status stands
        _abandon(sys.stderr)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command in _OTHERS:
        return _OTHERS[arguments.command](arguments)
    from ironstride.program.sources import SourceError, networks_of

    try:
        sources = networks_of(arguments.sources)
    except SourceError as error:
        print_error(error)
        return REFUSED
    if len(sources) > 1 and any(
        getattr(arguments, name, None) for name in ("output", "plot", "save_plan", "load_plan")
    ):
        print_error("-o, --plot, --save-plan and --load-plan take one SOURCE, because each would overwrite the last")
        return REFUSED
    return _each(sources, arguments)


def _each(sources: Sequence[Any], arguments: argparse.Namespace) -> int:
    """Contract or plan one network after the other; the worst status counts."""
    from ironstride.program.contract import Options, contract_source, show_plan
    from ironstride.program.network_file import NotANetworkError
    from ironstride.program.planning import PlanOptions

    planning = PlanOptions(**{field.name: getattr(arguments, field.name) for field in fields(PlanOptions)})
    given = {field.name: getattr(arguments, field.name) for field in fields(Options) if hasattr(arguments, field.name)}
    options = Options(planning, **given)
    work: Callable[..., bool] = contract_source if arguments.command == "contract" else show_plan

    statuses: list[int] = []
    for source in sources:
        if statuses and not options.json:
            print()
        name = source if isinstance(source, Path) else source.name
        try:
            statuses.append(_guarded(name, partial(work, source, options)))
        except NotANetworkError as error:
            print_error(f"{name}: {error}" if len(sources) == 1 else f"{name}: skipped: {error}")
    return max(statuses, default=REFUSED)


def _guarded(name: object, work: Callable[[], bool]) -> int:
    """The status of some work: an error becomes one line; False is a reference that was missed."""
    from ironstride.program.network_file import NotANetworkError
    from tensor_core.errors import TensorError

    try:
        return DONE if work() else MISSED
    except NotANetworkError:
        raise
    except (TensorError, MemoryError, RecursionError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, TensorError) and error.filename is None:
            raise  # of stdout: files have names
        print_error(f"{name}: {as_options(str(error)) or 'out of memory'}", getattr(error, "below", ()))
        return REFUSED


def _doctor(arguments: argparse.Namespace) -> int:
    from tensor_runtime import doctor

    return doctor.main(as_json=arguments.json)


def _calibrate(arguments: argparse.Namespace) -> int:
    from ironstride.program.calibrate import calibrate, calibrate_device

    if arguments.device is not None:
        of_device = arguments.device, arguments.output, arguments.seconds, arguments.json
        return _guarded("calibrate", lambda: calibrate_device(*of_device))
    given = arguments.output, arguments.seconds, arguments.threads, arguments.json
    return _guarded("calibrate", lambda: calibrate(*given))


def _bench(arguments: argparse.Namespace) -> int:
    from ironstride.program.commands.benchmark import bench

    return _guarded("bench", lambda: bench(arguments.seconds, arguments.threads, arguments.json))


def _info(arguments: argparse.Namespace) -> int:
    from ironstride.program.commands.info import info

    return _guarded(arguments.file, lambda: info(arguments.file, _reading(arguments), arguments.json))


def _convert(arguments: argparse.Namespace) -> int:
    from ironstride.program.commands.conversion import Conversion, convert
    from ironstride.program.commands.writing import Writing

    arguments.reading = _reading(arguments)
    arguments.writing = Writing(**{field.name: getattr(arguments, field.name) for field in fields(Writing)})
    asked = Conversion(**{field.name: getattr(arguments, field.name) for field in fields(Conversion)})
    return _guarded(asked.source, lambda: convert(asked))


def _svd(arguments: argparse.Namespace) -> int:
    from ironstride.program.commands.spectrum import Asked, svd

    arguments.reading = _reading(arguments)
    asked = Asked(**{field.name: getattr(arguments, field.name) for field in fields(Asked)})
    return _guarded(asked.file, lambda: svd(asked))


def _reading(arguments: argparse.Namespace) -> Reading:
    """What the options say of the file that is read."""
    from ironstride.program.commands.reading import Reading

    return Reading(**{field.name: getattr(arguments, field.name) for field in fields(Reading)})


def _completion(arguments: argparse.Namespace) -> int:
    from ironstride.program.commands.completion import completion

    print(completion(arguments.shell, parser_of(print_error)), end="")
    return DONE


_OTHERS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "doctor": _doctor,
    "calibrate": _calibrate,
    "bench": _bench,
    "info": _info,
    "convert": _convert,
    "svd": _svd,
    "completion": _completion,
}
"""Commands that take no network; each imports what it needs when it is called."""
