"""Conformance cases of solvers: the product of matrix and solution is the right-hand side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import nan
from typing import Any, Final, Literal

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, DType
from tensor_core.errors import DTypeError, ShapeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import Shape
from tensor_linalg.decompositions import LUFactors, cholesky, eigh, lu_factor, qr, svd
from tensor_linalg.masking import MaskedResult
from tensor_linalg.solving import (
    cho_solve,
    inv,
    lstsq,
    lu_solve,
    pinv,
    solve,
    solve_banded,
    solve_toeplitz,
    solveh_banded,
    tensorinv,
    tensorsolve,
    triangular_solve,
)
from tensor_linalg.testing.cases.matrices import hermitian, identity, shifted
from tensor_linalg.testing.cases.rows import DTYPES, SQUARE, Row, adjoint, applied, case, cases_of, product
from tensor_runtime.errors import NonFiniteError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.ops.arithmetic import multiply
from tensor_runtime.ops.diagonals import tril, triu
from tensor_runtime.ops.views import copy, expand_dims, permute_axes, reshape
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import upload
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of a solver."""
    yield from cases_of(ROWS)
    yield from _systems()
    yield from _triangular()
    yield from _least_squares()
    yield from _structured()
    yield from _tensors()
    yield from _masked()
    yield from _given_up()
    yield refused("linalg.inv", "singular", (HostTensor.zeros((2, 2, 2), F64),), inv, SingularMatrixError)


def _systems() -> Iterator[Case]:
    def system(label: str, a: Host, b: Host, product: Callable[..., Tensor] = product) -> Case:
        return case("linalg.solve", label, (a, b), solve, lambda a, b, x: product(a, x), lambda: b)

    def system_refused(label: str, a: Host, b: Host, error: type[TensorError]) -> Case:
        return refused("linalg.solve", label, (a, b), solve, error)

    for dtype in DTYPES:
        yield system(str(dtype), shifted(whole_numbers((3, 3), dtype), 24), whole_numbers((3, 2), dtype))
    for shape in SQUARE[1:]:
        right = whole_numbers((shape[0], 2, *shape[2:]), F64)
        yield system(f"shape {shape}", shifted(whole_numbers(shape, F64), 24), right)
    a = shifted(whole_numbers((3, 3), F64), 24)
    yield system("a vector", a, whole_numbers((3,), F64), applied)
    yield system("one matrix for a batch", a, whole_numbers((3, 2, 4), F64), applied)
    yield system("no columns", a, whole_numbers((3, 0), F64))
    yield system("F32 and C64", shifted(whole_numbers((3, 3), F32), 24), whole_numbers((3, 2), C64))
    zeros = HostTensor.zeros((3, 3, 2), F64)
    yield system_refused("singular", zeros, zeros, SingularMatrixError)
    yield system_refused("unequal extents", a, whole_numbers((2, 2), F64), ShapeError)
    yield system_refused("a batch of vectors", zeros, whole_numbers((3,), F64), ShapeError)
    yield system_refused("unequal batches", zeros, whole_numbers((3, 1, 3), F64), ShapeError)
    yield system_refused("integers refused", a, whole_numbers((3, 1), I64), DTypeError)
    bad = tabulated((3, 1), F64, lambda index: nan if index[0] == 1 else 1.0)
    yield system_refused("NaN", a, bad, NonFiniteError)


def _triangular() -> Iterator[Case]:
    def triangle(a: Tensor, lower: bool) -> Tensor:
        return (tril if lower else triu)(a, axes=(0, 1))

    for shape, dtype in ((SQUARE[0], F32), *((shape, F64) for shape in SQUARE), (SQUARE[3], C64), (SQUARE[4], C32)):
        a = shifted(whole_numbers(shape, dtype), 24)
        b = whole_numbers((shape[0], 2, *shape[2:]), dtype)
        for lower in (True, False):
            solved = partial(triangular_solve, lower=lower)
            found = partial(lambda lower, a, b, x: product(triangle(a, lower), x), lower)
            label = f"{dtype} shape {shape}{' lower' if lower else ''}"
            yield case("linalg.triangular_solve", label, (a, b), solved, found, partial(_itself, b))
        half = partial(lambda a, b, x: product(product(triangle(a, True), adjoint(triangle(a, True))), x))
        yield case("linalg.cho_solve", f"{dtype} shape {shape}", (a, b), cho_solve, half, partial(_itself, b))
    a, b = shifted(whole_numbers((3, 3), C64), 24), whole_numbers((3, 3), C64)
    for name in ("transpose", "adjoint"):
        given = partial(triangular_solve, lower=True, transpose=name == "transpose", adjoint=name == "adjoint")
        flipped = partial(lambda name, a: adjoint(a) if name == "adjoint" else permute_axes(a, (1, 0)), name)
        compared = partial(lambda flipped, a, b, x: product(flipped(triangle(a, True)), x), flipped)
        yield case("linalg.triangular_solve", name, (a, b), given, compared, partial(_itself, b))
        right = partial(given, side="right")
        compared = partial(lambda flipped, a, b, x: product(x, flipped(triangle(a, True))), flipped)
        yield case("linalg.triangular_solve", f"{name} right", (a, b), right, compared, partial(_itself, b))
    zeros = HostTensor.zeros((3, 3, 2), F64)
    for function in (triangular_solve, cho_solve):
        name = f"linalg.{function.__name__}"
        yield refused(name, "singular", (zeros, zeros), function, SingularMatrixError)
        yield refused(name, "unequal extents", (a, whole_numbers((2, 2), C64)), function, ShapeError)
        yield refused(name, "integers refused", (a, whole_numbers((3, 1), I64)), function, DTypeError)


def _least_squares() -> Iterator[Case]:
    for dtype in DTYPES:
        for shape in ((3, 3), (3, 3, 2)):
            a, b = shifted(whole_numbers(shape, dtype), 24), whole_numbers((3, 2, *shape[2:]), dtype)
            label = f"{dtype} shape {shape}"
            unit = partial(identity, shape, dtype)
            yield case("linalg.pinv", label, (a,), pinv, product, unit)
            for driver in ("svd", "qr"):
                solved = partial(lambda driver, a, b: lstsq(a, b, driver=driver).solution, driver)
                found = partial(lambda a, b, x: product(a, x))
                yield case("linalg.lstsq", f"{driver} {label}", (a, b), solved, found, partial(_itself, b))
    nothing = HostTensor.zeros((3, 2, 2), F64)
    zeros = partial(HostTensor.zeros, (2, 3, 2), F64)
    yield case("linalg.pinv", "zeros", (nothing,), pinv, None, zeros)
    yield case(
        "linalg.lstsq",
        "zeros",
        (nothing, nothing),
        lambda a, b: lstsq(a, b)[0],
        None,
        partial(HostTensor.zeros, (2, 2, 2), F64),
    )
    yield refused("linalg.pinv", "integers refused", (whole_numbers((3, 3), I64),), pinv, DTypeError)
    yield refused("linalg.lstsq", "unequal extents", (nothing, whole_numbers((2, 1), F64)), lstsq, ShapeError)


def _structured() -> Iterator[Case]:
    for dtype in DTYPES:
        for batch in ((), (2,)):
            bands = tabulated((4, 5, *batch), dtype, lambda index: 20 if index[0] == 1 else index[1] - index[0] + 1)
            b = whole_numbers((5, 2, *batch), dtype)
            dense = tabulated((5, 5, *batch), dtype, partial(_dense, bands, 1))
            banded = partial(solve_banded, (2, 1))
            yield _solution("linalg.solve_banded", f"{dtype} batch {batch}", (bands, b), banded, dense, b)
            c = tabulated((4, *batch), dtype, lambda index: (20, 3, 1 + 2 * sum(index[1:]), -2)[index[0]])
            b = whole_numbers((4, 2, *batch), dtype)
            dense = tabulated(
                (4, 4, *batch), dtype, partial(lambda c, index: c[abs(index[0] - index[1]), *index[2:]], c)
            )
            yield _solution("linalg.solve_toeplitz", f"{dtype} batch {batch}", (c, b), solve_toeplitz, dense, b)
            yield from _hermitian_bands(dtype, batch)
    zeros = HostTensor.zeros((1, 3), F64)
    yield refused(
        "linalg.solveh_banded", "zeros", (zeros, whole_numbers((3,), F64)), solveh_banded, NotPositiveDefiniteError
    )
    yield refused(
        "linalg.solveh_banded", "no diagonal", (HostTensor.zeros((0, 3), F64), zeros), solveh_banded, ShapeError
    )
    banded = partial(solve_banded, (0, 0))
    yield refused("linalg.solve_banded", "singular", (zeros, whole_numbers((3,), F64)), banded, SingularMatrixError)
    yield refused("linalg.solve_banded", "bands missing", (zeros, zeros), partial(solve_banded, (1, 0)), ShapeError)
    zeros = HostTensor.zeros((3,), F64)
    yield refused("linalg.solve_toeplitz", "singular", (zeros, zeros), solve_toeplitz, SingularMatrixError)
    yield refused("linalg.solve_toeplitz", "no axes", (whole_numbers((), F64), zeros), solve_toeplitz, ShapeError)


def _hermitian_bands(dtype: DType, batch: Shape) -> Iterator[Case]:
    numbers = whole_numbers((3, 5, *batch), dtype)
    half = tabulated(numbers.shape, dtype, lambda k: numbers[k] + 24 * (k[0] == 0))
    b = whole_numbers((5, 2, *batch), dtype)
    dense = hermitian(tabulated((5, 5, *batch), dtype, partial(_dense, half, 0)))
    turned = tabulated(half.shape, dtype, lambda k: dense[k[1] - 2 + k[0], k[1], *k[2:]] if k[1] - 2 + k[0] >= 0 else 0)
    for lower, given in ((True, half), (False, turned)):
        call = partial(solveh_banded, lower=lower)
        label = f"{'lower' if lower else 'upper'} {dtype} batch {batch}"
        yield _solution("linalg.solveh_banded", label, (given, b), call, dense, b)


def _dense(bands: Host, upper: int, index: Index) -> object:
    i, j, *batch = index
    row = upper + i - j
    return bands[row, j, *batch] if 0 <= row < bands.shape[0] else 0


def _solution(
    name: str, label: str, operands: tuple[Host, ...], call: Callable[..., Tensor], dense: Host, b: Host
) -> Case:
    def compared(*found: Tensor) -> Tensor:
        return product(upload(dense, found[0].placement), found[-1])

    return case(name, label, operands, call, compared, lambda: b)


def _tensors() -> Iterator[Case]:
    for dtype in DTYPES:
        a = shifted(whole_numbers((6, 6), dtype), 60)
        b = whole_numbers((6,), dtype)
        flat = partial(lambda a: reshape(a, (2, 3, 6)))
        solved = partial(lambda flat, a, b: tensorsolve(flat(a), reshape(b, (2, 3))), flat)
        yield case("linalg.tensorsolve", str(dtype), (a, b), solved, applied_last, partial(_itself, b))
        inverted = partial(lambda flat, a: tensorinv(flat(a)), flat)
        found = partial(lambda a, x: product(reshape(x, (6, 6)), a))
        yield case("linalg.tensorinv", str(dtype), (a,), inverted, found, partial(identity, (6, 6), dtype))
    cube = whole_numbers((2, 3, 4), F64)
    yield refused("linalg.tensorsolve", "unknowns missing", (cube, whole_numbers((2, 3), F64)), tensorsolve, ShapeError)
    yield refused("linalg.tensorinv", "unknowns missing", (cube,), tensorinv, ShapeError)


def _given_up() -> Iterator[Case]:
    """Operands that may be overwritten, here copies: results are those of operands that are kept."""

    def of_copies(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *operands: function(*map(copy, operands), overwrite=True)

    for dtype in (F32, F64, C64):
        a = shifted(hermitian(whole_numbers((3, 3, 2), dtype)), 24)
        rows: tuple[tuple[str, Callable[..., Any], Callable[..., Tensor], Host], ...] = (
            ("cholesky", cholesky, lambda a, low: product(low, adjoint(low)), a),
            ("inv", inv, product, identity((3, 3, 2), dtype)),
            ("solve", solve, lambda a, b, x: product(a, x), a),
            ("qr", qr, lambda a, q, r: product(q, r), a),
            ("eigh", eigh, lambda a, w, v: product(multiply(v, expand_dims(w, 0)), adjoint(v)), a),
            ("svd", svd, lambda a, u, s, vh: product(multiply(u, expand_dims(s, 0)), vh), a),
            ("lu_factor", lu_factor, lambda a, lu, pivots: product(a, lu_solve(LUFactors(lu, pivots), a)), a),
        )
        for name, function, parts, wanted in rows:
            operands = (a, a) if name == "solve" else (a,)
            label = f"given up {dtype}"
            yield case(f"linalg.{name}", label, operands, of_copies(function), parts, partial(_same, wanted))


def _same(x: Host) -> Host:
    return x


def _masked() -> Iterator[Case]:
    """The first matrix is fine, the second holds NaN, the third has neither an inverse nor a Cholesky factor."""

    def system(a: Tensor, check: Literal["mask"]) -> MaskedResult[Tensor]:
        return solve(a, a, check=check)

    functions: tuple[tuple[str, Callable[..., Any], int], ...] = (
        ("solve", system, 2),
        ("inv", inv, 2),
        ("cholesky", cholesky, 2),
        ("svd", svd, 0),
        ("qr", qr, 0),
        ("eigh", eigh, 0),
    )
    for dtype in DTYPES:
        a = tabulated((2, 2, 3), dtype, lambda k: (k[0] == k[1]) * (4, nan if k[0] else 1, -k[0])[k[2]])
        for name, function, failed in functions:
            expected = partial(tabulated, (3,), I32, partial(lambda failed, k: (0, 1, failed)[k[0]], failed))
            call = partial(lambda function, a: function(a, check="mask").status, function)
            yield Case(f"linalg.{name}", f"status {dtype}", (a,), call, expected)


def applied_last(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The matrix times the vector."""
    return applied(a, x)


def _itself(x: Host) -> Host:
    return x


ROWS: Final = (Row(inv, lambda a: shifted(a, 24), product, lambda a: identity(a.shape, a.dtype)),)
