"""Text of tensors."""
from __future__ import annotations
from tensor_runtime.tensor import Tensor
def tensor_text(x: Tensor, /) -> str:
    return f"Tensor({x.dtype}, {x.shape})"
def html_text(x: Tensor, /) -> str:
    return tensor_text(x)
