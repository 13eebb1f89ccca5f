"""Hypothesis strategies for shapes, layouts, elements and host tensors; needs the extra ``testing``."""
