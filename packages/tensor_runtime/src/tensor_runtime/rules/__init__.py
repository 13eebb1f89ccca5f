"""Rules for the runtime's own operations, one folder for each kind and one module for each family of ``ops``.

They call public functions, and import ``ops`` and what is below. Nobody imports them: the registry finds each by its
entry point in the group ``tensor_runtime.rules``, when a backend has no kernel for the operation.
"""
