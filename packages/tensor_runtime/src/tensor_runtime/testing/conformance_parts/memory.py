"""The part of the conformance suite that no result shows: where elements lie, whose they are, which devices there are.

A backend may compute every result rightly and yet lend the host's memory out as a copy, place a view where it is not,
or claim a device that it lacks. Here its methods are asked themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings

from tensor_core.dtypes import DTYPES, F64, DType
from tensor_core.errors import (
    OverlappingViewError,
    PlacementError,
    ReadOnlyError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import element_count
from tensor_runtime.backends.plugins.families import family_table
from tensor_runtime.backends.registry import placements_of, registry
from tensor_runtime.dispatch.out import as_target, written
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.indexing import copy_into, mutable_view
from tensor_runtime.ops.views import reverse_view, transpose_view
from tensor_runtime.placement import DeviceId, Placement
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import download, upload
from tensor_runtime.testing.comparing import difference, inverted
from tensor_runtime.testing.oracle import Host, whole_numbers
from tensor_runtime.testing.strategies import ViewedTensor, viewed_tensors

Lacking = tuple[str, str]
"""An operation that a backend lacks, and the reason that it gives."""
VIEWS: Final[Mapping[str, tuple[Callable[[Tensor], Tensor], int]]] = {
    "x": (lambda x: x, 0),
    "x[1:]": (lambda x: x[1:], 1),
    "x[:, 2]": (lambda x: x[:, 2], 8),
    "x[3, ::2]": (lambda x: x[3, ::2], 3),
    "x.T[2:]": (lambda x: transpose_view(x)[2:], 8),
    "x[::-1]": (lambda x: reverse_view(x, 0), 3),
    "x backwards, [1:]": (lambda x: reverse_view(x, (0, 1))[1:], 22),
    "x[1:][1:, 1:]": (lambda x: x[1:][1:, 1:], 6),
}
"""Views of a compact tensor x of shape (4, 6), each with its offset in elements."""

PARTS: Final[Mapping[str, Callable[[Tensor], Tensor]]] = {
    "x[0, 0]": lambda x: x[0, 0],
    "x[:, 0]": lambda x: x[:, 0],
    "x[:, :5]": lambda x: x[:, :5],
    "x[:]": lambda x: x[:],
    "x.T.T": lambda x: x.T.T,
    "x[::-1, None][::-1, 0]": lambda x: x[::-1, None][::-1, 0],
}
"""Compact views of a part of it, or of all, that begin where it does."""


class MemoryConformance:
    """What :class:`tensor_runtime.testing.conformance.BackendConformance` asks of a backend's memory and devices.

    >>> VIEWS["x[:, 2]"][1]
    8
    """

    @pytest.mark.parametrize("name", VIEWS)
    def test_a_view_begins_where_its_layout_says(self, name: str, placement: Placement) -> None:
        """``offset_of`` counts elements from the allocation's first, and ``location_of`` the same in bytes."""
        backend = registry.backend_for(placement)
        for dtype in DTYPES:
            base = upload(whole_numbers((4, 6), dtype), placement)
            view, offset = VIEWS[name][0](base), VIEWS[name][1]
            found = backend.offset_of(view._array)
            require(found == offset, f"offset_of({name}) is {found} elements, expected {offset}")
            space, start = backend.location_of(base._array)
            where = backend.location_of(view._array)
            expected = (space, start + offset * dtype.itemsize)
            require(where == expected, f"location_of({name}) of {dtype} is {where}, expected {expected}")

    @pytest.mark.parametrize("part", PARTS)
    def test_a_view_of_a_tensor_is_no_output(self, part: str, placement: Placement) -> None:
        """``out=`` takes an owned tensor, and refuses a view that begins where it does."""
        x = upload(whole_numbers((4, 6), F64), placement)
        view = PARTS[part](x)
        before = download(x).tobytes()
        try:
            as_target("out", view)
        except ReadOnlyError:
            require(download(x).tobytes() == before, f"out={part} was refused and has changed x")
        else:
            require(False, f"out: {part} is taken for an owned tensor")
        require(as_target("out", x).shape == x.shape, "out: an uploaded tensor is taken for a view")

    def test_any_chain_of_views_begins_where_the_hosts_does(self, placement: Placement) -> None:
        """Views of views have the offsets that the host's layouts give."""

        @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of it
        @given(viewed_tensors(placement))
        def holds(viewed: ViewedTensor) -> None:
            if element_count(viewed.tensor.shape):  # where nothing is named, nothing begins
                found, expected = viewed.tensor.layout.offset, viewed.host.layout.offset
                require(found == expected, f"after {viewed.steps}: offset {found}, expected {expected}")

        holds()

    def test_two_tensors_lie_apart(self, placement: Placement) -> None:
        """In one space of addresses, no byte belongs to two allocations."""
        backend = registry.backend_for(placement)
        kept = [upload(whole_numbers((4, 6), F64), placement) for _ in range(4)]
        starts = [backend.location_of(x._array) for x in kept]
        for number, (space, start) in enumerate(starts):
            for other_space, other in starts[:number]:
                apart = space != other_space or abs(start - other) >= kept[0].nbytes
                require(apart, f"location_of: two tensors of {kept[0].nbytes} bytes are at {start} and {other}")

    @pytest.mark.parametrize(
        ("operand", "out", "refused"),
        [
            (slice(0, 3), slice(1, 4), True),
            (slice(1, 4), slice(0, 3), True),
            (slice(0, 3), slice(2, None, -1), True),
            (slice(0, 4), slice(0, 4), False),
            (slice(0, 3), slice(3, 6), False),
            (slice(0, 6, 2), slice(1, 6, 2), False),
        ],
        ids=str,
    )
    def test_an_output_that_overlaps_an_operand_is_refused(
        self, operand: slice, out: slice, refused: bool, placement: Placement
    ) -> None:
        """Partly shared or in another order, but neither the operand itself nor what lies beside it."""
        x = upload(whole_numbers((6,), F64), placement)
        source, target = x[operand], mutable_view(x)[out]
        result = full(target.shape, 7.0, placement=placement)
        try:
            written("out", target, result, source)
        except OverlappingViewError:
            require(refused, f"out=x[{out}] with the operand x[{operand}] is refused")
            return
        require(not refused, f"out=x[{out}] is taken, though the operand x[{operand}] shares elements with it")

    def test_an_output_in_other_memory_is_taken(self, placement: Placement) -> None:
        """An operand elsewhere shares nothing, wherever it begins there."""
        x, other = (upload(whole_numbers((6,), F64), placement) for _ in range(2))
        written("out", mutable_view(x)[1:], full((5,), 7.0, placement=placement), other, other[1:])

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_upload_and_download_copy(self, dtype: DType, placement: Placement) -> None:
        """What is written into the host's tensor afterwards is not in the device's, and the other way round."""
        for shape in ((), (1,), (3,), (4, 6)):
            before = whole_numbers(shape, dtype)
            given = before.copy()
            x = upload(given, placement)
            overwrite(given)
            require(difference(download(x), before) is None, f"upload of {dtype} {shape} shares the host's memory")
            taken = download(x)
            overwrite(taken)
            require(difference(download(x), before) is None, f"download of {dtype} {shape} lends the tensor's memory")
            taken = download(x)
            copy_into(mutable_view(x), upload(inverted(before), placement))
            require(difference(taken, before) is None, f"download of {dtype} {shape} changes when the tensor does")

    def test_it_has_the_placements_that_it_lists_and_no_other(self, placement: Placement) -> None:
        """Tensors are made where ``placements()`` says, and refused elsewhere."""
        backend = registry.backend_for(placement)
        listed = list(placements_of(backend))
        require(placement in listed, f"placements() lacks {placement}")
        for place in listed:
            require(
                place.device is not None and place.device.kind is backend.device_kind,
                f"placements() lists {place}, which is no device of kind {backend.device_kind.short!r}",
            )
            there = upload(whole_numbers((3,), F64), place)
            require(there.placement is place, f"an upload to {place} is on {there.placement}")
        ordinals = [place.device.ordinal for place in listed if place.device is not None]
        nowhere = Placement(placement.memory_kind, DeviceId(backend.device_kind, max(ordinals) + 1))
        with pytest.raises(PlacementError):
            upload(whole_numbers((3,), F64), nowhere)

    def test_what_it_offers_it_does_not_lack(self, placement: Placement) -> None:
        """``operations()`` and ``unsupported()`` name no kernel both; ``describe()`` gives words."""
        backend = registry.backend_for(placement)
        both = backend.operations() & set(backend.unsupported())
        require(not both, f"operations() and unsupported() both name {sorted(both)}")
        facts: Any = backend.describe()
        require(all(type(one) is str for fact in facts.items() for one in fact), f"describe() gives {facts!r}")
        backend.synchronize()


def overwrite(host: HostTensor[Any], /) -> None:
    """Put another number in place of every element.

    >>> x = HostTensor.from_nested([1, 2])
    >>> overwrite(x)
    >>> x.to_nested() == [1, 2]
    False
    """
    other: Host = inverted(host)
    for place in range(element_count(host.shape)):
        index = tuple(place // element_count(host.shape[:axis]) % n for axis, n in enumerate(host.shape))
        host[index] = other[index]


def check_unsupported(error: UnsupportedOperationError, placement: Placement, where: str, /) -> Lacking:
    """An operation that a backend lacks is refused with the reason that the backend states.

    A backend need not list what it cannot have heard of: operations of a family for which no installed backend has a
    kernel itself. They count as lacking, too.

    Returns:
        The operation and the reason.

    Raises:
        AssertionError: the backend states none, or the error another one.

    >>> from tensor_runtime.placement import CPU
    >>> check_unsupported(UnsupportedOperationError("exp: not here", operation="exp"), CPU, "a case")
    Traceback (most recent call last):
    AssertionError: a case: refused (exp: not here), but unsupported() does not list 'exp'
    """
    lacking = registry.backend_for(placement).unsupported()
    operation = getattr(error, "operation", None)
    family = "" if operation is None or operation in lacking else family_unheard_of(operation)
    if family:
        return str(operation), f"an operation of the family {family}, which no backend has itself"
    require(operation in lacking, f"{where}: refused ({error}), but unsupported() does not list {operation!r}")
    require(lacking[str(operation)] in str(error), f"{where}: the error does not give the reason: {error}")
    return str(operation), lacking[str(operation)]


def family_unheard_of(operation: str, /) -> str:
    """The family that binds a kernel of this name, where no installed backend has such a kernel itself; else empty.

    >>> family_unheard_of("svd"), family_unheard_of("nothing")
    ('', '')
    """
    family = family_table.of_kernel(operation)
    for row in registry.backends() if family else ():
        try:
            if operation in registry.backend(row.name).operations():
                return ""
        except TensorError:  # cannot be used here
            continue
    return family


def require(holds: bool, message: str, /) -> None:
    """Fail with a message, also where Python leaves ``assert`` out.

    >>> require(2 < 1, "2 is no less than 1")
    Traceback (most recent call last):
    AssertionError: 2 is no less than 1
    """
    if not holds:
        raise AssertionError(message)
