"""Contracts of products: contractions over labelled axes, in any algebra, convolution and pooling."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tensor_runtime.algebras import Semiring
from tensor_runtime.contracts.contract import Contract, declare

Labels = tuple[int, ...]
"""One int for each axis of a tensor; equal labels mean one index."""
Steps = int | tuple[int, ...]
"""One number for all spatial axes, or one each."""
Padding = Literal["VALID", "SAME"] | tuple[tuple[int, int], ...]
"""A rule, or (before, after) for each spatial axis, where negative numbers crop; see ``tensor_runtime.ops.windows``."""


class ContractParams(NamedTuple):
    """Labels of the axes; summed are those that the result has not.

    Labels within one of the three are distinct. Extents of one label are equal, or 1 against another, which repeats; a
    label may be missing from one operand, and from both only if the result has it not either.
    """

    a: Labels
    b: Labels
    result: Labels


class SemiringContractParams(NamedTuple):
    """Labels as for ``ContractParams``, and what sums and products are."""

    a: Labels
    b: Labels
    result: Labels
    algebra: Semiring
    """Its name, dtype rules and functions: ``tensor_runtime.algebras``."""


class ConvolutionParams(NamedTuple):
    """How filters move; ``tensor_runtime.ops.convolution.convolution_windows`` makes numbers of it for every axis."""

    strides: Steps
    """From window to window."""
    padding: Padding
    """Zeros around x."""
    dilation: Steps
    """From element to element of a filter."""
    groups: int
    """Into which the channels of x fall, each of which meets its own part of the filters."""


class PoolingParams(NamedTuple):
    """How windows move; ``tensor_runtime.ops.pooling.pooling_windows`` makes numbers of it for every axis."""

    window: Steps
    """Extents of a window."""
    strides: Steps | None
    """From window to window; None takes its extents."""
    padding: Padding
    """Positions around x that hold no element."""
    dilation: Steps
    """From element to element of a window."""


_PAIR = {"a": "any dtype and layout", "b": "any dtype and layout"}

KERNELS: Final = declare(
    [
        Contract(
            "contract",
            "Sums of products; of Bool, or of and. Integers wrap; the order of additions is the backend's.",
            _PAIR,
            "owned, compact, of the promoted dtype or of a wider one",
            ContractParams,
        ),
        Contract(
            "conj_contract",
            "Sums of products as of `contract`, of the conjugates of a's elements with b's.",
            {"a": "any complex dtype, any layout", "b": "any dtype and layout"},
            "owned, compact, of the promoted dtype or of a wider one",
            ContractParams,
        ),
        Contract(
            "lean_contract",
            "Sums of products as of `contract`, by a way that copies no operand and of the result small blocks.",
            _PAIR,
            "owned, compact, of the promoted dtype or of a wider one",
            ContractParams,
        ),
        Contract(
            "semiring_contract",
            "Sums of products as of `contract` in another algebra; its zero where no element is summed.",
            _PAIR,
            "owned, compact, of the promoted dtype",
            SemiringContractParams,
        ),
        Contract(
            "conv",
            "Cross-correlation with filters: sums over window and channels.",
            {"x": "[N, spatial..., C_in], any layout", "filters": "[spatial..., C_in / groups, C_out], any layout"},
            "[N, windows..., C_out], owned, compact, of the promoted dtype",
            ConvolutionParams,
        ),
        Contract(
            "max_pool",
            "The largest element of each window, NaN if it holds one; padding never is the largest.",
            {"x": "[N, spatial..., C], any dtype but a complex one, any layout"},
            "[N, windows..., C], owned, compact, of the operand's dtype",
            PoolingParams,
        ),
        Contract(
            "mean_pool",
            "The mean of the elements that each window really holds.",
            {"x": "[N, spatial..., C], any dtype and layout"},
            "[N, windows..., C], owned, compact; F64 for integers and Bool, else the operand's dtype",
            PoolingParams,
        ),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
