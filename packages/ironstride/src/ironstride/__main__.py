"""`python -m ironstride` is the program `ironstride`."""

from __future__ import annotations

import sys

from ironstride.program.start import main

if __name__ == "__main__":
    sys.exit(main())
