"""Binders refuse arguments of another kind, and numbers that would lead a kernel outside its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from binder_arguments import ADD, ARGUMENTS, HUGE, PRODUCT, VECTOR, never
from tensor_cpu.kernels.reduction.native import Loops
from tensor_cpu.storage import MOST_AXES
from tensor_cpu.system import blas
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (1, 0),  # no multiplications at all
        (1, HUGE),
        (2, (0, 0)),  # a repeated label
        (2, (0,)),  # fewer labels than axes
        (3, (3, 5)),  # another extent of the label that is summed
        (3, (-3, 4)),
        (4, (1,)),
        (5, (1, 2, 3)),
        (8, (0, 3)),  # a label of the result that no operand has
        (8, (0, 0)),
    ],
)
def test_a_tiny_contraction_refuses_operands_and_results_that_do_not_fit(place: int, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"bind_tiny_contraction|negative"):
        LIBRARY.bind_tiny_contraction(*PRODUCT[:place], wrong, *PRODUCT[place + 1 :])
    kernel = LIBRARY.bind_tiny_contraction(*PRODUCT)
    assert kernel is not None and kernel(np.ones((4, 3)), np.ones((2, 4))).tolist() == [[4.0] * 3] * 2


@pytest.mark.parametrize(
    ("name", "result", "steps"),
    [("add", "Bool", (1, 1)), ("less", "F64", (1, 1)), ("add", "F64", (2, 1)), ("add", "F64", (1, -1))],
)
def test_a_tiny_operation_has_the_type_of_its_result_and_steps_of_0_or_1(
    name: str, result: str, steps: tuple[int, int]
) -> None:
    with pytest.raises(ValueError, match="steps are 0 or 1, and the result of 'F64' is of another type"):
        LIBRARY.bind_tiny_binary(name, (3,), result, "F64", steps, (False, False), never)


@pytest.mark.parametrize(
    ("dtype", "program", "why"),
    [
        ("Bool", (ADD,), "last instruction"),
        ("F32", (ADD,), "last instruction"),
        ("F64", (("less", "F64", 2, 0, 1, 2),), "last instruction"),
        ("Bool", (("add", "F32", 2, 0, 1, 2), ("less", "F32", 3, 2, 2, 3)), "another size"),
        ("F64", (("add", "F64", 2, 0, 3, 2),), "another size"),  # nobody wrote register 3
        ("F64", (("where", "F64", 2, 0, 1, 1),), "another size"),  # chosen by numbers
        ("F64", (("less", "F64", 2, 0, 1, 2), ("add", "F64", 3, 2, 0, 3)), "another size"),
        ("F64", (("exp", "F32", 2, 0, 2, 2),), "another size"),
    ],
)
def test_a_program_whose_registers_do_not_fit_is_refused(dtype: str, program: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        LIBRARY.bind_elementwise((5,), dtype, (VECTOR, VECTOR), program, ())
    kernel = LIBRARY.bind_elementwise((5,), "F64", (VECTOR, VECTOR), (ADD,), ())
    assert kernel(np.ones(5), np.ones(5)).tolist() == [2.0] * 5


@pytest.mark.parametrize(
    ("inside", "kept", "bands"),
    [
        ((0, 1, 1, HUGE, 1), (), ((HUGE, 1, 0), (HUGE, 1, 0))),
        ((0, 1, 1, 3, 1), (), ((HUGE, 1, 0),)),
        ((0, 4, 2, 3, 4), (), ()),
        ((0, 4, -1, 3, 4), (), ()),
        ((0, 2, 1, 3, 4), ((2, 2, 3),), ()),
        ((0, 2, 1, 3, 4), ((2, 2, HUGE),), ()),
        ((0, 2, 1, 3, 4), ((HUGE, 2, 2),), ()),
        ((0, 2, 1, 0, 4), ((2, 2, 2),), ()),
        ((0, 4, 1, 3, HUGE), (), ()),
        ((HUGE, 4, 1, 3, 4), (), ()),
        ((0, 4, 1, 3, 4), ((1, 1),), ()),
        ((0, 4, 1, 3, 4), (), ((0, 1, 0),)),
    ],
)
def test_a_reduction_leads_to_the_elements_of_its_result_alone(inside: Any, kept: Any, bands: Any) -> None:
    shape = (1,) if bands else (4,)
    with pytest.raises((ValueError, OverflowError), match=r"bind_reduce: |than can be addressed"):
        LIBRARY.bind_reduce("sum", "F64", shape, "F64", Loops(*inside, kept, bands))
    kernel = LIBRARY.bind_reduce("sum", "F64", (4,), "F64", Loops(0, 4, 1, 3, 4, (), ()))
    assert kernel(np.ones((3, 4))).tolist() == [3.0] * 4


BINDERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gemm": lambda rows, columns, inner: LIBRARY.bind_gemm("F64", (2, 3), (), rows, columns, inner, (), False),
    "stack": lambda rows, columns, inner: LIBRARY.bind_stack("F64", (2, 3), (), (), columns, rows, inner, True),
    "pair": lambda rows, columns, inner: LIBRARY.bind_pair("F64", (2, 3), (*rows, *columns), inner),
    "semiring": lambda rows, columns, inner: LIBRARY.bind_semiring(
        "max_plus", "F64", (2, 3), ((), rows, columns, inner), False
    ),
    "products": lambda rows, columns, inner: LIBRARY.bind_products(
        "F64", (2, 3), (2, 3, 4), (), (4, 1), (3, 1), (rows[0][3], columns[0][3])
    ),
}


@pytest.mark.parametrize("binder", BINDERS)
@pytest.mark.parametrize("stride", [0, 4, -3, 1000, 2**40])
def test_a_contraction_leads_to_the_elements_of_its_result_alone(binder: str, stride: int) -> None:
    inner, columns = ((4, 1, 3, 0),), ((3, 0, 1, 1),)
    blas.open_blas()

    with pytest.raises(ValueError, match=r"do not lead to its 6 elements|does not take matrices of these strides"):
        BINDERS[binder](((2, 4, 0, stride),), columns, inner)
    kernel = BINDERS[binder](((2, 4, 0, 3),), columns, inner)
    assert kernel(np.zeros((2, 4)), np.zeros((4, 3))).tolist() == [[0.0] * 3] * 2


STACK = (3, 8, 12, 6)  # of 2 x 4 times 4 x 3


@pytest.mark.parametrize("stride", [0, -6, 4, 7, 400, 2**40, 2**60])
def test_a_stack_of_products_leads_to_the_elements_of_its_result_alone(stride: int) -> None:
    blas.open_blas()
    extents, a, b, c = (2, 3, 4), (4, 1), (3, 1), (3, 1)

    with pytest.raises((ValueError, OverflowError), match=r"do not lead to its 18 elements|than can be addressed"):
        LIBRARY.bind_products("F64", (3, 2, 3), extents, ((*STACK[:3], stride),), a, b, c)
    kernel = LIBRARY.bind_products("F64", (3, 2, 3), extents, (STACK,), a, b, c)
    assert (kernel(np.ones((3, 2, 4)), np.ones((3, 4, 3))) == 4.0).all()


def test_products_refuse_a_result_with_gaps_or_whose_size_is_beyond_numbers() -> None:
    blas.open_blas()
    for shape, steps in (((4,), (200000000, 1)), ((4,), (3, 1)), ((4,), (1, 2**60)), ((8,), (2, 1)), ((3,), (2, 1))):
        with pytest.raises((ValueError, OverflowError), match=r"do not lead to its|than can be addressed"):
            LIBRARY.bind_products("F64", shape, (2, 2, 2), (), (2, 1), (2, 1), steps)


@pytest.mark.parametrize("stride", [0, -6, 1, 2, 3, 5])
def test_products_into_a_given_array_write_no_element_twice(stride: int) -> None:
    blas.open_blas()
    extents, a, b = (2, 3, 4), (4, 1), (3, 1)

    with pytest.raises(ValueError, match="lead to one element several times"):
        LIBRARY.bind_products("F64", None, extents, ((*STACK[:3], stride),), a, b, (3, 1))
    for along, step in ((6, 3), (7, 3), (3, 9)):  # stacked outside the rows, with a gap, and inside them
        kernel, target = (
            LIBRARY.bind_products("F64", None, extents, ((*STACK[:3], along),), a, b, (step, 1)),
            np.zeros(24),
        )
        kernel(np.ones((3, 2, 4)), np.ones((3, 4, 3)), target)
        assert np.count_nonzero(target) == np.count_nonzero(target == 4.0) == 18


def lapack(routine: str, a: Any, b: Any, results: Any, batch: tuple[int, ...] = (3,)) -> Any:
    blas.open_blas()
    right = 1 if routine == "solve" else 0
    return LIBRARY.bind_lapack(routine, "F64", 2, 2, right, batch, a, b, results, True, never)


def factorization(routine: str, sides: Any, a: Any, b: Any, results: Any, right: tuple[int, int] = (0, 0)) -> Any:
    blas.open_blas()
    return LIBRARY.bind_factorization(routine, "F64", "F64", sides, right, (0, 0), (3,), a, b, results, True, never)


@pytest.mark.parametrize("routine", ["cholesky", "inv", "det", "qr", "eigh", "svd"])
def test_only_solve_shares_one_matrix_among_a_batch(routine: str) -> None:
    with pytest.raises(ValueError, match=rf"{routine}: strides \(1, 2\) for 1 batch axes"):
        lapack(routine, (1, 2), (), (((3, 2, 2), "F64"),))


def test_right_hand_sides_have_a_stride_for_each_batch_axis() -> None:
    with pytest.raises(ValueError, match="strides"):
        lapack("solve", (4, 2, 1), (2, 1), (((3, 1, 2), "F64"),))


def test_a_form_that_is_no_tuple_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="a form is a shape and a type, found 5"):
        lapack("inv", (4, 2, 1), (), (5,))
    with pytest.raises(TypeError, match="a form is a shape and a type, found 5"):
        LIBRARY.bind_batched_simd("inv", "F64", (2, 2), 0, 8, (5,), True, never)


def a_tiny_product(strides_a: tuple[int, ...], strides_b: tuple[int, ...]) -> Any:
    dtype, most, *_ = PRODUCT
    return LIBRARY.bind_tiny_contraction(dtype, most, (0, 1), (3, 4), strides_a, (1, 2), (4, 2), strides_b, (0, 2))


def a_reduction(**numbers: Any) -> Loops:
    return Loops(0, 4, 1, 3, 4, (), ())._replace(**numbers)


OUT_OF_RANGE: dict[str, Callable[[int], Any]] = {
    "copy": lambda far: LIBRARY.bind_copy((3, 2), (far, 1), "F64"),
    "copy_into": lambda far: LIBRARY.bind_copy_into((3, 2), (2, 1), (1, far), "F64"),
    "copy_into a target": lambda far: LIBRARY.bind_copy_into((3, 2), (far, 1), (2, 1), "F64"),
    "padded": lambda far: LIBRARY.bind_padded((5, 2), "F64", (3, 2), (far, 1), (1, 0)),
    "rolled": lambda far: LIBRARY.bind_rolled((3, 2), "F64", (far, 1), (0,)),
    "triangle": lambda far: LIBRARY.bind_triangle((3, 2), "F64", (far, 1), 0, 1, 0, True),
    "convert": lambda far: LIBRARY.bind_convert((3, 2), (far, 1), "I32", "F64", None),
    "elementwise": lambda far: LIBRARY.bind_elementwise((5,), "F64", (((far,), "F64"), VECTOR), (ADD,), ()),
    "tiny left": lambda far: a_tiny_product((1, far), (1, 4)),
    "tiny right": lambda far: a_tiny_product((1, 3), (1, far)),
    "pair": lambda far: LIBRARY.bind_pair("F64", (3,), ((3, far, 1, 1),), ()),
    "gemm": lambda far: LIBRARY.bind_gemm("F64", (3,), (), ((3, 1, 0, 1),), (), ((2, 1, far, 0),), (), False),
    "semiring": lambda far: LIBRARY.bind_semiring("max_plus", "F64", (3,), ((), ((3, far, 0, 1),), (), ()), False),
    "products a": lambda far: LIBRARY.bind_products("F64", (2, 3), (2, 3, 4), (), (far, 1), (3, 1), (3, 1)),
    "products b": lambda far: LIBRARY.bind_products("F64", (2, 3), (2, 3, 4), (), (4, 1), (far, 1), (3, 1)),
    "products stack": lambda far: LIBRARY.bind_products(
        "F64", (2, 2, 3), (2, 3, 4), ((2, far, 12, 6),), (4, 1), (3, 1), (3, 1)
    ),
    "reduce rows": lambda far: LIBRARY.bind_reduce("sum", "F64", (4,), "F64", a_reduction(row_stride=far)),
    "reduce kept": lambda far: LIBRARY.bind_reduce("sum", "F64", (4,), "F64", Loops(0, 1, 1, 3, 1, ((4, far, 1),), ())),
    "reduce bands": lambda far: LIBRARY.bind_reduce("sum", "F64", (4,), "F64", a_reduction(bands=((2, far, 0),))),
    "lapack a": lambda far: lapack("inv", (far, 2, 1), (), (((3, 2, 2), "F64"),)),
    "lapack rows": lambda far: lapack("inv", (4, 2, far), (), (((3, 2, 2), "F64"),)),
    "factorization a": lambda far: factorization("eigvals", (2, 2), (far, 2, 1), (), (((3, 2), "C64"),)),
    "factorization b": lambda far: factorization(
        "solve_banded", (1, 2), (2, 1, 1), (far, 2, 1), (((3, 1, 2), "F64"),), (2, 1)
    ),
    "lapack b": lambda far: lapack("solve", (4, 2, 1), (far, 0, 1), (((3, 1, 2), "F64"),)),
}


@pytest.mark.parametrize("binder", OUT_OF_RANGE)
@pytest.mark.parametrize("far", [2**58, 2**60, HUGE, 2**63 - 1, -(2**60), -(2**63)])
def test_strides_beyond_any_memory_are_refused_by_every_binder(binder: str, far: int) -> None:
    blas.open_blas()
    with pytest.raises((ValueError, OverflowError)):
        OUT_OF_RANGE[binder](far)
    with pytest.raises(OverflowError):
        OUT_OF_RANGE[binder](2**63)


FREE = {
    ("bind_tiny_binary", 6),
    ("bind_convert", 4),
    ("bind_lapack", 10),
    ("bind_batched_simd", 7),
    ("bind_factorization", 11),
}  # a fallback is any object


def is_free(binder: str, place: int) -> bool:
    """Whether any object is accepted there: fallbacks, truth values, and what an operation does not look at."""
    free = (*FREE, ("bind_lapack", 7), ("bind_factorization", 8), ("bind_products", 1), ("bind_triangle", 5))
    return isinstance(ARGUMENTS[binder][place], bool) or (binder, place) in free


@pytest.mark.parametrize("binder", ARGUMENTS)
@pytest.mark.parametrize("wrong", [None, 5.5, -7, "F65", b"x", (None,), ((1, 2),), [1], {}, object()], ids=repr)
def test_every_argument_of_another_kind_is_an_error_of_python(binder: str, wrong: Any) -> None:
    blas.open_blas()
    bind, good = getattr(LIBRARY, binder), ARGUMENTS[binder]
    assert bind(*good) is not None
    for place in range(len(good)):
        if is_free(binder, place):
            continue
        try:
            made = bind(*good[:place], wrong, *good[place + 1 :])
        except (TypeError, ValueError):
            continue
        assert made is None and place == 0, f"argument {place} may be {wrong!r}"  # there is no such loop


@pytest.mark.parametrize("binder", ARGUMENTS)
def test_a_wrong_number_of_arguments_is_a_type_error_that_names_the_function(binder: str) -> None:
    blas.open_blas()
    bind, good = getattr(LIBRARY, binder), ARGUMENTS[binder]
    for arguments in ((), good[:-1], (*good, 1, 2, 3, 4)):
        with pytest.raises(TypeError, match=binder):
            bind(*arguments)


@pytest.mark.parametrize("name", ["start", "columns", "row_stride"])
def test_a_struct_without_one_of_its_members_is_a_type_error(name: str) -> None:
    class Partial:
        def __getattr__(self, attribute: str) -> Any:
            if attribute == name:
                raise AttributeError(attribute)
            return getattr(a_reduction(), attribute)

    with pytest.raises(TypeError, match=f"a struct with a member {name}"):
        LIBRARY.bind_reduce("sum", "F64", (4,), "F64", Partial())  # type: ignore[arg-type]


def test_the_extension_and_python_agree_on_the_most_axes_of_an_array() -> None:
    assert LIBRARY.MOST_AXES == MOST_AXES
    ones = (1,) * MOST_AXES
    assert LIBRARY.bind_copy(ones, ones, "F64")(np.ones(ones)).shape == ones
    with pytest.raises(ValueError, match=f"at most {MOST_AXES} integers"):
        LIBRARY.bind_copy((1, *ones), (1, *ones), "F64")
