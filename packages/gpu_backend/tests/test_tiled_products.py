"""Sums of products by tiles: as NumPy and a naive loop have them, and the source does what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from gpu_programs import nvrtc
from gpu_programs.comparing import difference
from gpu_programs.recording import Noted, recorded
from gpu_programs.running import Hosted, RunError
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import BackendUnavailableError
from tensor_einsum import einsum
from tensor_gpu.device.program import Program
from tensor_gpu.programs.contraction import SumOfProducts
from tensor_gpu.programs.tiled_products import Groups, tiled_products_program
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, PLUS_TIMES, Semiring

Array = np.ndarray[Any, Any]
CASES: list[tuple[str, Semiring, str, dict[str, int]]] = [
    ("ij,jk->ik", MAX_PLUS, "float64", {"i": 33, "j": 17, "k": 40}),
    ("ji,jk->ik", MIN_PLUS, "float32", {"i": 64, "j": 16, "k": 32}),
    ("ij,kj->ki", MAX_TIMES, "float64", {"i": 40, "j": 8, "k": 65}),
    ("ij,jk->ik", OR_AND, "bool", {"i": 50, "j": 33, "k": 31}),
    ("ijb,jkb->ikb", PLUS_TIMES, "int64", {"i": 20, "j": 20, "k": 20, "b": 3}),
    ("aibj,jcai->bc", PLUS_TIMES, "int32", {"a": 5, "i": 4, "b": 30, "j": 3, "c": 35}),
    ("abij,jicd->dbca", MAX_PLUS, "float64", {"a": 5, "b": 7, "i": 4, "j": 5, "c": 6, "d": 6}),
    ("xij,yjk->xyik", MIN_PLUS, "float64", {"x": 2, "i": 17, "j": 9, "y": 3, "k": 16}),
]
SUMS = {"maximum": np.max, "minimum": np.min, "add": np.sum, "logical_or": np.any}


def drawn(dtype: str, *shape: int, seed: int = 5) -> Array:
    whole = np.random.default_rng([seed, *shape]).integers(-9, 10, shape)
    whole += whole >= 0  # no zero, as the largest of products of zeros may have any sign
    return whole > 5 if dtype == "bool" else whole.astype(dtype)


def up(x: Array, place: Any) -> tr.Tensor:
    return tr.to(tr.tensor(np.asfortranarray(x)), place)


def operands(notation: str, dtype: str, extents: dict[str, int]) -> list[Array]:
    terms = notation.partition("->")[0].split(",")
    return [drawn(dtype, *(extents[label] for label in term), seed=place) for place, term in enumerate(terms)]


def naive(notation: str, algebra: Semiring, x: Array, y: Array) -> Array:
    """Every term at once, then summed."""
    terms, _, kept = notation.partition("->")
    labels = kept + "".join(sorted({*terms} - {*kept, ","}))
    lined = [
        np.einsum(f"{term}->{''.join(label for label in labels if label in term)}", one)[
            tuple(slice(None) if label in term else None for label in labels)
        ]
        for term, one in zip(terms.split(","), (x, y), strict=True)
    ]
    product = getattr(np, algebra.multiplication)(*lined)
    found: Array = SUMS[algebra.addition](product, axis=tuple(range(len(kept), len(labels))))
    return found.astype(x.dtype)


@pytest.mark.parametrize(("notation", "algebra", "dtype", "extents"), CASES)
def test_sums_by_tiles_are_one_launch_and_right(
    notation: str, algebra: Semiring, dtype: str, extents: dict[str, int]
) -> None:
    counts = tr.backend("sim").api.counts  # type: ignore[attr-defined]
    given = operands(notation, dtype, extents)
    x, y = (up(one, "sim:0") for one in given)
    tr.synchronize("sim:0")
    before = counts.copy()
    found = einsum(notation, x, y, algebra=algebra)
    tr.synchronize("sim:0")
    assert (counts - before)["launches"] == 1
    assert np.array_equal(tr.to(found, "cpu").to_numpy(), naive(notation, algebra, *given))


def launches() -> list[Noted]:
    with recorded("products") as recording:
        for notation, algebra, dtype, extents in CASES:
            x, y = (up(one, recording.place) for one in operands(notation, dtype, extents))
            einsum(notation, x, y, algebra=algebra)
        x, y = (up(drawn("float64", 40, 30, seed=seed), recording.place) for seed in (1, 2))
        einsum("ij,kj->ik", x[::-1, ::2], y[:, ::-2], algebra=MAX_PLUS)
        einsum("ij,kj->ik", tr.where(tr.greater(x, 7), float("inf"), x), y * float("-inf"), algebra=MIN_PLUS)
        return [one for one in recording.launches() if one.launch.program.entry == "tiled_products"]


def test_small_sums_are_plain_loops() -> None:
    with recorded("plain") as recording:
        for shapes in (((15, 40), (40, 40)), ((40, 40), (40, 15)), ((40, 7), (7, 40))):
            x, y = (up(drawn("float64", *shape), recording.place) for shape in shapes)
            einsum("ij,jk->ik", x, y, algebra=MAX_PLUS)
        entries = [one.launch.program.entry for one in recording.launches()]
    assert entries == ["sum_of_products"] * 3


@pytest.mark.usefixtures("on_host")
def test_the_sources_do_what_they_mean() -> None:
    """On whole numbers to the last bit, whatever the order of sums."""
    found = launches()
    assert len(found) == len(CASES) + 2
    few = [one._replace(launch=one.launch._replace(blocks=1)) for one in found]  # so that a block has many tiles
    with Hosted(list({one.launch.program.source: one.launch.program for one in found}.values())) as hosted:
        for runs in (found, few):
            left = hosted.run(runs, seed=3)
            assert [difference(one, memory) for one, memory in zip(runs, left, strict=True)] == [None] * len(found)
            for one, memory in zip(runs[: len(CASES)], left, strict=False):
                assert [data for _, data in one.after] == list(memory)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize(("rows", "entry"), [(3, "sum_of_products"), (33, "tiled_products")])
def test_the_largest_product_may_be_below_the_zero_of_its_algebra(rows: int, entry: str) -> None:
    with recorded("negative") as recording:
        x = up(-1 - np.abs(drawn("float64", rows, 20)), recording.place)
        found = tr.to(einsum("ij,kj->ik", x, -x, algebra=MAX_TIMES), "cpu").to_numpy()
        noted = recording.launches()[-1]
    assert noted.launch.program.entry == entry
    assert (found < 0).all()
    with Hosted([noted.launch.program]) as hosted:
        assert difference(noted, hosted.run([noted])[0]) is None


BARRIER = "__syncthreads();"


def without(program: Program) -> list[Program]:
    """The program without each of its barriers."""
    parts = program.source.split(BARRIER)
    return [
        Program(program.entry, BARRIER.join(parts[:number]) + ";" + BARRIER.join(parts[number:]), program.meaning)
        for number in range(1, len(parts))
    ]


@pytest.mark.usefixtures("on_host")
def test_every_barrier_that_is_missing_is_found() -> None:
    whole = launches()[0]
    broken = without(whole.launch.program)
    assert len(broken) == 3
    with Hosted(broken) as hosted:
        for program in broken:
            wrong = whole._replace(launch=whole.launch._replace(program=program, blocks=1))
            found = 0
            for seed in range(3):
                try:
                    (left,) = hosted.run([wrong], seed=seed)
                    found += difference(whole, left) is not None
                except RunError:
                    found += 1
            assert found


@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
@pytest.mark.parametrize("dtype", [F32, F64, C32, C64, I32, I64, Bool])
def test_the_sources_compile_and_spill_nothing(architecture: str, dtype: DType) -> None:
    try:
        nvrtc.library()
    except BackendUnavailableError as error:
        pytest.skip(f"sources are not compiled to device code: {error}")
    what = SumOfProducts((dtype, dtype), dtype)
    code = nvrtc.compiled(tiled_products_program(what, Groups(1, 1, 1, 2, (True, False))).source, architecture)
    assert code.spilled == 0
