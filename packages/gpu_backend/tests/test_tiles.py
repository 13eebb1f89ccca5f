"""Permutations by tiles: which copies go so, neighbours that are moved together, and that sources do what they mean."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from gpu_programs.comparing import difference
from gpu_programs.recording import Noted, recorded
from gpu_programs.running import Hosted, RunError
from tensor_gpu.device.program import Program
from tensor_gpu.kernels.tiling import LEAST_ELEMENTS, MOST_BLOCKS, RUN, SECTOR_BYTES, Tiling, tiling
from tensor_gpu.kernels.walks import walk
from tensor_gpu.programs.transposition import MOST_ELEMENTS

Array = np.ndarray[Any, Any]
LANES = 32
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((75, 64), (1, 0)),
    ((129, 65), (1, 0)),
    ((4099, 5), (1, 0)),
    ((3, 1501), (1, 0)),
    ((17, 19, 23), (2, 1, 0)),
    ((17, 19, 23), (1, 2, 0)),
    ((5, 40, 3, 40), (2, 0, 3, 1)),
    ((6, 5, 4, 5, 7), (4, 1, 3, 0, 2)),
    ((2,) * 13, (7, 2, 11, 0, 5, 9, 1, 10, 3, 8, 4, 12, 6)),
    ((3,) * 8, (3, 1, 6, 0, 7, 2, 5, 4)),
]


@st.composite
def permuted(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape of some thousands of elements, and an order of its axes."""
    extents: list[int] = []
    while prod(extents) < LEAST_ELEMENTS:
        extents.append(draw(st.sampled_from([2, 2, 2, 3, 5, 7, 16, 31, 33, 64, 100])))
    return tuple(extents), tuple(draw(st.permutations(range(len(extents)))))


def compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[:axis]) for axis in range(len(shape)))


def tiles_of(shape: tuple[int, ...], order: tuple[int, ...], itemsize: int) -> tuple[Any, Tiling | None]:
    """The walk of a copy of a compact array with its axes in an order, and its tiles."""
    made = tuple(shape[axis] for axis in order)
    steps = walk(made, [compact(made), tuple(compact(shape)[axis] for axis in order)])
    return steps, tiling(steps.extents, *steps.strides, itemsize)


def offsets_of(values: tuple[int, ...], chunks: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """Of the elements of one tile, in the order that place values give."""
    return [
        sum(i // value % chunk * stride for value, chunk, stride in zip(values, chunks, strides, strict=True))
        for i in range(prod(chunks))
    ]


def sectors(offsets: list[int], itemsize: int) -> float:
    """Sectors of memory that warps touch, for each that their elements would fill."""
    warps = [offsets[start : start + LANES] for start in range(0, len(offsets), LANES)]
    touched = sum(len({offset * itemsize // SECTOR_BYTES for offset in warp}) for warp in warps)
    return touched * SECTOR_BYTES / (len(offsets) * itemsize)


@given(permuted(), st.sampled_from([4, 8, 16]))
def test_a_tile_is_read_and_written_once_and_by_neighbours(
    case: tuple[tuple[int, ...], tuple[int, ...]], itemsize: int
) -> None:
    steps, found = tiles_of(*case, itemsize)
    if found is None:
        return
    assert found.volume == prod(found.chunks) <= MOST_ELEMENTS
    assert found.blocks <= MOST_BLOCKS
    assert all(1 <= chunk <= extent for chunk, extent in zip(found.chunks, steps.extents, strict=True))
    written, read = (
        offsets_of(values, found.chunks, strides)
        for values, strides in zip((found.near, found.far), steps.strides, strict=True)
    )
    for offsets, strides in ((written, steps.strides[0]), (read, steps.strides[1])):
        places = [range(chunk) for chunk in found.chunks]
        every = sorted(sum(map(int.__mul__, index, strides)) for index in product(*places))
        assert sorted(offsets) == every
        assert sectors(offsets, itemsize) <= 4


@pytest.mark.parametrize("itemsize", [4, 8, 16])
@pytest.mark.parametrize(("shape", "order"), SHAPES)
def test_little_memory_is_touched_beside_the_elements(
    shape: tuple[int, ...], order: tuple[int, ...], itemsize: int
) -> None:
    steps, found = tiles_of(shape, order, itemsize)
    plain = sectors(offsets_of(compact(steps.extents), steps.extents, steps.strides[1]), itemsize)
    if found is None:
        assert plain <= 1.5
        return
    written = sectors(offsets_of(found.near, found.chunks, steps.strides[0]), itemsize)
    read = sectors(offsets_of(found.far, found.chunks, steps.strides[1]), itemsize)
    assert max(written, read) <= 1.5
    assert read < plain or plain == 1


def test_columns_of_a_tile_lie_in_all_banks() -> None:
    """Of F32: 32 lanes, each of which a bank serves one element at a time."""
    _, found = tiles_of((4096, 4096), (1, 0), 4)
    assert found is not None
    assert found.chunks == (RUN, RUN)
    for warp in range(RUN):
        puts = offsets_of(found.far, found.chunks, found.near)[warp * LANES : (warp + 1) * LANES]
        assert len({(put + put // LANES) % LANES for put in puts}) == LANES


def test_copies_that_gain_nothing_are_plain_loops() -> None:
    assert tiling((64, 100), (1, 64), (1, 128), 8) is None  # neighbours in both
    assert tiling((2, 4099), (1, 2), (4099, 1), 8) is None  # a warp reads 16 of either row
    assert tiling((8, 10, 100), (1, 8, 80), (1, 800, 8), 8) is None  # runs of eight
    assert tiling((64, 100), (100, 1), (1, 64), 8) is not None  # nothing that is written is near
    assert tiling((20, 20), (1, 20), (20, 1), 8) is None  # few elements
    assert tiling((64, 100), (1, 64), (0, 0), 8) is None  # one element, repeated
    assert tiling((64, 100), (1, 64), (500, 5), 8) is None  # nothing to read is near
    assert tiling((64, 100), (1, 64), (100, 1), 8) is not None
    assert tiling((64, 100), (1, 64), (-100, -1), 8) is not None
    assert (
        tiling((2,) * 33, tuple(1 << axis for axis in range(33)), tuple(1 << (32 - axis) for axis in range(33)), 8)
        is None
    )


def calls(place: Any) -> None:
    """Permuted copies of many kinds."""
    draw = np.random.default_rng(3)
    for shape, order in SHAPES:
        x = tr.to(tr.tensor(np.asfortranarray(draw.integers(-99, 99, shape).astype(float))), place)
        tr.copy(tr.permute_axes(x, order))
    y = tr.to(tr.tensor(np.asfortranarray(draw.integers(-99, 99, (70, 3, 40)).astype(float))), place)
    backwards = tr.permute_axes(y[::-1, :, ::-1], (2, 1, 0))
    tr.cast(backwards, tr.I32)
    tr.cast(backwards, tr.C32)
    tr.greater(tr.cast(backwards, tr.F32), 0.0)
    tr.copy(tr.permute_axes(tr.greater(y, 0.0), (2, 0, 1)))
    tr.conj(tr.permute_axes(tr.complex(y, y), (2, 0, 1)))
    tr.copy(tr.broadcast_to(y[:, :1].T[:, :, :, None], (40, 1, 70, 2)))
    tr.copy_into(tr.mutable_view(tr.zeros((40, 3, 70), placement=place)), tr.permute_axes(y, (2, 1, 0)))


def transpositions() -> list[Noted]:
    with recorded("tiles") as recording:
        calls(recording.place)
        return [one for one in recording.launches() if one.launch.program.entry == "transposition"]


def test_copies_by_tiles_are_one_launch_and_right() -> None:
    counts = tr.backend("sim").api.counts  # type: ignore[attr-defined]
    draw = np.random.default_rng(4)
    for shape, order in SHAPES:
        given = draw.standard_normal(shape)
        x = tr.to(tr.tensor(np.asfortranarray(given)), "sim:0")
        tr.synchronize("sim:0")
        before = counts.copy()
        copied = tr.copy(tr.permute_axes(x, order))
        tr.synchronize("sim:0")
        assert (counts - before)["launches"] == 1
        assert np.array_equal(tr.to(copied, "cpu").to_numpy(), given.transpose(order))


@pytest.mark.usefixtures("on_host")
def test_the_sources_have_the_bits_of_their_meanings() -> None:
    found = transpositions()
    assert len(found) == len(SHAPES) + 7
    few = [one._replace(launch=one.launch._replace(blocks=2)) for one in found]  # so that a block has many tiles
    with Hosted(list({one.launch.program.source: one.launch.program for one in found}.values())) as hosted:
        for launches in (found, few):
            left = hosted.run(launches, seed=len(launches[0].launch.arguments))
            assert [difference(one, memory) for one, memory in zip(launches, left, strict=True)] == [None] * len(found)


BARRIER = "__syncthreads();"


def without(program: Program) -> list[Program]:
    """The program without each of its barriers."""
    parts = program.source.split(BARRIER)
    return [
        Program(program.entry, BARRIER.join(parts[:number]) + ";" + BARRIER.join(parts[number:]), program.meaning)
        for number in range(1, len(parts))
    ]


def found_by(hosted: Hosted, broken: Program, whole: Noted) -> Callable[[int], bool]:
    wrong = whole._replace(launch=whole.launch._replace(program=broken, blocks=1))

    def found(seed: int) -> bool:
        try:
            (left,) = hosted.run([wrong], seed=seed)
        except RunError:
            return True
        return difference(whole, left) is not None

    return found


@pytest.mark.usefixtures("on_host")
def test_every_barrier_that_is_missing_is_found() -> None:
    whole = transpositions()[1]  # every other tile is cut
    broken = without(whole.launch.program)
    assert len(broken) == 4
    with Hosted(broken) as hosted:
        assert [any(map(found_by(hosted, one, whole), range(3))) for one in broken] == [True] * 4
