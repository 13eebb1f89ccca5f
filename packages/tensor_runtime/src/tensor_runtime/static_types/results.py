"""What the type checker learns of dtypes: decorators that say which dtype a function's result has.

Each stands for a rule of ``dtype_rules``: with ``@inexact_dtype`` before it, ``exp(a: Tensor, /, out=None) -> Tensor``
gives ``TypedTensor[F64]`` for a ``TypedTensor[F64]`` or a ``TypedTensor[I64]``, and ``Tensor`` for a ``Tensor``. Where
``out`` is given, the result is ``out``, of its own type. At run time each decorator returns the function as it is.

A Python number is weak: it leaves the dtype of a tensor whose kind can hold it. Where it cannot (an integer tensor and
a float), and where two dtypes meet, the result is a ``Tensor``, whose dtype ``typed`` tells the checker.
"""


def same_dtype(f):
    """The function as it is; so the others."""
    return f


accumulator_dtype = same_dtype
boolean_dtype = same_dtype
common_dtype = same_dtype
comparison_dtype = same_dtype
component_dtype = same_dtype
index_dtype = same_dtype
inexact_component_dtype = same_dtype
inexact_dtype = same_dtype
integer_dtype = same_dtype
quotient_dtype = same_dtype
same_dtype_into = same_dtype
same_dtype_out = same_dtype
