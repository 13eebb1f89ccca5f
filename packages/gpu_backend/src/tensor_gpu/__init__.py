"""Devices with memory and streams of their own: one interface, and simulated devices behind it."""

from tensor_gpu.version import __version__ as __version__
