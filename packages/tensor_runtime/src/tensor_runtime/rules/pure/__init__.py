"""Rules ``pure.NAME``: what kernels that write would have written, for backends whose arrays cannot be written.

Each is called with the operands and the params of the operation's spec, and gives the new elements of the first
operand (``tensor_runtime.backends.plugins.pure_arrays``).
"""
