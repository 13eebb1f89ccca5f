"""The search for contraction orders, and for the labels to slice: :func:`tensor_einsum.search.engine.search`."""
