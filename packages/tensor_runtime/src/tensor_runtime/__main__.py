"""``python -m tensor_runtime doctor``."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from tensor_runtime import doctor


def main(arguments: list[str], /) -> int:
    """Run the subcommand named; the result is the exit status, 2 for wrong usage."""
    if arguments == ["doctor"]:
        return doctor.main()
    found = " ".join(arguments) or "no subcommand"
    print(f"python -m tensor_runtime: found {found!r}; accepted: doctor", file=sys.stderr)
    return 2


def run(arguments: list[str], /) -> int:
    """As :func:`main`, with every stream written out; 2 where the output cannot be, 141 where its reader went away."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a plug-in's words must not end the report
    try:
        status = main(arguments)
        if sys.stdout is not None:  # None when the caller closed it
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        _abandon(sys.stdout)
        return 141
    except OSError as error:  # a full disk
        print(f"python -m tensor_runtime: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        _abandon(sys.stdout)
        return 2


def _abandon(stream: TextIO) -> None:
    """Python flushes its streams once more when it ends; give this one somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
