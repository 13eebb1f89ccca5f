"""One module per library family: how each computes the operations that rows name.

A module holds tables from the name of an operation to a function that takes the arguments of a row and its operands
and returns a ``Prepared``. An operation that a table lacks is not offered by that library.
"""
