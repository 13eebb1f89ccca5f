"""Execution: steps bound to the forms of operands and run by kernels, with every option of a call.

Imports ``steps`` and what is below; a plan is handed in, and named for type checkers alone.
"""
