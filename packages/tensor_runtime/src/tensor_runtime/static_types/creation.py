"""The decorators of functions that take ``dtype=``: it is the result's dtype, also for the type checker.

Given as one of the seven classes, it makes the result a ``TypedTensor`` of it; left out, one of the function's default,
where that does not follow from the data. A name in a string, or a variable, says nothing to the checker.
"""


def typed_zeros(f):
    """The function as it is; so the others."""
    return f


typed_arange = typed_zeros
typed_asarray = typed_zeros
typed_cast = typed_zeros
typed_convert = typed_zeros
typed_eye = typed_zeros
typed_from_flat = typed_zeros
typed_from_function = typed_zeros
typed_full = typed_zeros
typed_full_like = typed_zeros
typed_integers = typed_zeros
typed_linspace = typed_zeros
typed_tabulate = typed_zeros
typed_tensor = typed_zeros
typed_typed = typed_zeros
typed_uniform = typed_zeros
typed_zeros_like = typed_zeros
