"""What stands for CuPy's modules where there is no device: the same functions with the same arguments, on the host.

Memory and streams are those of the simulated devices, so streams run late, and freed memory holds nothing. Every call
is noted, and refused where CUDA would answer with wrong numbers: another current device, another current stream, a
workspace of another size. ``make test-cupy`` compares the arguments' names with those of the wheel.
"""
