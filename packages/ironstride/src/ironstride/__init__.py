"""Contract tensor networks from the command line: `ironstride contract FILE`, `ironstride doctor`."""
