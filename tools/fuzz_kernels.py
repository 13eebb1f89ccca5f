"""Native kernels beside naive loops, on arrays drawn, for as long as one has time: ``make test-long``.

The fuzz drivers of the CPU backend are built with the address and undefined-behaviour sanitizers, for every version of
the kernels that this processor runs, and start from a new seed in each run. A failure prints its seed, and

    python tools/fuzz_kernels.py --seed 1234 [DRIVER]

repeats the example of that seed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from native_builds import compiler_name, extension, sanitized_drivers

FOLDER: Final = Path(__file__).resolve().parents[1] / "out" / "fuzz"
HOURS: Final = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is out of date and run it; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver", nargs="?", help="default: all of them")
    parser.add_argument("--budget", type=float, default=HOURS * 3600.0, help=f"seconds; default: {HOURS} hours")
    parser.add_argument("--seed", type=int, default=None, help="repeat the example of this seed only")
    options = parser.parse_args(arguments)
    if compiler_name() is None:
        print("no C compiler: the native kernels are not built, and so not fuzzed")
        return 0
    extension(FOLDER, NATIVE_SANITIZE="1")
    seconds = options.budget if options.seed is None else 0
    first = int(time.time()) if options.seed is None else options.seed
    command = [sanitized_drivers(FOLDER), str(seconds), str(first), *([options.driver] if options.driver else [])]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
