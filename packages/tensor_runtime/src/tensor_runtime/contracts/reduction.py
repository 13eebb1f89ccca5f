"""Contracts of what runs along axes: reductions, statistics, running sums, and softmax."""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare


class ReduceParams(NamedTuple):
    """Which axes are reduced."""

    axis: int | tuple[int, ...] | None
    """One axis or several, negative ones counting from the end; None is all of them, () is none."""
    keepdims: bool
    """Whether the result keeps them, with extent 1."""


class ArgumentParams(NamedTuple):
    """Along which axis the place of an extreme is looked for."""

    axis: int | None
    """Negative ones count from the end; None counts all elements in row-major order."""
    keepdims: bool
    """Whether the result keeps the axis, or all axes, with extent 1."""


class SpreadParams(NamedTuple):
    """Which axes a variance is taken over, and what its sum is divided by."""

    axis: int | tuple[int, ...] | None
    """As in ``ReduceParams``."""
    keepdims: bool
    """As in ``ReduceParams``."""
    correction: float
    """The sum of squares of N elements is divided by max(N - correction, 0)."""


class NormParams(NamedTuple):
    """Which axes a norm is taken over, and which norm."""

    axis: int | tuple[int, ...] | None
    """As in ``ReduceParams``."""
    keepdims: bool
    """As in ``ReduceParams``."""
    order: float
    """p of the vector norm: (the sum of abs(x)**p)**(1/p); the largest abs(x) at inf, the least at -inf, the number of
    elements that are not 0 at 0."""


class ScanParams(NamedTuple):
    """Along which axis a scan runs."""

    axis: int | None
    """Negative ones count from the end; None is the only axis of rank 1."""


class SoftmaxParams(NamedTuple):
    """Over which axes the elements add up to 1."""

    axis: int | tuple[int, ...] | None
    """As ``axis`` in ``ReduceParams``."""


class NormalizeParams(NamedTuple):
    """Over which axes elements are normalised."""

    axis: int | tuple[int, ...] | None
    """As ``axis`` in ``ReduceParams``."""
    epsilon: float
    """What is added to the mean of squares under the root; 0 or more."""


_X = {"x": "any dtype and layout"}
_ORDERED = {"x": "any dtype but a complex one, any layout"}
_BITS = {"x": "I32, I64 or Bool, any layout"}
_SUMS = "owned, compact; I64 for integers and Bool, which wraps, else the operand's dtype"
_SAME = "owned, compact, of the operand's dtype"
_SPREAD = "owned, compact, real; F64 for integers and Bool, else the operand's component"
_FLOATING = "owned, compact, of the operand's shape; F64 for integers and Bool, else the operand's dtype"

KERNELS: Final = declare(
    [
        Contract("sum", "Sums over axes; 0 of nothing.", _X, _SUMS, ReduceParams),
        Contract("prod", "Products over axes; 1 of nothing.", _X, _SUMS, ReduceParams),
        Contract("max", "Largest elements over axes; NaN if there is one.", _ORDERED, _SAME, ReduceParams),
        Contract("min", "Smallest elements over axes; NaN if there is one.", _ORDERED, _SAME, ReduceParams),
        Contract("any", "Whether an element is not 0 (NaN is not).", _X, "owned, compact, Bool", ReduceParams),
        Contract("all", "Whether no element is 0 (NaN is not).", _X, "owned, compact, Bool", ReduceParams),
        Contract("reduce_and", "Bitwise and over axes; all bits of nothing.", _BITS, _SAME, ReduceParams),
        Contract("reduce_or", "Bitwise or over axes; no bits of nothing.", _BITS, _SAME, ReduceParams),
        Contract(
            "mean",
            "Means over axes; NaN of nothing.",
            _X,
            "owned, compact; F64 for integers and Bool, else the operand's dtype",
            ReduceParams,
        ),
        Contract("var", "Variances over axes, by two passes.", _X, _SPREAD, SpreadParams),
        Contract("std", "Square roots of variances over axes.", _X, _SPREAD, SpreadParams),
        Contract("norm", "Vector norms over axes.", _X, _SPREAD, NormParams),
        Contract(
            "argmax",
            "Where the largest element is: the first NaN if there is one, else the first of equal ones.",
            _ORDERED,
            "owned, compact, I64",
            ArgumentParams,
        ),
        Contract(
            "argmin",
            "Where the smallest element is: the first NaN if there is one, else the first of equal ones.",
            _ORDERED,
            "owned, compact, I64",
            ArgumentParams,
        ),
        Contract("cumsum", "Sums of the elements up to each one.", _X, f"{_SUMS}; the operand's shape", ScanParams),
        Contract("cumprod", "Products of the elements up to each.", _X, f"{_SUMS}; the operand's shape", ScanParams),
        Contract(
            "softmax",
            "exp(x - m) divided by its sum, where m is the largest element.",
            _ORDERED,
            _FLOATING,
            SoftmaxParams,
        ),
        Contract(
            "log_softmax",
            "x - m less the logarithm of the sum of exp(x - m), where m is the largest element.",
            _ORDERED,
            _FLOATING,
            SoftmaxParams,
        ),
        Contract(
            "layer_norm",
            "(x - mean) / sqrt(mean of (x - mean)² + epsilon) over axes.",
            _ORDERED,
            _FLOATING,
            NormalizeParams,
        ),
        Contract(
            "rms_norm",
            "x / sqrt(mean of x² + epsilon) over axes; no square overflows.",
            _ORDERED,
            _FLOATING,
            NormalizeParams,
        ),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
