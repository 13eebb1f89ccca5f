"""The CPU backend: kernels on NumPy, found by ``tensor_runtime`` through entry points and imported by nobody."""

from tensor_cpu.version import __version__ as __version__
