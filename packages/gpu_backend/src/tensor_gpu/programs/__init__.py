"""Kernels of our own: their source text for devices, and what they mean, told by kernels of the host."""
