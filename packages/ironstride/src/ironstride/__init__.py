"""Contract tensor networks from the command line: `ironstride contract FILE`, `ironstride doctor`."""

from ironstride.version import __version__ as __version__
