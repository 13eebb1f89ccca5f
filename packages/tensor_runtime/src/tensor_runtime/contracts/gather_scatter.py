"""Contracts of kernels to which index values say where elements are, and of those that find and sort them.

An index out of range is an ``IndexingError`` that names the first such one in column-major order of the indices; the
kernel looks for it (``tensor_runtime.backends.shared.value_errors`` words it). Nothing is clipped.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare


class TakeParams(NamedTuple):
    """Which axis is indexed."""

    axis: int | None
    """Negative ones count from the end; None counts the elements in row-major order."""


class SliceOptions(NamedTuple):
    """How slices lie, as the user said it; None stands for the leading-axis case. StableHLO's names stand in brackets.

    ``tensor_runtime.ops.slice_geometry`` turns it into numbers for every axis, with every check.
    """

    offset_axes: tuple[int, ...] | None = None
    """Axes of the tensor of all slices that run inside one [offset_dims, update_window_dims]."""
    collapsed_axes: tuple[int, ...] | None = None
    """Axes of the operand that it leaves out [collapsed_slice_dims, inserted_window_dims]."""
    start_axes: tuple[int, ...] | None = None
    """The operand's axis for each component of an index [start_index_map, scatter_dims_to_operand_dims]."""
    vector_axis: int | None = None
    """Axis of the indices that holds the components [index_vector_dim]."""
    slice_sizes: tuple[int, ...] | None = None
    """For each axis of the operand; ``gather`` only, as updates have a shape [slice_sizes]."""
    from_end: bool = False
    """Whether a negative start counts from the end, once, as ``take`` counts; slices have extent 1 there. None of the
    public functions asks for it; indexing by several tensors does."""


class ScatterParams(NamedTuple):
    """What becomes of elements and updates, and how slices lie."""

    mode: Literal["replace", "add", "multiply", "min", "max"]
    """For an element and an update that name one place; "replace" keeps the last update in column-major order."""
    options: SliceOptions
    """Where the slices are."""


class DynamicSliceParams(NamedTuple):
    """How large the slice is."""

    sizes: tuple[int, ...]
    """One for each axis."""


class SortParams(NamedTuple):
    """What is sorted, and which way."""

    axis: int | None
    """Negative ones count from the end; None sorts the line of all elements in row-major order."""
    descending: bool
    """Whether the greatest comes first; NaN comes last all the same, and equal elements keep their order."""


class UniqueParams(NamedTuple):
    """What is asked about the distinct elements."""

    indices: bool
    """Where the first of each is, in row-major order."""
    inverse: bool
    """Which of them each element is."""
    counts: bool
    """How many there are of each."""
    equal_nan: bool
    """Whether all NaN are one."""


_X = {"x": "any dtype and layout"}
_INDICES = {"indices": "I32 or I64, any layout"}
_SAME = "owned, compact, of the dtype of x"
_STARTS = {"starts": "I32 or I64, one for each axis of x"}
_NUMBERS = {"starts": "a tuple of ints, one for each axis of x"}

KERNELS: Final = declare(
    [
        Contract("take", "Slices at indices along an axis, from -N to N - 1.", {**_X, **_INDICES}, _SAME, TakeParams),
        Contract(
            "take_along_axis",
            "Elements at indices of each line's own, from -N to N - 1; extents beside the axis broadcast.",
            {**_X, **_INDICES},
            _SAME,
            TakeParams,
        ),
        Contract(
            "put_along_axis",
            "Writes values at indices of each line's own, all or none, as if operands that overlap were copied first.",
            {"target": "any layout that names no element twice", **_INDICES, "values": "convert to the target's dtype"},
            "None; the target has changed, and is the form that was bound",
            TakeParams,
        ),
        Contract("gather", "Slices whose places are index values.", {**_X, **_INDICES}, _SAME, SliceOptions),
        Contract(
            "scatter",
            "A copy with slices combined with updates.",
            {**_X, **_INDICES, "updates": "convert to the dtype of x; any layout"},
            f"{_SAME} and shape",
            ScatterParams,
        ),
        Contract(
            "dynamic_slice",
            "The slice of given sizes at given starts, which must lie inside.",
            {**_X, **_STARTS},
            _SAME,
            DynamicSliceParams,
            _NUMBERS,
            frozenset({"starts"}),
        ),
        Contract(
            "dynamic_update_slice",
            "A copy with the slice at given starts replaced.",
            {**_X, "update": "converts to the dtype of x; any layout", **_STARTS},
            f"{_SAME} and shape",
            None,
            _NUMBERS,
            frozenset({"starts"}),
        ),
        Contract(
            "nonzero",
            "Where elements are not 0, in row-major order: one line of indices for each axis.",
            _X,
            "a Counted of arrays; bound to the forms of the largest ones, I64 of as many elements as x has",
        ),
        Contract("sort", "Elements in order, stable.", _X, _SAME, SortParams),
        Contract("argsort", "Indices that would sort, stable.", _X, "owned, compact, I64", SortParams),
        *(
            Contract(
                f"searchsorted_{side}",
                f"For each value the index of the first element of a line that is {what}; its extent if none is.",
                {"line": "rank 1, any dtype, ascending", "values": "any dtype; both are compared in the common one"},
                "owned, compact, I64, of the shape of values",
            )
            for side, what in (("left", "not less"), ("right", "greater"))
        ),
        Contract(
            "unique",
            "Distinct elements in order, then the indices, the inverse and the counts that are asked for.",
            _X,
            "a Counted of arrays; bound to the forms of the largest ones, the inverse of the shape of x",
            UniqueParams,
        ),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
