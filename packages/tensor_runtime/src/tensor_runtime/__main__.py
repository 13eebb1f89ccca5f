"""``python -m tensor_runtime doctor``."""

from __future__ import annotations

import sys

from tensor_runtime import doctor


def main(arguments: list[str], /) -> int:
    """Run the subcommand named; the result is the exit status."""
    if arguments == ["doctor"]:
        return doctor.main()
    found = " ".join(arguments) or "no subcommand"
    print(f"python -m tensor_runtime: found {found!r}; accepted: doctor", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
