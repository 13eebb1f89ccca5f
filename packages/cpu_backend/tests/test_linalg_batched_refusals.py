"""Small matrices in vector lanes that are refused or left to others: which one, and in NumPy's words."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from lane_cases import EACH_DTYPE, RIGHT, SQUARE, draw, forms, matrices, run
from tensor_core import C32, C64, F32, F64, I32, DType
from tensor_cpu.kernels.linalg import batched_simd, refusals
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.variants import status
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.errors import NonFiniteError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.usefixtures("instruction_set")

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)


@pytest.mark.parametrize("side", [8, 9, 40, 64])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_equal_rows_are_singular_at_every_side(side: int, dtype: str) -> None:
    a = draw(dtype, side, side, 20)
    a[side - 2, :, 13] = a[1, :, 13]

    assert (run("det", a)[0] == 0).tolist() == [k == 13 for k in range(20)]
    for name, operands in (("solve", (a, a[:, :1])), ("inv", (a,))):
        with pytest.raises(SingularMatrixError) as singular:
            run(name, *operands)
        assert singular.value.batch_index == (13,)


@EACH_DTYPE
@pytest.mark.parametrize("side", [1, 2, 3, 5, 9, 16, 17, 40, 64])
def test_the_sign_of_the_determinant_tells_what_eliminations_refuse(
    side: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(side)
    a = np.ascontiguousarray(rng.integers(-1, 2, (37, side, side)).astype(dtype))
    a[5:30:6, -1] = a[5:30:6].sum(1) - a[5:30:6, -1]
    a[3] = 0
    dtypes: dict[str, DType] = {"float32": F32, "float64": F64, "complex64": C32, "complex128": C64}
    form = form_of(dtypes[dtype], (side, side, 37), CPU)
    expected = refusals.refused(a, partial(refusals.refusing, "inv", form))
    assert expected[3]
    assert refusals.singular(a).tolist() == expected.tolist()
    for name, count in (("solve", 2), ("inv", 1)):
        monkeypatch.setattr(status, "refused", None)  # no matrix is asked about alone
        codes = status.bind(name, (form,) * count, form_of(I32, (37,), CPU), None)(*[a] * count)
        assert codes.tolist() == (2 * expected).tolist()
        with pytest.raises(SingularMatrixError) as told:
            run(name, *[a.T] * count)
        assert told.value.batch_index == (int(expected.argmax()),)


@EACH_DTYPE
@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("bad", [0, 3, 15, 16, 18])
def test_the_first_element_that_is_not_finite_is_named(name: str, bad: int, dtype: str) -> None:
    a, b = matrices(name, dtype, 3, 19), draw(dtype, 3, RIGHT, 19)
    a[1, 2, bad] = np.inf
    a[0, 0, bad + 1 :] = np.nan

    with pytest.raises(NonFiniteError, match=rf"{name}: operand a holds .*inf.* at element \(1, 2\)") as info:
        run(name, a, b) if name == "solve" else run(name, a)
    assert (info.value.batch_index, info.value.element_index) == ((bad,), (1, 2))


def test_an_operand_b_that_is_not_finite_is_named() -> None:
    a, b = matrices("solve", "float64", 3, 19), draw("float64", 3, 18, 19)
    b[2, 17, 18] = np.nan

    with pytest.raises(NonFiniteError, match=r"solve: operand b holds nan at element \(2, 17\)"):
        run("solve", a, b)


@pytest.mark.parametrize("bad", [0, 7, 8, 499, 999])
def test_one_bad_matrix_of_a_thousand_is_named(bad: int) -> None:
    a = np.asfortranarray(np.repeat(np.eye(3)[..., None], 1000, axis=2))
    a[1, 1, bad] = -1.0
    with pytest.raises(NotPositiveDefiniteError, match="leading 2x2 block") as indefinite:
        run("cholesky", a)
    a[:, :, bad] = 1.0
    for name, operands in (("solve", (a, a)), ("inv", (a,))):
        with pytest.raises(SingularMatrixError) as singular:
            run(name, *operands)
        assert singular.value.batch_index == indefinite.value.batch_index == (bad,)


@EACH_DTYPE
@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("side", [3, 9, 40])
def test_a_matrix_that_only_lapack_factors_changes_no_bit_of_its_neighbours(
    side: int, check: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = matrices("cholesky", dtype, side, 19)
    good = run("cholesky", a, check=check)[0]
    a[..., 5] = np.eye(side)
    a[-1, -1, 5] = 0.0
    factor = np.diag([*range(1, side), 0.0])

    def accepted(stack: Any) -> Any:
        assert np.array_equal(stack, a[..., 5].T[None]), "the others are not asked for again"
        return factor[None].astype(dtype)

    monkeypatch.setattr(batched_simd.drivers, "bind", lambda *_: accepted)
    found = run("cholesky", a, check=check)[0]

    others = [number for number in range(19) if number != 5]
    np.testing.assert_array_equal(found[..., others], good[..., others])
    np.testing.assert_array_equal(found[..., 5], factor)


def test_the_place_of_the_indefinite_matrix_is_that_in_the_whole_batch() -> None:
    a = np.asfortranarray(np.repeat(np.eye(3)[..., None, None], 4, axis=2).repeat(5, axis=3))
    a[2, 2, 3, 1] = a[1, 1, 0, 4] = -1.0
    with pytest.raises(NotPositiveDefiniteError, match="leading 3x3 block") as info:
        run("cholesky", a)
    assert info.value.batch_index == (3, 1)
    a[0, 2, 3, 4] = np.nan  # in the triangle that is not read
    with pytest.raises(NonFiniteError) as other:
        run("cholesky", a)
    assert (other.value.batch_index, other.value.element_index) == ((3, 4), (0, 2))


@pytest.mark.parametrize("shape", [(2,), (63,), (64,), (65,), (3, 50), (2, 16, 2)])
@pytest.mark.parametrize("some", [1, 3])
def test_the_first_indefinite_matrix_of_several_is_named_in_batches_of_any_shape(
    shape: tuple[int, ...], some: int
) -> None:
    a = np.asfortranarray(np.repeat(np.eye(4)[..., None], np.prod(shape), axis=2))
    bad = np.sort(np.random.default_rng(3).permutation(a.shape[2])[:some])
    a[2, 2, bad] = -np.arange(len(bad))
    with pytest.raises(NotPositiveDefiniteError, match="leading 3x3 block") as info:
        run("cholesky", a.reshape(4, 4, *shape, order="F"))
    assert info.value.batch_index == np.unravel_index(bad[0], shape, order="F")
    assert info.value.element_index == (2, 2)


@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "solve"])
def test_without_the_check_a_matrix_that_is_not_finite_goes_to_numpy_alone(name: str) -> None:
    a = matrices(name, "float64", 3, 19)
    good = run(name, *((a, a) if name == "solve" else (a,)))[0]
    a[0, 1, 5] = np.nan
    operands = (a, a) if name == "solve" else (a,)
    numpys = linalg.bind(name, *forms(name, *operands), False)(*[x.T for x in operands]).T

    found = run(name, *operands, check=False)[0]

    np.testing.assert_array_equal(found[..., 5], numpys[..., 5])
    others = [number for number in range(19) if number != 5]
    np.testing.assert_array_equal(found[..., others], good[..., others])


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("cholesky", [(65, 65, 4)]),
        ("cholesky", [(0, 0, 4)]),
        ("cholesky", [(3, 3, 0)]),
        ("svd", [(17, 17, 1)]),
        ("qr", [(65, 2, 9)]),
        ("inv", [(65, 65, 9)]),
        ("solve", [(65, 65), (65, 2)]),
        ("solve", [(3, 3, 5), (3, 0, 5)]),
    ],
)
def test_what_is_not_for_lanes_is_left_to_others(name: str, shapes: list[tuple[int, ...]]) -> None:
    assert batched_simd.bind(name, *forms(name, *(np.zeros(shape, order="F") for shape in shapes)), True) is None


def test_a_kernel_refuses_what_it_was_not_made_for() -> None:
    a = matrices("cholesky", "float64", 3, 4)
    kernel: Any = batched_simd.bind("cholesky", *forms("cholesky", a), True)

    with pytest.raises(TypeError, match="takes 1 positional"):
        kernel(a.T, a.T)
    with pytest.raises(TypeError, match="takes arrays"):
        kernel([[1.0]])
    with pytest.raises(ValueError, match="no name of a routine"):
        LIBRARY.bind_batched_simd("ldl", "F64", (2, 2), 0, 1, (((2, 2), "F64"),), True, kernel)
    with pytest.raises(ValueError, match="no lanes for 65 x 65"):
        LIBRARY.bind_batched_simd("det", "F64", (65, 65), 0, 1, (((), "F64"),), True, kernel)
    for side in (3, 17):
        with pytest.raises(ValueError, match="svdvals: no lanes for 2 x 2"):
            LIBRARY.bind_batched_simd("svdvals", "F64", (2, 2), 0, 1, (((2,), "F64"),), True, kernel, jacobi=side)
    for rows, right in ((65, 3), (65, 0), ((1 << 24) + 1, 1)):  # of substitutions few right-hand sides allow more rows
        with pytest.raises(ValueError, match=f"no lanes for {rows} x {rows}"):
            LIBRARY.bind_batched_simd("forward", "F64", (rows, rows), right, 1, (), True, kernel)
    with pytest.raises(ValueError, match="does not fit"):
        LIBRARY.bind_batched_simd("det", "F64", (2, 2), 0, 2, (((1,), "F64"),), True, kernel)
    with pytest.raises(ValueError, match="a tuple of 1 forms"):
        LIBRARY.bind_batched_simd("det", "F64", (2, 2), 0, 2, (), False, kernel)
    with pytest.raises(ValueError, match="not a single one"):
        LIBRARY.bind_batched_simd("qr", "F64", (2, 2), 0, 1, (((2, 2), "F64"), ((2, 2), "F64")), True, kernel)
    with pytest.raises((ValueError, OverflowError)):
        LIBRARY.bind_batched_simd("solve", "F64", (2, 2), 1 << 60, 1, (((2, 2), "F64"),), True, kernel)
    with pytest.raises(OverflowError):
        LIBRARY.bind_batched_simd("det", "F64", (2, 2), 0, 1 << 60, (((1 << 60,), "F64"),), True, kernel)
