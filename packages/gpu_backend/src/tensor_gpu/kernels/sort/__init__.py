"""The kernels of this family, each module with a table ``BINDERS``."""
