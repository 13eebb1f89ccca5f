"""NumPy, which is also the reference, NumPy writing into warm arrays, and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from benchmarks.contenders.base import (
    MATRIX_OPERATIONS,
    NotOfferedError,
    Operations,
    Prepared,
    as_function,
    as_parts,
    decomposition,
    spelled,
)
from benchmarks.drawing import Array


def read(result: Any) -> list[Any]:
    """The result as it is."""
    return [result]


def permute(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A fresh row-major copy of the permuted view."""
    view = arrays[0].transpose(arguments["axes"])
    return Prepared(lambda: np.array(view, order="C", copy=True), read)


def permute_into(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The copy into an array that exists."""
    view = arrays[0].transpose(arguments["axes"])
    out = np.zeros(view.shape)

    def run() -> Array:
        np.copyto(out, view)
        return out

    return Prepared(run, read)


def elementwise(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The expression as it is written."""
    arrays = with_views(arguments, arrays)
    function = as_function(arguments["expression"], {"exp": np.exp, "sin": np.sin}, len(arrays))
    return Prepared(lambda: function(*arrays), read)


def with_views(arguments: Mapping[str, Any], arrays: list[Array]) -> list[Array]:
    """The operands, those with reversed axes as views."""
    return [array.T if k in arguments.get("reversed", ()) else array for k, array in enumerate(arrays)]


STEPS: Final[Mapping[str, str]] = {
    "x + y": "add x y o",
    "x * y": "multiply x y o",
    "exp(x)": "exp x o",
    "2.5*x + 1.5*y": "multiply x 2.5 o; multiply y 1.5 t; add o t o",
    "exp(-x*x)*sin(y) + z": "multiply x x o; negative o o; exp o o; sin y t; multiply o t o; add o z o",
}
"""Expressions as ufuncs into the arrays ``o``, which is the result, and ``t``."""


def elementwise_into(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """One ufunc after the other, into arrays that exist."""
    arrays = with_views(arguments, arrays)
    if arguments["expression"] not in STEPS:
        raise NotOfferedError
    out, spare = (np.zeros(np.broadcast_shapes(*[array.shape for array in arrays])) for _ in range(2))
    names: dict[str, Any] = {**dict(zip("xyz", arrays, strict=False)), "o": out, "t": spare}
    calls = []
    for step in STEPS[arguments["expression"]].split("; "):
        ufunc, *operands, target = step.split()
        given = [names[word] if word in names else float(word) for word in operands]
        calls.append(partial(getattr(np, ufunc), *given, out=names[target]))

    def run() -> Array:
        for call in calls:
            call()
        return out

    return Prepared(run, read)


def reduction(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A sum, mean, spread or norm along one axis or all."""
    array, axis = arrays[0], arguments["axis"]
    if arguments["function"] == "norm":
        return Prepared(lambda: np.linalg.vector_norm(array, axis=axis), read)
    function = getattr(np, arguments["function"])
    return Prepared(lambda: function(array, axis=axis), read)


def call(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A statement."""
    function = as_function(arguments["statement"], {**vars(np), "o": np.zeros_like(arrays[0])}, len(arrays))
    return Prepared(lambda: function(*arrays), read)


def everyday(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """What users type."""
    function = spelled(arguments, "numpy", vars(np), len(arrays))
    return Prepared(lambda: function(*arrays), read)


def max_plus(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """By broadcasting: all sums at once, then the largest of each row."""
    x, y = arrays[0], np.ascontiguousarray(arrays[1].T)
    return Prepared(lambda: (x[:, None, :] + y[None, :, :]).max(axis=2), read)


def max_plus_by_rows(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """By broadcasting one row at a time into an array that stays in the cache."""
    x, y = arrays[0], np.ascontiguousarray(arrays[1].T)
    out, sums = np.zeros((len(x), len(y))), np.zeros_like(y)

    def run() -> Array:
        for row, result in zip(x, out, strict=True):
            np.add(y, row, out=sums)
            np.max(sums, axis=1, out=result)
        return out

    return Prepared(run, read)


def matrices(operation: str, function: Callable[..., Any]) -> Callable[[Mapping[str, Any], list[Array]], Prepared]:
    """A function of batches of matrices, batch axes first."""

    def prepare(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
        return decomposition(operation, lambda: function(*arrays), as_parts)

    return prepare


def scipy_matrices(operation: str) -> Callable[[Mapping[str, Any], list[Array]], Prepared]:
    """SciPy's function, without its search for NaN."""

    def prepare(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
        import scipy.linalg

        options: dict[str, Any] = {"check_finite": False}
        options |= {"svd": {"full_matrices": False}}.get(operation, {})
        options |= {"lower": True} if operation in ("cholesky", "triangular_solve") else {}
        name = {"triangular_solve": "solve_triangular"}.get(operation, operation)
        return matrices(operation, partial(getattr(scipy.linalg, name), **options))(arguments, arrays)

    return prepare


NUMPY: Operations = {
    "call": call,
    "everyday": everyday,
    "permute": permute,
    "elementwise": elementwise,
    "reduction": reduction,
    "max-plus": max_plus,
    **{name: matrices(name, getattr(np.linalg, name)) for name in MATRIX_OPERATIONS if hasattr(np.linalg, name)},
    "triangular_solve": matrices("triangular_solve", np.linalg.solve),  # what NumPy has for it
    "svd": matrices("svd", partial(np.linalg.svd, full_matrices=False)),
}
NUMPY_INTO: Operations = {"permute": permute_into, "elementwise": elementwise_into, "max-plus": max_plus_by_rows}
SCIPY: Operations = {name: scipy_matrices(name) for name in MATRIX_OPERATIONS}
