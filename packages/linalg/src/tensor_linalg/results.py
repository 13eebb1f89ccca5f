"""The text of named tuples of tensors: one field after the other, each with its dtype, its shape and a few elements."""

from __future__ import annotations

from typing import Any, Final

_MOST_LINES: Final = 6
"""Lines of elements that one field gets; what is cut is counted."""


def fields_text(result: Any, /) -> str:
    """What ``repr`` gives for a named tuple of tensors.

    A tensor on a device shows its metadata only, as everywhere.

    >>> import tensor_linalg as tl
    >>> import tensor_runtime as tr
    >>> print(tl.eigh(tr.tensor([[2.0, 0.0], [0.0, 3.0]])))
    EighResult:
      eigenvalues: Tensor(F64, (2,), column-major, cpu)
         2.0  3.0
      eigenvectors: Tensor(F64, (2, 2), column-major, cpu)
         1.0  0.0
         0.0  1.0
    """
    lines = [f"{type(result).__name__}:"]
    for name, value in zip(result._fields, result, strict=True):
        head, *rest = repr(value).split("\n")
        lines.append(f"  {name}: {head}")
        lines += [f"    {line}" for line in rest[:_MOST_LINES]]
        if len(rest) > _MOST_LINES:
            lines.append(f"     ... {len(rest) - _MOST_LINES} more lines")
    return "\n".join(lines)
