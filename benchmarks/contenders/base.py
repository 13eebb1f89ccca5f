"""What an adapter hands to the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.drawing import Array


class NotOfferedError(Exception):
    """The library has no such operation; its row says so."""


class Prepared(NamedTuple):
    """An operation bound to its operands, everything that is done once behind it.

    ``run`` is timed and returns the native result, finished; ``read`` turns a native result into row-major arrays that
    can be compared with the reference. ``parts`` are what a decomposition consists of, for its errors. ``estimate`` is
    how many seconds a run takes in one thread, as cost models think; None where none says.
    """

    run: Callable[[], Any]
    read: Callable[[Any], Sequence[Any]]
    compile_seconds: float | None = None
    parts: Callable[[Any], Sequence[Any]] | None = None
    estimate: Callable[[], float | None] | None = None


Prepare = Callable[[Mapping[str, Any], list[Array]], Prepared]
Operations = Mapping[str, Prepare]
"""By name of the operation."""
MATRIX_OPERATIONS: Final = ("svd", "qr", "eigh", "cholesky", "solve", "inv", "det", "triangular_solve")


def as_function(expression: str, names: Mapping[str, Any], count: int) -> Callable[..., Any]:
    """The function of x, y and z that an expression of a row stands for, with a library's own ``exp`` and ``sin``.

    >>> as_function("exp(x) + y", {"exp": abs}, 2)(-2, 3)
    5
    """
    source = f"lambda {', '.join('xyz'[:count])}: {expression}"
    function: Callable[..., Any] = eval(source, dict(names))
    return function


def spelled(arguments: Mapping[str, Any], library: str, names: Mapping[str, Any], count: int) -> Callable[..., Any]:
    """The function of an everyday row: the library's own words for it, or those of all.

    >>> spelled({"spelled": {"": "abs(x)", "torch": "x"}, "axis": None}, "numpy", {}, 1)(-2)
    2
    """
    words: Mapping[str, str] = arguments["spelled"]
    return as_function(words.get(library, words[""]), {**names, "axis": arguments["axis"]}, count)


def read_decomposition(operation: str, parts: Sequence[Any]) -> list[Any]:
    """What two right answers have in common: factors differ by signs, products and spectra do not.

    Args:
        operation: ``svd``, ``qr``, ``eigh`` or one with a single result.
        parts: its results, NumPy arrays with leading batches.

    >>> [x.tolist() for x in read_decomposition("qr", [-np.eye(1)[None], np.ones((1, 1, 1))])]
    [[[[-1.0]]], [[[1.0]]]]
    """
    if operation == "svd":
        u, s, vh = parts
        return [s, (u * s[:, None, :]) @ vh]
    if operation == "qr":
        q, r = parts
        return [q @ r, q.swapaxes(1, 2).conj() @ q]
    if operation == "eigh":
        values, vectors = parts
        return [values, (vectors * values[:, None, :]) @ vectors.swapaxes(1, 2).conj()]
    return list(parts)


def decomposition(
    operation: str, run: Callable[[], Any], parts: Callable[[Any], Sequence[Any]], compile_seconds: float | None = None
) -> Prepared:
    """An operation on matrices, whose results are compared as far as they are determined."""
    return Prepared(run, lambda result: read_decomposition(operation, parts(result)), compile_seconds, parts)


def as_parts(result: Any) -> list[Any]:
    """Of a result, one array or several, NumPy's arrays."""
    return [np.asarray(part) for part in (result if isinstance(result, tuple | list) else (result,))]
