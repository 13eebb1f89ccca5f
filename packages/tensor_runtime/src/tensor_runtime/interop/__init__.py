"""Tensors inside other libraries that compute with anybody's arrays; none of these is imported before it is asked for.

opt_einsum needs nothing: it finds ``tensor_runtime.tensordot`` by itself. Code written against the array API standard
asks for ``x.__array_namespace__()``; code that writes into what it made needs a block of ``item_assignment()``.

>>> from tensor_runtime.interop import use_with_autoray
>>> use_with_autoray()  # from here on quimb and cotengra compute with tensors
"""

from tensor_runtime.interop.with_autoray import use_with_autoray
from tensor_runtime.interop.with_einops import use_with_einops
from tensor_runtime.ops.item_assignment import item_assignment

__all__ = ["item_assignment", "use_with_autoray", "use_with_einops"]
