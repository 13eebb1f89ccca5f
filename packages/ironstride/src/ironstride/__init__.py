"""Contract tensor networks from the command line: `ironstride contract`, `plan`, `calibrate`, `doctor`."""

from ironstride.version import __version__ as __version__
