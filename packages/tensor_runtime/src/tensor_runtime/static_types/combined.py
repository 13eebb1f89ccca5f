"""What ``results`` is to functions of one or two operands, for products, joins, parts, choices and views to write."""


def contraction_dtype(f):
    """The function as it is; so the others."""
    return f


joined_dtype = contraction_dtype
mutable_dtype = contraction_dtype
paired_dtype = contraction_dtype
parts_dtype = contraction_dtype
product_dtype = contraction_dtype
selection_dtype = contraction_dtype
