"""Rules ``lower.NAME``: operations of the family computed by others, for backends that have no kernel of that name.

Each is called with the operands and the params of the operation's spec, and gives what the operation promises, within
the bounds that its docstring states. A rule reads no element, and calls no operation that has a rule itself.
"""
