"""Cholesky and LU factors of many small matrices: right in one launch, and the sources do what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from gpu_programs import nvrtc
from gpu_programs.comparing import difference
from gpu_programs.recording import Noted, recorded
from gpu_programs.running import Hosted, RunError
from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_core.errors import BackendUnavailableError
from tensor_gpu.device.program import Program
from tensor_gpu.programs.linalg import determinant
from tensor_gpu.programs.matrices import ROOM_BYTES, cholesky_program, held, lu_program, lu_solve_program
from tensor_runtime.errors import NotPositiveDefiniteError, SingularMatrixError

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "complex64", "complex128")
EXTENTS = (1, 2, 3, 7, 16, 31, 32)
ENTRIES = ("cholesky", "lu", "lu_solve")


def drawn(dtype: str, *shape: int, seed: int = 5) -> Array:
    draw = np.random.default_rng([seed, *shape])
    x = draw.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * draw.standard_normal(shape)
    return x.astype(dtype)


def definite(dtype: str, n: int, count: int) -> Array:
    x = drawn(dtype, n, n, count)
    found: Array = np.einsum("ijb,kjb->ikb", x, x.conj()) + np.eye(n)[:, :, None]
    return found.astype(dtype)


def up(x: Array, place: Any = "sim:0") -> tr.Tensor:
    return tr.to(tr.tensor(np.asfortranarray(x)), place)


def first(x: Any) -> Array:
    """A result with its batch axis first, in double precision."""
    return wide(tr.to(x, "cpu").to_numpy())


def wide(x: Array) -> Array:
    found: Array = np.moveaxis(x.astype(np.result_type(x, np.float64)), -1, 0)
    return found


def far(found: Array, expected: Array, dtype: str) -> float:
    """The largest deviation, in rounding units of the largest number expected."""
    return float(np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-300) / np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", EXTENTS)
def test_cholesky_factors_have_their_matrices_as_squares(dtype: str, n: int) -> None:
    given = definite(dtype, n, 11)
    lower = first(tl.cholesky(up(given)))

    assert np.array_equal(np.tril(lower), lower)
    assert (np.diagonal(lower, axis1=1, axis2=2) > 0).all()
    assert far(lower @ lower.conj().swapaxes(1, 2), wide(given), dtype) < 2 * n + 4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", EXTENTS)
@pytest.mark.parametrize("n", [1, 5, 32])
def test_lu_factors_are_those_of_the_host(dtype: str, m: int, n: int) -> None:
    """The pivots are LAPACK's, so the factors are its own but for rounding."""
    given = drawn(dtype, m, n, 9)
    given[:, :, 0] = 0
    given[:, -1, 1] = given[:, 0, 1]
    factors, order = tl.lu_factor(up(given))
    found, rows = first(factors), first(order).astype(int)

    steps = min(m, n)
    lower, upper = np.tril(found[:, :, :steps], -1) + np.eye(m, steps), np.triu(found[:, :steps])
    permuted = np.take_along_axis(wide(given), rows[:, :, None], 1)
    assert (np.abs(np.tril(found, -1)) < np.sqrt(2) * (1 + 8 * np.finfo(dtype).eps)).all()
    assert far(lower @ upper, permuted, dtype) < 4 * steps + 4
    expected = tl.lu_factor(tr.tensor(np.asfortranarray(given[:, :, 2:])))[1]
    assert np.array_equal(rows[2:], first(expected))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("columns", [1, 3, 70])
def test_solutions_inverses_and_determinants_are_right(dtype: str, n: int, columns: int) -> None:
    draw = np.random.default_rng(n)
    base = drawn(dtype, n, n, 5) / (3 * n) + np.eye(n)[:, :, None]
    given = np.stack([base[draw.permutation(n), :, one] for one in range(5)], -1).astype(dtype)  # pivots are far
    sides = drawn(dtype, n, columns, 5)
    a, b = wide(given), wide(sides)

    assert far(first(tl.solve(up(given), up(sides))), np.linalg.solve(a, b), dtype) < 10 * n
    assert far(first(tl.inv(up(given))), np.linalg.inv(a), dtype) < 10 * n
    assert np.allclose(first(tl.det(up(given))), np.linalg.det(a), rtol=10 * n * np.finfo(dtype).eps, atol=0)


def quotients(dtype: str, power: int) -> tuple[Array, Array, Array]:
    """Complex divisors of one row, times a power of two, what they divide, and the quotients, next to the largest."""
    parts = np.arange(-7, 8)
    result = (parts[:, None] + 1j * parts).ravel()
    by = result[(abs(result) > 0) & (abs(result) < 5)][:, None] * 2.0**power
    most = 2.0 ** (int(np.finfo(dtype).maxexp) - 3)
    found = np.broadcast_arrays(by, by * result * most, result * most)
    by, given, expected = (one.reshape(1, 1, -1).astype(dtype) for one in found)
    return by, given, expected


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("power", [-4, -60])
def test_quotients_leave_the_range_only_in_the_end(dtype: str, power: int) -> None:
    """Numbers are whole but for powers of two, and so are their quotients: nothing is rounded."""
    by, given, expected = quotients(dtype, power)

    assert np.isfinite(given).all()
    assert np.array_equal(first(tl.solve(up(by), up(given))), wide(expected))


def extreme(dtype: str, n: int) -> tuple[Array, Array]:
    """Matrices of one number in each row, a power of two times one of i or -1; their determinants."""
    draw = np.random.default_rng(n)
    most = 100 if dtype in ("float32", "complex64") else 900
    powers = np.array([1, 1, -1, -1, 0] * n)[:n] * most
    units = np.array([1, 1j, -1, -1j] if dtype.startswith("complex") else [1, -1, 1, -1])
    given, expected = np.zeros((n, n, 5), dtype), np.zeros(5, dtype)
    with np.errstate(over="ignore", under="ignore"):
        for one, exponents in enumerate((powers, -powers, powers[::-1], abs(powers) + 9, -abs(powers))):
            order, turns = draw.permutation(n), draw.integers(0, 4, n)
            given[range(n), order, one] = units[turns] * 2.0**exponents
            unit = units[turns.sum() % 4] * np.linalg.det(np.eye(n)[order]).round()
            expected.real[one] = np.ldexp(unit.real, exponents.sum())
            if unit.imag:
                expected.imag[one] = np.ldexp(unit.imag, exponents.sum())
    return given, expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 4, 5, 20, 40])
def test_products_of_pivots_leave_the_range_only_in_the_end(dtype: str, n: int) -> None:
    """Numbers are powers of two: nothing is rounded."""
    given, expected = extreme(dtype, n)
    found = tr.to(tl.det(up(given)), "cpu").to_numpy()

    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


@pytest.mark.usefixtures("on_host")
def test_at_the_ends_of_the_range_the_sources_have_the_bits_of_their_meanings() -> None:
    with recorded("extremes") as recording:
        for dtype in DTYPES:
            for given in (extreme(dtype, 5)[0], drawn(dtype, 7, 7, 40), 1e-39 * drawn(dtype, 2, 2, 40)):
                given[0, :, 1] = 0
                tl.det(up(given.astype(dtype), recording.place))
                given[0, 0, :3] = np.inf, np.nan, -np.inf
                tl.det(up(given.astype(dtype), recording.place), check=False)
        for dtype in ("complex64", "complex128"):
            by, given = (one[..., ::99] for one in quotients(dtype, -4)[:2])
            for odd in (0, np.inf, np.nan, -np.inf - 3j):
                given[0, 0, -1] = odd
                tl.solve(up(by, recording.place), up(given, recording.place), check=False)
        found = [one for one in recording.launches() if one.launch.program.entry in ("determinant", "lu_solve")]
    with Hosted(list({one.launch.program.source: one.launch.program for one in found}.values())) as hosted:
        left = hosted.run(found)
        assert [difference(noted, memory) for noted, memory in zip(found, left, strict=True)] == [None] * 32


def test_numbers_of_few_digits_are_eliminated_exactly() -> None:
    """Diagonals are powers of two, so nothing is rounded; no row is exchanged, as lower factors are below 1."""
    draw = np.random.default_rng(1)
    ones, eights = np.eye(8)[:, :, None], 8 * np.eye(8)[:, :, None]
    below, above = np.tril(np.ones((8, 8)), -1)[:, :, None], np.triu(np.ones((8, 8)), 1)[:, :, None]
    lower = ones + below * draw.integers(-1, 2, (8, 8, 40)) / 2
    upper = eights + above * draw.integers(-4, 5, (8, 8, 40))
    x = draw.integers(-9, 10, (8, 3, 40)).astype(float)
    given = np.einsum("ijb,jkb->ikb", lower, upper)

    factors, order = tl.lu_factor(up(given))
    assert np.array_equal(first(factors), wide(lower - ones + upper))
    assert (first(order) == np.arange(8)).all()
    assert np.array_equal(first(tl.solve(up(given), up(np.einsum("ijb,jkb->ikb", given, x)))), wide(x))
    assert (first(tl.det(up(given))) == 8.0**8).all()
    root = eights + below * draw.integers(-4, 5, (8, 8, 40))
    assert np.array_equal(first(tl.cholesky(up(np.einsum("ijb,kjb->ikb", root, root)))), wide(root))


def test_of_equal_pivots_the_first_is_taken() -> None:
    given = np.array([[1.0, 2, 5], [-1, 3, 1], [1, 1, 1]])[:, :, None] * np.ones(3)
    complex_ = given + 0j
    complex_[0, 0], complex_[1, 0] = 3, 2 + 2j  # larger by |re| + |im|, smaller by magnitude
    assert first(tl.lu_factor(up(given))[1])[0].tolist()[0] == 0
    assert first(tl.lu_factor(up(complex_))[1])[0].tolist()[0] == 1


def test_matrices_that_fail_are_told_with_their_place_and_the_others_are_there() -> None:
    given = definite("float64", 6, 12).reshape(6, 6, 3, 4, order="F")
    given[3, 3, 2, 1] = -1e3
    given[0, 0, 2, 3] = 0
    with pytest.raises(NotPositiveDefiniteError, match="the leading 4x4 block of the matrix at") as indefinite:
        tl.cholesky(up(given))
    assert (indefinite.value.batch_index, indefinite.value.element_index) == ((2, 1), (3, 3))

    singular = drawn("complex128", 5, 5, 6)
    singular[:, 2, 4] = 0
    for call in (tl.inv, lambda x: tl.solve(x, x)):
        with pytest.raises(SingularMatrixError) as caught:
            call(up(singular))
        assert caught.value.batch_index == (4,)
    assert first(tl.det(up(singular)))[4] == 0

    with tr.checks("deferred"):
        late = tl.cholesky(up(given))
    with pytest.raises(NotPositiveDefiniteError, match="4x4"):
        tr.synchronize("sim:0")
    good = first(late.reshape((6, 6, 12)))[0]
    assert far(good @ good.T, wide(given.reshape(6, 6, 12, order="F"))[0], "float64") < 20


def test_numbers_that_are_none_stay_with_their_matrix() -> None:
    given = drawn("float64", 4, 4, 3)
    given[1, 2, 1] = np.nan
    found = first(tl.solve(up(given), up(np.ones((4, 1, 3))), check=False))
    assert np.isnan(found[1]).any()
    assert np.isfinite(found[[0, 2]]).all()
    given[:, :, 1] = np.nan
    with pytest.raises(NotPositiveDefiniteError, match="leading 1x1"):
        tl.cholesky(up(given[:, :, 1:2] * np.ones(2)), check=False)


def test_all_of_a_stack_are_one_launch() -> None:
    counts = tr.backend("sim").api.counts  # type: ignore[attr-defined]
    x = up(definite("float32", 8, 100))
    calls: list[tuple[Callable[[], Any], int]] = [
        (lambda: tl.cholesky(x, check=False), 3),  # a copy, the factors, a look at the infos
        (lambda: tl.lu_factor(x, check=False), 3),  # a copy, the factors, the order of rows
        (lambda: tl.solve(x, x, check=False), 5),  # two copies, the factors, a look, the solutions
        (lambda: tl.det(x, check=False), 3),
    ]
    for call, launches in calls:
        tr.synchronize("sim:0")
        before = counts.copy()
        call()
        tr.synchronize("sim:0")
        spent = counts - before
        assert (spent["solvers"], spent["launches"]) == (0, launches)


def test_blocks_hold_as_many_matrices_as_their_memory() -> None:
    for dtype in (F32, F64, C32, C64):
        for n in range(1, 33):
            here = held(dtype, n, n)
            assert 1 <= here <= 8
            assert here * (n | 1) * n * dtype.itemsize <= ROOM_BYTES <= 48 * 1024
    assert held(C64, 32, 32) == 2


def noted_launches(shapes: list[tuple[int, int, int]]) -> list[Noted]:
    """Of all three programs, in every type: on matrices with zeros, and indefinite ones."""
    with recorded("systems") as recording:
        for dtype in DTYPES:
            for m, n, count in shapes:
                given = drawn(dtype, m, n, count)
                given[:, :, 0] = 0
                tl.lu_factor(up(given, recording.place))
                if m == n:
                    given = drawn(dtype, m, n, count) + np.eye(n)[::-1, :, None].astype(dtype)
                    tl.solve(up(given, recording.place), up(drawn(dtype, m, 35, count), recording.place))
                    square = definite(dtype, n, count)
                    square[n // 2, n // 2, -1] = -4
                    with tr.checks("deferred"):
                        tl.cholesky(up(square, recording.place))
                    with pytest.raises(NotPositiveDefiniteError):
                        tr.synchronize(recording.place)
        return [one for one in recording.launches() if one.launch.program.entry in ENTRIES]


@pytest.mark.usefixtures("on_host")
def test_the_sources_have_the_bits_of_their_meanings() -> None:
    found = noted_launches([(1, 1, 2), (3, 5, 3), (8, 8, 9), (13, 6, 5), (32, 32, 3)])
    programs = {one.launch.program.source: one.launch.program for one in found}
    with Hosted(list(programs.values())) as hosted:
        for seed in (0, 1):
            left = hosted.run(found, seed=seed)
            differing = [difference(noted, memory) for noted, memory in zip(found, left, strict=True)]
            assert differing == [None] * len(found)
    assert len(programs) == 3 * 4
    assert len(found) == 4 * (5 + 3 * 3)


BARRIER = "__syncwarp();"
FOUND = {("cholesky", 0), ("cholesky", 1), ("cholesky", 2), ("cholesky", 3), ("lu", 2), ("lu", 3)}
"""The first barrier of each is that of ``take_in``. All others are next to exchanges of lanes, which are barriers on
the host, and order no memory on a device."""


def without(program: Program) -> list[Program]:
    """The program without each of its barriers."""
    head, start, body = program.source.partition("void take_in(")
    parts = body.split(BARRIER)
    found = []
    for number in range(1, len(parts)):
        kept = BARRIER.join(parts[:number]) + ";" + BARRIER.join(parts[number:])
        found.append(Program(program.entry, head + start + kept, program.meaning))
    return found


def is_found(hosted: Hosted, broken: Noted, whole: Noted, seed: int) -> bool:
    """Whether a run leaves other bits, or lanes that part ways never meet again."""
    try:
        (left,) = hosted.run([broken], seed=seed)
    except RunError:
        return True
    return difference(whole, left) is not None


@pytest.mark.usefixtures("on_host")
def test_barriers_that_are_missing_are_found() -> None:
    square = definite("float64", 9, 20)
    square[4, 4, ::3] = -50
    with recorded("barriers") as recording, tr.checks("deferred"):
        tl.cholesky(up(square, recording.place))
        tl.solve(up(drawn("float64", 9, 9, 20), recording.place), up(square, recording.place))
        tl.lu_factor(up(drawn("float64", 9, 3, 20), recording.place))
        with pytest.raises(NotPositiveDefiniteError):
            tr.synchronize(recording.place)
        launches = {one.launch.program.entry: one for one in recording.launches()}
    broken = {
        (entry, number): program
        for entry in ENTRIES
        for number, program in enumerate(without(launches[entry].launch.program))
    }
    found = set()
    with Hosted(list(broken.values())) as hosted:
        for key, program in broken.items():
            whole = launches[key[0]]
            wrong = whole._replace(launch=whole.launch._replace(program=program, blocks=1))
            if any(is_found(hosted, wrong, whole, seed) for seed in range(3)):
                found.add(key)
    assert len(broken) == 4 + 4 + 3
    assert found == FOUND


MAKERS = (cholesky_program, lu_program, lu_solve_program, determinant)


@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
def test_the_sources_compile_and_spill_nothing(architecture: str, dtype: DType) -> None:
    try:
        nvrtc.library()
    except BackendUnavailableError as error:
        pytest.skip(f"sources are not compiled to device code: {error}")
    for make in MAKERS:
        code = nvrtc.compiled(make(dtype).source, architecture)
        assert code.spilled == 0
        assert code.registers <= 128


@pytest.mark.parametrize(
    ("diagonal", "dtype", "expected"),
    [
        ([1e200, 1e200, 1e-200, 1e-200], "float64", 1.0),
        ([1e-200, 1e-200, 1e200, 1e200], "float64", 1.0),
        ([2.0**100] * 20 + [2.0**-100] * 20, "float32", 1.0),
        ([2.0**1000 * 1j, 2.0**1000, 2.0**-1000, 2.0**-1001], "complex128", 0.5j),
        ([2.0**-600] * 2, "float64", 0.0),
        ([2.0**600, -(2.0**600)], "float64", -np.inf),
    ],
)
def test_factors_of_a_determinant_leave_the_range_on_the_way(
    diagonal: list[complex], dtype: str, expected: complex
) -> None:
    matrix = np.asfortranarray(np.diag(diagonal).astype(dtype))
    for rows, sign in ((matrix, 1), (np.asfortranarray(matrix[[1, 0, *range(2, len(diagonal))]]), -1)):
        found = tr.to(tl.det(tr.to(tr.asarray(rows), "sim")), "cpu").item()
        assert found == pytest.approx(sign * expected, rel=1e-15, abs=0.0)
