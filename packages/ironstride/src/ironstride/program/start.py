"""Where the program begins: Ctrl-C while Python still imports it is told as it is later."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the program on the command line and return its exit status.

    Raises:
        SystemExit: after `--help`, `--version` and wrong arguments, as argparse does.
    """
    try:
        from ironstride.program.main import main as run

        return run()
    except KeyboardInterrupt:  # before there is a handler
        sys.stderr.write("ironstride: interrupted\n")
        return 130
