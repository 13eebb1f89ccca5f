"""Named tuples of tensors as text and as pages: field after field, with dtype, shape and a few elements of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tensor_runtime.tensors.tensor import Tensor

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    FactorT = TypeVar("FactorT", bound=Tensor, default=Tensor, covariant=True)
    SizesT = TypeVar("SizesT", bound=Tensor, default=Tensor, covariant=True)
else:
    from typing import TypeVar  # which learns of defaults in 3.13

    FactorT = TypeVar("FactorT", bound=Tensor, covariant=True)
    SizesT = TypeVar("SizesT", bound=Tensor, covariant=True)
"""The tensors of a named tuple for the type checker: factors of the operand's dtype, and what is real, such as singular
values. Where a named tuple is written without them, it knows nothing of their dtypes."""

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


def fields_html(result: Any, /) -> str:
    """What notebooks show of a named tuple of tensors: each field under its name, which folds it away.

    >>> import tensor_linalg as tl
    >>> import tensor_runtime as tr
    >>> page = fields_html(tl.eigh(tr.tensor([[2.0, 0.0], [0.0, 3.0]])))
    >>> page.count("<details open=''>"), page.count("<table>")
    (2, 2)
    """
    from html import escape  # only notebooks need it

    parts = [f"<code>{escape(type(result).__name__)}</code>"]
    for name, value in zip(result._fields, result, strict=True):
        shown = getattr(value, "_repr_html_", None)
        content = f"<pre>{escape(repr(value))}</pre>" if shown is None else shown()
        parts.append(f"<details open=''><summary>{escape(name)}</summary>{content}</details>")
    return f"<div>{''.join(parts)}</div>"
