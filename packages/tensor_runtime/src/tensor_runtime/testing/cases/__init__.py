"""Cases of the conformance suite, one module per family of operations; each has a function ``cases``."""
