"""Substitution: triangular systems in lanes of a register, by the library's BLAS, and by NumPy and SciPy alone."""
