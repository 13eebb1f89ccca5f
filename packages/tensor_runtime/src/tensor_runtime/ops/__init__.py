"""The public operations, one module per family: the spec of each, and the function that users call.

``tensor_runtime`` exports them all. What the modules stand on, from forms to the execution of a call, lies one
folder above.
"""
