"""Exponents taken off results: mantissas, and powers of ten beyond the range of a type."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
)
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_einsum import einsum, plan
from tensor_einsum.execution.scaling import Scale, largest_magnitude
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES

A = tr.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(("dtype", "least"), [("F32", 2.0**-149), ("F64", 2.0**-1074)])
@pytest.mark.parametrize("beside", [math.nan, math.inf])
def test_the_least_number_is_kept_beside_one_that_is_not_finite(dtype: str, least: float, beside: float) -> None:
    x = tr.tensor([beside, least], dtype=dtype)
    mantissa, exponent = einsum("i,i->i", x, x, strip_exponent=True)
    assert math.log10(float(mantissa[1])) + exponent == pytest.approx(2 * math.log10(least), rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("scale", [-1, 1])
def test_a_chain_of_matrices_beyond_the_range_keeps_mantissa_and_exponent(dtype: str, scale: int) -> None:
    power = scale * (20 if dtype in ("float32", "complex64") else 200)
    rng = np.random.default_rng(7)
    matrices = [(rng.random((4, 4)) + 0.5).astype(dtype) for _ in range(40)]
    if dtype.startswith("complex"):
        matrices = [(matrix * 1j).astype(dtype) for matrix in matrices]
    operands = [tr.asarray((matrix * 10.0**power).astype(dtype)) for matrix in matrices]
    labels = "".join(chr(192 + number) for number in range(41))
    notation = ",".join(labels[n : n + 2] for n in range(40)) + f"->{labels[0]}{labels[-1]}"
    with np.errstate(all="ignore"):
        expected = np.linalg.multi_dot([matrix.astype("complex128") for matrix in matrices])
    mantissa, exponent = einsum(notation, *operands, strip_exponent=True)

    largest = np.abs(expected).max()
    rounding = 400 * float(np.finfo(dtype).eps)
    assert np.abs(mantissa.to_numpy()).max() == pytest.approx(1.0, abs=rounding)
    np.testing.assert_allclose(mantissa.to_numpy(), expected / largest, atol=rounding)
    assert exponent == pytest.approx(40 * power + math.log10(largest), abs=rounding, rel=1e-14)


def test_a_mantissa_is_what_the_plain_contraction_gives_where_that_is_in_range() -> None:
    rng = np.random.default_rng(2)
    x, y = tr.asarray(rng.integers(-9, 10, (5, 6)) * 2.0**400), tr.asarray(rng.integers(-9, 10, (6, 7)) * 2.0**-350)
    plain = einsum("ij,jk->ik", x, y).to_numpy()
    mantissa, exponent = einsum("ij,jk->ik", x, y, strip_exponent=True)
    assert np.array_equal(mantissa.to_numpy(), plain / np.abs(plain).max())
    assert exponent == pytest.approx(math.log10(np.abs(plain).max()), abs=1e-13)


@pytest.mark.parametrize(
    ("dtype", "x", "y"),
    [
        ("F64", [1e200, 1e-200], [0.0, 1e100]),
        ("F64", [2.0**1000, 2.0**-340], [0.0, 2.0**-100]),
        ("C64", [1e200j, 1e-200], [0.0, 1e100j]),
        ("F32", [1e10, 1e-36], [0.0, 1.0]),
        ("C32", [1e10, 1e-36j], [0.0, 1.0]),
        ("F64", [1e100, -1e100, 1e-90], [1e100, 1e100, 1e-90]),
        ("F64", [1e150, -1e150, 1e-40], [1e150, 1e150, 1e-40]),
    ],
)
def test_small_elements_stay_beside_large_ones(dtype: str, x: list[complex], y: list[complex]) -> None:
    operands = tr.tensor(x, dtype=dtype), tr.tensor(y, dtype=dtype)
    whole = plan("i,i->", *operands)
    plain = whole(*operands).item()

    for found in (whole, whole.with_slices("i")):
        mantissa, exponent = found(*operands, strip_exponent=True)
        assert abs(complex(mantissa.item())) == 1.0
        assert exponent == pytest.approx(math.log10(abs(plain)), abs=1e-6 if dtype in ("F32", "C32") else 1e-13)


def test_elements_within_the_stated_ratio_of_the_largest_are_kept() -> None:
    rng = np.random.default_rng(11)
    for dtype, least, most, ratio in (("F64", -1074, 1024, 800), ("F32", -149, 128, 80)):
        for _ in range(100):
            large, other, below = rng.integers(least, most), rng.integers(least, most), rng.integers(1, ratio + 1)
            small = max(int(large - below), least)
            x = tr.tensor([math.ldexp(1.0, int(large)), math.ldexp(1.0, small)], dtype=dtype)
            y = tr.tensor([0.0, math.ldexp(1.0, int(other))], dtype=dtype)
            mantissa, exponent = einsum("i,i->", x, y, strip_exponent=True)

            assert mantissa.item() == 1.0
            assert exponent == pytest.approx((small + int(other)) * math.log10(2), rel=1e-14 if ratio > 80 else 1e-6)


def test_a_chain_of_large_matrices_with_small_elements_is_the_exact_product() -> None:
    exponents = [[[0, -200], [-150, 0]], [[-220, -10], [0, -180]], [[0, -100], [-250, -30]], [[-90, 0], [-5, -300]]]
    exact = [[[Fraction(2) ** (e + 900) for e in row] for row in matrix] for matrix in exponents]
    product = exact[0]
    for matrix in exact[1:]:
        product = [
            [sum((product[i][j] * matrix[j][k] for j in range(2)), Fraction(0)) for k in range(2)] for i in range(2)
        ]
    operands = [tr.tensor([[math.ldexp(1.0, e + 900) for e in row] for row in matrix]) for matrix in exponents]
    mantissa, exponent = einsum("ij,jk,kl,lm->im", *operands, strip_exponent=True)

    largest = max(max(row) for row in product)
    assert exponent == pytest.approx((math.log2(float(largest / 2**3600)) + 3600) * math.log10(2), rel=1e-15)
    expected = [[float(element / largest) for element in row] for row in product]
    np.testing.assert_allclose(mantissa.to_numpy(), expected, rtol=1e-15)


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", ["F64", "C64"])
def test_what_is_not_finite_leaves_the_other_elements_their_range(special: float, dtype: str) -> None:
    x = tr.tensor([special, 1e200, 1e190], dtype=dtype)
    mantissa, exponent = einsum("i,i,i->i", x, x, x, strip_exponent=True)
    found = mantissa.to_numpy()

    assert not np.isfinite(found[0])
    assert math.log10(abs(found[1])) + exponent == pytest.approx(600.0)
    assert abs(found[2] / found[1]) == pytest.approx(1e-30)


def test_zeros_have_no_exponent_and_what_is_not_finite_stays() -> None:
    zero, exponent = einsum("ij,jk->ik", tr.zeros((2, 2)), A, strip_exponent=True)
    assert (zero.to_numpy().tolist(), exponent) == ([[0.0, 0.0], [0.0, 0.0]], 0.0)
    vanishing = einsum("i,i->", tr.tensor([1e-300, 0.0]), tr.tensor([0.0, 1e300]), strip_exponent=True)
    assert (vanishing[0].item(), vanishing[1]) == (0.0, 0.0)
    endless, exponent = einsum("i,i->i", tr.tensor([math.inf, 1.0]), tr.tensor([2.0, 4.0]), strip_exponent=True)
    assert (endless.to_numpy().tolist(), exponent) == ([math.inf, 4.0], 0.0)
    empty, exponent = einsum("i,j->ij", tr.zeros((0,)), tr.ones((2,)), strip_exponent=True)
    assert (empty.shape, exponent) == ((0, 2), 0.0)


@pytest.mark.parametrize(("dtype", "largest"), [("C32", 2.0**127), ("C64", 2.0**1023)])
def test_finite_parts_have_an_exponent_where_their_modulus_is_beyond_the_range(dtype: str, largest: float) -> None:
    z = tr.tensor([complex(largest, largest)], dtype=dtype)
    for count in (1, 3):
        mantissa, exponent = einsum(",".join("i" * count) + "->i", *[z] * count, strip_exponent=True)

        assert mantissa.item() == pytest.approx((math.sqrt(0.5) * (1 + 1j)) ** count, rel=1e-6)
        assert exponent == pytest.approx(count * math.log10(2) * (math.log2(largest) + 0.5))


def test_subnormal_and_mixed_operands_are_brought_near() -> None:
    tiny = tr.tensor([5e-324, 1e-323])
    mantissa, exponent = einsum("i,i,i->i", tiny, tiny, tr.tensor([1, 2]), strip_exponent=True)
    assert mantissa.to_numpy().tolist() == [0.125, 1.0]
    assert exponent == pytest.approx(2 * (math.log10(2) - 1074 * math.log10(2)) + math.log10(2))
    largest, exponent = einsum("i,i->", tr.tensor([1e300]), tr.tensor([1e300]), strip_exponent=True, algebra=MAX_TIMES)
    assert (largest.item(), exponent) == (1.0, pytest.approx(600.0))


def test_exponents_are_refused_where_there_are_none_to_take_off() -> None:
    whole = tr.tensor([1, 2])
    with pytest.raises(DTypeError, match=r"strip_exponent=True of operands that promote to I64; accepted: floating"):
        einsum("i,i->", whole, whole, strip_exponent=True)
    with pytest.raises(ArgumentError, match=r"in the algebra max_plus; accepted: plus_times and max_times"):
        einsum("ij->i", A, algebra=MAX_PLUS, strip_exponent=True)
    with pytest.raises(ArgumentError, match="strip_exponent=True together with out"):
        einsum("ij->i", A, out=tr.zeros((2,)), strip_exponent=True)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="strip_exponent is 'yes'; accepted: True and False"):
        einsum("ij->i", A, strip_exponent="yes")  # type: ignore[call-overload]
    with pytest.raises(DTypeError, match="einsum: alpha is a ndarray of float64"):
        einsum("ij->i", A, strip_exponent=True, alpha=np.ones(2))  # type: ignore[call-overload]


@pytest.mark.skipif(not AVAILABLE, reason="arrays of NumPy are not in the pool")
@pytest.mark.parametrize("power", [-115, -900])
def test_an_operand_out_of_range_is_copied_once(power: int) -> None:
    x = tr.full((1 << 20,), 2.0**power)
    pool.clear()
    before = pool.stats().used_bytes
    assert einsum("i->", x, strip_exponent=True)[0].item() == 1.0
    assert pool.stats().peak_bytes - before <= x.nbytes + (1 << 20) + (1 << 16)  # and the piece that is rescaled


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_a_copied_operand_lies_in_memory_as_it_did(axes: tuple[int, ...]) -> None:
    x = tr.transpose(tr.asarray(np.arange(24.0).reshape((2, 3, 4), order="F") * 2.0**-990), axes)
    scale = Scale()
    near = scale.brought_near(x)
    assert near.strides == x.strides
    np.testing.assert_array_equal(np.ldexp(near.to_numpy(), scale.exponent), x.to_numpy())


@pytest.mark.parametrize("dtype", ["I32", "I64", "Bool"])
def test_diagonals_of_whole_numbers_are_no_magnitudes_to_look_at(dtype: str) -> None:
    a, b = tr.asarray(np.array([[True, False], [True, True]]), dtype=dtype), tr.tensor([1.0, 2.0])
    for notation, operands in (("ii,i->", (a, b)), ("ii,i->i", (a, b)), ("ii,->i", (a, tr.tensor(4.0)))):
        mantissa, exponent = einsum(notation, *operands, strip_exponent=True)
        np.testing.assert_allclose(mantissa.to_numpy() * 10**exponent, einsum(notation, *operands).to_numpy())


@pytest.mark.skipif(not AVAILABLE, reason="NumPy's kernels take their arrays elsewhere")
@pytest.mark.parametrize("lies", ["plain", "reversed", "transposed", "with gaps", "repeated"])
def test_magnitudes_of_large_complex_tensors_take_a_mebibyte_at_most(lies: str) -> None:
    x = tr.ones((100, 60, 200), dtype="C64")
    views = {
        "plain": x,
        "reversed": x[::-1, ::-1, ::-1],
        "transposed": tr.transpose(x, (2, 0, 1)),
        "with gaps": tr.ones((200, 60, 200), dtype="C64")[::2],
        "repeated": tr.broadcast_to(x[:, :1], x.shape),
    }
    view = views[lies]
    found = plan("abc->a", view)
    found(view, strip_exponent=True)
    pool.clear()
    before = pool.stats().used_bytes
    mantissa, exponent = found(view, strip_exponent=True)

    assert pool.stats().peak_bytes - before <= found.peak_bytes_on(view) + (1 << 20) + (1 << 16)
    assert (mantissa.to_numpy() * 10.0**exponent).round(6).tolist() == [view.size // view.shape[0]] * view.shape[0]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 2.0**700])
@pytest.mark.parametrize("place", [0, 70_000, 149_999])
def test_the_largest_magnitude_of_a_large_complex_tensor_is_found_wherever_it_is(odd: float, place: int) -> None:
    values = np.ones(150_000, complex)
    values[place] = odd
    found = largest_magnitude(tr.tensor(values.reshape(300, 500)))

    assert found == odd or (found != found and odd != odd)
